r"""Which clock governs an optimizer, why, and what the clocks say about its memory of the start."""

import math
from collections.abc import Mapping

import numpy as np

from .recipe import Recipe
from .trace import Trace

CLOCKS = ("T_SGD", "T_L2", "T_adapt")

# A He-normal weight of a 3x3 kernel over 128 channels: the yardstick for how far a weight must go.
HE_WEIGHT = math.sqrt(2 / (3 * 3 * 128))


def in_force(source: Recipe | Trace) -> tuple[dict[str, str], tuple[str, ...]]:
    """Why each clock governs this optimizer or not, and the names of those that do."""
    sgd = source.optimizer == "sgd"
    noisy = sgd and bool(np.any(source.batch_size < source.train_size))
    reasons = {
        "T_SGD": "SGD's minibatch noise acts as a regulariser of strength lr/b"
        if noisy
        else "the batch is the whole training set: there is no minibatch noise"
        if sgd
        else f"{source.optimizer} normalises its gradient: the update does not scale with it",
        "T_L2": _why_decay(source),
        "T_adapt": "SGD's step shrinks with the gradient, so summed rates do not bound the way"
        if sgd
        else f"{source.optimizer}'s updates have a fixed size: the way grows with the summed rates",
    }
    governs = {"T_SGD": noisy, "T_L2": source.decays_exponentially, "T_adapt": not sgd}
    return reasons, tuple(name for name in CLOCKS if governs[name])


def _why_decay(source: Recipe | Trace) -> str:
    if not np.any(source.weight_decay):
        return "no weight decay"
    if source.optimizer == "adam":
        return "Adam divides its L2 term by the gradient scale: fixed steps, no exponential law"
    return f"{source.decay_law} decay shrinks every weight by a factor each update"


def decay_survival(source: Recipe | Trace, t_l2: float) -> float | None:
    """What decay alone leaves of a weight without gradient; None if decay has no exponential law."""
    if not source.decays_exponentially:
        return None if np.any(source.weight_decay) else 1.0
    if source.rate_multiplier > 1:
        return math.exp(-t_l2)
    if isinstance(source, Trace):
        return math.exp(math.fsum(np.log1p(-source.lr * source.weight_decay)))
    decay = source.weight_decay
    return math.exp(math.fsum(float(np.log1p(-decay * lr).sum()) for lr in source.learning_rate.blocks()))


def memory(values: Mapping[str, float], in_force: tuple[str, ...], survival: float | None) -> str:
    """One sentence: the verdict of the strongest clock in force, with the number behind it."""
    decay = ""
    if "T_L2" in in_force and survival is not None:
        decay = f"decay alone leaves {survival:.3g} of a weight that no gradient holds"
        if survival < 0.05:
            return f"The start should be forgotten: {decay}."
    if "T_SGD" in in_force:
        noise = math.log(2) / values["T_SGD"]
        verdict = (
            "The start should be remembered"
            if noise > 10
            else "Whether the start is remembered depends on the gradient noise"
        )
        clock = (
            f"to halve it through T_SGD takes a mean squared residual of {noise:.3g}, and residuals "
            f"begin near 1 and vanish as the data are fitted"
        )
    elif "T_adapt" in in_force:
        ratio = values["T_adapt"] / HE_WEIGHT
        verdict = (
            "The start can be forgotten"
            if ratio > 10
            else "The start is partly remembered"
            if ratio > 0.1
            else "The start should be remembered"
        )
        clock = (
            f"a weight can travel {values['T_adapt']:.3g} in all, {ratio:.3g} times a He-normal "
            f"weight of a 3x3 kernel over 128 channels"
        )
    else:
        verdict, clock = "The start should be remembered", "no clock of noise or of fixed steps is in force"
    return f"{verdict}: {'; '.join(filter(None, (clock, decay)))}."


def warnings(source: Recipe | Trace) -> tuple[str, ...]:
    """What to know before the clocks are used."""
    notes = []
    momentum, rate = source.momentum_coefficient, source.peak_decay
    if source.optimizer == "adam" and np.any(source.weight_decay):
        notes.append(
            "Adam with coupled L2 has no exponential clock: a weight without gradient moves by "
            "about lr per update whatever weight_decay is; adamw has one."
        )
    if source.optimizer == "sgd" and 0 < (1 - math.sqrt(momentum)) ** 2 < rate:
        notes.append(
            f"lr * weight_decay = {rate:g} exceeds (1 - sqrt(momentum))^2 = "
            f"{(1 - math.sqrt(momentum)) ** 2:.3g}: memory oscillates and fades no faster than "
            f"momentum^(k/2), slower than T_L2 says."
        )
    if source.decays_exponentially and rate > 0.1:
        notes.append(f"lr * weight_decay = {rate:g} is large: exp(-T_L2) overstates what decay leaves.")
    if isinstance(source, Recipe):
        notes += _warnings_of_recipe(source)
    return tuple(notes)


def _warnings_of_recipe(recipe: Recipe) -> list[str]:
    notes = []
    rest = recipe.train_size % recipe.batch_size
    if not recipe.drop_last and rest:
        notes.append(f"The last batch of an epoch has {rest} images; T_SGD counts it as {recipe.batch_size}.")
    if recipe.optimizer == "muon":
        notes.append(
            "The clocks are those of the kernels that Muon updates; norms, biases and the head "
            f"follow AdamW at peak rate {recipe.auxiliary_rate:g} without decay."
        )
    return notes
