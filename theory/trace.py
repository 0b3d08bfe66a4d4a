r"""What a run really did, update by update, and where they were logged the norms along its way."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import InvalidInput
from .method import Method, OptimizerName
from .recipe import Recipe

Array = NDArray[np.float64]

# Every update is an entry of every array; longer recipes are summed in blocks by `clocks`.
MAX_UPDATES = 10**7


@dataclass(frozen=True, init=False, eq=False)
class Trace(Method):
    r"""The learning rate, batch size and weight decay of every update of a run.

    A number in place of an array holds for every update.

    Parameters
    ----------
    lr : ndarray, shape (updates,)
        Learning rate :math:`\eta_k` as written, not multiplied for momentum.
    batch_size : ndarray, shape (updates,)
        Examples :math:`b_k` of the update.
    weight_decay : ndarray, shape (updates,)
        Decay coefficient :math:`\lambda_k`.
    optimizer : {"sgd", "adam", "adamw", "muon"}
    momentum : float, optional
        As in :class:`~initmem.theory.recipe.Recipe`.
    train_size : int
        Examples :math:`N` of the training set.
    updates_per_epoch : float, optional
        To translate updates into epochs; by default ``train_size`` over the mean batch size.
    gradient_norm, weight_norm : mapping of str to ndarray, shape (updates,)
        For each layer that was logged, the norm of the minibatch gradient and of the weights before
        the update. Both have the same layers.

    Raises
    ------
    InvalidInput
        If lengths differ or a value is out of range.

    Examples
    --------
    >>> trace = Trace(lr=np.array([0.1, 0.05, 0.05]), batch_size=8, train_size=24)
    >>> trace.updates, trace.batch_size.tolist(), trace[1:].lr.tolist()
    (3, [8.0, 8.0, 8.0], [0.05, 0.05])
    >>> joined([trace[:1], trace[1:]]).lr.tolist() == trace.lr.tolist()
    True
    """

    lr: Array
    batch_size: Array
    weight_decay: Array
    optimizer: OptimizerName
    momentum: float | None
    train_size: int
    updates_per_epoch: float
    gradient_norm: Mapping[str, Array]
    weight_norm: Mapping[str, Array]

    def __init__(
        self,
        lr: ArrayLike,
        batch_size: ArrayLike = 1,
        weight_decay: ArrayLike = 0.0,
        optimizer: str = "sgd",
        momentum: float | None = None,
        train_size: int = 40_000,
        updates_per_epoch: float | None = None,
        gradient_norm: Mapping[str, ArrayLike] = MappingProxyType({}),
        weight_norm: Mapping[str, ArrayLike] = MappingProxyType({}),
    ) -> None:
        rates = np.atleast_1d(np.asarray(lr, dtype=float))
        if rates.ndim != 1 or not rates.size:
            raise InvalidInput("the learning rates of a trace are one number an update: give at least one.")
        updates = rates.size
        if updates > MAX_UPDATES:
            raise InvalidInput(
                f"a trace of {updates:,} updates is too long to follow one by one: give at most "
                f"{MAX_UPDATES:,}."
            )
        values: dict[str, Any] = {
            "lr": _every_update("lr", rates, updates),
            "batch_size": _every_update("batch_size", batch_size, updates),
            "weight_decay": _every_update("weight_decay", weight_decay, updates),
            "optimizer": optimizer,
            "momentum": momentum,
            "train_size": train_size,
        }
        for name, layers in (("gradient_norm", gradient_norm), ("weight_norm", weight_norm)):
            logged = {layer: _every_update(name, norms, updates) for layer, norms in layers.items()}
            values[name] = MappingProxyType(logged)
        for name, value in values.items():
            object.__setattr__(self, name, value)
        self._check()
        per_epoch = updates_per_epoch or train_size / float(self.batch_size.mean())
        object.__setattr__(self, "updates_per_epoch", per_epoch)

    def _check(self) -> None:
        known = get_args(OptimizerName)
        if self.optimizer not in known:
            raise InvalidInput(f"optimizer {self.optimizer!r} is unknown: choose one of {', '.join(known)}.")
        if self.momentum is not None and not (0 <= self.momentum < 1 and self.optimizer in ("sgd", "muon")):
            raise InvalidInput(
                f"momentum = {self.momentum:g} is not allowed for {self.optimizer}: give a number from 0 to "
                f"below 1, to sgd or muon."
            )
        if set(self.gradient_norm) != set(self.weight_norm):
            raise InvalidInput(
                "gradient_norm and weight_norm name different layers: give both norms for every layer."
            )
        if (self.lr < 0).any() or (self.weight_decay < 0).any() or (self.batch_size < 1).any():
            raise InvalidInput(
                "a trace has a negative learning rate or weight decay, or a batch size below 1: give lr and "
                "weight_decay from 0 and batch_size from 1."
            )
        if self.decays_exponentially and self.peak_decay >= 1:
            raise InvalidInput(
                f"lr * weight_decay reaches {self.peak_decay:g} and would erase the weights in one update: "
                f"it must stay below 1."
            )
        if (self.batch_size > self.train_size).any():
            raise InvalidInput(
                f"batch_size = {self.batch_size.max():g} is larger than the {self.train_size:,} training "
                f"examples: give at most {self.train_size:,}."
            )

    @classmethod
    def of(cls, recipe: Recipe) -> Self:
        """The trace of a recipe that is followed to its end.

        Raises
        ------
        InvalidInput
            If the recipe has more than 10,000,000 updates.

        Examples
        --------
        >>> Trace.of(Recipe(schedule="cosine", updates=4, lr=1.0)).lr.round(4).tolist()
        [1.0, 0.8536, 0.5, 0.1464]
        """
        if recipe.total_updates > MAX_UPDATES:
            raise InvalidInput(
                f"{recipe.total_updates:,} updates are too many to follow one by one: give at most "
                f"{MAX_UPDATES:,}."
            )
        return cls(
            lr=np.concatenate(list(recipe.learning_rate.blocks())),
            batch_size=recipe.batch_size,
            weight_decay=recipe.weight_decay,
            optimizer=recipe.optimizer,
            momentum=recipe.momentum,
            train_size=recipe.train_size,
            updates_per_epoch=recipe.updates_per_epoch,
        )

    @property
    def updates(self) -> int:
        """Number of updates."""
        return len(self.lr)

    @property
    def effective_lr(self) -> Array:
        r""":math:`\eta_k/(1-\beta)` under SGD, :math:`\eta_k` where updates have a fixed size."""
        return self.rate_multiplier * self.lr

    @property
    def decay(self) -> Array:
        r"""What decay takes of a weight in one update to leading order, the increments of T_L2."""
        return self.effective_lr * self.weight_decay

    @property
    def peak_decay(self) -> float:
        """The largest product of learning rate and decay coefficient."""
        return float((self.lr * self.weight_decay).max())

    def to_dict(self) -> dict[str, Any]:
        """What it is of, as JSON types, without the values of single updates."""
        return {
            "optimizer": self.optimizer,
            "momentum": self.momentum,
            "updates": self.updates,
            "train_size": self.train_size,
            "updates_per_epoch": self.updates_per_epoch,
            "layers": sorted(self.weight_norm),
        }

    def __getitem__(self, part: slice) -> Self:
        """The trace of some consecutive updates."""
        return self._with(lambda values: values[part])

    def repeated(self, times: int) -> Self:
        """The trace of the same updates again and again."""
        return self._with(lambda values: np.tile(values, times))

    def _with(self, change: Any) -> Self:
        values: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(self)}
        for name in ("lr", "batch_size", "weight_decay"):
            values[name] = change(values[name])
        for name in ("gradient_norm", "weight_norm"):
            values[name] = {layer: change(logged) for layer, logged in values[name].items()}
        return type(self)(**values)


def joined(traces: Iterable[Trace]) -> Trace:
    """One trace after another.

    Parameters
    ----------
    traces : iterable of Trace
        Of the same optimizer, momentum, training set and layers.

    Returns
    -------
    Trace

    Raises
    ------
    InvalidInput
        If they differ in more than their updates.
    """
    parts = list(traces)
    alike = {(t.optimizer, t.momentum, t.train_size, tuple(sorted(t.weight_norm))) for t in parts}
    if len(alike) != 1:
        raise InvalidInput("traces of different optimizers or layers cannot be joined: keep them apart.")
    values: dict[str, Any] = {f.name: getattr(parts[0], f.name) for f in fields(parts[0])}
    for name in ("lr", "batch_size", "weight_decay"):
        values[name] = np.concatenate([getattr(t, name) for t in parts])
    for name in ("gradient_norm", "weight_norm"):
        values[name] = {
            layer: np.concatenate([getattr(t, name)[layer] for t in parts])
            for layer in getattr(parts[0], name)
        }
    return Trace(**values)


def _every_update(name: str, values: Any, updates: int) -> Array:
    array = np.asarray(values, dtype=float)
    if array.ndim > 1 or (array.ndim == 1 and array.size != updates):
        raise InvalidInput(
            f"{name} has {array.size} values for {updates} updates: give one number, or one an update."
        )
    if not np.isfinite(array).all():
        raise InvalidInput(f"{name} has values that are not finite: give finite numbers.")
    return np.broadcast_to(array, (updates,))
