"""Values at points: against sympy's own evaluation, against exact arithmetic, and where there is none."""

import mpmath as mp
import pytest
import sympy as sp

from initmem.theory.backward_error.field import number
from initmem.theory.backward_error.modular import PRIME, modular
from initmem.theory.backward_error.parts import length, parts, symbols_of
from initmem.theory.backward_error.text import written
from initmem.theory.backward_error.values import numerical
from initmem.theory.errors import InvalidInput

X, Y, T = sp.symbols("x y t", real=True)


@pytest.mark.parametrize(
    "formula",
    [
        sp.pi * X - sp.E / Y,
        sp.exp(sp.sin(X)) * sp.log(X + 3) ** 2 - sp.sqrt(2) * X ** sp.Rational(2, 3),
        sp.asinh(X) + sp.atan(Y) * sp.cosh(X) - sp.acos(X / 3),
        sp.Abs(X - 2) + sp.sign(Y - 1) * X**Y,
        sp.Integral(sp.exp(-(T**2)), (T, 0, X)),
    ],
    ids=str,
)
def test_values_are_those_of_sympy(formula: sp.Expr) -> None:
    at = {X: sp.Rational(7, 5), Y: sp.Rational(-2, 3)}
    expected = float(formula.subs(at).evalf(30))
    assert number(formula, at) == pytest.approx(expected, rel=1e-15)
    with mp.workdps(30):
        assert float(numerical([formula], at)[0]) == pytest.approx(expected, rel=1e-15)


def test_digits_that_cancel_are_found() -> None:
    tiny = sp.Rational(1, 10**30)
    assert number(1 - sp.cos(X), {X: tiny}) == pytest.approx(5e-61, rel=1e-15)
    assert number(sp.exp(X) - 1 - X, {X: tiny**2}) == pytest.approx(5e-121, rel=1e-15)
    assert number(sp.sin(X) ** 2 + sp.cos(X) ** 2 - 1, {X: sp.Integer(3)}) == 0


def test_an_integral_over_a_kink() -> None:
    # By hand: the primitive of |t - 50| t^2 is -+(t^4/4 - 50 t^3/3).
    exact = sp.Rational(50**4, 12) + sp.Rational(60**4 - 50**4, 4) - sp.Rational(50 * (60**3 - 50**3), 3)
    formula = sp.Integral(sp.Abs(T - 50) * T**2, (T, 0, X))
    assert number(formula, {X: sp.Integer(60)}) == pytest.approx(float(exact), rel=1e-14)


@pytest.mark.parametrize(
    ("formula", "at", "words"),
    [
        (sp.exp(sp.exp(sp.exp(sp.exp(X)))), 3, "beyond exp(1e301) at x = 3"),
        (sp.sin(sp.exp(sp.exp(X))), 8, "beyond exp(1e301)"),
        ((((X**64 + 1) ** 64 + 1) ** 64 + 1) ** 64, 2, "more than a double holds"),
        (sp.exp(X), 1000, "1.97e+434, more than a double holds"),
        (sp.log(X), 0, "not a finite real number at x = 0"),
        (sp.log(X), -(10**100), "not a finite real number at x = -1e+100"),
        (sp.Integral(1 / T, (T, 1, X)), -2, "not a finite real number"),
    ],
    ids=str,
)
def test_what_has_no_value_is_refused(formula: sp.Expr, at: int, words: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        number(formula, {X: sp.Integer(at)})
    assert words in str(caught.value)


def test_residues_are_those_of_exact_arithmetic() -> None:
    formula = (X + 2 * Y) ** 5 / (3 * X - Y) + sp.Rational(2, 7) * X * Y
    found = modular([formula], {X: 3, Y: 4}, [X, Y])
    exact = [formula, sp.diff(formula, X), sp.diff(formula, Y)]
    values = [value.subs({X: 3, Y: 4}) for value in exact]
    assert found == [tuple(int(v.p) * pow(int(v.q), -1, PRIME) % PRIME for v in values)]
    assert modular([1 / (X - Y)], {X: 3, Y: 3}) is None


def test_parts_come_once_and_in_order() -> None:
    formula = sp.exp(X * Y) * sp.sin(X * Y) + sp.exp(X * Y)
    found = parts(formula)
    assert len(found) == len(set(found))
    assert set(found) == set(sp.preorder_traversal(formula))
    assert all(found.index(argument) < found.index(part) for part in found for argument in part.args)
    assert length(formula) == len(list(sp.preorder_traversal(formula)))
    assert symbols_of(formula, sp.Integral(T, (T, 0, Y))) == [X, Y]


def test_long_formulas_are_written_as_str_does() -> None:
    formula = sp.exp(-X) * (X - Y) ** -2 / 3 - sp.sqrt(X + 1) * (-X - 1) + sp.Abs(Y) ** sp.Rational(3, 2)
    assert written(formula) == str(formula)
    assert written([formula, -formula]) == str([formula, -formula])  # type: ignore[arg-type]
