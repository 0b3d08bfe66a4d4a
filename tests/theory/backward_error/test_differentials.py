"""Elementary differentials against a hand-made series and direct contraction of derivative tensors."""

import random
from itertools import product
from math import prod

import pytest
import sympy as sp

from initmem.theory.backward_error.coefficients import coefficients, euler_coefficients
from initmem.theory.backward_error.differentials import ElementaryDifferentials
from initmem.theory.backward_error.lag import NOW
from initmem.theory.backward_error.trees import Tree, rooted_trees, tall
from initmem.theory.errors import InvalidInput

X, Y, Z = sp.symbols("x y z", real=True)

# Polynomials, smooth functions with singularities elsewhere, three components, and a kind of each in one.
FIELDS = {
    "polynomial": ([3 * X**3 * Y - X / 2 + 1, X * Y**4 / 7 - X**2 + 2 * Y], [X, Y]),
    "transcendental": ([sp.sin(X) * sp.exp(Y), X / (1 + Y**2)], [X, Y]),
    "mixed": ([X**2 * Y - Y, sp.sqrt(1 + X**2) * Y], [X, Y]),
    "three": ([Y * Z - X**2, sp.cos(X * Z), X * Y * Z], [X, Y, Z]),
    "one": ([sp.exp(-(X**2))], [X]),
}


def contraction(field: list[sp.Expr], variables: list[sp.Symbol], point: dict) -> dict[Tree, list[sp.Expr]]:
    """All elementary differentials at a point, from the tensors of derivatives there and nothing else.

    Every index of every tensor is summed, so a mixed derivative is met once for each order of its indices.
    """
    d = range(len(variables))
    tensors = {}
    for i, component in enumerate(field):
        for m in range(5):
            for indices in product(d, repeat=m):
                derivative = component
                for j in indices:
                    derivative = sp.diff(derivative, variables[j])
                tensors[i, *indices] = derivative.subs(point).evalf(40)
    found: dict[Tree, list[sp.Expr]] = {}
    for order in range(1, 6):
        for tree in rooted_trees(order):
            found[tree] = [
                sp.Add(
                    *(
                        tensors[(i, *js)] * prod(found[child][j] for child, j in zip(tree, js, strict=True))
                        for js in product(d, repeat=len(tree))
                    )
                )
                for i in d
            ]
    return found


@pytest.mark.parametrize("name", FIELDS)
def test_equal_contracted_tensors_for_every_tree_of_up_to_five_vertices(name: str) -> None:
    field, variables = FIELDS[name]
    draw = random.Random(name)
    point = {v: sp.Rational(draw.randrange(-900, 900), 1000) for v in variables}
    evaluate = ElementaryDifferentials(field, variables)
    for tree, expected in contraction(field, variables, point).items():
        for ours, theirs in zip(evaluate(tree), expected, strict=True):
            # Both with 40 digits; the sums have some thousand terms and cancel at most a few digits.
            assert abs(ours.subs(point).evalf(40) - theirs) < 1e-30 * (1 + abs(theirs)), tree


def test_modified_equation_of_the_square() -> None:
    """Hairer, Lubich & Wanner 2006, example IX.1.1 and on: y' = y^2."""
    y = sp.Symbol("y")
    exact = coefficients(NOW, 5)
    evaluate = ElementaryDifferentials([y**2], [y])
    terms = [evaluate.combine({tree: exact[tree] for tree in rooted_trees(n)})[0] for n in range(1, 6)]
    expected = [1, -1, sp.Rational(3, 2), sp.Rational(-8, 3), sp.Rational(31, 6)]
    assert terms == [b * y**n for n, b in enumerate(expected, start=2)]


def test_both_arithmetics_agree() -> None:
    """A symbol goes through the ring of polynomials and pi does not."""
    c = sp.Symbol("c", real=True)

    def field(constant: sp.Expr) -> list[sp.Expr]:
        return [X**2 * Y - constant * Y / 3 + 1, constant * X * Y**2 + X**3]

    in_ring = ElementaryDifferentials(field(c), [X, Y])
    in_expressions = ElementaryDifferentials(field(sp.pi), [X, Y])
    for order in range(1, 6):
        for tree in rooted_trees(order):
            for ours, theirs in zip(in_ring(tree), in_expressions(tree), strict=True):
                assert sp.expand(ours.subs(c, sp.pi) - theirs) == 0, tree


