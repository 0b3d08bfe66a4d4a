"""Coefficients of the modified equation against tables, closed forms and four independent computations."""

from fractions import Fraction
from itertools import product
from math import comb, factorial

import kauri
import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from initmem.theory.backward_error import lag
from initmem.theory.backward_error.coefficients import coefficients, euler_coefficients
from initmem.theory.backward_error.trees import Tree, bushy, label, rooted_trees, symmetry, tall
from initmem.theory.errors import InvalidInput

# Hairer, Lubich & Wanner 2006, chapter IX, and Calaque, Ebrahimi-Fard & Manchon 2011, divided by sigma.
TABLE = {
    "f": "1",
    "f'f": "-1/2",
    "f''(f, f)": "1/12",
    "f'f'f": "1/3",
    "f'''(f, f, f)": "0",
    "f''(f, f'f)": "-1/12",
    "f'f''(f, f)": "-1/12",
    "f'f'f'f": "-1/4",
    "f''''(f, f, f, f)": "-1/720",
    "f'''(f, f, f'f)": "-1/120",
    "f''(f, f''(f, f))": "1/120",
    "f''(f, f'f'f)": "1/20",
    "f''(f'f, f'f)": "1/60",
    "f'f'''(f, f, f)": "1/180",
    "f'f''(f, f'f)": "1/10",
    "f'f'f''(f, f)": "3/40",
    "f'f'f'f'f": "1/5",
}

BETA = sp.Symbol("beta")
HEAVY_BALL = lag.geometric(BETA)
NESTEROV = 1 + BETA * lag.geometric(BETA)


def bernoulli(k: int) -> Fraction:
    """Bernoulli numbers from their recursion, the first being -1/2."""
    if k == 0:
        return Fraction(1)
    return -sum((comb(k + 1, j) * bernoulli(j) for j in range(k)), Fraction(0)) / (k + 1)


def test_table() -> None:
    found = {label(tree): c for tree, c in euler_coefficients(5).items()}
    assert found == {name: Fraction(c) for name, c in TABLE.items()}


def test_chains_and_bushes_have_their_closed_form() -> None:
    c = euler_coefficients(12)
    for n in range(1, 13):
        # The logarithm, for the chains are what a linear field sees; Bernoulli's numbers for the bushes.
        assert c[tall(n)] == Fraction((-1) ** (n - 1), n)
        assert c[bushy(n - 1)] == bernoulli(n - 1) / factorial(n - 1)


# The pre-Lie Magnus expansion: series of trees as dicts, the product is grafting at every vertex.

Series = dict[Tree, Fraction]


def grafted(branch: Tree, tree: Tree) -> list[Tree]:
    """The trees that arise when a branch is hung on one vertex of a tree after the other."""
    at_the_root = tuple(sorted((*tree, branch)))
    above = [
        tuple(sorted((*tree[:i], new, *tree[i + 1 :])))
        for i, child in enumerate(tree)
        for new in grafted(branch, child)
    ]
    return [at_the_root, *above]


def vertices(tree: Tree) -> int:
    return str(tree).count("(")


def graft(left: Series, right: Series, order: int) -> Series:
    result: Series = {}
    for (branch, a), (tree, b) in product(left.items(), right.items()):
        if vertices(branch) + vertices(tree) <= order:
            for new in grafted(branch, tree):
                result[new] = result.get(new, Fraction(0)) + a * b
    return result


def magnus(order: int) -> Series:
    """The fixed point of Omega = sum of B_m/m! (Omega |>)^m f, one order exact with each round."""
    f: Series = {(): Fraction(1)}
    omega = f
    for _ in range(order - 1):
        term, total = f, dict(f)
        for m in range(1, order):
            term = graft(omega, term, order)
            for tree, c in term.items():
                total[tree] = total.get(tree, Fraction(0)) + bernoulli(m) / factorial(m) * c
        omega = total
    return omega


def test_equals_the_pre_lie_magnus_expansion() -> None:
    expected = magnus(6)
    found = euler_coefficients(6)
    assert set(expected) == set(found)
    assert found == expected


def kauri_logarithm() -> kauri.Map:
    """What ``kauri.omega`` is, with fractions where kauri writes floating-point numbers."""
    euler = kauri.Map(lambda tree: Fraction(kauri.Tree([]) == tree or kauri.Tree(None) == tree))
    flow = kauri.Map(lambda tree: Fraction(1, tree.factorial()))
    return euler ^ (flow & kauri.cem.antipode)


