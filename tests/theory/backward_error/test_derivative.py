"""Derivatives against sympy's own where the formula is smooth, and against difference quotients at kinks."""

import pytest
import sympy as sp

from initmem.theory.backward_error.derivative import derivative
from initmem.theory.backward_error.differentials import ElementaryDifferentials
from initmem.theory.backward_error.field import number

X, Y = sp.symbols("x y", real=True)


@pytest.mark.parametrize(
    "formula",
    [
        X**3 * Y + 2 * (X + Y) ** 4,
        sp.exp(X * Y) * sp.sin(X) / (1 + Y**2),
        sp.log(1 + X**2) * sp.sqrt(1 + X * Y) + sp.tanh(X) ** 2,
        X**Y + 2**X,
        sp.Function("f")(X, Y) * X,
    ],
    ids=str,
)
def test_smooth_formulas_have_the_derivative_of_calculus(formula: sp.Expr) -> None:
    for symbol in (X, Y):
        assert sp.simplify(derivative(formula, symbol) - sp.diff(formula, symbol)) == 0


@pytest.mark.parametrize(
    "loss",
    [
        sp.Abs(X),
        sp.Abs(X) ** 3,
        sp.Abs(X * Y),
        sp.Abs(X) + Y**2,
        sp.Abs(X - Y) * X,
        sp.Abs(sp.Abs(X) - sp.Abs(Y)),
        sp.Abs(sp.log(X) + Y) * Y,
        sp.Abs(sp.log(X)),
    ],
    ids=str,
)
def test_kinks_leave_no_delta_function_at_any_order(loss: sp.Expr) -> None:
    variables, at = [X, Y], {X: sp.Rational(3, 2), Y: sp.Rational(1, 3)}
    first = [derivative(loss, v) for v in variables]
    for v, slope in zip(variables, first, strict=True):
        step = sp.Rational(1, 10**12)
        difference = (loss.subs(at | {v: at[v] + step}) - loss.subs(at | {v: at[v] - step})) / (2 * step)
        # The quotient errs by the square of its step times a third derivative below 10.
        assert number(slope, at) == pytest.approx(float(difference.evalf(40)), abs=1e-15)
    evaluate = ElementaryDifferentials([-slope for slope in first], variables)
    for tree in (((),), ((), ()), (((), ()),)):
        for component in evaluate(tree):
            assert not component.has(sp.DiracDelta, sp.Derivative, sp.re, sp.im)
            number(component, at)
