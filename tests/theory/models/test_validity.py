"""The table of validity: what the sheet of formulas says, and every entry as the simulators show it."""

import math
from collections.abc import Sequence

import numpy as np
import pytest

from initmem.theory.models.catapult import catapult
from initmem.theory.models.validity import CLOCKS, Entry, entry, moved, table
from initmem.theory.models.validity_rows import FINER, ROWS, Row, scaled
from initmem.theory.trace import Trace

TABLE = {row.remembers: entries for row, entries in table()}
SEEDS = 128

# Rows and the clock with its constant in them; null spaces and differences without decay have none.
RIGHT = {
    "null space, L2": ("T_L2", "leading order", 1.0),
    "least squares, row space": ("T_adapt", "leading order", 0.7),  # h
    "imbalance, label noise": ("T_SGD", "leading order", 16.0),  # s^2
    "imbalance, decay": ("T_L2", "leading order", 2.0),
    "diagonal net, label noise": ("T_SGD", "leading order", 16.0),  # s^2 on alpha^2
    "norm, SGD, noise dominates": ("T_SGD", "leading order", 32.0),  # 2 s^2/r_0^4
    "norm, SGD, signal dominates": ("sum lr^2", "leading order", 2.0),  # 2 G^2/r_0^4
    "norm, Adam": ("sum lr^2", "leading order", 100.0),  # C/r_0^2
    "norm, fixed-size updates": ("sum lr^2", "exact", 4.0),
    "norm, AdamW at rest": ("T_L2", "leading order", 2.0),
    "no gradient, Adam with L2": ("T_adapt", "leading order", 1.0),  # 1/|w_0|
    "noisy quadratic, Adam": ("√b T_adapt", "leading order", 1.0),  # h/s, within Adam's 5/8 (1 - beta_2)
}
STILL = {
    "least squares, null space",
    "null space, Adam",
    "imbalance, interpolated",
    "difference, sign descent",
}


def test_every_memory_has_one_right_clock_or_none() -> None:
    for remembers, entries in TABLE.items():
        right = {name: e for name, e in entries.items() if e.verdict in ("exact", "leading order")}
        if remembers in RIGHT:
            clock, verdict, constant = RIGHT[remembers]
            assert {name: e.verdict for name, e in right.items()} == {clock: verdict}
            assert right[clock].constant == pytest.approx(constant, rel=1e-3)
        else:
            assert not right


def test_the_other_clocks_are_wrong_or_add_nothing_or_stand_still() -> None:
    for row in ROWS:
        others = {
            e.verdict
            for name, e in TABLE[row.remembers].items()
            if RIGHT.get(row.remembers, ("",))[0] != name
        }
        decay = set() if row.trace.weight_decay.any() else {"does not run"}
        assert others == decay | ({"contributes nothing"} if row.remembers in STILL else {"wrong"})


@pytest.mark.parametrize("clock", CLOCKS)
def test_recipes_are_compared_at_one_reading(clock: str) -> None:
    for row in ROWS:
        for other in moved(row.trace, clock):
            assert CLOCKS[clock](other) == pytest.approx(CLOCKS[clock](row.trace), rel=1e-12)


def _simulated(row: Row, trace: Trace) -> tuple[float, float]:
    """Mean and standard error of the memory over seeds."""
    if row.model == "catapult":
        return catapult(float(trace.lr[0]), 0.01, 3.0, trace.updates) / 3, 0.0
    settings = row.solvable.settled(trace, row.settings(trace))
    left = row.solvable.simulate(trace, SEEDS, np.random.default_rng(trace.updates), **settings)
    return float(left.mean()), float(left.std(ddof=1)) / math.sqrt(SEEDS)


def _furthest(results: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The largest distance from the first, and its standard error."""
    (mean, error), *others = results
    return max((abs(m - mean), math.hypot(e, error)) for m, e in others if math.isfinite(m))


CASES = [
    pytest.param(row, clock, entry(row, clock), id=f"{row.remembers}: {clock}")
    for row in ROWS
    for clock in CLOCKS
    if entry(row, clock).verdict != "does not run"
]


@pytest.mark.parametrize(("row", "clock", "found"), CASES)
def test_simulations_bear_the_verdict_out(row: Row, clock: str, found: Entry) -> None:
    if found.verdict == "contributes nothing":
        for factor in (1, 4):
            mean, error = _simulated(row, scaled(row.trace, {"updates": 1}, factor))
            assert abs(mean - 1) <= 5 * error + 1e-12
        return
    if found.verdict == "wrong":
        distance, error = _furthest([_simulated(row, t) for t in (row.trace, *moved(row.trace, clock))])
        assert distance > max(5 * error, 0.05)
        return
    # The rule by which the laws were judged: what is of first order is as much smaller as the learning rate.
    (far, error), (near, finer_error) = (
        _furthest([_simulated(row, trace) for trace in (base, *moved(base, clock))])
        for base in (row.trace, row.finer())
    )
    assert near <= 2 / FINER * (far + 5 * error) + 5 * finer_error + 1e-9
