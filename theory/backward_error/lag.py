r"""Weights over the past: how an optimizer remembers what it saw some updates ago.

A weighting :math:`w_0, w_1, \dots` over lags is given by its generating function
:math:`w(z) = \sum_j w_j z^j`. Its moments :math:`M_k = \sum_j w_j j^k = (z\,d/dz)^k w(z)|_{z=1}` are all
that a modified flow sees of it, and :math:`\rho - 1 = -\eta\lambda\, w(1/\rho)` is the characteristic
equation of the update :math:`\theta_{k+1} = \theta_k - \eta\lambda\sum_j w_j\theta_{k-j}`.
"""

from functools import cache

import sympy as sp

Z = sp.Symbol("z")

# Only the present.
NOW = sp.Integer(1)


def memoryless(weights: sp.Expr) -> bool:
    """Whether only the present counts.

    Examples
    --------
    >>> memoryless(NOW), memoryless(average(sp.Rational(1, 2)))
    (True, False)
    """
    return weights == NOW


def geometric(beta: sp.Expr) -> sp.Expr:
    r"""Weights :math:`w_j = \beta^j`: the buffer of heavy-ball momentum.

    Examples
    --------
    >>> geometric(sp.Rational(1, 2)).subs(Z, 1)
    2
    """
    return 1 / (1 - beta * Z)


def average(beta: sp.Expr) -> sp.Expr:
    r"""Weights :math:`w_j = (1-\beta)\beta^j`: an exponential moving average without its start-up bias.

    Examples
    --------
    >>> sp.cancel(average(sp.Symbol("beta")).subs(Z, 1))
    1
    """
    return (1 - beta) / (1 - beta * Z)


@cache
def moments(weights: sp.Expr, count: int) -> tuple[sp.Expr, ...]:
    r"""The first `count` moments :math:`M_0, M_1, \dots` of a weighting.

    Parameters
    ----------
    weights : Expr
        Generating function in :data:`Z`, rational.
    count : int

    Returns
    -------
    tuple of Expr

    Examples
    --------
    >>> beta = sp.Symbol("beta")
    >>> [sp.factor(m) for m in moments(geometric(beta), 3)]
    [-1/(beta - 1), beta/(beta - 1)**2, -beta*(beta + 1)/(beta - 1)**3]
    """
    found = []
    for _ in range(count):
        found.append(sp.cancel(sp.together(weights.subs(Z, 1))))
        weights = sp.cancel(sp.together(Z * sp.diff(weights, Z)))
    return tuple(found)
