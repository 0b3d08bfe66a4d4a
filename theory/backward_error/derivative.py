"""Derivatives of formulas that may have kinks."""

import sympy as sp


def derivative(expression: sp.Expr, symbol: sp.Symbol) -> sp.Expr:
    """The derivative away from kinks: that of a sign is zero, and no delta function stands in its place.

    Parameters
    ----------
    expression : Expr
    symbol : Symbol

    Returns
    -------
    Expr

    Examples
    --------
    >>> x = sp.Symbol("x", real=True)
    >>> derivative(sp.Abs(x), x), derivative(sp.sign(x), x)
    (sign(x), 0)
    """
    found = sp.diff(expression, symbol)
    return found.replace(sp.DiracDelta, lambda *_: sp.Integer(0)) if found.has(sp.DiracDelta) else found
