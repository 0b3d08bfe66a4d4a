"""Test accuracy against the scale of the start, a small panel a cell."""

import math
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from . import style

_COLUMNS = 5
_HEIGHT = 1.75  # inches a row


def draw(table: pd.DataFrame, cells: pd.DataFrame) -> Figure:
    """Draw the accuracies behind every spread, with a band as high as its noise floor.

    Parameters
    ----------
    table : DataFrame
        A row a run, as :func:`initmem.empirics.table.gather` gives it.
    cells : DataFrame
        As :func:`initmem.validate.spread.spread` gives it.

    Returns
    -------
    Figure
    """
    columns = min(_COLUMNS, len(cells))
    rows = math.ceil(len(cells) / columns)
    with style.context():
        figure = style.new_figure(height=0.6 + _HEIGHT * rows)
        grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel()
        grid[0].set_xscale("log")
        low, high = 0.8 * float(table.init_scale.min()), 1.25 * float(table.init_scale.max())
        grid[0].set_xlim(low, high)
        style.plain_log_ticks(grid[0].xaxis, low, high)
        for axes, cell in zip(grid, cells.itertuples(), strict=False):
            _panel(axes, table[table.cell == cell.cell], cell)
        for axes in grid[len(cells) :]:
            axes.set_visible(False)
        # A column that ends early has its scale under its last panel, where no panel is below.
        for axes in grid[len(cells) - columns : (rows - 1) * columns]:
            axes.tick_params(labelbottom=True)
            axes.xaxis.set_in_layout(False)
        figure.supylabel("test accuracy at the selected checkpoint (%)", fontsize=9, color=style.INK)
        figure.supxlabel("scale of the start $\\sigma_w$", fontsize=9, color=style.INK)
    return figure


def alt(table: pd.DataFrame, cells: pd.DataFrame) -> str:
    """One sentence for who cannot see the figure."""
    values = "; ".join(
        f"{row.cell} {row.spread:.1f} (best at {row.best_scale:g}, worst at {row.worst_scale:g})"
        for row in cells.dropna(subset="spread").itertuples()
    )
    return (
        f"Test accuracy against the scale of the start, one panel for each of {len(cells)} cells; "
        f"spreads in percentage points: {values or 'none could be measured'}."
    )


def _panel(axes: Axes, runs: pd.DataFrame, cell: Any) -> None:
    _, colour, marker = style.optimizer_style(cell.optimizer)
    runs = runs.dropna(subset="test_accuracy")
    mean = 100 * runs.groupby("init_scale").test_accuracy.mean()
    if np.isfinite(cell.floor_95) and len(mean):
        middle = (mean.max() + mean.min()) / 2
        axes.axhspan(middle - cell.floor_95 / 2, middle + cell.floor_95 / 2, color=style.FAINT, linewidth=0)
    axes.plot(
        runs.init_scale,
        100 * runs.test_accuracy,
        marker=marker,
        markersize=3.2,
        color=colour,
        alpha=0.35,
        markeredgewidth=0,
        linestyle="",
    )
    axes.plot(mean.index, mean, color=colour, linewidth=1.5, gid="mean")
    axes.set_title(cell.cell.replace("$", r"\$"), fontsize=8.5, fontweight="bold", pad=15)
    words = f"{_pp(cell.spread)} pp (95% floor {_pp(cell.floor_95)})"
    axes.text(0, 1.04, words, transform=axes.transAxes, fontsize=7.5, color=style.MUTED)


def _pp(value: float) -> str:
    return f"{value:.1f}" if np.isfinite(value) else "–"
