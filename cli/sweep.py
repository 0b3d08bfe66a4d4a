"""``initmem-theory sweep``: train, or go on training."""

from pathlib import Path
from typing import Annotated

import typer

Preset = Annotated[str, typer.Option(help="quick (minutes on two cores) or smoke (seconds).")]
Out = Annotated[Path, typer.Option(help="Folder of the sweep; what is finished there is kept.")]
Workers = Annotated[
    int | None,
    typer.Option(help="Processes of one thread each.", show_default="one for each core"),
]


def command(
    out: Out,
    preset: Preset = "quick",
    workers: Workers = None,
) -> None:
    """Train every run of a preset that is not finished yet, and write the table of all runs.

    Stop it whenever you like, with Ctrl-C or by force: the same command goes on where it stopped,
    and the table comes out the same.
    """
    from ..empirics.presets import preset as named
    from ..empirics.table import gather, write_table
    from .progress import run_with_bar

    run_with_bar(named(preset), out, workers)
    table = gather(out)
    write_table(table, out / "table")
    print(f"{len(table)} runs in {table.cell.nunique()} cells: {out / 'table.csv'}")
