"""Schedules against torch's own schedulers, closed forms, and the rule that nothing goes on for ever."""

import math
import warnings

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from initmem.theory.errors import InvalidInput
from initmem.theory.schedules import SHAPES, Schedule

LR = st.floats(1e-6, 10.0)
UPDATES = st.integers(2, 200)


def used_by_torch(make, lr: float, updates: int) -> list[float]:
    """The rate of every update, read from the optimizer as a training loop would use it."""
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=lr)
    scheduler = make(optimizer)
    trace = []
    for _ in range(updates):
        trace.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scheduler.step()
    return trace


@settings(deadline=None, max_examples=40)
@given(lr=LR, updates=UPDATES)
@pytest.mark.parametrize("shape", sorted(SHAPES))
def test_equals_the_trace_of_torch(shape: str, lr: float, updates: int) -> None:
    optim = torch.optim.lr_scheduler
    twins = {
        "constant": lambda o: optim.ConstantLR(o, factor=1.0),
        "cosine": lambda o: optim.CosineAnnealingLR(o, T_max=updates),
        "linear": lambda o: optim.LinearLR(o, 1.0, 0.0, total_iters=updates),
        "step": lambda o: optim.MultiStepLR(o, [math.ceil(updates / 2), math.ceil(0.75 * updates)], 0.1),
        "exponential": lambda o: optim.ExponentialLR(o, gamma=0.01 ** (1 / updates)),
    }
    ours = Schedule(shape, lr, updates)(np.arange(updates))
    theirs = used_by_torch(twins[shape], lr, updates)
    # torch chains its factors, one rounding an update; near zero the cosine is a difference of ones.
    np.testing.assert_allclose(ours, theirs, rtol=1e-12 * updates, atol=1e-15 * lr * updates)


@pytest.mark.parametrize(
    ("shape", "power", "closed_form"),
    [
        ("constant", 1, lambda n: n),
        ("constant", 2, lambda n: n),
        ("cosine", 1, lambda n: (n + 1) / 2),
        ("cosine", 2, lambda n: 3 * n / 8 + 1 / 2),
        ("linear", 1, lambda n: (n + 1) / 2),
        ("linear", 2, lambda n: (n + 1) * (2 * n + 1) / (6 * n)),
        ("step", 1, lambda n: 0.5275 * n),
        ("step", 2, lambda n: 0.502525 * n),
        ("exponential", 1, lambda n: (1 - 0.01) / (1 - 0.01 ** (1 / n))),
        ("exponential", 2, lambda n: (1 - 0.01**2) / (1 - 0.01 ** (2 / n))),
    ],
)
@pytest.mark.parametrize("updates", [4, 1000, 600_000])
def test_sums_have_their_closed_form(shape: str, power: int, closed_form, updates: int) -> None:
    lr = 0.3
    total = Schedule(shape, lr, updates).sum(power)
    # Pairwise sums of blocks lose a few ulp; the difference 1 - 0.01**(1/n) of the oracle loses n of them.
    assert total == pytest.approx(lr**power * closed_form(updates), rel=1e-15 * max(updates, 100))


def test_cosine_is_torchs_and_ends_above_zero() -> None:
    schedule = Schedule("cosine", 1.0, 10)
    expected = [0.5 * (1 + math.cos(math.pi * k / 10)) for k in range(10)]
    np.testing.assert_allclose(schedule(np.arange(10)), expected, rtol=0, atol=1e-16)
    assert schedule.sum() == pytest.approx(5.5, rel=1e-15)


def test_warm_up_moves_at_once_and_hands_over_at_the_peak() -> None:
    schedule = Schedule("cosine", 2.0, 12, warmup_updates=4)
    assert schedule([0, 1, 2, 3]).tolist() == [0.5, 1.0, 1.5, 2.0]
    np.testing.assert_array_equal(schedule(np.arange(4, 12)), Schedule("cosine", 2.0, 8)(np.arange(8)))


@given(
    shape=st.sampled_from(sorted(SHAPES)),
    updates=st.integers(1, 500),
    data=st.data(),
)
def test_sums_add_up_over_any_split(shape: str, updates: int, data: st.DataObject) -> None:
    warmup = data.draw(st.integers(0, updates))
    cut = data.draw(st.integers(0, updates))
    schedule = Schedule(shape, 0.7, updates, warmup)
    rest = float(schedule(np.arange(cut, updates)).sum())
    assert schedule.sum(upto=cut) + rest == pytest.approx(schedule.sum(), rel=1e-13)
    assert np.all(schedule(np.arange(updates)) > 0)


@pytest.mark.parametrize("update", [-1, 10, 10**9])
def test_a_step_outside_raises(update: int) -> None:
    with pytest.raises(InvalidInput, match="updates 0 to 9"):
        Schedule("linear", 1.0, 10)(update)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("cosin", 1.0, 10), "'cosin' is unknown: choose one of constant, cosine"),
        (("cosine", 1.0, 0), "updates = 0 is not allowed"),
        (("cosine", 1.0, 10, 11), "warm-up of 11 updates does not fit into 10"),
    ],
)
def test_what_it_refuses(arguments: tuple, says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        Schedule(*arguments)
