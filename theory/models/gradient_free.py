r"""Adam with coupled L2 on a weight that no gradient reaches: it walks to zero at the pace of the rate.

The gradient is :math:`\lambda w`, and the normaliser divides :math:`\lambda` away: an update moves the
weight by about :math:`\eta_k` whatever :math:`\lambda` is, so that to leading order

.. math:: |w_K| = \max\Bigl(0,\ |w_0| - \sum_k \eta_k\Bigr).

The normaliser remembers how large the weight was, over :math:`1/(1-\beta_2)` updates, and so the weight
lags behind its law. The modified flow tells by how much: with torch's constants the memory is larger by

.. math::
    \Bigl(\frac{\beta_2}{1-\beta_2}-\frac{\beta_1}{1-\beta_1}\Bigr)
    \sum_k \frac{\eta_k^2}{|w_0|\,(|w_0|-\sum_{l<k}\eta_l)}
    = \frac{990\,\eta}{|w_0|}\ln\frac{1}{1-\text{age}}

(the last for a constant rate), up to smaller terms. The law is good where that is small. At
:math:`\eta = 10^{-3}` and :math:`|w_0| = 1` it is not: after 100, 500, 900, 1000 and 1500 updates
torch's Adam leaves .901744, .560508, .307056, .257665 and .088752, the law .9, .5, .1, 0 and 0.

The law ends at age 1. Beyond it the weight fades, and as the normaliser forgets it swings about zero by up
to about one learning rate; where the lag is large it fades long before it crosses.
"""

import numpy as np

from ..errors import InvalidInput
from ..trace import Array, Trace
from .model import Law, MemoryModel, Step
from .updates import BETA1, BETA2, EPS, run


def recursion(trace: Trace, init_scale: float, beta1: float = BETA1, beta2: float = BETA2) -> Array:
    r"""The weight after each update of torch's Adam, exactly.

    With :math:`g_k = \lambda_k w_k` and averages that start at zero

    .. math::
        m' = \beta_1 m + (1-\beta_1) g_k,\quad v' = \beta_2 v + (1-\beta_2) g_k^2,\quad
        w' = w_k - \eta_k \frac{m'/(1-\beta_1^{k+1})}{\sqrt{v'/(1-\beta_2^{k+1})} + \varepsilon}.

    Parameters
    ----------
    trace : Trace
        Of Adam.
    init_scale : float
        The weight at the start, above 0.
    beta1, beta2 : float, optional
        Torch's by default; with both 0 the direction is the sign.

    Returns
    -------
    ndarray, shape (updates,)
        In units of the start; negative beyond zero.

    Examples
    --------
    >>> trace = Trace(lr=np.full(500, 1e-3), weight_decay=0.1, optimizer="adam")
    >>> recursion(trace, 1.0)[[99, 499]].round(6).tolist()
    [0.901744, 0.560508]
    >>> recursion(trace, 1.0, beta1=0.0, beta2=0.0)[[99, 499]].round(4).tolist()
    [0.9, 0.5]
    """
    left, w, m, v = np.empty(trace.updates), float(init_scale), 0.0, 0.0
    power1 = power2 = 1.0
    for k, (lr, decay) in enumerate(zip(trace.lr.tolist(), trace.weight_decay.tolist(), strict=True)):
        g = decay * w
        m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g * g
        power1, power2 = beta1 * power1, beta2 * power2
        w -= lr * (m / (1 - power1)) / ((v / (1 - power2)) ** 0.5 + EPS)
        left[k] = w / init_scale
    return left


def law(trace: Trace, init_scale: float) -> Law:
    """Leading order in the learning rate; without any decay nothing moves the weight."""
    return "leading order" if trace.weight_decay.any() else "exact"


def age(trace: Trace, init_scale: float) -> Array:
    """T_adapt over the start, counting the updates that have decay."""
    if init_scale == 0:
        raise InvalidInput("init_scale = 0 leaves nothing to forget: give a number above 0.")
    return np.cumsum(_moves(trace)) / init_scale


def memory(trace: Trace, init_scale: float) -> Array:
    """What is left of the weight, nothing from age 1 on."""
    return np.maximum(0.0, 1.0 - age(trace, init_scale))


