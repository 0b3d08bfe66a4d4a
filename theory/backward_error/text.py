"""Formulas and numbers as text."""

from typing import Any

import sympy as sp
from sympy.printing.str import StrPrinter


class _Printer(StrPrinter):
    """Writes each part that occurs once; the formulas of high orders repeat their parts."""

    def __init__(self) -> None:
        super().__init__()
        self._known: dict[Any, str] = {}

    def _print(self, expr: Any, **kwargs: Any) -> str:
        if not isinstance(expr, sp.Basic):
            return super()._print(expr, **kwargs)
        if expr not in self._known:
            self._known[expr] = super()._print(expr, **kwargs)
        return self._known[expr]


def written(expression: sp.Expr) -> str:
    """The same as str(), many times faster for long formulas.

    Examples
    --------
    >>> written(sp.exp(sp.Symbol("x")) / 2)
    'exp(x)/2'
    """
    return _Printer().doprint(expression)


def short(expression: sp.Expr, width: int = 60) -> str:
    """The expression as text, cut where it is long.

    Examples
    --------
    >>> short(sp.Symbol("x") ** 2)
    'x**2'
    """
    text = written(expression)
    return text if len(text) <= width else f"{text[: width - 1]}…"


def brief(number: sp.Rational) -> str:
    """A number as it is, or with six digits where it has many.

    Examples
    --------
    >>> brief(sp.Rational(1, 3)), brief(sp.Integer(10) ** 100)
    ('1/3', '1e+100')
    """
    text = str(number)
    return text if len(text) <= 12 else f"{float(number):g}"
