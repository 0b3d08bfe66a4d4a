r"""A quadratic under sign-like updates where noise dominates: the larger the batch, the faster it forgets.

The gradient of a batch is :math:`h w + s\,\xi` with :math:`s = s_1/\sqrt b`. An update has a fixed size,
and only its mean sees w; for the sign it is :math:`\operatorname{erf}(hw/(\sqrt2 s))`, for a small argument
:math:`c\,hw/s` with :math:`c = \sqrt{2/\pi}`. Hence the mean of w forgets its start as

.. math:: \frac{E\,w_K}{w_0} = \exp\Bigl(-c\,\frac{h}{s_1} \sum_k \eta_k \sqrt{b_k}\Bigr),

to leading order in the learning rate, and the rate of forgetting *grows* like the root of the batch size,
while that of SGD's noise, T_SGD, falls like its inverse. The constant c is that of the update:

=================================  ===================================================================
update                             c
=================================  ===================================================================
sign                               :math:`\sqrt{2/\pi} = 0.798`
sign of an average of gradients    :math:`\sqrt{2/\pi}\sqrt{(1+\beta)/(1-\beta)}`
Muon, of one weight                :math:`\sqrt{2/\pi}/\sqrt{(1-\beta^2)^2+\beta^4(1-\beta)/(1+\beta)}`
Adam                               :math:`1 - \tfrac58(1-\beta_2)`, 0.9994 with torch's constants
=================================  ===================================================================

The noise of an average is smaller, and although it is coherent in time that adds to the variance of w and
not to its mean. Adam divides by a root mean square and not by a mean modulus, so that its c is 1 and not
the :math:`\sqrt{2/\pi}` of the sign, to which it comes back at :math:`\beta_1 = \beta_2 = 0`. Coupled decay
adds :math:`\lambda` to h, decoupled decay adds T_L2 to the age.
"""

import math
from functools import lru_cache

import numpy as np

from ..errors import InvalidInput
from ..trace import Array, Trace
from .model import Law, MemoryModel, Step
from .updates import BETA1, BETA2, run

# The start of the simulations in units of where noise and signal of an update's direction are equal: its
# square over 6 is how far the mean of a sign is from linear, here 4e-4 at the start and less later on.
LINEAR = 0.05


def sign_gain(beta: float, nesterov: bool = False) -> float:
    r"""How fast the sign of an averaged gradient follows a signal beneath noise, in units of signal to noise.

    With :math:`a_j` the weight of the gradient j updates ago, it is
    :math:`\sqrt{2/\pi}\,\sum_j a_j / \sqrt{\sum_j a_j^2}`.

    Parameters
    ----------
    beta : float
        Of the exponential average, from 0 to below 1; with 0 the update is the plain sign.
    nesterov : bool, default False
        Whether the average is averaged once more with the gradient, as Muon does it.

    Returns
    -------
    float

    Examples
    --------
    >>> round(sign_gain(0.0), 6), round(sign_gain(0.9), 6), round(sign_gain(0.95, nesterov=True), 6)
    (0.797885, 3.477898, 4.576857)
    """
    ahead = beta**2 if nesterov else beta
    power = (1 - ahead) ** 2 + ahead**2 * (1 - beta) / (1 + beta)
    return math.sqrt(2 / (math.pi * power))


@lru_cache
def adam_gain(beta1: float = BETA1, beta2: float = BETA2) -> float:
    r"""The same for Adam: the slope of the mean of :math:`m/\sqrt v` where noise dominates.

    With the weights :math:`a_j` of gradients in m and :math:`b_j` of their squares in v it is
    :math:`\sum_j a_j E[\xi_j^2/\sqrt v]`, the other terms being odd in the noise. One over a root is
    :math:`\pi^{-1/2}\int_0^\infty t^{-1/2} e^{-tv}dt`, which leaves a mean of independent factors:

    .. math::
        c = \frac{1}{\sqrt\pi}\int_0^\infty \frac{dt}{\sqrt t}
            \sum_j \frac{a_j}{1+2tb_j} \prod_i \frac{1}{\sqrt{1+2tb_i}}.

    Parameters
    ----------
    beta1, beta2 : float, optional
        Torch's by default.

    Returns
    -------
    float

    Examples
    --------
    >>> round(adam_gain(), 6), round(adam_gain(0.0, 0.0) / math.sqrt(2 / math.pi), 12)
    (0.999385, 1.0)
    """
    from scipy.integrate import quad

    # Lags whose weight is below the rounding of the largest add nothing.
    lags = np.arange(1 + math.ceil(max(math.log(1e-17) / math.log(b) if b else 0 for b in (beta1, beta2))))
    first, second = (1 - beta1) * beta1**lags, (1 - beta2) * beta2**lags

    def density(u: float) -> float:  # t = u**2
        factors = 1 + 2 * u * u * second
        return 2 * float(np.sum(first / factors)) * math.exp(-0.5 * float(np.sum(np.log(factors))))

    return quad(density, 0, math.inf)[0] / math.sqrt(math.pi)


def gain(trace: Trace) -> float:
    """The constant c of the optimizer of a trace; with momentum 0, muon is the plain sign."""
    if trace.optimizer == "muon":
        return sign_gain(trace.momentum_coefficient, nesterov=True)
    return adam_gain()


def law(trace: Trace, curvature: float, noise: float) -> Law:
    """Leading order in the learning rate and in the ratio of signal and noise."""
    return "leading order"


