"""Small cells that train in a moment."""

from collections.abc import Callable
from typing import Any

import pytest

from initmem.empirics.config import Cell, DataConfig, NetworkConfig
from initmem.theory.recipe import Recipe


@pytest.fixture
def small_cell() -> Callable[..., Cell]:
    """A maker of cells on 96 digits, ResNet-9 of width 2, three epochs unless told otherwise."""

    def make(name: str = "cell", **recipe: Any) -> Cell:
        settings = {"train_size": 96, "batch_size": 32, "epochs": 3, "lr": 0.05} | recipe
        return Cell(
            name=name,
            recipe=Recipe.model_validate(settings),
            data=DataConfig(validation_size=96),
            network=NetworkConfig(width=2),
        )

    return make
