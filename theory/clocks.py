r"""The clocks of a recipe: how much forgetting it has had the time to do.

=========  ==================================  =================================================
clock      definition                          in force
=========  ==================================  =================================================
T_SGD      :math:`\frac1b \sum_k \eta_k^2`     SGD: minibatch noise acts as a regulariser
T_L2       :math:`\lambda \sum_k \eta_k`       decay that shrinks weights by a factor
T_adapt    :math:`\sum_k \eta_k`               Adam, AdamW, Muon: updates have a fixed size
=========  ==================================  =================================================

Under SGD with momentum :math:`\beta` the rate that counts is :math:`\eta_k/(1-\beta)` in both T_SGD
and T_L2. The clocks are organizing principles, not theorems (Das et al., arXiv:2605.29152).
"""

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from .recipe import Recipe

CLOCKS = ("T_SGD", "T_L2", "T_adapt")

# A He-normal weight of a 3x3 kernel over 128 channels: the yardstick for how far a weight must go.
HE_WEIGHT = math.sqrt(2 / (3 * 3 * 128))


@dataclass(frozen=True)
class Clocks:
    r"""What a recipe accumulates.

    Attributes
    ----------
    updates : int
        Optimizer updates :math:`K`.
    sum_lr, sum_lr_squared : float
        :math:`\sum \eta_k` and :math:`\sum \eta_k^2`, with the learning rate as written.
    T_SGD, T_L2, T_adapt : float
        The clocks; T_SGD and T_L2 with the effective rate under SGD with momentum.
    T_SGD_plain, T_L2_plain : float
        The same two with the learning rate as written.
    decay_survival : float or None
        What decay alone leaves of a weight without gradient: :math:`\prod_k (1-\eta_k\lambda)`, or
        to leading order :math:`e^{-T_{L2}}` under momentum; None if decay has no exponential law.
    in_force : tuple of str
        The clocks that govern this optimizer.
    reasons : dict of str to str
        For each clock why it is in force or not.
    memory : str
        One plain sentence on what this means for the memory of the start.
    warnings : tuple of str
        What to know before these numbers are used.
    recipe : Recipe
        The recipe they belong to.
    """

    updates: int
    sum_lr: float
    sum_lr_squared: float
    T_SGD: float
    T_L2: float
    T_adapt: float
    T_SGD_plain: float
    T_L2_plain: float
    decay_survival: float | None
    in_force: tuple[str, ...]
    reasons: dict[str, str]
    memory: str
    warnings: tuple[str, ...]
    recipe: Recipe

    def to_dict(self) -> dict[str, Any]:
        """A dictionary of JSON types, numbers at full precision."""
        recipe = self.recipe.model_dump(mode="json")
        if self.recipe.updates is not None:
            recipe["epochs"] = None  # the length was given in updates, and the default would mislead
        return asdict(self) | {"recipe": recipe}


def clocks(recipe: Recipe) -> Clocks:
    """All clocks of a recipe, which of them are in force, and what they say.

    Parameters
    ----------
    recipe : Recipe

    Returns
    -------
    Clocks

    Examples
    --------
    The paper's low-learning-rate SGD run, at 300 epochs and at 5,000:

    >>> round(clocks(Recipe()).T_SGD, 8)
    0.00073125
    >>> round(clocks(Recipe(epochs=5000)).T_SGD, 8)
    0.0121875
    """
    schedule = recipe.learning_rate
    sum_lr, sum_lr_squared = schedule.sum(1), schedule.sum(2)
    values = clock_values(recipe, sum_lr, sum_lr_squared)
    boost = recipe.rate_multiplier
    reasons, in_force = _in_force(recipe)
    survival = _decay_survival(recipe, values["T_L2"])
    return Clocks(
        updates=recipe.total_updates,
        sum_lr=sum_lr,
        sum_lr_squared=sum_lr_squared,
        **values,
        T_SGD_plain=values["T_SGD"] / boost**2,
        T_L2_plain=values["T_L2"] / boost,
        decay_survival=survival,
        in_force=in_force,
        reasons=reasons,
        memory=_memory(recipe, values, in_force, survival),
        warnings=_warnings(recipe),
        recipe=recipe,
    )


