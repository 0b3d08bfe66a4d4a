r"""Where gradient flow takes a diagonal linear network: the interpolator nearest in hyperbolic entropy.

With :math:`\beta = (w_+^2 - w_-^2)/2` and :math:`\alpha^2 = w_+w_-` conserved by the flow,
:math:`\mathrm{arsinh}(\beta/\alpha^2) = \ln(w_+/w_-)` moves in the span of the examples alone. So the limit
minimises the Bregman divergence from the start of

.. math::

    \psi_\alpha(\beta) = \tfrac12 \sum_j \Bigl(\beta_j\,\mathrm{arsinh}\frac{\beta_j}{\alpha_j^2}
    - \sqrt{\beta_j^2 + \alpha_j^4} + \alpha_j^2\Bigr)

among the :math:`\beta` that fit: the least 1-norm for small :math:`\alpha`, the least 2-norm for large. With
the convention :math:`\beta = w_+^2 - w_-^2` of other works, weights of size :math:`\alpha` at the start have
:math:`\sqrt2\,\alpha` in place of :math:`\alpha` here, and :math:`\psi` is
:math:`\frac12 \sum \alpha^2 q(\beta/\alpha^2)` with
:math:`q(z) = 2 - \sqrt{4 + z^2} + z\,\mathrm{arsinh}(z/2)`.
"""

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InvalidInput
from ..trace import Array

MAX_STEPS = 200  # of Newton's method, whose step is halved until the objective falls


def hyperbolic_entropy(beta: ArrayLike, alpha: ArrayLike) -> float:
    r"""The potential :math:`\psi_\alpha(\beta)`, summed over coordinates.

    Parameters
    ----------
    beta : array_like, shape (d,)
    alpha : array_like, shape (d,) or ()
        Positive; :math:`\alpha^2 = w_+w_-`.

    Returns
    -------
    float
        0 at the origin, positive elsewhere.

    Examples
    --------
    >>> round(2 * hyperbolic_entropy(1.0, 2**0.5), 10)
    0.2451438476
    """
    beta, square = np.asarray(beta, dtype=float), np.asarray(alpha, dtype=float) ** 2
    return float(np.sum(beta * np.arcsinh(beta / square) - np.hypot(beta, square) + square) / 2)


def interpolator(x: ArrayLike, y: ArrayLike, alpha: ArrayLike, start: ArrayLike = 0.0) -> Array:
    r"""The :math:`\beta` that fits the examples and is nearest to the start in :math:`\psi_\alpha`.

    It is :math:`\alpha^2\sinh(X^\top c + \mathrm{arsinh}(\beta_0/\alpha^2))`, with c from Newton's method on
    the dual :math:`\sum\alpha^2\cosh(\cdot) - c^\top y`, which is convex.

    Parameters
    ----------
    x : array_like, shape (n, d)
        Linearly independent examples, so n is at most d.
    y : array_like, shape (n,)
    alpha : array_like, shape (d,) or ()
        Positive.
    start : array_like, shape (d,) or (), default 0
        :math:`\beta_0`.

    Returns
    -------
    ndarray, shape (d,)

    Raises
    ------
    InvalidInput
        If the examples are linearly dependent or `alpha` is not positive.

    Examples
    --------
    >>> interpolator([[1.0, 2.0]], [1.0], 0.1 * 2**0.5).round(7).tolist()
    [0.066858, 0.466571]
    """
    x, y = np.atleast_2d(np.asarray(x, dtype=float)), np.atleast_1d(np.asarray(y, dtype=float))
    square = np.asarray(alpha, dtype=float) ** 2
    if not (square > 0).all():
        raise InvalidInput("alpha has an entry that is zero or no number: give positive numbers.")
    if np.linalg.matrix_rank(x) < len(x):
        raise InvalidInput(
            f"the {len(x)} examples are linearly dependent: give independent ones, at most {x.shape[1]}."
        )
    offset = np.arcsinh(np.asarray(start, dtype=float) / square)

    def dual(c: Array) -> float:
        return float(np.sum(square * np.cosh(c @ x + offset)) - c @ y)

    c = np.zeros(len(x))
    with np.errstate(over="ignore"):  # a step too far is refused, being infinite
        for _ in range(MAX_STEPS):
            angle = c @ x + offset
            rest = x @ (square * np.sinh(angle)) - y
            if np.abs(rest).max() <= 1e-13 * max(np.abs(y).max(), 1e-300):
                break
            step = np.linalg.solve((x * (square * np.cosh(angle))) @ x.T, rest)
            length, now = 1.0, dual(c)
            # Near the end a full step changes the dual by less than its rounding, and has to be taken.
            while not dual(c - length * step) <= now + 1e-14 * abs(now) and length > 1e-12:
                length /= 2
            c = c - length * step
        return square * np.sinh(c @ x + offset)
