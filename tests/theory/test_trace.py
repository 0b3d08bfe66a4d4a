"""Traces, and the clocks of traces: additive over what is joined, the same however it was cut."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from initmem.theory.clocks import CLOCKS, clocks, segments, totals
from initmem.theory.errors import InvalidInput
from initmem.theory.measured import measured
from initmem.theory.models.radial import sgd_norms
from initmem.theory.recipe import Recipe
from initmem.theory.trace import Trace, joined

UPDATE = st.tuples(st.floats(0, 0.5), st.integers(1, 64), st.floats(0, 1))


@st.composite
def traces(draw: st.DrawFn, fewest: int = 1) -> Trace:
    rows = draw(st.lists(UPDATE, min_size=fewest, max_size=30))
    lr, batch, decay = map(np.array, zip(*rows, strict=True))
    optimizer = draw(st.sampled_from(["sgd", "adam", "adamw", "muon"]))
    momentum = draw(st.sampled_from([None, 0.5])) if optimizer in ("sgd", "muon") else None
    return Trace(lr, batch, decay, optimizer=optimizer, momentum=momentum)


@given(traces(fewest=2), st.data())
def test_clocks_add_up_however_the_run_is_cut(trace: Trace, data: st.DataObject) -> None:
    cut = data.draw(st.integers(1, trace.updates - 1))
    whole, parts = totals(trace), [totals(trace[:cut]), totals(trace[cut:])]
    again = totals(joined([trace[:cut], trace[cut:]]))
    for name in CLOCKS:
        # One rounding for each part, for fsum is exact but for the last.
        assert parts[0][name] + parts[1][name] == pytest.approx(whole[name], rel=1e-14)
        assert again[name] == whole[name]


@given(traces(), traces())
def test_clocks_never_run_backwards(trace: Trace, more: Trace) -> None:
    assert all(
        totals(trace, end)[name] <= totals(trace, end + 1)[name] * (1 + 1e-15)
        for end in range(1, trace.updates)
        for name in CLOCKS
    )


@given(traces(fewest=3), st.integers(1, 3))
def test_segments_are_shares_of_the_whole(trace: Trace, parts: int) -> None:
    for name, shares in segments(trace, parts).items():
        assert len(shares) == parts
        assert min(shares) >= -1e-15
        assert sum(shares) == pytest.approx(1.0 if totals(trace)[name] else 0.0, abs=1e-14)


@pytest.mark.parametrize(
    "recipe",
    [
        Recipe(schedule="cosine", updates=777, lr=0.3, warmup_epochs=1, momentum=0.9, weight_decay=1e-3),
        Recipe(optimizer="adamw", weight_decay=0.1, schedule="step", updates=500),
        Recipe(optimizer="muon", updates=10),
    ],
)
def test_a_recipe_and_its_trace_read_the_same(recipe: Recipe) -> None:
    plan, run = clocks(recipe), clocks(Trace.of(recipe))
    for name in ("sum_lr", "sum_lr_squared", "T_SGD_plain", "T_L2_plain", "decay_survival", *CLOCKS):
        assert getattr(run, name) == pytest.approx(getattr(plan, name), rel=1e-13)
    assert (run.in_force, run.reasons, run.memory) == (plan.in_force, plan.reasons, plan.memory)
    assert run.late_share == pytest.approx(plan.late_share, abs=1e-13)
    # The models follow the same updates.
    assert [(m.model.name, m.memory) for m in run.models] == [(m.model.name, m.memory) for m in plan.models]
    assert run.to_dict()["trace"]["updates"] == recipe.total_updates


def test_the_last_tenth_of_a_cosine_adds_next_to_nothing() -> None:
    late = clocks(Recipe(schedule="cosine", updates=10_000, weight_decay=0.1)).late_share
    # With s = (1 + cos(pi x))/2 the integrals from .9 to 1 over those from 0 to 1.
    share = 2 * (0.05 - np.sin(0.9 * np.pi) / (2 * np.pi))
    squared = (8 / 3) * (0.1 * 3 / 8 - np.sin(0.9 * np.pi) / (2 * np.pi) - np.sin(1.8 * np.pi) / (16 * np.pi))
    assert [late["T_L2"], late["T_adapt"]] == pytest.approx([share, share], rel=2e-3)
    assert late["T_SGD"] == pytest.approx(squared, rel=5e-3)
    assert clocks(Recipe(updates=10_000)).late_share["T_SGD"] == pytest.approx(0.1, rel=1e-12)
    assert clocks(Recipe(updates=1)).late_share["T_adapt"] == 1.0


def test_a_batch_that_grows_divides_only_what_it_was_used_for() -> None:
    trace = Trace(lr=np.array([0.1, 0.1, 0.2]), batch_size=np.array([1, 2, 4]), weight_decay=0.5)
    assert totals(trace)["T_SGD"] == pytest.approx(0.01 + 0.005 + 0.01, rel=1e-15)
    assert totals(trace)["T_L2"] == pytest.approx(0.2, rel=1e-15)


@pytest.mark.parametrize("decay", [0.0, 0.3])
def test_measured_norms_give_the_norm_back(decay: float) -> None:
    rng = np.random.default_rng(0)
    plain = Trace(lr=np.full(400, 0.01), weight_decay=decay)
    gradients = rng.uniform(0.5, 2, 400)
    norms = np.append(0.8, sgd_norms(plain, 0.8, gradients))
    logged = Trace(
        lr=plain.lr,
        weight_decay=plain.weight_decay,
        weight_norm={"a": norms[:-1]},
        gradient_norm={"a": gradients / norms[:-1]},
    )
    result = clocks(logged).measured["a"]
    assert result.clock == pytest.approx(float(((plain.lr * gradients) ** 2).sum()) / 0.8**4, rel=1e-13)
    # What the law of r^4 leaves out is eta^4 G^4/r^4 an update.
    left_out = float((plain.lr**4 * gradients**4).sum()) / (4 * norms.min() ** 4 * norms[-1] ** 4)
    assert result.norm_ratio == pytest.approx(norms[-1] / norms[0], rel=left_out)
    assert result.memory == pytest.approx(1 / (1 + result.age), rel=1e-15)
    assert clocks(logged).to_dict()["measured"]["a"]["age"] == result.age


def test_a_measured_clock_stands_still_when_gradients_are_gone() -> None:
    gradients = np.where(np.arange(100) < 10, 1.0, 0.0)
    trace = Trace(lr=np.full(100, 0.1), weight_norm={"a": np.ones(100)}, gradient_norm={"a": gradients})
    assert measured(trace)["a"].clock == measured(trace[:10])["a"].clock == pytest.approx(0.1, rel=1e-14)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"lr": []}, "at least one"),
        ({"lr": [[0.1]]}, "one number an update"),
        ({"lr": [0.1], "batch_size": [1, 2]}, "2 values for 1 updates"),
        ({"lr": [-0.1]}, "negative"),
        ({"lr": [float("nan")]}, "finite"),
        ({"lr": [0.1], "batch_size": 0}, "below 1"),
        ({"lr": [0.1], "batch_size": 9, "train_size": 8}, "larger than the 8"),
        ({"lr": [1.0], "weight_decay": 1.0}, "below 1"),
        ({"lr": [0.1], "gradient_norm": {"a": [1.0]}}, "different layers"),
        ({"lr": [0.1], "optimizer": "sdg"}, "sgd, adam, adamw, muon"),
        ({"lr": [0.1], "momentum": 1.0}, "momentum"),
    ],
)
def test_what_is_no_trace_is_refused(given: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        Trace(**given)


def test_other_refusals() -> None:
    trace = Trace(lr=[0.1, 0.1])
    with pytest.raises(InvalidInput, match="cannot be joined"):
        joined([trace, Trace(lr=[0.1], optimizer="adam")])
    with pytest.raises(InvalidInput, match="1 to 2"):
        segments(trace, 3)
    with pytest.raises(InvalidInput, match="too many to follow"):
        Trace.of(Recipe(updates=10**7 + 1))
    with pytest.raises(InvalidInput, match="sgd"):
        measured(Trace(lr=[0.1], optimizer="adam", weight_norm={"a": 1.0}, gradient_norm={"a": 1.0}))
