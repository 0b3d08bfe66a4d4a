"""The parts of formulas, each once: the formulas of a high order repeat them many times."""

import sympy as sp
from sympy.core.function import AppliedUndef


def parts(*expressions: sp.Basic) -> list[sp.Basic]:
    """Every part of some expressions once, what it is made of before it.

    Examples
    --------
    >>> x = sp.Symbol("x")
    >>> parts(sp.exp(x) + 1)
    [1, x, exp(x), exp(x) + 1]
    """
    found: dict[sp.Basic, None] = {}
    waiting = list(reversed(expressions))
    while waiting:
        part = waiting[-1]
        # These have variables of their own.
        inside = () if isinstance(part, (sp.Integral, sp.Derivative)) else part.args
        missing = [argument for argument in inside if argument not in found]
        if part in found or not missing:
            found[waiting.pop()] = None
        else:
            waiting += reversed(missing)
    return list(found)


def symbols_of(*expressions: sp.Basic) -> list[sp.Symbol]:
    """The free symbols of some expressions in alphabetical order.

    Examples
    --------
    >>> symbols_of(sp.Symbol("y") * sp.Symbol("x"))
    [x, y]
    """
    leaves = (
        part for part in parts(*expressions) if isinstance(part, (sp.Symbol, sp.Integral, sp.Derivative))
    )
    return sorted(set().union(*(leaf.free_symbols for leaf in leaves)), key=str)  # pyright: ignore


def has_unknown(*expressions: sp.Basic) -> bool:
    """Whether functions stand in them that are not spelled out.

    Examples
    --------
    >>> x = sp.Symbol("x")
    >>> has_unknown(sp.Function("Gamma")(x)), has_unknown(sp.exp(x))
    (True, False)
    """
    return any(isinstance(part, (AppliedUndef, sp.Derivative)) for part in parts(*expressions))


def length(expression: sp.Basic, known: dict[sp.Basic, int] | None = None) -> int:
    """How many nodes the expression has when it is written out.

    Parameters
    ----------
    expression : Basic
    known : dict, optional
        Lengths found before, which are used and added to.

    Examples
    --------
    >>> x = sp.Symbol("x")
    >>> length(sp.exp(x) * sp.exp(x**2))
    7
    """
    lengths = {} if known is None else known
    if expression not in lengths:
        for part in parts(expression):
            if part not in lengths:
                lengths[part] = 1 + sum(lengths.get(argument, 1) for argument in part.args)
    return lengths[expression]
