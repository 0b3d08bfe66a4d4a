"""The comparisons that claims are made of: cells found by what they are, differences with intervals."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from .numbers import fixed, interval
from .regression import ClockRegression
from .spread import accuracy_matrix, basic_interval, bootstrap_spread

# Columns that make two cells the same recipe but for what a test varies.
RECIPE = ("optimizer", "lr", "schedule", "epochs", "batch_size", "momentum", "weight_decay")

# Relative difference below which two clocks or effective rates count as equal.
EQUAL = 0.05

# How far two cells may differ and still remember alike: in radial memory, and in spread as a share of the
# larger one.
ALIKE_RADIAL, ALIKE_SPREAD = 0.1, 1 / 3

# "Far less" than low-lr SGD is less than this share of its spread.
FAR_LESS = 0.5

# Share of runs that must interpolate for a cell to be evidence: the claims are about networks that were
# trained until they fit.
FITTED = 0.8


def fits_training_data(cells: pd.DataFrame) -> pd.Series:
    """Whether enough runs of a cell interpolate for it to be evidence."""
    return cells.interpolated >= FITTED


class Evidence:
    """The tables of a study, and the comparisons of its cells.

    Parameters
    ----------
    table, cells, radial : DataFrame
        Runs, spreads and radial memory.
    fits : sequence of ClockRegression
    rounds, random_state : int
        Of the bootstrap of differences.
    """

    def __init__(
        self,
        table: pd.DataFrame,
        cells: pd.DataFrame,
        radial: pd.DataFrame,
        fits: Sequence[ClockRegression],
        rounds: int = 2000,
        random_state: int = 0,
    ) -> None:
        self.fits = fits
        usable = cells[fits_training_data(cells) & cells.spread.notna()]
        self.cells = usable.merge(radial, on="cell")
        self.draws = {
            column: {
                str(cell): bootstrap_spread(
                    accuracy_matrix(runs, column),
                    rounds,
                    np.random.default_rng([random_state, index]),
                )
                for index, (cell, runs) in enumerate(table.groupby("cell", sort=False))
            }
            for column in ("test_accuracy", "test_accuracy_final")
        }

    def sgd(self) -> pd.DataFrame:
        """Cells of plain SGD, without momentum and decay, the shortest clock first."""
        cells = self.cells
        plain = (cells.optimizer == "sgd") & (cells.momentum == 0) & (cells.weight_decay == 0)
        return cells[plain].sort_values(["lr", "T_SGD"])

    def low_lr_sgd(self) -> Any:
        """The cell of lowest learning rate, and of these the one of the shortest clock; None if none."""
        return next(self.sgd().itertuples(), None)

    def adaptive(self) -> list[list[Any]]:
        """For every optimizer that T_adapt governs its cells, the shortest clock first."""
        governed = self.cells[self.cells.in_force.str.contains("T_adapt")].sort_values("T_adapt")
        return [list(cells.itertuples()) for _, cells in governed.groupby("optimizer")]

    def longest_adaptive(self) -> list[Any]:
        """The cell of the longest T_adapt of every such optimizer."""
        return [cells[-1] for cells in self.adaptive()]

    def pairs(self, cells: pd.DataFrame, differing: str) -> Iterator[tuple[Any, Any]]:
        """Neighbours in the column `differing` among cells that agree in the rest of the recipe."""
        same = [column for column in RECIPE if column != differing]
        for _, group in cells.groupby(same):
            rows = list(group.sort_values(differing).itertuples())
            yield from pairwise(rows)

    def difference(
        self, a: Any, b: Any, share: float = 1.0, at_end: bool = False
    ) -> tuple[float, float, float]:
        """Spread of `a` minus a share of that of `b`, with its 95% interval.

        At the selected checkpoint, or at the end of training, whatever checkpoint was selected.
        """
        spread, column = ("spread_final", "test_accuracy_final") if at_end else ("spread", "test_accuracy")
        draws = self.draws[column]
        estimate = getattr(a, spread) - share * getattr(b, spread)
        return estimate, *basic_interval(estimate, draws[a.cell] - share * draws[b.cell])


def close(a: float, b: float) -> bool:
    """Whether two clocks or rates count as equal."""
    return abs(a - b) <= EQUAL * max(a, b)


def radial_difference(a: Any, b: Any) -> tuple[float, float, float]:
    """Radial memory of `a` minus that of `b`, with Welch's 95% interval over seeds."""
    difference = a.slope - b.slope
    errors = [(cell.slope_high - cell.slope) / t_quantile(cell.seeds - 1) for cell in (a, b)]
    variances = [error**2 for error in errors]
    error = sum(variances) ** 0.5
    if not error > 0:
        return difference, difference if error == 0 else np.nan, difference if error == 0 else np.nan
    freedom = error**4 / sum(v**2 / (cell.seeds - 1) for v, cell in zip(variances, (a, b), strict=True))
    half = t_quantile(freedom) * error
    return difference, difference - half, difference + half


def t_quantile(freedom: float) -> float:
    """Student's 97.5% quantile; NaN without a degree of freedom."""
    return float(stats.t.ppf(0.975, freedom)) if freedom > 0 else float("nan")


def same_memory(a: Any, b: Any, gap: tuple[float, float, float]) -> dict[str, bool]:
    """Whether two cells remember alike, for a verdict.

    Alike is: the whole interval of the difference of the radial memories lies within `ALIKE_RADIAL`,
    and that of the spreads within `ALIKE_SPREAD` of the larger one. Unlike is: one of the two
    differences is larger than that, and its interval excludes zero. The margins do not grow with the
    noise, so noisy data make a verdict underpowered, but for the few in a hundred that an interval misses.
    """
    margins = ALIKE_RADIAL, ALIKE_SPREAD * max(a.spread, b.spread)
    gaps = radial_difference(a, b), gap
    pairs = list(zip(gaps, margins, strict=True))
    return {
        "supported": all(-margin < low and high < margin for (_, low, high), margin in pairs),
        "contradicted": any(
            abs(value) > margin and (low > 0 or high < 0) for (value, low, high), margin in pairs
        ),
    }


def remembers_more(a: Any, b: Any, gap: tuple[float, float, float]) -> dict[str, bool]:
    """Whether `a` remembers more than `b`, for a verdict.

    It does if the interval of the difference of the radial memories, or that of the spreads, lies above
    zero, and the other of the two does not lie below.
    """
    radial = radial_difference(a, b)
    more = radial[1] > 0 or gap[1] > 0
    less = radial[2] < 0 or gap[2] < 0
    return {"supported": more and not less, "contradicted": less and not more}


def name(cell: Any) -> str:
    """The cell's name in quotation marks."""
    return f"“{cell.cell}”"


def with_interval(value: float, low: float, high: float, unit: str = " pp", digits: int = 1) -> str:
    """A value with its interval."""
    return f"{fixed(value, digits)}{unit} {interval(low, high, digits)}"


def spread_text(cell: Any) -> str:
    """The spread of a cell with its interval and its noise floor."""
    numbers = with_interval(cell.spread, cell.spread_low, cell.spread_high)
    return f"{name(cell)} {numbers}, 95% noise floor {fixed(cell.floor_95)} pp"


def radial_pair(a: Any, b: Any) -> str:
    """The radial memories of two cells and their difference with its interval."""
    difference = with_interval(*radial_difference(a, b), "", 2)
    return f"radial memory {a.slope:.2f} and {b.slope:.2f}, difference {difference}"


def radial_text(cell: Any) -> str:
    """The radial memory of a cell with its interval."""
    return f"{name(cell)} {with_interval(cell.slope, cell.slope_low, cell.slope_high, '', 2)}"
