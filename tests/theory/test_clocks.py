"""Clocks against the paper's numbers, published cases, and torch's own decay."""

import json
import math
import re

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from initmem.theory.clocks import CLOCKS, clock_values, clocks
from initmem.theory.recipe import Recipe


@pytest.mark.parametrize(
    ("epochs", "batch", "t_sgd"),
    [(300, 128, 7.3e-4), (5000, 128, 1.2e-2), (300, 32, 1.17e-2)],
)
def test_the_papers_values(epochs: int, batch: int, t_sgd: float) -> None:
    # Two digits are published; 300 epochs of b = 32 have the T_SGD of 5,000 epochs of b = 128.
    found = clocks(Recipe(epochs=epochs, batch_size=batch)).T_SGD
    assert found == pytest.approx(t_sgd, rel=0.02)


def test_exact_values_of_a_constant_rate() -> None:
    result = clocks(Recipe(lr=0.25, updates=8, batch_size=4, train_size=16, weight_decay=0.5))
    assert (result.updates, result.sum_lr, result.sum_lr_squared) == (8, 2.0, 0.5)
    assert (result.T_SGD, result.T_L2, result.T_adapt) == (0.125, 1.0, 2.0)
    assert result.decay_survival == pytest.approx((1 - 0.125) ** 8, rel=1e-14)


def test_momentum_acts_through_the_effective_rate() -> None:
    plain = clocks(Recipe(lr=0.1, weight_decay=5e-4, updates=2000))
    heavy = clocks(Recipe(lr=0.1, weight_decay=5e-4, updates=2000, momentum=0.9))
    assert pytest.approx(100 * plain.T_SGD, rel=1e-12) == heavy.T_SGD
    assert pytest.approx(1.0, rel=1e-12) == heavy.T_L2
    assert heavy.T_SGD_plain == pytest.approx(plain.T_SGD, rel=1e-12)
    assert heavy.T_L2_plain == pytest.approx(plain.T_L2, rel=1e-12)


def shrink(optimizer: str, updates: int, momentum: float = 0.0, **options: float) -> float:
    """What torch leaves of a weight of 1 that never gets a gradient from the loss."""
    weight = torch.nn.Parameter(torch.ones((), dtype=torch.float64))
    if optimizer == "sgd":
        options["momentum"] = momentum
    name = {"sgd": "SGD", "adamw": "AdamW"}[optimizer]
    stepper = getattr(torch.optim, name)([weight], **options)
    for _ in range(updates):
        weight.grad = torch.zeros_like(weight)
        stepper.step()
    return float(weight.detach())


@pytest.mark.parametrize(
    ("optimizer", "lr", "decay", "updates"),
    [("sgd", 0.1, 5e-4, 2000), ("sgd", 0.02, 5.0, 50), ("adamw", 1e-3, 0.1, 1000)],
)
def test_survival_is_what_torch_leaves(optimizer: str, lr: float, decay: float, updates: int) -> None:
    recipe = Recipe.model_validate(
        {"optimizer": optimizer, "lr": lr, "weight_decay": decay, "updates": updates}
    )
    left = shrink(optimizer, updates, lr=lr, weight_decay=decay)
    assert clocks(recipe).decay_survival == pytest.approx(left, rel=1e-12)


def test_survival_under_momentum_is_of_leading_order() -> None:
    recipe = Recipe(lr=0.1, weight_decay=5e-4, updates=2000, momentum=0.9)
    left = shrink("sgd", 2000, momentum=0.9, lr=0.1, weight_decay=5e-4)
    assert left == pytest.approx(0.367791, abs=5e-7)
    # The next term of the rate is lr * decay * (1 + beta) / (2 (1 - beta)^2) per update.
    order = 2000 * (0.1 * 5e-4) ** 2 * (1 + 0.9) / (2 * (1 - 0.9) ** 3)
    assert clocks(recipe).decay_survival == pytest.approx(left, rel=2 * order)


