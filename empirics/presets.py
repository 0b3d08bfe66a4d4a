"""Sweeps that are ready to run."""

from collections.abc import Callable
from typing import Any

from ..theory.errors import InvalidInput
from ..theory.recipe import Recipe
from .config import Cell, DataConfig, NetworkConfig, Sweep


def smoke() -> Sweep:
    """Four cells that finish in seconds; they exercise every part and show nothing."""

    def cell(name: str, **recipe: Any) -> Cell:
        return Cell(
            name=name,
            recipe=Recipe.model_validate({"train_size": 96, "batch_size": 32, "epochs": 3} | recipe),
            data=DataConfig(validation_size=96),
            network=NetworkConfig(width=2),
        )

    return Sweep(
        name="smoke",
        cells=(
            cell("sgd", lr=0.03),
            cell("sgd long", lr=0.03, epochs=12),
            cell("sgd l2", lr=0.1, weight_decay=0.03),
            cell("muon", optimizer="muon", lr=0.02),
        ),
        init_scales=(0.1, 1.0, 2.5),
        seeds=(0, 1),
    )


def quick() -> Sweep:
    """The whole phenomenon in a few minutes on two cores: noisy digits, ResNet-9 of width 4.

    The cells come in pairs that separate the clock from other explanations:

    - *sgd* and *sgd long*: the same but for the number of epochs;
    - *sgd long* and *sgd b16*: the same T_SGD, through epochs or through a small batch;
    - *sgd* and *sgd momentum*: the same effective learning rate;
    - *sgd b16*, *sgd* and *sgd b64*: the same but for the batch;
    - *adam short* and *adam*, and so on: the same optimizer with a short and a long clock;
    - *sgd l2 short*, *sgd l2 middle* and *sgd l2*: the same decay law with a clock that grows.
    """

    def cell(name: str, **recipe: Any) -> Cell:
        return Cell(
            name=name,
            recipe=Recipe.model_validate({"train_size": 500, "batch_size": 32, "epochs": 60} | recipe),
            data=DataConfig(pixel_noise=0.7),
            network=NetworkConfig(width=4),
        )

    return Sweep(
        name="quick",
        cells=(
            cell("sgd", lr=0.03),
            cell("sgd long", lr=0.03, epochs=240),
            cell("sgd b16", lr=0.03, batch_size=16),
            cell("sgd b64", lr=0.03, batch_size=64),
            cell("sgd momentum", lr=0.003, momentum=0.9),
            cell("sgd high lr", lr=0.1),
            cell("sgd l2 short", lr=0.03, weight_decay=0.003),
            cell("sgd l2 middle", lr=0.03, weight_decay=0.03),
            cell("sgd l2", lr=0.1, weight_decay=0.03),
            cell("adam short", optimizer="adam", lr=0.001),
            cell("adam", optimizer="adam", lr=0.02),
            cell("adamw short", optimizer="adamw", lr=0.001, weight_decay=0.1),
            cell("adamw", optimizer="adamw", lr=0.01, weight_decay=0.1, epochs=90),
            cell("muon short", optimizer="muon", lr=0.002),
            cell("muon", optimizer="muon", lr=0.02),
        ),
        init_scales=(0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 2.5),
        seeds=(0, 1, 2),
    )


PRESETS: dict[str, Callable[[], Sweep]] = {"smoke": smoke, "quick": quick}


def preset(name: str) -> Sweep:
    """The sweep of a preset.

    Raises
    ------
    InvalidInput
        If there is none of that name.

    Examples
    --------
    >>> len(preset("smoke").runs())
    24
    """
    if name not in PRESETS:
        raise InvalidInput(f"preset {name!r} is unknown: choose one of {', '.join(PRESETS)}.")
    return PRESETS[name]()