@pytest.mark.parametrize("name", ["polynomial", "transcendental"])
@pytest.mark.parametrize("symbolic", [False, True])
def test_combinations_are_sums_of_elementary_differentials(name: str, symbolic: bool) -> None:
    field, variables = FIELDS[name]
    beta = sp.Symbol("beta")
    # Any numbers will do; those of Euler contain a zero. The symbols lead out of the ring.
    scales = {
        tree: sp.Rational(str(c)) * ((1 + k * beta) if symbolic else 1)
        for k, (tree, c) in enumerate(euler_coefficients(4).items())
    }
    point = {X: sp.Rational(3, 10), Y: sp.Rational(-7, 10)}
    values = contraction(field, variables, point)
    combined = ElementaryDifferentials(field, variables).combine(scales)
    at = {beta: sp.Rational(1, 3)}
    for i, component in enumerate(combined):
        expected = sp.Add(*(scale.subs(at) * values[tree][i] for tree, scale in scales.items()))
        # As above, with 40 digits.
        assert abs(component.subs(point | at).evalf(40) - expected) < 1e-30 * (1 + abs(expected))


def test_a_polynomial_stays_expanded() -> None:
    field, variables = FIELDS["polynomial"]
    for component in ElementaryDifferentials(field, variables)(((), ((),))):
        assert component == sp.expand(component)


def test_irrational_coefficients_are_no_obstacle() -> None:
    x = sp.Symbol("x", real=True)
    assert ElementaryDifferentials([sp.sqrt(2) * x], [x])(((),)) == (2 * x,)


def test_a_kink_leaves_no_delta_behind() -> None:
    x, y = sp.symbols("x y", real=True)
    evaluate = ElementaryDifferentials([-sp.sign(x) * y**2, -2 * y * sp.Abs(x)], [x, y])
    assert not any(component.has(sp.DiracDelta) for component in evaluate((((),),)))


def test_denominators_are_kept() -> None:
    x, y = sp.symbols("x y", real=True)
    field = [x**2 / 3 + y / 7, x * y / 5 - sp.Rational(1, 2)]
    evaluate = ElementaryDifferentials(field, [x, y])
    J = sp.Matrix(field).jacobian([x, y])
    chain = J * J * sp.Matrix(field)
    assert [sp.expand(a - b) for a, b in zip(evaluate((((),),)), chain, strict=True)] == [0, 0]
    scales = {((),): sp.Rational(1, 11), (((),),): sp.Rational(-2, 3)}
    expected = J * sp.Matrix(field) / 11 - 2 * chain / 3
    assert [sp.expand(a - b) for a, b in zip(evaluate.combine(scales), expected, strict=True)] == [0, 0]


def test_high_powers_are_not_expanded() -> None:
    x, y, w = sp.symbols("x y w", real=True)
    field = [-60 * (x + y + w + 1) ** 59] * 3
    (component, *_) = ElementaryDifferentials(field, [x, y, w])(((),))
    assert component == 3 * 60 * 60 * 59 * (x + y + w + 1) ** 117


@pytest.mark.parametrize("loss", ["polynomial", "functions"])
def test_what_becomes_too_long_is_refused(loss: str) -> None:
    variables = sp.symbols("a b c d", real=True)
    a, b, c, d = variables
    L = (a**2 + b**2 + c**2 + d**2 + a * b * c * d) ** 3
    if loss == "functions":
        L = sp.sin(a * b * c) * sp.exp(d * a) + sp.log(1 + L)
    evaluate = ElementaryDifferentials([-sp.diff(L, v) for v in variables], variables)
    with pytest.raises(InvalidInput, match="become too long.*lower --order"):
        evaluate(tall(8))
