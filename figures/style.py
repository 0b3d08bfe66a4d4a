"""One look for all figures, and one way to save them.

Figures are drawn with matplotlib's objects and never through pyplot, in a context that starts from
matplotlib's own defaults: neither do the reader's settings enter the figures nor ours leave them.
"""

import io
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter

from ..empirics.store import write_file

# Okabe and Ito's colours, told apart under every common form of colour blindness. The marker says
# the same thing a second time, for print in grey.
OPTIMIZERS: dict[str, tuple[str, str, str]] = {
    "sgd": ("SGD", "#0072B2", "o"),
    "adam": ("Adam", "#D55E00", "s"),
    "adamw": ("AdamW", "#CC79A7", "D"),
    "muon": ("Muon", "#009E73", "^"),
}
OTHER = ("other", "#4D4D4D", "v")

INK = "#222222"
MUTED = "#6B6B6B"
LIGHT = "#C9C9C9"
FAINT = "#ECECEC"

# Inches: at 72 points an inch this is the text width of the report, so its fonts come out as given.
WIDTH = 9.5

_RC: dict[str, Any] = {
    "figure.constrained_layout.use": True,
    "figure.dpi": 100,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "savefig.dpi": 200,
    "font.family": "DejaVu Sans",  # comes with matplotlib, so that every machine draws the same
    "mathtext.fontset": "dejavusans",
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.titlelocation": "left",
    "axes.titlepad": 7,
    "axes.labelsize": 9,
    "axes.labelcolor": INK,
    "axes.edgecolor": MUTED,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.color": INK,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "xtick.minor.width": 0.5,
    "ytick.minor.width": 0.5,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "svg.fonttype": "path",
    "svg.hashsalt": "initmem-theory",
}

# Groups of settings that change how a figure looks; the others, like the backend, stay as they are.
_LOOK = (
    "agg. axes. errorbar. figure. font. grid. hatch. image. legend. lines. markers. mathtext. patch. "
    "path. savefig. scatter. svg. text. xaxis. xtick. yaxis. ytick."
)

# What a figure file may be stamped with but must not be, so that equal figures are equal files.
_STAMPS: dict[str, dict[str, Any]] = {
    "svg": {"Date": None, "Creator": None},
    "png": {"Software": None},
}


def context() -> AbstractContextManager[None]:
    """The settings in which every figure is drawn and saved; the old ones return at its end."""
    settings: Any = {k: v for k, v in mpl.rcParamsDefault.items() if f"{k.partition('.')[0]}." in _LOOK}
    return mpl.rc_context(settings | _RC)


def optimizer_style(optimizer: str) -> tuple[str, str, str]:
    """Name, colour and marker of an optimizer.

    Examples
    --------
    >>> optimizer_style("muon")
    ('Muon', '#009E73', '^')
    """
    return OPTIMIZERS.get(optimizer, OTHER)


def new_figure(height: float, width: float = WIDTH) -> Figure:
    """An empty figure that can measure its texts."""
    figure = Figure(figsize=(width, height))
    FigureCanvasAgg(figure)
    return figure


def plain_log_ticks(axis: Axis, low: float, high: float) -> None:
    """Label a logarithmic axis with plain numbers: at 1, 2, 5 where it is short, else at decades.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> axes = Figure().subplots()
    >>> _ = axes.set(xscale="log", xlim=(0.04, 0.6))
    >>> plain_log_ticks(axes.xaxis, 0.04, 0.6)
    >>> [text.get_text() for text in axes.get_xticklabels()]
    ['0.05', '0.1', '0.2', '0.5']
    """
    decades = np.log10(high / low)
    steps = (1, 2, 5) if decades < 1.8 else (1, 3) if decades < 2.6 else (1,)
    every = [step * 10.0**k for k in range(-15, 16) for step in steps]
    axis.set_major_locator(FixedLocator([tick for tick in every if low <= tick <= high]))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_locator(LogLocator(subs=list(range(1, 10)), numticks=200))
    axis.set_minor_formatter(NullFormatter())


def render(figure: Figure, kind: str = "svg") -> bytes:
    """The bytes of a figure as ``svg`` or ``png``; equal figures give equal bytes."""
    content = io.BytesIO()
    with context():
        figure.savefig(content, format=kind, metadata=_STAMPS[kind])
    return content.getvalue()


def save(figure: Figure, stem: Path) -> list[Path]:
    """Write ``stem.svg`` and ``stem.png``, each whole or not at all.

    Parameters
    ----------
    figure : Figure
    stem : Path
        Without suffix; missing folders are made.

    Returns
    -------
    list of Path
    """
    stem.parent.mkdir(parents=True, exist_ok=True)
    written = []
    for kind in ("svg", "png"):
        path = stem.with_name(f"{stem.name}.{kind}")
        write_file(path, render(figure, kind))
        written.append(path)
    return written
