"""Sign-like updates beneath noise: their constants, the order of the law, and what batches do to it."""

import math
from typing import Any

import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from initmem.theory.clocks import clocks
from initmem.theory.errors import InvalidInput
from initmem.theory.method import OptimizerName
from initmem.theory.models.linear import row_memory
from initmem.theory.models.noisy_quadratic import (
    adam_gain,
    age,
    derive,
    gain,
    memory,
    sign_gain,
    simulate,
)
from initmem.theory.models.updates import run
from initmem.theory.optimizers.sign import expected_sign
from initmem.theory.trace import Trace, joined

ROOT = math.sqrt(2 / math.pi)


def constant(updates: int, lr: float, optimizer: OptimizerName = "muon", **others: Any) -> Trace:
    """By default of the plain sign, which is Muon of one weight without momentum."""
    momentum: dict[str, Any] = {"momentum": 0.0} if optimizer == "muon" else {}
    return Trace(lr=np.full(updates, lr), optimizer=optimizer, **(momentum | others))


def simulated(trace: Trace, seeds: int, curvature: float, noise: float, seed: int = 0) -> tuple[float, float]:
    left = simulate(trace, seeds, np.random.default_rng(seed), curvature, noise)
    return left.mean(), left.std(ddof=1) / math.sqrt(seeds)


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    updates = draw(st.integers(1, 20))
    lr = draw(st.lists(st.floats(0, 0.05), min_size=updates, max_size=updates))
    batch = draw(st.lists(st.integers(1, 64), min_size=updates, max_size=updates))
    return Trace(
        lr=np.array(lr),
        batch_size=np.array(batch),
        weight_decay=draw(st.sampled_from([0.0, 0.5])),
        optimizer=draw(st.sampled_from(["adam", "adamw", "muon"])),
        train_size=64,
    )


def test_signs_forget_at_the_rate_of_the_formula_and_of_the_simulation() -> None:
    trace = constant(1000, 0.01)
    assert memory(trace, 1.0, 10.0)[-1] == pytest.approx(0.4502805, abs=5e-8)
    mean, error = simulated(trace, 4000, 1.0, 10.0)
    # Beyond five standard errors the law may be off by its order, lr*h/s = 0.001 of a memory of 0.45.
    assert abs(mean - memory(trace, 1.0, 10.0)[-1]) < 5 * error + 1e-3


def test_the_slope_of_the_sign_is_that_of_its_mean() -> None:
    # The mean is odd, so its slope is second order in the step.
    assert expected_sign(1e-4, 1.0) / 1e-4 == pytest.approx(sign_gain(0.0), rel=1e-8)
    assert sign_gain(0.0, nesterov=True) == sign_gain(0.0) == pytest.approx(ROOT, rel=1e-15)


@pytest.mark.parametrize("beta", [0.3, 0.9, 0.95])
def test_sign_gains_are_those_of_their_lag_weights(beta: float) -> None:
    average = (1 - beta) * beta ** np.arange(2000)
    ahead = beta * average + (1 - beta) * np.eye(1, 2000)[0]
    for weights, nesterov in ((average, False), (ahead, True)):
        assert weights.sum() == pytest.approx(1, rel=1e-12)
        expected = ROOT / math.sqrt(np.sum(weights**2))
        assert sign_gain(beta, nesterov) == pytest.approx(expected, rel=1e-12)


def test_adam_lies_between_the_sign_and_one() -> None:
    assert adam_gain(0.0, 0.0) == pytest.approx(ROOT, rel=1e-9)
    assert adam_gain() == pytest.approx(0.999385, abs=5e-7)
    apart = [adam_gain(0.5, 1 - e) - (1 - 5 * e / 8) for e in (0.02, 0.01, 0.005)]
    orders = np.log2(np.array(apart[:-1]) / apart[1:])
    assert np.all(abs(orders - 2) < 0.25)


