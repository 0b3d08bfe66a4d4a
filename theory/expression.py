"""Mathematical expressions that users type, as exact sympy expressions; text is never run as Python.

The text is split into tokens here, Python's parser only groups them, and a walk over the groups knows
numbers, names, the operators in ``OPERATORS`` and the calls of ``FUNCTIONS``; all else is refused by name.
Sympy folds constants while it builds, so a power is bounded before sympy sees it.
"""

import ast
import operator
import re
from collections.abc import Callable
from typing import Any

import sympy as sp

from .errors import InvalidInput
from .expression_source import Source, check_name, parsed, quoted, rational, scan, trimmed

FUNCTIONS: dict[str, Callable[[Any], sp.Expr]] = {
    **{"exp": sp.exp, "log": sp.log, "ln": sp.log, "sqrt": sp.sqrt, "abs": sp.Abs},
    **{"sin": sp.sin, "cos": sp.cos, "tan": sp.tan, "asin": sp.asin, "acos": sp.acos, "atan": sp.atan},
    **{"sinh": sp.sinh, "cosh": sp.cosh, "tanh": sp.tanh},
    **{"asinh": sp.asinh, "acosh": sp.acosh, "atanh": sp.atanh},
    "sigmoid": lambda x: 1 / (1 + sp.exp(-x)),
    "softplus": lambda x: sp.log(1 + sp.exp(x)),
}
EXPONENTIAL = {"exp", "sinh", "cosh", "sigmoid", "softplus"}
RECTIFIERS = {"max", "relu"}
CONSTANTS: dict[str, sp.Expr] = {"pi": sp.pi, "E": sp.E}
SIGNS: dict[type[ast.unaryop], Callable[[Any], Any]] = {ast.UAdd: operator.pos, ast.USub: operator.neg}
OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    **{ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv},
}

EXPONENT = 64
DEPTH = 20  # of the tree of a constant: sympy's numerical value takes time exponential in that
BITS = 3322  # of a number as folded: 1,000 digits
EXP_ARGUMENT = 700  # a double overflows just beyond


def _bits(value: Any) -> int:
    return max((max(abs(n.p), n.q).bit_length() for n in value.atoms(sp.Rational)), default=1)


def _depth(value: Any) -> int:
    return 1 + max(map(_depth, value.args), default=0)


def _check_power(base: Any, exponent: Any, node: Any, source: Source) -> None:
    """Bound the numbers in ``base**exponent``, where symbols may cancel: ``exp(c - x)*exp(x)``."""
    symbols = exponent.free_symbols
    constant = exponent.as_independent(*symbols, as_Add=True)[0] if symbols else exponent
    size = abs(complex(constant.evalf()))
    limit = EXP_ARGUMENT if base == sp.E or symbols else EXPONENT
    if size > limit:
        source.refuse(node, f"leads to an exponent beyond {limit}: use a smaller one")
    # exp(c*log(2*x)) folds to 2**c * x**c.
    logs = (term.as_coeff_Mul()[0] for term in sp.Add.make_args(exponent) if term.has(sp.log))
    if any(abs(factor) > EXPONENT for factor in logs):
        source.refuse(node, f"leads to an exponent beyond {EXPONENT}: use a smaller one")
    if _bits(base) * max(size, 1.0) > BITS:
        source.refuse(node, "could lead to a number of more than 1,000 digits: use smaller numbers")


def _check(value: Any, node: Any, source: Source) -> Any:
    """Refuse what is not finite, real and small enough; sums and products too, for these gather powers."""
    if value.has(sp.nan, sp.zoo, sp.oo, -sp.oo):
        source.refuse(node, "has no finite value: change its argument")
    if value.is_number and _depth(value) > DEPTH:
        source.refuse(node, "nests the functions of a constant too deeply: write its value as a number")
    if _bits(value) > BITS:
        source.refuse(node, "gives a number of more than 1,000 digits: use smaller numbers")
    for power in value.atoms(sp.Pow, sp.exp):
        base, exponent = power.as_base_exp()
        _check_power(base, exponent, node, source)
    real = False if value.has(sp.I) else value.is_extended_real
    if real is None and value.is_number:
        number = complex(value.evalf())
        real = abs(number.imag) <= 1e-9 * abs(number)
    if real is False:
        source.refuse(node, "has no real value: change its argument")
    return value


