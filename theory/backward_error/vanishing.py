"""Whether a formula is zero everywhere: exactly for quotients of polynomials, else from its values at points.

Nothing is expanded. What is not rational is evaluated at random points and, where a point of interest is
given, first there and close to it, for the domain may lie anywhere.
"""

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import mpmath as mp
import sympy as sp
from sympy.core.function import AppliedUndef

from .modular import PRIME, is_rational, modular
from .parts import symbols_of
from .values import numerical

Point = Mapping[sp.Symbol, sp.Expr]

# Enough for an identity of analytic functions to be accepted: a function that is not zero is zero
# at a random point with probability zero.
_POINTS, DIGITS = 10, 40
_TRIES = 200
_CLOSE = 5


def vanishes(expression: sp.Expr, near: Point | None = None) -> bool | None:
    """Whether an expression is zero for all values of its symbols.

    Quotients of polynomials are evaluated modulo a large prime, which decides. Anything else is
    evaluated at random points with 80 digits.

    Parameters
    ----------
    expression : Expr
    near : mapping of Symbol to number, optional
        A point of the domain, for some or all of the symbols.

    Returns
    -------
    bool or None
        None where no point that was tried lies in the domain.

    Examples
    --------
    >>> x = sp.Symbol("x", real=True)
    >>> vanishes(sp.sin(x) ** 2 + sp.cos(x) ** 2 - 1), vanishes(sp.sin(x) - x)
    (True, False)
    >>> vanishes(sp.log(-(x**2) - 1)) is None
    True
    """
    unknown = expression.atoms(AppliedUndef, sp.Derivative)
    expression = expression.xreplace({function: sp.Dummy(real=True) for function in unknown})
    if is_rational([expression]):
        found = modular([expression], residues(symbols_of(expression)))
        return None if found is None else found[0] == (0,)

    def small(point: Point) -> bool | None:
        with mp.workdps(2 * DIGITS):
            terms = real_values(sp.Add.make_args(expression), point)
            # Rounding scales with the largest term and the sum is exact far below it.
            return None if terms is None else negligible(mp.fsum(terms), max(map(abs, terms)))

    return everywhere(small, symbols_of(expression), near)


def residues(symbols: Iterable[sp.Symbol]) -> dict[sp.Symbol, int]:
    """A random point modulo :data:`PRIME`."""
    draw = random.Random(2605)
    return {symbol: draw.randrange(PRIME) for symbol in symbols}


def real_values(expressions: Sequence[sp.Expr], point: Mapping[sp.Symbol, Any]) -> list[mp.mpf] | None:
    """Their values at a point; None where they are not real and finite or cannot be computed."""
    try:
        values = numerical(expressions, point)
    except (ArithmeticError, ValueError, TypeError):
        return None
    real = not any(isinstance(value, mp.mpc) or not mp.isfinite(value) for value in values)
    return values if real else None


def negligible(value: mp.mpf, scale: mp.mpf) -> bool:
    """Whether a value is nothing but the rounding of terms of some size."""
    return bool(abs(value) <= scale * mp.mpf(10) ** (-DIGITS // 2))


def everywhere(
    holds: Callable[[Point], bool | None], symbols: Iterable[sp.Symbol], near: Point | None = None
) -> bool | None:
    """Whether something holds at every point that is tried; None if no such point lies in the domain.

    Parameters
    ----------
    holds : callable
        Takes a value for each symbol and returns None outside its domain.
    symbols : iterable of Symbol
    near : mapping of Symbol to number, optional
        Tried first, with points close to it.

    Examples
    --------
    >>> x = sp.Symbol("x", real=True)
    >>> everywhere(lambda point: point[x] ** 2 > 0, [x]), everywhere(lambda point: None, [x])
    (True, None)
    """
    names = sorted(symbols, key=str)
    close = [holds(point) for point in _close_points(names, near)] if near else []
    if False in close:
        return False
    seen = 0
    for point in random_points(names):
        answer = holds(point)
        if answer is False:
            return False
        seen += answer is not None
        if seen == _POINTS:
            break
    return True if seen or True in close else None


def _close_points(names: Sequence[sp.Symbol], near: Point) -> Iterator[dict[sp.Symbol, sp.Expr]]:
    """The point itself and some around it, with random values for what it leaves out."""
    draw = random.Random(2605)
    for k, other in zip(range(_CLOSE + 1), random_points(names), strict=False):
        away = [sp.Rational(draw.randrange(-1000, 1001) * k, 10**6) for _ in names]
        yield {
            symbol: near[symbol] + part * (abs(near[symbol]) or 1) if symbol in near else other[symbol]
            for symbol, part in zip(names, away, strict=True)
        }


def random_points(symbols: Sequence[sp.Symbol]) -> Iterator[dict[sp.Symbol, sp.Expr]]:
    """Points of both signs, from a tenth to ten, so that kinks and domains on either side are met.

    Symbols that cannot be negative, such as a learning rate, lie between 0 and 1.

    Examples
    --------
    >>> lr = sp.Symbol("lr", positive=True)
    >>> all(0 < point[lr] < 1 for point in random_points([lr]))
    True
    """
    draw = random.Random(2605)
    for tries in range(_TRIES):
        # In many dimensions a domain such as that of logarithms is found on the positive side only.
        signs = (1, -1) if tries % 2 else (1,)
        yield {
            symbol: sp.Rational(draw.randrange(1, 1000), 1000)
            if symbol.is_nonnegative
            else draw.choice(signs) * sp.Rational(round(1000 * 10 ** draw.uniform(-1, 1)), 1000)
            for symbol in symbols
        }
