"""The regression against closed forms, NIST's Norris data and scipy; radial memory."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from initmem.theory.errors import InvalidInput
from initmem.validate.radial import radial_memory
from initmem.validate.regression import CANDIDATES, ClockRegression, fits


def made_cells(
    clock: np.ndarray, spread: np.ndarray, column: str = "epochs", in_force: str = ""
) -> pd.DataFrame:
    names = [f"c{i}" for i in range(len(clock))]
    return pd.DataFrame({"cell": names, column: clock, "spread": spread, "runs": 6, "in_force": in_force})


# NIST StRD, Norris: y, x; certified values of the straight line through 36 points.
NORRIS = """
.1 .2 338.8 337.4 118.1 118.2 888.0 884.6 9.2 10.1 228.1 226.5 668.5 666.3 998.5 996.3 449.1 448.6
778.9 777.0 559.2 558.2 .3 .4 .1 .6 778.1 775.5 668.8 666.9 339.3 338.0 448.9 447.5 10.8 11.6
557.7 556.0 228.3 228.1 998.0 995.8 888.8 887.6 119.6 120.2 .3 .3 .6 .3 557.6 556.8 339.3 339.1
888.0 887.2 998.5 999.0 778.9 779.0 10.2 11.1 117.6 118.3 228.9 229.2 668.4 669.1 449.2 448.9 .2 .5
"""


def test_nist_norris() -> None:
    y, x = np.array(NORRIS.split(), dtype=float).reshape(-1, 2).T
    # The regression is of logs: exponentials of Norris, shrunk so that none overflows, have its line.
    fit = ClockRegression("epochs", cells="all").fit(made_cells(np.exp(x / 10), np.exp(y / 10)))
    assert fit.n_cells_ == 36
    assert fit.intercept_ * 10 == pytest.approx(-0.262323073774029, rel=1e-9)
    assert fit.coef_ == pytest.approx(1.00211681802045, rel=1e-11)
    assert fit.r_squared_ == pytest.approx(0.999993745883712, rel=1e-12)
    half = stats.t.ppf(0.975, 34) * 0.429796848199937e-3
    assert fit.ci_ == pytest.approx((fit.coef_ - half, fit.coef_ + half), rel=1e-9)


def test_a_known_law_is_recovered_and_drawn() -> None:
    clock = np.array([0.1, 0.3, 1.0, 5.0, 20.0])
    noise = np.array([0.02, -0.03, 0.01, 0.02, -0.02])
    fit = ClockRegression("T_SGD").fit(made_cells(clock, 7 * clock**-0.5 * np.exp(noise), "T_SGD", "T_SGD"))
    oracle = stats.linregress(np.log(clock), np.log(7) - 0.5 * np.log(clock) + noise)
    assert fit.coef_ == pytest.approx(oracle.slope, rel=1e-12)
    assert fit.r_squared_ == pytest.approx(oracle.rvalue**2, rel=1e-12)
    np.testing.assert_allclose(fit.predict(clock), np.exp(oracle.intercept) * clock**oracle.slope, rtol=1e-12)
    low, high = fit.band(clock)
    x = np.log(clock)
    residual = np.log(7) - 0.5 * x + noise - oracle.intercept - oracle.slope * x
    s = np.sqrt((residual**2).sum() / 3)
    error = s * np.sqrt(1 / 5 + (x - x.mean()) ** 2 / ((x - x.mean()) ** 2).sum())
    np.testing.assert_allclose(np.log(high / low) / 2, stats.t.ppf(0.975, 3) * error, rtol=1e-10)


def test_what_is_left_out_is_named() -> None:
    frame = made_cells(
        np.array([1.0, 2.0, 4.0, 8.0, 0.0, 3.0]), np.array([8, 4, 2, 1, 3, 0.0]), "T_L2", "T_L2"
    )
    frame.loc[0, "in_force"] = "T_SGD"
    fit = ClockRegression("T_L2").fit(frame)
    assert fit.left_out_ == {
        "c0": "T_L2 is not in force",
        "c4": "T_L2 is 0, which has no logarithm",
        "c5": "its spread is 0, which has no logarithm",
    }
    assert (fit.n_cells_, fit.n_runs_) == (3, 18)
    assert fit.coef_ == pytest.approx(-1, rel=1e-12)


def test_a_response_that_does_not_vary_has_no_r_squared() -> None:
    fit = ClockRegression("epochs", cells="all").fit(made_cells(np.array([1.0, 2, 4]), np.full(3, 2.8)))
    assert np.isnan(fit.r_squared_)
    assert fit.coef_ == pytest.approx(0, abs=1e-15)


@pytest.mark.parametrize("clock", [np.array([1.0, 2.0]), np.array([3.0, 3.0, 3.0])])
def test_too_little_to_regress_on(clock: np.ndarray) -> None:
    with pytest.raises(InvalidInput, match="cannot be regressed on"):
        ClockRegression("epochs", cells="all").fit(made_cells(clock, clock))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"clock": "T_sgd"}, "'T_sgd' is unknown: choose one of epochs"),
        ({"clock": "epochs", "at": "selected"}, "give 'horizon', or 'selected'"),
        ({"clock": "T_SGD", "cells": "some"}, "give 'in_force', 'alone' or 'all'"),
    ],
)
def test_arguments(arguments: dict, says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        ClockRegression(**arguments)


def test_every_fit_that_the_cells_allow(cells: pd.DataFrame) -> None:
    found = {(f.clock, f.at, f.cells) for f in fits(cells)}
    assert {(c, "horizon", "all") for c in CANDIDATES} - found == {("T_L2", "horizon", "all")}
    assert ("T_SGD", "selected", "in_force") in found
    assert not any(clock == "T_L2" for clock, _, _ in found)  # one cell alone has decay


@pytest.mark.parametrize("power", [1.0, 0.25, 0.0])
def test_radial_memory_of_a_power_law(power: float) -> None:
    random = np.random.default_rng(0)
    runs = pd.DataFrame(
        {"cell": "c", "seed": np.repeat([0, 1, 2], 5), "initial_norm": np.tile([1, 2, 3, 5, 9.0], 3)}
    )
    runs["final_norm"] = 3 * runs.initial_norm**power
    row = radial_memory(runs).iloc[0]
    assert row.slope == pytest.approx(power, abs=1e-12)
    runs["final_norm"] *= np.exp(random.normal(0, 0.1, 15))
    noisy = radial_memory(runs).iloc[0]
    slopes = [
        np.polyfit(np.log(of.initial_norm), np.log(of.final_norm), 1)[0] for _, of in runs.groupby("seed")
    ]
    interval = stats.t.interval(0.95, 2, np.mean(slopes), stats.sem(slopes))
    assert (noisy.slope_low, noisy.slope_high) == pytest.approx(interval, rel=1e-9)


def test_radial_memory_leaves_out_diverged_runs() -> None:
    runs = pd.DataFrame(
        {"cell": "c", "seed": 0, "initial_norm": [1.0, 2, 4, 8], "final_norm": [1.0, 2, 4, np.nan]}
    )
    row = radial_memory(runs).iloc[0]
    assert (row.slope, row.seeds) == (pytest.approx(1, abs=1e-12), 1)
    assert np.isnan(row.slope_low)
    assert np.isnan(radial_memory(runs.assign(final_norm=np.nan)).iloc[0].slope)