def _number(node: ast.Constant, source: Source) -> Any:
    if type(node.value) not in (int, float):
        source.refuse(node, "is not a number or a name: use only those")
    return rational(source.piece(node))


def _name(node: ast.Name, source: Source) -> Any:
    if node.id in FUNCTIONS:
        source.refuse(node, f"is a function and needs an argument: write {node.id}(...)")
    return CONSTANTS.get(node.id, sp.Symbol(node.id, real=True))


def _unary(node: ast.UnaryOp, source: Source) -> Any:
    if type(node.op) not in SIGNS:
        source.refuse(node, "uses an operator that is not allowed: use + - * / ^")
    return SIGNS[type(node.op)](_build(node.operand, source))


def _binary(node: ast.BinOp, source: Source) -> Any:
    if isinstance(node.op, ast.Pow):
        return _power(node, source)
    # Down the left edge in a loop, for a sum is as deep as it has terms.
    steps, first = [], node
    while isinstance(first, ast.BinOp) and type(first.op) in OPERATORS:
        steps.append(first)
        first = first.left
    if not steps:
        source.refuse(node, "uses an operator that is not allowed: use + - * / ^")
    value = _build(first, source)
    for step in reversed(steps):
        right = _build(step.right, source)
        if isinstance(step.op, ast.Div) and right.is_zero:
            source.refuse(step, "divides by zero: change the denominator")
        value = OPERATORS[type(step.op)](value, right)
    return _check(value, node, source)


def _power(node: ast.BinOp, source: Source) -> Any:
    base, exponent = _build(node.left, source), _build(node.right, source)
    inner, factor = base.as_base_exp()
    _check_power(base, exponent, node, source)
    _check_power(inner, factor * exponent, node, source)
    return _check(base**exponent, node, source)


def _call(node: ast.Call, source: Source) -> Any:
    if isinstance(node.func, ast.Name) and node.func.id.lower() in RECTIFIERS:
        source.refuse(
            node, f"calls {node.func.id}, which is not available: write (x + abs(x))/2 for max(x, 0)"
        )
    if len(node.args) != 1 or node.keywords:
        source.refuse(node, "does not have one plain argument: a function takes exactly one")
    argument = _build(node.args[0], source)
    name = node.func.id if isinstance(node.func, ast.Name) else None
    if name not in FUNCTIONS:
        known = f" or call one of {', '.join(FUNCTIONS)}" if name and name not in CONSTANTS else ""
        opening = source.text.index("(", source.origin[node.func.end_col_offset or 0])
        start, end = source.origin[node.col_offset], source.origin[node.end_col_offset or 0]
        product = f"{source.text[start:opening].rstrip()}*{source.text[opening:end]}"
        source.refuse(node, f"calls what is not a known function: write {product} for a product{known}")
    if name in EXPONENTIAL:
        _check_power(sp.E, argument, node, source)
    return _check(FUNCTIONS[name](argument), node, source)


BUILDERS: dict[type[ast.AST], Callable[[Any, Source], Any]] = {
    **{ast.Constant: _number, ast.Name: _name, ast.UnaryOp: _unary, ast.BinOp: _binary, ast.Call: _call},
}


def _build(node: ast.AST, source: Source) -> Any:
    if type(node) not in BUILDERS:
        source.refuse(node, "is not allowed: use numbers, names, + - * / ^, parentheses and functions")
    return BUILDERS[type(node)](node, source)


