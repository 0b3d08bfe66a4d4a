"""Mean squares under minibatch noise, against runs on the same batches."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from initmem.theory.errors import InvalidInput
from initmem.theory.models.linear import row_memory
from initmem.theory.models.mean_square import mean_square, simulate_mean_square
from initmem.theory.trace import Trace, joined

RATES = st.lists(st.floats(0, 0.3), min_size=1, max_size=12)


def test_ten_weights_and_one_example_an_update() -> None:
    trace = Trace(lr=np.full(1, 0.05), batch_size=1)
    assert mean_square(trace, 1.0, 10)[-1] == pytest.approx(0.93, rel=1e-14)
    assert row_memory(trace, 1.0)[-1] ** 2 == pytest.approx(0.9025, rel=1e-14)
    left = simulate_mean_square(trace, 1.0, 10, 100_000, np.random.default_rng(0))
    error = left.std(ddof=1) / math.sqrt(len(left))
    assert abs(left.mean() - 0.93) < 5 * error < 0.93 - 0.9025


@pytest.mark.parametrize("decay", [0.0, 0.4])
@pytest.mark.parametrize(("curvature", "batch"), [(1.0, 1), (0.5, 2), (2.0, 8)])
def test_simulated_mean_squares_are_the_law(curvature: float, batch: int, decay: float) -> None:
    lr = 0.05 * (1 + np.cos(np.pi * np.arange(12) / 12)) / 2
    trace = Trace(lr=lr, batch_size=batch, weight_decay=decay)
    left = simulate_mean_square(trace, curvature, 10, 10_000, np.random.default_rng(batch))
    error = left.std(ddof=1) / math.sqrt(len(left))
    law = mean_square(trace, curvature, 10)[-1]
    assert abs(left.mean() - law) < 5 * error
    # Strong enough to tell the law from the square of the mean.
    assert law - row_memory(trace, curvature)[-1] ** 2 > 5 * error


@given(rates=RATES, curvature=st.floats(0, 2), width=st.integers(1, 30), batch=st.integers(1, 50))
def test_noise_slows_and_larger_batches_come_back_to_descent(
    rates: list[float], curvature: float, width: int, batch: int
) -> None:
    noisy, calmer = (Trace(lr=np.array(rates), batch_size=b) for b in (batch, batch + 1))
    descent = row_memory(noisy, curvature) ** 2
    assert np.all(mean_square(noisy, curvature, width) >= mean_square(calmer, curvature, width))
    assert np.all(mean_square(calmer, curvature, width) >= descent * (1 - 1e-12))


@given(first=RATES, second=RATES)
def test_parts_multiply(first: list[float], second: list[float]) -> None:
    parts = [Trace(lr=np.array(rates)) for rates in (first, second)]
    product = math.prod(mean_square(part, 1.0, 3)[-1] for part in parts)
    assert mean_square(joined(parts), 1.0, 3)[-1] == pytest.approx(product, rel=1e-12, abs=1e-300)


@pytest.mark.parametrize("optimizer", [{"momentum": 0.9}, {"optimizer": "adam"}])
def test_other_optimizers_are_refused(optimizer: dict) -> None:
    with pytest.raises(InvalidInput, match="sgd without momentum only"):
        mean_square(Trace(lr=np.full(2, 0.1), **optimizer), 1.0, 3)
