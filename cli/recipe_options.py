"""The options that describe a recipe and a solvable model, the same for every command that takes them."""

from typing import Annotated, Any

import typer

from ..theory.models.model import SETTINGS
from ..theory.recipe import OPTIMIZERS, Recipe
from ..theory.schedules import SHAPES

DEFAULT = Recipe()

Schedule = Annotated[str, typer.Option(help=f"Shape of the learning rate: {', '.join(SHAPES)}.")]
Lr = Annotated[float, typer.Option(help="Peak learning rate.")]
Epochs = Annotated[
    int | None, typer.Option(help="Passes over the training set.", show_default=str(DEFAULT.epochs))
]
Updates = Annotated[int | None, typer.Option(help="Optimizer updates, in place of --epochs.")]
BatchSize = Annotated[int, typer.Option(help="Images of one update.")]
TrainSize = Annotated[int, typer.Option(help="Training images.")]
DropLast = Annotated[bool, typer.Option("--drop-last/--keep-last", help="The last, incomplete batch.")]
Optimizer = Annotated[str, typer.Option(help=f"One of {', '.join(OPTIMIZERS)}.")]
Momentum = Annotated[
    float | None, typer.Option(help="Of sgd or muon.", show_default="0 for sgd, 0.95 for muon")
]
WeightDecay = Annotated[float, typer.Option(help="Coupled for sgd and adam, decoupled for adamw and muon.")]
WarmupEpochs = Annotated[float, typer.Option(help="Linear warm-up, part of the given length.")]

# What solvable models ask beyond the recipe.
InitScale = Annotated[float | None, typer.Option(help=f"For the model: {SETTINGS['init_scale']}.")]
Curvature = Annotated[float | None, typer.Option(help=f"For the model: {SETTINGS['curvature']}.")]
GradientNorm = Annotated[float | None, typer.Option(help=f"For the model: {SETTINGS['gradient_norm']}.")]
Noise = Annotated[float | None, typer.Option(help=f"For the model: {SETTINGS['noise']}.")]
Entries = Annotated[float | None, typer.Option(help=f"For the model: {SETTINGS['entries']}.")]


def recipe(**given: Any) -> Recipe:
    """The recipe of these options; None stands for the default."""
    return Recipe.model_validate({name: value for name, value in given.items() if value is not None})


def title(recipe: Recipe) -> str:
    """A recipe in one line."""
    momentum = recipe.momentum_coefficient
    parts = [
        recipe.optimizer + (f" (momentum {momentum:g})" if momentum else ""),
        f"{recipe.schedule} lr {recipe.lr:g}",
        f"warm-up {recipe.warmup_epochs:g} epochs" if recipe.warmup_epochs else "",
        f"b = {recipe.batch_size:,} of {recipe.train_size:,} images",
        f"{recipe.updates:,} updates" if recipe.updates else f"{recipe.epochs:,} epochs",
        f"{recipe.decay_law} weight decay {recipe.weight_decay:g}" if recipe.weight_decay else "",
    ]
    return ", ".join(filter(None, parts))
