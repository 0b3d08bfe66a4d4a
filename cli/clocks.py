"""``initmem-theory clocks``: what a recipe accumulates."""

from typing import Annotated, Any

import typer

from ..theory.clocks import CLOCKS, Clocks, clocks
from ..theory.recipe import OPTIMIZERS, Recipe
from ..theory.schedules import SHAPES

DEFAULT = Recipe()


def command(
    schedule: Annotated[
        str, typer.Option(help=f"Shape of the learning rate: {', '.join(SHAPES)}.")
    ] = DEFAULT.schedule,
    lr: Annotated[float, typer.Option(help="Peak learning rate.")] = DEFAULT.lr,
    epochs: Annotated[
        int | None,
        typer.Option(help="Passes over the training set.", show_default=str(DEFAULT.epochs)),
    ] = None,
    updates: Annotated[int | None, typer.Option(help="Optimizer updates, in place of --epochs.")] = None,
    batch_size: Annotated[int, typer.Option(help="Images of one update.")] = DEFAULT.batch_size,
    train_size: Annotated[int, typer.Option(help="Training images.")] = DEFAULT.train_size,
    drop_last: Annotated[
        bool, typer.Option("--drop-last/--keep-last", help="The last, incomplete batch.")
    ] = DEFAULT.drop_last,
    optimizer: Annotated[str, typer.Option(help=f"One of {', '.join(OPTIMIZERS)}.")] = DEFAULT.optimizer,
    momentum: Annotated[
        float | None,
        typer.Option(help="Of sgd or muon.", show_default="0 for sgd, 0.95 for muon"),
    ] = None,
    weight_decay: Annotated[
        float, typer.Option(help="Coupled for sgd and adam, decoupled for adamw and muon.")
    ] = DEFAULT.weight_decay,
    warmup_epochs: Annotated[
        float, typer.Option(help="Linear warm-up, part of the given length.")
    ] = DEFAULT.warmup_epochs,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Print the clocks of a training recipe, which of them are in force, and why.

    The defaults are the low-learning-rate recipe of arXiv:2605.29152.
    """
    given: dict[str, Any] = {
        name: value
        for name, value in {"epochs": epochs, "updates": updates, "momentum": momentum}.items()
        if value is not None
    }
    recipe = Recipe.model_validate(
        {
            "schedule": schedule,
            "lr": lr,
            "batch_size": batch_size,
            "train_size": train_size,
            "drop_last": drop_last,
            "optimizer": optimizer,
            "weight_decay": weight_decay,
            "warmup_epochs": warmup_epochs,
        }
        | given
    )
    result = clocks(recipe)
    if as_json:
        import json

        print(json.dumps(result.to_dict(), allow_nan=False))
    else:
        _print(result)


def _print(result: Clocks) -> None:
    from rich.console import Console
    from rich.table import Table

    recipe = result.recipe
    table = Table(title=_title(recipe), title_justify="left", title_style="bold")
    table.add_column("quantity", no_wrap=True)
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("in force")
    table.add_column("why", overflow="fold")
    table.add_row("updates", f"{result.updates:,}", "", "")
    table.add_row("sum of lr", f"{result.sum_lr:.6g}", "", "")
    table.add_row("sum of lr^2", f"{result.sum_lr_squared:.6g}", "", "", end_section=True)
    for name in CLOCKS:
        force = "yes" if name in result.in_force else "no"
        style = "bold" if force == "yes" else "dim"
        table.add_row(name, f"{getattr(result, name):.6g}", force, result.reasons[name], style=style)
        plain = getattr(result, f"{name}_plain", None)
        if recipe.rate_multiplier > 1 and plain:
            why = f"with lr in place of the effective lr/(1 - {recipe.momentum_coefficient:g})"
            table.add_row(f"  {name} plain", f"{plain:.6g}", "", why, style="dim")
    console = Console()
    console.print(table)
    console.print(result.memory, highlight=False)
    for warning in result.warnings:
        console.print(f"[yellow]Note:[/yellow] {warning}", highlight=False)


def _title(recipe: Recipe) -> str:
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
