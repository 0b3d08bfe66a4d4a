"""Direct labels beside points, placed so that they hide neither each other nor the data."""

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.text import Annotation
from matplotlib.transforms import Bbox, Transform
from numpy.typing import NDArray

from . import style

Array = NDArray[np.float64]

# Where a label may stand: on rings around its point, in typographic points.
_DIRECTIONS = np.array([[math.cos(a), math.sin(a)] for a in np.arange(24) * math.pi / 12])
_PLACES = np.concatenate([radius * _DIRECTIONS for radius in (8, 13, 20, 28, 38, 50)])
# Share of a label's sides that lies before its anchor, 0, a half or 1, by its direction.
_SHARES = np.tile((1 - np.sign(np.trunc(_DIRECTIONS / 0.35))) / 2, (6, 1))
_NO_LEADER = 14.0
_MARGIN = np.array([-3.0, -3.0, 3.0, 3.0])
_PASSES = 5

# Cost of a square pixel outside the axes and under a label, of a typographic point of distance, and
# of every other point that is nearer to a label than its own.
_OUTSIDE, _OVERLAP, _DISTANCE, _AMBIGUOUS = 20.0, 5.0, 1.5, 150.0


def place_labels(
    axes: Axes,
    points: Sequence[tuple[float, float]],
    transforms: Sequence[Transform],
    texts: Sequence[str],
    obstacles: Sequence[Bbox] = (),
    size: float = 7.5,
) -> list[Annotation]:
    """Write a text beside every point, with a thin leader where it had to move away.

    Every label tries the same rings of places and takes the one that covers least; a few passes let
    the early ones make room for the late ones. The outcome depends on nothing but the input.

    Parameters
    ----------
    axes : Axes
        With its limits, its layout and everything but the labels settled.
    points : sequence of (x, y)
    transforms : sequence of Transform
        From the coordinates of each point to the display.
    texts : sequence of str
    obstacles : sequence of Bbox
        What labels must not cover, in display coordinates.
    size : float
        Of the font, in points.

    Returns
    -------
    list of Annotation
    """
    if not points:
        return []
    anchors = list(zip(points, transforms, strict=True))
    pixels = np.array([transform.transform(point) for point, transform in anchors])
    scale = axes.figure.dpi / 72
    notes = [_annotate(axes, *anchor, text, size) for anchor, text in zip(anchors, texts, strict=True)]
    sizes = np.array([[box.width, box.height] for box in (n.get_window_extent() for n in notes)])

    # Boxes as (left, bottom, right, top), (labels, places, 4), and what each costs by itself.
    corners = pixels[:, None] + scale * _PLACES - sizes[:, None] * _SHARES
    boxes = np.concatenate([corners, corners + sizes[:, None]], axis=2)
    marks = np.concatenate([pixels - 4 * scale, pixels + 4 * scale], axis=1)
    fixed = np.array([*marks, *(box.extents for box in obstacles)])
    alone = _OVERLAP * _overlap(boxes[:, :, None], fixed).sum(2)
    alone += _OUTSIDE * (sizes.prod(1)[:, None] - _overlap(boxes, np.array(axes.get_window_extent().extents)))
    alone += _DISTANCE * np.hypot(*_PLACES.T)
    away = _distance(boxes[:, :, None], pixels)
    own = np.diagonal(away, axis1=0, axis2=2).T
    alone += _AMBIGUOUS * (away < own[:, :, None]).sum(2)

    chosen = np.argmin(alone, axis=1)
    labels = np.arange(len(points))
    for label in np.tile(labels, _PASSES):
        others = boxes[labels, chosen][labels != label] + _MARGIN
        together = _OVERLAP * _overlap(boxes[label][:, None], others).sum(1)
        chosen[label] = np.argmin(alone[label] + together)

    for note, place in zip(notes, chosen, strict=True):
        across, along = 2 * _SHARES[place]
        note.set_position(tuple(_PLACES[place]))
        note.set_horizontalalignment(("left", "center", "right")[round(across)])
        note.set_verticalalignment(("bottom", "center", "top")[round(along)])
        if note.arrow_patch is not None:
            note.arrow_patch.set_visible(np.hypot(*_PLACES[place]) > _NO_LEADER)
    return notes


def spread_apart(wanted: Sequence[float], gap: float) -> list[float]:
    """Positions as near to the wanted ones as can be with at least `gap` between neighbours.

    Neighbours that are too near form a pool, centred on the mean of what its members want: the
    least-squares solution, isotonic regression by pooling.

    Examples
    --------
    >>> spread_apart([1.0, 1.0, 5.0], gap=1.0)
    [0.5, 1.5, 5.0]
    """
    order = sorted(range(len(wanted)), key=lambda k: wanted[k])
    pools: list[list[float]] = []  # wanted positions, less the gaps below them
    for rank, k in enumerate(order):
        pools.append([wanted[k] - rank * gap])
        while len(pools) > 1 and np.mean(pools[-2]) > np.mean(pools[-1]):
            last = pools.pop()
            pools[-1] += last
    level = [float(np.mean(pool)) for pool in pools for _ in pool]
    placed = [0.0] * len(wanted)
    for rank, k in enumerate(order):
        placed[k] = level[rank] + rank * gap
    return placed


def around(x: float, y: float, half_width: float, half_height: float) -> Bbox:
    """A box around a point, in display coordinates."""
    return Bbox.from_extents(x - half_width, y - half_height, x + half_width, y + half_height)


def _annotate(
    axes: Axes, point: tuple[float, float], transform: Transform, text: str, size: float
) -> Annotation:
    note = axes.annotate(
        text.replace("$", r"\$"),  # a dollar in a name is not mathematics
        point,
        xycoords=transform,
        xytext=(0, 0),
        textcoords="offset points",
        fontsize=size,
        color=style.INK,
        annotation_clip=False,
        arrowprops={
            "arrowstyle": "-",
            "color": style.MUTED,
            "linewidth": 0.5,
            "shrinkA": 1,
            "shrinkB": 3,
        },
        zorder=6,
    )
    note.set_in_layout(False)  # else the layout, and with it what was measured, would move
    return note


def _distance(boxes: Array, points: Array) -> Array:
    """From the nearest edge of a box to a point; zero inside."""
    short = np.maximum(boxes[..., :2] - points, points - boxes[..., 2:])
    return np.hypot(*np.moveaxis(np.maximum(short, 0.0), -1, 0))


def _overlap(a: Array, b: Array) -> Array:
    """Area that boxes share."""
    sides = np.minimum(a[..., 2:], b[..., 2:]) - np.maximum(a[..., :2], b[..., :2])
    return np.maximum(sides, 0.0).prod(-1)
