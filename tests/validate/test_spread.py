"""Spread, its interval and its noise floor, against scipy, statsmodels and simulation."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from scipy import stats

from initmem.validate.noise import bootstrap_means, expected_range, noise_of
from initmem.validate.spread import basic_interval, bootstrap_spread, spread


def random_matrix(seed: int, seeds: int = 3, scales: int = 7, sd: float = 2.0, effect: float = 0.0):
    random = np.random.default_rng(seed)
    means = 80 - effect * np.linspace(0, 1, scales)
    common = random.normal(0, 3, size=(seeds, 1))  # the seed's own effect, shared by its scales
    return pd.DataFrame(means + common + random.normal(0, sd, size=(seeds, scales)))


def holes(accuracy: pd.DataFrame, *places: tuple[int, int]) -> pd.DataFrame:
    accuracy = accuracy.copy()
    for seed, scale in places:
        accuracy.iloc[seed, scale] = np.nan
    return accuracy


@pytest.mark.parametrize(
    "accuracy",
    [random_matrix(0), random_matrix(1, seeds=2, scales=3), holes(random_matrix(2), (0, 0), (1, 0), (2, 4))],
)
def test_noise_is_the_residual_of_an_additive_model(accuracy: pd.DataFrame) -> None:
    noise = noise_of(accuracy)
    long = accuracy.stack().reset_index()
    long.columns = ["seed", "scale", "y"]
    oracle = smf.ols("y ~ C(seed) + C(scale)", long).fit()
    assert noise is not None
    assert noise.freedom == oracle.df_resid
    assert noise.sd == pytest.approx(np.sqrt(oracle.mse_resid), rel=1e-10)
    np.testing.assert_allclose(noise.means, accuracy.mean(), rtol=1e-12)


def test_floor_is_tukeys_range_without_a_seed_effect(table: pd.DataFrame) -> None:
    """Tukey's test of scipy has no seed effect; on residual degrees of freedom of its own it agrees."""
    accuracy = random_matrix(5)
    noise = noise_of(accuracy)
    assert noise is not None
    quantile = stats.studentized_range.ppf(0.95, 7, 12)
    runs = to_runs(table, accuracy)
    row = spread(runs).iloc[0]
    assert row.floor_95 == pytest.approx(quantile * noise.sd / np.sqrt(3), rel=1e-9)
    assert row.floor == pytest.approx(expected_range(7) * noise.sd / np.sqrt(3), rel=1e-9)
    observed = accuracy.mean().max() - accuracy.mean().min()
    assert row.spread == pytest.approx(observed, rel=1e-12)
    assert row.p_value == pytest.approx(
        stats.studentized_range.sf(observed / (noise.sd / np.sqrt(3)), 7, 12), rel=1e-9
    )


def to_runs(table: pd.DataFrame, accuracy: pd.DataFrame) -> pd.DataFrame:
    """A run table of one cell with the given accuracies in percent."""
    long = accuracy.stack(future_stack=True).reset_index()
    long.columns = ["seed", "init_scale", "test_accuracy"]
    long.test_accuracy /= 100
    fixed = table.iloc[[0]].drop(columns=long.columns)
    return long.merge(fixed, how="cross").assign(test_accuracy_final=long.test_accuracy)


def test_expected_range_of_the_paper() -> None:
    # 25 scales whose means have a standard deviation of 0.14 pp spread over 0.55 pp by chance.
    assert 0.14 * expected_range(25) == pytest.approx(0.55, abs=0.005)
    draws = np.ptp(np.random.default_rng(0).standard_normal((40_000, 7)), axis=1)
    assert expected_range(7) == pytest.approx(draws.mean(), abs=4 * draws.std() / 200)


def test_the_floor_is_exceeded_by_chance_one_time_in_twenty() -> None:
    """Size of the comparison with the 95% floor under no effect, with a strong effect of the seeds."""
    trials, quantile = 2000, stats.studentized_range.ppf(0.95, 7, 12)
    above = 0
    for trial in range(trials):
        accuracy = random_matrix(trial)
        noise = noise_of(accuracy)
        assert noise is not None
        above += np.ptp(accuracy.mean()) > quantile * noise.error_of_mean
    assert above / trials == pytest.approx(0.05, abs=4 * (0.05 * 0.95 / trials) ** 0.5)


@pytest.mark.slow
def test_the_interval_covers_a_large_spread() -> None:
    """Means a fixed distance apart: the 95% interval holds the distance close to 95% of the time."""
    trials, covered = 1000, 0
    for trial in range(trials):
        accuracy = random_matrix(trial, effect=25.0)
        draws = bootstrap_spread(accuracy, 500, np.random.default_rng(trial))
        low, high = basic_interval(np.ptp(accuracy.mean()), draws)
        covered += low <= 25.0 <= high
    # Twelve degrees of freedom without Student's correction: 2 x 0.975-quantile of t12 says 92.6%.
    assert covered / trials == pytest.approx(0.93, abs=0.03)


def test_bootstrap_has_the_noise_of_the_seeds() -> None:
    accuracy = random_matrix(3, seeds=4, scales=6)
    noise = noise_of(accuracy)
    assert noise is not None
    means = bootstrap_means(accuracy, 20_000, np.random.default_rng(0))
    np.testing.assert_allclose(means.mean(0), accuracy.mean(), atol=5 * noise.sd / np.sqrt(4 * 20_000))
    np.testing.assert_allclose(means.std(0), noise.sd / 2, rtol=0.03)  # 6 sd of a deviation of 20,000


def test_one_seed_has_neither_interval_nor_floor(table: pd.DataFrame) -> None:
    row = spread(table[table.seed == 0]).iloc[0]
    assert np.isnan([row.spread_low, row.spread_high, row.floor, row.floor_95, row.p_value]).all()
    assert row.note == "one seed: no interval and no noise floor"
    assert row.spread > 0


def test_missing_and_diverged_runs_are_counted(table: pd.DataFrame) -> None:
    runs = table.copy()
    runs.loc[0, ["test_accuracy", "test_accuracy_final", "diverged"]] = [np.nan, np.nan, True]
    row = spread(runs).iloc[0]
    assert (row.runs, row.missing, row.diverged) == (11, 1, 1)
    assert np.isfinite([row.spread, row.spread_low, row.floor_95]).all()
    whole = spread(runs.drop(index=0)).iloc[0]  # a row that is not there counts as missing too
    assert (whole.runs, whole.missing) == (11, 1)
    assert whole.spread == row.spread


def test_a_cell_of_nothing_but_diverged_runs(table: pd.DataFrame) -> None:
    runs = table[table.cell == "sgd"].assign(test_accuracy=np.nan, test_accuracy_final=np.nan, diverged=True)
    row = spread(runs).iloc[0]
    assert (row.runs, row.missing, row.diverged) == (0, 12, 12)
    assert np.isnan(row.spread)


def test_equal_accuracies_have_no_noise(table: pd.DataFrame) -> None:
    row = spread(to_runs(table, pd.DataFrame(np.full((3, 4), 71.3)))).iloc[0]
    assert (row.spread, row.floor, row.floor_95, row.seed_sd) == (0, 0, 0, 0)
    assert np.isnan(row.p_value)


def test_the_same_seed_gives_the_same_numbers(table: pd.DataFrame) -> None:
    state = str(np.random.get_state())
    pd.testing.assert_frame_equal(spread(table, random_state=3), spread(table, random_state=3))
    assert str(np.random.get_state()) == state
    assert not spread(table, random_state=3).spread_low.equals(spread(table, random_state=4).spread_low)
