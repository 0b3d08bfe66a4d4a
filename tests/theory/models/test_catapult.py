"""The catapult against two weights trained by gradient descent."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from initmem.theory.errors import InvalidInput
from initmem.theory.models.catapult import catapult, catapult_step


@given(u=st.floats(-2, 2), v=st.floats(-2, 2), lr=st.floats(0.01, 1))
def test_step_is_that_of_two_weights(u: float, v: float, lr: float) -> None:
    f = u * v
    a, b = u - lr * f * v, v - lr * f * u
    output, curvature = catapult_step(lr, f, u * u + v * v)
    assert output == pytest.approx(a * b, rel=1e-9, abs=1e-11)
    assert curvature == pytest.approx(a * a + b * b, rel=1e-9, abs=1e-11)


def test_one_step_by_hand() -> None:
    assert catapult_step(1.0, 0.05, 3.0) == pytest.approx((-0.099875, 2.9975), abs=1e-12)


@pytest.mark.parametrize(
    ("start", "end"),
    [(1.0, 0.9997), (1.9, 1.8989), (2.5, 1.2821), (3.0, 0.2227), (3.5, 0.5544), (3.9, 0.0568)],
)
def test_where_training_settles(start: float, end: float) -> None:
    found = catapult(1.0, 0.01, start)
    assert found == pytest.approx(end, abs=5e-5)
    assert found < 2
    # Only lr * curvature and lr * output matter.
    assert catapult(0.1, 0.1, 10 * start) == pytest.approx(10 * found, rel=1e-4)


def test_beyond_four_training_diverges() -> None:
    assert catapult(1.0, 0.01, 4.2) == math.inf


def test_it_takes_as_many_updates_as_the_output_has_powers_of_its_growth() -> None:
    # At lr * curvature = 3 the output doubles in every update: a thousandth at the start takes ten more.
    updates = next(k for k in range(60) if catapult(1.0, 1e-3, 3.0, k) < 2)
    assert catapult(1.0, 1e-6, 3.0, updates + 9) > 2 > catapult(1.0, 1e-6, 3.0, updates + 11)


def test_impossible_starts_are_refused() -> None:
    with pytest.raises(InvalidInput, match="twice the output"):
        catapult(1.0, 1.0, 1.0)
    with pytest.raises(InvalidInput, match="lr"):
        catapult(0.0, 0.1, 1.0)
