"""Angles of scale-invariant weights: exact by vectors, their mean within five standard errors."""

import math
from typing import Any

import numpy as np
import pytest

from initmem.theory.models.radial import sgd_norms
from initmem.theory.models.rotation import mean_cosine, turns
from initmem.theory.models.scale_invariant import norm, radial_memory
from initmem.theory.models.updates import run
from initmem.theory.trace import Array, Trace

SEEDS, DIMENSION = 4000, 12


def following(lr: Array, **given: Any) -> Trace:
    """The trace with these rates; a number among the rest holds for every update."""
    return Trace(lr=lr, **given)


def tangent(rng: np.random.Generator, w: Array) -> Array:
    drawn = rng.normal(size=w.shape)
    drawn -= (drawn * w).sum(-1, keepdims=True) / (w * w).sum(-1, keepdims=True) * w
    return drawn / np.linalg.norm(drawn, axis=-1, keepdims=True)


def test_an_update_of_sgd_lengthens_by_the_secant_of_its_angle() -> None:
    rng = np.random.default_rng(0)
    w = np.array([0.0, 1.0, 0.0])
    for _ in range(20):
        moved = w - 0.3 * tangent(rng, w) / np.linalg.norm(w)
        angle = math.acos(w @ moved / np.linalg.norm(w) / np.linalg.norm(moved))
        assert np.linalg.norm(moved) / np.linalg.norm(w) == pytest.approx(1 / math.cos(angle), rel=1e-12)
        w = moved


def test_the_angle_of_one_update_is_that_of_vectors() -> None:
    rng = np.random.default_rng(1)
    start = np.array([0.0, 0.0, 0.8])
    for optimizer, gain in (("sgd", 2.0 / 0.8), ("muon", 1.0)):
        trace = following(np.array([0.2]), weight_decay=0.5, optimizer=optimizer, momentum=0.0)
        moved = run(trace, start, lambda k, w, gain=gain: gain * tangent(rng, w))
        angle = math.acos(start @ moved / 0.8 / np.linalg.norm(moved))
        delta = turns(trace, 0.8, gradient_norm=2.0, noise=0.0, entries=1.0)[0]
        assert delta == pytest.approx(angle, rel=1e-12)
        # The secant rule with decay.
        assert np.linalg.norm(moved) == pytest.approx(0.8 * 0.9 / math.cos(delta), rel=1e-12)


def test_fixed_size_turns_multiply_to_the_norm() -> None:
    # Exact without momentum: r_K = r_0 prod a_k sec(delta_k).
    trace = following(np.linspace(0.3, 0.01, 60), weight_decay=0.4, optimizer="muon", momentum=0.0)
    grown = np.prod((1 - trace.lr * trace.weight_decay) / np.cos(turns(trace, 1.5, entries=5.0)))
    assert 1.5 * grown == pytest.approx(norm(trace, 1.5, entries=5.0)[-1], rel=1e-12)


def test_turns_without_decay_sum_to_the_log_of_the_norm() -> None:
    # sum tan^2 = 2 ln(r_K/r_0) up to the squares of tan^2.
    trace = following(np.full(10_000, 0.01))
    angles = turns(trace, 1.0, gradient_norm=1.0, noise=0.0)
    grown = 2 * math.log(norm(trace, 1.0, 1.0, 0.0)[-1])
    assert np.sum(np.tan(angles) ** 2) == pytest.approx(grown, abs=np.sum(np.tan(angles) ** 4))


@pytest.mark.parametrize("weight_decay", [0.0, 0.3])
@pytest.mark.parametrize("optimizer", ["sgd", "muon"])
def test_the_mean_cosine_of_vectors(optimizer: str, weight_decay: float) -> None:
    rng = np.random.default_rng(2)
    lr = np.linspace(0.25, 0.05, 40)
    trace = following(lr, weight_decay=weight_decay, optimizer=optimizer, momentum=0.0)
    start = np.zeros((SEEDS, DIMENSION))
    start[:, 0] = 1.2

    def gradient(k: int, w: Array) -> Array:
        return tangent(rng, w) / np.linalg.norm(w, axis=-1, keepdims=True)

    end = run(trace, start, gradient)
    cosine = end[:, 0] / np.linalg.norm(end, axis=-1)
    error = cosine.std(ddof=1) / math.sqrt(SEEDS)
    length = float(np.linalg.norm(end, axis=-1).mean())  # the same in every run
    kept = float(np.prod(1 - trace.lr * trace.weight_decay))
    assert abs(cosine.mean() - kept * 1.2 / length) < 5 * error
    # The exponent of the law is a power of that cosine: with updates of a fixed size exactly.
    settings = {"gradient_norm": 1.0, "noise": 0.0, "entries": 1.0}
    exponent = radial_memory(trace, 1.2, **settings)[-1]
    if optimizer == "muon":
        assert (kept * 1.2 / length) ** 2 == pytest.approx(exponent, rel=1e-12)
        assert abs(cosine.mean() - mean_cosine(trace, 1.2, **settings)[-1]) < 5 * error
    else:
        assert length == pytest.approx(sgd_norms(trace, 1.2, 1.0)[-1], rel=1e-12)


def test_the_fourth_power_of_the_cosine_is_the_exponent_of_sgd_to_second_order_in_the_rate() -> None:
    # The clock is held while every update becomes f^2 updates of lr/f.
    apart = []
    for f in (4, 8):
        trace = following(np.full(40 * f * f, 0.3 / f))
        cosine, epsilon = 1 / sgd_norms(trace, 1.0, 1.0)[-1], 1e-5
        ends = np.log([sgd_norms(trace, 1.0 + shift, 1.0)[-1] for shift in (epsilon, -epsilon)])
        exponent = (ends[0] - ends[1]) / (math.log1p(epsilon) - math.log1p(-epsilon))
        apart.append(exponent - cosine**4)
    assert math.log2(apart[0] / apart[1]) == pytest.approx(2, abs=0.25)
