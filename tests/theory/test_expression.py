"""Expressions as typed: what they mean, against Python's own arithmetic, and what is refused and how."""

import ast
import inspect
import math
import operator
from fractions import Fraction

import pytest
import sympy as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from initmem.theory import expression, expression_source
from initmem.theory.errors import InvalidInput
from initmem.theory.expression import FUNCTIONS, parse_expression, parse_number, parse_point, variables

x, y, e = sp.symbols("x y e", real=True)


def refusal(parse, text: str) -> str:
    """The message of a refusal, which is one sentence."""
    with pytest.raises(InvalidInput) as caught:
        parse(text)
    message = str(caught.value)
    assert message.endswith(".")
    assert "\n" not in message
    assert len(message) < 400
    return message


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.1", sp.Rational(1, 10)),
        ("1e-3*x", x / 1000),
        (".5 + 2. + 1E2", sp.Rational(205, 2)),
        ("0.30000000000000000000000000000000000001", sp.Rational(3 * 10**37 + 1, 10**38)),
        ("-x^2", -(x**2)),
        ("2^3^2", 512),
        ("2**3**2", 512),
        ("1+x^2", 1 + x**2),
        ("(1+x)^-2", (1 + x) ** -2),
        ("x - y - 1", x - y - 1),
        ("x/y/2", x / y / 2),
        ("+-+x", -x),
        ("\n x +\t y\n", x + y),
        ("e + E", e + sp.E),
        ("E^x", sp.exp(x)),
        ("cos(2*pi)", 1),
        ("ln(x)", sp.log(x)),
        ("sqrt(x^2)", sp.Abs(x)),
        ("sigmoid(x)", 1 / (1 + sp.exp(-x))),
        ("softplus(2*x)", sp.log(1 + sp.exp(2 * x))),
        ("exp(-1000*x)", sp.exp(-1000 * x)),
        ("x^(1/1000)", x ** sp.Rational(1, 1000)),
        ("2^(x/1e9)", 2 ** (x / 10**9)),
        ("x^64", x**64),
        ("λ*Δw_1^2", sp.Symbol("λ", real=True) * sp.Symbol("Δw_1", real=True) ** 2),
        ("I*S*N", sp.Symbol("I", real=True) * sp.Symbol("S", real=True) * sp.Symbol("N", real=True)),
        ("+".join(["x", "y"] * 500), 500 * x + 500 * y),
    ],
)
def test_reads(text: str, value: sp.Expr) -> None:
    assert parse_expression(text) == value


@pytest.mark.parametrize("name", sorted(set(FUNCTIONS) - {"sigmoid", "softplus"}))
def test_functions_are_those_of_python(name: str) -> None:
    at = 1.25 if name == "acosh" else 0.25
    python = {"ln": math.log, "abs": abs}.get(name) or getattr(math, name)
    assert float(parse_expression(f"{name}({at})")) == pytest.approx(python(at), rel=1e-15)


