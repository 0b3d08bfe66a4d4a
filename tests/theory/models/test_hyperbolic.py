"""Limits of gradient flow on diagonal linear networks, against published values and the flow itself."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import minimize

from initmem.theory.errors import InvalidInput
from initmem.theory.models.hyperbolic import hyperbolic_entropy, interpolator


@pytest.mark.parametrize(
    ("alpha", "beta"),
    [
        (0.01, (0.0070447, 0.4964777)),
        (0.1, (0.0668580, 0.4665710)),
        (1.0, (0.1992114, 0.4003943)),
        (10.0, (0.2, 0.4)),
    ],
)
def test_from_the_least_1_norm_to_the_least_2_norm(alpha: float, beta: tuple[float, float]) -> None:
    # The values are for weights of size alpha and beta = w_+^2 - w_-^2.
    assert interpolator([[1, 2]], [1], np.sqrt(2) * alpha) == pytest.approx(beta, abs=2e-7)


def test_entropy_at_one() -> None:
    assert 2 * hyperbolic_entropy(1.0, np.sqrt(2)) == pytest.approx(0.2451438476, abs=5e-11)
    assert hyperbolic_entropy(np.zeros(3), 0.7) == 0


DRAW = np.random.default_rng(4)
X, Y = DRAW.normal(size=(3, 6)), DRAW.normal(size=3)
ALPHA = DRAW.uniform(0.2, 0.9, 6)


def test_limit_is_where_the_flow_ends() -> None:
    def flow(t: float, w: np.ndarray) -> np.ndarray:
        plus, minus = w[:6], w[6:]
        g = X.T @ (X @ (plus**2 - minus**2) / 2 - Y)
        return np.concatenate([-g * plus, g * minus])

    larger = 1.3 * ALPHA  # beside the balanced start, so that beta is not 0
    start = np.concatenate([larger, ALPHA**2 / larger])
    end = solve_ivp(flow, (0, 2000), start, method="LSODA", rtol=1e-11, atol=1e-13).y[:, -1]
    beta = (start[:6] ** 2 - start[6:] ** 2) / 2
    assert interpolator(X, Y, ALPHA, beta) == pytest.approx((end[:6] ** 2 - end[6:] ** 2) / 2, abs=1e-8)


def test_limit_has_the_least_entropy_of_all_that_fit() -> None:
    beta = interpolator(X, Y, ALPHA)
    assert X @ beta == pytest.approx(Y, abs=1e-12)
    null = np.linalg.svd(X)[2][3:]
    found = minimize(lambda z: hyperbolic_entropy(beta + z @ null, ALPHA), np.full(3, 0.1), tol=1e-12)
    assert found.x == pytest.approx(np.zeros(3), abs=1e-4)
    assert hyperbolic_entropy(beta, ALPHA) <= found.fun + 1e-12


def test_what_cannot_be_solved_is_refused() -> None:
    with pytest.raises(InvalidInput, match="dependent"):
        interpolator([[1, 2], [2, 4]], [1, 2], 1.0)
    with pytest.raises(InvalidInput, match="alpha"):
        interpolator([[1, 2]], [1], [0.0, 1.0])
