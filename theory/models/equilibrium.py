r"""Where weight decay and the growth of scale-invariant weights balance, and how long it takes.

With gradients of random direction, an update u of squared size V, and :math:`a = 1-\eta\lambda`, the norm
rests where decoupled decay takes what the updates add,

.. math:: (1-a^2)\,r^2 = \eta^2 V\,(1 + 2aB), \qquad B = \sum_{l\ge1} a^{l-1}\rho_l,

:math:`\rho_l` being the correlation of updates l apart; and the weights turn, update by update, by the
angle of cosine :math:`1 - (1-a)(1-(1-a)B)/(1+2aB)`. What is published is the limit of small
:math:`\eta\lambda`.
"""

import math
from typing import NamedTuple

from ..errors import InvalidInput


class Equilibrium(NamedTuple):
    r"""A norm at rest.

    Attributes
    ----------
    norm : float
        The norm :math:`r_*`.
    rotation : float
        Angle between the weights before and after an update, in radians.
    relaxation : float
        Rate at which a small deviation of the norm fades, an update.
    """

    norm: float
    rotation: float
    relaxation: float


def sgd(lr: float, weight_decay: float, gradient_norm: float = 1.0, momentum: float = 0.0) -> Equilibrium:
    r"""Of SGD with decay in the gradient.

    .. math::
        r_*^4 = \frac{\eta G^2}{\lambda(1-\beta)(2-\eta\lambda/(1+\beta))}, \qquad
        2\sin\tfrac\delta2 = \sqrt{\frac{2\eta\lambda}{1+\beta}}, \qquad
        \text{relaxation } \frac{4\eta\lambda}{1-\beta}.

    The first two are exact as long as the norm fluctuates little, and always without momentum; the third is
    of leading order (Wan et al. 2021).

    Parameters
    ----------
    lr, weight_decay : float
        Positive.
    gradient_norm : float
        Root mean square of the minibatch gradient's norm at unit weights.
    momentum : float
        Coefficient of the heavy ball.

    Returns
    -------
    Equilibrium

    Raises
    ------
    InvalidInput
        If nothing balances: without decay, or with too much.

    Examples
    --------
    >>> [round(value, 6) for value in sgd(0.1, 0.01)]
    [1.495536, 0.044725, 0.004]
    """
    rate = decay_rate(lr, weight_decay)
    norm = (lr * gradient_norm**2 / (weight_decay * (1 - momentum) * (2 - rate / (1 + momentum)))) ** 0.25
    return Equilibrium(norm, 2 * math.asin(math.sqrt(rate / (2 * (1 + momentum)))), 4 * rate / (1 - momentum))


def adamw(lr: float, weight_decay: float, entries: float, beta1: float = 0.9) -> Equilibrium:
    r"""Of Adam with decoupled decay; for small :math:`\eta\lambda`, :math:`r_* = \sqrt{\eta C/(2\lambda)}`.

    Exact for an average of gradients of unit root mean square,
    :math:`V = C(1-\beta_1)/(1+\beta_1)` and :math:`\rho_l = \beta_1^l`; the published rotation is
    :math:`\sqrt{2\eta\lambda(1-\beta_1)/(1+\beta_1)}`.

    Parameters
    ----------
    lr, weight_decay : float
        Positive.
    entries : float
        Number C of weights.
    beta1 : float

    Returns
    -------
    Equilibrium

    Raises
    ------
    InvalidInput
        If nothing balances: without decay, or with too much.

    Examples
    --------
    >>> [round(value, 6) for value in adamw(1e-3, 0.5, 1000)]
    [0.997764, 0.007256, 0.001]
    """
    a = 1 - decay_rate(lr, weight_decay)
    return balance(lr, a, entries * (1 - beta1) / (1 + beta1), beta1 / (1 - a * beta1))


