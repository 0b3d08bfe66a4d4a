r"""The difference of two layers, which updates of a fixed size keep where SGD wears their imbalance away.

For scalar layers u, v > 0 the two gradients are :math:`Rv` and :math:`Ru` with the same R on every batch.
Sign descent moves both by :math:`-\eta\,\mathrm{sign}\,R`, so :math:`u - v` is conserved, and decoupled
decay multiplies it by :math:`\prod(1 - \eta_k\lambda)`. This is exact while both stay positive, for any
batches, noise and schedule.

With averages of past gradients it is not. An average of :math:`R_jv_j` is not v times one of :math:`R_j`,
because v moved meanwhile, and what it moved goes with the noise that moved it. Muon, which on numbers takes
the sign of the average :math:`\sum_j a_jR_{k-j}v_{k-j}`, moves u and v apart when the sum is close to zero,
and in the mean that takes :math:`c\,\eta^2(u - v)/(uv)` off their difference in an update. So label noise
makes it forget on :math:`\sum\eta^2`, whatever the size of the noise and of the batch,

.. math:: \prod_k(1 - \eta_k\lambda)\;e^{-c\sum\eta_k^2}\quad\text{at } uv = 1,

see :func:`momentum_constant`; without noise it conserves the difference. For Adam with betas 0.9 and 0.999
the law is stated without that factor and holds for :math:`\sum\eta = O(1)`, with a deviation of first order
once the learning rate is small against :math:`1 - \beta_2`. At rates from 0.002 to 0.02 simulations with
label noise have c between 0.25 and 0.45; decay, which moves v under averages of a thousand updates, left up
to two percent more than the product. On a batch that stays the same Adam makes the difference grow as long
as the loss falls, at the rate :math:`990\,\eta/(uv)` per unit of time once its averages are full.
"""

import math

import numpy as np

from ..errors import InvalidInput
from ..trace import Array, Trace
from .deep_linear import START
from .model import Law, MemoryModel, Step
from .updates import run


def momentum_constant(momentum: float) -> float:
    r"""The constant c of :math:`\sum\eta^2` for the sign of a Nesterov average of Gaussian noise.

    With weights :math:`a_0 = 1 - \beta^2`, :math:`a_j = (1-\beta)\beta^{j+1}` and their correlation
    :math:`\rho_l = \sum_j a_ja_{j+l}/\sum_j a_j^2`,

    .. math:: c = \frac2\pi \sum_{l\ge1} \frac{\rho_l}{\sqrt{1-\rho_l^2}}
        \Bigl(1 - \frac{\sum_{j\ge l}a_j^2}{\sum_j a_j^2}\Bigr):

    the density of the average at zero, times the mean product of an R with what its sign moved since, both
    given that the average is zero.

    Parameters
    ----------
    momentum : float
        :math:`\beta`, from 0 to below 1.

    Returns
    -------
    float

    Examples
    --------
    >>> [round(momentum_constant(momentum), 3) for momentum in (0.0, 0.5, 0.9, 0.95)]
    [0.0, 0.225, 3.721, 8.625]
    """
    lag = np.arange(1, math.ceil(40 / (1 - momentum)))  # beta^lag ends below rounding
    power = momentum**lag
    # In units of (1 - beta)^2.
    tail = (momentum * power) ** 2 / (1 - momentum**2)
    whole = (1 + momentum) ** 2 + momentum**4 / (1 - momentum**2)
    rho = momentum * power * (1 + momentum + momentum**3 / (1 - momentum**2)) / whole
    return float(2 / np.pi * np.sum(rho / np.sqrt(1 - rho**2) * (1 - tail / whole)))


def age(trace: Trace, noise: float) -> Array:
    r"""T_L2 after each update, and under Muon with noise :math:`c\sum\eta^2` beside it."""
    forgets = trace.optimizer == "muon" and noise > 0
    constant = momentum_constant(trace.momentum_coefficient) if forgets else 0.0
    return np.cumsum(trace.decay + constant * trace.lr**2)


def memory(trace: Trace, noise: float) -> Array:
    """What is left of the difference: all of it without decay and without momentum.

    Raises
    ------
    InvalidInput
        If Adam has weight decay, which is coupled.
    """
    if trace.optimizer == "adam" and trace.weight_decay.any():
        raise InvalidInput(
            "difference has no law for adam with coupled weight decay, which moves the layers by different "
            "steps: give --weight-decay 0 or the optimizer adamw."
        )
    left = np.cumprod(1 - trace.decay, dtype=np.float64)
    return left * np.exp(np.cumsum(trace.decay) - age(trace, noise))


def law(trace: Trace, noise: float) -> Law:
    """Muon without momentum is sign descent on numbers; averages of gradients make it leading order."""
    signs = trace.optimizer == "muon" and trace.momentum_coefficient == 0
    return "exact" if signs else "leading order"


