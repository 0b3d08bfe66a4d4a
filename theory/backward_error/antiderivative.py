"""Integrals in closed form, of the functions for which an algorithm finds them in good time."""

import sympy as sp
from sympy.integrals.rationaltools import ratint
from sympy.polys.polyerrors import CoercionFailed

from .differentials import most_terms
from .parts import length, symbols_of
from .vanishing import Point, random_points, real_values
from .waves import integral_of_waves

# Longer integrands, and those with more terms when expanded, take longer than a reader waits.
LONGEST, MOST_TERMS, HIGHEST_DEGREE = 2000, 1000, 60


def antiderivative(integrand: sp.Expr, x: sp.Symbol) -> sp.Expr | None:
    """An integral of a function of one of some classes, else None.

    These are polynomials, rational functions, rational functions of exp(x), and polynomials in x, sines,
    cosines and exponentials of multiples of x, none of them too long. A search by rules over anything
    else may take minutes to fail.

    Parameters
    ----------
    integrand : Expr
    x : Symbol

    Returns
    -------
    Expr or None

    Examples
    --------
    >>> x = sp.Symbol("x", real=True)
    >>> antiderivative(x**2, x), antiderivative(sp.exp(-(x**2)), x) is None
    (x**3/3, True)
    """
    if integrand.is_polynomial(x):
        return sp.integrate(sp.expand(integrand), x) if most_terms(integrand) <= MOST_TERMS else None
    if length(integrand) > LONGEST:
        return None
    if integrand.is_rational_function(x):
        return _rational(integrand, x)
    integrand = integrand.rewrite([sp.sinh, sp.cosh, sp.tanh], sp.exp)
    u = sp.Dummy("u", positive=True)
    in_exponential = _in_exponential(integrand, x, u)
    if in_exponential is not None:
        found = _rational(in_exponential / u, u)
        return None if found is None else found.subs(u, sp.exp(x))
    return integral_of_waves(integrand, x)


def _rational(integrand: sp.Expr, x: sp.Symbol) -> sp.Expr | None:
    symbols = sorted(integrand.free_symbols, key=sp.default_sort_key)
    field = sp.QQ.frac_field(*symbols)
    try:
        quotient = field.from_sympy(integrand)
    except (CoercionFailed, ValueError):  # coefficients such as sqrt(2)
        if most_terms(integrand) > MOST_TERMS:
            return None
        return ratint(sp.cancel(sp.together(integrand)), x)
    degree = max(part.degree(part.ring.gens[symbols.index(x)]) for part in (quotient.numer, quotient.denom))
    return ratint(quotient.as_expr(), x) if degree <= HIGHEST_DEGREE else None


def _in_exponential(integrand: sp.Expr, x: sp.Symbol, u: sp.Symbol) -> sp.Expr | None:
    """The integrand as a rational function of u, which stands for exp(x), or None if it is no such."""
    powers = {}
    for kernel in integrand.atoms(sp.exp):
        rate = sp.diff(kernel.args[0], x)
        if not rate.is_Integer:
            return None
        powers[kernel] = u**rate * sp.exp(sp.expand(kernel.args[0] - rate * x))
    found = integrand.xreplace(powers)
    return found if not found.has(x) and found.is_rational_function(u) else None


def unevaluated(integrand: sp.Expr, x: sp.Symbol, near: Point | None = None) -> sp.Expr:
    """The integral as it stands, from 0 or else from a point at which the integrand is finite and real.

    Examples
    --------
    >>> x = sp.Symbol("x", real=True)
    >>> unevaluated(sp.log(x), x)
    Integral(log(t), (t, 1, x))
    """
    t = sp.Symbol("s" if x.name == "t" else "t", real=True)
    inside = dict.fromkeys(symbols_of(integrand), sp.Rational(1, 2))
    starts = [sp.Integer(0), *([near[x]] if near and x in near else []), sp.Integer(1)]
    starts += [point[x] for point in random_points([x])]
    start = next((s for s in starts if real_values([integrand], inside | {x: s}) is not None), starts[-1])
    return sp.Integral(integrand.subs(x, t), (t, start, x))
