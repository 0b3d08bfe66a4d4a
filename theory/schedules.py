r"""Learning-rate schedules as pure functions of the update number.

A schedule is :math:`\eta_k = \eta\, s(k)` for updates :math:`k = 0, \dots, N-1`, where the shape
:math:`s` depends on nothing but :math:`k` and the length :math:`N`. There is no state, so there is
nothing to restore after a resume; a step beyond the end raises instead of extrapolating.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import InvalidInput

Array = NDArray[np.float64]

# Sums run over blocks of this many updates, so memory stays flat however long the schedule is.
BLOCK = 1 << 18


def constant(k: Array, n: int) -> Array:
    """``s(k) = 1``."""
    return np.ones_like(k)


def cosine(k: Array, n: int) -> Array:
    r""":math:`s(k) = (1 + \cos(\pi k / n)) / 2`, torch's ``CosineAnnealingLR`` with ``T_max = n``."""
    return 0.5 * (1.0 + np.cos(np.pi * k / n))


def linear(k: Array, n: int) -> Array:
    """``s(k) = 1 - k/n``, torch's ``LinearLR`` from 1 to 0 over ``n`` updates."""
    return 1.0 - k / n


def step(k: Array, n: int) -> Array:
    """Divided by 10 at 50% and again at 75% of the updates, as in torch's ``MultiStepLR``."""
    return np.where(k < math.ceil(0.5 * n), 1.0, np.where(k < math.ceil(0.75 * n), 0.1, 0.01))


def exponential(k: Array, n: int) -> Array:
    """``s(k) = 0.01**(k/n)``, torch's ``ExponentialLR`` with ``gamma = 0.01**(1/n)``."""
    return np.power(0.01, k / n)


SHAPES: dict[str, Callable[[Array, int], Array]] = {
    shape.__name__: shape for shape in (constant, cosine, linear, step, exponential)
}


@dataclass(frozen=True)
class Schedule:
    r"""A learning rate for every update of a run, after an optional linear warm-up.

    .. math::

        \eta_k = \eta \,\frac{k+1}{W} \quad (k < W), \qquad
        \eta_k = \eta \, s_{N-W}(k - W) \quad (W \le k < N)

    Parameters
    ----------
    shape : str
        A name in ``SHAPES``: constant, cosine, linear, step, exponential.
    lr : float
        Peak learning rate :math:`\eta`.
    updates : int
        Number of optimizer updates :math:`N`; one step counts one update.
    warmup_updates : int, default 0
        Length :math:`W` of the warm-up. Update 0 already moves (rate :math:`\eta/W`) and the
        first update after the warm-up runs at the peak.

    Raises
    ------
    InvalidInput
        If the shape is unknown or a length is out of range.

    Examples
    --------
    >>> cosine = Schedule("cosine", lr=1.0, updates=4)
    >>> cosine([0, 1, 2, 3]).round(4).tolist()
    [1.0, 0.8536, 0.5, 0.1464]
    >>> cosine.sum()  # lr (N + 1) / 2
    2.5
    >>> Schedule("constant", lr=1.0, updates=3, warmup_updates=2)([0, 1, 2]).tolist()
    [0.5, 1.0, 1.0]
    """

    shape: str
    lr: float
    updates: int
    warmup_updates: int = 0

    def __post_init__(self) -> None:
        if self.shape not in SHAPES:
            raise InvalidInput(f"schedule {self.shape!r} is unknown: choose one of {', '.join(SHAPES)}.")
        if self.updates < 1:
            raise InvalidInput(f"updates = {self.updates} is not allowed: give at least 1.")
        if not 0 <= self.warmup_updates <= self.updates:
            raise InvalidInput(
                f"a warm-up of {self.warmup_updates} updates does not fit into {self.updates} "
                f"updates: shorten it."
            )

    def __call__(self, k: ArrayLike) -> Array:
        """Learning rates of the updates ``k``.

        Parameters
        ----------
        k : array_like of int, any shape
            Update numbers, the first is 0.

        Returns
        -------
        ndarray of float64, shape of `k`

        Raises
        ------
        InvalidInput
            If an update lies outside ``0 <= k < updates``.
        """
        k = np.asarray(k)
        if k.size and not (k.min() >= 0 and k.max() < self.updates):
            raise InvalidInput(
                f"updates {k.min()} to {k.max()} were asked for, but the schedule has updates "
                f"0 to {self.updates - 1}: a schedule does not go on after its end."
            )
        w, k = self.warmup_updates, k.astype(np.float64)
        after = SHAPES[self.shape](np.maximum(k - w, 0.0), max(self.updates - w, 1))
        return self.lr * (np.where(k < w, (k + 1.0) / w, after) if w else after)

    def blocks(self, upto: int | None = None, since: int = 0) -> Iterator[Array]:
        """Learning rates of updates `since` to ``upto - 1`` in consecutive blocks of bounded size."""
        end = self.updates if upto is None else upto
        for start in range(since, end, BLOCK):
            yield self(np.arange(start, min(start + BLOCK, end)))

    def sum(self, power: int = 1, upto: int | None = None, since: int = 0) -> float:
        r""":math:`\sum_{k} \eta_k^p` for ``p = power`` over the updates from `since` to before `upto`."""
        return math.fsum(float(np.sum(block**power)) for block in self.blocks(upto, since))
