"""Matching powers of the learning rate, against trees, published fields and closed forms."""

import random

import pytest
import sympy as sp

from initmem.theory.backward_error.coefficients import coefficients
from initmem.theory.backward_error.differentials import ElementaryDifferentials
from initmem.theory.backward_error.lag import NOW, Z, average, geometric
from initmem.theory.backward_error.matching import Memory, match
from initmem.theory.backward_error.trees import rooted_trees
from initmem.theory.errors import InvalidInput

X, Y = sp.symbols("x y", real=True)
BETA = sp.Symbol("beta")
NINE_TENTHS = sp.Rational(9, 10)

# Arithmetic in here decides whether two expressions are the same.
RATIONAL = sp.QQ.frac_field(X, Y, BETA)

LOSS = X**2 * Y / 2 + X**2 + Y**2 / 2 + Y**3 / 5


def gradient(loss: sp.Expr) -> list[sp.Expr]:
    return [sp.diff(loss, X), sp.diff(loss, Y)]


@pytest.mark.parametrize(
    ("weights", "order"),
    [
        (NOW, 3),
        (geometric(BETA), 2),
        (geometric(NINE_TENTHS), 3),
        (1 + BETA * geometric(BETA), 2),
        (1 + NINE_TENTHS * geometric(NINE_TENTHS), 3),
        (1 - Z / 3 + Z**2 / 5, 2),
    ],
    ids=["gd", "heavy-ball", "heavy-ball 0.9", "nesterov", "nesterov 0.9", "finite"],
)
def test_agrees_with_trees(weights: sp.Expr, order: int) -> None:
    """The two ways share nothing but the moments: one sums over trees, the other over powers."""
    slopes = gradient(LOSS)
    matched = match(
        lambda *remembered: [-g for g in remembered], [Memory(weights, g) for g in slopes], [X, Y], order
    )
    exact = coefficients(weights, order + 1)
    evaluate = ElementaryDifferentials([-g for g in slopes], [X, Y])
    assert len(matched) == order + 1
    for n, term in enumerate(matched):
        expected = evaluate.combine({tree: exact[tree] for tree in rooted_trees(n + 1)})
        for ours, theirs in zip(term, expected, strict=True):
            assert RATIONAL.from_sympy(ours) == RATIONAL.from_sympy(theirs), n


def test_adam_has_its_published_first_correction() -> None:
    """Cattaneo, Klusowski & Shigida 2024, with full batches and after many updates."""
    first, second, eps = sp.symbols("beta1 beta2 epsilon", positive=True)
    loss = sp.sin(X) * Y + X**4 / 4 + sp.exp(X * Y / 3)
    slopes = gradient(loss)
    penalty = sum(sp.sqrt(g**2 + eps) for g in slopes)

    def published(g: sp.Expr, variable: sp.Symbol) -> list[sp.Expr]:
        braces = (
            (1 + first) / (1 - first)
            - (1 + second) / (1 - second)
            + (1 + second) / (1 - second) * eps / (g**2 + eps)
        )
        root = sp.sqrt(g**2 + eps)
        return [-g / root, -sp.diff(penalty, variable) * braces / (2 * root)]

    def update(*remembered: sp.Symbol) -> list[sp.Expr]:
        return [-m / sp.sqrt(v + eps) for m, v in zip(remembered[:2], remembered[2:], strict=True)]

    memories = [Memory(average(first), g) for g in slopes]
    memories += [Memory(average(second), g**2) for g in slopes]
    terms = match(update, memories, [X, Y], 1)
    draw = random.Random(2309)
    for _ in range(3):
        symbols = (X, Y, first, second, eps)
        point = {symbol: sp.Rational(draw.randrange(10, 990), 1000) for symbol in symbols}
        for j, (g, variable) in enumerate(zip(slopes, (X, Y), strict=True)):
            for n, expected in enumerate(published(g, variable)):
                theirs = expected.subs(point).evalf(40)
                # Both with 40 digits, of which factors 1/(1 - beta) and 1/epsilon cost a few.
                assert abs(terms[n][j].subs(point).evalf(40) - theirs) < 1e-30 * (1 + abs(theirs))


def test_constant_speed_needs_no_correction() -> None:
    """Steps of a sign are a straight line between kinks, whatever the memory."""
    slopes = gradient(X**2 + sp.exp(Y))
    terms = match(
        lambda *remembered: [-sp.sign(g) for g in remembered],
        [Memory(average(BETA), g) for g in slopes],
        [X, Y],
        2,
    )
    assert terms[0] == (-sp.sign(2 * X), -sp.sign(sp.exp(Y))) == (-sp.sign(X), -1)
    assert terms[1:] == ((0, 0), (0, 0))


def test_decay_beside_the_memory_is_a_linear_flow_to_all_orders() -> None:
    r"""Without a gradient, :math:`\theta_{k+1} = (1 - \eta\lambda)\theta_k` decays at a logarithm."""
    rate = sp.Symbol("lambda", positive=True)
    terms = match(lambda theta: [-rate * theta], [Memory(NOW, X)], [X], 6)
    assert [sp.expand(term[0]) for term in terms] == [-(rate ** (n + 1)) * X / (n + 1) for n in range(7)]


def test_remembered_parameters_move_as_the_logarithm_of_the_slow_root() -> None:
    r"""An average of parameters that pulls: :math:`\rho - 1 = -\eta\,(1-\beta)/(1-\beta/\rho)`, by series."""
    terms = match(lambda mean: [-mean], [Memory(average(BETA), X)], [X], 3)
    eta = sp.Symbol("eta")
    # The root of (rho - 1)(rho - beta) = -eta (1 - beta) rho that starts at 1.
    b = 1 + BETA - eta * (1 - BETA)
    slow = (b + sp.sqrt(b**2 - 4 * BETA)) / 2
    at = {BETA: sp.Rational(1, 4)}
    series = sp.series(sp.log(slow.subs(at)), eta, 0, 5).removeO()
    for n, term in enumerate(terms):
        assert sp.simplify(term[0].subs(at) / X - series.coeff(eta, n + 1)) == 0


def test_functions_that_are_not_spelled_out_move_as_they_are_told() -> None:
    """A slope of which only its derivative in time is known gives the correction of gradient descent."""
    slope, curvature = sp.symbols("g h")
    terms = match(
        lambda g: [-g],
        [Memory(geometric(BETA), slope)],
        [X],
        1,
        motion={slope: -curvature * slope / (1 - BETA)},
    )
    expected = [-slope / (1 - BETA), -curvature * slope * (1 + BETA) / (2 * (1 - BETA) ** 3)]
    assert [sp.cancel(term[0] - e) for term, e in zip(terms, expected, strict=True)] == [0, 0]


def test_what_becomes_too_long_is_refused() -> None:
    x, y, w = sp.symbols("x y w", real=True)
    slopes = [sp.diff(sp.tanh(x * y * w) + sp.exp(x - w) * sp.sin(y), v) for v in (x, y, w)]
    memories = [Memory(geometric(sp.Symbol("beta")), g**k) for k in (1, 2) for g in slopes]

    def update(*q: sp.Symbol) -> list[sp.Expr]:
        return [-m / sp.sqrt(v + 1) for m, v in zip(q[:3], q[3:], strict=True)]

    with pytest.raises(InvalidInput, match="become too long.*lower --order"):
        match(update, memories, [x, y, w], 4)
