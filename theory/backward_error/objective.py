r"""Whether a field is minus the gradient of something, and of what.

From second order on the modified field of gradient descent is in general not a gradient: its curl
contains the commutator of the Hessian with the third derivative. So a modified objective is returned
only where the curl vanishes and the gradient of what was found gives the field back.
"""

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain

import mpmath as mp
import sympy as sp
from sympy.core.function import AppliedUndef
from sympy.integrals.manualintegrate import manualintegrate
from sympy.integrals.rationaltools import ratint

from .derivative import derivative

Vector = Sequence[sp.Expr]

# Enough for an identity of analytic functions to be accepted: a function that is not zero is zero
# at a random point with probability zero.
_POINTS, _DIGITS = 10, 40
_TRIES = 200


def curl(field: Vector, variables: Sequence[sp.Symbol]) -> dict[tuple[sp.Symbol, sp.Symbol], sp.Expr]:
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


def vanishes(expression: sp.Expr) -> bool:
    """Whether an expression is zero for all values of its symbols.

    Polynomials are expanded, which decides. Anything else is evaluated at random points with 40
    digits; where no point lies in the domain, it counts as not zero.

    Examples
    --------
    >>> x = sp.Symbol("x", real=True)
    >>> vanishes(sp.sin(x) ** 2 + sp.cos(x) ** 2 - 1), vanishes(sp.sin(x) - x)
    (True, False)
    """
    unknown = expression.atoms(AppliedUndef, sp.Derivative)
    expression = expression.xreplace({function: sp.Dummy(real=True) for function in unknown})
    if expression.is_polynomial():
        return sp.expand(expression) == 0
    seen = 0
    for point in _random_points(expression.free_symbols):
        terms = [term.subs(point).evalf(_DIGITS) for term in sp.Add.make_args(expression)]
        if not all(term.is_number and term.is_finite and term.is_real for term in terms):
            continue
        # Rounding scales with the largest term and the sum is exact far below it.
        largest = max(abs(term) for term in terms)
        if abs(sp.Add(*terms)) > largest * sp.Float(10) ** (-_DIGITS // 2):
            return False
        seen += 1
        if seen == _POINTS:
            return True
    return False


def _random_points(symbols: Iterable[sp.Symbol]) -> Iterator[dict[sp.Symbol, sp.Expr]]:
    """Points of both signs, from a tenth to ten, so that kinks and domains on either side are met.

    Symbols that cannot be negative, such as a learning rate, lie between 0 and 1.
    """
    draw, names = random.Random(2605), sorted(symbols, key=str)
    for tries in range(_TRIES):
        # In many dimensions a domain such as that of logarithms is found on the positive side only.
        signs = (1, -1) if tries % 2 else (1,)
        yield {
            symbol: sp.Rational(draw.randrange(1, 1000), 1000)
            if symbol.is_nonnegative
            else draw.choice(signs) * sp.Rational(round(1000 * 10 ** draw.uniform(-1, 1)), 1000)
            for symbol in names
        }


def is_gradient(field: Vector, variables: Sequence[sp.Symbol]) -> bool:
    """Whether the curl of a field vanishes identically.

    Decided by expanding for polynomials, else from the numerical curl at random points.

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
    if symbolic(field):
        return all(vanishes(part) for part in curl(field, variables).values())
    symbols = sorted(set(variables).union(*(component.free_symbols for component in field)), key=str)
    curl_of = numerical_curl(field, variables, symbols)
    seen = 0
    for point in _random_points(symbols):
        parts = curl_of(point)
        if parts is None:
            continue
        if any(abs(part) > scale * mp.mpf(10) ** (-_DIGITS // 2) for part, scale in parts.values()):
            return False
        seen += 1
        if seen == _POINTS:
            return True
    return False


def symbolic(field: Vector) -> bool:
    """Whether the curl is best taken by formulas: of polynomials, and of functions that are not known."""
    return all(component.is_polynomial() for component in field) or sp.Tuple(*field).has(AppliedUndef)


def numerical_curl(
    field: Vector, variables: Sequence[sp.Symbol], symbols: Sequence[sp.Symbol]
) -> Callable[[Mapping[sp.Symbol, sp.Expr]], dict[tuple[sp.Symbol, sp.Symbol], tuple[mp.mpf, mp.mpf]] | None]:
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
    compiled = sp.lambdify(symbols, list(field), modules="mpmath", cse=True)

    def at(
        point: Mapping[sp.Symbol, sp.Expr],
    ) -> dict[tuple[sp.Symbol, sp.Symbol], tuple[mp.mpf, mp.mpf]] | None:
        with mp.workdps(2 * _DIGITS):
            values = [mp.mpf(int(v.p)) / int(v.q) for v in (sp.Rational(point[symbol]) for symbol in symbols)]
            step = mp.mpf(10) ** (-_DIGITS // 2)  # the error of a central difference is its square
            columns = []
            for variable in variables:
                k = symbols.index(variable)
                try:
                    up = compiled(*values[:k], values[k] + step, *values[k + 1 :])
                    down = compiled(*values[:k], values[k] - step, *values[k + 1 :])
                except (ZeroDivisionError, ValueError):
                    return None
                columns.append([(a - b) / (2 * step) for a, b in zip(up, down, strict=True)])
            if any(
                isinstance(entry, mp.mpc) or not mp.isfinite(entry) for column in columns for entry in column
            ):
                return None
            return {
                (a, b): (columns[i][j] - columns[j][i], abs(columns[i][j]) + abs(columns[j][i]))
                for i, a in enumerate(variables)
                for j, b in enumerate(variables)
                if i < j
            }

    return at


def potential(
    field: Vector, variables: Sequence[sp.Symbol], candidates: Iterable[sp.Expr] = ()
) -> sp.Expr | None:
    r"""A function V with :math:`F = -\nabla V`, or None where there is none or none was found.

    In one dimension there always is one; without a closed form it is left as an integral.

    Parameters
    ----------
    field : sequence of Expr, length d
    variables : sequence of Symbol, length d
    candidates : iterable of Expr
        Functions to try before integrating.

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
    if not is_gradient(field, variables):
        return None
    for V in chain(candidates, _integrals(field, variables)):
        if all(vanishes(c + derivative(V, v)) for c, v in zip(field, variables, strict=True)):
            return V
    return None


def _integrals(field: Vector, variables: Sequence[sp.Symbol]) -> Iterator[sp.Expr]:
    """Integrate along one variable after another what the gradient so far does not give."""
    V: sp.Expr = sp.Integer(0)
    for component, variable in zip(field, variables, strict=True):
        integral = _antiderivative(component + derivative(V, variable), variable)
        if integral is None and len(variables) == 1:
            integral = _unevaluated(component, variable)
        if integral is None:
            return
        V -= integral
    yield sp.expand(V) if V.is_polynomial(*variables) else V


def _unevaluated(integrand: sp.Expr, x: sp.Symbol) -> sp.Expr:
    """The integral as it stands, from 0, or from 1 where the integrand is singular at 0."""
    t = sp.Symbol("s" if x.name == "t" else "t", real=True)
    at_zero = integrand.subs(x, 0)
    start = 0 if at_zero.is_finite and at_zero.is_real else 1
    return sp.Integral(integrand.subs(x, t), (t, start, x))


def _antiderivative(integrand: sp.Expr, x: sp.Symbol) -> sp.Expr | None:
    """For the classes of functions whose integral an algorithm finds in good time, else None.

    These are rational functions, rational functions of exp(x), and polynomials in x, sines, cosines and
    exponentials of multiples of x. A search by rules over anything else may take minutes to fail.
    """
    if integrand.is_polynomial(x):
        return sp.integrate(sp.expand(integrand), x)
    if integrand.is_rational_function(x):
        return ratint(sp.cancel(sp.together(integrand)), x)
    u = sp.Dummy("u", positive=True)
    in_exponential = sp.expand(integrand.rewrite(sp.exp), power_exp=False).subs(sp.exp(x), u)
    if not in_exponential.has(x) and in_exponential.is_rational_function(u):
        return ratint(sp.cancel(sp.together(in_exponential / u)), u).subs(u, sp.exp(x))
    kernels = {kernel: sp.Dummy() for kernel in integrand.atoms(sp.exp, sp.sin, sp.cos) if kernel.has(x)}
    linear = all(sp.diff(kernel.args[0], x, 2) == 0 for kernel in kernels)
    if not linear or not integrand.xreplace(kernels).is_polynomial(x, *kernels.values()):
        return None
    integral = sp.Add(*(manualintegrate(term, x) for term in sp.Add.make_args(sp.expand(integrand))))
    return None if integral.has(sp.Integral) else integral
