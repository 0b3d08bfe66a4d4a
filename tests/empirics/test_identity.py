"""What a run is called. These literals must never change: stored results are found by them."""

import pytest
from pydantic import ValidationError

from initmem.empirics.config import Cell, DataConfig, NetworkConfig, Run, Sweep
from initmem.empirics.presets import preset
from initmem.theory.recipe import Recipe

PLAIN = Cell(name="plain", recipe=Recipe(train_size=500))
FULL = Cell(
    name="full",
    recipe=Recipe(
        optimizer="muon",
        lr=0.02,
        schedule="cosine",
        updates=1000,
        warmup_epochs=2.5,
        batch_size=64,
        train_size=1000,
        drop_last=False,
        momentum=0.8,
        weight_decay=0.1,
        auxiliary_lr=0.01,
    ),
    data=DataConfig(validation_size=100, pixel_noise=0.7, split_seed=3),
    network=NetworkConfig(width=4),
)


@pytest.mark.parametrize(
    ("cell", "init_scale", "seed", "identity"),
    [
        (PLAIN, 1.0, 0, "dcfea7b5ac0b2b67"),
        (PLAIN, 2.5, 3, "62cd947b8e78b508"),
        (FULL, 0.1, 1, "feb989857826b663"),
    ],
)
def test_literal_identities(cell: Cell, init_scale: float, seed: int, identity: str) -> None:
    assert Run(cell=cell, init_scale=init_scale, seed=seed).identity == identity


def test_defaults_written_out_change_nothing() -> None:
    spelled = Cell(
        name="x", recipe=Recipe(train_size=500, lr=1e-3, batch_size=128), data=DataConfig(split_seed=0)
    )
    assert (
        Run(cell=spelled, init_scale=1, seed=0).identity == Run(cell=PLAIN, init_scale=1.0, seed=0).identity
    )


def test_every_run_of_a_preset_has_its_own_identity() -> None:
    runs = preset("quick").runs()
    assert len({run.identity for run in runs}) == len(runs) == 15 * 7 * 3


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"cells": (PLAIN, PLAIN)}, "cells named 'plain' twice"),
        (
            {"cells": (PLAIN, PLAIN.model_copy(update={"name": "twin"}))},
            "cells 'plain' and 'twin' are the same but for their names",
        ),
        ({"seeds": (0, 0)}, "seeds 0 twice"),
        ({"init_scales": (1.0, 1.0)}, "init_scales 1.0 twice"),
        ({"init_scales": (0.0,)}, "greater than 0"),
        ({"seeds": ()}, "at least 1 item"),
    ],
)
def test_sweeps_that_are_refused(change: dict, says: str) -> None:
    fields = {"name": "s", "cells": (PLAIN,), "init_scales": (1.0,), "seeds": (0,)} | change
    with pytest.raises(ValidationError, match=says):
        Sweep.model_validate(fields)


def test_a_batch_of_one_image_is_refused() -> None:
    with pytest.raises(ValidationError, match="leaves a batch of one image"):
        Cell(name="x", recipe=Recipe(train_size=97, batch_size=32, drop_last=False))
