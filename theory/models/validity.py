r"""Which clock is right for which memory, found by turning the knobs that a clock does not see.

A clock governs a memory if recipes with one reading of it leave the same memory, however they differ
otherwise. So each recipe is turned into others with the same reading: a slower learning rate over more
updates, another batch size, another decay. What the laws then say is

===================  ==================================================================================
verdict              the memories of the recipes
===================  ==================================================================================
exact                are the same
leading order        differ by a share that falls with the learning rate
contributes nothing  are all 1 while the clock runs
wrong                differ, however small the learning rate
does not run         the clock stands still in this row
===================  ==================================================================================
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from ..trace import Trace
from .validity_rows import FINER, ROWS, Row, scaled

Clock = Callable[[Trace], float]

CLOCKS: dict[str, Clock] = {
    "T_SGD": lambda t: float((t.effective_lr**2 / t.batch_size).sum()),
    "T_L2": lambda t: float(t.decay.sum()),
    "T_adapt": lambda t: float(t.lr.sum()),
    "sum lr^2": lambda t: float((t.effective_lr**2).sum()),
    "√b T_adapt": lambda t: float((t.lr * np.sqrt(t.batch_size)).sum()),
}

# Power of a factor by which learning rate, batch size and decay grow and the updates fall, one move each,
# such that the reading stays.
MOVES: dict[str, tuple[dict[str, float], ...]] = {
    "T_SGD": ({"lr": -1, "updates": 2}, {"batch_size": 1, "updates": 1}, {"batch_size": 2, "lr": 1}),
    "T_L2": ({"lr": -1, "updates": 1}, {"weight_decay": -1, "updates": 1}, {"batch_size": 1}),
    "T_adapt": ({"lr": -1, "updates": 1}, {"batch_size": 1}, {"weight_decay": -1}),
    "sum lr^2": ({"lr": -1, "updates": 2}, {"batch_size": 1}, {"weight_decay": -1}),
    "√b T_adapt": (
        {"lr": -1, "updates": 1},
        {"batch_size": 2, "updates": -1},
        {"weight_decay": -1},
    ),
}
FACTOR = 2

ROUNDING = 1e-9


@dataclass(frozen=True)
class Entry:
    """What one clock is worth for one memory.

    Attributes
    ----------
    verdict : str
        "exact", "leading order", "contributes nothing", "wrong" or "does not run".
    constant : float or None
        The factor between the clock and the age of the law, where the verdict is one of the first two.
    memories : tuple of float
        The memory of the row's recipe and of the others with the same reading; of recipes with two and
        four times the reading where the clock contributes nothing.
    moves : tuple of str
        What was changed in each of these others.
    """

    verdict: str
    constant: float | None
    memories: tuple[float, ...]
    moves: tuple[str, ...]


def moved(trace: Trace, clock: str) -> list[Trace]:
    """Recipes with the same reading of a clock.

    Parameters
    ----------
    trace : Trace
        Of constant rate, batch size and decay.
    clock : str
        One of :data:`CLOCKS`.

    Returns
    -------
    list of Trace

    Examples
    --------
    >>> trace = ROWS[1].trace
    >>> [round(CLOCKS["T_L2"](other) / CLOCKS["T_L2"](trace), 12) for other in moved(trace, "T_L2")]
    [1.0, 1.0, 1.0]
    """
    return [scaled(trace, move, FACTOR) for move in _moves(trace, clock)]


def _moves(trace: Trace, clock: str) -> list[dict[str, float]]:
    return [move for move in MOVES[clock] if trace.weight_decay.any() or "weight_decay" not in move]


def _described(move: Mapping[str, float]) -> str:
    """A move as text, such as "lr/2, updates*4"."""
    return ", ".join(
        f"{name}{'/' if power < 0 else '*'}{FACTOR ** abs(power)}" for name, power in move.items()
    )


def entry(row: Row, clock: str) -> Entry:
    """The verdict on one clock for one memory, from the law.

    Parameters
    ----------
    row : Row
    clock : str
        One of :data:`CLOCKS`.

    Returns
    -------
    Entry

    Examples
    --------
    >>> entry(ROWS[3], "T_adapt").verdict, entry(ROWS[3], "T_SGD").verdict
    ('leading order', 'wrong')
    """
    if CLOCKS[clock](row.trace) == 0:
        return Entry("does not run", None, (), ())
    longer = tuple(row.memory(scaled(row.trace, {"updates": 1}, f)) for f in (1, 2, 4))
    if longer == (1.0, 1.0, 1.0):
        return Entry("contributes nothing", None, longer, ("updates*2", "updates*4"))
    here = _memories(row, row.trace, clock)
    changes = tuple(_described(move) for move in _moves(row.trace, clock))
    if row.model == "catapult":  # an event of large learning rates, so it is not looked for at smaller ones
        return Entry("wrong", None, here, changes)
    there = _memories(row, row.finer(), clock)
    gap, finer = (max(abs(other - memories[0]) for other in memories[1:]) for memories in (here, there))
    # A first-order difference is as much smaller as the learning rate; half of that counts.
    if gap > ROUNDING and finer > 2 * gap / FINER:
        return Entry("wrong", None, here, changes)
    law = row.solvable.law(row.trace, **row.solvable.settled(row.trace, row.settings(row.trace)))
    verdict = "exact" if gap <= ROUNDING and law == "exact" else "leading order"
    return Entry(verdict, _constant(row, clock), here, changes)


def _constant(row: Row, clock: str) -> float:
    """How fast the age of the law begins to run, in units of the clock."""
    first = scaled(row.trace[:1], {"lr": -1}, 1e6)
    return row.age(first) / CLOCKS[clock](first)


def _memories(row: Row, trace: Trace, clock: str) -> tuple[float, ...]:
    return tuple(row.memory(recipe) for recipe in (trace, *moved(trace, clock)))


def table() -> list[tuple[Row, dict[str, Entry]]]:
    """All rows with an entry for every clock."""
    return [(row, {clock: entry(row, clock) for clock in CLOCKS}) for row in ROWS]
