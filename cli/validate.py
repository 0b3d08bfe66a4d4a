"""``initmem-theory validate``: from the runs of a sweep to a report."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..theory.clocks import CLOCKS
from ..theory.errors import WorkFailed

if TYPE_CHECKING:
    from ..validate.study import Study

Rounds = Annotated[int, typer.Option(min=100, help="Bootstrap rounds.")]


def command(
    folder: Annotated[Path, typer.Argument(help="Folder of a sweep.")],
    allow_missing: Annotated[
        bool, typer.Option("--allow-missing", help="Go on although runs are not finished.")
    ] = False,
    rounds: Rounds = 2000,
) -> None:
    """Measure spread, noise floor and radial memory, regress on the clocks, write the report."""
    validate(folder, allow_missing=allow_missing, rounds=rounds)


def validate(folder: Path, allow_missing: bool = False, rounds: int = 2000) -> None:
    """Compute a study, write its tables, figures and report into its folder, print the essentials."""
    from ..figures.publish import publish
    from ..validate.study import study

    result = study(folder, allow_missing=allow_missing, rounds=rounds)
    _tell_what_is_wrong(result)
    report = publish(result, folder)
    _print(result)
    print(f"report: {report}")


def _tell_what_is_wrong(study: "Study") -> None:
    """Name missing and diverged runs; stop if there is nothing to validate."""
    runs, lost = len(study.table), study.diverged
    if study.missing:
        print(f"{len(study.missing)} of {runs + len(study.missing)} runs are missing.", file=sys.stderr)
    if len(lost) == runs:
        raise WorkFailed(f"all {runs} runs diverged: lower the learning rate.")
    if len(lost):
        cells = ", ".join(repr(cell) for cell in lost.cell.unique())
        print(f"{len(lost)} of {runs} runs diverged (loss not finite), in {cells}.", file=sys.stderr)


def _print(study: "Study") -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from ..validate.numbers import fixed, interval

    cells = Table(
        title="spread in percentage points, 95% noise floor, radial memory",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        collapse_padding=True,
    )
    cells.add_column("cell", no_wrap=True)
    for column in (*CLOCKS, "spread", "floor", "radial"):
        cells.add_column(column, justify="right", no_wrap=True)
    for cell, radial in zip(study.cells.itertuples(), study.radial.itertuples(), strict=True):
        in_force = cell.in_force.split("+")
        clocks = (
            Text(f"{getattr(cell, clock):.3g}", style="bold" if clock in in_force else "dim")
            for clock in CLOCKS
        )
        cells.add_row(
            Text(cell.cell),
            *clocks,
            Text(f"{fixed(cell.spread)} {interval(cell.spread_low, cell.spread_high)}"),
            fixed(cell.floor_95),
            fixed(radial.slope, 2),
        )
    verdicts = Table.grid(padding=(0, 2))
    for claim in study.claims:
        verdicts.add_row(Text(claim.verdict), claim.number, Text(claim.statement))
    console = Console(highlight=False)
    console.print(cells, verdicts)
