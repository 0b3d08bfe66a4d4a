r"""What makes scale-invariant weights forget their norm under SGD with L2, at a fixed number of epochs.

Every recipe of a constant rate and a batch size is coloured by its mechanism, see
:mod:`~initmem.figures.norm_phases`. Where noise dominates, equal memory means equal :math:`\eta/b`, as equal
T_SGD does; where the signal does, it means equal :math:`\eta^2/b`, and T_SGD misleads. Where decay does, it
means equal :math:`\eta/b` again, but only because the epochs are fixed. To draw and save the figure:

.. code-block:: python

    from pathlib import Path
    from initmem.figures import phase_diagram, style

    style.save(phase_diagram.draw(), Path("phase_diagram"))
"""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike
from scipy.ndimage import distance_transform_edt

from ..theory.trace import Array
from . import style
from .norm_phases import REGIONS, Norm

LEFT = (0.95, 0.5, 0.05)  # memories whose contours are drawn
DECAYS = (0.0, 3e-5, 3e-4)

_COLOURS = {"remembered": "#FFFFFF", "signal": "#CDE9DD", "noise": "#CFE2F3", "decay": "#F8DDC8"}
_DARK = {"remembered": style.INK, "signal": "#00664A", "noise": "#00558A", "decay": "#9A4300"}
_POINTS = 301  # of a grid along each axis
_ROOM = 0.03  # of the panel's height, what a word needs above and below its middle


def grid(norm: Norm) -> tuple[Array, Array]:
    """Batch sizes, shape (1, points), and learning rates, shape (points, 1), of the axes."""
    batch = np.geomspace(1, min(8192, norm.train_size), _POINTS)
    return batch[None], np.geomspace(1e-4, 1, _POINTS)[:, None]


def guide(norm: Norm, batch_size: ArrayLike) -> Array:
    """The learning rates of equal T_SGD at which noise by itself would leave 80%.

    Examples
    --------
    >>> norm = Norm(gradient_norm=0.0, train_size=10**9)
    >>> norm.memory(guide(norm, [1.0, 64.0]), [1.0, 64.0], 0.0).round(6).tolist()
    [0.8, 0.8]
    """
    t_sgd = 0.25 * norm.init_scale**4 / (2 * norm.noise**2)
    b = np.asarray(batch_size, dtype=float)
    return b * np.sqrt(t_sgd / (norm.epochs * norm.train_size))


def draw(norm: Norm | None = None, decays: Sequence[float] = DECAYS) -> Figure:
    """Draw the regions, a panel for every weight decay.

    Parameters
    ----------
    norm : Norm, optional
    decays : sequence of float

    Returns
    -------
    Figure
    """
    norm = norm or Norm()
    with style.context():
        figure = style.new_figure(height=4.3)
        row = figure.subplots(1, len(decays), sharey=True, squeeze=False)[0]
        figure.suptitle(
            "Colours: what makes scale-invariant weights forget more than half of the norm they started "
            r"with. Lines: the memory of it, $d\,\ln r_K/d\,\ln r_0$."
            "\n"
            f"{norm.epochs} epochs over $N$ = {norm.train_size:,} examples by SGD with L2 at a constant rate"
            f"; norm $r_0$ = {norm.init_scale:g} at the start, gradient $G$ = {norm.gradient_norm:g} and "
            f"noise $s$ = {norm.noise:g} at unit norm.",
            x=0.005,
            ha="left",
            fontsize=9,
            linespacing=1.5,
        )
        for axes, weight_decay in zip(row, decays, strict=True):
            _panel(axes, norm, weight_decay)
        row[0].set_ylabel("learning rate η")
        figure.draw_without_rendering()  # labels of contours take their angles from the layout
        for axes, weight_decay in zip(row, decays, strict=True):
            _contours(axes, norm, weight_decay)
    return figure


