r"""The imbalance of neighbouring linear layers, which gradient flow conserves and finite steps wear away.

With :math:`D = W_1W_1^\top - W_2^\top W_2` and :math:`g_l` the gradient of layer l on whatever batch was
drawn, :math:`g_1W_1^\top = W_2^\top g_2` leaves no term of first order, and one update of SGD is exactly

.. math:: D' = (1 - \eta\lambda)^2 D + \eta^2 (g_1g_1^\top - g_2^\top g_2).

With :math:`G = \partial L/\partial(W_2W_1)` the bracket is
:math:`W_2^\top GG^\top W_2 - W_1G^\top GW_1^\top`. In a deeper net the same holds for any two neighbours.
For two numbers u, v and a residual r,

.. math:: (u^2 - v^2)' = \bigl((1 - \eta\lambda)^2 - \eta^2 r^2\bigr)(u^2 - v^2).

On the curve of interpolation r is label noise of variance :math:`s^2/b` and a deviation of relative size
:math:`\eta`, so to leading order the mean is

.. math:: e^{-2 T_{L2} - s^2 T_{SGD}}.

Without label noise r vanishes while :math:`T_{SGD}` grows, and what is left by then stays.

With momentum there is no such identity; to leading order :math:`\eta/(1-\beta)` takes the place of
:math:`\eta` in both clocks. Simulations deviate in first order of the learning rate without momentum, and
with it no worse.
"""

import numpy as np

from ..errors import InvalidInput
from ..trace import Array, Trace
from .model import Law, MemoryModel, Step
from .updates import run

# Two layers on the curve u v = 1.
START = np.array([1.5, 1 / 1.5])


def imbalance(first: Array, second: Array) -> Array:
    r""":math:`W_1W_1^\top - W_2^\top W_2` of two neighbouring layers, `first` being nearer to the input.

    Parameters
    ----------
    first : ndarray, shape (m, n)
    second : ndarray, shape (p, m)

    Returns
    -------
    ndarray, shape (m, m)

    Examples
    --------
    >>> imbalance(np.array([[3.0], [0.0]]), np.array([[0.0, 2.0]])).tolist()
    [[9.0, 0.0], [0.0, -4.0]]
    """
    return first @ first.T - second.T @ second


def next_imbalance(
    now: Array, first_gradient: Array, second_gradient: Array, lr: float, weight_decay: float = 0.0
) -> Array:
    r"""The imbalance after one update of SGD, exactly.

    Parameters
    ----------
    now : ndarray, shape (m, m)
        Before the update.
    first_gradient, second_gradient : ndarray, shapes (m, n) and (p, m)
        Of the two layers on the batch of the update, without decay.
    lr, weight_decay : float
        Decay is coupled.

    Returns
    -------
    ndarray, shape (m, m)

    Examples
    --------
    Layers 1.5 and 0.2 with the residual 0.3, for the target 0:

    >>> first, second = np.array([[1.5]]), np.array([[0.2]])
    >>> after = next_imbalance(imbalance(first, second), 0.3 * second, 0.3 * first, lr=0.1)
    >>> after.round(6).tolist()
    [[2.208011]]
    """
    return (1 - lr * weight_decay) ** 2 * now + lr**2 * (
        first_gradient @ first_gradient.T - second_gradient.T @ second_gradient
    )


def recursion(trace: Trace, residual: Array) -> Array:
    r"""The share of :math:`u^2 - v^2` that is left after each update with the residuals of its run, exactly.

    Parameters
    ----------
    trace : Trace
        Of SGD without momentum.
    residual : ndarray, shape (updates,) or (updates, runs)
        Mean residual of each batch, before its update.

    Returns
    -------
    ndarray, of the shape of `residual`

    Raises
    ------
    InvalidInput
        If the trace has momentum or another optimizer.

    Examples
    --------
    >>> recursion(Trace(lr=np.array([0.1, 0.5])), np.array([1.0, 0.0])).round(12).tolist()
    [0.99, 0.99]
    """
    if trace.optimizer != "sgd" or trace.momentum_coefficient:
        raise InvalidInput(
            f"the imbalance has no exact recursion for {trace.optimizer} with momentum "
            f"{trace.momentum_coefficient:g}: give sgd without momentum."
        )
    residual = np.asarray(residual, dtype=float)
    shape = (-1, *[1] * (residual.ndim - 1))
    lr, decay = trace.lr.reshape(shape), trace.decay.reshape(shape)
    return np.cumprod((1 - decay) ** 2 - (lr * residual) ** 2, axis=0, dtype=np.float64)


def age(trace: Trace, noise: float) -> Array:
    r""":math:`2 T_{L2} + s^2 T_{SGD}` after each update."""
    return np.cumsum(2 * trace.decay + (trace.effective_lr * noise) ** 2 / trace.batch_size)


