"""The training loop: the members of a cell side by side, each on its own start and data order."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from . import networks, optimizers
from .config import Cell
from .data import load
from .evaluation import gather, losses
from .initialization import initialize
from .randomness import Stream, generator
from .recording import Outcome, Recorder


def train(
    cell: Cell,
    starts: Sequence[tuple[float, int]],
    on_epoch: Callable[[int], None] = lambda epoch: None,
) -> list[Outcome]:
    """Train the runs of one cell together.

    Parameters
    ----------
    cell : Cell
    starts : sequence of (init_scale, seed)
    on_epoch : callable, optional
        Called with the number of epochs done.

    Returns
    -------
    list of Outcome, in the order of `starts`
        A run whose loss stops being finite is recorded as diverged; it does not raise.
    """
    recipe, members = cell.recipe, len(starts)
    data = load(cell.data, recipe.train_size)
    network = networks.build(cell.network, members, data.train.images.shape[1], data.classes)
    initialize(network, starts)
    optimizer = optimizers.build(network, recipe)
    groups = [group for part in optimizer for group in part.param_groups]
    lrs = recipe.learning_rate(np.arange(recipe.total_updates))
    recorder = Recorder(cell, network, data, lrs)

    for epoch in range(1, recipe.total_epochs + 1):
        loss_sum, correct, seen = torch.zeros(members), torch.zeros(members), 0
        done = (epoch - 1) * recipe.updates_per_epoch
        epoch_lrs = lrs[done : done + recipe.updates_per_epoch]
        orders = _orders(starts, epoch, recipe.train_size)
        for index, lr in enumerate(epoch_lrs.tolist()):
            batch = orders[:, index * recipe.batch_size : (index + 1) * recipe.batch_size]
            images, labels = gather(data.train, batch)
            for group in groups:
                group["lr"] = lr * group["lr_ratio"]
            network.zero_grad()
            logits = network(images)
            loss = losses(logits, labels)
            # The gradient of the sum is each member's own: no member enters another's loss.
            loss.sum().backward()
            recorder.radial_clock.add(lr)
            for part in optimizer:
                part.step()
            loss_sum += loss.detach() * batch.shape[1]
            correct += (logits.detach().argmax(2) == labels).sum(1)
            seen += batch.shape[1]
        recorder.record(epoch, done + len(epoch_lrs), loss_sum / seen, correct / seen)
        on_epoch(epoch)
        if recorder.diverged.all():
            break
    return recorder.outcomes()


def _orders(starts: Sequence[tuple[float, int]], epoch: int, n: int) -> Tensor:
    """The data order of every member, (members, n): a function of its seed and the epoch."""
    by_seed = {seed: generator(Stream.DATA_ORDER, seed, epoch).permutation(n) for _, seed in starts}
    return torch.from_numpy(np.stack([by_seed[seed] for _, seed in starts]))
