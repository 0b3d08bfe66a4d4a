"""The difference of two layers: conserved by signs, and by averages of gradients only to leading order."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from initmem.theory.errors import InvalidInput
from initmem.theory.models import named
from initmem.theory.models.difference import age, law, memory, momentum_constant, simulate
from initmem.theory.models.updates import run
from initmem.theory.trace import Trace, joined


@pytest.mark.parametrize("decay", [0.0, 0.8])
def test_signs_conserve_it_exactly(decay: float) -> None:
    trace = Trace(
        lr=np.linspace(0.03, 0.001, 300),
        batch_size=np.repeat([1, 8, 64], 100),
        weight_decay=decay,
        optimizer="muon",
        momentum=0.0,
    )
    assert law(trace, noise=1.0) == "exact"
    left = simulate(trace, 50, np.random.default_rng(0), noise=1.0)
    assert abs(left - np.prod(1 - trace.lr * decay)).max() < 1e-12
    assert memory(trace, noise=1.0)[-1] == pytest.approx(np.prod(1 - trace.lr * decay), rel=1e-13)


def test_constant_of_momentum_by_summing_over_its_averages() -> None:
    momentum, n = 0.9, 400
    weights = (1 - momentum) * momentum ** np.arange(1, n + 1)
    weights[0] = 1 - momentum**2
    covariance = np.array([weights[: n - lag] @ weights[lag:] for lag in range(n)])
    moved = 0.0
    for lag in range(1, n):
        given_zero = weights[: n - lag] - weights[lag:] * covariance[lag] / covariance[0]
        spread = math.sqrt(covariance[0] - covariance[lag] ** 2 / covariance[0])
        moved += math.sqrt(2 / math.pi) / spread * (weights[lag:] @ given_zero)
    assert momentum_constant(0.9) == pytest.approx(
        2 * moved / math.sqrt(2 * math.pi * covariance[0]), rel=1e-10
    )


@pytest.mark.parametrize("momentum", [0.5, 0.9, 0.95])
def test_muon_forgets_on_the_sum_of_squares_whatever_the_batch(momentum: float) -> None:
    rates, errors = [], []
    for lr, updates in ((0.002, 2000), (0.001, 4000)):
        trace = Trace(lr=np.full(updates, lr), batch_size=16, optimizer="muon", momentum=momentum)
        left = simulate(trace, 2000, np.random.default_rng(updates), noise=4.0)
        clock = lr * lr * updates
        rates.append(-math.log(left.mean()) / clock)
        errors.append(left.std(ddof=1) / math.sqrt(2000) / left.mean() / clock)
    # Extrapolated to learning rate 0.
    assert abs(2 * rates[1] - rates[0] - momentum_constant(momentum)) < 5 * math.hypot(
        errors[0], 2 * errors[1]
    )
    assert rates[1] > 10 * errors[1]


def falling(optimizer: str, lr: float) -> float:
    """ln of what is left of u - v while a loss without noise falls for sum lr = 0.25."""
    trace = Trace(lr=np.full(round(0.25 / lr), lr), optimizer=optimizer)
    start = np.array([[1.5], [0.2]])
    u, v = run(trace, start, lambda k, w: (w.prod() - 3) * w[::-1])[:, 0]
    return math.log((u - v) / 1.3)


def test_without_noise_muon_conserves_it_and_adam_makes_it_grow() -> None:
    assert abs(falling("muon", 1e-3)) < 1e-12
    # F_1 along (1.5 + t, 0.2 + t), from partial fractions: what is lost per lr, 990 * int dt/(uv).
    derived = named("difference").derive()[-1].equation.rhs
    u, v = sorted(derived.free_symbols, key=str)
    assert derived * u * v == 990
    growth = 990 / 1.3 * math.log((0.45 / 0.2) / (1.75 / 1.5))
    slope = [falling("adam", lr) / lr for lr in (2e-5, 1e-5, 5e-6)]
    # Richardson, free of first and second order; what is left is of third, and eps over the gradient.
    assert (8 * slope[2] - 6 * slope[1] + slope[0]) / 3 == pytest.approx(growth, rel=0.02)
    assert falling("adam", 1e-3) == pytest.approx(0.0255, abs=5e-4)


def test_adamw_keeps_the_product_to_first_order() -> None:
    apart = []
    for lr in (1.25e-4, 6.25e-5):
        trace = Trace(lr=np.full(round(1 / lr), lr), weight_decay=0.4, optimizer="adamw")
        left = simulate(trace, 50, np.random.default_rng(0), noise=1.0)
        apart.append(left.mean() - memory(trace, noise=1.0)[-1])
        assert apart[-1] > 20 * left.std(ddof=1) / math.sqrt(50)  # so that the order can be read off
    assert math.log2(apart[0] / apart[1]) == pytest.approx(1, abs=0.25)


def test_adam_loses_it_slowly_under_label_noise() -> None:
    for lr, updates in ((0.02, 100), (0.005, 2000), (0.002, 5000)):
        trace = Trace(lr=np.full(updates, lr), optimizer="adam")
        left = simulate(trace, 200, np.random.default_rng(0), noise=1.0)
        assert 0.25 < -math.log(left.mean()) / (lr * lr * updates) < 0.45
        assert law(trace, noise=1.0) == "leading order"


def test_without_noise_on_the_curve_nothing_moves() -> None:
    trace = Trace(lr=np.full(20, 0.1), optimizer="muon")
    assert memory(trace, noise=0.0)[-1] == 1
    assert simulate(trace, 2, np.random.default_rng(0), noise=0.0).tolist() == [1, 1]


def test_coupled_decay_of_adam_is_refused() -> None:
    with pytest.raises(InvalidInput, match="coupled weight decay"):
        memory(Trace(lr=np.full(2, 0.1), weight_decay=0.1, optimizer="adam"), noise=1.0)


@given(
    lr=st.lists(st.floats(0, 0.5), min_size=2, max_size=8),
    decay=st.floats(0, 1),
    momentum=st.floats(0, 0.98),
    noise=st.sampled_from([0.0, 1.0]),
    data=st.data(),
)
def test_memory_falls_and_multiplies(
    lr: list[float], decay: float, momentum: float, noise: float, data: st.DataObject
) -> None:
    trace = Trace(lr=np.array(lr), weight_decay=decay, optimizer="muon", momentum=momentum)
    left, cut = memory(trace, noise), data.draw(st.integers(1, len(lr) - 1))
    assert ((left >= 0) & (left <= 1)).all()
    assert (np.diff(left) <= 1e-15).all()
    parts = trace[:cut], trace[cut:]
    assert left[-1] == pytest.approx(math.prod(memory(part, noise)[-1] for part in parts), rel=1e-9)
    added = sum(age(part, noise)[-1] for part in parts)
    assert age(joined(parts), noise)[-1] == pytest.approx(added, rel=1e-12, abs=1e-300)
