"""Weights that only coupled decay moves, against torch's Adam, its recursion and the modified flow."""

import math

import numpy as np
import pytest
import sympy as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from initmem.theory.errors import InvalidInput
from initmem.theory.models.gradient_free import GRADIENT_FREE, age, derive, lag, memory, recursion, simulate
from initmem.theory.trace import Trace, joined


def constant(updates: int, lr: float = 1e-3, weight_decay: float = 0.1) -> Trace:
    return Trace(lr=np.full(updates, lr), weight_decay=weight_decay, optimizer="adam")


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    updates = draw(st.integers(1, 30))
    lr = draw(st.lists(st.floats(0, 0.1), min_size=updates, max_size=updates))
    decay = draw(st.lists(st.sampled_from([0.0, 1e-3, 0.3]), min_size=updates, max_size=updates))
    return Trace(lr=np.array(lr), weight_decay=np.array(decay), optimizer="adam")


# What torch 2.14.1 leaves of a weight of 1 at lr 1e-3 and weight_decay 0.1, and what the law says.
LEFT = {
    100: (0.901744, 0.9),
    500: (0.560508, 0.5),
    900: (0.307056, 0.1),
    1000: (0.257665, 0.0),
    1500: (0.088752, 0.0),
}


@pytest.mark.parametrize("updates", LEFT)
def test_recursion_simulation_and_law_after_a_thousand_updates_of_torch(updates: int) -> None:
    trace, (left, predicted) = constant(updates), LEFT[updates]
    assert round(recursion(trace, 1.0)[-1], 6) == left
    np.testing.assert_array_equal(simulate(trace, 3, np.random.default_rng(0), 1.0).round(6), left)
    assert memory(trace, 1.0)[-1] == pytest.approx(predicted, abs=1e-12)


@pytest.mark.parametrize("weight_decay", [1e-4, 1e-2])
@pytest.mark.parametrize(
    ("betas", "left"), [((0.0, 0.0), 0.4), ((0.9, 0.95), 0.4085), ((0.9, 0.999), 0.4888)]
)
def test_what_is_left_does_not_depend_on_the_decay(
    betas: tuple[float, float], left: float, weight_decay: float
) -> None:
    # eps takes 1e-8/(lambda*|w|) off every update: at most 2.5e-4 of the distance at the smaller lambda.
    found = recursion(constant(600, weight_decay=weight_decay), 1.0, *betas)[-1]
    assert found == pytest.approx(left, abs=5e-5 + 0.6 * 2.5e-8 / weight_decay)


@pytest.mark.parametrize(("start", "decay"), [(0.7, 0.3), (-1.4, 1e-3)])
def test_recursion_is_torchs_adam_under_a_schedule(start: float, decay: float) -> None:
    rates = 0.01 * (1 + np.cos(np.pi * np.arange(60) / 60))
    weight = torch.nn.Parameter(torch.tensor([start], dtype=torch.float64))
    optimizer = torch.optim.Adam([weight], weight_decay=decay)
    seen = []
    for rate in rates:
        optimizer.param_groups[0]["lr"] = rate
        weight.grad = torch.zeros_like(weight)
        optimizer.step()
        seen.append(weight.item() / start)
    trace = Trace(lr=rates, weight_decay=decay, optimizer="adam")
    # An update moves the share by lr/|start|; its rounding is that of 60 quotients.
    np.testing.assert_allclose(recursion(trace, abs(start)), seen, rtol=0, atol=1e-13)


def test_a_schedule_leaves_what_its_sum_says() -> None:
    rates = np.linspace(2e-5, 0, 40_000, endpoint=False)
    trace = Trace(lr=rates, weight_decay=0.1, optimizer="adam")
    assert age(trace, 1.0)[-1] == pytest.approx(rates.sum(), rel=1e-12)
    ahead = recursion(trace, 1.0)[-1] - memory(trace, 1.0)[-1]
    # The first correction; what is beyond it is smaller by the memory's share 1000/40000 of the run.
    assert ahead == pytest.approx(lag(trace, 1.0)[-1], rel=10 * 1000 / 40_000)


