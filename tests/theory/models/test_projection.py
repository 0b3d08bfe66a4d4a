"""Limits of preconditioned descent and descent with L2, against following the updates one by one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from initmem.theory.errors import InvalidInput
from initmem.theory.models.projection import decayed_descent, limit, memory_operator
from initmem.theory.recipe import Recipe
from initmem.theory.trace import Trace, joined

X, Y, START = np.array([[1.0, 2.0, 2.0]]), np.array([3.0]), np.array([1.0, 0.0, 0.0])


def preconditioner(rng: np.random.Generator, width: int) -> np.ndarray:
    root = rng.normal(size=(width, width))
    return root @ root.T + 0.1 * np.eye(width)


@pytest.mark.parametrize(
    ("D", "end"),
    [(None, (11 / 9, 4 / 9, 4 / 9)), (np.diag([1.0, 2.0, 4.0]), (1.08, 0.32, 0.64))],
)
def test_limits_of_one_example(D: np.ndarray | None, end: tuple) -> None:
    np.testing.assert_allclose(limit(X, Y, START, D), end, rtol=0, atol=1e-14)


@pytest.mark.parametrize("seed", range(3))
def test_the_limit_is_where_preconditioned_descent_ends(seed: int) -> None:
    rng = np.random.default_rng(seed)
    examples, targets, w = rng.normal(size=(2, 6)), rng.normal(size=2), rng.normal(size=6)
    D, start = preconditioner(rng, 6), w.copy()
    lr = 1 / np.linalg.eigvals(D @ examples.T @ examples).real.max()
    for _ in range(5000):
        w = w - lr * D @ examples.T @ (examples @ w - targets)
    np.testing.assert_allclose(examples @ w, targets, atol=1e-12)
    np.testing.assert_allclose(limit(examples, targets, start, D), w, rtol=0, atol=1e-11)


@given(seed=st.integers(0, 10**6), examples=st.integers(1, 5), more=st.integers(1, 5))
@settings(deadline=None, max_examples=60)
def test_the_memory_operator_is_a_projection_of_trace_d_minus_n(seed: int, examples: int, more: int) -> None:
    rng = np.random.default_rng(seed)
    width = examples + more
    data, D = rng.normal(size=(examples, width)), preconditioner(rng, width)
    M, plain = memory_operator(data, D), memory_operator(data)
    # Rounding, by the condition of X D X^T.
    rounding = 1e-12 * np.linalg.cond(data @ D @ data.T) + 1e-12 * np.linalg.cond(data @ data.T)
    assert np.trace(M) == pytest.approx(width - examples, abs=rounding)
    assert abs(M @ M - M).max() < rounding * max(1, abs(M).max()) ** 2
    assert abs(data @ M).max() < rounding * max(1, abs(data).max())
    assert np.linalg.norm(M, 2) >= 1 - rounding
    assert np.linalg.norm(plain, 2) == pytest.approx(1, abs=rounding)
    np.testing.assert_allclose(plain, plain.T, atol=rounding)
    start, other, y = rng.normal(size=(2, width)).tolist(), rng.normal(size=width), rng.normal(size=examples)
    moved = limit(data, y, np.array(start[0]) + other, D) - limit(data, y, np.array(start[0]), D)
    np.testing.assert_allclose(moved, M @ other, atol=rounding * 100)


def test_an_oblique_projection_amplifies_what_lies_along_its_largest_direction() -> None:
    D = np.diag([1.0, 2.0, 4.0])
    M = memory_operator(X, D)
    # The norm of an oblique projection is 1/cos of the angle between X^T, here of length 3, and D X^T, here
    # (1, 4, 8) of length 9.
    assert np.linalg.norm(M, 2) == pytest.approx(3 * 9 / 25, rel=1e-12)
    _, _, directions = np.linalg.svd(M)
    moved = limit(X, Y, START + directions[0], D) - limit(X, Y, START, D)
    assert np.linalg.norm(moved) == pytest.approx(1.08, rel=1e-12)


@pytest.mark.parametrize("weight_decay", [0.0, 0.3])
@pytest.mark.parametrize("schedule", ["constant", "cosine", "step"])
@pytest.mark.parametrize(("examples", "width"), [(3, 6), (8, 4)])
def test_descent_with_l2_in_closed_form(
    weight_decay: float, schedule: str, examples: int, width: int
) -> None:
    rng = np.random.default_rng(examples)
    data, y, w = rng.normal(size=(examples, width)), rng.normal(size=examples), rng.normal(size=width)
    trace = Trace.of(Recipe(lr=0.1, schedule=schedule, updates=80, weight_decay=weight_decay))
    expected = w
    for lr in trace.lr:
        expected = expected - lr * (data.T @ (data @ expected - y) / examples + weight_decay * expected)
    np.testing.assert_allclose(decayed_descent(data, y, w, trace), expected, rtol=0, atol=1e-12)


def test_descent_goes_on_where_it_stopped_and_ends_at_the_interpolator() -> None:
    first, second = Trace(lr=np.full(5, 0.1)), Trace(lr=np.linspace(0.2, 0.1, 7))
    middle = decayed_descent(X, Y, START, first)
    whole = decayed_descent(X, Y, START, joined([first, second]))
    np.testing.assert_allclose(decayed_descent(X, Y, middle, second), whole, rtol=0, atol=1e-14)
    long = Trace(lr=np.full(200, 0.1))
    np.testing.assert_allclose(decayed_descent(X, Y, START, long), limit(X, Y, START), rtol=0, atol=1e-14)


@pytest.mark.parametrize(
    "trace",
    [
        Trace(lr=np.full(2, 0.1), momentum=0.5),
        Trace(lr=np.full(2, 0.1), optimizer="adam"),
        Trace(lr=np.full(2, 0.1), weight_decay=np.array([0.1, 0.2])),
    ],
)
def test_descent_of_another_kind_is_refused(trace: Trace) -> None:
    with pytest.raises(InvalidInput, match="sgd without momentum under one decay"):
        decayed_descent(X, Y, START, trace)


@pytest.mark.parametrize("data", [np.eye(2), np.ones((2, 3)), np.ones(3)])
def test_examples_without_one_interpolator_are_refused(data: np.ndarray) -> None:
    with pytest.raises(InvalidInput, match="do not lead each start to one interpolator"):
        memory_operator(data)


@pytest.mark.parametrize("D", [np.eye(2), np.diag([1.0, 1.0, 0.0]), np.triu(np.ones((3, 3)))])
def test_what_is_no_preconditioner_is_refused(D: np.ndarray) -> None:
    with pytest.raises(InvalidInput, match="symmetric positive definite"):
        memory_operator(X, D)
