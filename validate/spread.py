r"""How much of the start the trained networks of a cell still show, and how much is noise.

The spread of a cell is the best minus the worst seed-mean test accuracy over the scales, at the
checkpoint of lowest validation loss, in percentage points. A range is positive even when the scale
has no effect, so every spread comes with its noise floor: the range that the seeds alone would give.
"""

from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from ..theory.clocks import CLOCKS
from .noise import Array, bootstrap_means, expected_range, noise_of

# Columns of the run table that are the same for every run of a cell, copied to the row of the cell.
CELL_COLUMNS = (
    "cell",
    "optimizer",
    "lr",
    "schedule",
    "epochs",
    "updates",
    "batch_size",
    "train_size",
    "momentum",
    "weight_decay",
    "sum_lr",
    "sum_lr_squared",
    *CLOCKS,
    "in_force",
)


def spread(table: pd.DataFrame, rounds: int = 2000, random_state: int = 0) -> pd.DataFrame:
    """Spread, interval and noise floor of every cell.

    Parameters
    ----------
    table : DataFrame
        A row a run, as :func:`initmem.empirics.table.gather` gives it.
    rounds : int
        Bootstrap rounds.
    random_state : int
        Seed of the bootstrap; the global random state is not touched.

    Returns
    -------
    DataFrame
        A row a cell, in percentage points where it is an accuracy:

        ============================  =======================================================
        ``spread``                    range over scales of the seed-mean test accuracy
        ``spread_low/high``           95% bootstrap interval over seeds
        ``floor``                     expected range if the scale had no effect
        ``floor_95``                  95% quantile of that range (Tukey's honest difference)
        ``p_value``                   probability of such a range without an effect
        ``seed_sd``                   deviation of a run from what its scale and its seed explain
        ``spread_final``              the range at the end of training instead of the checkpoint
        ``best_scale/worst_scale``    where the highest and the lowest mean are
        ``interpolated``              share of runs that reached 99.5% train accuracy
        ``T_*_selected``              median over runs of the clock at the selected checkpoint
        ``runs, missing, diverged``   counts; a run without a test accuracy is missing
        ``note``                      why a value is not there
        ============================  =======================================================
    """
    rows = []
    for index, (_, runs) in enumerate(table.groupby("cell", sort=False)):
        accuracy = accuracy_matrix(runs)
        draws = bootstrap_spread(accuracy, rounds, np.random.default_rng([random_state, index]))
        row: dict[str, Any] = {name: runs[name].iloc[0] for name in CELL_COLUMNS}
        row |= _range(accuracy) | _floor(accuracy)
        low, high = basic_interval(row["spread"], draws)
        row |= {"spread_low": max(low, 0.0), "spread_high": high}
        row["spread_final"] = _range(accuracy_matrix(runs, "test_accuracy_final"))["spread"]
        row["interpolated"] = float(runs.interpolation_epoch.notna().mean())
        row |= {f"{c}_selected": float(runs[f"{c}_selected"].median()) for c in CLOCKS}
        row |= {
            "runs": int(runs.test_accuracy.notna().sum()),
            "missing": int(accuracy.size - runs.test_accuracy.notna().sum()),
            "diverged": int(runs.diverged.sum()),
            "note": "" if len(accuracy) > 1 else "one seed: no interval and no noise floor",
        }
        rows.append(row)
    return pd.DataFrame(rows)


def accuracy_matrix(runs: pd.DataFrame, column: str = "test_accuracy") -> pd.DataFrame:
    """Accuracies of one cell in percent: a row a seed, a column a scale, NaN where a run is missing."""
    return 100 * runs.pivot(index="seed", columns="init_scale", values=column)


def bootstrap_spread(accuracy: pd.DataFrame, rounds: int, random: np.random.Generator) -> Array:
    """Spreads of a cell with its seeds drawn anew, (rounds,); NaN where there is no noise estimate."""
    means = bootstrap_means(accuracy, rounds, random)
    return np.ptp(means, axis=1) if means.shape[1] > 1 else np.full(rounds, np.nan)


def basic_interval(estimate: float, draws: Array, level: float = 0.95) -> tuple[float, float]:
    """Basic bootstrap interval: the estimate minus the quantiles of its bootstrap error.

    A range of resampled means is larger on average than the range it imitates; the basic interval
    corrects for that bias, where a percentile interval would double it.
    """
    low, high = np.quantile(draws - estimate, [(1 - level) / 2, (1 + level) / 2])
    return estimate - float(high), estimate - float(low)


def _range(accuracy: pd.DataFrame) -> dict[str, float]:
    means = accuracy.mean().dropna()
    if len(means) < 2:
        return dict.fromkeys(("spread", "best_scale", "worst_scale"), float("nan"))
    return {
        "spread": float(means.max() - means.min()),
        "best_scale": float(means.idxmax()),
        "worst_scale": float(means.idxmin()),
    }


def _floor(accuracy: pd.DataFrame) -> dict[str, float]:

    noise = noise_of(accuracy)
    if noise is None:
        return dict.fromkeys(("floor", "floor_95", "p_value", "seed_sd"), float("nan"))
    error, scales = noise.error_of_mean, noise.scales
    p_value = float("nan")
    if error > 0:
        observed = _range(accuracy)["spread"] / error
        p_value = float(stats.studentized_range.sf(observed, scales, noise.freedom))
    return {
        "floor": expected_range(scales) * error,
        "floor_95": float(stats.studentized_range.ppf(0.95, scales, noise.freedom)) * error,
        "p_value": p_value,
        "seed_sd": noise.sd,
    }
