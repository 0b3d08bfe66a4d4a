"""``initmem-theory memory``: what a recipe leaves of the start in a solvable model."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..theory.models import NAMES
from . import recipe_options as options
from .recipe_options import DEFAULT

if TYPE_CHECKING:
    from ..theory.models.memory import Prediction, Simulation
    from ..theory.recipe import Recipe


def command(
    model: Annotated[str | None, typer.Argument(help=f"One of {', '.join(NAMES)}.")] = None,
    init_scale: options.InitScale = None,
    curvature: options.Curvature = None,
    gradient_norm: options.GradientNorm = None,
    noise: options.Noise = None,
    entries: options.Entries = None,
    as_list: Annotated[
        bool, typer.Option("--list", help="Print which clock is right for which memory, and end.")
    ] = False,
    simulate: Annotated[bool, typer.Option("--simulate", help="Run the simulator beside the law.")] = False,
    seeds: Annotated[int, typer.Option(help="Simulated trainings.")] = 100,
    seed: Annotated[int, typer.Option(help="Of the simulator's random numbers.", min=0)] = 0,
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
    """Print what a recipe leaves of the start in a solvable model, and when half of it is gone.

    Settings that a model asks for and that are not given have defaults, which are printed.
    """
    from ..theory.errors import InvalidInput

    if as_list:
        from .memory_table import show

        return show(as_json)
    if model is None:
        raise InvalidInput(f"no model was given: name one of {', '.join(NAMES)}, or give --list.")
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
    settings = {
        "init_scale": init_scale,
        "curvature": curvature,
        "gradient_norm": gradient_norm,
        "noise": noise,
        "entries": entries,
    }
    from ..theory.models import memory

    prediction = memory.predict(model, recipe, {n: v for n, v in settings.items() if v is not None})
    simulation = memory.simulate(prediction, seeds, seed) if simulate else None
    if as_json:
        import json

        print(json.dumps(_json(prediction, simulation, recipe), allow_nan=False))
    else:
        _print(prediction, simulation, recipe)
    return None


def _json(prediction: "Prediction", simulation: "Simulation | None", recipe: "Recipe") -> dict[str, Any]:
    return prediction.to_dict() | {
        "half_life_updates": prediction.half_life_updates,
        "half_life_epochs": prediction.half_life_epochs,
        "simulated": simulation and simulation.mean,
        "standard_error": simulation and simulation.standard_error,
        "difference": simulation and simulation.difference,
        "deviation": simulation and simulation.deviation,
        "seeds": simulation and simulation.seeds,
        "assumptions": list(prediction.model.assumptions),
        "references": list(prediction.model.references),
        "recipe": recipe.model_dump(mode="json"),
    }


def _print(prediction: "Prediction", simulation: "Simulation | None", recipe: "Recipe") -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from ..theory.references import short

    model, settings = prediction.model, prediction.settings
    rows = [
        ("remembers", model.remembers),
        ("law", f"{model.formula} ({prediction.law})"),
        ("clock", model.clock),
    ]
    if settings:
        rows.append(("settings", ", ".join(f"{name} = {value:g}" for name, value in settings.items())))
    rows += [
        ("age", f"{prediction.age:.6g}"),
        ("memory", f"{prediction.memory:.6g}"),
        ("half-life", _half_life(prediction)),
    ]
    if simulation:
        rows += [
            (
                "simulated",
                f"{simulation.mean:.6g} ± {simulation.standard_error:.2g} over {simulation.seeds} seeds",
            ),
            ("deviation", _deviation(prediction, simulation)),
        ]
    rows += [("assumes" if n == 0 else "", line) for n, line in enumerate(model.assumptions)]
    rows.append(("from", "; ".join(short(key).partition(",")[0] for key in model.references)))
    console = Console(highlight=False)
    console.print(f"[bold]{model.title}[/bold] ({model.name})")
    console.print(options.title(recipe), "\n")
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True, style="dim")
    table.add_column(overflow="fold")
    for name, text in rows:
        table.add_row(name, escape(text), style="bold" if name == "memory" else None)
    console.print(table)


def _half_life(prediction: "Prediction") -> str:
    from ..theory.models.memory import FARTHEST

    updates, epochs = prediction.half_life_updates, prediction.half_life_epochs
    if updates is None or epochs is None:
        never = prediction.memory == 1
        return "never: nothing is forgotten" if never else f"more than {FARTHEST:,} updates"
    beyond = updates > prediction.trace.updates
    again = ", were the recipe run again and again" if beyond else ""
    return f"{updates:,} updates = {epochs:,.4g} epochs{again}"


def _deviation(prediction: "Prediction", simulation: "Simulation") -> str:
    leading = "" if prediction.law == "exact" else "; the law leaves out terms of relative order lr"
    if simulation.deviation is not None:
        return f"{simulation.deviation:+.2f} standard errors from the law{leading}"
    if abs(simulation.difference) < 1e-10 * max(abs(prediction.memory), 1e-10):
        return "none: law and simulation agree to rounding"
    return f"{simulation.difference:+.3g}, and nothing in this model is random{leading}"