def test_symbols_are_real() -> None:
    assert all(symbol.is_real for symbol in parse_expression("x*y + w_1").free_symbols)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["empty"]),
        (" \n", ["empty"]),
        ("2x", ["'2x'", "write 2*x"]),
        ("2 x", ["write 2*x"]),
        ("x y", ["write x*y"]),
        ("1.5.2", ["'1.5.2'"]),
        ("3j", ["write 3*j"]),
        ("(x+1)y", ["write )*y"]),
        ("x(1+y)", ["'x(1+y)'", "write x*(1+y)"]),
        ("x^2(1+y)", ["write 2*(1+y)"]),
        ("(x+y) (x-1)", ["write (x+y)*(x-1)"]),
        ("pi(x)", ["write pi*(x)"]),
        ("α + β(γ^2)", ["'β(γ^2)'", "β*(γ^2)"]),
        ("step(x)", ["'step(x)'", *FUNCTIONS]),
        ("relu(x)", ["relu, which is not available", "(x + abs(x))/2"]),
        ("Max(x, 0)", ["'Max(x, 0)'", "Max, which is not available", "(x + abs(x))/2"]),
        ("1 + max(x,0)", ["'max(x,0)'", "(x + abs(x))/2"]),
        ("print(x)", ["'print(x)'", "known function"]),
        ("exp", ["'exp'", "write exp(...)"]),
        ("1 + sin*x", ["'sin'", "write sin(...)"]),
        ("exp(x, y)", ["'exp(x, y)'", "one"]),
        ("exp()", ["'exp()'", "one"]),
        ("exp(x=1)", ["'exp(x=1)'", "one"]),
        ("exp(*x)", ["'*x'"]),
        ("exp(**x)", ["'exp(**x)'", "one"]),
        ("x +", ["'x +'", "too early"]),
        ("x^2 + )", ["character 7", "')'"]),
        ("x^^2", ["character 3", "'^2'"]),
        ("(x + 1", ["character 1", "parentheses"]),
        ("x = 1", ["character"]),
        ("0x1F", ["'0x1F'", "decimal"]),
        ("0o7", ["'0o7'", "decimal"]),
        ("1_000", ["'1_000'", "decimal"]),
        ("007", ["'007'", "leading zeros"]),
        ("1" * 51, ["50 digits"]),
        ("1e301", ["'1e301'", "-300 to 300"]),
        ("1e-301", ["'1e-301'", "-300 to 300"]),
        ("1e" + "9" * 1900, ["-300 to 300"]),
        ("_x", ["'_x'", "letter"]),
        ("True", ["'True'", "reserved"]),
        ("x if y else 1", ["'if'"]),
        ("x < y", ["'x < y'"]),
        ("x // y", ["'x // y'", "operator"]),
        ("x^2 % y", ["'x^2 % y'", "operator"]),
        ("~x", ["'~x'", "operator"]),
        ("[x, y]", ["'[x, y]'"]),
        ("x[0]", ["'x[0]'"]),
        ("x.real", ["'x.real'"]),
        ("1..real", ["'1..real'"]),
        ("(x := 1)", ["'x := 1'"]),
        ("'x'", ["\"'x'\""]),
        ("f'{x}'", ["\"f'{x}'\""]),
        ("x, y", ["'x, y'"]),
        ("x # why", ["'#'", "NUMBER SIGN"]),
        ("x; y", ["';'"]),
        ("x!", ["'!'"]),
        ("x\x00", ["U+0000"]),
        ("x²", ["SUPERSCRIPT TWO"]),
        ("x − y", ["MINUS SIGN"]),
        ("ｅｘｐ(x)", ["FULLWIDTH"]),
        ("еxp(x)", ["CYRILLIC"]),
        ("x+\u00a0y", ["NO-BREAK SPACE"]),
        ("٣", ["ARABIC-INDIC DIGIT THREE"]),
    ],
)
def test_refuses_what_is_not_of_the_grammar(text: str, words: list[str]) -> None:
    message = refusal(parse_expression, text)
    for word in words:
        assert word in message


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('x')",
        "x.__class__",
        "().__class__",
        "open('f')",
        "lambda: 0",
        "[x for x in y]",
        "{x: y}",
        "{*x}",
        "await x",
        "yield",
        "print(print)",
        "exp(exp)",
        "x@y",
        "...",
        "x" * 10**5,
        "(" * 5000,
        "(" * 1000 + "x" + ")" * 1000,
        "exp(" * 400 + "x" + ")" * 400,
        "-" * 1900 + "x",
        "**".join("x" * 600),
        "**".join("2" * 600),
        "sigmoid(" * 20 + "1" + ")" * 20,
        "\\",
        "x\\\ny",
        '"""',
        "'" * 100,
        "b'x'",
        "�",
        "😀",
        "`x`",
        "$x",
        "?",
    ],
)
def test_refuses_the_hostile(text: str) -> None:
    refusal(parse_expression, text)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("9**9**9**9", "exponent beyond 64"),
        ("2**10**8", "exponent beyond 64"),
        ("x^65", "exponent beyond 64"),
        ("x^-65", "exponent beyond 64"),
        ("x^(129/2)", "exponent beyond 64"),
        ("(x^64)^64", "exponent beyond 64"),
        ("x^40*x^40", "exponent beyond 64"),
        ("(10**40)**40", "1,000 digits"),
        ("((2**60)**60)**60", "1,000 digits"),
        ("((1e300*x)^64)^64", "1,000 digits"),
        ("*".join(["10^40"] * 30), "1,000 digits"),
        ("+".join(f"1/(10^50+{i})" for i in range(100)), "1,000 digits"),
        ("exp(1e300*log(2))", "exponent beyond"),
        ("exp(1e10*log(2*x))", "exponent beyond 64"),
        ("E^(1e10*log(2*x))", "exponent beyond 64"),
        ("2^(1e9*log(3)/log(2))", "exponent beyond 64"),
        ("2^x*2^(1e10-x)", "exponent beyond 700"),
        ("((2^(700-x))^64)^64", "exponent beyond 700"),
        ("(2^x)^(1e10/x)", "exponent beyond 64"),
        ("exp(1e10*x)^(log(2)/x)", "exponent beyond 700"),
        ("exp(600)*exp(600)", "exponent beyond 700"),
        ("exp(exp(exp(exp(3.1))))", "exponent beyond 700"),
        ("sinh(1e10)", "exponent beyond 700"),
        ("asin(sin(1e300))", "sympy cannot"),
    ],
)
def test_refuses_what_would_explode(text: str, word: str) -> None:
    assert word in refusal(parse_expression, text)


