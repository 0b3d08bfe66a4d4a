"""``initmem-theory validate``: from the runs of a sweep to a report."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..theory.clocks import CLOCKS

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
    report = publish(result, folder)
    _print(result)
    print(f"report: {report}")


def _print(study: "Study") -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title="cells; bold clocks are in force", title_justify="left", title_style="bold")
    for column, justify in (
        ("cell", "left"),
        *((clock, "right") for clock in CLOCKS),
        ("spread pp [95%]", "right"),
        ("floor 95%", "right"),
        ("radial", "right"),
    ):
        table.add_column(column, justify=justify, no_wrap=True)
    for cell, radial in zip(study.cells.itertuples(), study.radial.itertuples(), strict=True):
        clocks = (
            f"[bold]{value:.2g}[/bold]" if clock in cell.in_force.split("+") else f"[dim]{value:.2g}[/dim]"
            for clock, value in (
                ("T_SGD", cell.T_SGD),
                ("T_L2", cell.T_L2),
                ("T_adapt", cell.T_adapt),
            )
        )
        table.add_row(
            Text(cell.cell),
            *clocks,
            f"{cell.spread:.1f} [{cell.spread_low:.1f}, {cell.spread_high:.1f}]".replace("[", r"\["),
            f"{cell.floor_95:.1f}",
            f"{radial.slope:.2f}",
        )
    console = Console()
    console.print(table, highlight=False)
    for claim in study.claims:
        console.print(f"{claim.verdict:>12}  {claim.number}  {claim.statement}", highlight=False)
