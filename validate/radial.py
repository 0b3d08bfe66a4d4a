r"""Radial memory: how much of the length of the start is left in the length of the end.

The radial memory of a cell is :math:`\mathrm d\ln r_K / \mathrm d\ln r_0`, the slope of the log final
on the log initial norm of all kernels: 1 where lengths are kept in proportion, 0 where every start
ends at the same length.
"""

import numpy as np
import pandas as pd
from scipy import stats


def radial_memory(table: pd.DataFrame) -> pd.DataFrame:
    """Slope of ln final on ln initial kernel norm of every cell.

    Parameters
    ----------
    table : DataFrame
        A row a run, with ``cell, seed, initial_norm, final_norm``.

    Returns
    -------
    DataFrame
        A row a cell: ``cell``, ``slope`` (mean of the slopes of the seeds), ``slope_low``,
        ``slope_high`` (95% t interval over seeds, NaN for one seed), ``seeds``. Runs without a final
        norm, the diverged ones, are left out.

    Examples
    --------
    >>> runs = pd.DataFrame({"cell": "a", "seed": [0, 0, 1, 1], "initial_norm": [1, 4, 1, 4.0]})
    >>> radial_memory(runs.assign(final_norm=runs.initial_norm**0.5)).slope.round(12).tolist()
    [0.5]
    """
    rows = []
    for cell, runs in table.groupby("cell", sort=False):
        kept = runs.dropna(subset="final_norm")
        slopes = [_slope(of_seed) for _, of_seed in kept.groupby("seed") if len(of_seed) > 1]
        mean = float(np.mean(slopes)) if slopes else float("nan")
        half = float("nan")
        if len(slopes) > 1:
            error = np.std(slopes, ddof=1) / np.sqrt(len(slopes))
            half = float(stats.t.ppf(0.975, len(slopes) - 1) * error)
        rows.append(
            {
                "cell": cell,
                "slope": mean,
                "slope_low": mean - half,
                "slope_high": mean + half,
                "seeds": len(slopes),
            }
        )
    return pd.DataFrame(rows)


def _slope(runs: pd.DataFrame) -> float:
    return float(stats.linregress(np.log(runs.initial_norm), np.log(runs.final_norm)).slope)
