"""Regression of the spread on a clock."""

from typing import Any, Self

import numpy as np
import pandas as pd
import statsmodels.api as sm
from numpy.typing import ArrayLike, NDArray

from ..theory.clocks import CLOCKS
from ..theory.errors import InvalidInput

# Quantities of a cell that may be tried as a clock, the three of the paper among them.
CANDIDATES = ("epochs", "updates", "sum_lr", "sum_lr_squared", *CLOCKS)

MINIMUM_CELLS = 3


class ClockRegression:
    r"""Ordinary least squares of the log spread on a log clock over cells.

    .. math:: \ln \text{spread} = a + \beta \ln T + \varepsilon

    A cell is one observation. Figures draw this object, so that what they show is what the table
    prints.

    Parameters
    ----------
    clock : str
        One of ``CANDIDATES``.
    at : {"horizon", "selected"}
        Whether the clock is read at the end of the run or at the checkpoint that was tested; the
        latter for the three clocks only.
    cells : {"in_force", "alone", "all"}
        Which cells count: those that the clock governs, those that it governs alone, or all.

    Attributes
    ----------
    coef_ : float
        Slope :math:`\beta`: the spread changes by the factor :math:`2^\beta` when the clock doubles.
    intercept_ : float
    ci_ : tuple of float
        95% interval of the slope, from Student's t with ``n_cells_ - 2`` degrees of freedom.
    r_squared_ : float
        Share of the variance of the log spread that the clock explains; NaN if it has none.
    n_cells_, n_runs_ : int
    cells_ : DataFrame
        The cells that were fitted.
    left_out_ : dict of str to str
        Cells that were not, with the reason.

    Examples
    --------
    >>> cells = pd.DataFrame({"cell": list("abcd"), "epochs": [1, 2, 4, 8], "runs": 6,
    ...                       "spread": [8.0, 4.0, 2.0, 1.0], "in_force": ""})
    >>> fit = ClockRegression("epochs", cells="all").fit(cells)
    >>> round(fit.coef_, 10), fit.n_cells_, fit.n_runs_
    (-1.0, 4, 24)
    """

    coef_: float
    intercept_: float
    ci_: tuple[float, float]
    r_squared_: float
    n_cells_: int
    n_runs_: int
    cells_: pd.DataFrame
    left_out_: dict[str, str]

    def __init__(self, clock: str, at: str = "horizon", cells: str = "in_force") -> None:
        if clock not in CANDIDATES:
            raise InvalidInput(f"clock {clock!r} is unknown: choose one of {', '.join(CANDIDATES)}.")
        if at not in ("horizon", "selected") or (at == "selected" and clock not in CLOCKS):
            raise InvalidInput(
                f"at = {at!r} is not allowed for clock {clock!r}: give 'horizon', or 'selected' "
                f"for one of {', '.join(CLOCKS)}."
            )
        if cells not in ("in_force", "alone", "all"):
            raise InvalidInput(f"cells = {cells!r} is not allowed: give 'in_force', 'alone' or 'all'.")
        self.clock, self.at, self.cells = clock, at, cells

    @property
    def column(self) -> str:
        """Column of the cell table that holds the clock."""
        return self.clock if self.at == "horizon" else f"{self.clock}_selected"

    def fit(self, cells: pd.DataFrame) -> Self:
        """Fit to a table of cells, as :func:`initmem.validate.spread.spread` gives it.

        Raises
        ------
        InvalidInput
            If fewer than three cells can be used, or all have the same clock.
        """
        self.left_out_ = self._unusable(cells)
        self.cells_ = cells.loc[~cells.cell.isin(list(self.left_out_))]
        x, y = np.log(self.cells_[self.column]), np.log(self.cells_.spread)
        self.n_cells_, self.n_runs_ = len(self.cells_), int(self.cells_.runs.sum())
        # Clocks that differ by rounding alone, such as one effective rate reached twice, are one value.
        values = x.round(9).nunique()
        if self.n_cells_ < MINIMUM_CELLS or values < 2:
            raise InvalidInput(
                f"{self.clock} cannot be regressed on: {self.n_cells_} usable cells with "
                f"{values} different values, at least {MINIMUM_CELLS} cells and two values "
                f"are needed."
            )
        self.results_: Any = sm.OLS(y.to_numpy(), sm.add_constant(x.to_numpy())).fit()
        self.intercept_, self.coef_ = map(float, self.results_.params)
        low, high = self.results_.conf_int(0.05)[1]
        self.ci_ = (float(low), float(high))
        # R2 compares with the mean; where the response does not vary there is nothing to explain.
        self.r_squared_ = float(self.results_.rsquared) if np.ptp(y) > 0 else float("nan")
        return self

    def predict(self, clock: ArrayLike) -> NDArray[np.float64]:
        """Spread expected at values of the clock, in percentage points."""
        return np.exp(self.intercept_ + self.coef_ * np.log(np.asarray(clock, dtype=float)))

    def band(self, clock: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """95% confidence band of the fitted line at values of the clock."""
        x = sm.add_constant(np.log(np.asarray(clock, dtype=float)), has_constant="add")
        frame = self.results_.get_prediction(x).summary_frame(alpha=0.05)
        return np.exp(frame.mean_ci_lower.to_numpy()), np.exp(frame.mean_ci_upper.to_numpy())

    def summary(self) -> dict[str, Any]:
        """The fit as one row of a table."""
        return {
            "clock": self.clock,
            "at": self.at,
            "cells": self.cells,
            "slope": self.coef_,
            "slope_low": self.ci_[0],
            "slope_high": self.ci_[1],
            "r_squared": self.r_squared_,
            "n_cells": self.n_cells_,
            "n_runs": self.n_runs_,
        }

    def _unusable(self, cells: pd.DataFrame) -> dict[str, str]:
        reasons = {}
        for row in cells.itertuples():
            governs = self.clock in row.in_force.split("+")
            value = getattr(row, self.column)
            if self.cells != "all" and self.clock in CLOCKS and not governs:
                reasons[row.cell] = f"{self.clock} is not in force"
            elif self.cells == "alone" and row.in_force != self.clock:
                reasons[row.cell] = "another clock is in force too"
            elif not value > 0:
                reasons[row.cell] = f"{self.clock} is {value:g}, which has no logarithm"
            elif not row.spread > 0:
                reasons[row.cell] = f"its spread is {row.spread:g}, which has no logarithm"
        return reasons


def fits(cells: pd.DataFrame) -> list[ClockRegression]:
    """Every regression that a table of cells allows.

    The three clocks over the cells that they govern, at the horizon and at the selected checkpoint; over
    the cells that they govern alone; and every candidate over all cells.

    Parameters
    ----------
    cells : DataFrame

    Returns
    -------
    list of fitted ClockRegression
    """
    wanted = [
        *(ClockRegression(clock, at=at) for clock in CLOCKS for at in ("horizon", "selected")),
        *(ClockRegression(clock, cells="alone") for clock in CLOCKS),
        *(ClockRegression(candidate, cells="all") for candidate in CANDIDATES),
    ]
    fitted = []
    for regression in wanted:
        try:
            fitted.append(regression.fit(cells))
        except InvalidInput:
            continue  # too few cells for this one; the report lists those that are there
    return fitted
