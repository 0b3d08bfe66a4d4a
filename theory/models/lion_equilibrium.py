r"""Lion's equilibrium of decay and growth, by the law of correlated signs and as published.

The mixes of gradients that Lion takes the sign of are Gaussian for many weights, so that signs are correlated
by :math:`\frac2\pi\arcsin\rho_l`. The published formula replaces the sign by a straight line. For
:math:`\eta C/(2\lambda) = 0.15` with :math:`\eta\lambda = 0.0003` the norm rests at

============ ============== ======= =============
betas        simulation     arcsine straight line
============ ============== ======= =============
(0, 0)       0.385 +- 0.001 0.387   0.309
(0.9, 0.5)   0.638 +- 0.002 0.638   0.584
(0.9, 0.99)  2.585 +- 0.003 2.587   2.605
(0.95, 0.98) 2.931 +- 0.004 2.931   2.867
============ ============== ======= =============

Without momentum the published formula is off by :math:`\sqrt{\pi/2}`. Where the average is long, the
limit of small :math:`\eta\lambda`, 2.625 for the default betas, is reached late: the correlations count
only as far as decay lets the weights remember.
"""

import math

import numpy as np

from ..trace import Array
from .equilibrium import Equilibrium, balance, decay_rate


def lion(
    lr: float, weight_decay: float, entries: float, beta1: float = 0.9, beta2: float = 0.99
) -> Equilibrium:
    r"""Of Lion, whose signs are correlated by the arcsine law.

    For small :math:`\eta\lambda`, :math:`r_* = \sqrt{\eta C T/(2\lambda)}` and
    :math:`\delta = \sqrt{2\eta\lambda/T}`, :math:`T = 1 + \frac4\pi\sum_{l\ge1}\arcsin\rho_l`, where
    :math:`\rho_l` is the correlation of the mixes that the signs are taken of.

    Parameters
    ----------
    lr, weight_decay : float
        Positive.
    entries : float
        Number C of weights.
    beta1, beta2 : float

    Returns
    -------
    Equilibrium

    Raises
    ------
    InvalidInput
        If nothing balances: without decay, or with too much.

    Examples
    --------
    Without momentum every sign is independent of the one before:

    >>> round(lion(1e-3, 1.0, 300, beta1=0.0, beta2=0.0).norm, 4)
    0.3874
    """
    a = 1 - decay_rate(lr, weight_decay)
    signs = 2 / math.pi * np.arcsin(mix_correlation(beta1, beta2))
    lagged = float((a ** np.arange(len(signs)) * signs).sum())
    return balance(lr, a, entries, lagged)


def lion_linearised(
    lr: float, weight_decay: float, entries: float, beta1: float = 0.9, beta2: float = 0.99
) -> Equilibrium:
    r"""As published for Lion, with :math:`\sqrt{2/\pi}` times the argument for its sign.

    :math:`r_* = \sqrt{\eta C/(\pi\lambda S)}` and :math:`\delta = \sqrt{\pi\eta\lambda S}`, S the squared
    norm of the weights in the mix. Right where the mix is long; without momentum its norm is
    :math:`\sqrt{2/\pi}` of what simulations show and :func:`lion` predicts.

    Examples
    --------
    >>> round(lion_linearised(1e-3, 1.0, 300, beta1=0.0, beta2=0.0).norm, 4)
    0.309
    """
    rate, share = decay_rate(lr, weight_decay), mix_square(beta1, beta2)
    norm = math.sqrt(lr * entries / (math.pi * weight_decay * share))
    return Equilibrium(norm, math.sqrt(math.pi * rate * share), 2 * rate)


def mix_square(beta1: float, beta2: float) -> float:
    r"""The squared norm S of the weights on past gradients in Lion's mix.

    Examples
    --------
    >>> round(mix_square(0.9, 0.99), 6)
    0.01407
    """
    return (1 - beta1) ** 2 + beta1**2 * (1 - beta2) / (1 + beta2)


def mix_correlation(beta1: float, beta2: float) -> Array:
    r"""The correlation :math:`\rho_l` of Lion's mixes :math:`l = 1, 2, \dots` updates apart, until it is nil.

    Examples
    --------
    >>> mix_correlation(0.9, 0.5)[:2].round(4).tolist()
    [0.6429, 0.3214]
    """
    lags = np.arange(math.ceil(-40 / math.log(beta2)) if beta2 > 0 else 1)  # one less than the distance
    present = beta1 * (1 - beta2) * (1 - beta1)
    past = beta1**2 * (1 - beta2) * beta2 / (1 + beta2)
    return (present + past) * beta2 ** lags.astype(float) / mix_square(beta1, beta2)