def memory(trace: Trace, noise: float) -> Array:
    """What is left on average of the imbalance, to leading order in the learning rate."""
    return np.exp(-age(trace, noise))


def leading_order(trace: Trace, noise: float) -> Law:
    """The law leaves out how far the net strays from the curve of interpolation."""
    return "leading order"


def simulate(trace: Trace, seeds: int, rng: np.random.Generator, noise: float) -> Array:
    r"""Two numbers u, v trained on :math:`(uv - 1 - s\xi)^2/2`, from :math:`uv = 1` with u = 1.5."""
    scale = noise / np.sqrt(trace.batch_size)

    def gradient(k: int, w: Array) -> Array:
        residual = w.prod(axis=-1) - 1 + scale[k] * rng.normal(size=seeds)
        return residual[:, None] * w[:, ::-1]

    u, v = run(trace, np.tile(START, (seeds, 1)), gradient).T
    return (u * u - v * v) / (START[0] ** 2 - START[1] ** 2)


def derive_imbalance() -> tuple[Step, ...]:
    """The exact update, then the drift and the diffusion of SGD acting on the imbalance."""
    import sympy as sp  # a third of a second that the laws need not wait for

    from ..optimizers.derivation import derive
    from ..optimizers.loss import Loss

    rate, a, eps = sp.symbols("lambda a epsilon", positive=True)
    w1, w1t, w2, w2t, g, gt = sp.symbols("W_1 W_1^T W_2 W_2^T G G^T", commutative=False)
    u, v, y, s, d0 = sp.symbols("u v y s D_0", real=True)
    t = sp.Symbol("t", nonnegative=True)
    loss = Loss(tuple((u * v - y - label) ** 2 / 2 for label in (s, -s)), (u, v))
    result = derive("sgd", loss, 1, {"weight_decay": rate})
    lr, b, spread = result.constants.lr, result.constants.batch_size, result.diffusion
    assert spread is not None  # SGD with replacement has one

    # Any widths: a is what decay leaves of a weight, and transposes are symbols of their own.
    first, first_t = a * w1 - lr * w2t * g, a * w1t - lr * gt * w2
    second, second_t = a * w2 - lr * g * w1t, a * w2t - lr * w1 * gt
    matrices = sp.expand(first * first_t - second_t * second)

    # One example: two numbers and the residual r.
    r = sp.Symbol("r", real=True)
    pair = ((1 - lr * rate) * u - lr * r * v, (1 - lr * rate) * v - lr * r * u)
    factor = sp.cancel((pair[0] ** 2 - pair[1] ** 2) / (u**2 - v**2))

    fitted, imbalance = {y: u * v}, u**2 - v**2
    drift = (2 * u * result.total[0] - 2 * v * result.total[1]).subs(fitted)
    noise = (spread[0, 0] - spread[1, 1]).subs(fitted)
    speed = sp.expand(sp.cancel(drift / imbalance) + sp.cancel(noise / imbalance))
    mean = (factor.subs(r, s) + factor.subs(r, -s)) / 2
    apart = sp.series(sp.log(mean) / lr, lr, 0, 2).removeO() - speed.subs(b, 1)
    scaled = speed.subs({lr: eps * lr, rate: eps * rate}, simultaneous=True)
    leading = sp.expand(scaled).coeff(eps, 1)
    D = sp.Function("D")
    solution = sp.dsolve(sp.Eq(D(t).diff(t), leading * D(t)), D(t), ics={D(0): d0})
    return (
        Step("one update for layers of any widths, a = 1 - lr*lambda", sp.Eq(sp.Symbol("D'"), matrices)),
        Step("for two numbers and a residual r", sp.Eq(sp.Symbol("D'") / sp.Symbol("D"), factor)),
        Step(
            "drift and diffusion of SGD on the curve with label noise s, in units of D",
            sp.Eq(D(t).diff(t) / D(t), speed),
        ),
        Step(
            "what the exact update has beyond that for b = 1, through lr",
            sp.Eq(sp.Symbol("rest"), sp.expand(apart)),
        ),
        Step("leading order in lr and lambda, with t = lr * updates", solution),
    )


IMBALANCE = MemoryModel(
    name="imbalance",
    title="Imbalance of two linear layers",
    remembers="the difference of the squared norms of neighbouring layers",
    optimizers=("sgd",),
    settings={"noise": 1.0},
    formula="exp(-2*T_L2 - noise^2 * sum_k lr_k^2/b_k), lr/(1 - momentum) in place of lr",
    latex=r"e^{-2T_{L2} - s^2 T_{SGD}}",
    clock="T_L2, with constant 2; T_SGD, with constant noise^2, only while residuals are noisy",
    law=leading_order,
    age=age,
    memory=memory,
    simulate=simulate,
    derive=derive_imbalance,
    assumptions=(
        "the net interpolates the examples but for label noise that is drawn anew",
        "decay is weak against the curvature",
    ),
    references=("arora2018optimization", "du2018algorithmic"),
)
