r"""Weights in front of a normalisation: the loss sees their direction, and the norm is what remembers.

Where an update of SGD adds :math:`\eta^2G^2/r^2` to :math:`r^2` it adds :math:`2\eta^2G^2` to
:math:`r^4`, whatever r is; an update of a fixed size adds :math:`C\eta^2` to :math:`r^2`. With
:math:`p=4` and :math:`p=2`, :math:`A_k = \prod_{l\le k}(1-\eta_l\lambda_l)`,

.. math::
    r_K^p = A_K^p\Bigl(r_0^p + \sum_k c_k A_k^{-p}\Bigr), \qquad
    \frac{d\ln r_K}{d\ln r_0} = \frac1{1+\tau}, \qquad \tau = r_0^{-p}\sum_k c_k A_k^{-p}.

======= === ==============================================================================
sgd     4   :math:`c_k = 2\eta_k^2 (G^2 + \frac{N-b}{N-1}\frac{s^2}{b})` with :math:`\eta/(1-\beta)`
adam(w) 2   :math:`c_k = C\eta_k^2`, whatever :math:`\beta_1`, the batch and the gradient
muon    2   :math:`c_k = C\eta_k^2/S`, S the squared norm of the momentum's weights
======= === ==============================================================================

So the clock of SGD is T_SGD only where noise dominates the gradient, that of Adam is :math:`\sum\eta^2` and
not :math:`\sum\eta`, and decay multiplies either exponentially. Gradients of successive updates are taken
to be incoherent; where they all point the same way, r can grow as :math:`\sqrt C\sum\eta`.

Adam's second average is taken to be up to date. From small weights it lags behind the growth of the norm,
and more is remembered. For a 3x3 kernel over 128 channels and 93,900 updates at rate 0.001 the law says
0.0182 at He's scale and 0.0002 at a tenth of it. Adam itself has 0.0273 and 0.0035 among random gradients,
and :func:`~initmem.theory.models.radial.adam_norms` says 0.0275 and 0.0045.
"""

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InvalidInput
from ..trace import Array, Trace
from .model import Law, MemoryModel, Step
from .random_walk import final_norms

LARGEST = float(np.finfo(float).max)


def batch_gradient_square(trace: Trace, gradient_norm: float, noise: float) -> Array:
    r"""Mean squared norm of a minibatch gradient at unit weights, :math:`G^2 + \frac{N-b}{N-1}\frac{s^2}{b}`.

    Parameters
    ----------
    trace : Trace
    gradient_norm : float
        Norm G of the gradient of the whole training set.
    noise : float
        Standard deviation s of one example's gradient, over all its entries.

    Returns
    -------
    ndarray, shape (updates,)

    Examples
    --------
    >>> trace = Trace(lr=np.ones(3), batch_size=np.array([1.0, 2.0, 6.0]), train_size=6)
    >>> batch_gradient_square(trace, 1.0, 2.0).round(12).tolist()
    [5.0, 2.6, 1.0]
    """
    n, b = trace.train_size, trace.batch_size
    return gradient_norm**2 + noise**2 / b * (n - b) / max(n - 1, 1)


def power(trace: Trace) -> int:
    """The power of the norm that grows evenly: 4 under SGD, whose gradient falls with the norm, else 2."""
    return 4 if trace.optimizer == "sgd" else 2


def buffer_share(trace: Trace) -> float:
    r"""The squared norm S of the weights with which Muon's Nesterov momentum averages gradients.

    Normalised to unit size, a mean of incoherent gradients has each of them in it :math:`S^{-1/2}` times.

    Examples
    --------
    >>> round(buffer_share(Trace(lr=np.ones(1), optimizer="muon", momentum=0.5)), 6)
    0.583333
    """
    beta = trace.momentum_coefficient
    return (1 - beta) ** 2 * ((1 + beta) ** 2 + beta**4 / (1 - beta**2))


def _logarithms(
    trace: Trace, init_scale: ArrayLike, gradient_norm: float, noise: float, entries: float
) -> tuple[Array, Array]:
    """Logarithms of the age and of A_k, neither of which need fit in a double."""
    if trace.optimizer == "adam" and trace.weight_decay.any():
        raise InvalidInput(
            "scale-invariant has no law for adam with coupled weight decay, whose steps turn inwards as the "
            "norm grows: give --weight-decay 0, or the optimizer adamw."
        )
    scale = np.asarray(init_scale, dtype=float)
    if not (scale > 0).all():
        raise InvalidInput(
            f"init_scale = {scale.min():g} has no direction: give a positive norm at the start."
        )
    if trace.optimizer == "sgd" and trace.momentum_coefficient:
        kept = -trace.decay
    else:
        kept = np.log1p(-trace.lr * trace.weight_decay)
    with np.errstate(divide="ignore"):  # a rate of 0 adds nothing
        gain = 2 * np.log(trace.effective_lr)
        if trace.optimizer == "sgd":
            gain += np.log(2 * batch_gradient_square(trace, gradient_norm, noise)) + 2 * kept
        else:
            gain += np.log(entries / (buffer_share(trace) if trace.optimizer == "muon" else 1.0))
    p, left = power(trace), np.cumsum(kept)
    return np.logaddexp.accumulate(gain - p * left) - p * np.log(scale)[..., None], left