def age(trace: Trace, curvature: float, noise: float) -> Array:
    r"""The learning rates summed with :math:`c\,h\sqrt{b_k}/s_1`, and T_L2 where decay is decoupled."""
    if noise == 0:
        raise InvalidInput("noise = 0 cannot dominate the gradient: give a number above 0.")
    coupled = trace.decay_law == "coupled"
    slope = curvature + (trace.weight_decay if coupled else 0.0)
    forgets = gain(trace) * slope / noise * trace.lr * np.sqrt(trace.batch_size)
    return np.cumsum(forgets if coupled else forgets + trace.decay)


def memory(trace: Trace, curvature: float, noise: float) -> Array:
    """What is left of the start on average."""
    return np.exp(-age(trace, curvature, noise))


def simulate(trace: Trace, seeds: int, rng: np.random.Generator, curvature: float, noise: float) -> Array:
    """Half the difference of two runs from opposite starts on the same noise.

    The noise is symmetric, so that the mean of the difference is that of one run; what the noise adds to
    both alike is gone. The start is small enough for the mean of the update to be linear in it.
    """
    spread = noise / np.sqrt(trace.batch_size)
    start = LINEAR * spread.min() / ((curvature or 1.0) * gain(trace))
    pair = np.stack([np.full((seeds, 1), start), np.full((seeds, 1), -start)])

    def gradient(k: int, w: Array) -> Array:
        return curvature * w + spread[k] * rng.normal(size=(seeds, 1))

    above, below = run(trace, pair, gradient)
    return (above - below)[:, 0] / (2 * start)


def derive() -> tuple[Step, ...]:
    """The mean of a sign and of Adam's direction over Gaussian noise, to first order in the signal."""
    import sympy as sp  # a third of a second that the laws need not wait for

    from ..optimizers.derivation import derive
    from ..optimizers.loss import Loss

    x, z, w0 = sp.symbols("x z w_0", real=True)
    h, s, s1, b, c, e, u = sp.symbols("h s s_1 b c e u", positive=True)
    beta, t = sp.Symbol("beta", positive=True), sp.Symbol("t", nonnegative=True)
    lag = sp.Symbol("j", integer=True, nonnegative=True)
    w, mean = sp.Function("w"), sp.Function("E")

    plain = derive("sign", Loss((h * x**2 / 2,), (x,)), 0).total[0]
    bell = sp.exp(-(z**2) / 2) / sp.sqrt(2 * sp.pi)
    zero = -h * x / s  # where the noise turns the sign
    of_sign = sp.integrate(bell, (z, zero, sp.oo)) - sp.integrate(bell, (z, -sp.oo, zero))
    of_sign = sp.expand(of_sign.rewrite(sp.erf))
    linear = sp.series(of_sign, x, 0, 2).removeO()

    # The first branch of a geometric series is that of beta below 1.
    squares = sp.summation(beta ** (2 * lag), (lag, 0, sp.oo)).args[0][0]
    average = sp.cancel((1 - beta) ** 2 * squares)
    ahead = (1 - beta**2) ** 2 + beta**4 * average

    # With e = 1 - beta2 the sum over lags of log(1 + 2*u*b_j), term by term, and the factor with a_j.
    logs = sum((-1) ** (n + 1) * (2 * u * e) ** n / (n * (1 - (1 - e) ** n)) for n in (1, 2, 3))
    density = sp.exp(-logs / 2) / (1 + 2 * u * e) / sp.sqrt(sp.pi * u)
    of_adam = sp.integrate(sp.expand(sp.series(density, e, 0, 2).removeO()), (u, 0, sp.oo))
    solution = sp.dsolve(sp.Eq(w(t).diff(t), -c * h * sp.sqrt(b) / s1 * w(t)), w(t), ics={w(0): w0})
    return (
        Step("the flow of sign descent without noise", sp.Eq(w(t).diff(t), plain.subs(x, w(t)))),
        Step("the mean of the sign over Gaussian noise", sp.Eq(mean(sp.sign(h * x + s * z)), of_sign)),
        Step("where noise dominates", sp.Eq(mean(sp.sign(h * x + s * z)), linear)),
        Step("an average of gradients has the noise, squared and in units of theirs", sp.Eq(s**2, average)),
        Step("and one that looks ahead", sp.Eq(s**2, ahead)),
        Step("the slope of the mean of Adam's direction, with e = 1 - beta2", sp.Eq(c, of_adam)),
        Step("so that after time t = sum lr", solution),
    )


NOISY_QUADRATIC = MemoryModel(
    name="noisy-quadratic",
    title="A quadratic of one weight where minibatch noise dominates",
    remembers="the mean difference that a small start makes",
    optimizers=("adam", "adamw", "muon"),
    settings={"curvature": 1.0, "noise": 1.0},
    formula=(
        "exp(-c*(h/s_1)*sum_k lr_k*sqrt(b_k)), with c = 0.9994 for adam and sqrt(2/pi) times a factor of the "
        "momentum for muon; decoupled decay adds exp(-T_L2)"
    ),
    latex=r"\exp\bigl(-c\,\tfrac{h}{s_1}\sum_k \eta_k\sqrt{b_k} - T_{L2}\bigr)",
    clock="T_adapt times sqrt(b), with constant c*h/s_1; T_L2, with constant 1 where decay is decoupled",
    law=law,
    age=age,
    memory=memory,
    simulate=simulate,
    derive=derive,
    assumptions=(
        "h*|w| is far below s_1/sqrt(b), also after momentum has averaged the noise",
        "gradient noise is Gaussian and independent from batch to batch",
        "rates and batch sizes change little within the memory of momentum and normaliser",
        "under muon a weight by itself, whose polar factor is the sign",
    ),
    references=("bernstein2018signsgd", "malladi2022sdes", "compagnoni2025adaptive"),
)