def test_adam_gain_is_the_slope_of_a_sampled_mean() -> None:
    # Short averages, so that few draws suffice. The slope is the mean of the direction times the noise of
    # the gradients that are in its average.
    beta1, beta2, seeds, lags = 0.5, 0.8, 200_000, np.arange(45)
    noise = np.random.default_rng(3).normal(size=(seeds, len(lags)))
    first, second = noise @ ((1 - beta1) * beta1**lags), noise**2 @ ((1 - beta2) * beta2**lags)
    samples = first / np.sqrt(second) * noise[:, :20].sum(axis=1)
    error = samples.std(ddof=1) / math.sqrt(seeds)
    # What was cut off is below 0.8**45 and 0.5**20.
    assert abs(samples.mean() - adam_gain(beta1, beta2)) < 5 * error + 1e-4
    assert 5 * error < 0.03 < min(1 - adam_gain(beta1, beta2), adam_gain(beta1, beta2) - ROOT)


REFINED: dict[str, dict] = {
    "sign": {"momentum": 0.0},
    "muon": {"momentum": 0.95},
    "muon with decay": {"momentum": 0.95, "weight_decay": 0.3},
    "adam": {"optimizer": "adam"},
    "adam with coupled decay": {"optimizer": "adam", "weight_decay": 0.5},
    "adamw": {"optimizer": "adamw", "weight_decay": 0.3},
}


@pytest.mark.parametrize("name", REFINED)
def test_refined_updates_come_to_the_law(name: str) -> None:
    noise, seeds, found = 2.0, 3000, []
    total = 1.5 / gain(constant(1, 0.1, **REFINED[name]))
    for updates in (800, 1600):
        trace = constant(updates, total / updates, **REFINED[name])
        found.append(simulated(trace, seeds, 1.0, noise, seed=updates))
        law = memory(trace, 1.0, noise)[-1]
    (coarse, coarse_error), (fine, fine_error) = found
    error = math.hypot(2 * fine_error, coarse_error)
    assert abs(2 * fine - coarse - law) < 5 * error
    assert error < 0.01  # the smallest differences between constants are several times this
    assert 0.2 < law < 0.9


def test_a_batch_that_grows_forgets_faster_from_then_on() -> None:
    batch = np.repeat([1.0, 9.0], 1000)
    trace = constant(2000, 1e-3, batch_size=batch)
    mean, error = simulated(trace, 4000, 1.0, 3.0)
    assert memory(trace, 1.0, 3.0)[-1] == pytest.approx(math.exp(-ROOT / 3 * (1 + 3)), rel=1e-12)
    # The order of the law: lr*h/s = 0.001 of the age.
    assert abs(mean - memory(trace, 1.0, 3.0)[-1]) < 5 * error + 1e-3


def test_signum_forgets_by_its_gain() -> None:
    beta, lr, updates, seeds, noise = 0.9, 1e-3, 2000, 4000, 5.0
    rng, start = np.random.default_rng(5), 0.05 * 5 / sign_gain(0.9)
    w, average = start * np.array([[1.0], [-1.0]]) * np.ones(seeds), np.zeros((2, seeds))
    for _ in range(updates):
        average = beta * average + (1 - beta) * (w + noise * rng.normal(size=seeds))
        w = w - lr * np.sign(average)
    left = (w[0] - w[1]) / (2 * start)
    error = left.std(ddof=1) / math.sqrt(seeds)
    law = math.exp(-sign_gain(beta) / noise * lr * updates)
    # The order of the law: lr times gain times the memory of the average, 10 updates, is 0.7% of the age.
    assert abs(left.mean() - law) < 5 * error + 0.01 * law
    assert error < 0.01 < abs(law - math.exp(-ROOT / noise * lr * updates)) / 10


def test_opposite_starts_have_the_mean_of_one_run() -> None:
    trace, noise, seeds = constant(200, 0.01), 3.0, 20_000
    start = 0.05 * noise / ROOT
    rng = np.random.default_rng(7)
    single = (
        run(trace, np.full((seeds, 1), start), lambda k, w: w + noise * rng.normal(size=(seeds, 1))) / start
    )
    mean, error = simulated(trace, seeds, 1.0, noise)
    assert abs(single.mean() - mean) < 5 * math.hypot(error, single.std() / math.sqrt(seeds))
    assert error < single.std() / math.sqrt(seeds) / 2


