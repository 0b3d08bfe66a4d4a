"""What is recorded of every member, and its best checkpoint."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from ..theory.clocks import CLOCKS, clock_values
from .config import Cell
from .data import Dataset
from .evaluation import evaluate
from .networks import ResNet9, kernels
from .radial_clock import RadialClock, kernel_norms

# Train accuracy from which a run counts as interpolating; the first such epoch is tau_interp.
INTERPOLATION_ACCURACY = 0.995


@dataclass(frozen=True)
class Outcome:
    """What is kept of one run.

    Attributes
    ----------
    history : DataFrame
        A row an epoch: loss and accuracy of the epoch's training batches and on the validation set,
        kernel norms (all together and by layer), running sums and clocks. For every kernel also
        ``initial_norm.<layer>``, the same in every row; ``gradient_norm.<layer>``, mean norm of the
        epoch's minibatch gradients; and ``radial_clock.<layer>``, the running sum over updates of
        (learning rate * gradient norm * kernel norm)^2, see :mod:`~initmem.empirics.radial_clock`;
        runs recorded by older versions lack these three. It ends with the epoch in which the run
        diverged.
    result : dict
        Scalars of the run; NaN or None where there is no value, and ``reason`` says why.
    """

    history: pd.DataFrame
    result: dict[str, Any]


class Recorder:
    """Collects every epoch of every member and keeps its best checkpoint.

    The best checkpoint is that of the lowest validation loss, the first of equals.

    Parameters
    ----------
    cell : Cell
    network : ResNet9
        At its start.
    data : Dataset
    lrs : ndarray, shape (updates,)
        The learning rate of every update.
    """

    def __init__(self, cell: Cell, network: ResNet9, data: Dataset, lrs: np.ndarray) -> None:
        members = network.members
        self.cell, self.network, self.data, self.members = cell, network, data, members
        self.sum_lr, self.sum_lr_squared = np.cumsum(lrs), np.cumsum(lrs**2)
        self.layers = list(kernels(network))
        self.diverged = torch.zeros(members, dtype=torch.bool)
        self.rows: list[dict[str, Any]] = []
        self.initial_norms = kernel_norms(network)
        self.initial_norm = _total(self.initial_norms)
        self.radial_clock = RadialClock(network)
        self.best_loss = torch.full((members,), torch.inf)
        self.best_epoch = torch.zeros(members, dtype=torch.int64)
        self.best_state = {name: value.clone() for name, value in network.state_dict().items()}

    @torch.no_grad()
    def record(self, epoch: int, updates: int, loss: Tensor, accuracy: Tensor) -> None:
        """Add the epoch's row and keep the members that improved.

        Parameters
        ----------
        epoch, updates : int
            Done so far.
        loss, accuracy : Tensor, shape (members,)
            Of the epoch's training batches.
        """
        validation_loss, validation_accuracy = evaluate(self.network, self.data.validation, self.members)
        norms = kernel_norms(self.network)
        self.diverged |= ~(loss.isfinite() & norms.sum(0).isfinite())
        improved = (validation_loss < self.best_loss) & ~self.diverged
        self.best_loss[improved] = validation_loss[improved]
        self.best_epoch[improved] = epoch
        for name, value in self.network.state_dict().items():
            self.best_state[name][improved] = value[improved]
        sums = float(self.sum_lr[updates - 1]), float(self.sum_lr_squared[updates - 1])
        self.rows.append(
            {
                "epoch": epoch,
                "updates": updates,
                "train_loss": loss.numpy(),
                "train_accuracy": accuracy.numpy(),
                "validation_loss": validation_loss.numpy(),
                "validation_accuracy": validation_accuracy.numpy(),
                "kernel_norm": _total(norms).numpy(),
                **self._by_layer("kernel_norm", norms),
                **self._by_layer("initial_norm", self.initial_norms),
                **self._by_layer("gradient_norm", self.radial_clock.mean_gradient_norm()),
                **self._by_layer("radial_clock", self.radial_clock.clock.clone()),
                "sum_lr": sums[0],
                "sum_lr_squared": sums[1],
                **clock_values(self.cell.recipe, *sums),
            }
        )

    def outcomes(self) -> list[Outcome]:
        """Test every member at its last and at its best state."""
        _, final = evaluate(self.network, self.data.test, self.members)
        self.network.load_state_dict(self.best_state)
        _, selected = evaluate(self.network, self.data.test, self.members)
        return [
            self._outcome(member, float(selected[member]), float(final[member]))
            for member in range(self.members)
        ]

    def _by_layer(self, column: str, values: Tensor) -> dict[str, np.ndarray]:
        """A column for every kernel, from (layers, members)."""
        return {f"{column}.{layer}": values[i].numpy() for i, layer in enumerate(self.layers)}

    def _history(self, member: int) -> pd.DataFrame:
        columns = self.rows[0]
        history = pd.DataFrame(
            {
                name: [row[name][member] if np.ndim(row[name]) else row[name] for row in self.rows]
                for name in columns
            }
        )
        finite = np.isfinite(history[["train_loss", "kernel_norm"]]).all(axis=1).to_numpy()
        return history if finite.all() else history.iloc[: int(finite.argmin()) + 1]

    def _outcome(self, member: int, selected: float, final: float) -> Outcome:
        history = self._history(member)
        diverged, best = bool(self.diverged[member]), int(self.best_epoch[member])
        last = history.iloc[-1]
        fitted = history.loc[history.train_accuracy >= INTERPOLATION_ACCURACY]
        chosen = history.loc[history.epoch == best].iloc[0] if best else None
        nan = float("nan")

        def at_best(column: str) -> float:
            return nan if chosen is None else float(chosen[column])

        result = {
            "test_accuracy": selected if best else nan,
            "test_accuracy_final": nan if diverged else final,
            "selected_epoch": best or None,
            "selected_validation_loss": at_best("validation_loss"),
            "train_loss": float(last.train_loss),
            "train_accuracy": float(last.train_accuracy),
            "validation_accuracy": float(last.validation_accuracy),
            "interpolation_epoch": None if fitted.empty else int(fitted.epoch.iloc[0]),
            "repair_gap": nan
            if fitted.empty or diverged
            else float(last.validation_accuracy - fitted.validation_accuracy.iloc[0]),
            "initial_norm": float(self.initial_norm[member]),
            "selected_norm": at_best("kernel_norm"),
            "final_norm": nan if diverged else float(last.kernel_norm),
            **{f"{clock}_selected": at_best(clock) for clock in CLOCKS},
            "diverged": diverged,
            "diverged_epoch": int(last.epoch) if diverged else None,
            "reason": _reason(diverged, int(last.epoch), fitted.empty),
        }
        return Outcome(history, result)


def _reason(diverged: bool, epoch: int, unfitted: bool) -> str | None:
    """Why values are missing from a result."""
    if diverged:
        return f"diverged: the training loss or a kernel norm is not finite in epoch {epoch}"
    if unfitted:
        return f"train accuracy stayed below {INTERPOLATION_ACCURACY}"
    return None


def _total(norms: Tensor) -> Tensor:
    """Frobenius norm of all kernels together, (members,)."""
    return norms.square().sum(0).sqrt()