def test_the_lag_is_first_order_in_the_rate_and_the_modified_flow_has_its_constant() -> None:
    # The clock stands at 0.5; the memory of the squares gets shorter beside the run.
    lr = 1e-3 / np.array([50, 100, 200])
    apart = np.array([recursion(constant(round(0.5 / r), r), 1.0)[-1] - 0.5 for r in lr])
    ratio = apart / lr
    orders = np.log2(apart[:-1] / apart[1:])
    assert np.all(abs(orders - 1) < 0.25)
    assert orders[1] > orders[0]
    # Richardson: two steps of it leave an error of third order in lr/0.001, below (1/50)**2.
    first = 2 * ratio[1:] - ratio[:-1]
    extrapolated = (4 * first[1] - first[0]) / 3
    assert extrapolated == pytest.approx(990 * math.log(2), rel=5e-3)
    assert lag(constant(100_000, 5e-6), 1.0)[-1] / 5e-6 == pytest.approx(990 * math.log(2), rel=1e-4)


def test_beyond_its_end_the_weight_is_within_about_one_learning_rate_of_zero() -> None:
    lr = 1e-5
    left = recursion(constant(200_000, lr), 1.0)
    assert (left[150_000:] < 0).any()
    assert (left[150_000:] > 0).any()
    assert abs(left[150_000:]).max() < 2 * lr
    # Where the normaliser remembers longer than the run, the weight has not crossed zero at age 1.5.
    assert (recursion(constant(1500), 1.0) > 0).all()
    assert np.isinf(lag(constant(1500), 1.0)[-1])


def test_without_decay_nothing_moves() -> None:
    trace = constant(50, weight_decay=0.0)
    assert GRADIENT_FREE.law(trace, init_scale=1.0) == "exact"
    np.testing.assert_array_equal(memory(trace, 0.01), 1.0)
    np.testing.assert_array_equal(simulate(trace, 4, np.random.default_rng(0), 0.01), 1.0)
    assert GRADIENT_FREE.law(constant(50), init_scale=1.0) == "leading order"


@given(trace=traces(), init_scale=st.floats(0.05, 5), data=st.data())
@settings(deadline=None, max_examples=60)
def test_memory_falls_and_age_adds_up(trace: Trace, init_scale: float, data: st.DataObject) -> None:
    left = memory(trace, init_scale)
    assert np.all((left >= 0) & (left <= 1))
    assert np.all(np.diff(left, prepend=1.0) <= 0)
    if trace.updates > 1:
        cut = data.draw(st.integers(1, trace.updates - 1))
        parts = trace[:cut], trace[cut:]
        assert age(parts[0], init_scale)[-1] + age(parts[1], init_scale)[-1] == pytest.approx(
            age(trace, init_scale)[-1], rel=1e-12, abs=1e-15
        )
        np.testing.assert_array_equal(memory(joined(parts), init_scale), left)


def test_the_derivation_ends_in_the_law_and_its_lag() -> None:
    field, path, end, behind, torch_lag = (step.equation for step in derive())
    assert not {symbol.name for symbol in field.free_symbols} & {"lambda", "weight_decay"}
    t, w0, left, lr = sp.Symbol("t", nonnegative=True), *sp.symbols("w_0 left lr", positive=True)
    assert path.rhs == w0 - t
    assert end == sp.Eq(t, w0)
    assert behind.free_symbols >= {left, w0, lr}
    # The same number as the sum over updates that `lag` takes, for a constant rate.
    value = float(torch_lag.rhs.subs({left: 0.5, w0: 1, lr: 1e-5}))
    assert value == pytest.approx(lag(constant(50_000, 1e-5), 1.0)[-1], rel=1e-4)


def test_a_start_at_zero_is_refused() -> None:
    with pytest.raises(InvalidInput, match="init_scale = 0 leaves nothing to forget"):
        age(constant(3), 0.0)
