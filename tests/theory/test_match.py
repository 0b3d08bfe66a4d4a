"""Recipes of one reading or of one memory, against what can be worked out by hand."""

import math
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from initmem.theory.clocks import totals
from initmem.theory.errors import InvalidInput
from initmem.theory.match import CLOCKS, KNOBS, designed, matched, readings
from initmem.theory.models.memory import predict
from initmem.theory.recipe import OPTIMIZERS, Recipe
from initmem.theory.recipe_text import parse_recipe, recipe_text
from initmem.theory.schedules import SHAPES

BEFORE = Recipe(lr=0.1, batch_size=100, train_size=40_000, epochs=20, schedule="cosine", weight_decay=1e-3)


def changed(**given: Any) -> Recipe:
    return Recipe.model_validate(BEFORE.model_dump(exclude_unset=True) | given)


@pytest.mark.parametrize(
    ("keep", "factor"),
    # Four times the batch leaves a quarter of the updates; a cosine of n updates sums to lr (n + 1)/2
    # and its squares to lr^2 (3 n + 4)/8.
    [
        ("T_SGD", math.sqrt(4 * (3 * 8000 + 4) / (3 * 2000 + 4))),
        ("T_L2", 8001 / 2001),
        ("T_adapt", 8001 / 2001),
        ("sum_lr_squared", math.sqrt((3 * 8000 + 4) / (3 * 2000 + 4))),
    ],
)
def test_the_learning_rate_for_four_times_the_batch(keep: str, factor: float) -> None:
    after = matched(BEFORE, changed(batch_size=400), keep)
    assert after.lr == pytest.approx(0.1 * factor, rel=1e-12)
    assert after.model_dump(exclude={"lr"}) == changed(batch_size=400).model_dump(exclude={"lr"})


@pytest.mark.parametrize("keep", CLOCKS)
@pytest.mark.parametrize("knob", KNOBS)
def test_every_knob_that_moves_a_clock_finds_it(keep: str, knob: str) -> None:
    other = changed(lr=0.05)
    if knob == "weight_decay" and keep != "T_L2":
        with pytest.raises(InvalidInput, match=f"no weight_decay reaches {keep}"):
            matched(BEFORE, other, keep, knob)
        return
    after = matched(BEFORE, other, keep, knob)
    wanted, found = totals(BEFORE)[keep], totals(after)[keep]
    if knob in ("lr", "weight_decay"):
        assert found == pytest.approx(wanted, rel=1e-12)
        return
    # A whole number: neither neighbour comes nearer.
    value = after.total_updates if knob == "updates" else getattr(after, knob)
    for neighbour in (value - 1, value + 1):
        kept = {
            k: v for k, v in after.model_dump(exclude_unset=True).items() if k not in ("epochs", "updates")
        }
        length = {} if knob in ("epochs", "updates") else {"epochs": after.epochs}
        near = totals(Recipe.model_validate(kept | length | {knob: neighbour}))[keep]
        assert abs(math.log(found / wanted)) <= abs(math.log(near / wanted)) + 1e-12


def test_a_clock_that_is_kept_already_changes_nothing() -> None:
    assert matched(BEFORE, BEFORE, "T_SGD", "weight_decay") == BEFORE


@pytest.mark.parametrize(
    ("model", "recipe", "solve"),
    [
        ("null-space", Recipe(optimizer="adamw", lr=1e-3, updates=2000), "weight_decay"),
        ("null-space", Recipe(lr=0.01, updates=2000, weight_decay=0.1, momentum=0.5), "lr"),
        ("row-space", Recipe(lr=1e-3, updates=500), "lr"),
        ("scale-invariant", Recipe(lr=1e-3, updates=500, weight_decay=0.1), "lr"),
        ("scale-invariant", Recipe(optimizer="adam", lr=1e-3, updates=500), "lr"),
        ("imbalance", Recipe(lr=0.01, updates=500), "lr"),
    ],
)
def test_a_designed_recipe_forgets_as_much_as_asked(model: str, recipe: Recipe, solve: str) -> None:
    after = designed(recipe, model, 0.05, solve)
    assert predict(model, after).memory == pytest.approx(0.05, rel=1e-9)