def parse_expression(text: str) -> sp.Expr:
    """Read an expression in real variables, without running it as Python.

    Parameters
    ----------
    text : str
        Numbers, names, ``+ - * /``, ``**`` or ``^``, parentheses, the constants ``pi`` and ``E`` and
        the functions in ``FUNCTIONS``; at most 2,000 characters. Decimals are exact: 0.1 is 1/10.

    Returns
    -------
    sympy.Expr
        In symbols that are real. Sympy folds what it can: ``sqrt(x^2)`` is ``Abs(x)``.

    Raises
    ------
    InvalidInput
        If the text is something else, has no finite real value, or leads to numbers of more than
        1,000 digits or to constant exponents beyond 64.

    Examples
    --------
    >>> parse_expression("0.1*x^2 + exp(-y)/3")
    x**2/10 + exp(-y)/3
    """
    source = scan(trimmed(text, "expression"))
    try:
        return _build(parsed(source), source)
    except InvalidInput:
        raise
    except (RecursionError, MemoryError, OverflowError):
        raise InvalidInput(f"{quoted(source.text)} is nested too deeply: simplify it.") from None
    except (ArithmeticError, AttributeError, TypeError, ValueError) as error:
        # Sympy's own folding fails at times, as for asin(sin(1e300)).
        raise InvalidInput(f"sympy cannot handle {quoted(source.text)}: simplify it.") from error


def parse_number(text: str) -> sp.Rational:
    """Read an exact rational number: an integer, a decimal or a fraction of two of them.

    Parameters
    ----------
    text : str
        Such as ``-2``, ``0.1``, ``1e-3`` or ``3/4``, with at most 50 digits to a number.

    Returns
    -------
    sympy.Rational

    Raises
    ------
    InvalidInput
        If the text is something else, such as ``nan``, ``inf`` or ``1/0``.

    Examples
    --------
    >>> parse_number("0.1"), parse_number("-3/4")
    (1/10, -3/4)
    """
    written = trimmed(text, "number")
    sign, body = (written[0], written[1:].strip()) if written[0] in "+-" else ("", written)
    above, slash, below = body.partition("/")
    value, divisor = rational(above.strip()), rational(below.strip()) if slash else sp.Integer(1)
    if divisor == 0:
        raise InvalidInput(f"{quoted(written)} divides by zero: change the denominator.")
    return (-value if sign == "-" else value) / divisor


def parse_point(text: str) -> dict[str, sp.Rational]:
    """Read a value for each of several variables.

    Parameters
    ----------
    text : str
        ``name=number`` separated by commas; numbers as in `parse_number`.

    Returns
    -------
    dict of str to sympy.Rational
        In the order of the text.

    Raises
    ------
    InvalidInput
        If a part has another form, a name cannot be a variable or comes twice.

    Examples
    --------
    >>> parse_point("x=1, y=-0.5")
    {'x': 1, 'y': -1/2}
    """
    point: dict[str, sp.Rational] = {}
    for part in trimmed(text, "point").split(","):
        name, equals, number = (piece.strip() for piece in part.partition("="))
        if not (name and equals and number):
            raise InvalidInput(
                f"{quoted(part.strip())} gives no value to a variable: write name=number, such as x=0.5."
            )
        check_name(name)
        if name in FUNCTIONS or name in CONSTANTS:
            raise InvalidInput(f"{name!r} is a function or a constant: give values to variables only.")
        if name in point:
            raise InvalidInput(f"the variable {name!r} is given twice: give it once.")
        point[name] = parse_number(number)
    return point


def variables(expression: sp.Expr) -> tuple[sp.Symbol, ...]:
    """Symbols of an expression in natural order, in which w2 comes before w10.

    Parameters
    ----------
    expression : sympy.Expr

    Returns
    -------
    tuple of sympy.Symbol

    Examples
    --------
    >>> variables(parse_expression("w10*w2 - y + x"))
    (w2, w10, x, y)
    """

    def natural(symbol: Any) -> tuple[list[str | int], str]:
        # Text and digits take turns, text first, so only like is compared with like.
        parts = re.split("([0-9]+)", symbol.name)
        return [int(part) if index % 2 else part for index, part in enumerate(parts)], symbol.name

    return tuple(sorted(expression.free_symbols, key=natural))  # pyright: ignore
