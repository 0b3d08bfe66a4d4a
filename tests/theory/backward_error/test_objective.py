"""Which fields are gradients and of what: worked examples, a general identity, and random polynomials."""

import random
from itertools import combinations
from math import factorial

import mpmath as mp
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from initmem.theory.backward_error.coefficients import coefficients
from initmem.theory.backward_error.differentials import ElementaryDifferentials
from initmem.theory.backward_error.lag import NOW
from initmem.theory.backward_error.objective import curl, is_gradient, numerical_curl, potential
from initmem.theory.backward_error.trees import rooted_trees
from initmem.theory.backward_error.vanishing import vanishes

X, Y, W = sp.symbols("x y w", real=True)


def slopes(loss: sp.Expr, variables: list[sp.Symbol]) -> list[sp.Expr]:
    return [sp.diff(loss, v) for v in variables]


def of_gradient_descent(loss: sp.Expr, variables: list[sp.Symbol], order: int) -> list[tuple[sp.Expr, ...]]:
    exact = coefficients(NOW, order + 1)
    evaluate = ElementaryDifferentials([-g for g in slopes(loss, variables)], variables)
    return [evaluate.combine({t: exact[t] for t in rooted_trees(n + 1)}) for n in range(order + 1)]


def test_the_worked_example_has_an_objective_to_first_order_only() -> None:
    loss, variables = X**2 * Y / 2 + X**2 + Y**2 / 2, [X, Y]
    terms = of_gradient_descent(loss, variables, 2)
    at = {X: sp.Integer(1), Y: sp.Integer(1)}
    assert sp.expand(curl(terms[1], variables)[X, Y]) == 0
    assert curl(terms[2], variables)[X, Y].subs(at) == sp.Rational(3, 4)
    assert potential(terms[0], variables) == sp.expand(loss)
    # A quarter of the squared gradient (Barrett & Dherin 2021).
    quarter = ((X * Y + 2 * X) ** 2 + (X**2 / 2 + Y) ** 2) / 4
    assert potential(terms[1], variables) == sp.expand(quarter)
    assert potential(terms[2], variables) is None


@pytest.mark.parametrize("seed", range(2))
def test_curl_of_the_second_correction_is_a_commutator(seed: int) -> None:
    r"""A sixth of :math:`[H, T g]`, H the Hessian and T the third derivative.

    The term is :math:`-\tfrac1{12} T(g,g) - \tfrac13 H^2 g`. But for symmetric parts, derivatives of
    component j along i are :math:`2 H\,Tg` of the first and :math:`Tg\,H` of the second.
    """
    draw, variables = random.Random(seed), [X, Y, W]
    monomials = [X**i * Y**j * W**k for i in range(4) for j in range(4 - i) for k in range(4 - i - j)]
    loss = sp.Add(*(draw.randrange(-3, 4) * monomial for monomial in monomials))
    g = sp.Matrix(slopes(loss, variables))
    H = g.jacobian(variables)
    Tg = sp.Matrix(3, 3, lambda i, j: sum(sp.diff(H[i, j], v) * g[k] for k, v in enumerate(variables)))
    expected = (H * Tg - Tg * H) / 6
    found = curl(of_gradient_descent(loss, variables, 2)[2], variables)
    assert set(found) == {(X, Y), (X, W), (Y, W)}
    for (a, b), part in found.items():
        i, j = variables.index(a), variables.index(b)
        assert sp.expand(part - expected[i, j]) == 0
    assert any(sp.expand(entry) != 0 for entry in expected)


def test_quadratics_have_an_objective_to_every_order() -> None:
    r"""The flow of a linear map is its logarithm: :math:`\theta^T A^{n+1}\theta/(2(n+1))`."""
    variables = [X, Y]
    A = sp.Matrix([[2, sp.Rational(1, 3)], [sp.Rational(1, 3), 1]])
    theta = sp.Matrix(variables)
    loss = (theta.T * A * theta)[0] / 2
    for n, term in enumerate(of_gradient_descent(loss, variables, 6)):
        expected = sp.expand((theta.T * A ** (n + 1) * theta)[0] / (2 * (n + 1)))
        assert potential(term, variables) == expected


def test_cubes_of_one_variable_have_an_objective_to_every_order() -> None:
    """The field of x^3/3 is that of y' = y^2 with y = -x, whose modified equation is known."""
    known = [1, 1, sp.Rational(3, 2), sp.Rational(8, 3), sp.Rational(31, 6)]
    for n, term in enumerate(of_gradient_descent(X**3 / 3, [X], 4)):
        assert potential(term, [X]) == known[n] * X ** (n + 3) / (n + 3)


