r"""Scale-invariant weights among random gradients, many runs at once, without drawing a single vector.

Gradients of random direction at right angles to w change three numbers only, :math:`|w|^2`,
:math:`\langle w,v\rangle` and :math:`|v|^2`, where v is the momentum buffer. What they need to be followed
exactly is the component of a random direction along the part of v that is orthogonal to w: one number an
update, in any dimension.
"""

import numpy as np

from ..errors import InvalidInput
from ..trace import Array, Trace
from .updates import BETA1


def final_norms(
    trace: Trace,
    seeds: int,
    rng: np.random.Generator,
    starts: Array,
    gradient_norm: float,
    noise: float,
    entries: float,
) -> Array:
    r"""Norms at the end of trainings that see the same random gradients from several starts.

    The gradient is of norm G in a random direction, plus Gaussian noise of variance :math:`s^2/b` over all
    entries, both at right angles to the weights and over their norm. Adam divides by the root mean square of
    the gradient's entries, as if its second average had no delay. Muon has Nesterov momentum and an update
    of exactly the squared norm `entries`.

    Parameters
    ----------
    trace : Trace
    seeds : int
        Number of random sequences.
    rng : Generator
    starts : ndarray, shape (starts,)
        Norms at the start.
    gradient_norm, noise : float
        G and s at unit weights.
    entries : float
        Number C of weights; for Muon the smaller dimension of a square matrix.

    Returns
    -------
    ndarray, shape (starts, seeds)

    Raises
    ------
    InvalidInput
        If there are fewer than two entries.

    Examples
    --------
    >>> trace = Trace(lr=np.full(2, 0.1), optimizer="muon", momentum=0.0)
    >>> (final_norms(trace, 1, np.random.default_rng(0), np.ones(1), 1.0, 0.0, 50.0) ** 2).round(12).tolist()
    [[2.0]]
    """
    if entries < 2:
        raise InvalidInput(
            f"entries = {entries:g} leaves no direction for a random gradient: give at least 2."
        )
    name = trace.optimizer
    dimension = entries**2 if name == "muon" else entries
    beta = BETA1 if name in ("adam", "adamw") else trace.momentum_coefficient
    fresh = 1.0 if name == "sgd" else 1 - beta
    coupled = trace.decay_law == "coupled"
    n, b = trace.train_size, trace.batch_size
    spread = noise**2 / b * (n - b) / max(n - 1, 1)

    square = np.tile(starts[:, None] ** 2.0, (1, seeds))  # |w|^2
    along = np.zeros_like(square)  # <w, v>
    buffer = np.zeros_like(square)  # |v|^2
    rows = zip(trace.lr.tolist(), trace.weight_decay.tolist(), spread.tolist(), strict=True)
    for k, (lr, decay, variance) in enumerate(rows):
        size, component = _gradient(rng, seeds, dimension, gradient_norm**2, variance)
        if name in ("adam", "adamw"):
            size = size / (gradient_norm**2 + variance) * entries
        else:
            size = size / square
        size = fresh**2 * size
        across = np.sqrt(np.maximum(buffer - along**2 / square, 0.0))
        shared = component * np.sqrt(size) * across  # <v, g>
        inside, kept = (decay, 1.0) if coupled else (0.0, 1 - lr * decay)
        buffer = beta**2 * buffer + size + inside**2 * square + 2 * beta * (shared + inside * along)
        along = beta * along + inside * square
        if name == "muon":
            # The update goes along beta*v + g, whose products with v and w follow.
            with_g = beta * shared + size
            ahead = beta**2 * buffer + 2 * beta * with_g + size
            step = lr * np.sqrt(entries / ahead)
            square, along = (
                kept**2 * square - 2 * kept * step * beta * along + step**2 * ahead,
                kept * along - step * (beta * buffer + with_g),
            )
        else:
            step = lr / (1 - beta ** (k + 1)) if name != "sgd" else lr
            square, along = (
                kept**2 * square - 2 * kept * step * along + step**2 * buffer,
                kept * along - step * buffer,
            )
    return np.sqrt(square)


def _gradient(
    rng: np.random.Generator, seeds: int, dimension: float, square: float, variance: float
) -> tuple[Array | float, Array]:
    """The squared norm at unit weights, and the component of the direction along a fixed tangent."""
    free = dimension - 1
    size = square
    if variance > 0:
        share = variance / free
        size = share * rng.noncentral_chisquare(free, square / share, seeds)
    first, rest = rng.normal(size=seeds), rng.chisquare(max(free - 1, 1e-300), seeds)
    return size, first / np.sqrt(first**2 + rest)
