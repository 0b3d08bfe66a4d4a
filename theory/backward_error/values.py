"""Values of formulas at a point, in real numbers of many digits."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import mpmath as mp
import sympy as sp

from .parts import parts

# Of the argument of an exponential or a sine, in bits: beyond, the answer takes as many digits again.
LARGEST = 1000
# Of an integral, in digits.
_QUADRATURE = 20

_OTHER_NAMES: dict[type, Callable[[Any], Any]] = {sp.Abs: mp.fabs, sp.log: mp.ln}
_GROWING = (sp.exp, sp.sin, sp.cos, sp.tan, sp.sinh, sp.cosh, sp.tanh)


def numerical(expressions: Sequence[sp.Expr], point: Mapping[sp.Symbol, Any]) -> list[Any]:
    """Values to the digits that mpmath is set to; complex or not finite where the formula is.

    Parameters
    ----------
    expressions : sequence of Expr
    point : mapping of Symbol to number
        Numbers of sympy or of mpmath.

    Returns
    -------
    list of mpf or mpc

    Raises
    ------
    ArithmeticError
        At a pole, and where an exponential or a sine has an argument beyond 1e301.

    Examples
    --------
    >>> x = sp.Symbol("x")
    >>> numerical([sp.exp(x), sp.sqrt(-x)], {x: sp.Integer(1)})
    [mpf('2.7182818284590451'), mpc(real='0.0', imag='1.0')]
    """
    found: dict[sp.Basic, Any] = {symbol: _converted(value) for symbol, value in point.items()}
    for part in parts(*expressions):
        if part not in found:
            found[part] = _value(part, found, point)
    return [found[expression] for expression in expressions]


def _value(part: sp.Basic, found: dict[sp.Basic, Any], point: Mapping[sp.Symbol, Any]) -> Any:
    if isinstance(part, sp.Add):
        return mp.fsum(found[term] for term in part.args)
    if isinstance(part, sp.Mul):
        return mp.fprod(found[factor] for factor in part.args)
    if isinstance(part, sp.Pow):
        return _power(part, found[part.args[0]], found[part.args[1]])
    if isinstance(part, sp.Integral):
        return _integral(part, found, point)
    if isinstance(part, sp.Function) and len(part.args) == 1:
        argument = found[part.args[0]]
        if isinstance(part, _GROWING):
            _bounded(argument)
        function = _OTHER_NAMES.get(part.func) or getattr(mp, part.func.__name__, None)
        if function is not None:
            return function(argument)
    return _converted(part.subs({s: v for s, v in point.items() if isinstance(v, sp.Expr)}))


def _power(part: sp.Pow, base: Any, exponent: Any) -> Any:
    if part.exp.is_Integer:
        return base ** int(part.exp)
    if part.exp.is_Rational and part.exp.q == 2:
        return mp.sqrt(base) ** int(part.exp.p)
    if base != 0:
        _bounded(exponent * mp.ln(base))
    return mp.power(base, exponent)


def _bounded(argument: Any) -> None:
    if mp.isfinite(argument) and argument != 0 and mp.mag(argument) > LARGEST:
        raise OverflowError("the argument of an exponential or a sine is too large")


def _converted(value: Any) -> Any:
    if isinstance(value, sp.Rational):
        return mp.mpf(int(value.p)) / int(value.q)
    if isinstance(value, sp.Basic):
        return sp.N(value, mp.mp.dps)._to_mpmath(mp.mp.prec)
    return mp.mpmathify(value)


def _integral(part: sp.Integral, found: dict[sp.Basic, Any], point: Mapping[sp.Symbol, Any]) -> Any:
    """A definite integral to double precision and more, in pieces between the kinks of its integrand."""
    (t, low, high), integrand = part.limits[0], part.function
    ends = numerical([low, high], point)
    with mp.workdps(_QUADRATURE):
        cuts = sorted(cut for cut in _kinks(integrand, t) if min(ends) < cut < max(ends))
        pieces = [ends[0], *(cuts if ends[0] < ends[1] else cuts[::-1]), ends[1]]
        value, error = mp.quad(lambda s: numerical([integrand], {**point, t: s})[0], pieces, error=True)
    if not mp.isfinite(value) or error > abs(value) * mp.mpf(10) ** -15:
        raise ArithmeticError("the integral did not converge")
    return value


def _kinks(integrand: sp.Expr, t: sp.Symbol) -> list[Any]:
    """Where polynomials inside an absolute value or a sign are zero."""
    insides = {kink.args[0] for kink in integrand.atoms(sp.Abs, sp.sign)}
    polynomials = [sp.Poly(inside, t) for inside in insides if inside.is_polynomial(t) and inside.has(t)]
    roots = [root for polynomial in polynomials for root in polynomial.nroots(n=_QUADRATURE)]
    return [_converted(root) for root in roots if root.is_real]
