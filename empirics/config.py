"""What is trained: runs, cells and sweeps, and the identity of a run.

A *cell* is a configuration without its start; a *run* is a cell with a scale and a seed; a *sweep* is
a set of cells with the scales and seeds that every one of them gets.
"""

import hashlib
import json
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from ..theory.errors import InvalidInput
from ..theory.recipe import Recipe

# Images in each data set, all splits together.
SIZES = {"digits": 1797}


class Config(BaseModel):
    """Frozen, and refusing fields that it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class DataConfig(Config):
    """The images. The size of the training set is the recipe's ``train_size``.

    Parameters
    ----------
    name : {"digits"}
        scikit-learn's digits: 1,797 real images of 8x8 pixels in 10 classes, read offline.
    validation_size : int
        Images that select the checkpoint; what is left after training and validation is the test set.
    pixel_noise : float
        Standard deviation of Gaussian noise, in units of the standardised pixels, on all splits.
    split_seed : int
        Fixes the split and the noise for all runs.
    """

    name: Literal["digits"] = "digits"
    validation_size: int = Field(default=297, ge=1)
    pixel_noise: float = Field(default=0.0, ge=0)
    split_seed: int = Field(default=0, ge=0)


class NetworkConfig(Config):
    """The network.

    Parameters
    ----------
    name : {"resnet9"}
        BatchNorm ResNet-9.
    width : int
        Channels of the first layer; the later ones have 2, 4 and 8 times as many.
    """

    name: Literal["resnet9"] = "resnet9"
    width: int = Field(default=16, ge=1)


class Cell(Config):
    """A configuration: all runs that differ only in the scale and the seed of their start."""

    name: str = Field(min_length=1)
    recipe: Recipe
    data: DataConfig = DataConfig()
    network: NetworkConfig = NetworkConfig()

    @model_validator(mode="after")
    def _trainable(self) -> Self:
        recipe, validation, size = self.recipe, self.data.validation_size, SIZES[self.data.name]
        if recipe.train_size + validation >= size:
            raise InvalidInput(
                f"train_size = {recipe.train_size} and validation_size = {validation} leave no test image "
                f"of the {size:,} in {self.data.name}: together give less."
            )
        rest = recipe.batch_size if recipe.drop_last else recipe.train_size % recipe.batch_size
        if 1 in (recipe.batch_size, rest):
            raise InvalidInput(
                f"batch_size = {recipe.batch_size} leaves a batch of one image in cell "
                f"{self.name!r}, of which BatchNorm cannot take a variance: change batch_size or "
                f"drop the last batch."
            )
        return self


class Run(Config):
    """One training: a cell with a scale and a seed.

    Parameters
    ----------
    cell : Cell
    init_scale : float
        Factor sigma_w on the He-normal kernels.
    seed : int
        Fixes the direction of the start and the data order.

    Examples
    --------
    The name of the cell is a label; everything else that changes the numbers changes the identity.

    >>> run = Run(cell=Cell(name="a", recipe=Recipe(train_size=500)), init_scale=1.0, seed=0)
    >>> renamed = Run(cell=Cell(name="b", recipe=Recipe(train_size=500)), init_scale=1.0, seed=0)
    >>> reseeded = Run(cell=Cell(name="a", recipe=Recipe(train_size=500)), init_scale=1.0, seed=1)
    >>> run.identity == renamed.identity, run.identity == reseeded.identity
    (True, False)
    """

    cell: Cell
    init_scale: float = Field(gt=0)
    seed: int = Field(ge=0)

    @property
    def identity(self) -> str:
        """First 16 hex digits of the sha256 of the canonical configuration.

        Fields at their default are left out, so that a field added later, at a default that keeps
        the old behaviour, keeps the old results.
        """
        config = self.model_dump(mode="json", exclude_defaults=True, exclude={"cell": {"name"}})
        canonical = json.dumps(config, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()[:16]


class Sweep(Config):
    """A set of cells, each trained from every scale and every seed."""

    name: str = Field(min_length=1)
    cells: Annotated[tuple[Cell, ...], Field(min_length=1)]
    init_scales: Annotated[tuple[Annotated[float, Field(gt=0)], ...], Field(min_length=1)]
    seeds: Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        for what, values in (
            ("cells named", [cell.name for cell in self.cells]),
            ("init_scales", self.init_scales),
            ("seeds", self.seeds),
        ):
            twice = [value for value in dict.fromkeys(values) if list(values).count(value) > 1]
            if twice:
                raise InvalidInput(f"the sweep has {what} {twice[0]!r} twice: each must differ.")
        known: dict[str, str] = {}
        for cell in self.cells:
            same = known.setdefault(cell.model_dump_json(exclude={"name"}), cell.name)
            if same != cell.name:
                raise InvalidInput(
                    f"cells {same!r} and {cell.name!r} are the same but for their names: drop one."
                )
        return self

    def runs(self) -> list[Run]:
        """Every run, cell by cell, seed by seed, from the smallest listed scale on."""
        return [
            Run(cell=cell, init_scale=scale, seed=seed)
            for cell in self.cells
            for seed in self.seeds
            for scale in self.init_scales
        ]
