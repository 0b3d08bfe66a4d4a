r"""What a recipe leaves of the start in a solvable model, when half of it is gone; simulations beside it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import InvalidInput
from ..recipe import Recipe
from ..trace import Trace
from . import NAMES, named
from .model import Law, MemoryModel

# How far a recipe is prolonged in search of its half-life.
FARTHEST = 1 << 22

# A simulation steps through every update in Python.
MAX_SIMULATED = 10**6

# A spread over seeds below this share of the mean is rounding: nothing in the model is random.
ROUNDING = 1e-13


@dataclass(frozen=True)
class Prediction:
    """The memory of one model after one recipe.

    Attributes
    ----------
    model : MemoryModel
    trace : Trace
    settings : dict of str to float
        The model's settings in full.
    law : str
        "exact" or "leading order".
    age : float
        The clock of the model with its constant.
    memory : float
        The share of the start that is left.
    """

    model: MemoryModel
    trace: Trace
    settings: dict[str, float]
    law: Law
    age: float
    memory: float

    @cached_property
    def half_life_updates(self) -> int | None:
        """Updates after which half is left, running the recipe again where it ends too early.

        None if that takes more than 4,194,304 updates, or never happens.
        """
        trace = self.trace
        while True:
            left = np.abs(self.model.memory(trace, **self.settings))
            if (left <= 0.5).any():
                return int((left <= 0.5).argmax()) + 1
            if 2 * trace.updates > FARTHEST or left[-1] == 1:
                return None
            trace = trace.repeated(2)

    @property
    def half_life_epochs(self) -> float | None:
        """The same in passes over the training set."""
        updates = self.half_life_updates
        return None if updates is None else updates / float(self.trace.updates_per_epoch or 1)

    def to_dict(self) -> dict[str, Any]:
        """A dictionary of JSON types, without the half-life, which may take a while."""
        return {
            "model": self.model.name,
            "law": self.law,
            "formula": self.model.formula,
            "clock": self.model.clock,
            "settings": self.settings,
            "age": self.age,
            "memory": self.memory,
        }


@dataclass(frozen=True)
class Simulation:
    """Simulated trainings beside a prediction.

    Attributes
    ----------
    seeds : int
    mean, standard_error : float
        Over the seeds; the error is 0 where nothing in the model is random.
    difference : float
        Mean minus prediction.
    """

    seeds: int
    mean: float
    standard_error: float
    difference: float

    @property
    def deviation(self) -> float | None:
        """The difference in standard errors; None where nothing is random."""
        return self.difference / self.standard_error if self.standard_error else None


def predict(name: str, source: Recipe | Trace, given: Mapping[str, float] | None = None) -> Prediction:
    """What is left of the start after a recipe or a trace.

    Parameters
    ----------
    name : str
        One of :data:`initmem.theory.models.NAMES`.
    source : Recipe or Trace
    given : mapping of str to float, optional
        Settings of the model; the others have defaults.

    Returns
    -------
    Prediction

    Raises
    ------
    InvalidInput
        If the model has no law for the optimizer or does not ask for a setting.

    Examples
    --------
    >>> result = predict("null-space", Recipe(optimizer="adamw", weight_decay=0.1, updates=10_000))
    >>> result.law, round(result.memory, 6), result.half_life_updates
    ('exact', 0.367861, 6932)
    """
    model = named(name)
    trace = Trace.of(source) if isinstance(source, Recipe) else source
    settings = model.settled(trace, given or {})
    return Prediction(
        model=model,
        trace=trace,
        settings=settings,
        law=model.law(trace, **settings),
        age=float(model.age(trace, **settings)[-1]),
        memory=float(model.memory(trace, **settings)[-1]),
    )


def predictions(source: Recipe | Trace) -> tuple[Prediction, ...]:
    """Every model that has a law for the optimizer and its decay, at its default settings."""
    trace = Trace.of(source) if isinstance(source, Recipe) else source
    found = []
    for name in NAMES:
        if trace.optimizer in named(name).optimizers:
            try:
                found.append(predict(name, trace))
            except InvalidInput:  # no law for this decay, or none at this learning rate
                continue
    return tuple(found)


def simulate(prediction: Prediction, seeds: int, seed: int = 0) -> Simulation:
    """Train the model from several seeds and compare the mean with the law.

    Parameters
    ----------
    prediction : Prediction
    seeds : int
        Trainings, at least 2.
    seed : int, default 0
        Of the random generator.

    Returns
    -------
    Simulation

    Raises
    ------
    InvalidInput
        If there are too few seeds or more than 1,000,000 updates.

    Examples
    --------
    >>> recipe = Recipe(lr=0.1, updates=20, weight_decay=0.5)
    >>> result = simulate(predict("null-space", recipe), seeds=4)
    >>> round(result.mean, 6), result.deviation is None
    (0.358486, True)
    """
    if seeds < 2:
        raise InvalidInput(f"seeds = {seeds} has no standard error: give at least 2.")
    if prediction.trace.updates > MAX_SIMULATED:
        raise InvalidInput(
            f"{prediction.trace.updates:,} updates are too many to simulate: give at most {MAX_SIMULATED:,}."
        )
    with np.errstate(all="ignore"):
        left = prediction.model.simulate(
            prediction.trace, seeds, np.random.default_rng(seed), **prediction.settings
        )
    if not np.isfinite(left).all():
        raise InvalidInput(
            f"the simulated {prediction.model.name} diverges at lr = {prediction.trace.lr.max():g}: lower it."
        )
    mean, error = float(left.mean()), float(left.std(ddof=1)) / math.sqrt(seeds)
    error = error if error > ROUNDING * abs(mean) else 0.0
    return Simulation(seeds, mean, error, mean - prediction.memory)
