r"""Recipes with the same reading of a clock, and recipes that leave a chosen memory."""

import math
from collections.abc import Callable, Mapping
from typing import Any

from .clocks import clocks, totals
from .errors import InvalidInput
from .models.memory import predict
from .recipe import Recipe

CLOCKS = ("T_SGD", "T_L2", "T_adapt", "sum_lr_squared")
KNOBS = ("lr", "weight_decay", "batch_size", "epochs", "updates")

# Where the search begins if the recipe has no decay.
SOME_DECAY = 1e-4


def matched(recipe: Recipe, changed: Recipe, keep: str, solve: str = "lr") -> Recipe:
    r"""The changed recipe with one knob turned so that a clock reads what it read before.

    Parameters
    ----------
    recipe, changed : Recipe
        Before and after the change.
    keep : str
        One of :data:`CLOCKS`.
    solve : str
        The knob, one of :data:`KNOBS`. Whole numbers come out as near as they can.

    Returns
    -------
    Recipe

    Raises
    ------
    InvalidInput
        If the clock stands still in the first recipe, or no value of the knob reaches its reading.

    Examples
    --------
    Four times the batch at the same number of epochs has a quarter of the updates, so T_SGD asks for
    four times the learning rate:

    >>> before = Recipe(lr=0.1, batch_size=100, train_size=40_000, epochs=20)
    >>> after = matched(before, before.model_copy(update={"batch_size": 400}), keep="T_SGD")
    >>> round(after.lr, 12)
    0.4
    """
    _check("clock", keep, CLOCKS)
    wanted = totals(recipe)[keep]
    if wanted == 0:
        raise InvalidInput(f"{keep} is 0 in the first recipe: keep a clock that runs.")

    def reading(candidate: Recipe) -> float:
        return totals(candidate)[keep]

    return _solved(changed, solve, reading, wanted, f"{keep} = {wanted:.6g}")


def designed(
    recipe: Recipe, model: str, memory: float, solve: str = "lr", given: Mapping[str, float] | None = None
) -> Recipe:
    """The recipe with one knob turned so that a solvable model keeps a chosen share of its start.

    Parameters
    ----------
    recipe : Recipe
    model : str
        One of :data:`initmem.theory.models.NAMES`.
    memory : float
        Between 0 and 1.
    solve : str
        The knob, one of :data:`KNOBS`.
    given : mapping of str to float, optional
        Settings of the model.

    Returns
    -------
    Recipe

    Raises
    ------
    InvalidInput
        If no value of the knob leaves that much.

    Examples
    --------
    >>> recipe = Recipe(optimizer="adamw", weight_decay=0.1, updates=10_000)
    >>> result = designed(recipe, "null-space", 0.05, solve="weight_decay")
    >>> round(result.weight_decay, 4)
    0.2995
    """
    if not 0 < memory < 1:
        raise InvalidInput(f"target memory {memory:g} is not allowed: give a number between 0 and 1.")

    def reading(candidate: Recipe) -> float:
        return predict(model, candidate, given).memory

    return _solved(recipe, solve, reading, memory, f"memory {memory:g} of {model}")


def _check(what: str, name: str, known: tuple[str, ...]) -> None:
    if name not in known:
        raise InvalidInput(f"{what} {name!r} is unknown: choose one of {', '.join(known)}.")


def _turned(recipe: Recipe, knob: str, value: float) -> Recipe:
    """The recipe with another value of the knob; a new length replaces the old one."""
    kept = recipe.model_dump(exclude_unset=True)
    if knob in ("epochs", "updates"):
        kept = {name: old for name, old in kept.items() if name not in ("epochs", "updates")}
    return Recipe.model_validate(kept | {knob: value})


def _solved(
    recipe: Recipe, knob: str, reading: Callable[[Recipe], float], wanted: float, goal: str
) -> Recipe:
    """Bracket the reading from the present value of the knob, then halve the bracket in its logarithm."""
    _check("knob", knob, KNOBS)
    whole = knob in ("batch_size", "epochs", "updates")
    now = recipe.total_updates if knob == "updates" else getattr(recipe, knob) or SOME_DECAY

    def value(log: float) -> Any:
        return max(1, round(math.exp(log))) if whole else math.exp(log)

    def gap(log: float) -> float:
        read = reading(_turned(recipe, knob, value(log)))
        return math.log(read / wanted) if read > 0 else -math.inf

    if math.isclose(reading(recipe), wanted, rel_tol=1e-14):
        return recipe
    near, far = _bracket(gap, math.log(now)) or (None, None)
    if near is None or far is None:
        raise InvalidInput(
            f"no {knob} reaches {goal}: turn another knob with --solve, one of {', '.join(KNOBS)}."
        )
    sign = gap(near) > 0
    while abs(far - near) > 1e-14 * max(1.0, abs(near)) and not (whole and value(near) == value(far)):
        middle = (near + far) / 2
        if middle in (near, far):
            break
        near, far = (middle, far) if (gap(middle) > 0) == sign else (near, middle)
    return _turned(recipe, knob, value(min((near, far), key=lambda log: abs(gap(log)))))


def _bracket(gap: Callable[[float], float], at: float) -> tuple[float, float] | None:
    """Two logarithms between which the gap changes its sign; None if it does not while recipes are valid."""
    here = gap(at)
    for direction in (1, -1):
        end, step = at, math.log(2)
        while step > 1e-9 and abs(end) < 500:
            try:
                there = gap(end + direction * step)
            except (InvalidInput, ValueError):  # beyond what a recipe may be: come closer to that end
                step /= 2
                continue
            if there == 0 or (there > 0) != (here > 0):
                return end, end + direction * step
            if there == here or abs(there) > abs(here):
                break
            end += direction * step
    return None


def readings(recipe: Recipe) -> dict[str, dict[str, float]]:
    """What there is to compare: the knobs, the clocks, and the memory of models at default settings.

    Parameters
    ----------
    recipe : Recipe

    Returns
    -------
    dict
        ``knobs``, ``clocks`` and ``memory``, each from names to numbers.

    Examples
    --------
    >>> result = readings(Recipe(lr=0.1, updates=100, batch_size=40, train_size=400))
    >>> result["knobs"]["epochs"], round(result["clocks"]["T_adapt"], 12)
    (10.0, 10.0)
    """
    knobs = {
        "lr": recipe.lr,
        "weight_decay": recipe.weight_decay,
        "batch_size": recipe.batch_size,
        "updates": recipe.total_updates,
        "epochs": recipe.total_updates / recipe.updates_per_epoch,
    }
    result = clocks(recipe)
    left = {f"memory of {model.model.name}": model.memory for model in result.models}
    return {"knobs": knobs, "clocks": {name: getattr(result, name) for name in CLOCKS}, "memory": left}
