"""The memories that clocks are judged by: each a solvable model under one mechanism of forgetting."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..trace import Trace
from . import named
from .catapult import catapult
from .model import MemoryModel

# How much smaller the learning rate is where first-order differences have to have gone.
FINER = 4


@dataclass(frozen=True)
class Row:
    """A memory object under one mechanism of forgetting.

    Attributes
    ----------
    remembers : str
    model : str
        Name in the registry; "catapult" for the event that no clock counts.
    trace : Trace
        The recipe from which others are made, at constant rate.
    settings : callable
        From a trace to the settings of the model.
    """

    remembers: str
    model: str
    trace: Trace
    settings: Callable[[Trace], Mapping[str, float]]

    @property
    def solvable(self) -> MemoryModel:
        """What is stated about the model."""
        return named(self.model)

    def memory(self, trace: Trace) -> float:
        """The share that the law leaves."""
        if self.model == "catapult":
            return catapult(float(trace.lr[0]), **self.settings(trace), updates=trace.updates) / 3.0
        settings = self.solvable.settled(trace, self.settings(trace))
        return float(self.solvable.memory(trace, **settings)[-1])

    def age(self, trace: Trace) -> float:
        """The clock of the law with its constant."""
        settings = self.solvable.settled(trace, self.settings(trace))
        return float(self.solvable.age(trace, **settings)[-1])

    def finer(self) -> Trace:
        """The same age at a smaller learning rate, over as many updates as the law asks for."""
        candidates = [scaled(self.trace, {"lr": -1, "updates": power}, FINER) for power in (1, 2)]
        return min(candidates, key=lambda trace: abs(math.log(self.age(trace) / self.age(self.trace))))


def scaled(trace: Trace, move: Mapping[str, float], factor: float) -> Trace:
    """The recipe with learning rate, batch size, decay and updates times powers of a factor."""

    def grown(name: str) -> float:
        return factor ** move.get(name, 0)

    return replace(
        trace,
        lr=np.full(round(trace.updates * grown("updates")), trace.lr[0] * grown("lr")),
        batch_size=trace.batch_size[0] * grown("batch_size"),
        weight_decay=trace.weight_decay[0] * grown("weight_decay"),
    )


def _trace(
    lr: float, updates: int, optimizer: str = "sgd", batch_size: float = 16, decay: float = 0.0, **more: Any
) -> Trace:
    return Trace(
        lr=np.full(updates, lr),
        batch_size=batch_size,
        weight_decay=decay,
        optimizer=optimizer,
        train_size=10**15,  # so large that a batch takes nothing from it
        **more,
    )


def _at_rest(trace: Trace) -> dict[str, float]:
    """Scale-invariant weights that start at the norm where decay and updates balance."""
    entries = 100.0
    square = entries * float(trace.lr[0]) / (2 * float(trace.weight_decay[0]))
    return {"init_scale": math.sqrt(square), "entries": entries}


def _with(**settings: float) -> Callable[[Trace], Mapping[str, float]]:
    return lambda trace: settings


ROWS: tuple[Row, ...] = (
    Row("least squares, null space", "null-space", _trace(0.01, 100), _with()),
    Row("null space, L2", "null-space", _trace(0.01, 100, decay=0.7), _with()),
    Row("null space, Adam", "null-space", _trace(0.01, 100, "adam"), _with()),
    Row("least squares, row space", "row-space", _trace(0.01, 100), _with(curvature=0.7)),
    Row("imbalance, label noise", "imbalance", _trace(0.1, 100), _with(noise=4.0)),
    Row("imbalance, interpolated", "imbalance", _trace(0.1, 100), _with(noise=0.0)),
    Row("imbalance, decay", "imbalance", _trace(0.01, 100, decay=0.3), _with(noise=0.0)),
    Row(
        "difference, sign descent",
        "difference",
        _trace(0.01, 100, "muon", momentum=0.0),
        _with(noise=1.0),
    ),
    Row("diagonal net, label noise", "diagonal", _trace(0.1, 100), _with(noise=4.0)),
    Row(
        "norm, SGD, noise dominates",
        "scale-invariant",
        _trace(0.1, 100),
        _with(init_scale=1.0, gradient_norm=0.0, noise=4.0),
    ),
    Row(
        "norm, SGD, signal dominates",
        "scale-invariant",
        _trace(0.1, 100),
        _with(init_scale=1.0, gradient_norm=1.0, noise=0.0),
    ),
    Row(
        "norm, Adam",
        "scale-invariant",
        _trace(0.01, 100, "adam"),
        _with(init_scale=1.0, entries=100.0),
    ),
    Row(
        "norm, fixed-size updates",
        "scale-invariant",
        _trace(0.05, 100, "muon", momentum=0.0),
        _with(init_scale=1.0, entries=4.0),
    ),
    Row(
        "norm, AdamW at rest",
        "scale-invariant",
        _trace(0.01, 100, "adamw", decay=0.5),
        _at_rest,
    ),
    Row(
        "no gradient, Adam with L2",
        "gradient-free",
        _trace(0.00005, 8000, "adam", decay=0.1),
        _with(init_scale=1.0),
    ),
    Row(
        "noisy quadratic, Adam",
        "noisy-quadratic",
        _trace(0.001, 200, "adam"),
        _with(curvature=1.0, noise=1.0),
    ),
    Row(
        "catapult",
        "catapult",
        _trace(1.0, 400),
        _with(output=0.01, curvature=3.0),
    ),
)
