"""Diagonal linear networks trained by SGD: exact gains, where they end, and the law under label noise."""

import math
from typing import Any

import numpy as np
import pytest

from initmem.theory.errors import InvalidInput
from initmem.theory.models import named
from initmem.theory.models.diagonal import memory, simulate
from initmem.theory.models.diagonal_gains import Training, decoupled_gain, gains, train
from initmem.theory.models.hyperbolic import interpolator
from initmem.theory.trace import Trace

DRAW = np.random.default_rng(0)
X = DRAW.normal(size=(5, 12))
Y = X[:, 0] - X[:, 1]


def trained(updates: int, batch: int = 1, seed: int = 1, seeds: int = 1, noise: float = 0.0) -> Training:
    trace = Trace(lr=np.full(updates, 0.02), batch_size=batch)
    return train(trace, X, Y, 0.5, np.random.default_rng(seed), seeds=seeds, noise=noise)


def test_gains_of_one_update() -> None:
    q, plus, minus = gains(0.2)
    assert (q, plus, minus) == pytest.approx((0.0408219945, 0.0462871026, 0.0353568864), abs=5e-11)
    x = np.linspace(-3.1, 3.1, 50)
    assert gains(x).q == pytest.approx((gains(x).plus + gains(x).minus) / 2, abs=1e-13)
    assert gains(x).plus == pytest.approx(gains(-x).minus, abs=1e-13)
    assert gains(1.0).q == math.inf


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_product_of_the_weights_falls_by_the_gains_exactly(noise: float) -> None:
    done = trained(500, batch=2, seeds=3, noise=noise)
    assert done.plus * done.minus == pytest.approx(0.25 * np.exp(-done.gains.q), rel=1e-11)


def test_training_ends_at_the_interpolator_of_its_gains() -> None:
    done = trained(6000, seeds=3, seed=4)
    assert done.squared_residual[-1].max() < 1e-20
    for beta, q, plus, minus in zip(done.beta, *done.gains, strict=True):
        shift = 0.125 * (np.exp(-plus) - np.exp(-minus))
        assert interpolator(X, Y, 0.5 * np.exp(-q / 2), shift) == pytest.approx(beta, abs=1e-7)
        # Both parts count: without the shift, and without the gains, it is another one.
        assert abs(interpolator(X, Y, 0.5 * np.exp(-q / 2)) - beta).max() > 1e-5
        assert abs(interpolator(X, Y, 0.5) - beta).max() > 1e-3


def test_gains_saturate_with_the_residuals_and_go_on_with_label_noise() -> None:
    short, long = (trained(updates).gains.q.sum() for updates in (3_000, 30_000))
    assert short == pytest.approx(0.125498490, abs=5e-10)
    assert long == pytest.approx(short, rel=1e-9)
    short, long = (trained(updates, noise=0.3).gains.q.sum() for updates in (3_000, 30_000))
    assert short == pytest.approx(1.270, abs=5e-4)
    assert long == pytest.approx(11.309, abs=5e-4)


def test_gain_of_independent_residuals_and_inputs() -> None:
    for noise, total, single in ((0.0, 0.1, 0.75), (0.3, 0.005, 0.1)):
        done = trained(3000, seed=2, seeds=200, noise=noise)
        expected = decoupled_gain(Trace(lr=np.full(3000, 0.02)), X, done.squared_residual + noise**2)
        ratio = done.gains.q.mean(axis=0) / expected.mean(axis=0)
        assert abs(ratio - 1).max() < single
        assert done.gains.q.sum() == pytest.approx(expected.sum(), rel=total)


