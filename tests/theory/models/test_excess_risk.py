"""The risk of interpolators from random starts, against random data sets."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from initmem.theory.errors import InvalidInput
from initmem.theory.models.excess_risk import excess_risk, risk_spread, simulate_risk
from initmem.theory.models.projection import decayed_descent, limit
from initmem.theory.recipe import Recipe
from initmem.theory.trace import Trace


@pytest.mark.parametrize(
    ("examples", "width", "init_scale", "signal", "noise"),
    [(10, 30, 1.0, 2.0, 0.0), (10, 30, 0.1, 1.0, 0.7), (5, 40, 3.0, 1.0, 0.5), (3, 8, 0.0, 0.0, 1.0)],
)
def test_the_mean_risk_is_that_of_random_data(
    examples: int, width: int, init_scale: float, signal: float, noise: float
) -> None:
    risks = simulate_risk(examples, width, init_scale, signal, noise, 4000, np.random.default_rng(1))
    error = risks.std(ddof=1) / math.sqrt(len(risks))
    predicted = excess_risk(examples, width, init_scale, signal, noise)
    assert abs(risks.mean() - predicted) < 5 * error
    assert error < 0.05 * predicted


def test_the_simulated_interpolator_is_the_limit_of_descent() -> None:
    rng, twin = np.random.default_rng(2), np.random.default_rng(2)
    (risk,) = simulate_risk(3, 6, 1.5, 2.0, 0.4, 1, rng)
    X, start = twin.normal(size=(1, 3, 6))[0], twin.normal(0, 1.5 / math.sqrt(6), (1, 6))[0]
    truth = 2.0 * np.eye(6)[0]
    y = X @ truth + 0.4 * twin.normal(size=3)
    assert risk == pytest.approx(np.sum((limit(X, y, start) - truth) ** 2), rel=1e-12)


def test_the_spread_over_scales_is_that_of_data_sets_seen_from_both() -> None:
    examples, width, draws, scales = 10, 30, 4000, (0.5, 2.0)
    risks = [simulate_risk(examples, width, s, 1.0, 0.3, draws, np.random.default_rng(4)) for s in scales]
    apart = risks[1] - risks[0]  # the same data, the same direction of the start
    error = apart.std(ddof=1) / math.sqrt(draws)
    assert abs(apart.mean() - risk_spread(examples, width, *scales)) < 5 * error
    assert error < 0.02 * apart.mean()


def test_decay_takes_its_square_off_the_spread() -> None:
    rng, examples, width, draws = np.random.default_rng(6), 6, 20, 300
    trace = Trace.of(Recipe(lr=0.2, schedule="cosine", updates=2000, weight_decay=2e-3))
    apart = np.empty(draws)
    for i in range(draws):
        # Rows scaled to one length keep the slowest direction of the data fast beside the decay.
        X = math.sqrt(examples) * np.linalg.qr(rng.normal(size=(width, examples)))[0].T
        direction = rng.normal(0, width**-0.5, width)
        truth = np.eye(width)[0]
        ends = [decayed_descent(X, X @ truth, s * direction, trace) - truth for s in (0.5, 2.0)]
        apart[i] = np.sum(ends[1] ** 2) - np.sum(ends[0] ** 2)
    error = apart.std(ddof=1) / math.sqrt(draws)
    assert abs(apart.mean() - risk_spread(examples, width, 0.5, 2.0, trace)) < 5 * error
    assert risk_spread(examples, width, 0.5, 2.0) > apart.mean() + 20 * error


@given(
    examples=st.integers(1, 20),
    more=st.integers(2, 20),
    scales=st.lists(st.floats(0, 5), min_size=3, max_size=3).map(sorted),
)
def test_spreads_add_up_and_grow_with_the_share_that_is_unseen(
    examples: int, more: int, scales: list[float]
) -> None:
    width = examples + more
    small, middle, large = scales
    parts = risk_spread(examples, width, small, middle) + risk_spread(examples, width, middle, large)
    whole = risk_spread(examples, width, small, large)
    assert parts == pytest.approx(whole, rel=1e-9, abs=1e-12)
    assert 0 <= whole <= risk_spread(examples, width + 1, small, large) + 1e-12


@pytest.mark.parametrize(("examples", "width"), [(0, 5), (4, 5), (9, 5)])
def test_a_risk_without_a_mean_is_refused(examples: int, width: int) -> None:
    with pytest.raises(InvalidInput, match="no finite mean risk in closed form: give at least 1 example"):
        excess_risk(examples, width, 1.0, 1.0, 1.0)