def simulate(trace: Trace, seeds: int, rng: np.random.Generator, noise: float) -> Array:
    r"""Two layers of one number, trained on :math:`(uv - 1 - s\xi)^2/2`, from :math:`uv = 1` with u = 1.5."""
    scale = noise / np.sqrt(trace.batch_size)

    def gradient(k: int, w: Array) -> Array:
        residual = w.prod(axis=1, keepdims=True) - 1 + scale[k] * rng.normal(size=(seeds, 1, 1))
        return residual * w[:, ::-1]

    layers = run(trace, np.tile(START[:, None], (seeds, 1, 1)), gradient)[..., 0]
    return (layers[:, 0] - layers[:, 1]) / (START[0] - START[1])


def derive_difference() -> tuple[Step, ...]:
    """One update of sign descent, the average of Muon, and the first correction to Adam's flow."""
    import sympy as sp  # a third of a second that the laws need not wait for

    from ..optimizers.derivation import derive
    from ..optimizers.loss import Loss

    u, v, y, r, beta = sp.symbols("u v y r beta", positive=True)
    R = sp.Symbol("R", real=True)
    lr, rate = sp.symbols("lr lambda", positive=True)
    pair = tuple((1 - lr * rate) * w - lr * sp.sign(R * other) for w, other in ((u, v), (v, u)))
    factor = sp.cancel((pair[0] - pair[1]) / (u - v))
    d, k = sp.Function("d"), sp.Symbol("k", integer=True, nonnegative=True)
    solution = sp.rsolve(d(k + 1) - factor * d(k), d(k), {d(0): sp.Symbol("d_0")})

    # Muon: the weights of past gradients, and the sums of their products by geometric series.
    n, lag = sp.symbols("j l", integer=True, positive=True)
    newest, older = 1 - beta**2, (1 - beta) * beta ** (n + 1)

    def geometric(term: sp.Expr, start: sp.Expr) -> sp.Expr:
        ratio = sp.simplify(term.subs(n, n + 1) / term)
        return term.subs(n, start) / (1 - ratio)

    whole = newest**2 + geometric(older**2, sp.Integer(1))
    shifted = newest * older.subs(n, lag) + geometric(older * older.subs(n, n + lag), sp.Integer(1))
    rho, tail = sp.factor(shifted / whole), sp.factor(geometric(older**2, lag) / whole)
    lost = sp.Sum(2 / sp.pi * rho / sp.sqrt(1 - rho**2) * (1 - tail), (lag, 1, sp.oo))

    # Adam while the loss falls, with the residual r > 0, say.
    loss = Loss(((u * v - y) ** 2 / 2,), (u, v))
    constants = {"beta1": sp.Rational(9, 10), "beta2": sp.Rational(999, 1000), "eps": sp.Integer(0)}
    plain, first = (
        sp.cancel(sp.simplify((term[0] - term[1]).subs(y, u * v - r)) / (u - v))
        for term in derive("adam", loss, 1, constants).field.terms
    )
    return (
        Step("one update of sign descent, with d = u - v", sp.Eq(sp.Symbol("d'") / sp.Symbol("d"), factor)),
        Step("so that after k updates", sp.Eq(d(k), solution)),
        Step("the correlation of Muon's averages l updates apart", sp.Eq(sp.Symbol("rho_l"), rho)),
        Step(
            "what Gaussian noise takes off d through them, per lr^2 at u*v = 1", sp.Eq(sp.Symbol("c"), lost)
        ),
        Step("the flow of Adam, in units of d", sp.Eq(sp.Symbol("F_0"), plain)),
        Step("its correction of order lr on a batch that stays the same", sp.Eq(sp.Symbol("F_1"), first)),
    )


DIFFERENCE = MemoryModel(
    name="difference",
    title="Difference of two linear layers",
    remembers="the difference u - v of two scalar layers",
    optimizers=("adam", "adamw", "muon"),
    settings={"noise": 1.0},
    formula="prod_k (1 - lr_k*lambda), under muon times exp(-c * sum_k lr_k^2) with c(0.95) = 8.6",
    latex=r"\prod_k (1-\eta_k\lambda)\, e^{-c\sum_k\eta_k^2}",
    clock="T_L2, with constant 1; sum lr^2, with a constant of muon's momentum and no batch size",
    law=law,
    age=age,
    memory=memory,
    simulate=simulate,
    derive=derive_difference,
    assumptions=(
        "both layers stay positive and their product close to 1",
        "decay is decoupled",
        "label noise, if any, is large against the learning rate",
        "under adam and adamw, sum lr is of order one",
    ),
    references=("bernstein2018signsgd", "cattaneo2024implicit"),
)
