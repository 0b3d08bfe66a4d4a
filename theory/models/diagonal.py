r"""The size of a diagonal linear network's weights at the start, and how label noise wears it away.

A coordinate of :math:`\beta = (w_+^2 - w_-^2)/2` keeps :math:`\alpha^2 = w_+w_-` under gradient flow, and the
smaller it is, the sparser the solution, see :mod:`~initmem.theory.models.hyperbolic`. One update of SGD
takes :math:`q(\eta g) \approx \eta^2g^2` off its logarithm, see
:mod:`~initmem.theory.models.diagonal_gains`. Once the examples are fitted, only label noise of deviation s
is left in g, and for inputs of unit second moment the mean of :math:`\alpha_K^2/\alpha^2` is to leading
order

.. math:: e^{-2T_{L2} - s^2T_{SGD}},

from any start, and with :math:`\eta/(1-\beta)` in place of :math:`\eta` under momentum; half of that on
:math:`\ln\alpha`. The simulated deviation is of first order in the learning rate, with momentum and
without. Without label noise the gains end with the residuals, while :math:`T_{SGD}` grows.
"""

import numpy as np

from ..errors import InvalidInput
from ..trace import Array, Trace
from .model import Law, MemoryModel, Step
from .updates import run


def age(trace: Trace, init_scale: float, noise: float) -> Array:
    r""":math:`2T_{L2} + s^2T_{SGD}` after each update, whatever the start."""
    return np.cumsum(2 * trace.decay + (trace.effective_lr * noise) ** 2 / trace.batch_size)


def memory(trace: Trace, init_scale: float, noise: float) -> Array:
    r"""What is left on average of :math:`\alpha^2`, to leading order in the learning rate."""
    return np.exp(-age(trace, init_scale, noise))


def leading_order(trace: Trace, init_scale: float, noise: float) -> Law:
    """The law leaves out how far the net strays from what it fits."""
    return "leading order"


def simulate(trace: Trace, seeds: int, rng: np.random.Generator, init_scale: float, noise: float) -> Array:
    r"""Two coordinates on Gaussian inputs with the target (1, 0), from where gradient flow would fit it.

    `init_scale` is the norm :math:`\sqrt2\,\alpha` of the two weights of a coordinate before the fit. The
    memory is the mean over the coordinates.
    """
    if init_scale == 0:
        raise InvalidInput("init_scale = 0 leaves nothing to remember: give a positive number.")
    batch, target, square = trace.batch_size, np.array([1.0, 0.0]), init_scale**2 / 2
    larger = np.sqrt(target + np.hypot(target, square))
    smaller = square / larger

    def gradient(k: int, w: Array) -> Array:
        plus, minus = w[:, :2], w[:, 2:]
        # Bartlett: L L^T/b is the second moment of a batch, and L z/b its product with label noise.
        a, c = np.sqrt(rng.chisquare((batch[k], max(batch[k] - 1, 1e-300)), (seeds, 2))).T
        c = c if batch[k] > 1 else np.zeros(seeds)
        e, z1, z2 = rng.normal(size=(3, seeds))
        off = (plus**2 - minus**2) / 2 - target
        t1 = a * off[:, 0] + e * off[:, 1] + noise * z1
        t2 = c * off[:, 1] + noise * z2
        g = np.stack([a * t1, e * t1 + c * t2], axis=-1) / batch[k]
        return np.concatenate([g * plus, -g * minus], axis=-1)

    w = run(trace, np.tile(np.concatenate([larger, smaller]), (seeds, 1)), gradient)
    return np.mean(w[:, :2] * w[:, 2:], axis=-1) / square


def derive_diagonal() -> tuple[Step, ...]:
    """The exact update of the product of the two weights, then SGD's drift and diffusion acting on it."""
    import sympy as sp  # a third of a second that the laws need not wait for

    from ..optimizers.derivation import derive
    from ..optimizers.loss import Loss

    plus, minus, x, y, s, g, a0 = sp.symbols("w_p w_m x y s g alpha_0", real=True)
    rate, eps = sp.symbols("lambda epsilon", positive=True)
    t = sp.Symbol("t", nonnegative=True)
    output = x * (plus**2 - minus**2) / 2
    loss = Loss(tuple((output - y - label) ** 2 / 2 for label in (s, -s)), (plus, minus))
    result = derive("sgd", loss, 1, {"weight_decay": rate})
    lr, spread = result.constants.lr, result.diffusion
    assert spread is not None  # SGD with replacement has one

    decay = 1 - lr * rate
    factor = sp.expand((decay - lr * g) * (decay + lr * g))
    fitted = {y: output}
    drift = (minus * result.total[0] + plus * result.total[1]).subs(fitted)
    speed = sp.expand(sp.cancel((drift + spread[0, 1].subs(fitted)) / (plus * minus)))
    scaled = speed.subs({lr: eps * lr, rate: eps * rate}, simultaneous=True)
    leading = sp.expand(scaled).coeff(eps, 1)
    A = sp.Function("A")
    solution = sp.dsolve(sp.Eq(A(t).diff(t), leading * A(t)), A(t), ics={A(0): a0**2})
    q = sp.series(-sp.log(factor.subs(rate, 0)), g, 0, 6).removeO()
    return (
        Step("one update of A = w_p*w_m", sp.Eq(sp.Symbol("A'") / sp.Symbol("A"), factor)),
        Step("its gain without decay", sp.Eq(sp.Symbol("q"), q)),
        Step(
            "drift and diffusion of SGD where the net fits but for label noise s, in units of A",
            sp.Eq(A(t).diff(t) / A(t), speed),
        ),
        Step("leading order in lr and lambda, with t = lr * updates", solution),
    )


DIAGONAL = MemoryModel(
    name="diagonal",
    title="Diagonal linear network",
    remembers="the squared size of the weights at the start, which decides how sparse the solution is",
    optimizers=("sgd",),
    settings={"init_scale": 1.0, "noise": 1.0},
    formula="exp(-2*T_L2 - noise^2 * sum_k lr_k^2/b_k), lr/(1 - momentum) in place of lr",
    latex=r"e^{-2T_{L2} - s^2 T_{SGD}}",
    clock="T_SGD, with constant noise^2, only while residuals are noisy; T_L2, with constant 2",
    law=leading_order,
    age=age,
    memory=memory,
    simulate=simulate,
    derive=derive_diagonal,
    assumptions=(
        "the net fits the examples but for label noise that is drawn anew",
        "inputs have unit second moment and are independent of the noise",
        "decay is weak against the curvature",
    ),
    references=(
        "even2023diagonal",
        "haochen2021shape",
        "pesme2021implicit",
        "woodworth2020kernel",
    ),
)
