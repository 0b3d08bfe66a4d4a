"""Closed forms of the sums of learning rates, against adding them up and against exact fractions."""

import math
from fractions import Fraction

import pytest
import sympy as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st

from initmem.theory.errors import InvalidInput
from initmem.theory.schedule_sums import (
    LR,
    UPDATES,
    WARMUP,
    closed_form,
    closed_sum,
    limit_per_update,
)
from initmem.theory.schedules import SHAPES, Schedule

HALF, LONG = sp.Rational(1, 2), 10**12


def fractions(shape: str, updates: int, warmup: int, power: int) -> Fraction:
    """The sum with every term an exact fraction, for the shapes whose values are."""
    n = updates - warmup
    after = {
        "constant": lambda k: Fraction(1),
        "linear": lambda k: 1 - Fraction(k, n),
        "step": lambda k: Fraction(1, 10) ** ((2 * k >= n) + (4 * k >= 3 * n)),
    }[shape]
    ramp = sum((Fraction(k, warmup) ** power for k in range(1, warmup + 1)), start=Fraction(0))
    return sum((after(k) ** power for k in range(n)), start=ramp)


@given(
    shape=st.sampled_from(sorted(SHAPES)),
    power=st.integers(1, 4),
    lr=st.floats(1e-6, 1e3),
    updates=st.integers(1, 400),
    data=st.data(),
)
@settings(deadline=None, max_examples=150)
def test_equals_the_sum_over_updates(
    shape: str, power: int, lr: float, updates: int, data: st.DataObject
) -> None:
    schedule = Schedule(shape, lr, updates, data.draw(st.integers(0, updates)))
    # The sum in doubles rounds at every update; all its terms are positive.
    assert closed_sum(schedule, power) == pytest.approx(schedule.sum(power), rel=1e-13)


@pytest.mark.parametrize("shape", sorted(SHAPES))
@pytest.mark.parametrize("power", [1, 2, 3])
def test_the_shortest_schedules_and_the_longest_warm_ups(shape: str, power: int) -> None:
    for updates in (1, 2, 3, 4, 5):
        for warmup in range(updates + 1):
            schedule = Schedule(shape, 0.3, updates, warmup)
            assert closed_sum(schedule, power) == pytest.approx(schedule.sum(power), rel=1e-14)


@given(
    shape=st.sampled_from(["constant", "linear", "step"]),
    power=st.integers(1, 3),
    updates=st.integers(1, 60),
    data=st.data(),
)
@example(shape="step", power=1, updates=7, data=None)
@settings(deadline=None, max_examples=60)
def test_rational_shapes_are_exact(shape: str, power: int, updates: int, data: st.DataObject | None) -> None:
    warmup = data.draw(st.integers(0, updates)) if data else 0
    form = closed_form(shape, power).subs({LR: 1, UPDATES: updates, WARMUP: warmup})
    exact = fractions(shape, updates, warmup, power)
    assert form == sp.Rational(exact.numerator, exact.denominator)


@pytest.mark.parametrize(
    ("shape", "power", "exact"),
    [
        ("constant", 1, lambda n: Fraction(n)),
        ("cosine", 1, lambda n: Fraction(n + 1, 2)),
        ("cosine", 2, lambda n: Fraction(3 * n + 4, 8)),
        ("linear", 1, lambda n: Fraction(n + 1, 2)),
        ("linear", 2, lambda n: Fraction((n + 1) * (2 * n + 1), 6 * n)),
        ("step", 1, lambda n: Fraction(5275 * n, 10_000)),
        ("step", 2, lambda n: Fraction(502525 * n, 1_000_000)),
        # Euler and Maclaurin: the next term is a 10**24th of the first.
        ("exponential", 1, lambda n: 0.99 * (n / math.log(100) + 1 / 2)),
        ("exponential", 2, lambda n: 0.9999 * (n / math.log(100**2) + 1 / 2)),
    ],
)
@pytest.mark.parametrize("warmup", [0, 4 * 10**11, LONG])
def test_a_million_million_updates(shape: str, power: int, exact, warmup: int) -> None:
    ramp = {1: Fraction(warmup + 1, 2), 2: Fraction((warmup + 1) * (2 * warmup + 1), 6 * (warmup or 1))}
    rest = exact(LONG - warmup) if warmup < LONG else 0
    total = (ramp[power] if warmup else 0) + rest
    lr = 0.1
    found = closed_sum(Schedule(shape, lr, LONG, warmup), power)
    # The oracle is rounded a few times, the closed form once.
    assert found == pytest.approx(float(total) * lr**power, rel=2e-15)


def test_no_digits_are_lost_where_they_cancel() -> None:
    # 1 - 100**(-1/n) keeps 4 digits of a double at this length.
    n = 10**12
    lost = 0.99 / (1 - 100 ** (-1 / n))
    found = closed_sum(Schedule("exponential", 1.0, n))
    assert found == pytest.approx(0.99 * (n / math.log(100) + 1 / 2), rel=2e-15)
    assert abs(lost / found - 1) > 1e-7


@pytest.mark.parametrize(
    ("shape", "warmup", "first", "second"),
    [
        ("constant", 0, 1, 1),
        ("cosine", 0, HALF, sp.Rational(3, 8)),
        ("linear", 0, HALF, sp.Rational(1, 3)),
        ("linear", HALF, HALF, sp.Rational(1, 3)),  # a triangle
        ("step", 0, sp.Rational("0.5275"), sp.Rational("0.502525")),
        ("exponential", 0, sp.Rational(99, 100) / sp.log(100), sp.Rational(9999, 10_000) / sp.log(10_000)),
    ],
)
def test_limits_per_update(shape: str, warmup: sp.Expr, first: sp.Expr, second: sp.Expr) -> None:
    assert sp.simplify(limit_per_update(shape, 1, warmup) - first) == 0
    assert sp.simplify(limit_per_update(shape, 2, warmup) - second) == 0


@pytest.mark.parametrize("shape", sorted(SHAPES))
@pytest.mark.parametrize("warmup", [sp.Integer(0), sp.Rational(1, 10)])
def test_long_schedules_come_to_the_limit(shape: str, warmup: sp.Expr) -> None:
    n = 10**9
    for power in (1, 2):
        average = closed_sum(Schedule(shape, 1.0, n, int(warmup * n)), power) / n
        # What is left is at most one update at each end.
        assert average == pytest.approx(float(limit_per_update(shape, power, warmup)), abs=2 / n)


def test_every_shape_has_a_form_in_its_three_symbols() -> None:
    for shape in SHAPES:
        assert closed_form(shape, 2).free_symbols == {LR, UPDATES, WARMUP}


@pytest.mark.parametrize(
    ("shape", "power", "says"),
    [("cosin", 1, "'cosin' is unknown: choose one of constant"), ("cosine", 0, "power = 0 is not allowed")],
)
def test_what_it_refuses(shape: str, power: int, says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        closed_form(shape, power)