def test_equals_the_logarithm_of_kauri() -> None:
    logarithm, found = kauri_logarithm(), euler_coefficients(7)
    trees = [tree for order in range(1, 8) for tree in kauri.trees_of_order(order)]
    assert len(trees) == len(found) == 85

    def ours(tree: kauri.Tree) -> Tree:
        def sort(t: tuple) -> Tree:
            return tuple(sorted(map(sort, t)))

        return sort(tree.unlabelled_repr)

    for tree in trees:
        assert found[ours(tree)] == logarithm(tree) / tree.sigma(), tree
        if tree.nodes() <= 5:
            # Sums of some ten fractions in floating point.
            assert abs(kauri.omega(tree) - logarithm(tree)) < 1e-14


def order_preserving(tree: Tree, n: int) -> int:
    """Maps from the vertices to 1, ..., n under which every vertex exceeds those below it."""
    edges = []
    count = 1

    def visit(below: Tree, vertex: int) -> None:
        nonlocal count
        for child in below:
            edges.append((vertex, count))
            count += 1
            visit(child, count - 1)

    visit(tree, 0)
    return sum(all(m[a] > m[b] for a, b in edges) for m in product(range(n), repeat=count))


def test_equals_the_linear_term_of_counted_order_polynomials() -> None:
    s = sp.Symbol("s")
    found = euler_coefficients(5)
    for order in range(1, 6):
        for tree in rooted_trees(order):
            counts = [(n, order_preserving(tree, n)) for n in range(7)]
            polynomial = sp.Poly(sp.interpolate(counts, s), s)
            assert polynomial.degree() == order
            linear = polynomial.coeff_monomial(s) / symmetry(tree)
            assert found[tree] == Fraction(int(linear.p), int(linear.q)), tree


@pytest.mark.parametrize("order", [1, 4, 8])
def test_without_memory_the_coefficients_are_those_of_euler(order: int) -> None:
    exact = euler_coefficients(order)
    assert coefficients(lag.NOW, order) == {tree: sp.Rational(str(c)) for tree, c in exact.items()}


def test_vanishing_memory_is_no_memory() -> None:
    """Through the arithmetic of rational functions, with beta = 0 at the end only."""
    exact = euler_coefficients(4)
    for weights in (HEAVY_BALL, NESTEROV):
        for tree, c in coefficients(weights, 4).items():
            assert c.subs(BETA, 0) == sp.Rational(str(exact[tree])), tree


def test_a_factor_of_the_weights_is_a_factor_of_the_step() -> None:
    """Weights 3 w at rate h are weights w at rate 3 h, so that a tree of n vertices gains 3^n."""
    once, thrice = coefficients(HEAVY_BALL, 4), coefficients(3 * HEAVY_BALL, 4)
    for order in range(1, 5):
        for tree in rooted_trees(order):
            assert sp.cancel(thrice[tree] - 3**order * once[tree]) == 0


@pytest.mark.parametrize(
    ("weights", "numerator"), [(HEAVY_BALL, 1 + BETA), (NESTEROV, 1 - BETA + 2 * BETA**2)]
)
def test_first_correction_under_momentum(weights: sp.Expr, numerator: sp.Expr) -> None:
    """Kovachki & Stuart 2021, Ghosh et al. 2023 for heavy ball; Cattaneo & Shigida 2025 for both."""
    c = coefficients(weights, 2)
    assert sp.cancel(c[()] - 1 / (1 - BETA)) == 0
    assert sp.cancel(c[((),)] + numerator / (2 * (1 - BETA) ** 3)) == 0


def test_heavy_ball_on_quadratics_to_sixth_order() -> None:
    r"""The rate is a sum of :math:`\eta^n\lambda^{n+1}` with squared binomials in its coefficients."""
    beta = Fraction(9, 10)
    c = coefficients(lag.geometric(sp.Rational(9, 10)), 7)
    for n in range(7):
        squares = sum(comb(n, k) ** 2 * beta**k for k in range(n + 1))
        expected = squares / ((n + 1) * (1 - beta) ** (2 * n + 1))
        # On a quadratic the chain of n + 1 vertices is (-lambda)^(n + 1) theta; the rate is minus the field.
        assert (-1) ** n * c[tall(n + 1)] == sp.Rational(str(expected))


