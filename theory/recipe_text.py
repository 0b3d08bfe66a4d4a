"""Recipes in a line of text, such as ``sgd lr=0.1 b=128 epochs=200 cosine``."""

from typing import Any

from .errors import InvalidInput
from .recipe import OPTIMIZERS, Recipe
from .schedules import SHAPES

# Short names people write beside the field's own name.
SHORT = {"b": "batch_size", "wd": "weight_decay", "n": "train_size", "warmup": "warmup_epochs"}
NAMES = tuple(name for name in Recipe.model_fields if name not in ("optimizer", "schedule", "drop_last"))


def parse_recipe(text: str, start: Recipe | None = None) -> Recipe:
    """Read a recipe, or changes to one.

    Parameters
    ----------
    text : str
        Names of an optimizer and of a schedule, ``drop-last`` or ``keep-last``, and ``name=value`` with
        the names of the fields of :class:`Recipe` or b, wd, n, warmup; separated by blanks or commas.
    start : Recipe, optional
        What is not mentioned stays as it is there; by default as in ``Recipe()``.

    Returns
    -------
    Recipe

    Raises
    ------
    InvalidInput
        If a word is unknown or comes twice.
    pydantic.ValidationError
        If a value is out of range.

    Examples
    --------
    >>> recipe = parse_recipe("sgd lr=0.1 b=128 epochs=200 cosine")
    >>> recipe.lr, recipe.batch_size, recipe.schedule
    (0.1, 128, 'cosine')
    >>> recipe_text(parse_recipe("b=512", recipe))
    'sgd cosine lr=0.1 epochs=200 batch_size=512'
    """
    given: dict[str, Any] = {}
    for word in text.replace(",", " ").split():
        name, value = _read(word)
        if name in given:
            raise InvalidInput(f"{name} is given twice in {text!r}: give it once.")
        given[name] = value
    kept = {} if start is None else start.model_dump(exclude_unset=True)
    # The length is given in one way, and the momentum belongs to the optimizer that it was given for.
    if "epochs" in given or "updates" in given:
        kept = {name: value for name, value in kept.items() if name not in ("epochs", "updates")}
    if given.get("optimizer", kept.get("optimizer")) != kept.get("optimizer"):
        kept = {name: value for name, value in kept.items() if name not in ("momentum", "auxiliary_lr")}
    return Recipe.model_validate(kept | given)


def _read(word: str) -> tuple[str, Any]:
    if word in OPTIMIZERS:
        return "optimizer", word
    if word in SHAPES:
        return "schedule", word
    if word in ("drop-last", "keep-last"):
        return "drop_last", word == "drop-last"
    name, equals, value = word.partition("=")
    name = SHORT.get(name, name).replace("-", "_")
    if not equals or name not in NAMES:
        raise InvalidInput(
            f"{word!r} is no part of a recipe: write an optimizer ({', '.join(OPTIMIZERS)}), a schedule "
            f"({', '.join(SHAPES)}) or name=value with one of {', '.join((*NAMES, *SHORT))}."
        )
    if not value:
        raise InvalidInput(f"{word!r} has no value: write {name}=number.")
    return name, value


def recipe_text(recipe: Recipe) -> str:
    """The line of text that `parse_recipe` reads as this recipe.

    Examples
    --------
    >>> recipe_text(Recipe(optimizer="adamw", weight_decay=0.1))
    'adamw constant lr=0.001 epochs=300 batch_size=128 weight_decay=0.1'
    """
    default, words = Recipe(), [recipe.optimizer, recipe.schedule]
    for name in NAMES:
        value = getattr(recipe, name)
        shown = name in ("lr", "batch_size") or (name == "epochs" and recipe.updates is None)
        if shown or (name != "epochs" and value != getattr(default, name)):
            words.append(f"{name}={value}")
    return " ".join(words if recipe.drop_last else [*words, "keep-last"])
