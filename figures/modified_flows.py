r"""The iterates of an optimizer lie on its modified flow, the better the more orders are kept.

Every panel lets one optimizer run on a loss of two parameters and follows, from the first iterate that is
shown, the flows of :math:`F_0 + \eta F_1 + \dots + \eta^n F_n` for n = 0, …, 3. Below are the distances
from the iterates to the flows at the same time. To draw and save the figure:

.. code-block:: python

    from pathlib import Path
    from initmem.figures import modified_flows, style

    comparisons = [modified_flows.compare(setting) for setting in modified_flows.SETTINGS]
    style.save(modified_flows.draw(comparisons), Path("modified_flows"))
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import sympy as sp
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator
from scipy.integrate import solve_ivp

from ..theory.backward_error.field import ModifiedField
from ..theory.errors import WorkFailed
from ..theory.optimizers import named
from ..theory.optimizers.constants import settle
from ..theory.optimizers.loss import Loss, gradient
from . import style

# Light to dark; hollow dots leave the line that runs through them to be seen.
COLOURS = ("#9ACBEA", "#4C9BD3", "#1C62AB", "#08275C")
_DOT: Any = {"ls": "", "marker": "o", "ms": 5, "mfc": "none", "mec": style.INK, "mew": 0.8, "zorder": 3}
_NAMES = ("plain flow, order 0", "modified flow, order 1", "order 2", "order 3")
_SYMBOLS = {"beta": "β", "beta1": "β₁", "beta2": "β₂", "eps": "ε"}
_FINE = 8  # points of a flow for every update, so that a curve looks like one


@dataclass(frozen=True)
class Setting:
    """What one panel shows.

    Attributes
    ----------
    optimizer, loss : str
        A name and a formula in x and y.
    constants : mapping of str to str
        Learning rate and all that the optimizer has, as decimal numbers, which are taken exactly.
    start : tuple of float, length 2
        Near the first iterate that is shown; an optimizer with a memory begins upstream of it.
    updates : int
    """

    optimizer: str
    loss: str
    constants: Mapping[str, str]
    start: tuple[float, float]
    updates: int


@dataclass(frozen=True, eq=False)
class Comparison:
    """Iterates beside the flows of every order.

    Attributes
    ----------
    setting : Setting
    iterates : ndarray of shape (updates + 1, 2)
    flows : ndarray of shape (4, 8 * updates + 1, 2)
        By order, with eight points an update; all start at the first iterate.
    """

    setting: Setting
    iterates: np.ndarray
    flows: np.ndarray

    @property
    def distances(self) -> np.ndarray:
        """From every iterate to the flows at the same time, shape (4, updates + 1)."""
        return np.linalg.norm(self.flows[:, ::_FINE] - self.iterates, axis=2)


_ADAM = {"lr": "0.06", "beta1": "0.6", "beta2": "0.8", "eps": "0.25"}
_COUPLED = "x**2/4 + y**2 + sin(x + y)/2"
SETTINGS = (
    Setting("gd", _COUPLED, {"lr": "0.3"}, (2.0, 1.0), 10),
    Setting("heavy-ball", _COUPLED, {"lr": "0.007", "beta": "0.7"}, (-2.5, 4.5), 24),
    # Separable: where the components of the gradient are coupled, the third order of Adam takes a minute.
    Setting("adam", "x**2/4 + cosh(y)/2", _ADAM, (2.5, 1.5), 30),
)


def compare(setting: Setting) -> Comparison:
    """Let an optimizer run and follow its modified flows from the first iterate that is shown.

    Parameters
    ----------
    setting : Setting

    Returns
    -------
    Comparison

    Examples
    --------
    One update takes 1 to 0.8 and the plain flow takes it to exp(-0.2) = 0.81873:

    >>> comparison = compare(Setting("gd", "x**2/2 + y**2/2", {"lr": "0.2"}, (1.0, 0.0), 1))
    >>> comparison.distances[:, 1].round(5).tolist()
    [0.01873, 0.00252, 0.00038, 6e-05]
    """
    loss, optimizer = Loss.parse([setting.loss]), named(setting.optimizer)
    constants = settle(optimizer, {name: sp.Rational(text) for name, text in setting.constants.items()})
    claimed = optimizer.field(loss, constants, len(COLOURS) - 1)
    slope = sp.lambdify(loss.variables, gradient(loss.mean, loss.variables), modules="math")
    numbers = constants.floats()
    memory = max((getattr(numbers, name, 0.0) for name in ("beta", "beta1", "beta2")), default=0.0)
    # The memory has forgotten its start where the weight of the first gradient is below rounding.
    burn_in = math.ceil(math.log(1e-17) / math.log(memory)) if memory else 0
    theta, state = np.array(setting.start), None
    theta = _flow(claimed, constants.lr, 0, theta, -burn_in)[-1] if burn_in else theta
    iterates = [theta]
    for _ in range(burn_in + setting.updates):
        theta, state = optimizer.step(theta, lambda at: np.array(slope(*at)), state, numbers)
        iterates.append(theta)
    shown = np.array(iterates[burn_in:])
    flows = [_flow(claimed, constants.lr, n, shown[0], setting.updates) for n in range(len(COLOURS))]
    return Comparison(setting, shown, np.array(flows))


def _flow(claimed: ModifiedField, lr: sp.Expr, order: int, start: np.ndarray, updates: int) -> np.ndarray:
    """One order of the flow, at times between the updates too; backwards if `updates` is negative."""
    kept = replace(claimed, terms=claimed.terms[: order + 1]).total(lr)
    velocity = sp.lambdify(claimed.variables, kept, modules="math", cse=True)
    times = float(lr) * np.linspace(0, updates, _FINE * abs(updates) + 1)
    span, exact = (0.0, times[-1]), {"method": "DOP853", "rtol": 1e-12, "atol": 1e-14}
    done = solve_ivp(lambda _, theta: velocity(*theta), span, start, t_eval=times, **exact)
    if not done.success:
        raise WorkFailed(f"the flow of order {order} could not be followed for {updates} updates.")
    return done.y.T


def draw(comparisons: Sequence[Comparison]) -> Figure:
    """Draw iterates and flows, one panel an optimizer, and the distances between them below.

    Parameters
    ----------
    comparisons : sequence of Comparison
        As :func:`compare` gives them.

    Returns
    -------
    Figure
    """
    with style.context():
        figure = style.new_figure(height=6.2)
        grid = figure.subplots(2, len(comparisons), squeeze=False, height_ratios=(1.6, 1))
        shown = np.concatenate([comparison.distances[:, 1:].ravel() for comparison in comparisons])
        low, high = shown.min() / 1.6, shown.max() * 1.6
        for (above, below), comparison in zip(grid.T, comparisons, strict=True):
            _title(above, comparison.setting)
            _paths(above, comparison)
            _magnify(above, comparison)
            below.set(yscale="log", ylim=(low, high))
            style.plain_log_ticks(below.yaxis, low, high)
            _distances(below, comparison)
        grid[1][0].set_ylabel("distance from the iterate\nto the flow at the same time")
        dot = Line2D([], [], label="iterates, a dot an update", **_DOT)
        end = Line2D([], [], label="a flow after the last update", color=COLOURS[2], ls="", marker="o", ms=4)
        lines = [Line2D([], [], label=n, color=c) for n, c in zip(_NAMES, COLOURS, strict=True)]
        figure.legend(handles=[dot, *lines, end], loc="outside upper center", ncols=6, columnspacing=1.4)
    return figure


def alt(comparisons: Sequence[Comparison]) -> str:
    """One sentence for who cannot see the figure."""
    parts = []
    for c in comparisons:
        distances = ", ".join(f"{distance:.2g}" for distance in c.distances[:, -1])
        parts.append(f"{distances} after {c.setting.updates} updates of {named(c.setting.optimizer).title}")
    return (
        "Iterates of optimizers on losses of two parameters beside their modified flows; distances of the "
        f"last iterate from the flows of order 0, 1, 2 and 3: {'; '.join(parts)}."
    )


def _title(axes: Axes, setting: Setting) -> None:
    """Name, constants and loss, a line each."""
    name = named(setting.optimizer).title.removeprefix("Gradient descent with ")
    given = ", ".join(f"{_SYMBOLS.get(key, key)} = {value}" for key, value in setting.constants.items())
    loss = sp.latex(Loss.parse([setting.loss]).mean, fold_short_frac=True)
    axes.set_title(name[0].upper() + name[1:], fontweight="bold", pad=36)
    for height, words in ((21, given), (7, f"$L = {loss}$")):
        axes.annotate(words, (0, 1), (0, height), "axes fraction", "offset points", color=style.INK)


def _paths(axes: Axes, comparison: Comparison) -> None:
    """Contours, flows and iterates in a square window, so that lengths compare in all directions."""
    drawn = np.concatenate([comparison.iterates, *comparison.flows])
    centre, half = (drawn.max(0) + drawn.min(0)) / 2, 0.57 * np.ptp(drawn, axis=0).max()
    (left, bottom), (right, top) = centre - half, centre + half
    axes.set(xlim=(left, right), ylim=(bottom, top), aspect="equal", xlabel="x")
    axes.set_ylabel("y", rotation=0)
    axes.locator_params(nbins=5)
    loss = Loss.parse([comparison.setting.loss])
    x, y = np.meshgrid(np.linspace(left, right, 161), np.linspace(bottom, top, 161))
    heights = sp.lambdify(loss.variables, loss.mean, modules="numpy")(x, y)
    axes.contour(x, y, heights, levels=11, colors=style.LIGHT, linewidths=0.5, zorder=0)
    _lines(axes, comparison, ends=2.5)
    axes.plot(*comparison.iterates.T, gid="iterates", **_DOT)


def _lines(axes: Axes, comparison: Comparison, ends: float) -> None:
    for order, (flow, colour) in enumerate(zip(comparison.flows, COLOURS, strict=True)):
        axes.plot(*flow.T, color=colour, linewidth=1.5, gid=f"flow {order}")
        axes.plot(*flow[-1], "o", color=colour, markersize=ends, gid=f"end {order}")


def _magnify(axes: Axes, comparison: Comparison) -> None:
    """The last iterate and the ends of the flows, large, in the corner that is farthest from the paths."""
    width = 0.37
    share = (axes.transData + axes.transAxes.inverted()).transform(np.concatenate(comparison.flows))
    corners = [(x, y) for x in (0.02, 0.98 - width) for y in (0.02, 0.92 - width)]
    corner = max(corners, key=lambda at: np.abs(share - at - width / 2).max(1).min())
    last, half, side = comparison.iterates[-1], 1.3 * comparison.distances[1, -1], np.ptp(axes.get_xlim())
    x, y = zip(last - half, last + half, strict=True)
    inset = axes.inset_axes((*corner, width, width), xlim=x, ylim=y, xticks=[], yticks=[])
    inset.spines[:].set(visible=True, color=style.MUTED, linewidth=0.6)
    _lines(inset, comparison, ends=4)
    inset.plot(*last, **_DOT)
    words = f"update {comparison.setting.updates}, {width * side / (2 * half):.0f}×"
    inset.set_title(words, fontsize=8, pad=4, bbox={"fc": "white", "lw": 0, "pad": 0.5})
    axes.indicate_inset_zoom(inset, edgecolor=style.MUTED, linewidth=0.6, alpha=1.0)


def _distances(axes: Axes, comparison: Comparison) -> None:
    last = comparison.setting.updates
    for order, (distances, colour) in enumerate(zip(comparison.distances, COLOURS, strict=True)):
        x, y, end = np.arange(1, last + 1), distances[1:], (last, distances[-1])
        axes.plot(x, y, ".-", color=colour, linewidth=1.2, markersize=4, gid=f"distance {order}")
        axes.annotate(f"order {order}", end, (5, 0), "data", "offset points", va="center", fontsize=8)
    ticks = np.asarray(MaxNLocator(5, integer=True).tick_values(0, last))
    axes.set(xlabel="updates", xlim=(0, 1.26 * last), xticks=ticks[ticks <= last])
    axes.spines.bottom.set_bounds(0, last)