@pytest.mark.parametrize("loss", [sp.cosh(X), sp.exp(X) - X, sp.log(1 + sp.exp(X))], ids=str)
def test_other_losses_of_one_variable_have_one_too(loss: sp.Expr) -> None:
    for term in of_gradient_descent(loss, [X], 2):
        V = potential(term, [X])
        assert V is not None
        for point in (sp.Rational(-7, 5), sp.Rational(1, 3)):
            # Derivative and field with 30 digits.
            difference = (sp.diff(V, X) + term[0]).subs(X, point).evalf(30, chop=True)
            assert abs(difference) < 1e-25


@pytest.mark.parametrize(
    "V",
    [
        sp.sin(X) * sp.exp(Y),
        sp.exp(2 * X - Y) * sp.sin(3 * X) + X * Y**2 * sp.cos(X),
        sp.log(1 + X**2 + Y**2),
        X / (1 + Y**2) + Y * sp.exp(-X),
    ],
    ids=str,
)
def test_potentials_of_functions_that_are_not_polynomials(V: sp.Expr) -> None:
    variables = [X, Y]
    field = [-part for part in slopes(V, variables)]
    assert is_gradient(field, variables)
    found = potential(field, variables)
    assert found is not None
    # Up to a constant it is V: equal differences at points on either side of the axes, with 30 digits.
    corners = [{X: sp.Rational(a, 7), Y: sp.Rational(b, 9)} for a, b in ((1, 2), (-3, 4), (-5, -6), (8, -7))]
    differences = [(found - V).subs(corner).evalf(30) for corner in corners]
    assert max(differences) - min(differences) < 1e-25


@pytest.mark.parametrize(
    "V", [sp.exp(X * Y) + sp.sin(X) * Y**2, sp.sqrt(1 + X**2 + Y**2), sp.cos(X) * sp.sinh(Y)], ids=str
)
def test_gradients_are_recognised_without_an_integral(V: sp.Expr) -> None:
    """Whether or not the potential is found, it exists; what is found has the right gradient."""
    field = [-part for part in slopes(V, [X, Y])]
    assert is_gradient(field, [X, Y])
    found = potential(field, [X, Y])
    assert found is None or all(vanishes(part) for part in slopes(found - V, [X, Y]))


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ([sp.sin(X) * sp.exp(Y), sp.cos(X) * sp.exp(Y)], -2 * sp.sin(X) * sp.exp(Y)),
        ([-Y / (X**2 + Y**2), X / (X**2 + Y**2)], sp.Integer(0)),
        ([-Y * sp.exp(-(X**2)), X * sp.exp(-(Y**2))], sp.exp(-(X**2)) + sp.exp(-(Y**2))),
        ([sp.log(X + Y), sp.sqrt(X * Y)], Y / (2 * sp.sqrt(X * Y)) - 1 / (X + Y)),
    ],
)
def test_numerical_curl_is_that_of_calculus(field: list[sp.Expr], expected: sp.Expr) -> None:
    variables = [X, Y]
    at = {X: sp.Rational(3, 11), Y: sp.Rational(5, 13)}
    parts = numerical_curl(field, variables, variables)(at)
    assert parts is not None
    found, scale = parts[X, Y]
    with mp.workdps(60):
        exact = mp.mpf(str(expected.subs(at).evalf(60)))
        # The step is 1e-20, so a central difference errs by 1e-40 times a third derivative of some hundred.
        assert abs(found - exact) < mp.mpf(10) ** -36
        derivatives = sp.Abs(sp.diff(field[1], X)) + sp.Abs(sp.diff(field[0], Y))
        assert abs(scale - mp.mpf(str(derivatives.subs(at).evalf(60)))) < mp.mpf(10) ** -36
    assert vanishes(curl(field, variables)[X, Y] - expected)


def test_numerical_curl_in_three_dimensions_with_a_parameter() -> None:
    c = sp.Symbol("c")
    field = [c * sp.exp(Y), sp.sin(W), X**2 * sp.cosh(c)]
    at = {X: sp.Rational(1, 2), Y: sp.Rational(1, 3), W: sp.Rational(1, 5), c: sp.Rational(2, 7)}
    parts = numerical_curl(field, [X, Y, W], [X, Y, W, c])(at)
    assert parts is not None
    expected = {(X, Y): -c * sp.exp(Y), (X, W): 2 * X * sp.cosh(c), (Y, W): -sp.cos(W)}
    assert set(parts) == set(expected)
    with mp.workdps(60):
        for pair, (found, _) in parts.items():
            # As above.
            assert abs(found - mp.mpf(str(expected[pair].subs(at).evalf(60)))) < mp.mpf(10) ** -36


