"""A training recipe: everything that fixes how far the clocks run."""

import math
from typing import Self, get_args

from pydantic import BaseModel, ConfigDict, Field, model_validator

from .errors import InvalidInput
from .method import Method, OptimizerName
from .schedules import SHAPES, Schedule

# The clocks of a recipe are summed update by update; beyond this the wait is no longer sensible.
MAX_UPDATES = 10**9

# Rates and decays outside this range have squares or sums that a double cannot hold.
SMALLEST, LARGEST = 1e-100, 1e100


class Recipe(BaseModel, Method):
    r"""A training recipe; the defaults are the low-learning-rate recipe of the paper.

    Parameters
    ----------
    optimizer : {"sgd", "adam", "adamw", "muon"}
        Adam, AdamW and Muon run with torch's constants (betas 0.9 and 0.999, eps 1e-8; Nesterov
        Muon with five Newton-Schulz steps).
    lr : float
        Peak learning rate :math:`\eta`.
    schedule : str
        A shape of :mod:`initmem.theory.schedules`.
    epochs : int
        Passes over the training set; ignored where `updates` is given.
    updates : int, optional
        Number of optimizer updates :math:`K`, in place of `epochs`.
    warmup_epochs : float
        Linear warm-up in front of the schedule, part of the given length.
    batch_size : int
        Images of one update :math:`b`.
    train_size : int
        Images in the training set :math:`N`.
    drop_last : bool
        Whether an epoch ends before the last, incomplete batch.
    momentum : float, optional
        Heavy-ball coefficient of SGD (default 0) or Muon (default 0.95).
    weight_decay : float
        Decay coefficient :math:`\lambda`. SGD and Adam add :math:`\lambda w` to the gradient
        (coupled); AdamW and Muon multiply the weights by :math:`1 - \eta_k\lambda` (decoupled).
    auxiliary_lr : float, optional
        Peak rate of the AdamW that Muon leaves norms, biases and the head to (default 1e-3).

    Raises
    ------
    pydantic.ValidationError
        If a value is out of range or two of them contradict each other.

    Examples
    --------
    >>> recipe = Recipe(batch_size=128, train_size=40_000)
    >>> recipe.updates_per_epoch, recipe.total_updates
    (312, 93600)
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    optimizer: OptimizerName = "sgd"
    lr: float = Field(default=1e-3, gt=0)
    schedule: str = "constant"
    epochs: int = Field(default=300, ge=1, le=MAX_UPDATES)
    updates: int | None = Field(default=None, ge=1, le=MAX_UPDATES)
    warmup_epochs: float = Field(default=0.0, ge=0, le=MAX_UPDATES)
    batch_size: int = Field(default=128, ge=1)
    train_size: int = Field(default=40_000, ge=1, le=10**15)
    drop_last: bool = True
    momentum: float | None = Field(default=None, ge=0, lt=1)
    weight_decay: float = Field(default=0.0, ge=0)
    auxiliary_lr: float | None = Field(default=None, gt=0)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.schedule not in SHAPES:
            raise InvalidInput(f"schedule {self.schedule!r} is unknown: choose one of {', '.join(SHAPES)}.")
        for name in ("lr", "auxiliary_lr", "weight_decay"):
            value = getattr(self, name)
            if value and not SMALLEST <= value <= LARGEST:
                raise InvalidInput(
                    f"{name} = {value:g} is not allowed: its clocks would overflow, give a value between "
                    f"{SMALLEST:g} and {LARGEST:g}."
                )
        if self.batch_size > self.train_size:
            raise InvalidInput(
                f"batch_size = {self.batch_size} is larger than the {self.train_size} training "
                f"images: give at most {self.train_size}."
            )
        if self.updates is not None and "epochs" in self.model_fields_set:
            raise InvalidInput(
                f"epochs = {self.epochs} and updates = {self.updates} were both given: give one."
            )
        if self.total_updates > MAX_UPDATES:
            raise InvalidInput(
                f"{self.total_updates:,} updates are too many to sum one by one: "
                f"give at most {MAX_UPDATES:,}."
            )
        if self.warmup_updates > self.total_updates:
            raise InvalidInput(
                f"warmup_epochs = {self.warmup_epochs:g} is {self.warmup_updates:,} updates, more "
                f"than the {self.total_updates:,} of the run: shorten it."
            )
        if self.momentum is not None and self.optimizer not in ("sgd", "muon"):
            raise InvalidInput(
                f"momentum = {self.momentum:g} was given for {self.optimizer}, which has betas of "
                f"its own: momentum belongs to sgd or muon."
            )
        if self.auxiliary_lr is not None and self.optimizer != "muon":
            raise InvalidInput(
                f"auxiliary_lr = {self.auxiliary_lr:g} was given for {self.optimizer}: only muon "
                f"leaves tensors to a second optimizer."
            )
        if self.decays_exponentially and self.peak_decay >= 1:
            raise InvalidInput(
                f"lr * weight_decay = {self.peak_decay:g} would erase the weights in "
                f"one update: it must stay below 1, so lower lr = {self.lr:g} or "
                f"weight_decay = {self.weight_decay:g}."
            )
        return self

    @property
    def updates_per_epoch(self) -> int:
        """Optimizer updates in one pass over the training set."""
        whole, rest = divmod(self.train_size, self.batch_size)
        return whole + (rest > 0 and not self.drop_last)

    @property
    def total_updates(self) -> int:
        """Optimizer updates of the whole run."""
        return self.updates or self.epochs * self.updates_per_epoch

    @property
    def total_epochs(self) -> int:
        """Passes over the training set that the run begins, the last one possibly cut short."""
        return math.ceil(self.total_updates / self.updates_per_epoch)

    @property
    def warmup_updates(self) -> int:
        """Length of the warm-up, rounded to a whole number of updates."""
        return round(self.warmup_epochs * self.updates_per_epoch)

    @property
    def auxiliary_rate(self) -> float:
        """Peak rate of the AdamW beside Muon."""
        return self.auxiliary_lr or 1e-3

    @property
    def peak_decay(self) -> float:
        """The largest learning rate times the decay coefficient."""
        return self.lr * self.weight_decay

    @property
    def learning_rate(self) -> Schedule:
        """The schedule of this recipe."""
        return Schedule(self.schedule, self.lr, self.total_updates, self.warmup_updates)


OPTIMIZERS: tuple[str, ...] = get_args(OptimizerName)
