"""``initmem-theory memory --list``: which clock is right for which memory."""

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..theory.models.validity import Entry

MARKS = {"exact": "=", "leading order": "≈", "contributes nothing": "0", "wrong": "✗", "does not run": ""}


def show(as_json: bool) -> None:
    """Print the table of validity."""
    from ..theory.models.validity import CLOCKS, table

    rows = table()
    if as_json:
        import json

        print(
            json.dumps(
                [
                    {
                        "remembers": row.remembers,
                        "model": row.model,
                        "clocks": {
                            clock: {
                                "verdict": entry.verdict,
                                "constant": entry.constant,
                                "memory": _finite(entry.memories[0]) if entry.memories else None,
                                "others": {
                                    move: _finite(memory)
                                    for move, memory in zip(entry.moves, entry.memories[1:], strict=True)
                                },
                            }
                            for clock, entry in entries.items()
                        },
                    }
                    for row, entries in rows
                ],
                allow_nan=False,
                ensure_ascii=False,
            )
        )
        return
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    table_ = Table(title="Which clock is right for which memory", title_justify="left", title_style="bold")
    table_.add_column("memory of", overflow="fold")
    for clock in CLOCKS:
        table_.add_column(clock, justify="center")
    for row, entries in rows:
        table_.add_row(row.remembers, *(_cell(entry) for entry in entries.values()))
    console.print(table_)
    console.print(
        "= exact, ≈ to leading order in lr, with the constant in this row's units; 0 runs and contributes "
        "nothing; ✗ recipes of one reading differ in memory; empty: the clock does not run."
    )
    console.print(
        "Each row is a recipe of one mechanism, and the others are made from it at the same reading."
    )


def _finite(memory: float) -> float | None:
    """JSON has no infinity, which stands for a training that diverges."""
    return memory if math.isfinite(memory) else None


def _cell(entry: "Entry") -> str:
    mark = MARKS[entry.verdict]
    return mark if entry.constant is None else f"{mark} {entry.constant:.4g}"