def clock_values(recipe: Recipe, sum_lr: float, sum_lr_squared: float) -> dict[str, float]:
    r"""The three clocks after any number of updates, from the running sums.

    Parameters
    ----------
    recipe : Recipe
    sum_lr, sum_lr_squared : float
        :math:`\sum \eta_k` and :math:`\sum \eta_k^2` so far.

    Returns
    -------
    dict
        ``T_SGD``, ``T_L2`` and ``T_adapt``.

    Examples
    --------
    >>> clock_values(Recipe(momentum=0.5, batch_size=10), sum_lr=2.0, sum_lr_squared=1.0)
    {'T_SGD': 0.4, 'T_L2': 0.0, 'T_adapt': 2.0}
    """
    boost = recipe.rate_multiplier
    return {
        "T_SGD": boost**2 * sum_lr_squared / recipe.batch_size,
        "T_L2": boost * recipe.weight_decay * sum_lr,
        "T_adapt": sum_lr,
    }


def _in_force(recipe: Recipe) -> tuple[dict[str, str], tuple[str, ...]]:
    """Why each clock governs this optimizer or not, and the names of those that do."""
    sgd = recipe.optimizer == "sgd"
    noisy = sgd and recipe.batch_size < recipe.train_size
    reasons = {
        "T_SGD": "SGD's minibatch noise acts as a regulariser of strength lr/b"
        if noisy
        else "the batch is the whole training set: there is no minibatch noise"
        if sgd
        else f"{recipe.optimizer} normalises its gradient: the update does not scale with it",
        "T_L2": _why_decay(recipe),
        "T_adapt": "SGD's step shrinks with the gradient, so summed rates do not bound the way"
        if sgd
        else f"{recipe.optimizer}'s updates have a fixed size: the way grows with the summed rates",
    }
    governs = {"T_SGD": noisy, "T_L2": recipe.decays_exponentially, "T_adapt": not sgd}
    return reasons, tuple(name for name in CLOCKS if governs[name])


def _why_decay(recipe: Recipe) -> str:
    if recipe.weight_decay == 0:
        return "no weight decay"
    if recipe.optimizer == "adam":
        return "Adam divides its L2 term by the gradient scale: fixed steps, no exponential law"
    return f"{recipe.decay_law} decay shrinks every weight by a factor each update"


def _decay_survival(recipe: Recipe, t_l2: float) -> float | None:
    if not recipe.decays_exponentially:
        return None if recipe.weight_decay else 1.0
    if recipe.rate_multiplier > 1:
        return math.exp(-t_l2)
    decay = recipe.weight_decay
    return math.exp(math.fsum(float(np.log1p(-decay * lr).sum()) for lr in recipe.learning_rate.blocks()))


def _memory(
    recipe: Recipe, values: dict[str, float], in_force: tuple[str, ...], survival: float | None
) -> str:
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


def _warnings(recipe: Recipe) -> tuple[str, ...]:
    notes = []
    momentum, rate = recipe.momentum_coefficient, recipe.lr * recipe.weight_decay
    if recipe.optimizer == "adam" and recipe.weight_decay:
        notes.append(
            "Adam with coupled L2 has no exponential clock: a weight without gradient moves by "
            "about lr per update whatever weight_decay is; adamw has one."
        )
    if recipe.optimizer == "sgd" and 0 < (1 - math.sqrt(momentum)) ** 2 < rate:
        notes.append(
            f"lr * weight_decay = {rate:g} exceeds (1 - sqrt(momentum))^2 = "
            f"{(1 - math.sqrt(momentum)) ** 2:.3g}: memory oscillates and fades no faster than "
            f"momentum^(k/2), slower than T_L2 says."
        )
    if recipe.decays_exponentially and rate > 0.1:
        notes.append(f"lr * weight_decay = {rate:g} is large: exp(-T_L2) overstates what decay leaves.")
    rest = recipe.train_size % recipe.batch_size
    if not recipe.drop_last and rest:
        notes.append(f"The last batch of an epoch has {rest} images; T_SGD counts it as {recipe.batch_size}.")
    if recipe.optimizer == "muon":
        notes.append(
            "The clocks are those of the kernels that Muon updates; norms, biases and the head "
            f"follow AdamW at peak rate {recipe.auxiliary_rate:g} without decay."
        )
    return tuple(notes)
