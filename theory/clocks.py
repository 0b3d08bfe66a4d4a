r"""The clocks of a recipe or a trace: how much forgetting it has had the time to do.

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
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from . import verdict
from .errors import InvalidInput
from .recipe import Recipe
from .trace import MAX_UPDATES, Trace
from .verdict import CLOCKS as CLOCKS  # for whoever reads clocks

if TYPE_CHECKING:
    from .measured import Measured
    from .models.memory import Prediction


@dataclass(frozen=True)
class Clocks:
    r"""What a recipe or a trace accumulates.

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
    late_share : dict of str to float
        For each clock the share of it that falls into the last tenth of the updates.
    source : Recipe or Trace
        What they belong to.
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
    late_share: dict[str, float]
    source: Recipe | Trace

    @cached_property
    def models(self) -> tuple["Prediction", ...]:
        """The solvable models whose laws hold for the optimizer, at their default settings.

        Empty beyond 10,000,000 updates, which laws do not follow one by one.
        """
        from .models.memory import predictions

        if self.updates > MAX_UPDATES:
            return ()
        return predictions(self.source)

    @cached_property
    def measured(self) -> dict[str, "Measured"]:
        """For each layer of a trace of SGD with logged norms, its trajectory-weighted clock."""
        from .measured import measured

        return measured(self.source) if isinstance(self.source, Trace) else {}

    def to_dict(self) -> dict[str, Any]:
        """A dictionary of JSON types, numbers at full precision."""
        values = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "source"}
        values |= {"models": [model.to_dict() for model in self.models]}
        values |= {"measured": {layer: asdict(clock) for layer, clock in self.measured.items()}}
        if isinstance(self.source, Trace):
            return values | {"trace": self.source.to_dict()}
        recipe = self.source.model_dump(mode="json")
        if self.source.updates is not None:
            recipe["epochs"] = None  # the length was given in updates, and the default would mislead
        return values | {"recipe": recipe}


def clocks(source: Recipe | Trace) -> Clocks:
    """All clocks of a recipe or a trace, which of them are in force, and what they say.

    Parameters
    ----------
    source : Recipe or Trace

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

    A run whose batch grew:

    >>> trace = Trace(lr=[0.1, 0.1, 0.1, 0.1], batch_size=[1, 1, 2, 2])
    >>> round(clocks(trace).T_SGD, 12), round(clocks(Trace.of(Recipe())).T_SGD, 8)
    (0.03, 0.00073125)
    """
    sums = totals(source)
    values = {name: sums[name] for name in CLOCKS}
    boost = source.rate_multiplier
    reasons, in_force = verdict.in_force(source)
    survival = verdict.decay_survival(source, values["T_L2"])
    return Clocks(
        updates=_updates(source),
        sum_lr=sums["sum_lr"],
        sum_lr_squared=sums["sum_lr_squared"],
        **values,
        T_SGD_plain=values["T_SGD"] / boost**2,
        T_L2_plain=values["T_L2"] / boost,
        decay_survival=survival,
        in_force=in_force,
        reasons=reasons,
        memory=verdict.memory(values, in_force, survival),
        warnings=verdict.warnings(source),
        late_share=_late_share(source, values),
        source=source,
    )


def _updates(source: Recipe | Trace) -> int:
    return source.total_updates if isinstance(source, Recipe) else source.updates


def totals(source: Recipe | Trace, upto: int | None = None, since: int = 0) -> dict[str, float]:
    r"""The summed rates and the clocks.

    Parameters
    ----------
    source : Recipe or Trace
    upto, since : int, optional
        Only the updates from `since` to before `upto`; all of them by default.

    Returns
    -------
    dict
        ``sum_lr``, ``sum_lr_squared`` and the names in :data:`CLOCKS`.

    Examples
    --------
    >>> totals(Recipe(lr=0.5, updates=8, batch_size=2))["T_SGD"]
    1.0
    """
    if isinstance(source, Recipe):
        sums = source.learning_rate.sum(1, upto, since), source.learning_rate.sum(2, upto, since)
        return {"sum_lr": sums[0], "sum_lr_squared": sums[1], **clock_values(source, *sums)}
    part = slice(since, upto)
    lr, effective = source.lr[part], source.effective_lr[part]
    return {
        "sum_lr": math.fsum(lr),
        "sum_lr_squared": math.fsum(lr**2),
        "T_SGD": math.fsum(effective**2 / source.batch_size[part]),
        "T_L2": math.fsum(source.decay[part]),
        "T_adapt": math.fsum(lr),
    }


def _late_share(source: Recipe | Trace, values: dict[str, float]) -> dict[str, float]:
    """How much of each clock the last tenth of the updates adds; 0 for a clock that stands still."""
    updates = _updates(source)
    late = totals(source, since=updates - -(-updates // 10))
    return {name: late[name] / total if total else 0.0 for name, total in values.items()}


def segments(source: Recipe | Trace, parts: int = 10) -> dict[str, list[float]]:
    """The share of each clock that falls into each of several equal parts of the training.

    Parameters
    ----------
    source : Recipe or Trace
    parts : int, default 10
        At most as many as there are updates.

    Returns
    -------
    dict of str to list of float, length `parts`
        They sum to 1 for each clock, or are all 0 for one that stands still.

    Raises
    ------
    InvalidInput
        If there are fewer updates than parts.

    Examples
    --------
    >>> shares = segments(Recipe(schedule="cosine", updates=1000), parts=2)
    >>> [round(share, 3) for share in shares["T_SGD"]]
    [0.924, 0.076]
    """
    updates = _updates(source)
    if not 1 <= parts <= updates:
        raise InvalidInput(f"parts = {parts} is not allowed for {updates} updates: give 1 to {updates}.")
    cuts = [updates * part // parts for part in range(parts + 1)]
    running = [totals(source, end, start) for start, end in pairwise(cuts)]
    shares = {}
    for name in CLOCKS:
        total = math.fsum(sums[name] for sums in running)
        shares[name] = [sums[name] / total if total else 0.0 for sums in running]
    return shares


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
