"""Numbers as text: rounded for reading, a true minus sign, a dash for what is not there."""

import math

DASH = "–"


def fixed(value: float, digits: int = 1) -> str:
    """A number with a fixed number of decimals.

    Examples
    --------
    >>> fixed(24.566), fixed(-0.256, 2), fixed(float("nan"))
    ('24.6', '−0.26', '–')
    """
    if not math.isfinite(value):
        return DASH
    return f"{value:.{digits}f}".replace("-", "−")


def significant(value: float, digits: int = 3) -> str:
    """A number with a fixed number of significant digits.

    Examples
    --------
    >>> significant(0.0253125), significant(0.00000731), significant(108.0), significant(12345.0)
    ('0.0253', '7.31e−6', '108', '12,300')
    """
    if not math.isfinite(value):
        return DASH
    if 1000 <= abs(value) < 10**6:
        rounded = round(value, digits - 1 - math.floor(math.log10(abs(value))))
        return f"{rounded:,.0f}".replace("-", "−")
    mantissa, _, exponent = f"{value:.{digits}g}".partition("e")
    return (mantissa + (f"e{int(exponent)}" if exponent else "")).replace("-", "−")


def interval(low: float, high: float, digits: int = 1) -> str:
    """An interval in brackets.

    Examples
    --------
    >>> interval(-0.5, 1.25, 2), interval(float("nan"), 1.0)
    ('[−0.50, 1.25]', '–')
    """
    if not (math.isfinite(low) and math.isfinite(high)):
        return DASH
    return f"[{fixed(low, digits)}, {fixed(high, digits)}]"


def probability(value: float) -> str:
    """A p-value.

    Examples
    --------
    >>> probability(0.0321), probability(1e-9)
    ('0.032', '< 0.001')
    """
    return "< 0.001" if value < 0.001 else fixed(value, 3)
