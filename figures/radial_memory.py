"""How much of the length of the start is left in the length of the end, cell by cell."""

from collections.abc import Callable

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import NullLocator

from . import style
from .labels import spread_apart

# A panel each, in this order; what none of them takes goes into the last one.
FAMILIES: dict[str, Callable[[pd.Series], bool]] = {
    "SGD": lambda cell: cell.optimizer == "sgd" and cell.weight_decay == 0,
    "SGD with weight decay": lambda cell: cell.optimizer == "sgd",
    "Adam and AdamW": lambda cell: cell.optimizer in ("adam", "adamw"),
    "Muon": lambda cell: cell.optimizer == "muon",
    "Others": lambda cell: True,
}

# Of the labels, in points, and the least distance from line to line as a share of the panel's height.
_SIZE = 7.5
_LINE = 0.052


def draw(table: pd.DataFrame, radial: pd.DataFrame) -> Figure:
    """Draw final against initial norm, a line a cell, one panel a family of optimizers.

    Parameters
    ----------
    table : DataFrame
        A row a run, as :func:`initmem.empirics.table.gather` gives it.
    radial : DataFrame
        As :func:`initmem.validate.radial.radial_memory` gives it.

    Returns
    -------
    Figure
    """
    norms = table.dropna(subset=["initial_norm", "final_norm"])
    families = _families(table)
    with style.context():
        figure = style.new_figure(height=3.7)
        grid = figure.subplots(1, len(families), sharex=True, sharey=True, squeeze=False)[0]
        low, high = _limits(norms.initial_norm)
        bottom, top = _limits(pd.concat([norms.initial_norm, norms.final_norm]))
        for axes, family in zip(grid, families, strict=True):
            axes.set(xscale="log", yscale="log", xlim=(low, high), ylim=(bottom, top))
            axes.set_title(family, fontweight="bold")
            style.plain_log_ticks(axes.xaxis, low, high)
            style.plain_log_ticks(axes.yaxis, bottom, top)
            axes.xaxis.set_minor_locator(NullLocator())
            axes.spines.bottom.set_bounds(low, high)
            axes.plot([low, high], [low, high], color=style.MUTED, linewidth=0.9, dashes=(4, 3))
        grid[0].set_ylabel("Frobenius norm of all kernels at the end")
        figure.supxlabel("Frobenius norm of all kernels at the start", fontsize=9, color=style.INK)
        figure.draw_without_rendering()  # settles the layout, so that texts can be measured
        labels = [
            label
            for axes, cells in zip(grid, families.values(), strict=True)
            for label in _panel(axes, norms[norms.cell.isin(cells)], radial)
        ]
        # The lines fan out at their left ends, so the labels stand there: make room for the widest.
        width = max((label.get_window_extent().width for label in labels), default=0.0)
        share = min(width / grid[0].get_window_extent().width + 0.06, 0.7)
        grid[0].set_xlim(high * (low / high) ** (1 / (1 - share)), high)
    return figure


def alt(table: pd.DataFrame, radial: pd.DataFrame) -> str:
    """One sentence for who cannot see the figure."""
    known = radial.dropna(subset="slope").sort_values("slope", ascending=False)
    slopes = ", ".join(f"{row.cell} {row.slope:.2f}" for row in known.itertuples())
    return (
        "Final against initial norm of the kernels on logarithmic axes, where slope 1 keeps the length "
        f"of the start and slope 0 forgets it; slopes by cell: {slopes or 'none could be measured'}."
    )


def _families(table: pd.DataFrame) -> dict[str, list[str]]:
    members: dict[str, list[str]] = {}
    for _, cell in table.drop_duplicates("cell").iterrows():
        family = next(name for name, belongs in FAMILIES.items() if belongs(cell))
        members.setdefault(family, []).append(cell.cell)
    return {name: members[name] for name in FAMILIES if name in members}


def _limits(norms: pd.Series) -> tuple[float, float]:
    if norms.empty:
        return 1.0, 10.0
    return 0.75 * float(norms.min()), 1.35 * float(norms.max())


def _panel(axes: Axes, runs: pd.DataFrame, radial: pd.DataFrame) -> list[Text]:
    """The lines of one family. Returns their labels."""
    slopes = dict(zip(radial.cell, radial.slope, strict=True))
    starts: list[tuple[str, float, float, str]] = []
    for cell, of_cell in runs.groupby("cell", sort=False):
        _, colour, marker = style.optimizer_style(of_cell.optimizer.iloc[0])
        axes.plot(
            of_cell.initial_norm,
            of_cell.final_norm,
            marker=marker,
            markersize=3.5,
            color=colour,
            alpha=0.35,
            markeredgewidth=0,
            linestyle="",
        )
        # Geometric means over seeds: what a mean is on logarithmic axes.
        logs = of_cell.assign(x=np.log(of_cell.initial_norm), y=np.log(of_cell.final_norm))
        mean = np.exp(logs.groupby("init_scale")[["x", "y"]].mean())
        axes.plot(mean.x, mean.y, color=colour, linewidth=1.4, gid=f"cell {cell}")
        words = f"{cell}  {slopes[cell]:.2f}".replace("$", r"\$").replace("-", "−")
        starts.append((words, mean.x.iloc[0], mean.y.iloc[0], colour))
    return _labels(axes, starts)


def _labels(axes: Axes, starts: list[tuple[str, float, float, str]]) -> list[Text]:
    """Name and slope before the first point of every line, or as near to it as there is room."""
    to_share = axes.transData + axes.transAxes.inverted()
    wanted = [to_share.transform((x, y))[1] for _, x, y, _ in starts]
    heights = spread_apart(wanted, _LINE)
    labels = []
    for (words, x, y, colour), before, height in zip(starts, wanted, heights, strict=True):
        shift = (height - before) * axes.get_window_extent().height * 72 / axes.figure.dpi
        label = axes.annotate(
            words,
            (x, y),
            xytext=(-7, shift),
            textcoords="offset points",
            fontsize=_SIZE,
            color=colour,
            ha="right",
            va="center",
        )
        label.set_in_layout(False)
        labels.append(label)
    return labels
