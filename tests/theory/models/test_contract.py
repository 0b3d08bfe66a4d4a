"""What every listed model has to show: its law beside its simulator, up to the error of the mean."""

import math

import numpy as np
import pytest

from initmem.theory.models import NAMES, named
from initmem.theory.recipe import Recipe
from initmem.theory.trace import Trace

SEEDS = 400

# Recipes by optimizer, with a schedule that is not constant, short enough for many seeds.
RECIPES = {
    "sgd": Recipe(lr=0.05, schedule="cosine", updates=60, batch_size=4, train_size=4000),
    "sgd with momentum": Recipe(lr=0.01, schedule="linear", updates=60, momentum=0.8, batch_size=4),
    "sgd with decay": Recipe(lr=0.05, schedule="cosine", updates=60, weight_decay=0.4, batch_size=4),
    "sgd with both": Recipe(lr=0.01, updates=60, momentum=0.8, weight_decay=0.4, batch_size=4),
    "adam": Recipe(optimizer="adam", lr=0.01, schedule="cosine", updates=60),
    "adamw": Recipe(optimizer="adamw", lr=0.01, schedule="cosine", updates=60, weight_decay=1.0),
    "muon": Recipe(optimizer="muon", lr=0.01, updates=60, weight_decay=1.0),
}
CASES = [
    (name, recipe)
    for name in NAMES
    for recipe in RECIPES
    if RECIPES[recipe].optimizer in named(name).optimizers
]


@pytest.mark.parametrize(("name", "recipe"), CASES)
def test_the_mean_of_the_simulations_is_the_law(name: str, recipe: str) -> None:
    model, trace = named(name), Trace.of(RECIPES[recipe])
    settings = model.settled(trace, {})
    simulated = model.simulate(trace, SEEDS, np.random.default_rng(0), **settings)
    predicted = model.memory(trace, **settings)[-1]
    assert simulated.shape == (SEEDS,)
    error = simulated.std(ddof=1) / math.sqrt(SEEDS)
    if model.law(trace, **settings) == "exact":
        # Five standard errors; where nothing is random, rounding.
        assert abs(simulated.mean() - predicted) <= 5 * error + 1e-12
