"""The runs of a sweep as one tidy table."""

import io
from pathlib import Path
from typing import Any

import pandas as pd

from ..theory.clocks import CLOCKS, clocks
from ..theory.errors import WorkFailed
from .config import Cell
from .store import is_finished, read_run, read_sweep, write_file

# Results that a run may lack: it never interpolated, or it diverged.
MAY_BE_NULL = (
    "test_accuracy",
    "test_accuracy_final",
    "selected_epoch",
    "selected_validation_loss",
    "train_loss",
    "train_accuracy",
    "validation_accuracy",
    "interpolation_epoch",
    "repair_gap",
    "selected_norm",
    "final_norm",
    *(f"{clock}_selected" for clock in CLOCKS),
    "diverged_epoch",
)


def gather(folder: Path, allow_missing: bool = False) -> pd.DataFrame:
    """One tidy table of a sweep, a row a run, in the order of the sweep.

    Parameters
    ----------
    folder : Path
    allow_missing : bool
        Whether runs that are not finished may be left out.

    Returns
    -------
    DataFrame
        Cell, recipe, clocks at the horizon, scale, seed, and the results of every run. The order and
        every value depend on the sweep alone, not on the way in which it was computed.

    Raises
    ------
    InvalidInput
        If the folder holds no sweep.
    WorkFailed
        If runs are missing, or one of them cannot be read.
    """
    runs = read_sweep(folder).runs()
    done = [run for run in runs if is_finished(folder, run)]
    if len(done) < len(runs) and not (allow_missing and done):
        missing = next(run for run in runs if not is_finished(folder, run))
        raise WorkFailed(
            f"{len(done)} of {len(runs)} runs in {folder} are finished; the first one missing is "
            f"cell {missing.cell.name!r}, init_scale {missing.init_scale:g}, seed {missing.seed}: "
            f"start the same sweep again to train what is missing."
        )
    columns = {name: cell_columns(cell) for name, cell in {r.cell.name: r.cell for r in done}.items()}
    table = pd.DataFrame(
        [
            {
                **columns[run.cell.name],
                "run": run.identity,
                "init_scale": run.init_scale,
                "seed": run.seed,
                **read_run(folder, run)["result"],
            }
            for run in done
        ]
    )
    # A column of nulls has no type of its own; epochs are whole numbers, everything else is real.
    empty = {name: "Int64" if name.endswith("_epoch") else "float64" for name in MAY_BE_NULL}
    return table.astype(empty)


def write_table(table: pd.DataFrame, stem: Path) -> None:
    """Write a table as parquet and as CSV, each whole or not at all."""
    parquet = io.BytesIO()
    table.to_parquet(parquet, index=False)
    write_file(stem.with_suffix(".parquet"), parquet.getvalue())
    write_file(stem.with_suffix(".csv"), table.to_csv(index=False).encode())


def cell_columns(cell: Cell) -> dict[str, Any]:
    """What every row of a cell has in common: its name, its recipe and its clocks at the horizon."""
    recipe, time = cell.recipe, clocks(cell.recipe)
    return {
        "cell": cell.name,
        "optimizer": recipe.optimizer,
        "lr": recipe.lr,
        "schedule": recipe.schedule,
        "epochs": recipe.total_epochs,
        "updates": time.updates,
        "batch_size": recipe.batch_size,
        "train_size": recipe.train_size,
        "momentum": recipe.momentum_coefficient,
        "weight_decay": recipe.weight_decay,
        "decay_law": recipe.decay_law,
        "data": cell.data.name,
        "pixel_noise": cell.data.pixel_noise,
        "network": cell.network.name,
        "width": cell.network.width,
        "sum_lr": time.sum_lr,
        "sum_lr_squared": time.sum_lr_squared,
        **{clock: getattr(time, clock) for clock in CLOCKS},
        "in_force": "+".join(time.in_force),
    }
