r"""Whether a field is minus the gradient of something, and of what.

From second order on the modified field of gradient descent is in general not a gradient: its curl
contains the commutator of the Hessian with the third derivative. So a modified objective is returned
only where the curl vanishes and the gradient of what was found gives the field back.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain

import mpmath as mp
import sympy as sp

from .antiderivative import MOST_TERMS, antiderivative, unevaluated
from .derivative import derivative
from .differentials import most_terms
from .modular import is_rational, modular
from .parts import has_unknown, symbols_of
from .vanishing import DIGITS, Point, everywhere, negligible, real_values, residues, vanishes

Vector = Sequence[sp.Expr]
Pair = tuple[sp.Symbol, sp.Symbol]


def curl(field: Vector, variables: Sequence[sp.Symbol]) -> dict[Pair, sp.Expr]:
    r"""The antisymmetric part of the derivative, :math:`\partial_a F_b - \partial_b F_a` for a before b.

    Parameters
    ----------
    field : sequence of Expr, length d
    variables : sequence of Symbol, length d

    Returns
    -------
    dict of (Symbol, Symbol) to Expr
        One entry a pair, so three in three dimensions and none in one.

    Examples
    --------
    >>> x, y = sp.symbols("x y")
    >>> curl([-y, x], [x, y])
    {(x, y): 2}
    """
    return {
        (a, b): derivative(field[j], a) - derivative(field[i], b)
        for i, a in enumerate(variables)
        for j, b in enumerate(variables)
        if i < j
    }


def is_gradient(field: Vector, variables: Sequence[sp.Symbol], near: Point | None = None) -> bool | None:
    """Whether the curl of a field vanishes identically.

    Decided modulo a prime for quotients of polynomials, else from the numerical curl at random points.

    Parameters
    ----------
    field : sequence of Expr, length d
    variables : sequence of Symbol, length d
    near : mapping of Symbol to number, optional
        A point of the domain, for some or all of the symbols.

    Returns
    -------
    bool or None
        None where no point that was tried lies in the domain.

    Examples
    --------
    >>> x, y = sp.symbols("x y")
    >>> is_gradient([2 * x * y, x**2], [x, y]), is_gradient([-y, x], [x, y])
    (True, False)
    >>> is_gradient([sp.exp(x * y) * y, sp.exp(x * y) * x], [x, y])
    True
    """
    if len(variables) == 1:
        return True
    if has_unknown(*field):
        answers = [vanishes(part, near) for part in curl(field, variables).values()]
        return False if False in answers else None if None in answers else True
    symbols = symbols_of(*variables, *field)
    if is_rational(field):
        jacobian = modular(field, residues(symbols), variables)
        if jacobian is None:
            return None
        d = len(variables)
        return all(jacobian[i][j + 1] == jacobian[j][i + 1] for i in range(d) for j in range(i))
    curl_of = numerical_curl(field, variables, symbols)

    def curl_free(point: Point) -> bool | None:
        found = curl_of(point)
        return None if found is None else all(negligible(part, scale) for part, scale in found.values())

    return everywhere(curl_free, symbols, near)


def numerical_curl(
    field: Vector, variables: Sequence[sp.Symbol], symbols: Sequence[sp.Symbol]
) -> Callable[[Mapping[sp.Symbol, sp.Expr]], dict[Pair, tuple[mp.mpf, mp.mpf]] | None]:
    """A function of a point that gives the curl there to 20 digits, for fields too long to differentiate.

    Parameters
    ----------
    field : sequence of Expr, length d
    variables : sequence of Symbol, length d
    symbols : sequence of Symbol
        Everything that needs a value.

    Returns
    -------
    callable
        From a mapping of symbols to numbers to a pair (curl, size of the two derivatives in it) for
        each pair of variables, or None where the field is not real.

    Examples
    --------
    >>> x, y = sp.symbols("x y")
    >>> parts = numerical_curl([-y, x], [x, y], [x, y])({x: sp.Integer(1), y: sp.Integer(2)})
    >>> float(parts[x, y][0])
    2.0
    """

    def at(point: Mapping[sp.Symbol, sp.Expr]) -> dict[Pair, tuple[mp.mpf, mp.mpf]] | None:
        with mp.workdps(2 * DIGITS):
            columns = []
            for variable in variables:
                # The error of a central difference is the square of its step.
                step = (abs(sp.Rational(point[variable])) or 1) / sp.Integer(10) ** (DIGITS // 2)
                ends = [
                    real_values(field, {s: point[s] for s in symbols} | {variable: point[variable] + move})
                    for move in (step, -step)
                ]
                if None in ends:
                    return None
                width = 2 * mp.mpf(int(step.p)) / int(step.q)
                columns.append([(a - b) / width for a, b in zip(*ends, strict=True)])
            return {
                (a, b): (columns[i][j] - columns[j][i], abs(columns[i][j]) + abs(columns[j][i]))
                for i, a in enumerate(variables)
                for j, b in enumerate(variables)
                if i < j
            }

    return at


def potential(
    field: Vector,
    variables: Sequence[sp.Symbol],
    candidates: Iterable[sp.Expr] = (),
    near: Point | None = None,
) -> sp.Expr | None:
    r"""A function V with :math:`F = -\nabla V`, or None where there is none or none was found.

    In one dimension there always is one; without a closed form it is left as an integral.

    Parameters
    ----------
    field : sequence of Expr, length d
    variables : sequence of Symbol, length d
    candidates : iterable of Expr
        Functions to try before integrating.
    near : mapping of Symbol to number, optional
        A point of the domain, for some or all of the symbols.

    Returns
    -------
    Expr or None
        Whatever is returned has been differentiated and compared with the field.

    Examples
    --------
    >>> x, y = sp.symbols("x y")
    >>> potential([-2 * x * y, -(x**2)], [x, y])
    x**2*y
    >>> potential([-y, x], [x, y]) is None
    True
    """
    if not is_gradient(field, variables, near):
        return None
    for V in chain(candidates, _integrals(field, variables)):
        if all(vanishes(c + derivative(V, v), near) for c, v in zip(field, variables, strict=True)):
            return V
    # The derivative of an integral by its upper end needs no comparison.
    return -unevaluated(field[0], variables[0], near) if len(variables) == 1 else None


def _integrals(field: Vector, variables: Sequence[sp.Symbol]) -> Iterator[sp.Expr]:
    """Integrate along one variable after another what the gradient so far does not give."""
    V: sp.Expr = sp.Integer(0)
    for i, (component, variable) in enumerate(zip(field, variables, strict=True)):
        rest = component + derivative(V, variable)
        integral = antiderivative(_without(rest, variables[:i]), variable)
        if integral is None:
            return
        V -= integral
    yield sp.expand(V) if V.is_polynomial(*variables) and most_terms(V) <= MOST_TERMS else V


def _without(rest: sp.Expr, done: Sequence[sp.Symbol]) -> sp.Expr:
    """What does not depend on some variables, though they stand in it, with numbers in their place."""
    if not rest.is_polynomial():
        for value in range(3):
            found = rest.subs(dict.fromkeys(done, sp.Integer(value)))
            if not found.has(sp.nan, sp.zoo, sp.oo, -sp.oo):
                return found
    return rest