@pytest.mark.parametrize("optimizer", ["adam", "muon"])
def test_larger_batches_forget_faster_and_under_sgd_they_do_not(optimizer: OptimizerName) -> None:
    traces = [constant(800, 5e-4, batch_size=b, optimizer=optimizer) for b in (1, 16)]
    small, large = (age(t, 1.0, 2.0)[-1] for t in traces)
    assert large / small == pytest.approx(4, rel=1e-12)
    means, errors = zip(*(simulated(t, 3000, 1.0, 2.0) for t in traces), strict=True)
    measured, spread = -np.log(means), np.array(errors) / means
    # Ages that were measured, up to the order of the law: 1/(1 - beta2) beside the run, times its logarithm.
    ratio, error = measured[1] / measured[0], math.hypot(*(spread / measured)) * 4
    assert abs(ratio - 4) < 5 * error + 0.04
    assert error < 0.4
    sgd = [constant(800, 5e-4, batch_size=b, optimizer="sgd") for b in (1, 16)]
    small, large = (row_memory(t, 1.0) for t in sgd)
    np.testing.assert_array_equal(small, large)
    noise_clock = [clocks(t).T_SGD for t in sgd]
    assert noise_clock[1] == pytest.approx(noise_clock[0] / 16, rel=1e-12)


@given(trace=traces(), curvature=st.floats(0, 3), noise=st.floats(0.1, 10), data=st.data())
@settings(deadline=None, max_examples=60)
def test_memory_falls_and_age_adds_up(
    trace: Trace, curvature: float, noise: float, data: st.DataObject
) -> None:
    left = memory(trace, curvature, noise)
    assert np.all((left >= 0) & (left <= 1))
    assert np.all(np.diff(left, prepend=1.0) <= 0)
    if trace.updates > 1:
        cut = data.draw(st.integers(1, trace.updates - 1))
        parts = trace[:cut], trace[cut:]
        assert sum(age(part, curvature, noise)[-1] for part in parts) == pytest.approx(
            age(trace, curvature, noise)[-1], rel=1e-12, abs=1e-300
        )
        np.testing.assert_array_equal(memory(joined(parts), curvature, noise), left)


def test_the_derivation_gives_the_constants() -> None:
    _, of_sign, linear, average, ahead, adam, solution = (step.equation.rhs for step in derive())
    x, beta = sp.Symbol("x", real=True), sp.Symbol("beta", positive=True)
    h, s, e = sp.symbols("h s e", positive=True)
    assert float(of_sign.subs({h * x: 0.3, x: 0.3, h: 1, s: 1})) == pytest.approx(0.2358228444, abs=5e-11)
    assert float(linear.subs({x: 1, h: 1, s: 1})) == pytest.approx(sign_gain(0.0), rel=1e-14)
    for power, nesterov in ((average, False), (ahead, True)):
        value = ROOT / math.sqrt(power.subs(beta, sp.Rational(9, 10)))
        assert sign_gain(0.9, nesterov) == pytest.approx(value, rel=1e-13)
    assert adam == 1 - 5 * e / 8
    named = {symbol.name: symbol for symbol in solution.free_symbols}
    given = {"w_0": 1, "s_1": 10, "b": 4, "c": sign_gain(0.0), "h": 1, "t": 10}
    left = memory(constant(1000, 0.01, batch_size=4), 1.0, 10.0)[-1]
    assert float(solution.subs({named[k]: v for k, v in given.items()})) == pytest.approx(left, rel=1e-12)


def test_no_noise_is_refused() -> None:
    with pytest.raises(InvalidInput, match="noise = 0 cannot dominate"):
        age(constant(3, 0.1), 1.0, 0.0)
