"""Quotients of polynomials at a point modulo a prime, which decides whether they are zero, without expanding.

Value and derivatives are computed together, part by part.
"""

from collections.abc import Iterable, Mapping, Sequence

import sympy as sp

from .parts import parts

# A polynomial of degree n that is not zero is zero at a random point with probability n/PRIME at most.
PRIME = 2**521 - 1


def is_rational(expressions: Iterable[sp.Basic]) -> bool:
    """Whether all are quotients of polynomials with rational coefficients.

    Examples
    --------
    >>> x, y = sp.symbols("x y")
    >>> is_rational([(x + y) ** 60 / (1 + x)]), is_rational([sp.sqrt(x)]), is_rational([sp.pi * x])
    (True, False, False)
    """
    return all(
        isinstance(part, (sp.Add, sp.Mul, sp.Rational, sp.Symbol))
        or (isinstance(part, sp.Pow) and part.exp.is_Integer)
        for part in parts(*expressions)
    )


def modular(
    expressions: Sequence[sp.Expr], point: Mapping[sp.Symbol, int], variables: Sequence[sp.Symbol] = ()
) -> list[tuple[int, ...]] | None:
    """Value and slopes of rational formulas at a point, modulo a prime; None at a pole.

    Parameters
    ----------
    expressions : sequence of Expr
        For which :func:`is_rational` holds.
    point : mapping of Symbol to int
    variables : sequence of Symbol, length d

    Returns
    -------
    list of tuple of int or None
        For each expression its value and its d derivatives.

    Examples
    --------
    >>> x, y = sp.symbols("x y")
    >>> modular([x**2 * y], {x: 3, y: 5}, [x, y])
    [(45, 30, 9)]
    """
    zeros = (0,) * len(variables)
    found: dict[sp.Basic, tuple[int, ...]] = {}
    for part in parts(*expressions):
        if isinstance(part, sp.Rational):
            found[part] = (int(part.p) * pow(int(part.q), -1, PRIME) % PRIME, *zeros)
        elif isinstance(part, sp.Symbol):
            found[part] = (point[part] % PRIME, *(int(part == variable) for variable in variables))
        elif isinstance(part, sp.Add):
            columns = zip(*(found[term] for term in part.args), strict=True)
            found[part] = tuple(sum(column) % PRIME for column in columns)
        elif isinstance(part, sp.Mul):
            product = (1, *zeros)
            for factor in part.args:
                value, *slopes = found[factor]
                pairs = zip(product[1:], slopes, strict=True)
                turned = tuple((a * value + product[0] * b) % PRIME for a, b in pairs)
                product = (product[0] * value % PRIME, *turned)
            found[part] = product
        else:
            (value, *slopes), n = found[part.args[0]], int(part.args[1])
            if n < 0 and value == 0:
                return None
            outer = n * pow(value, n - 1, PRIME) if value or n > 1 else int(n == 1)
            found[part] = (pow(value, n, PRIME), *(outer * slope % PRIME for slope in slopes))
    return [found[expression] for expression in expressions]
