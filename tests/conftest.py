"""A made-up study, for tests of what is drawn and reported; nothing is trained."""

from itertools import product
from typing import Any

import pandas as pd
import pytest

from initmem.empirics.config import Cell, Sweep
from initmem.empirics.table import cell_columns
from initmem.theory.clocks import CLOCKS
from initmem.theory.recipe import Recipe
from initmem.validate.claims import Claim
from initmem.validate.radial import radial_memory
from initmem.validate.regression import ClockRegression, fits
from initmem.validate.spread import spread
from initmem.validate.study import Study

SCALES = (0.1, 0.5, 1.0, 2.5)
SEEDS = (0, 1, 2)


def recipe(**settings: Any) -> Recipe:
    """Ten updates an epoch, ten epochs."""
    return Recipe.model_validate({"train_size": 1280, "batch_size": 128, "epochs": 10} | settings)


# Recipe, loss of accuracy from the smallest to the largest scale, radial memory.
CELLS = {
    "sgd": (recipe(lr=0.01), 0.24, 0.8),
    "sgd long": (recipe(lr=0.01, epochs=40), 0.20, 0.7),
    "sgd high": (recipe(lr=0.1), 0.12, 0.5),
    "sgd l2": (recipe(lr=0.1, weight_decay=0.01), 0.03, 0.1),
    "adam": (recipe(optimizer="adam", lr=0.01), 0.05, 0.2),
    "muon <script>": (recipe(optimizer="muon", lr=0.02), 0.04, 0.1),
}


def make_table() -> pd.DataFrame:
    """Runs whose accuracy falls in a straight line over the scales, with a small fixed noise."""
    rows = []
    for (name, (recipe, loss, memory)), seed in product(CELLS.items(), SEEDS):
        columns = cell_columns(Cell(name=name, recipe=recipe))
        for index, scale in enumerate(SCALES):
            noise = 0.004 * ((seed * 7 + index * 5) % 4 - 1.5)
            accuracy = 0.85 - loss * index / (len(SCALES) - 1) + noise
            initial = 10 * scale * (1 + 0.01 * seed)
            rows.append(
                {
                    "run": f"{name} {seed} {scale}",
                    "init_scale": scale,
                    "seed": seed,
                    "test_accuracy": accuracy,
                    "test_accuracy_final": accuracy,
                    "interpolation_epoch": 5,
                    "initial_norm": initial,
                    "final_norm": 5 * initial**memory,
                    "diverged": False,
                }
                | columns
                | {f"{clock}_selected": columns[clock] / 2 for clock in CLOCKS}
            )
    return pd.DataFrame(rows)


@pytest.fixture(scope="session")
def table() -> pd.DataFrame:
    return make_table()


@pytest.fixture(scope="session")
def cells(table: pd.DataFrame) -> pd.DataFrame:
    return spread(table, rounds=200)


@pytest.fixture(scope="session")
def radial(table: pd.DataFrame) -> pd.DataFrame:
    return radial_memory(table)


@pytest.fixture(scope="session")
def regressions(cells: pd.DataFrame) -> list[ClockRegression]:
    return fits(cells)


@pytest.fixture(scope="session")
def study(table, cells, radial, regressions) -> Study:
    verdicts = ("supported", "contradicted", "underpowered", "not tested")
    return Study(
        sweep=Sweep(
            name="made up",
            cells=tuple(Cell(name=name, recipe=recipe) for name, (recipe, *_) in CELLS.items()),
            init_scales=SCALES,
            seeds=SEEDS,
        ),
        table=table,
        cells=cells,
        radial=radial,
        fits=regressions,
        claims=[
            Claim(str(n), f"Statement {n}.", f"reported {n}", f"test {n}", f"found {n}", verdict)
            for n, verdict in enumerate(verdicts, start=1)
        ],
    )
