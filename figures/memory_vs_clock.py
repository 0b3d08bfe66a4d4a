r"""A memory against its own clock: whatever the recipe, what is left of the start lies on one line.

Each panel is a solvable model. Its recipes differ in learning rate, batch size and schedule, and each is
trained for several lengths. At the age of the model, which is its clock with its constant, all of them lie on
the line of the law. The rings are the same trainings at the reading of a clock that is not the model's, in
units in which the first recipe fits; where a reading is beyond the panel there is no ring. To draw and save
the figure, after half a minute of training:

.. code-block:: python

    from pathlib import Path
    from initmem.figures import memory_panels, memory_vs_clock, style

    panels = memory_panels.simulate_panels()
    style.save(memory_vs_clock.draw(panels), Path("memory_vs_clock"))

The distances to the line that are not chance are of first order in the learning rate. They can be seen for
Adam with L2, whose normaliser remembers larger weights: :func:`~initmem.theory.models.gradient_free.lag`
says by how much. Adam's norm is among random gradients, with a second average that has no delay.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from . import style
from .memory_panels import FAMILIES, Family, Panel

_LOOKS = (("#0072B2", "o", 4.6), ("#D55E00", "s", 4.6), ("#CC79A7", "D", 4.6), ("#009E73", "^", 5.6))
_RING: dict[str, Any] = {"ls": "", "ms": 4, "mfc": "none", "mec": style.LIGHT, "mew": 0.9, "zorder": 1}
_OTHERS = {"T_SGD": r"$T_{SGD}$", "T_adapt": r"$T_{adapt}$", "sum lr^2": r"$\sum\eta_k^2$"}


def draw(panels: Sequence[Panel]) -> Figure:
    """Draw memories against clocks, four panels a row.

    Parameters
    ----------
    panels : sequence of Panel
        As :func:`~initmem.figures.memory_panels.simulate_panels` gives them.

    Returns
    -------
    Figure
    """
    columns = min(4, len(panels))
    rows = -(-len(panels) // columns)
    with style.context():
        figure = style.new_figure(height=0.5 + 2.75 * rows)
        grid = figure.subplots(rows, columns, sharey=True, squeeze=False)
        for axes, panel in zip(grid.flat, panels, strict=False):
            _panel(axes, panel)
        for axes in grid.flat[len(panels) :]:
            axes.set_axis_off()
        for axes in grid[:, 0]:
            axes.set_ylabel("share of the start left")
        line = Line2D([], [], color=style.INK, linewidth=1.2, label="law")
        dots = [Line2D([], [], ls="", label=f.words, **_dot(f)) for f in FAMILIES]
        ring = Line2D([], [], marker="o", label="the same by a wrong clock", **_RING)
        figure.legend(handles=[line, *dots, ring], loc="outside upper center", ncols=6, columnspacing=1.4)
    return figure


def alt(panels: Sequence[Panel]) -> str:
    """One sentence for who cannot see the figure."""
    parts = []
    for panel in panels:
        apart = max(abs(dot.simulation.difference) for dot in panel.dots)
        parts.append(f"{panel.setting.title} under {panel.setting.recipe}, {apart:.2g}")
    return (
        "Shares of the start that are left after trainings of different recipes, against the clock of each "
        f"model, beside the line of its law; the largest distance of a mean from the law: {'; '.join(parts)}."
    )


def _dot(family: Family) -> dict[str, Any]:
    colour, marker, size = _LOOKS[FAMILIES.index(family)]
    return {"color": colour, "marker": marker, "ms": size, "mec": "white", "mew": 0.5}


def _panel(axes: Axes, panel: Panel) -> None:
    setting = panel.setting
    axes.set_title(setting.title, fontweight="bold", pad=20)
    axes.annotate(setting.recipe, (0, 1), (0, 7), "axes fraction", "offset points", color=style.INK)
    axes.set(xlim=(0, 1.02 * setting.span), ylim=(0, 1.02), xlabel=setting.clock)
    axes.plot(
        np.append(0.0, panel.ages), np.append(1.0, panel.memories), color=style.INK, linewidth=1.2, gid="law"
    )
    for family in FAMILIES:
        dots = [dot for dot in panel.dots if dot.family == family]
        x, y = [dot.prediction.age for dot in dots], [dot.simulation.mean for dot in dots]
        errors = [dot.simulation.standard_error for dot in dots]
        axes.errorbar(x, y, errors, ls="", elinewidth=1.0, zorder=3, gid=family.words, **_dot(family))
        ringed = [(dot.reading, dot.simulation.mean) for dot in dots if dot.reading <= setting.span]
        if ringed and family is not FAMILIES[0]:
            axes.plot(
                *zip(*ringed, strict=True), marker=_dot(family)["marker"], gid=f"ring {family.words}", **_RING
            )
    corners = ((1, 1, f"rings: by {_OTHERS[setting.other]}"), (0, 0, setting.note))
    for x, y, words in corners:
        axes.annotate(
            words,
            (x, y),
            (4 - 4 * x, 5 - 9 * y),
            "axes fraction",
            "offset points",
            ha="right" if x else "left",
            va="top" if y else "bottom",
            fontsize=8,
            color=style.MUTED,
        )