def alt(norm: Norm | None = None, decays: Sequence[float] = DECAYS) -> str:
    """One sentence for who cannot see the figure."""
    norm = norm or Norm()
    batch, lr = grid(norm)
    parts = []
    for weight_decay in decays:
        counts = np.bincount(norm.region(lr, batch, weight_decay).ravel(), minlength=len(REGIONS))
        shares = (f"{name} {100 * n / counts.sum():.0f}%" for name, n in zip(REGIONS, counts, strict=True))
        parts.append(f"{', '.join(shares)} at weight decay {weight_decay:g}")
    return (
        "Which mechanism makes scale-invariant weights forget their norm, over batch size and learning rate; "
        f"shares of the plane: {'; '.join(parts)}."
    )


def _panel(axes: Axes, norm: Norm, weight_decay: float) -> None:
    batch, lr = grid(norm)
    x, y = np.broadcast_arrays(batch, lr)
    decay, growth = norm.forgotten(lr, batch, weight_decay)
    signal, noise = np.broadcast_arrays(*norm.gradient_squares(x))
    # Painted one over the other, so that the borders are as smooth as the fields.
    axes.set(xscale="log", yscale="log", xlim=(x.min(), x.max()), ylim=(y.min(), y.max()))
    axes.set_facecolor(_COLOURS["noise"])
    layers = (signal - noise, "signal"), (decay - growth, "decay"), (np.log(2) - decay - growth, "remembered")
    for field, name in layers:
        if field.max() > 0:
            axes.contourf(x, y, field, levels=(0, np.inf), colors=[_COLOURS[name]], zorder=0)
    _guide(axes, norm, batch[0])
    given = f"weight decay {np.format_float_positional(weight_decay)}" if weight_decay else "no weight decay"
    axes.set_title(given, fontweight="bold")
    axes.set_xlabel("batch size b")
    style.plain_log_ticks(axes.xaxis, x.min(), x.max())
    style.plain_log_ticks(axes.yaxis, y.min(), y.max())
    bands = np.searchsorted(np.log(LEFT[::-1]), -decay - growth)
    _names(axes, norm.region(lr, batch, weight_decay), bands)


def _contours(axes: Axes, norm: Norm, weight_decay: float) -> None:
    """Lines of equal memory with their labels beside the left edge."""
    batch, lr = grid(norm)
    forgotten = np.add(*norm.forgotten(lr, batch, weight_decay))
    levels = -np.log(LEFT)
    lines = axes.contour(
        batch[0], lr[:, 0], forgotten, levels, colors=style.INK, linewidths=1, linestyles="solid", zorder=2
    )
    column = batch.size // 9
    heights = np.interp(levels, forgotten[:, column], lr[:, 0])  # more is forgotten at larger rates
    labels = {level: f"{100 * left:g}%" for level, left in zip(levels, LEFT, strict=True)}
    lines.clabel(fmt=labels, fontsize=8, manual=[(batch[0, column], height) for height in heights])


def _guide(axes: Axes, norm: Norm, batch: Array) -> None:
    """A line of equal T_SGD, with its name below."""
    rates = guide(norm, batch)
    axes.plot(batch, rates, color=style.MUTED, ls=(0, (4, 2)), lw=0.9, gid="guide")
    at = len(batch) // 4
    x, y = batch[at], 0.82 * rates[at]
    axes.text(
        x,
        y,
        "equal $T_{SGD}$",
        rotation=float(np.degrees(np.arctan2(y, x))),
        rotation_mode="anchor",
        transform_rotates_text=True,
        va="top",
        fontsize=8,
        color=style.MUTED,
    )


def _names(axes: Axes, region: np.ndarray, bands: np.ndarray) -> None:
    """Each region's name where it has most room between two contours; a word is wider than high."""
    last = len(region) - 1
    for index, name in enumerate(REGIONS):
        rooms = []
        for band in np.unique(bands):
            inside = np.pad((region == index) & (bands == band), 1)
            rooms.append(distance_transform_edt(inside, sampling=(1, 0.4))[1:-1, 1:-1] / last)
        room = np.max(rooms, axis=0)
        if room.max() > _ROOM:
            row, column = np.unravel_index(room.argmax(), room.shape)
            axes.text(
                float(column / last),
                float(row / last),
                name,
                transform=axes.transAxes,
                ha="center",
                va="center",
                fontweight="bold",
                color=_DARK[name],
                bbox={"fc": _COLOURS[name], "lw": 0, "pad": 0.5},
                gid=f"name {name}",
            )
