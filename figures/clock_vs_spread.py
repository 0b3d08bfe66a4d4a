"""The face of the product: the spread of a cell against every clock that governs it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.transforms import Bbox, ScaledTranslation, Transform
from numpy.typing import NDArray

from ..theory.clocks import CLOCKS
from ..validate.regression import MINIMUM_CELLS, ClockRegression
from . import style
from .labels import around, place_labels

# The units are those of a learning rate; T_L2 is a pure number, the exponent of what decay leaves.
AXIS_LABELS = {
    "T_SGD": r"$T_{SGD} = \frac{1}{b}\sum_k \eta_k^2$   (lr² per image)",
    "T_L2": r"$T_{L2} = \lambda \sum_k \eta_k$   (dimensionless)",
    "T_adapt": r"$T_{adapt} = \sum_k \eta_k$   (lr)",
}
TITLES = {"T_SGD": "Minibatch noise", "T_L2": "Weight decay", "T_adapt": "Steps of fixed size"}

# Points nearer than this to each other along the clock are drawn side by side, this far apart.
_DODGE = 7.0


def draw(cells: pd.DataFrame, fits: Sequence[ClockRegression]) -> Figure:
    """Draw one panel a clock, with the cells it governs and the regression on it.

    Parameters
    ----------
    cells : DataFrame
        As :func:`initmem.validate.spread.spread` gives it.
    fits : sequence of ClockRegression
        Fitted; the ones at the horizon over the cells in force are drawn.

    Returns
    -------
    Figure
    """
    panels = [clock for clock in CLOCKS if not _governed(cells, clock).empty]
    with style.context():
        figure = style.new_figure(height=4.5)
        grid = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for axes, clock in zip(grid, panels, strict=True):
            _scales(axes, _drawable(_governed(cells, clock), clock), clock, _limits(cells))
            _words(axes, _governed(cells, clock), clock, horizon_fit(fits, clock))
        grid[0].set_ylabel("spread of test accuracy over $\\sigma_w$ (pp)")
        _legend(figure, cells)
        figure.draw_without_rendering()  # settles the layout, so that pixels can be measured
        for axes, clock in zip(grid, panels, strict=True):
            _data(axes, _drawable(_governed(cells, clock), clock), clock, horizon_fit(fits, clock))
    return figure


def alt(cells: pd.DataFrame, fits: Sequence[ClockRegression]) -> str:
    """One sentence for who cannot see the figure."""
    shown = cells.dropna(subset="spread")
    parts = []
    for clock in CLOCKS:
        fit = horizon_fit(fits, clock)
        if fit is not None:
            low, high = fit.ci_
            parts.append(f"{clock} {fit.coef_:.2f} [{low:.2f}, {high:.2f}] (n = {fit.n_cells_})")
    slopes = "; ".join(parts) or "no clock has cells enough for a regression"
    if shown.empty:
        return "Spread against each clock: no cell has a spread."
    top, bottom = shown.loc[shown.spread.idxmax()], shown.loc[shown.spread.idxmin()]
    return (
        f"Spread of test accuracy against each clock on logarithmic axes, from "
        f"{bottom.spread:.1f} pp ({bottom.cell}) to {top.spread:.1f} pp ({top.cell}); slopes of the "
        f"log spread on the log clock: {slopes}."
    )


def horizon_fit(fits: Sequence[ClockRegression], clock: str) -> ClockRegression | None:
    """The regression that the panel of a clock shows, if there is one."""
    for fit in fits:
        if (fit.clock, fit.at, fit.cells) == (clock, "horizon", "in_force"):
            return fit
    return None


def _governed(cells: pd.DataFrame, clock: str) -> pd.DataFrame:
    return cells[[clock in names.split("+") for names in cells.in_force]]


def _drawable(cells: pd.DataFrame, clock: str) -> pd.DataFrame:
    """The cells that logarithmic axes can show."""
    return cells[(cells.spread > 0) & (cells[clock] > 0)]


def _limits(cells: pd.DataFrame) -> tuple[float, float]:
    """Room for every spread and noise floor; an interval that reaches zero is cut at the bottom."""
    values = cells[["spread", "floor_95"]].to_numpy(dtype=float).ravel()
    values = values[values > 0]
    if not values.size:
        return 1.0, 100.0
    tops = cells[["spread", "spread_high", "floor_95"]].to_numpy(dtype=float)
    return 0.6 * float(values.min()), 2.0 * float(np.nanmax(tops))


def _scales(axes: Axes, shown: pd.DataFrame, clock: str, limits: tuple[float, float]) -> None:
    axes.set(xscale="log", yscale="log", xlabel=AXIS_LABELS[clock], ylim=limits)
    if len(shown):
        left, right = float(shown[clock].min()), float(shown[clock].max())
        room = max(1.9, (right / left) ** 0.16)
        axes.set_xlim(left / room, right * room)
    style.plain_log_ticks(axes.xaxis, *axes.get_xlim())
    style.plain_log_ticks(axes.yaxis, *limits)


def _words(axes: Axes, cells: pd.DataFrame, clock: str, fit: ClockRegression | None) -> None:
    """The title of a panel and the numbers of its fit, or why there is none."""
    shown = _drawable(cells, clock)
    if fit is not None:
        low, high = fit.ci_
        lines = [
            f"slope {fit.coef_:.2f}, 95% interval [{low:.2f}, {high:.2f}]",
            f"R² = {fit.r_squared_:.2f}, {fit.n_cells_} cells",
        ]
    elif len(shown) < MINIMUM_CELLS:
        lines = [f"no fit: {len(shown)} of at least {MINIMUM_CELLS} cells"]
    else:
        lines = ["no fit: the clock does not vary"]
    hidden = cells[~cells.cell.isin(shown.cell)]
    if len(hidden):
        lines.append("without a spread to show: " + ", ".join(hidden.cell))
    words = axes.text(0, 1.02, "\n".join(lines).replace("-", "−").replace("$", r"\$"))
    words.set(transform=axes.transAxes, color=style.MUTED, fontsize=8, linespacing=1.35)
    axes.set_title(TITLES[clock], pad=6 + 11.5 * len(lines), fontweight="bold")


def _data(axes: Axes, shown: pd.DataFrame, clock: str, fit: ClockRegression | None) -> None:
    """The fitted line with its band, the cells, and their names clear of everything else."""
    obstacles: list[Bbox] = []
    if fit is not None:
        # Over the cells that were fitted and not beyond.
        ends = fit.cells_[fit.column]
        x = np.geomspace(ends.min(), ends.max(), 60)
        line = fit.predict(x)
        axes.fill_between(x, *fit.band(x), color=style.FAINT, linewidth=0, zorder=1)
        axes.plot(x, line, color=style.MUTED, linewidth=1.3, zorder=2, gid="line")
        along = axes.transData.transform(np.column_stack([x, line]))
        obstacles += [around(x, y, 3, 3) for x, y in along]
    transforms = _side_by_side(axes, shown[clock].to_numpy(float), shown.spread.to_numpy(float))
    for cell, transform in zip(shown.itertuples(), transforms, strict=True):
        obstacles += _cell(axes, cell, clock, transform)
    points = list(zip(shown[clock], shown.spread, strict=True))
    place_labels(axes, points, transforms, list(shown.cell), obstacles)


def _side_by_side(axes: Axes, x: NDArray[np.float64], y: NDArray[np.float64]) -> list[Transform]:
    """For every point the transform that draws it, moved a little where others share its clock."""
    scale = axes.figure.dpi / 72
    places = axes.transData.transform(np.column_stack([x, np.ones_like(x)]))[:, 0] / scale
    order = np.argsort(places, kind="stable")
    breaks = np.flatnonzero(np.diff(places[order]) > _DODGE) + 1
    moved = np.zeros_like(x)
    for group in np.split(order, breaks):
        group = group[np.argsort(-y[group], kind="stable")]  # a staircase leaves room for names
        wanted = np.mean(places[group]) + _DODGE * (np.arange(len(group)) - (len(group) - 1) / 2)
        moved[group] = wanted - places[group] if len(group) > 1 else 0.0
    return [
        axes.transData + ScaledTranslation(points / 72, 0, axes.figure.dpi_scale_trans) for points in moved
    ]


def _cell(axes: Axes, cell: Any, clock: str, transform: Transform) -> list[Bbox]:
    """One cell: marker, interval and noise floor. Returns the boxes that the last two take."""
    _, colour, marker = style.optimizer_style(cell.optimizer)
    x, taken = getattr(cell, clock), []
    if np.isfinite(cell.spread_low):
        ends = [max(cell.spread_low, axes.get_ylim()[0]), cell.spread_high]
        axes.plot([x, x], ends, color=colour, linewidth=1.2, zorder=3, transform=transform)
        (left, bottom), (right, top) = transform.transform([(x, end) for end in ends])
        taken.append(Bbox.from_extents(left - 3, bottom, right + 3, top))
    if cell.floor_95 > 0:
        tick = {"marker": "_", "markersize": 9, "linestyle": "", "color": style.INK}
        axes.plot(x, cell.floor_95, zorder=5, transform=transform, **tick)
        across, up = transform.transform((x, cell.floor_95))
        taken.append(around(across, up, 8, 3))
    above = cell.spread > cell.floor_95
    axes.plot(
        x,
        cell.spread,
        marker=marker,
        markersize=7,
        markerfacecolor=colour if above or np.isnan(cell.floor_95) else "white",
        markeredgecolor=colour,
        markeredgewidth=1.4,
        linestyle="",
        zorder=4,
        transform=transform,
        gid=f"cell {cell.cell}",
    )
    return taken


def _legend(figure: Figure, cells: pd.DataFrame) -> None:
    used = [name for name in style.OPTIMIZERS if (cells.optimizer == name).any()]
    if not cells.optimizer.isin(list(style.OPTIMIZERS)).all():
        used.append("other")
    marks: list[Any] = []
    for name in used:
        label, colour, marker = style.optimizer_style(name)
        marks.append(Line2D([], [], color=colour, marker=marker, linewidth=1.2, label=label))
    hollow = {"markerfacecolor": "white", "markeredgecolor": style.MUTED, "markeredgewidth": 1.4}
    marks += [
        Line2D([], [], marker="o", linestyle="", label="open: spread within the noise", **hollow),
        Line2D([], [], marker="_", color=style.INK, markersize=9, linestyle="", label="95% noise floor"),
        Line2D([], [], color=style.MUTED, linewidth=1.3, label="least squares"),
        Patch(facecolor=style.FAINT, label="95% band"),
    ]
    figure.legend(
        handles=marks,
        loc="outside lower center",
        ncols=len(marks),
        columnspacing=1.4,
        handlelength=1.4,
        handletextpad=0.5,
    )