@pytest.mark.parametrize("text", ["1/0", "x/(1-1)", "1/(x-x)", "1/sin(pi)", "1 + x/0.0*2"])
def test_refuses_division_by_zero(text: str) -> None:
    assert "divides by zero" in refusal(parse_expression, text)


@pytest.mark.parametrize("text", ["0**-1", "log(0)", "atanh(1)", "tan(pi/2)", "0*log(0)", "exp(-1/log(1-1))"])
def test_refuses_what_is_not_finite(text: str) -> None:
    assert "no finite value" in refusal(parse_expression, text)


@pytest.mark.parametrize(
    "text",
    [
        "log(-1)",
        "sqrt(-1)",
        "(-8)^(1/3)",
        "asin(2)",
        "acos(-2)",
        "acosh(1/2)",
        "atanh(2)",
        "log(1-sqrt(2))",
        "0*log(-1)",
        "log(-1)^2",
        "sqrt(-1-x^2)",
        "sqrt(-2*x^2)",
        "(-1)^pi",
    ],
)
def test_refuses_what_is_not_real(text: str) -> None:
    assert "no real value" in refusal(parse_expression, text)


def test_text_is_never_run() -> None:
    source = inspect.getsource(expression) + inspect.getsource(expression_source)
    nodes = list(ast.walk(ast.parse(source)))
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    attributes = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    assert not names & {"eval", "exec", "compile", "getattr", "__import__"}
    assert not attributes & {"S", "sympify", "parse_expr", "literal_eval", "lambdify"}


# A tree is (kind, children...); how tightly a kind binds decides on its parentheses.
BINDING = {"+": 1, "-": 1, "*": 2, "/": 2, "neg": 3, "^": 4}
EXACT = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "^": operator.pow}
POINT = {"x": Fraction(3, 7), "w10": Fraction(-5, 4), "β": Fraction(2)}


def written(tree, power: str, gap: str, least: int = 0) -> str:
    """The tree in the grammar with no more parentheses than it needs where `least` binding is called for."""
    kind, *children = tree
    if kind in ("number", "name"):
        return children[0]
    if kind in FUNCTIONS:
        return f"{kind}({written(children[0], power, gap)})"
    binding = BINDING[kind]
    if kind == "neg":
        text = "-" + written(children[0], power, gap, 3)
    elif kind == "^":
        text = f"{written(children[0], power, gap, 5)}{gap}{power}{gap}{children[1]}"
    else:
        left, right = (written(child, power, gap, binding + place) for place, child in enumerate(children))
        text = f"{left}{gap}{kind}{gap}{right}"
    return f"({text})" if binding < least else text


def at_point(parsed: sp.Expr) -> sp.Expr:
    """The value of what was parsed, by sympy."""
    return parsed.subs({s: sp.Rational(*POINT[s.name].as_integer_ratio()) for s in variables(parsed)})


def value_of(tree, leaf, functions=None):
    """The value of the tree in Python's arithmetic; `leaf` makes a number of a Fraction."""
    kind, *children = tree
    if kind == "number":
        return leaf(Fraction(children[0]))
    if kind == "name":
        return leaf(POINT[children[0]])
    if kind == "^":
        return value_of(children[0], leaf, functions) ** children[1]
    values = [value_of(child, leaf, functions) for child in children]
    if kind == "neg":
        return -values[0]
    return (functions[kind] if functions and kind in functions else EXACT[kind])(*values)


LEAVES = st.one_of(
    st.sampled_from(["0", "1", "2", "0.5", "1.25", ".1", "3e-1", "1.", "20E-1"]).map(lambda t: ("number", t)),
    st.sampled_from(sorted(POINT)).map(lambda name: ("name", name)),
)


def trees(depth: int, *inner) -> st.SearchStrategy:
    """Trees of the given depth at most; `inner` makes further nodes of the strategy for children."""
    if depth == 0:
        return LEAVES
    below = trees(depth - 1, *inner)
    return st.one_of(*([LEAVES] if depth == 1 else []), *(make(below) for make in inner))


def pairs(kinds: str):
    return lambda below: st.tuples(st.sampled_from(kinds), below, below)


def negated(below):
    return st.tuples(st.just("neg"), below)


def powered(below):
    return st.tuples(st.just("^"), below, st.integers(-3, 3))


