r"""What single updates take off the weights of a diagonal linear network, exactly, on given examples.

A coordinate of :math:`\beta = (w_+^2 - w_-^2)/2` has two weights, which start at :math:`\alpha`. With g the
gradient by :math:`\beta` on a batch, one update is :math:`w_\pm' = (1 \mp \eta g)\,w_\pm`, so that exactly

.. math:: \alpha_K^2 = w_+w_- = \alpha^2 e^{-\sum_k q(\eta_kg_k)}, \qquad q(x) = -\ln|1 - x^2| \approx x^2.

What the net converges to is what gradient flow would find from :math:`\alpha_K` and a small shift. Without
label noise the gains end with the residuals: on five random examples in twelve dimensions the sum of q over
the coordinates is the same at 3,000 updates and at 30,000, while with label noise it grows ninefold. The
full-batch part of :math:`g^2` does not shrink with the batch size, so that a larger batch gains less, but
not in proportion.
"""

from typing import NamedTuple

import numpy as np

from ..errors import InvalidInput
from ..trace import Array, Trace


class Gains(NamedTuple):
    r"""What one update takes off :math:`\ln w_+w_-`, and off :math:`\ln w_\pm^2` beyond the flow."""

    q: Array
    plus: Array
    minus: Array


def gains(step: Array | float) -> Gains:
    r"""The gains of updates :math:`x = \eta g`.

    .. math:: q = -\ln|1 - x^2|, \qquad q_\pm = \mp 2x - 2\ln|1 \mp x|, \qquad q = (q_+ + q_-)/2.

    All are :math:`x^2` to leading order. The net ends at the interpolator nearest, in the entropy of
    :math:`\alpha^2 e^{-\sum q}`, to :math:`\frac12\alpha^2(e^{-\sum q_+} - e^{-\sum q_-})`.

    Parameters
    ----------
    step : ndarray or float

    Returns
    -------
    Gains
        Infinite where an update sets a weight to zero.

    Examples
    --------
    >>> [round(float(value), 10) for value in gains(0.2)]
    [0.0408219945, 0.0462871026, 0.0353568864]
    """
    x = np.asarray(step, dtype=float)
    with np.errstate(divide="ignore"):
        up, down = np.log(np.abs(1 - x)), np.log(np.abs(1 + x))
    return Gains(-up - down, -2 * x - 2 * up, 2 * x - 2 * down)


class Training(NamedTuple):
    """Trainings on given examples: final weights and summed gains (seeds, d), and their residuals.

    ``squared_residual`` (updates, seeds) is the mean square over all examples before each update, without
    label noise.
    """

    plus: Array
    minus: Array
    gains: Gains
    squared_residual: Array

    @property
    def beta(self) -> Array:
        r""":math:`(w_+^2 - w_-^2)/2`, shape (seeds, d)."""
        return (self.plus**2 - self.minus**2) / 2


def train(
    trace: Trace,
    x: Array,
    y: Array,
    alpha: Array | float,
    rng: np.random.Generator,
    seeds: int = 1,
    noise: float = 0.0,
) -> Training:
    r"""Train on :math:`\frac{1}{2b}\sum_i (x_i^\top\beta - y_i)^2` from :math:`w_\pm = \alpha`.

    Parameters
    ----------
    trace : Trace
        Of SGD without momentum or decay; each batch is drawn without replacement from the n examples.
    x : ndarray, shape (n, d)
    y : ndarray, shape (n,)
    alpha : ndarray, shape (d,), or float
    rng : Generator
    seeds : int, default 1
    noise : float, default 0
        Standard deviation of the label noise, drawn anew for every example of every batch.

    Returns
    -------
    Training

    Raises
    ------
    InvalidInput
        If the trace has momentum, decay, another optimizer, or batches larger than the data.

    Examples
    --------
    >>> trace = Trace(lr=np.full(200, 0.05), batch_size=1)
    >>> done = train(trace, np.array([[1.0, 2.0]]), np.ones(1), 1.0, np.random.default_rng(0))
    >>> np.allclose(done.plus * done.minus, np.exp(-done.gains.q))
    True
    """
    if trace.optimizer != "sgd" or trace.momentum_coefficient or trace.weight_decay.any():
        raise InvalidInput(
            f"the gains are exact for sgd without momentum or decay, not for this trace of "
            f"{trace.optimizer}: give a plain one."
        )
    if trace.batch_size.max() > len(x):
        raise InvalidInput(
            f"batch_size = {trace.batch_size.max():g} is larger than the {len(x)} examples: give at most "
            f"{len(x)}."
        )
    plus = np.broadcast_to(np.asarray(alpha, dtype=float), (seeds, x.shape[1])).copy()
    minus, total, squared = plus.copy(), np.zeros((3, *plus.shape)), np.empty((trace.updates, seeds))
    for k, (lr, b) in enumerate(zip(trace.lr.tolist(), trace.batch_size.astype(int).tolist(), strict=True)):
        residual = (plus**2 - minus**2) / 2 @ x.T - y
        squared[k] = np.mean(residual**2, axis=-1)
        drawn = rng.random(residual.shape).argsort(axis=-1)[:, :b]
        seen = np.take_along_axis(residual, drawn, axis=-1)
        if noise:
            seen = seen + noise * rng.normal(size=seen.shape)
        step = lr * np.einsum("sb,sbd->sd", seen, x[drawn]) / b
        plus, minus = (1 - step) * plus, (1 + step) * minus
        total += np.stack(gains(step))
    return Training(plus, minus, Gains(total[0], total[1], total[2]), squared)


def decoupled_gain(trace: Trace, x: Array, squared_residual: Array) -> Array:
    r"""The sum of q as it would be if residuals were independent of the inputs.

    .. math:: \sum_k \frac{\eta_k^2}{b_k}\;\overline{r^2}_k\;\overline{x_j^2},

    the constant of the continuous theory, :math:`2\eta\,\mathrm{diag}(X^\top X/n)\int L\,dt` on
    :math:`\ln\alpha` with :math:`L = \overline{r^2}/4`, for batches of one. On given data residuals and
    inputs do depend on each other. On the five examples above, single coordinates have 0.3 to 1.7 times
    this gain and their sum 0.9 times without label noise; with it, 0.9 to 1.1 times and their sum within
    half a percent.

    Parameters
    ----------
    trace : Trace
    x : ndarray, shape (n, d)
    squared_residual : ndarray, shape (updates, ...)
        Mean square :math:`\overline{r^2}_k` over the examples, with label noise if there is any.

    Returns
    -------
    ndarray, shape (..., d)

    Examples
    --------
    >>> decoupled_gain(Trace(lr=np.full(2, 0.1)), np.array([[1.0, 2.0]]), np.ones(2)).round(12).tolist()
    [0.02, 0.08]
    """
    moved = np.tensordot(trace.lr**2 / trace.batch_size, squared_residual, axes=1)
    return np.multiply.outer(moved, np.mean(x**2, axis=0))
