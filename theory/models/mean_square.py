r"""Minibatch noise on least squares slows forgetting in the mean square, and leaves that of the mean alone.

Two runs on the same stream of Gaussian examples differ by a :math:`\delta` with
:math:`\delta' = (1-\eta_k(S_k+\lambda_k))\,\delta`, where :math:`S_k` is the second moment of the batch, on
average h times the identity. In its square, b of the :math:`b^2` pairs of examples are of one example with
itself, which gives :math:`E\,x x^\top x x^\top = h^2(d+2)`, and the others give :math:`h^2`, so that
:math:`E\,S_k^2 = h^2(1+(d+1)/b)` and

.. math:: E\,|\delta'|^2 = \Bigl[(1-\eta_k(h+\lambda_k))^2 + \eta_k^2h^2\frac{d+1}{b_k}\Bigr]\,E\,|\delta|^2.
"""

import numpy as np

from ..errors import InvalidInput
from ..trace import Array, Trace


def mean_square(trace: Trace, curvature: float, width: int) -> Array:
    r"""What is left of the mean square of a difference after each update, exactly.

    Parameters
    ----------
    trace : Trace
        Of SGD without momentum.
    curvature : float
        Variance h of every entry of an example, the Hessian's eigenvalue.
    width : int
        Number of weights d.

    Returns
    -------
    ndarray, shape (updates,)
        At least the square of what gradient descent leaves; above 1 where noise drives the runs apart.

    Raises
    ------
    InvalidInput
        If the trace is not of SGD without momentum.

    Examples
    --------
    >>> trace = Trace(lr=np.array([0.05]), batch_size=1)
    >>> mean_square(trace, 1.0, 10).round(12).tolist(), mean_square(trace, 1.0, 1).round(12).tolist()
    ([0.93], [0.9075])
    """
    if trace.optimizer != "sgd" or trace.momentum_coefficient:
        raise InvalidInput(
            "the mean square has a law for sgd without momentum only: give a trace of that optimizer."
        )
    mean = 1 - trace.lr * (curvature + trace.weight_decay)
    noise = (trace.lr * curvature) ** 2 * (width + 1) / trace.batch_size
    return np.multiply.accumulate(mean * mean + noise)


def simulate_mean_square(
    trace: Trace, curvature: float, width: int, seeds: int, rng: np.random.Generator
) -> Array:
    """Squared differences of pairs of runs on the same stream of Gaussian examples, from 1 at the start.

    Parameters
    ----------
    trace, curvature, width
        As in :func:`mean_square`; batches of a whole number of examples.
    seeds : int
        Pairs of runs.
    rng : Generator

    Returns
    -------
    ndarray, shape (seeds,)
        After the last update.

    Examples
    --------
    >>> trace = Trace(lr=np.array([0.05]), batch_size=1)
    >>> left = simulate_mean_square(trace, 1.0, 10, 2000, np.random.default_rng(0))
    >>> bool(abs(left.mean() - 0.93) < 5 * left.std() / 2000**0.5)
    True
    """
    delta = np.full((seeds, width), width**-0.5)
    for lr, batch, decay in zip(
        trace.lr.tolist(), trace.batch_size.tolist(), trace.weight_decay.tolist(), strict=True
    ):
        x = rng.normal(0, curvature**0.5, (seeds, int(batch), width))
        pull = np.einsum("sbi,sb->si", x, np.einsum("sbi,si->sb", x, delta)) / batch
        delta = delta - lr * (pull + decay * delta)
    return np.sum(delta**2, axis=1)