def adam(
    lr: float, weight_decay: float, entries: float, gradient_norm: float = 1.0, beta1: float = 0.9
) -> Equilibrium:
    r"""Of Adam with decay in the gradient, to leading order; its normaliser divides the decay too.

    .. math::
        r_*^3 = \frac{\eta\sqrt C G}{2\lambda}, \qquad
        \delta = \frac{\eta}{r_*}\sqrt{C\frac{1-\beta_1}{1+\beta_1}}, \qquad
        \text{relaxation } \frac{3\eta\lambda\sqrt C r_*}{G}.

    Parameters
    ----------
    lr, weight_decay : float
        Positive.
    entries : float
        Number C of weights.
    gradient_norm : float
        Root mean square of the minibatch gradient's norm at unit weights.
    beta1 : float

    Returns
    -------
    Equilibrium

    Raises
    ------
    InvalidInput
        If nothing balances: without decay, or with too much.

    Examples
    --------
    >>> round(adam(1e-3, 1e-3, 1000).norm, 4)
    2.5099
    """
    decay_rate(lr, weight_decay)
    root = math.sqrt(entries)
    norm = (lr * root * gradient_norm / (2 * weight_decay)) ** (1 / 3)
    rotation = lr * root * math.sqrt((1 - beta1) / (1 + beta1)) / norm
    return Equilibrium(norm, rotation, 3 * lr * weight_decay * root * norm / gradient_norm)


def muon(
    lr: float, weight_decay: float, rank: float, momentum: float = 0.95, nesterov: bool = True
) -> Equilibrium:
    r"""Of Muon with the exact polar factor of an average of gradients.

    Without Nesterov's step and for small :math:`\eta\lambda`,
    :math:`r_* = \sqrt{\frac{\eta R}{2\lambda}\frac{1+\beta}{1-\beta}}` and
    :math:`\delta = \sqrt{2\eta\lambda\frac{1-\beta}{1+\beta}}`. Polar factors of successive averages are
    taken to be as correlated as the averages, which holds for vectors of many entries. Those of matrices are
    less so, above all of square ones, and their norm rests lower: for a coefficient of 0.9 by 0.5% at
    16 x 256, 2% at 16 x 64, 12% at 16 x 16.

    Parameters
    ----------
    lr, weight_decay : float
        Positive.
    rank : float
        Smaller dimension R of the matrix; 1 for a vector.
    momentum : float
    nesterov : bool
        Whether the present gradient is counted once more, as torch does.

    Returns
    -------
    Equilibrium

    Raises
    ------
    InvalidInput
        If nothing balances: without decay, or with too much.

    Examples
    --------
    >>> round(muon(0.01, 0.1, 16, momentum=0.0).norm, 4)
    0.8947
    """
    a, beta = 1 - decay_rate(lr, weight_decay), momentum
    tail = beta**4 / (1 - beta**2)
    first = ((1 + beta) * beta + tail) / ((1 + beta) ** 2 + tail) if nesterov else 1.0
    return balance(lr, a, rank, first * beta / (1 - a * beta))


def decay_rate(lr: float, weight_decay: float) -> float:
    """The share that decay takes in one update, or a refusal if it takes nothing or everything."""
    if not (lr > 0 and weight_decay > 0 and lr * weight_decay < 1):
        raise InvalidInput(
            f"lr = {lr:g} with weight_decay = {weight_decay:g} has no equilibrium: give both above 0, with a "
            f"product below 1."
        )
    return lr * weight_decay


def balance(lr: float, a: float, size: float, lagged: float) -> Equilibrium:
    """The norm that updates of this squared size and these correlations B balance, and how it turns."""
    coherence = 1 + 2 * a * lagged
    norm = lr * math.sqrt(size * coherence / (1 - a**2))
    versine = (1 - a) * (1 - (1 - a) * lagged) / coherence
    return Equilibrium(norm, 2 * math.asin(math.sqrt(versine / 2)), -2 * math.log(a))
