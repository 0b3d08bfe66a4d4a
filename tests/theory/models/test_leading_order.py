"""Laws stated to leading order: their deviation vanishes with the learning rate at a fixed clock."""

import math

import numpy as np
import pytest

from initmem.theory.models import named
from initmem.theory.trace import Trace

# A schedule and batches that vary; a power is by how many updates, of lr/f each, one is replaced.
SHAPE = np.linspace(1.4, 0.6, 100)
SGD = {"lr": 0.08 * SHAPE, "batch_size": np.repeat([1, 4], 50)}
CASES = {
    "imbalance": (SGD, 2),
    "imbalance with decay": (SGD | {"weight_decay": 0.1}, 2),
    "imbalance with momentum": (SGD | {"lr": 0.016 * SHAPE, "momentum": 0.8}, 2),
    "imbalance with both": (SGD | {"lr": 0.016 * SHAPE, "momentum": 0.8, "weight_decay": 0.1}, 2),
    "diagonal": (SGD, 2),
    "diagonal with decay": (SGD | {"weight_decay": 0.1}, 2),
    "diagonal with momentum": (SGD | {"lr": 0.016 * SHAPE, "momentum": 0.8}, 2),
    "difference under muon": ({"lr": 0.01 * SHAPE, "optimizer": "muon", "momentum": 0.9}, 2),
    "difference under muon with decay": (
        {"lr": 0.02 * SHAPE, "optimizer": "muon", "momentum": 0.5, "weight_decay": 0.2},
        2,
    ),
    "difference under adam": ({"lr": 0.02 * SHAPE, "optimizer": "adam"}, 1),
}


def refined(settings: dict, factor: int, power: int) -> Trace:
    """The same clock at smaller learning rates; decay falls too where the clock is lr squared."""
    times = factor**power
    values = {"batch_size": 1, "weight_decay": 0.0} | settings
    return Trace(
        **values
        | {
            "lr": np.repeat(values["lr"] / factor, times),
            "batch_size": np.repeat(np.broadcast_to(values["batch_size"], 100), times),
            "weight_decay": values["weight_decay"] / factor ** (power - 1),
        }
    )


@pytest.mark.parametrize("case", CASES)
def test_deviation_vanishes_with_the_learning_rate(case: str) -> None:
    model, (settings, power) = named(case.split()[0]), CASES[case]
    left, errors = [], []
    for factor in (1, 2, 4):
        trace = refined(settings, factor, power)
        assert model.law(trace, **model.settings) == "leading order"
        simulated = model.simulate(trace, 2000, np.random.default_rng(factor), **model.settings)
        left.append(simulated.mean())
        errors.append(simulated.std(ddof=1) / math.sqrt(2000))
    predicted = model.memory(refined(settings, 4, power), **model.settings)[-1]
    # Richardson: free of first and second order in the learning rate.
    weights = np.array([1, -6, 8]) / 3
    error = math.hypot(*(weights * errors))
    assert error < 0.01
    assert abs(weights @ left - predicted) <= 5 * error
    # The deviation itself is seen, and falls.
    assert abs(left[0] - predicted) > 5 * errors[0] or abs(left[2] - predicted) < 5 * errors[2]
    assert abs(left[2] - predicted) < abs(left[0] - predicted) / 2 + 5 * errors[0]
