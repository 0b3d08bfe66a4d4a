r"""Quadratic losses to all orders: the exact rate at which an update forgets, from its slow root.

Along an eigenvector of the Hessian with eigenvalue :math:`\lambda` the update
:math:`\theta_{k+1} = \theta_k - \eta\lambda\sum_j w_j\theta_{k-j}` has the characteristic equation
:math:`\rho - 1 = -\eta\lambda\,w(1/\rho)`. The root that leaves 1 as :math:`\eta\lambda` leaves 0 is the
slow one, and the modified flow is :math:`\dot\theta = \ln(\rho)\,\theta/\eta`.
"""

import mpmath as mp
import sympy as sp

from ..errors import InvalidInput
from .lag import Z
from .values import numerical

RHO = sp.Symbol("rho")

# Products of lr and curvature this far below their limit are solved for the difference of the root to 1.
_TINY, _DIGITS = 1e-6, 40


def exact_rate(weights: sp.Expr, lr: float, curvature: float) -> float:
    r"""The rate :math:`-\ln(\rho)/\eta` of the modified flow on a quadratic, to all orders.

    Parameters
    ----------
    weights : Expr
        Generating function of the lag weights, with numbers for its constants.
    lr : float
        Learning rate :math:`\eta`.
    curvature : float
        Eigenvalue :math:`\lambda` of the Hessian.

    Returns
    -------
    float
        Per unit of time, which is learning rate times updates.

    Raises
    ------
    InvalidInput
        If the slow root is not real and positive, so that no real flow carries the iterates.

    Examples
    --------
    Gradient descent:

    >>> from initmem.theory.backward_error.lag import NOW, geometric
    >>> round(exact_rate(NOW, 0.1, 1.0), 14)
    1.05360515657826

    Heavy ball at 0.9:

    >>> round(exact_rate(geometric(sp.Rational(9, 10)), 5e-4, 1.0), 10)
    10.5262631424

    The root is then so close to 1 that only their difference is computed:

    >>> exact_rate(NOW, 1e-300, 2.0)
    2.0
    """
    product = lr * curvature
    limit = largest_product(weights)
    if product >= limit:
        raise InvalidInput(
            f"lr * curvature = {product:.6g} is not below {limit:.6g}: the iterates change sign or "
            f"oscillate and no real flow carries them; lower lr = {lr:g}."
        )
    if abs(product) < _TINY * limit:
        return _near_one(weights, lr, curvature)
    equation = sp.numer(sp.together(_product(weights) - sp.Rational(lr) * sp.Rational(curvature)))
    # 30 digits, because the root lies near 1 and its logarithm is wanted.
    real = [root for root in sp.Poly(equation, RHO).nroots(n=30) if root.is_real]
    return float(-sp.log(max(real)) / lr)


def _near_one(weights: sp.Expr, lr: float, curvature: float) -> float:
    r"""With :math:`\rho = 1 - \eta\lambda s` the equation is :math:`s = w(1/\rho)`, and s is near w(1)."""
    with mp.workdps(_DIGITS):
        product = mp.mpf(lr) * mp.mpf(curvature)
        s = mp.mpf(0)
        for _ in range(10):  # each gains six digits, as the product is that far below its limit
            s = numerical([weights], {Z: 1 / (1 - product * s)})[0]
        return float(-mp.log1p(-product * s) / mp.mpf(lr))


def largest_product(weights: sp.Expr) -> float:
    r"""The :math:`\eta\lambda` at which the slow root stops being real and positive.

    For gradient descent 1, for heavy ball :math:`(1-\sqrt\beta)^2`.

    Parameters
    ----------
    weights : Expr
        Generating function of the lag weights, with numbers for its constants.

    Returns
    -------
    float

    Examples
    --------
    >>> from initmem.theory.backward_error.lag import NOW, geometric
    >>> largest_product(NOW), round(largest_product(geometric(sp.Rational(9, 10))), 7)
    (1.0, 0.0026334)
    """
    # The product rises as rho falls from 1; the slow root ends where that turns or where rho reaches 0.
    product = _product(weights)
    turning = sp.Poly(sp.numer(sp.together(sp.diff(product, RHO))), RHO)
    roots = turning.nroots(n=30) if turning.degree() > 0 else []
    end = max((root for root in roots if root.is_real and 0 < root < 1), default=0)
    return float(product.subs(RHO, end) if end else sp.limit(product, RHO, 0, "+"))


def _product(weights: sp.Expr) -> sp.Expr:
    r"""The characteristic equation solved for :math:`\eta\lambda`."""
    return sp.cancel(sp.together((1 - RHO) / weights.subs(Z, 1 / RHO)))
