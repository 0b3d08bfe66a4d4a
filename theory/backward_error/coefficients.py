r"""Exact coefficients of the modified equation, for explicit Euler and for Euler with memory.

The update is :math:`\theta_{k+1} = \theta_k + h\sum_j w_j f(\theta_{k-j})`; explicit Euler, that is
gradient descent, has :math:`w_0 = 1` alone. Its iterates lie on the time-:math:`h` flow of

.. math:: f_h = \sum_\tau h^{|\tau|-1} \frac{p_\tau'(0)}{\sigma(\tau)} F(\tau),

a sum over rooted trees. The polynomial :math:`p_\tau(s)` is the weight of :math:`\tau` in the flow over
:math:`s` updates. Inserting the flow into the update, at any time :math:`s`, gives for a tree with
children :math:`\tau_1, \dots, \tau_m`

.. math:: p_\tau(s+1) - p_\tau(s) = \sum_j w_j \prod_i p_{\tau_i}(s-j), \qquad p_\tau(0) = 0.

For Euler this is the recursion of the strict order polynomial: :math:`p_\tau(s)` counts the maps from
the vertices into :math:`\{1,\dots,s\}` under which every vertex exceeds those below it. Its linear
coefficient is the value of the pre-Lie Magnus expansion.

References: Hairer, Lubich & Wanner 2006, chapter IX; Calaque, Ebrahimi-Fard & Manchon 2011; Stanley
2011 for order polynomials; Kirchgraber 1986 for the flow that carries a method with memory.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import accumulate
from math import comb, lcm
from typing import Any

import sympy as sp

from . import lag
from .trees import Tree, rooted_trees, symmetry

Values = list[Any]


def euler_coefficients(order: int) -> dict[Tree, Fraction]:
    r"""Coefficients of explicit Euler's modified equation for all trees of up to `order` vertices.

    Parameters
    ----------
    order : int
        Largest number of vertices :math:`|\tau|`, from 1 to 14.

    Returns
    -------
    dict of Tree to Fraction
        :math:`c(\tau)`, already divided by the symmetry :math:`\sigma(\tau)`.

    Raises
    ------
    InvalidInput
        If the order is out of range.

    Examples
    --------
    >>> c = euler_coefficients(4)
    >>> c[((),)], c[((), ())], c[(((),),)], c[((), (), ())]
    (Fraction(-1, 2), Fraction(1, 12), Fraction(1, 3), Fraction(0, 1))
    """
    rooted_trees(order)  # refuses an order out of range before anything is computed
    polynomials = _order_polynomials(order, None)
    # The derivative at 0 of a polynomial with p(0) = 0 from its values at 1, ..., order, as
    # integers over one denominator.
    scale = lcm(*range(1, order + 1))
    weights = [(-1) ** (i - 1) * comb(order, i) * scale // i for i in range(1, order + 1)]
    return {
        tree: Fraction(sum(map(int.__mul__, weights, values[1:])), scale * symmetry(tree))
        for tree, values in polynomials.items()
    }


@cache
def coefficients(weights: sp.Expr, order: int) -> dict[Tree, sp.Expr]:
    r"""Coefficients of the modified equation of Euler with memory.

    Parameters
    ----------
    weights : Expr
        Generating function of :math:`w_j` as in :mod:`initmem.theory.backward_error.lag`.
    order : int
        Largest number of vertices, from 1 to 14; symbolic weights take seconds beyond 7.

    Returns
    -------
    dict of Tree to Expr
        :math:`p_\tau'(0)/\sigma(\tau)`, rational functions of the symbols in `weights`.

    Raises
    ------
    InvalidInput
        If the order is out of range.

    Examples
    --------
    Heavy ball: the first correction grows as :math:`(1+\beta)/(1-\beta)^3`.

    >>> beta = sp.Symbol("beta")
    >>> sp.factor(coefficients(lag.geometric(beta), 2)[((),)])
    (beta + 1)/(2*(beta - 1)**3)
    """
    if lag.memoryless(weights):
        exact = euler_coefficients(order)
        return {tree: sp.Rational(c.numerator, c.denominator) for tree, c in exact.items()}
    rooted_trees(order)
    symbols = sorted(weights.free_symbols - {lag.Z}, key=str)
    field = sp.QQ.frac_field(*symbols) if symbols else sp.QQ
    polynomials = _order_polynomials(order, _lag_matrix(weights, order, field.from_sympy))
    slope = [field.from_sympy(sp.Rational((-1) ** (i - 1) * comb(order, i), i)) for i in range(1, order + 1)]
    return {
        tree: field.to_sympy(_dot(slope, values[1:])) / symmetry(tree) for tree, values in polynomials.items()
    }


def _order_polynomials(order: int, memory: list[Values] | None) -> dict[Tree, Values]:
    """The values of every tree's polynomial at 0, ..., order, which determine it."""
    polynomials: dict[Tree, Values] = {}
    for vertices in range(1, order + 1):
        for tree in rooted_trees(vertices):
            product = [1] * (order + 1)
            for child in tree:
                product = [a * b for a, b in zip(product, polynomials[child], strict=True)]
            if memory is not None:
                product = [_dot(row, product) for row in memory]
            polynomials[tree] = [0, *accumulate(product[:-1])]
    return polynomials


def _lag_matrix(weights: sp.Expr, order: int, exact: Callable[[sp.Expr], Any]) -> list[Values]:
    r"""The map :math:`q(s) \mapsto \sum_j w_j q(s-j)` on values at 0, ..., order of a polynomial.

    Its degree is below `order`. Taylor's formula turns the sum into moments times derivatives of q.
    """
    points = range(order + 1)
    moments = [exact(moment) for moment in lag.moments(weights, order)]
    interpolate = sp.Matrix(order + 1, order + 1, lambda s, k: sp.Integer(s) ** k).inv()
    powers_to_values = [
        [
            sum(comb(k, i) * s ** (k - i) * (-1) ** i * moments[i] for i in range(min(k + 1, order)))
            for k in points
        ]
        for s in points
    ]
    values_to_powers = [[exact(c) for c in interpolate.col(j)] for j in points]
    return [[_dot(row, column) for column in values_to_powers] for row in powers_to_values]


def _dot(left: Values, right: Values) -> Any:
    return sum(a * b for a, b in zip(left, right, strict=True))