def slope(theta: np.ndarray) -> np.ndarray:
    """The gradient of x^2 y/2 + x^2 + y^2/2."""
    x, y = theta
    return np.array([x * y + 2 * x, x**2 / 2 + y])


def hessian(theta: np.ndarray) -> np.ndarray:
    x, y = theta
    return np.array([[y + 2, x], [x, 1.0]])


@pytest.mark.parametrize("reach", [0.5, 0.25])
def test_nesterovs_own_points_follow_the_same_field_to_first_order(reach: float) -> None:
    r"""Gradients taken :math:`a` steps ahead have :math:`c = (1+\beta)/(1-\beta)^2 - 2a/(1-\beta)`.

    With :math:`a = \beta` that is the field of the form that has the points of the gradients for its
    iterates.
    """
    beta = 0.5
    c = (1 + beta) / (1 - beta) ** 2 - 2 * reach / (1 - beta)
    if reach == beta:
        exact = coefficients(NESTEROV, 2)
        assert c == float(-2 * (exact[((),)] / exact[()]).subs(BETA, sp.Rational(1, 2)))

    def distance(lr: float, corrected: bool) -> float:
        def field(_: float, at: np.ndarray) -> np.ndarray:
            g = slope(at)
            return -(g + corrected * lr / 2 * c * hessian(at) @ g) / (1 - beta)

        def flow(start: np.ndarray, time: float) -> np.ndarray:
            return solve_ivp(field, (0, time), start, method="DOP853", rtol=1e-12, atol=1e-14).y[:, -1]

        # A step that was already under way: what is wrong with it decays and is an order of lr smaller.
        start = theta = np.array([1.0, 0.5])
        before = flow(start, -lr)
        updates = round(0.4 / lr)
        for _ in range(updates):
            ahead = theta + reach * (theta - before)
            before, theta = theta, theta - lr * slope(ahead) + beta * (theta - before)
        return float(np.linalg.norm(flow(start, lr * updates) - theta))

    # The distance falls by 2 without the correction and by 4 with it, up to the next order: relative lr
    # times a curvature of 3 over (1 - beta)^2, which is 0.03 at the larger rate.
    for corrected, ratio in ((False, 2), (True, 4)):
        coarse, fine = (distance(lr, corrected) for lr in (0.0025, 0.00125))
        assert coarse / fine == pytest.approx(ratio, rel=0.03)


WEIGHTS = st.lists(st.fractions(-2, 2, max_denominator=4), min_size=4, max_size=4)


def times(a: list[Fraction], b: list[Fraction]) -> list[Fraction]:
    """The product of two power series to the length of the first."""
    return [sum((a[i] * b[n - i] for i in range(n + 1)), Fraction(0)) for n in range(len(a))]


@settings(deadline=None, max_examples=15)
@given(weights=WEIGHTS)
def test_chains_are_the_logarithm_of_the_slow_root(weights: list[Fraction]) -> None:
    r""":math:`\rho - 1 = -x\,w(1/\rho)` to sixth order in x, in exact arithmetic."""
    order = 6
    polynomial = sp.Add(*(sp.Rational(str(w)) * lag.Z**j for j, w in enumerate(weights)))
    c = coefficients(polynomial, order)
    chains = [Fraction(str(c[tall(n)])) for n in range(1, order + 1)]
    logarithm = [Fraction(0), *((-1) ** n * chain for n, chain in enumerate(chains, start=1))]

    def exponential(series: list[Fraction]) -> list[Fraction]:
        one = [Fraction(1)] + [Fraction(0)] * order
        total, power = one, one
        for k in range(1, order + 1):
            power = times(power, series)
            total = [t + p / factorial(k) for t, p in zip(total, power, strict=True)]
        return total

    rho = exponential(logarithm)
    powers = [exponential([-j * term for term in logarithm]) for j in range(4)]
    w_of_inverse = [
        sum((w * power[n] for w, power in zip(weights, powers, strict=True)), Fraction(0))
        for n in range(order + 1)
    ]
    assert rho[0] == 1
    assert rho[1:] == [-w for w in w_of_inverse[:-1]]


@pytest.mark.parametrize("order", [0, -1, 15, 40])
def test_an_order_out_of_range_is_refused_before_any_work(order: int) -> None:
    for compute in (euler_coefficients, lambda order: coefficients(lag.geometric(sp.Rational(1, 2)), order)):
        with pytest.raises(InvalidInput, match=f"order {order} .* between 1 and 14"):
            compute(order)