def test_a_design_by_hand() -> None:
    # M = (1 - lr lambda)^K
    after = designed(Recipe(optimizer="adamw", lr=1e-3, updates=2000), "null-space", 0.25, "weight_decay")
    assert after.weight_decay == pytest.approx((1 - 0.25 ** (1 / 2000)) / 1e-3, rel=1e-12)
    # 1/(1 + C K lr^2/r_0^2)
    after = designed(Recipe(optimizer="adam", updates=400), "scale-invariant", 0.2, given={"entries": 16.0})
    assert after.lr == pytest.approx(math.sqrt(4 / (16 * 400)), rel=1e-12)


def test_rates_may_be_as_small_as_a_recipe_takes() -> None:
    before = Recipe(lr=1e-90, updates=100)
    assert matched(before, Recipe(lr=1e-80, updates=100), "T_SGD").lr == pytest.approx(1e-90, rel=1e-12)


def test_what_no_knob_reaches_is_said() -> None:
    with pytest.raises(InvalidInput, match=r"no lr reaches memory 0\.5 of null-space"):
        designed(Recipe(updates=100), "null-space", 0.5)
    with pytest.raises(InvalidInput, match="T_L2 is 0"):
        matched(Recipe(), Recipe(lr=1.0), "T_L2")
    with pytest.raises(InvalidInput, match="knob 'foo'"):
        matched(Recipe(), Recipe(lr=1.0), "T_SGD", "foo")
    with pytest.raises(InvalidInput, match="between 0 and 1"):
        designed(Recipe(), "row-space", 1.0)


def test_readings_are_the_knobs_the_clocks_and_the_models() -> None:
    result = readings(BEFORE)
    assert result["knobs"]["updates"] == 8000
    assert result["clocks"] == {name: totals(BEFORE)[name] for name in CLOCKS}
    assert result["memory"]["memory of null-space"] == predict("null-space", BEFORE).memory


@st.composite
def recipes(draw: st.DrawFn) -> Recipe:
    optimizer = draw(st.sampled_from(OPTIMIZERS))
    given: dict[str, Any] = {
        "optimizer": optimizer,
        "schedule": draw(st.sampled_from(list(SHAPES))),
        "lr": draw(st.floats(1e-6, 1)),
        "batch_size": draw(st.integers(1, 1000)),
        "weight_decay": draw(st.sampled_from([0.0, 1e-3, 0.3])),
        draw(st.sampled_from(["epochs", "updates"])): draw(st.integers(1, 300)),
        "drop_last": draw(st.booleans()),
    }
    if optimizer in ("sgd", "muon") and draw(st.booleans()):
        given["momentum"] = draw(st.floats(0, 0.99))
    return Recipe.model_validate(given)


@given(recipes())
def test_text_of_a_recipe_reads_as_that_recipe(recipe: Recipe) -> None:
    again = parse_recipe(recipe_text(recipe))
    assert again.model_dump() == recipe.model_dump()


@given(recipes(), st.floats(1e-3, 1.0), st.sampled_from(CLOCKS))
@settings(max_examples=50, deadline=None)
def test_a_matched_learning_rate_keeps_the_clock(recipe: Recipe, lr: float, keep: str) -> None:
    assume(totals(recipe)[keep] > 0)
    other = recipe.model_copy(update={"lr": lr})
    after = matched(recipe, other, keep)
    assert totals(after)[keep] == pytest.approx(totals(recipe)[keep], rel=1e-12)
    assert after.lr == pytest.approx(recipe.lr, rel=1e-12)


def test_changes_keep_what_they_do_not_mention() -> None:
    start = parse_recipe("muon momentum=0.9 lr=0.02 wd=0.1 updates=50 linear")
    after = parse_recipe("adamw, epochs=3", start)
    assert (after.optimizer, after.lr, after.weight_decay, after.epochs, after.updates) == (
        "adamw",
        0.02,
        0.1,
        3,
        None,
    )
    assert after.momentum is None
    assert after.schedule == "linear"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("lrr=0.1", "no part of a recipe"),
        ("sgdd", "no part of a recipe"),
        ("lr=", "has no value"),
        ("lr=0.1 lr=0.2", "given twice"),
        ("b=1 batch_size=2", "given twice"),
        ("sgd adam", "given twice"),
    ],
)
def test_text_that_is_no_recipe(text: str, says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        parse_recipe(text)
