r"""The noise of a run: what its scale and its seed leave unexplained.

Runs of one seed share the direction of their start and their data order. In the additive model
:math:`y_{s\sigma} = \mu_\sigma + a_s + \varepsilon_{s\sigma}` the seed's effect :math:`a_s` cancels in a
range over scales, so the noise of a spread is that of :math:`\varepsilon` alone, pooled over scales.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import integrate, special, stats

Array = NDArray[np.float64]

# Residuals below this (in percent) are the rounding of equal accuracies, not noise.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Noise:
    """Residuals of the additive model of one cell.

    Attributes
    ----------
    means : ndarray, shape (scales,)
        Mean accuracy of every scale.
    residuals : ndarray, shape (runs,)
        Of every run that is there.
    scale_of_run : ndarray of int, shape (runs,)
        The scale that a residual belongs to.
    freedom : int
        Residual degrees of freedom.
    """

    means: Array
    residuals: Array
    scale_of_run: NDArray[np.intp]
    freedom: int

    @property
    def scales(self) -> int:
        """Number of scales with a run."""
        return len(self.means)

    @property
    def sd(self) -> float:
        """Standard deviation of a run."""
        sd = float(np.sqrt(np.sum(self.residuals**2) / self.freedom))
        return sd if sd > ROUNDING else 0.0

    @property
    def error_of_mean(self) -> float:
        """Standard error of a scale's mean; with missing runs from the harmonic mean of the counts."""
        return self.sd / float(np.sqrt(stats.hmean(np.bincount(self.scale_of_run))))


def noise_of(accuracy: pd.DataFrame) -> Noise | None:
    """Fit the additive model to a cell.

    Parameters
    ----------
    accuracy : DataFrame
        A row a seed, a column a scale, NaN where a run is missing.

    Returns
    -------
    Noise or None
        None if there are fewer than two seeds or scales, or no residual degree of freedom.

    Examples
    --------
    >>> noise = noise_of(pd.DataFrame([[80.0, 70.0], [82.0, 74.0]]))
    >>> noise.means.tolist(), noise.residuals.round(6).tolist(), noise.freedom
    ([81.0, 72.0], [0.5, -0.5, -0.5, 0.5], 1)
    """
    seeds, scales = np.nonzero(accuracy.notna().to_numpy())
    values = accuracy.to_numpy(dtype=float)[seeds, scales]
    # Numbered without gaps, for scales or seeds of which every run is missing.
    seeds, scales = (np.unique(which, return_inverse=True)[1] for which in (seeds, scales))
    if not len(values) or seeds.max() < 1 or scales.max() < 1:
        return None
    design = np.column_stack([scales[:, None] == np.arange(scales.max() + 1), *_contrasts(seeds)])
    freedom = len(values) - int(np.linalg.matrix_rank(design))
    if freedom < 1:
        return None
    fit = np.linalg.lstsq(design.astype(float), values, rcond=None)[0]
    means = np.bincount(scales, values) / np.bincount(scales)
    return Noise(means, values - design @ fit, scales, freedom)


def _contrasts(seeds: NDArray[np.intp]) -> list[NDArray[np.bool_]]:
    return [seeds == seed for seed in range(1, seeds.max() + 1)]


def bootstrap_means(accuracy: pd.DataFrame, rounds: int, random: np.random.Generator) -> Array:
    """Seed-means of every scale with the noise of the runs drawn anew, (rounds, scales).

    Residuals are drawn, not seeds: three seeds have only ten resamples, whose intervals are far too
    narrow, while the pooled residuals of all scales give the noise that the seeds really show. They
    are widened by the degrees of freedom that the fit took. Empty, (rounds, 0), without a noise estimate.
    """
    noise = noise_of(accuracy)
    if noise is None:
        return np.empty((rounds, 0))
    runs = len(noise.residuals)
    drawn = noise.residuals[random.integers(runs, size=(rounds, runs))]
    average = np.equal.outer(noise.scale_of_run, np.arange(noise.scales)).astype(float)
    average /= average.sum(0)
    return noise.means + np.sqrt(runs / noise.freedom) * (drawn @ average)


def expected_range(n: int) -> float:
    r"""Expected range of `n` independent standard normals.

    .. math:: \int_{-\infty}^\infty 1 - \Phi(x)^n - (1 - \Phi(x))^n \, dx

    Examples
    --------
    >>> round(expected_range(2), 6), round(expected_range(25), 2)  # the first is 2/sqrt(pi)
    (1.128379, 3.93)
    """

    def outside(x: float) -> float:
        below = special.ndtr(x)
        return 1 - below**n - (1 - below) ** n

    return float(integrate.quad(outside, -10, 10)[0])