def norm(
    trace: Trace,
    init_scale: ArrayLike,
    gradient_norm: float = 1.0,
    noise: float = 1.0,
    entries: float = 128.0,
) -> Array:
    r"""The norm of the weights after each update, :math:`r_k = A_k r_0 (1+\tau_k)^{1/p}`.

    Parameters
    ----------
    trace : Trace
    init_scale : float or ndarray
        Norm :math:`r_0` at the start; of an array, every entry.
    gradient_norm : float
        Norm G of the whole training set's gradient at unit weights; for SGD.
    noise : float
        Standard deviation s of one example's gradient at unit weights; for SGD.
    entries : float
        For Adam the number C of weights under one normalisation. For Muon the squared norm of its update,
        which for an m x n matrix is min(m, n), and 1 for a vector.

    Returns
    -------
    ndarray, shape (..., updates)
        One path for every entry of `init_scale`.

    Raises
    ------
    InvalidInput
        If a norm at the start is not positive, or Adam has coupled decay.

    Examples
    --------
    A hundred updates of SGD without decay and noise; the exact recursion gives 1.6906:

    >>> round(float(norm(Trace(lr=np.full(100, 0.1)), 0.5, gradient_norm=2.0, noise=0.0)[-1]), 4)
    1.6851
    """
    log_age, left = _logarithms(trace, init_scale, gradient_norm, noise, entries)
    start = np.asarray(init_scale, dtype=float)[..., None]
    return start * np.exp(left + np.logaddexp(0, log_age) / power(trace))


def age(trace: Trace, init_scale: float, gradient_norm: float, noise: float, entries: float) -> Array:
    r"""What the updates added to :math:`r^p`, undoing decay, over :math:`r_0^p`; at most the largest double.

    Without decay it adds up over a run cut in two. With decay :math:`\ln(1+\tau)` does, if the second part
    starts from the norm that the first one reached.
    """
    log_age, _ = _logarithms(trace, init_scale, gradient_norm, noise, entries)
    return np.exp(np.minimum(log_age, np.log(LARGEST)))


def radial_memory(
    trace: Trace, init_scale: float, gradient_norm: float = 1.0, noise: float = 1.0, entries: float = 128.0
) -> Array:
    r"""The exponent :math:`d\ln r_k / d\ln r_0 = 1/(1+\tau_k)` after each update; arguments as for `norm`.

    Examples
    --------
    A 3x3 kernel over 128 channels, started with He's variance, after Adam at rate 0.001:

    >>> trace = Trace(lr=np.full(93_900, 1e-3), optimizer="adam")
    >>> round(float(radial_memory(trace, init_scale=2**0.5, entries=1152)[-1]), 4)
    0.0182
    """
    log_age, _ = _logarithms(trace, init_scale, gradient_norm, noise, entries)
    return np.exp(-np.logaddexp(0, log_age))


def law(trace: Trace, **settings: float) -> Law:
    """Exact where every update has the same size and a right angle to the weights."""
    return "exact" if trace.optimizer == "muon" and trace.momentum_coefficient == 0 else "leading order"


def simulate(
    trace: Trace,
    seeds: int,
    rng: np.random.Generator,
    init_scale: float,
    gradient_norm: float,
    noise: float,
    entries: float,
) -> Array:
    r"""The exponent from two starts :math:`r_0(1\pm\epsilon)` that see the same random gradients.

    Taken from differences of :math:`r^p`, which are exact for whatever is affine in it.
    """
    epsilon, p = 0.01, power(trace)
    starts = init_scale * np.array([1 + epsilon, 1 - epsilon]) ** (1 / p)
    longer, shorter = final_norms(trace, seeds, rng, starts, gradient_norm, noise, entries)
    ratio = (longer / shorter) ** p
    return (ratio - 1) / (ratio + 1) / epsilon


def derive() -> tuple[Step, ...]:
    """From the modified objective of a loss that sees only an angle to the law of the norm."""
    from .scale_invariant_derivation import steps

    return steps()


SCALE_INVARIANT = MemoryModel(
    name="scale-invariant",
    title="Weights in front of a normalisation",
    remembers="the norm of the weights, as the exponent with which it follows that at the start",
    optimizers=("sgd", "adam", "adamw", "muon"),
    settings={"init_scale": 1.0, "gradient_norm": 1.0, "noise": 1.0, "entries": 128.0},
    formula=(
        "1/(1 + age); sgd: age = 2*sum_k lr_k^2*(G^2 + s^2/b*(N-b)/(N-1))*exp(4*lambda*sum_l<=k lr_l)/r_0^4; "
        "adam, adamw, muon: age = C*sum_k lr_k^2*exp(2*lambda*sum_l<=k lr_l)/r_0^2"
    ),
    latex=r"\frac{1}{1+\tau},\quad \tau = r_0^{-p}\sum_k c_k\prod_{l\le k}(1-\eta_l\lambda_l)^{-p}",
    clock=(
        "sgd: T_SGD, with constant 2*s^2/r_0^4, if noise dominates, else sum lr^2, with 2*G^2/r_0^4; "
        "adam, adamw, muon: sum lr^2, with constant C/r_0^2; "
        "T_L2 in an exponential, with constant 4 for sgd and 2 for the others"
    ),
    law=law,
    age=age,
    memory=radial_memory,
    simulate=simulate,
    derive=derive,
    assumptions=(
        "the loss depends on the direction of the weights alone",
        "the gradient's norm at unit weights stays what it was, and its direction is random",
        "momentum forgets sooner than the norm changes",
        "Adam's second average is up to date: the norm changes little within 1/(1 - beta_2) updates",
    ),
    references=("arora2019theoretical", "li2020reconciling", "heo2021adamp", "kosson2024rotational"),
)