def test_larger_batches_gain_less_down_to_the_full_batch_part() -> None:
    done = {b: trained(3000, batch=b, seed=3, seeds=200).gains.q.mean(axis=1) for b in (1, 2, 5)}
    mean = {b: values.mean() for b, values in done.items()}
    assert [mean[b] for b in (1, 2, 5)] == pytest.approx([0.01047, 0.00486, 0.00169], abs=2e-5)
    # With five examples b = 5 has no noise; b = 2 has (1/b)(N-b)/(N-1) = 3/8 of that of b = 1, if
    # gradients are the same along all paths, which they are to first order in the learning rate.
    assert done[5].std() < 1e-15
    assert mean[2] == pytest.approx(mean[5] + 3 / 8 * (mean[1] - mean[5]), rel=0.05)
    assert mean[5] > 0.15 * mean[1]


def test_one_step_of_a_batch_averages_as_the_population_says() -> None:
    trace = Trace(lr=np.array([0.1]), batch_size=2)
    q = train(trace, X, Y, 0.5, np.random.default_rng(5), seeds=40_000).gains.q
    each = -Y[:, None] * X  # residuals at beta = 0 are -y
    second = each.mean(axis=0) ** 2 + 3 / 8 * each.var(axis=0)
    error = q.std(axis=0, ddof=1) / math.sqrt(len(q))
    # q is x^2 + x^4/2 + ..., and x^2 = 0.1^2 g^2 is at most 0.2.
    low, high = 0.01 * second, 0.01 * second * 1.2
    assert ((low - 5 * error <= q.mean(axis=0)) & (q.mean(axis=0) <= high + 5 * error)).all()


@pytest.mark.parametrize("scale", [0.1, 3.0])
def test_any_start_is_forgotten_alike(scale: float) -> None:
    trace = Trace(lr=np.full(4000, 0.01 / max(scale, 1) ** 2), batch_size=1)
    left = simulate(trace, 500, np.random.default_rng(0), init_scale=scale, noise=1.0)
    clock = -math.log(memory(trace, init_scale=scale, noise=1.0)[-1])
    assert clock == pytest.approx(4000 * trace.lr[0] ** 2)
    error = left.std(ddof=1) / math.sqrt(500)
    # The variance of what is fitted adds to that of the noise lr * curvature, 2*sqrt(1 + alpha^4) at most.
    curvature = 2 * math.hypot(1, scale**2 / 2)
    assert abs(-math.log(left.mean()) - clock) < 5 * error + 3 * trace.lr[0] * curvature * clock


def test_training_without_an_exact_identity_is_refused() -> None:
    cases: list[dict[str, Any]] = [{"momentum": 0.5}, {"weight_decay": 0.1}, {"optimizer": "muon"}]
    for settings in cases:
        with pytest.raises(InvalidInput, match="sgd without momentum or decay"):
            train(Trace(lr=np.ones(1), **settings), X, Y, 1.0, np.random.default_rng(0))
    with pytest.raises(InvalidInput, match="5 examples"):
        train(Trace(lr=np.ones(1), batch_size=6), X, Y, 1.0, np.random.default_rng(0))
    with pytest.raises(InvalidInput, match="init_scale = 0"):
        simulate(Trace(lr=np.ones(1)), 1, np.random.default_rng(0), init_scale=0.0, noise=1.0)


def test_derivation_ends_in_the_law() -> None:
    sp = pytest.importorskip("sympy")
    _, gain, _, law = named("diagonal").derive()
    g, lr = (next(v for v in gain.equation.free_symbols if v.name == n) for n in ("g", "lr"))
    assert sp.expand(gain.equation.rhs - (lr * g) ** 2 - (lr * g) ** 4 / 2) == 0
    numbers = {"lr": 0.1, "batch_size": 4, "s": 3, "x": 1, "lambda": 0.5, "t": 2, "alpha_0": 1}
    value = law.equation.rhs.subs({v: numbers[v.name] for v in law.equation.rhs.free_symbols})
    trace = Trace(lr=np.full(20, 0.1), batch_size=4, weight_decay=0.5)
    assert float(value) == pytest.approx(memory(trace, init_scale=1.0, noise=3.0)[-1], rel=1e-12)
