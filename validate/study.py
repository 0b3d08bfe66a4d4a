"""Everything that a finished sweep says, computed once: tables, regressions, verdicts."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from ..empirics.config import Run, Sweep
from ..empirics.store import read_sweep
from ..empirics.table import gather
from .claims import Claim, claims
from .radial import radial_memory
from .regression import ClockRegression, fits
from .spread import spread


@dataclass(frozen=True)
class Study:
    """A sweep and what was computed from it; the report and the figures show this and nothing else.

    Attributes
    ----------
    sweep : Sweep
    table : DataFrame
        A row a run.
    cells : DataFrame
        A row a cell: spread, interval, noise floor.
    radial : DataFrame
        A row a cell: radial memory.
    fits : sequence of ClockRegression
    claims : sequence of Claim
    """

    sweep: Sweep
    table: pd.DataFrame
    cells: pd.DataFrame
    radial: pd.DataFrame
    fits: Sequence[ClockRegression]
    claims: Sequence[Claim]

    @property
    def missing(self) -> list[Run]:
        """Runs of the sweep that the table lacks."""
        there = set(zip(self.table.cell, self.table.init_scale, self.table.seed, strict=True))
        return [run for run in self.sweep.runs() if (run.cell.name, run.init_scale, run.seed) not in there]

    @property
    def diverged(self) -> pd.DataFrame:
        """Rows of the table whose run diverged."""
        return self.table[self.table.diverged.astype(bool)]


def study(folder: Path, allow_missing: bool = False, rounds: int = 2000, random_state: int = 0) -> Study:
    """Read a sweep and compute everything that is reported about it.

    Parameters
    ----------
    folder : Path
        Of the sweep.
    allow_missing : bool
        Whether to go on although runs are not finished; the report names them.
    rounds, random_state : int
        Of the bootstrap.

    Raises
    ------
    InvalidInput
        If the folder holds no sweep.
    WorkFailed
        If runs are missing, or one of them cannot be read.
    """
    table = gather(folder, allow_missing=allow_missing)
    cells = spread(table, rounds=rounds, random_state=random_state)
    radial = radial_memory(table)
    regressions = fits(cells)
    return Study(
        sweep=read_sweep(folder),
        table=table,
        cells=cells,
        radial=radial,
        fits=regressions,
        claims=claims(table, cells, radial, regressions, rounds, random_state),
    )
