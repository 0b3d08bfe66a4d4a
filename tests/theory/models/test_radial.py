"""Exact norms against weight vectors among random gradients at right angles to them."""

from typing import Any

import numpy as np
import pytest

from initmem.theory.errors import InvalidInput
from initmem.theory.models.radial import fixed_size_norms, heavy_ball_norms, sgd_norms
from initmem.theory.models.updates import run
from initmem.theory.trace import Array, Trace


def following(lr: Array, **given: Any) -> Trace:
    """The trace with these rates; a number among the rest holds for every update."""
    return Trace(lr=lr, **given)


def tangent(rng: np.random.Generator, w: Array) -> Array:
    """Unit vectors of random direction at right angles to w."""
    drawn = rng.normal(size=w.shape)
    drawn -= (drawn * w).sum(-1, keepdims=True) / (w * w).sum(-1, keepdims=True) * w
    return drawn / np.linalg.norm(drawn, axis=-1, keepdims=True)


def test_one_update_of_sgd_by_hand() -> None:
    # r = 1, G = 2: .995^2 + .01*4.
    square = sgd_norms(following(np.array([0.1]), weight_decay=0.05), 1.0, 2.0)[0] ** 2
    assert square == pytest.approx(1.030025, rel=1e-14)


@pytest.mark.parametrize("weight_decay", [0.0, 0.3])
def test_sgd_of_vectors(weight_decay: float) -> None:
    rng = np.random.default_rng(0)
    trace = following(rng.uniform(0.0, 0.4, 50), weight_decay=weight_decay)
    strength = rng.uniform(0.5, 2.0, 50)
    start = np.array([0.0, 0.0, 0.7])

    def gradient(k: int, w: Array) -> Array:
        return strength[k] / np.linalg.norm(w) * tangent(rng, w)

    end = np.linalg.norm(run(trace, start, gradient))
    assert sgd_norms(trace, 0.7, strength)[-1] == pytest.approx(end, rel=1e-12)


@pytest.mark.parametrize("weight_decay", [0.0, 0.3])
def test_heavy_ball_of_vectors(weight_decay: float) -> None:
    rng = np.random.default_rng(1)
    trace = following(rng.uniform(0.0, 0.3, 40), weight_decay=weight_decay, momentum=0.8)
    w, buffer, buffers, norms = np.array([0.0, 0.5, 0.0]), np.zeros(3), [], []
    for lr in trace.lr:
        buffer = 0.8 * buffer + tangent(rng, w) / np.linalg.norm(w) + weight_decay * w
        w = w - lr * buffer
        buffers.append(np.linalg.norm(buffer))
        norms.append(np.linalg.norm(w))
    assert heavy_ball_norms(trace, 0.5, np.array(buffers)) == pytest.approx(norms, rel=1e-12)


def test_heavy_ball_without_decay_is_the_published_sum() -> None:
    rng = np.random.default_rng(2)
    buffers, lr, beta = rng.uniform(0.5, 2.0, 30), 0.1, 0.7
    squares = [1.0]
    for k in range(30):
        earlier = sum(beta**j * buffers[k - j] ** 2 for j in range(1, k + 1))
        squares.append(squares[-1] + lr**2 * (buffers[k] ** 2 + 2 * earlier))
    norms = heavy_ball_norms(following(np.full(30, lr), momentum=beta), 1.0, buffers)
    assert norms**2 == pytest.approx(squares[1:], rel=1e-13)


def test_updates_of_fixed_size() -> None:
    rng = np.random.default_rng(3)
    trace = following(rng.uniform(0, 0.3, 40), weight_decay=0.5, optimizer="muon", momentum=0.0)
    end = run(trace, np.array([0.0, 2.0, 0.0]), lambda k, w: tangent(rng, w))
    assert fixed_size_norms(trace, 2.0, 1.0)[-1] == pytest.approx(np.linalg.norm(end), rel=1e-12)


@pytest.mark.parametrize("given", [{"optimizer": "adam"}, {"momentum": 0.9}])
def test_the_recursion_of_sgd_refuses_other_updates(given: dict) -> None:
    with pytest.raises(InvalidInput, match="use heavy_ball_norms or fixed_size_norms"):
        sgd_norms(following(np.ones(3), **given), 1.0, 1.0)
