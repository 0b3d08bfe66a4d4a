r"""What an epoch without replacement adds to the mean of the updates.

Batches of one epoch are disjoint, so the gradient of one and the Hessian of another are anticorrelated:
averaged over shuffles

.. math:: E[H_{B'} g_B] = H g - \frac{1}{N-1}\,\tfrac12\nabla\Gamma,

whatever the batch size, because two different batches hold two different examples. Each of the
:math:`m(m-1)/2` ordered pairs of an epoch contributes through the lag weights w: the earlier gradient has
moved the parameters by :math:`W_d = w_0 + \dots + w_{d-1}` when the later one is computed d updates on,
and in the end a gradient moves them by :math:`W = \sum_j w_j`. Batches of different epochs are independent
and add nothing to the mean.
"""

from collections.abc import Callable, Sequence

import numpy as np
import sympy as sp

from .lag import Z, memoryless


def finite_population(batch_size: sp.Expr, train_size: sp.Expr) -> sp.Expr:
    r"""The variance of a batch mean drawn without replacement, in units of :math:`\Gamma/b`.

    Two examples of a batch have covariance :math:`-\Gamma/(N-1)` because all N deviations sum to zero,
    so :math:`b^2\,\mathrm{Var} = b\,\Gamma - b(b-1)\,\Gamma/(N-1)`.

    Parameters
    ----------
    batch_size, train_size : Expr
        b and N.

    Returns
    -------
    Expr
        :math:`(N-b)/(N-1)`.

    Examples
    --------
    >>> [finite_population(b, 6) / b for b in (1, 2, 3, 4, 6)]
    [1, 2/5, 1/5, 1/10, 0]
    """
    b, N = sp.sympify(batch_size), sp.sympify(train_size)
    return sp.factor((b - b * (b - 1) / (N - 1)) / b)


def penalty(weights: sp.Expr, batch_size: sp.Expr, train_size: sp.Expr) -> sp.Expr:
    r"""The factor q for which the mean field gains :math:`-\eta\,q\,\nabla\Gamma` from shuffling.

    An epoch of m = N/b updates lasts a time :math:`m\eta`, and its pairs displace the mean by
    :math:`-\eta^2 W \sum_{d=1}^{m-1} (m-d) W_d\,\nabla\Gamma / (2(N-1))`.

    Parameters
    ----------
    weights : Expr
        Generating function of the lag weights; rational numbers for its constants unless it is 1.
    batch_size, train_size : Expr
        b and N. Numbers, with b dividing N, unless the weights are 1.

    Returns
    -------
    Expr

    Examples
    --------
    Plain SGD has the value of Smith et al. (2021):

    >>> b, N = sp.symbols("b N")
    >>> from initmem.theory.backward_error.lag import NOW
    >>> penalty(NOW, b, N)
    (N - b)/(4*b*(N - 1))
    """
    b, N = sp.sympify(batch_size), sp.sympify(train_size)
    m, total = N / b, sp.cancel(weights.subs(Z, 1))
    plain = total**2 * m * (m - 1) / 2 / (2 * m * (N - 1))
    return sp.together(plain) * memory_share(weights, m)


def memory_share(weights: sp.Expr, updates: sp.Expr) -> sp.Expr:
    r"""The share :math:`\kappa` of the pairs' full effect that is felt within the epoch.

    .. math:: \kappa = \frac{2}{m(m-1)} \sum_{d=1}^{m-1} (m-d) \frac{W_d}{W}

    A buffer that sums gradients delivers a gradient over the updates that follow, so it amplifies the
    noise of an epoch by the effective learning rate at most. The factor
    :math:`(1+\beta)/(1-\beta)` of momentum comes from the full gradient being felt after it has changed,
    and a noisy part that is redrawn has nothing of the kind.

    Parameters
    ----------
    weights : Expr
        Generating function of the lag weights, with numbers for its constants unless it is 1.
    updates : Expr
        Updates m of an epoch, a number from 2 on unless the weights are 1.

    Returns
    -------
    Expr

    Examples
    --------
    >>> from initmem.theory.backward_error.lag import geometric
    >>> round(float(memory_share(geometric(sp.Rational(9, 10)), 100)), 6)
    0.836363
    """
    if memoryless(weights) or updates == 1:
        return sp.Integer(1)
    m = int(updates)
    w = [float(c) for c in _taylor(weights, m)]
    felt = np.cumsum(w) / float(weights.subs(Z, 1))
    share = 2 / (m * (m - 1)) * np.dot(np.arange(m - 1, 0, -1), felt[: m - 1])
    # A rational number, for a float in a polynomial field would leave a curl of rounding.
    return sp.Rational(float(share))


def _taylor(weights: sp.Expr, count: int) -> list[sp.Expr]:
    r"""The weights :math:`w_0, \dots` from the generating function, by long division."""
    numerator, denominator = (sp.Poly(part, Z) for part in sp.fraction(sp.cancel(sp.together(weights))))
    above, below = numerator.all_coeffs()[::-1], denominator.all_coeffs()[::-1]
    found: list[sp.Expr] = []
    for k in range(count):
        rest = (above[k] if k < len(above) else 0) - sum(
            below[i] * found[k - i] for i in range(1, min(k, len(below) - 1) + 1)
        )
        found.append(sp.Float(rest / below[0], 30))
    return found


def displacement(
    start: np.ndarray,
    gradients: Sequence[Callable[[np.ndarray], np.ndarray]],
    hessians: Sequence[Callable[[np.ndarray], np.ndarray]],
    lr: float,
    updates: int,
) -> np.ndarray:
    r"""How far shuffling moves the mean of an epoch away from gradient descent, at any :math:`\eta H`.

    .. math:: -\frac{\eta^2}{m-1} \sum_{j<k} P^{m-1-k}\,
              E_B\bigl[(H_B - H)\,P^{k-1-j}\,(g_B - g)(\theta_j)\bigr], \qquad P = 1 - \eta H,

    along the iterates :math:`\theta_j` of gradient descent. The third order in the heterogeneity of the
    batches is neglected; for examples with quadratic losses nothing else is.

    Parameters
    ----------
    start : ndarray of shape (d,)
    gradients, hessians : sequence of callable
        For every possible batch B its gradient, shape (d,), and Hessian, shape (d, d), at a point.
    lr : float
    updates : int
        Updates m of the epoch, at least 2.

    Returns
    -------
    ndarray of shape (d,)

    Examples
    --------
    >>> a, c = [1.7, 1.9], [-0.1, 0.1]
    >>> g = [lambda x, a=a, c=c: a * (x - c) for a, c in zip(a, c)]
    >>> H = [lambda x, a=a: np.array([[a]]) for a in a]
    >>> displacement(np.array([1.0]), g, H, 0.1, 2).round(7)
    array([8.e-05])
    """
    H = [hessian(start) for hessian in hessians]
    mean_hessian = np.mean(H, axis=0)
    P = np.eye(len(start)) - lr * mean_hessian
    powers = [np.linalg.matrix_power(P, k) for k in range(updates)]
    total, theta = np.zeros_like(start), start
    for j in range(updates - 1):
        g = np.array([gradient(theta) for gradient in gradients])
        deviations = g - g.mean(axis=0)
        for k in range(j + 1, updates):
            pairs = [
                (h - mean_hessian) @ powers[k - 1 - j] @ dev for h, dev in zip(H, deviations, strict=True)
            ]
            total = total + powers[updates - 1 - k] @ np.mean(pairs, axis=0)
        theta = theta - lr * g.mean(axis=0)
    return -(lr**2) / (updates - 1) * total
