"""``initmem-theory match``: recipes with one reading of a clock, or with a chosen memory."""

from typing import TYPE_CHECKING, Annotated

import typer

from ..theory.models import NAMES
from . import recipe_options as options

if TYPE_CHECKING:
    from ..theory.recipe import Recipe

CLOCKS = ("T_SGD", "T_L2", "T_adapt", "sum_lr_squared")
KNOBS = ("lr", "weight_decay", "batch_size", "epochs", "updates")


def command(
    start: Annotated[
        str,
        typer.Option(
            "--from", help='The recipe in words, such as "sgd lr=0.1 b=128 epochs=200 cosine wd=5e-4".'
        ),
    ],
    to: Annotated[str, typer.Option("--to", help='What changes, such as "b=512".')] = "",
    keep: Annotated[str | None, typer.Option(help=f"The clock to keep: {', '.join(CLOCKS)}.")] = None,
    target_memory: Annotated[
        float | None, typer.Option(help="In place of --keep: the memory that --model shall have.")
    ] = None,
    model: Annotated[str | None, typer.Option(help=f"With --target-memory: {', '.join(NAMES)}.")] = None,
    solve: Annotated[str, typer.Option(help=f"The knob to turn: {', '.join(KNOBS)}.")] = "lr",
    init_scale: options.InitScale = None,
    curvature: options.Curvature = None,
    gradient_norm: options.GradientNorm = None,
    noise: options.Noise = None,
    entries: options.Entries = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Find the recipe that keeps a clock when another knob changes, or that forgets as much as asked.

    What the change does to all the other clocks is printed beside it.
    """
    from ..theory.errors import InvalidInput
    from ..theory.match import designed, matched
    from ..theory.recipe_text import parse_recipe

    if (keep is None) == (target_memory is None):
        raise InvalidInput("give either --keep with a clock or --target-memory with a --model.")
    if (target_memory is None) != (model is None):
        raise InvalidInput("--model and --target-memory belong together: give both or none.")
    named = {
        "init_scale": init_scale,
        "curvature": curvature,
        "gradient_norm": gradient_norm,
        "noise": noise,
        "entries": entries,
    }
    settings = {name: value for name, value in named.items() if value is not None}
    if settings and model is None:
        raise InvalidInput(f"{next(iter(settings))} is a setting of a model: give --model as well.")
    knob = solve.replace("-", "_")
    before = parse_recipe(start)
    changed = parse_recipe(to, before)
    if keep is not None:
        after = matched(before, changed, keep, knob)
    else:
        after = designed(changed, model or "", target_memory or 0.0, knob, settings)
    _show(before, after, as_json)


def _show(before: "Recipe", after: "Recipe", as_json: bool) -> None:
    from ..theory.match import readings
    from ..theory.recipe_text import recipe_text

    columns = [readings(recipe) for recipe in (before, after)]
    if as_json:
        import json

        print(
            json.dumps(
                {
                    name: {
                        "recipe": recipe_text(recipe),
                        "settings": recipe.model_dump(mode="json"),
                        **column,
                    }
                    for name, recipe, column in zip(("from", "to"), (before, after), columns, strict=True)
                },
                allow_nan=False,
            )
        )
        return
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    table = Table()
    table.add_column("quantity", no_wrap=True)
    for name in ("from", "to", "ratio"):
        table.add_column(name, justify="right", no_wrap=True)
    for section in columns[0]:
        for name in columns[0][section] | columns[1][section]:
            table.add_row(name, *_row(*(column[section].get(name) for column in columns)))
        table.add_section()
    console.print(table)
    console.print(recipe_text(after), soft_wrap=True)


def _row(old: float | None, new: float | None) -> tuple[str, str, str]:
    texts = tuple("" if v is None else "< 1e-30" if 0 < abs(v) < 1e-30 else f"{v:,.6g}" for v in (old, new))
    if old is None or new is None or abs(old) < 1e-30:
        return texts[0], texts[1], ""
    return texts[0], texts[1], f"{new / old:.4g}"