def lag(trace: Trace, init_scale: float) -> Array:
    r"""By how much more than its law the weight is left with, to leading order.

    .. math::
        \Bigl(\frac{\beta_2}{1-\beta_2}-\frac{\beta_1}{1-\beta_1}\Bigr)
        \sum_k \frac{\eta_k^2}{|w_0|\,(|w_0|-\sum_{l<k}\eta_l)}

    Parameters
    ----------
    trace : Trace
        Of Adam.
    init_scale : float
        The weight at the start.

    Returns
    -------
    ndarray, shape (updates,)
        Infinite from age 1 on, where the law has ended.

    Examples
    --------
    >>> trace = Trace(lr=np.full(50_000, 1e-5), weight_decay=0.1, optimizer="adam")
    >>> float(lag(trace, 1.0)[-1].round(5))
    0.00686
    >>> float((recursion(trace, 1.0) - memory(trace, 1.0))[-1].round(5))
    0.00652
    """
    moves, ages = _moves(trace), age(trace, init_scale)
    before = np.concatenate([[0.0], ages[:-1]])
    memory_of_squares = BETA2 / (1 - BETA2) - BETA1 / (1 - BETA1)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(before < 1, (moves / init_scale) ** 2 / (1 - before), np.inf)
    return np.where(ages < 1, memory_of_squares * np.cumsum(terms), np.inf)


def _moves(trace: Trace) -> Array:
    """The learning rate of the updates that have decay; the others have no gradient to follow."""
    return np.where(trace.weight_decay > 0, trace.lr, 0.0)


def simulate(trace: Trace, seeds: int, rng: np.random.Generator, init_scale: float) -> Array:
    """Torch's Adam on weights of either sign."""
    start = init_scale * rng.choice([-1.0, 1.0], (seeds, 1))
    return (run(trace, start, lambda k, w: np.zeros_like(w)) / start)[:, 0]


def derive() -> tuple[Step, ...]:
    """The modified flow of Adam with L2 without a loss: its speed, its end, and its first correction."""
    import sympy as sp  # a third of a second that the laws need not wait for

    from ..optimizers.derivation import derive
    from ..optimizers.loss import Loss

    x, w0, left = sp.symbols("x w_0 left", positive=True)
    t, behind = sp.Symbol("t", nonnegative=True), sp.Symbol("behind")
    w = sp.Function("w")
    result = derive("adam-l2", Loss((sp.Integer(0),), (x,)), 1, {"eps": sp.Integer(0)})
    lr, beta1, beta2 = result.constants.lr, result.constants.beta1, result.constants.beta2
    field = result.total[0]
    plain = sp.dsolve(sp.Eq(w(t).diff(t), field.subs(lr, 0)), w(t), ics={w(0): w0})
    # Along the plain path time is distance, so the correction is summed over what lies between the ends.
    lagging = lr * sp.factor(sp.integrate(sp.factor(sp.diff(field, lr)), (x, left, w0)))
    torch = {beta1: sp.Rational(9, 10), beta2: sp.Rational(999, 1000)}
    return (
        Step(
            "the field of adam with L2 and no loss, for a positive weight; lambda has cancelled",
            sp.Eq(w(t).diff(t), field.subs(x, w(t))),
        ),
        Step("without its correction, after time t = sum lr", plain),
        Step("which ends at", sp.Eq(t, sp.solve(plain.rhs, t)[0])),
        Step("how far the correction has kept the weight behind where w = left", sp.Eq(behind, lagging)),
        Step("with torch's constants", sp.Eq(behind, lagging.subs(torch))),
    )


GRADIENT_FREE = MemoryModel(
    name="gradient-free",
    title="A weight without gradient under Adam with L2",
    remembers="the size of a weight that only decay moves",
    optimizers=("adam",),
    settings={"init_scale": 1.0},
    formula="max(0, 1 - sum_k lr_k/|w_0|), whatever lambda is; all of it without decay",
    latex=r"\max\bigl(0,\ 1-\tfrac{1}{|w_0|}\sum_k \eta_k\bigr)",
    clock="T_adapt, with constant 1/|w_0|",
    law=law,
    age=age,
    memory=memory,
    simulate=simulate,
    derive=derive,
    assumptions=(
        "990*lr is far below what is left of the weight: the normaliser has a memory of 1000 updates",
        "lambda*|w| is far above eps = 1e-8",
        "up to age 1; beyond it the weight fades and swings about zero by up to about lr",
    ),
    references=("kingma2015adam", "loshchilov2019decoupled"),
)
