"""What every listed model has to show: its law beside its simulator, up to the error of the mean."""

import math

import numpy as np
import pytest

from initmem.theory.models import NAMES, named
from initmem.theory.models.model import SETTINGS
from initmem.theory.recipe import Recipe
from initmem.theory.references import bibtex
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


def _stated(name: str, case: str) -> str | None:
    """How the law stands for a recipe; None where it has none."""
    model, trace = named(name), Trace.of(RECIPES[case])
    return model.law(trace, **model.settings) if trace.optimizer in model.optimizers else None


EXACT = [(name, case) for name in NAMES for case in RECIPES if _stated(name, case) == "exact"]
STATED = [(name, case) for name in NAMES for case in RECIPES if _stated(name, case)]


@pytest.mark.parametrize(("name", "case"), EXACT)
def test_the_mean_of_the_simulations_is_an_exact_law(name: str, case: str) -> None:
    """Laws of leading order have their ladder of learning rates in `test_leading_order.py` and by model."""
    model, trace = named(name), Trace.of(RECIPES[case])
    simulated = model.simulate(trace, SEEDS, np.random.default_rng(0), **model.settings)
    error = simulated.std(ddof=1) / math.sqrt(SEEDS)
    # Five standard errors; where nothing is random, rounding.
    assert abs(simulated.mean() - model.memory(trace, **model.settings)[-1]) <= 5 * error + 1e-12


@pytest.mark.parametrize(("name", "case"), STATED)
def test_memory_and_age_have_a_value_an_update(name: str, case: str) -> None:
    model, trace = named(name), Trace.of(RECIPES[case])
    memory, age = (law(trace, **model.settings) for law in (model.memory, model.age))
    assert memory.shape == age.shape == (trace.updates,)
    assert model.simulate(trace, 3, np.random.default_rng(0), **model.settings).shape == (3,)
    assert (np.diff(age) >= 0).all()
    oscillates = name in ("null-space", "row-space") and RECIPES[case].momentum  # beyond zero
    assert memory.max() <= 1
    assert oscillates or memory.min() >= 0


@pytest.mark.parametrize("name", NAMES)
def test_what_is_stated_is_complete(name: str) -> None:
    model = named(name)
    assert model.name == name
    assert set(model.settings) <= set(SETTINGS)
    assert all(bibtex([key]) for key in model.references)
    assert len(model.derive()) >= 2
    for step in model.derive():
        assert step.text
        assert step.equation.free_symbols