@settings(deadline=None, max_examples=300)
@given(
    tree=trees(3, pairs("+-*/"), negated, powered),
    power=st.sampled_from(["^", "**"]),
    gap=st.sampled_from(["", " "]),
)
def test_equals_exact_arithmetic(tree, power: str, gap: str) -> None:
    try:
        exact = value_of(tree, Fraction)
    except ZeroDivisionError:
        assume(False)
    parsed = parse_expression(written(tree, power, gap))
    found = at_point(parsed)
    assert Fraction(found.p, found.q) == exact


SLOPE_AT_MOST_ONE = {
    **{name: getattr(math, name) for name in ("sin", "cos", "atan", "tanh", "asinh")},
    "abs": abs,
    "sigmoid": lambda v: 1 / (1 + math.exp(-v)),
    "softplus": lambda v: math.log1p(math.exp(v)),
}


def applied(below):
    return st.tuples(st.sampled_from(sorted(SLOPE_AT_MOST_ONE)), below)


@settings(deadline=None, max_examples=150)
@given(tree=trees(3, pairs("+-*"), negated, applied))
def test_equals_floating_point(tree) -> None:
    parsed = parse_expression(written(tree, "^", " "))
    found = at_point(parsed)
    # Leaves of at most 2 in products of at most 8 give values and slopes of at most 256, and 15
    # operations of relative error 2**-52 or so; twice 256**2 * 15 * 2**-52 is 4e-10.
    assert float(found) == pytest.approx(value_of(tree, float, SLOPE_AT_MOST_ONE), rel=0, abs=4e-10)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.1", (1, 10)),
        ("1e-3", (1, 1000)),
        ("3/4", (3, 4)),
        ("-2", (-2, 1)),
        ("- 6 / 8", (-3, 4)),
        ("+.5", (1, 2)),
        (" 0 ", (0, 1)),
        ("1.5/0.5", (3, 1)),
        ("2.", (2, 1)),
    ],
)
def test_numbers(text: str, value: tuple[int, int]) -> None:
    number = parse_number(text)
    assert isinstance(number, sp.Rational)
    assert (number.p, number.q) == value


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "empty"),
        ("nan", "'nan'"),
        ("inf", "'inf'"),
        ("-inf", "'inf'"),
        ("pi", "'pi'"),
        ("0x10", "'0x10'"),
        ("1/0", "divides by zero"),
        ("1/", "''"),
        ("1/2/3", "'2/3'"),
        ("--1", "'-1'"),
        ("1_0", "'1_0'"),
        ("1" * 51, "50 digits"),
        ("1e301", "-300 to 300"),
        ("1" * 3000, "2,000"),
        ("1j", "'1j'"),
        ("٣", "'٣'"),
        ("-", "''"),
        ("1 2", "'1 2'"),
        ("True", "'True'"),
        ("2^3", "'2^3'"),
    ],
)
def test_refuses_what_is_not_a_number(text: str, word: str) -> None:
    assert word in refusal(parse_number, text)


def test_points() -> None:
    assert parse_point("x=1,y=-0.5") == {"x": 1, "y": sp.Rational(-1, 2)}
    assert list(parse_point(" w10 = 3/4 , β=1e-3 ").items()) == [
        ("w10", sp.Rational(3, 4)),
        ("β", sp.Rational(1, 1000)),
    ]


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "empty"),
        ("x", "'x' gives no value"),
        ("x=", "gives no value"),
        ("=1", "gives no value"),
        ("x=1,", "'' gives no value"),
        ("x=1,x=2", "given twice"),
        ("x=1,5", "'5' gives no value"),
        ("2x=1", "'2x'"),
        ("_x=1", "'_x'"),
        ("if=1", "reserved"),
        ("pi=3", "constant"),
        ("exp=1", "function"),
        ("x==1", "'=1'"),
        ("x=nan", "'nan'"),
        ("x=y", "'y'"),
        ("x=1/0", "divides by zero"),
        ("x.y=1", "'x.y'"),
    ],
)
def test_refuses_what_is_not_a_point(text: str, word: str) -> None:
    assert word in refusal(parse_point, text)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("z + y*x", ["x", "y", "z"]),
        ("w10*w2 + w1 - w", ["w", "w1", "w2", "w10"]),
        ("a2b10 + a2b9 + a10b1", ["a2b9", "a2b10", "a10b1"]),
        ("w02 + w2 + w1", ["w1", "w02", "w2"]),
        ("x - x + pi", []),
    ],
)
def test_variables_in_natural_order(text: str, names: list[str]) -> None:
    assert [symbol.name for symbol in variables(parse_expression(text))] == names
