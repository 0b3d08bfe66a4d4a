"""Tables, figures and report of a study, written into a folder."""

from collections.abc import Callable
from pathlib import Path

from matplotlib.figure import Figure

from ..empirics.store import write_file
from ..empirics.table import write_table
from ..validate.report import ReportFigure, render_report
from ..validate.study import Study
from . import accuracy_vs_scale, clock_vs_spread, radial_memory, style

Drawn = tuple[Callable[[Study], Figure], Callable[[Study], str], str, str]

# By file name: how to draw it, how to say it, its title and its caption; the first one leads.
FIGURES: dict[str, Drawn] = {
    "clock_vs_spread": (
        lambda study: clock_vs_spread.draw(study.cells, study.fits),
        lambda study: clock_vs_spread.alt(study.cells, study.fits),
        "Spread against the clocks",
        "A point is a cell, in the panel of every clock that governs it; bars are 95% bootstrap "
        "intervals, cut at the axis where they reach zero. Spreads below their noise floor are drawn "
        "open. Line and band are the regressions of the table below, over the cells of the panel. "
        "Cells with the same clock stand side by side.",
    ),
    "radial_memory": (
        lambda study: radial_memory.draw(study.table, study.radial),
        lambda study: radial_memory.alt(study.table, study.radial),
        "Radial memory",
        "Dots are runs, lines their geometric means over seeds, numbers the radial memory of the cell. "
        "On the dashed line the length of the start is kept; a flat line has forgotten it.",
    ),
    "accuracy_vs_scale": (
        lambda study: accuracy_vs_scale.draw(study.table, study.cells),
        lambda study: accuracy_vs_scale.alt(study.table, study.cells),
        "Accuracy against the scale of the start",
        "Dots are runs, lines their means over seeds. The grey band is as high as the 95% noise floor: "
        "a line that stays inside shows no effect beyond the noise.",
    ),
}


def publish(study: Study, folder: Path) -> Path:
    """Write ``report.html``, ``figures/``, ``cells.csv`` and the table of runs into a folder.

    Parameters
    ----------
    study : Study
    folder : Path
        Files of an earlier report are replaced, each one whole.

    Returns
    -------
    Path
        Of the report, a file that needs nothing beside it.
    """
    pictures = []
    for stem, (draw, alt, title, caption) in FIGURES.items():
        figure = draw(study)
        svg, _ = style.save(figure, folder / "figures" / stem)
        pictures.append(ReportFigure(title, caption, alt(study), svg.read_bytes()))
    write_table(study.table, folder / "table")
    cells = study.cells.merge(study.radial, on="cell", how="left")
    write_file(folder / "cells.csv", cells.to_csv(index=False).encode())
    report = folder / "report.html"
    write_file(report, render_report(study, pictures).encode())
    return report