def test_where_a_field_is_not_real_there_is_no_curl() -> None:
    field = [sp.log(X - 5), Y * sp.exp(X)]
    assert numerical_curl(field, [X, Y], [X, Y])({X: sp.Integer(1), Y: sp.Integer(1)}) is None


@pytest.mark.parametrize(
    ("x_part", "y_part"),
    [(2 * X * Y, X**2), (Y * sp.exp(X * Y), X * sp.exp(X * Y)), (sp.cos(X) * Y, sp.sin(X))],
    ids=str,
)
def test_fields_that_are_almost_gradients_are_told_apart(x_part: sp.Expr, y_part: sp.Expr) -> None:
    assert is_gradient([x_part, y_part], [X, Y])
    almost = [x_part, y_part * (1 + sp.Rational(1, 10**12))]
    assert not is_gradient(almost, [X, Y])
    assert potential(almost, [X, Y]) is None


def test_candidates_come_first_and_are_checked() -> None:
    V = sp.exp(X * Y)
    field = [-part for part in slopes(V, [X, Y])]
    assert potential(field, [X, Y], [X, V + 5, V]) == V + 5


def test_vanishing_is_decided() -> None:
    a = sp.Symbol("a", positive=True)
    assert vanishes((X + Y) ** 3 - sp.expand((X + Y) ** 3))
    assert vanishes(sp.log(2 * a) - sp.log(a) - sp.log(2))
    assert vanishes(sp.sin(2 * X) - 2 * sp.sin(X) * sp.cos(X))
    # Taylor's remainder of a sine, at most 1/19!, is far above what is taken for zero.
    sine = sum((-1) ** k * X ** (2 * k + 1) / sp.Integer(factorial(2 * k + 1)) for k in range(9))
    assert not vanishes(sp.sin(X) - sine)
    # Nowhere real, so nothing is claimed.
    assert not vanishes(sp.log(-((X + 1) ** 2) - 1) - sp.log(-(X**2) - 2 * X - 2))


MONOMIALS = st.tuples(*(st.integers(0, 3) for _ in range(3)))
POLYNOMIALS = st.dictionaries(MONOMIALS, st.fractions(-5, 5, max_denominator=9), max_size=6)


@settings(deadline=None, max_examples=20)
@given(powers=POLYNOMIALS)
def test_the_potential_of_a_gradient_is_what_it_is_the_gradient_of(powers: dict) -> None:
    variables = [X, Y, W]
    V = sp.Add(*(sp.Rational(str(c)) * X**i * Y**j * W**k for (i, j, k), c in powers.items()))
    found = potential([-part for part in slopes(V, variables)], variables)
    assert found is not None
    assert sp.expand(found - V).is_number


@settings(deadline=None, max_examples=10)
@given(powers=POLYNOMIALS)
def test_a_rotation_added_to_a_gradient_is_noticed(powers: dict) -> None:
    variables = [X, Y, W]
    V = sp.Add(*(sp.Rational(str(c)) * X**i * Y**j * W**k for (i, j, k), c in powers.items()))
    gx, gy, gw = slopes(V, variables)
    for turned in ([-gx - Y, -gy + X, -gw], [-gx, -gy - W, -gw + Y], [-gx - W**2, -gy, -gw]):
        assert potential(turned, variables) is None
    parts = curl([-gx - Y, -gy + X, -gw], variables)
    assert [sp.expand(parts[pair]) for pair in combinations(variables, 2)] == [2, 0, 0]


def test_kinks_on_the_negative_side_are_met() -> None:
    x, y = sp.symbols("x y", real=True)
    assert not vanishes(sp.Abs(x) - x)
    assert not vanishes(sp.Abs(x - 2) + x - 2)
    assert not is_gradient([y, sp.Abs(x)], [x, y])
    assert potential([y, sp.Abs(x)], [x, y]) is None
    # |x| y is smooth on either side: the curl vanishes away from the kink.
    assert is_gradient([sp.sign(x) * y, sp.Abs(x)], [x, y])


def test_one_dimension_always_has_an_objective() -> None:
    x = sp.Symbol("x", real=True)
    V = potential([sp.exp(-(x**2))], [x])
    assert V is not None
    assert float(V.subs(x, 1).evalf() - V.subs(x, 0).evalf()) == pytest.approx(-0.746824132812427, abs=1e-14)
