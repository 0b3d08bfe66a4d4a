"""Recipes: how many updates, which decay law, and what contradicts itself."""

import pytest
from pydantic import ValidationError

from initmem.theory.recipe import Recipe


@pytest.mark.parametrize(
    ("size", "batch", "drop_last", "updates"),
    [(40_000, 128, True, 312), (40_000, 128, False, 313), (50_000, 128, True, 390), (500, 500, True, 1)],
)
def test_updates_per_epoch(size: int, batch: int, drop_last: bool, updates: int) -> None:
    recipe = Recipe(train_size=size, batch_size=batch, drop_last=drop_last, epochs=3)
    assert recipe.updates_per_epoch == updates
    assert recipe.total_updates == 3 * updates


def test_updates_replace_epochs() -> None:
    recipe = Recipe(updates=100, train_size=320, batch_size=32)
    assert (recipe.total_updates, recipe.total_epochs) == (100, 10)
    assert Recipe(updates=101, train_size=320, batch_size=32).total_epochs == 11


@pytest.mark.parametrize(
    ("optimizer", "law", "multiplier", "exponential"),
    [
        ("sgd", "coupled", 10.0, True),
        ("muon", "decoupled", 1.0, True),
        ("adamw", "decoupled", 1.0, True),
        ("adam", "coupled", 1.0, False),
    ],
)
def test_laws(optimizer: str, law: str, multiplier: float, exponential: bool) -> None:
    momentum = {"momentum": 0.9} if optimizer in ("sgd", "muon") else {}
    recipe = Recipe.model_validate({"optimizer": optimizer, "weight_decay": 0.1, **momentum})
    assert recipe.decay_law == law
    assert recipe.rate_multiplier == pytest.approx(multiplier, rel=1e-15)
    assert recipe.decays_exponentially is exponential


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"lr": -0.1}, "greater than 0"),
        ({"lr": 1e200}, "between 1e-100 and 1e\\+100"),
        ({"weight_decay": 1e-200}, "between 1e-100 and 1e\\+100"),
        ({"warmup_epochs": 1e300}, "less than or equal to"),
        ({"train_size": 10**400, "batch_size": 10**400}, "less than or equal to"),
        ({"lr": float("nan")}, "finite number"),
        ({"lr": float("inf")}, "finite number"),
        ({"schedule": "cos"}, "'cos' is unknown"),
        ({"batch_size": 50_000}, "batch_size = 50000 is larger than the 40000 training images"),
        ({"epochs": 3, "updates": 5}, "both given"),
        ({"lr": 0.5, "weight_decay": 2.0}, "lr \\* weight_decay = 1 would erase the weights"),
        ({"optimizer": "adam", "momentum": 0.9}, "betas of its own"),
        ({"auxiliary_lr": 0.1}, "only muon"),
        ({"warmup_epochs": 301}, "more than the 93,600 of the run"),
        ({"updates": 10**12}, "less than or equal to 1000000000"),
        ({"epochs": 10**9}, "at most 1,000,000,000"),
        ({"learning_rate": 0.1}, "Extra inputs"),
        ({"momentum": 1.0}, "less than 1"),
    ],
)
def test_what_it_refuses(fields: dict, says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        Recipe.model_validate(fields)


def test_adams_l2_may_be_large_since_it_erases_nothing() -> None:
    assert Recipe(optimizer="adam", lr=1.0, weight_decay=2.0).weight_decay == 2.0
