r"""SGD over a shuffled training set, each example once an epoch.

The mean over shuffles descends, per epoch,

.. math:: \tilde L = L + \frac\eta4|\nabla L|^2 + \frac{N-b}{N-1}\,\frac{\eta}{4b}\,\Gamma,

where :math:`\Gamma` is the trace of the covariance of the examples' gradients. The finite-population factor
is part of the order: without it the error does not fall any faster than that of the plain flow.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
import sympy as sp

from . import gd, linear_memory
from .constants import Constants
from .experiment import UPDATES, Experiment, random_examples
from .loss import Loss, gradient


def shuffles(examples: Sequence[int], batch_size: int) -> Iterator[tuple[tuple[int, ...], ...]]:
    """All sequences of batches that an epoch can have; the order within a batch does not count.

    Examples
    --------
    >>> len(list(shuffles(range(6), 2)))
    90
    """
    if not examples:
        yield ()
        return
    for batch in combinations(examples, batch_size):
        rest = [example for example in examples if example not in batch]
        for later in shuffles(rest, batch_size):
            yield (batch, *later)


def epoch_mean(loss: Loss, start: Sequence[float], lr: float, batch_size: int) -> np.ndarray:
    """The exact mean over all shuffles of the parameters after one epoch.

    Parameters
    ----------
    loss : Loss
        One formula an example.
    start : sequence of float, length d
    lr : float
    batch_size : int
        Divides the number of examples.

    Returns
    -------
    ndarray of shape (d,)

    Examples
    --------
    Two examples in two orders end at -0.12 and at -0.08:

    >>> loss = Loss.parse(["(x - 1)**2/2", "(x + 1)**2"])
    >>> round(float(epoch_mean(loss, [0.0], 0.1, 1)[0]), 12)
    -0.1
    """
    slopes = [gradient(sample, loss.variables) for sample in loss.samples]
    compiled = sp.lambdify(loss.variables, slopes, modules="numpy", cse=True)
    orders = np.array(list(shuffles(range(len(slopes)), batch_size)))  # (shuffles, updates, b)
    theta = np.tile(np.array(start, dtype=float)[:, None], (1, len(orders)))
    columns = np.arange(len(orders))[:, None]
    for batches in orders.transpose(1, 0, 2):
        every = np.array(
            [np.broadcast_arrays(*g, theta[0])[:-1] for g in compiled(*theta)]
        )  # (N, d, shuffles)
        theta = theta - lr * every[batches, :, columns].mean(axis=1).T
    return theta.mean(axis=1)


def experiment(seed: int) -> Experiment:
    """The mean over all shuffles of six examples in batches of two, against the flow, over one epoch."""
    loss, start = random_examples(seed, 6)
    c = Constants(batch_size=sp.Integer(2), train_size=sp.Integer(6))
    field = OPTIMIZER.field(loss, c, 1)
    lrs = tuple(1 / updates for updates in UPDATES)
    distances = []
    for lr in lrs:
        mean = epoch_mean(loss, start, lr, 2)
        flows = [field.flow(np.array(start), lr, 3, order) for order in (0, 1)]
        distances.append([float(np.linalg.norm(end - mean)) / (3 * lr) for end in flows])
    setup = "all 90 shuffles of six random smooth losses in batches of two, over one epoch, per unit of time"
    return Experiment(setup, lrs, tuple(zip(*distances, strict=True)))


OPTIMIZER = linear_memory.optimizer(
    gd.weights,
    gd.step,
    shuffled=lambda c: True,
    experiment=experiment,
    name="sgd-without-replacement",
    title="SGD without replacement",
    settings=("batch_size", "train_size"),
    highest_order=1,
    update=r"\theta \leftarrow \theta - \eta\,(g_B + \lambda\theta),\quad B \text{ next in a shuffled set}",
    twin=r"\dot\theta = -g - \lambda\theta",
    assumptions=(
        "the mean over shuffles, at the ends of epochs",
        "an epoch is short: lr times its updates times the curvature is small",
        "the batch size divides the training set",
    ),
    clocks=(
        "T_SGD: the penalty on Gamma, summed over the updates, is T_SGD times Gamma/4 where N is large",
        "T_L2: decay shrinks every weight by the same factor",
    ),
    references=("smith2021origin", "beneventano2023trajectories", "robbins1951stochastic"),
)
