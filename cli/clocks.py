"""``initmem-theory clocks``: what a recipe accumulates."""

from typing import Annotated, Any

import typer

from ..theory.clocks import CLOCKS, Clocks, clocks
from ..theory.recipe import Recipe
from . import recipe_options as options
from .recipe_options import DEFAULT


def command(
    schedule: options.Schedule = DEFAULT.schedule,
    lr: options.Lr = DEFAULT.lr,
    epochs: options.Epochs = None,
    updates: options.Updates = None,
    batch_size: options.BatchSize = DEFAULT.batch_size,
    train_size: options.TrainSize = DEFAULT.train_size,
    drop_last: options.DropLast = DEFAULT.drop_last,
    optimizer: options.Optimizer = DEFAULT.optimizer,
    momentum: options.Momentum = None,
    weight_decay: options.WeightDecay = DEFAULT.weight_decay,
    warmup_epochs: options.WarmupEpochs = DEFAULT.warmup_epochs,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Print the clocks of a training recipe, which of them are in force, and why.

    The defaults are the low-learning-rate recipe of arXiv:2605.29152.
    """
    recipe = options.recipe(
        schedule=schedule,
        lr=lr,
        epochs=epochs,
        updates=updates,
        batch_size=batch_size,
        train_size=train_size,
        drop_last=drop_last,
        optimizer=optimizer,
        momentum=momentum,
        weight_decay=weight_decay,
        warmup_epochs=warmup_epochs,
    )
    result = clocks(recipe)
    if as_json:
        import json

        print(json.dumps(result.to_dict(), allow_nan=False))
    else:
        _print(result, recipe)


def _print(result: Clocks, recipe: Recipe) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=options.title(recipe), title_justify="left", title_style="bold")
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
    _print_models(console, result)
    for warning in result.warnings:
        console.print(f"[yellow]Note:[/yellow] {warning}", highlight=False)


def _print_models(console: Any, result: Clocks) -> None:
    """What is left in the solvable models that have a law for the optimizer."""
    from rich.table import Table

    shares = {name: 100 * share for name, share in result.late_share.items() if getattr(result, name)}
    late = ", ".join(f"{share:.2g}% of {name}" for name, share in shares.items())
    console.print(f"\nThe last tenth of the updates adds {late}.", highlight=False)
    if not result.models:
        return
    console.print("\nLeft in solvable models at their default settings, see initmem-theory memory:")
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True, style="dim")
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, style="dim")
    for model in result.models:
        settings = ", ".join(f"{name} {value:g}" for name, value in model.settings.items())
        table.add_row(model.model.name, f"{model.memory:.4g}", settings)
    console.print(table)