def test_adamw_under_cosine() -> None:
    result = clocks(Recipe(optimizer="adamw", schedule="cosine", lr=1e-3, weight_decay=0.1, updates=10_000))
    assert pytest.approx(0.50005, rel=1e-12) == result.T_L2
    assert result.decay_survival == pytest.approx(0.606489, abs=5e-7)


@pytest.mark.parametrize(
    ("fields", "in_force"),
    [
        ({}, ("T_SGD",)),
        ({"weight_decay": 1e-4}, ("T_SGD", "T_L2")),
        ({"batch_size": 40_000}, ()),
        ({"batch_size": 40_000, "weight_decay": 1e-4}, ("T_L2",)),
        ({"optimizer": "adam"}, ("T_adapt",)),
        ({"optimizer": "adam", "weight_decay": 1e-4}, ("T_adapt",)),
        ({"optimizer": "adamw", "weight_decay": 1e-4}, ("T_L2", "T_adapt")),
        ({"optimizer": "muon"}, ("T_adapt",)),
    ],
)
def test_clocks_in_force(fields: dict, in_force: tuple[str, ...]) -> None:
    result = clocks(Recipe.model_validate(fields))
    assert result.in_force == in_force
    assert set(result.reasons) == set(CLOCKS)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"optimizer": "adam", "weight_decay": 0.1}, "no exponential clock"),
        ({"momentum": 0.9, "lr": 0.1, "weight_decay": 0.03}, "memory oscillates"),
        ({"lr": 0.5, "weight_decay": 1.0}, "exp\\(-T_L2\\) overstates"),
        ({"drop_last": False}, "last batch of an epoch has 64 images"),
        ({"optimizer": "muon"}, "peak rate 0.001"),
    ],
)
def test_warnings(fields: dict, says: str) -> None:
    (warning,) = clocks(Recipe.model_validate(fields)).warnings
    assert re.search(says, warning)


@pytest.mark.parametrize(
    ("fields", "verdict"),
    [
        ({}, "The start should be remembered"),
        ({"lr": 0.1, "momentum": 0.9}, "depends on the gradient noise"),
        ({"lr": 0.01, "weight_decay": 0.01}, "The start should be forgotten"),
        ({"optimizer": "adam"}, "The start can be forgotten"),
        ({"optimizer": "adam", "updates": 50, "lr": 1e-3}, "The start is partly remembered"),
        ({"batch_size": 40_000}, "The start should be remembered: no clock"),
        ({"optimizer": "adam", "updates": 1, "lr": 1e-5}, "The start should be remembered"),
    ],
)
def test_the_sentence(fields: dict, verdict: str) -> None:
    sentence = clocks(Recipe.model_validate(fields)).memory
    assert verdict in sentence
    assert sentence.count(".") >= 1
    assert sentence.endswith(".")


def test_json_keeps_every_digit() -> None:
    result = clocks(Recipe(schedule="cosine", lr=0.1, epochs=7))
    back = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert back["T_SGD"] == result.T_SGD
    assert back["recipe"]["schedule"] == "cosine"


@given(
    lr=st.floats(1e-6, 1.0),
    batch=st.integers(1, 64),
    decay=st.just(0.0) | st.floats(1e-6, 0.5),
    first=st.integers(1, 200),
    more=st.integers(1, 200),
)
def test_clocks_add_up_and_never_run_back(lr: float, batch: int, decay: float, first: int, more: int) -> None:
    def of(updates: int) -> dict[str, float]:
        recipe = Recipe(lr=lr, batch_size=batch, train_size=64, weight_decay=decay, updates=updates)
        return clock_values(recipe, recipe.learning_rate.sum(1), recipe.learning_rate.sum(2))

    whole, head, tail = of(first + more), of(first), of(more)
    for name in CLOCKS:
        assert math.isclose(whole[name], head[name] + tail[name], rel_tol=1e-12)
        assert whole[name] >= head[name]
