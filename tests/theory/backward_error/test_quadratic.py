"""The exact rate on a quadratic against closed forms, partial sums, and simulated updates."""

import math
from itertools import pairwise

import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from initmem.theory.backward_error.coefficients import coefficients
from initmem.theory.backward_error.lag import NOW, Z, geometric
from initmem.theory.backward_error.quadratic import exact_rate, largest_product
from initmem.theory.backward_error.trees import tall
from initmem.theory.errors import InvalidInput

NINE_TENTHS = sp.Rational(9, 10)
HEAVY_BALL = geometric(NINE_TENTHS)
NESTEROV = 1 + NINE_TENTHS * geometric(NINE_TENTHS)


def larger_root(b: float, c: float) -> float:
    """Of z^2 - b z + c."""
    return (b + math.sqrt(b * b - 4 * c)) / 2


@pytest.mark.parametrize("product", [1e-6, 0.1, 0.5, 0.999, -0.3])
@pytest.mark.parametrize("lr", [0.1, 3.0])
def test_gradient_descent_forgets_at_a_logarithm(product: float, lr: float) -> None:
    # Rounding of the product, amplified by 1/(1 - product) at its logarithm: 1000 ulp at worst.
    expected = -math.log1p(-product) / lr
    assert exact_rate(NOW, lr, product / lr) == pytest.approx(expected, rel=1000 * 2.3e-16)


def test_published_values() -> None:
    # All digits that are given; the last of each is rounded.
    assert exact_rate(NOW, 0.1, 1.0) == pytest.approx(1.0536051565782628, rel=3e-16)
    assert exact_rate(HEAVY_BALL, 5e-4, 1.0) == pytest.approx(10.52626314242, abs=5.1e-12)
    assert exact_rate(NESTEROV, 5e-4, 1.0) == pytest.approx(10.47377226457, abs=5.1e-12)


def test_partial_sums_of_heavy_ball_approach_the_exact_rate() -> None:
    lr = sp.Rational(5, 10**4)
    c = coefficients(HEAVY_BALL, 5)
    terms = [(-lr) ** n * c[tall(n + 1)] for n in range(5)]
    sums = [float(sum(terms[: n + 1])) for n in range(5)]
    # As many digits as are given.
    assert sums == pytest.approx([10, 10.475, 10.520083, 10.525433, 10.526144], abs=5.1e-7)
    exact = exact_rate(HEAVY_BALL, float(lr), 1.0)
    gaps = [exact - partial for partial in sums]
    assert all(0 < later < earlier / 5 for earlier, later in pairwise(gaps))


@pytest.mark.parametrize(
    ("weights", "limit"),
    [
        (NOW, 1.0),
        (HEAVY_BALL, (1 - math.sqrt(0.9)) ** 2),
        (NESTEROV, (1 - 0.9) ** 2 / (1 + 0.9) ** 2),
    ],
    ids=["gd", "heavy-ball", "nesterov"],
)
def test_where_the_slow_root_ends(weights: sp.Expr, limit: float) -> None:
    # Closed forms lose the digits of 1 - sqrt(0.9), a difference of ones: 20 ulp, twice for the square.
    assert largest_product(weights) == pytest.approx(limit, rel=40 * 2.3e-16)
    assert exact_rate(weights, limit * (1 - 1e-9), 1.0) > 0
    for beyond in (limit * (1 + 1e-9), 2 * limit, 100.0):
        with pytest.raises(InvalidInput, match=r"lr \* curvature = ") as raised:
            exact_rate(weights, beyond, 1.0)
        assert f"lr * curvature = {beyond:.6g} is not below {limit:.6g}" in str(raised.value)
        assert f"lower lr = {beyond:g}" in str(raised.value)


@pytest.mark.parametrize("curvature", [0.05, 1.0, 4.0])
@pytest.mark.parametrize("decay", [0.0, 0.1, 1.0])
def test_decay_in_the_gradient_adds_to_the_curvature_under_momentum(curvature: float, decay: float) -> None:
    lr, beta = 5e-4, 0.9
    root = larger_root(1 + beta - lr * (curvature + decay), beta)
    # The logarithm of a root near 1 keeps the root's rounding: a few ulp over 1 - root = lr * rate.
    rate = exact_rate(HEAVY_BALL, lr, curvature + decay)
    assert rate == pytest.approx(-math.log(root) / lr, rel=20 * 2.3e-16 / (1 - root))


@pytest.mark.parametrize("product", [1e-5, 1e-3, 2.7e-3])
def test_both_forms_of_nesterov_have_one_rate(product: float) -> None:
    r"""Gradients taken :math:`\beta` steps ahead: :math:`z^2 - (1-\eta\lambda)((1+\beta)z - \beta)`."""
    beta = 0.9
    root = larger_root((1 - product) * (1 + beta), (1 - product) * beta)
    # As above; close to the double root the discriminant loses digits and the root half of them.
    rounding = 20 * 2.3e-16 / math.sqrt(1 - product / ((1 - beta) / (1 + beta)) ** 2)
    assert exact_rate(NESTEROV, 1.0, product) == pytest.approx(-math.log(root), abs=10 * rounding)


@settings(deadline=None, max_examples=20)
@given(beta=st.floats(0.1, 0.9), fraction=st.floats(0.05, 0.6))
def test_simulated_heavy_ball_contracts_at_the_rate(beta: float, fraction: float) -> None:
    lr, updates = 0.01, 400
    weights = geometric(sp.Rational(beta))
    curvature = fraction * (1 - math.sqrt(beta)) ** 2 / lr
    theta = np.zeros(updates + 1)
    theta[0], buffer = 1.0, 0.0
    for k in range(updates):
        buffer = beta * buffer + curvature * theta[k]
        theta[k + 1] = theta[k] - lr * buffer
    contraction = math.exp(-exact_rate(weights, lr, curvature) * lr)
    # The roots multiply to beta, so the fast one has fallen by (beta / slow^2)^k beside the slow one; a
    # rounding error lives for 1/(1 - beta/slow^2) updates and is fed anew by each.
    ratio = beta / contraction**2
    tolerance = 10 * ratio ** (updates - 1) + 100 * 2.3e-16 / (1 - ratio) ** 2
    assert theta[-1] / theta[-2] == pytest.approx(contraction, rel=tolerance)


@pytest.mark.parametrize("weights", [NOW, HEAVY_BALL, NESTEROV], ids=["gd", "heavy-ball", "nesterov"])
@pytest.mark.parametrize("product", [1e-300, 1e-100, 1e-12, -1e-200])
def test_the_rate_at_tiny_products(weights: sp.Expr, product: float) -> None:
    """It is the curvature times the sum of the weights, up to a relative product times some hundred."""
    total = float(weights.subs(Z, 1))
    assert exact_rate(weights, abs(product), product / abs(product)) == pytest.approx(
        total * product / abs(product), rel=1e-9
    )


def test_the_rate_has_no_seam() -> None:
    """Both ways of computing it, on either side of where they meet; the slope is below 1e3 there."""
    for weights in (NOW, HEAVY_BALL):
        seam = 1e-6 * largest_product(weights)
        below, above = (exact_rate(weights, seam * (1 + side * 1e-9), 1.0) for side in (-1, 1))
        assert below == pytest.approx(above, rel=1e-12)
