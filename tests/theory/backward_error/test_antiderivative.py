"""Integrals in closed form: their derivative is the integrand, and long ones are given up."""

import pytest
import sympy as sp

from initmem.theory.backward_error.antiderivative import antiderivative
from initmem.theory.backward_error.differentials import most_terms
from initmem.theory.backward_error.objective import potential

X, Y = sp.symbols("x y", real=True)


@pytest.mark.parametrize(
    "integrand",
    [
        sp.tanh(X) ** 5 * (1 - sp.tanh(X) ** 2) ** 3,
        1 / (1 + sp.exp(-X)) ** 4,
        sp.sin(X) ** 6 * sp.cos(X) ** 3 + sp.cos(2 * X) ** 4,
        X**3 * sp.exp(-2 * X) * sp.sin(3 * X) ** 2,
        X * sp.sinh(X / 2) ** 3 + sp.cos(X + Y) * sp.exp(X - Y) * X,
        X**2 * sp.sin(2 * X + 1) * sp.sin(X),
        (1 + X**2) ** -4 * X**3 + sp.sqrt(2) / (1 + X**2),
    ],
    ids=str,
)
def test_the_derivative_of_the_integral_is_the_integrand(integrand: sp.Expr) -> None:
    found = antiderivative(integrand, X)
    assert found is not None
    for at in ({X: sp.Rational(-7, 5), Y: sp.Rational(1, 3)}, {X: sp.Rational(11, 10), Y: sp.Integer(-2)}):
        # With 30 digits.
        assert abs((sp.diff(found, X) - integrand).subs(at).evalf(30)) < 1e-25


@pytest.mark.parametrize(
    "integrand",
    [
        ((X + 1) ** 64 + 1) ** 64,
        sp.cos(20 * X) ** 60 * sp.sin(3 * X) ** 40,
        sp.tanh(X) ** 200,
        sp.tanh(X) * sp.exp(-(X**2)),
        sp.exp(sp.exp(X)),
    ],
    ids=str,
)
def test_others_are_given_up(integrand: sp.Expr) -> None:
    assert antiderivative(integrand, X) is None


def test_the_number_of_terms_is_bounded_without_expanding() -> None:
    for polynomial in ((X + Y + 1) ** 5, (X + 1) ** 3 * (Y - X) ** 2 + X, sp.Integer(3), X * Y):
        assert len(sp.Add.make_args(sp.expand(polynomial))) <= most_terms(polynomial)
    assert most_terms(((X + 1) ** 64 + 1) ** 64) > 1000


def test_sums_of_waves_of_two_variables_have_a_potential() -> None:
    V = sp.exp(X + Y) * sp.sin(X - Y) + sp.sin(X) * sp.cos(X) * sp.cos(2 * Y) ** 2
    found = potential([-sp.diff(V, X), -sp.diff(V, Y)], [X, Y])
    assert found is not None
    corners = [{X: sp.Rational(a, 7), Y: sp.Rational(b, 9)} for a, b in ((1, 2), (-3, 4), (-5, -6))]
    differences = [(found - V).subs(corner).evalf(30) for corner in corners]
    assert max(differences) - min(differences) < 1e-25
