r"""Integrals of polynomials in x, sines, cosines and exponentials of multiples of x.

With :math:`\sin` and :math:`\cos` as sums of :math:`e^{\pm i\omega x}` such a function is a sum of terms
:math:`c\,x^m e^{kx}`, and each has an integral of that form.
"""

from collections.abc import Iterator
from math import factorial

import sympy as sp

from .differentials import most_terms

Complex = tuple[sp.Expr, sp.Expr]  # real and imaginary part, of what may have symbols

ZERO = sp.Integer(0)
MOST_TERMS, MOST_PRODUCTS = 1000, 8_000


def integral_of_waves(integrand: sp.Expr, x: sp.Symbol) -> sp.Expr | None:
    """The integral; None where the integrand is of another kind or too long.

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
    >>> integral_of_waves(sp.cos(x) ** 2, x), integral_of_waves(x * sp.exp(2 * x), x)
    (x/2 + sin(2*x)/4, (x/2 - 1/4)*exp(2*x))
    """
    waving = [k for k in integrand.atoms(sp.exp, sp.sin, sp.cos) if k.has(x)]
    if any(sp.diff(kernel.args[0], x).has(x) for kernel in waving):
        return None
    names: dict[sp.Expr, sp.Symbol] = {}
    polynomial = integrand.xreplace({kernel: _split(kernel, x, names) for kernel in waving})
    kernels = {kernel: name for kernel, name in names.items() if kernel.has(x)}
    if not polynomial.is_polynomial(x, *kernels.values()) or most_terms(polynomial) > MOST_TERMS:
        return None
    terms = sp.Poly(polynomial, x, *kernels.values()).terms()
    if sum(sum(powers) ** 2 for (_, *powers), _ in terms) > MOST_PRODUCTS:
        return None
    constants = {name: kernel for kernel, name in names.items() if kernel not in kernels}
    waves: dict[tuple[sp.Expr, sp.Expr, int], Complex] = {}
    for (m, *powers), coefficient in terms:
        rate, product = _product(list(zip(kernels, powers, strict=True)), x)
        for frequency, (real, imaginary) in product.items():
            a, b = waves.get((rate, frequency, m), (ZERO, ZERO))
            waves[rate, frequency, m] = (a + coefficient * real, b + coefficient * imaginary)
    integral = sp.Add(*(_real_part(wave, of, x) for of, wave in _integrated(waves, x).items()))
    return integral.xreplace(constants)


def _split(kernel: sp.Expr, x: sp.Symbol, names: dict[sp.Expr, sp.Symbol]) -> sp.Expr:
    """In terms of names for functions without a constant: sin(x + 1) is sin(x) cos(1) + cos(x) sin(1)."""
    constant, rest = sp.expand(kernel.args[0]).as_independent(x, as_Add=True)

    def name(function: type[sp.Function], argument: sp.Expr) -> sp.Expr:
        return names.setdefault(function(argument), sp.Dummy(real=True))

    if constant == 0:
        return name(kernel.func, rest)
    if isinstance(kernel, sp.exp):
        return name(sp.exp, rest) * name(sp.exp, constant)
    if isinstance(kernel, sp.sin):
        return name(sp.sin, rest) * name(sp.cos, constant) + name(sp.cos, rest) * name(sp.sin, constant)
    return name(sp.cos, rest) * name(sp.cos, constant) - name(sp.sin, rest) * name(sp.sin, constant)


def _product(powers: list[tuple[sp.Expr, int]], x: sp.Symbol) -> tuple[sp.Expr, dict[sp.Expr, Complex]]:
    """The rate of the exponentials, and for each frequency its coefficient."""
    rate: sp.Expr = ZERO
    product: dict[sp.Expr, Complex] = {ZERO: (sp.Integer(1), ZERO)}
    for kernel, power in powers:
        slope = sp.diff(kernel.args[0], x)
        if isinstance(kernel, sp.exp):
            rate += power * slope
            continue
        for _ in range(power):
            following: dict[sp.Expr, Complex] = {}
            for frequency, (a, b) in product.items():
                for sign in (1, -1):
                    c, d = following.get(frequency + sign * slope, (ZERO, ZERO))
                    # cos is (e + 1/e)/2, and sin is (e - 1/e)/(2i).
                    turned = (a / 2, b / 2) if isinstance(kernel, sp.cos) else (sign * b / 2, -sign * a / 2)
                    following[frequency + sign * slope] = (c + turned[0], d + turned[1])
            product = following
    return rate, product


def _integrated(
    waves: dict[tuple[sp.Expr, sp.Expr, int], Complex], x: sp.Symbol
) -> dict[tuple[sp.Expr, sp.Expr], Complex]:
    """For each rate and frequency the polynomial in front of the exponential in the integral."""
    found: dict[tuple[sp.Expr, sp.Expr], Complex] = {}
    for (rate, frequency, m), (a, b) in waves.items():
        real, imaginary = found.get((rate, frequency), (ZERO, ZERO))
        for power, (c, d) in _by_parts(rate, frequency, m):
            real += (a * c - b * d) * x**power
            imaginary += (a * d + b * c) * x**power
        found[rate, frequency] = (real, imaginary)
    return found


def _by_parts(rate: sp.Expr, frequency: sp.Expr, m: int) -> Iterator[tuple[int, Complex]]:
    r""":math:`m-j` and :math:`(-1)^j \frac{m!}{(m-j)!} k^{-j-1}`, the integral of :math:`x^m e^{kx}`."""
    if rate == 0 and frequency == 0:
        yield m + 1, (sp.Rational(1, m + 1), ZERO)
        return
    size = rate**2 + frequency**2
    inverse = (rate / size, -frequency / size)
    c, d = inverse
    for j in range(m + 1):
        scale = (-1) ** j * sp.Integer(factorial(m) // factorial(m - j))
        yield m - j, (scale * c, scale * d)
        c, d = c * inverse[0] - d * inverse[1], c * inverse[1] + d * inverse[0]


def _real_part(wave: Complex, of: tuple[sp.Expr, sp.Expr], x: sp.Symbol) -> sp.Expr:
    (real, imaginary), (rate, frequency) = wave, of
    return sp.exp(rate * x) * (real * sp.cos(frequency * x) - imaginary * sp.sin(frequency * x))
