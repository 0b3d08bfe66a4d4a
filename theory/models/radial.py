r"""The norm of scale-invariant weights, update by update and exactly.

If the loss depends on the direction of w alone, its gradient is orthogonal to w and falls as 1/r with the
norm :math:`r = |w|`. By Pythagoras every update then adds to the norm, and only decay takes from it:

.. math:: r_{k+1}^2 = (1-\eta_k\lambda_k)^2 r_k^2 + \eta_k^2 |u_k|^2,

with :math:`|u_k| = G_k/r_k` for SGD, where :math:`G_k` is the gradient's norm at unit weights, and
:math:`|u_k|^2 = C` for updates of a fixed size. A momentum buffer is not orthogonal to w: what it holds of
earlier gradients points outwards, and the norm grows faster.
"""

import numpy as np

from ..errors import InvalidInput
from ..trace import Array, Trace
from .updates import BETA2


def sgd_norms(trace: Trace, init_scale: float, gradient_norm: float | Array) -> Array:
    r"""Norms under SGD without momentum, :math:`r^2 \leftarrow (1-\eta\lambda)^2 r^2 + \eta^2 G^2/r^2`.

    Parameters
    ----------
    trace : Trace
        Of SGD without momentum.
    init_scale : float
        Norm :math:`r_0` at the start, positive.
    gradient_norm : float or ndarray, shape (updates,)
        Norm :math:`G_k` that the minibatch gradient would have at unit weights.

    Returns
    -------
    ndarray, shape (updates,)
        After each update.

    Raises
    ------
    InvalidInput
        If the trace is of another optimizer.

    Examples
    --------
    >>> round(float(sgd_norms(Trace(lr=np.array([0.1]), weight_decay=0.05), 1.0, 2.0)[0] ** 2), 9)
    1.030025
    """
    if trace.optimizer != "sgd" or trace.momentum_coefficient:
        raise InvalidInput(
            f"a trace of {trace.optimizer} with momentum {trace.momentum_coefficient:g} does not follow the "
            f"recursion of sgd without momentum: use heavy_ball_norms or fixed_size_norms."
        )
    pushes = np.broadcast_to((trace.lr * gradient_norm) ** 2, trace.lr.shape)
    kept = (1 - trace.lr * trace.weight_decay) ** 2
    squares, square = [], float(init_scale) ** 2
    for keep, push in zip(kept.tolist(), pushes.tolist(), strict=True):
        square = keep * square + push / square
        squares.append(square)
    return np.sqrt(squares)


def heavy_ball_norms(trace: Trace, init_scale: float, buffer_norm: Array) -> Array:
    r"""Norms under SGD with momentum, from the norms of its buffer.

    With :math:`v_k = \beta v_{k-1} + g_k + \lambda w_k` and :math:`w_{k+1} = w_k - \eta_k v_k`, exactly

    .. math::
        r_{k+1}^2 = r_k^2 - 2\eta_k c_k + \eta_k^2 |v_k|^2, \qquad
        c_k = \langle w_k, v_k\rangle = \beta\,(c_{k-1} - \eta_{k-1}|v_{k-1}|^2) + \lambda_k r_k^2,

    which without decay is :math:`r_{k+1}^2 = r_k^2 + \eta_k^2|v_k|^2 + 2\eta_k\sum_{l\ge1}
    \beta^l\eta_{k-l}|v_{k-l}|^2`, for a constant rate a lemma of Heo et al.

    Parameters
    ----------
    trace : Trace
        Of SGD.
    init_scale : float
        Norm :math:`r_0` at the start.
    buffer_norm : ndarray, shape (updates,)
        Norm :math:`|v_k|` of the buffer with which the update is made.

    Returns
    -------
    ndarray, shape (updates,)
        After each update.

    Examples
    --------
    >>> trace = Trace(lr=np.full(2, 0.1), momentum=0.5)
    >>> (heavy_ball_norms(trace, 1.0, np.array([1.0, 2.0])) ** 2).round(12).tolist()
    [1.01, 1.06]
    """
    beta, square, along, last = trace.momentum_coefficient, float(init_scale) ** 2, 0.0, 0.0
    squares = []
    rows = (trace.lr.tolist(), trace.weight_decay.tolist(), np.asarray(buffer_norm, dtype=float).tolist())
    for lr, decay, buffer in zip(*rows, strict=True):
        along = beta * (along - last) + decay * square
        square += lr * (lr * buffer**2 - 2 * along)
        last = lr * buffer**2
        squares.append(square)
    return np.sqrt(squares)


def fixed_size_norms(trace: Trace, init_scale: float, entries: float) -> Array:
    r"""Norms under updates of squared norm C at right angles to the weights, with decoupled decay.

    :math:`r^2 \leftarrow (1-\eta\lambda)^2 r^2 + C\eta^2`.

    Parameters
    ----------
    trace : Trace
    init_scale : float
        Norm :math:`r_0` at the start.
    entries : float
        Squared norm C of an update at rate 1: the number of entries for a sign or for Adam, the smaller
        dimension of the matrix for Muon.

    Returns
    -------
    ndarray, shape (updates,)
        After each update.

    Examples
    --------
    >>> trace = Trace(lr=np.full(2, 0.1), weight_decay=1.0, optimizer="adamw")
    >>> (fixed_size_norms(trace, 1.0, 50.0) ** 2).round(12).tolist()
    [1.31, 1.5611]
    """
    squares, square = [], float(init_scale) ** 2
    kept = (1 - trace.lr * trace.weight_decay) ** 2
    for keep, push in zip(kept.tolist(), (entries * trace.lr**2).tolist(), strict=True):
        square = keep * square + push
        squares.append(square)
    return np.sqrt(squares)


def adam_norms(trace: Trace, init_scale: float, entries: float, beta2: float = BETA2) -> Array:
    r"""Norms under Adam whose second average holds gradients from when the norm was another.

    A gradient is normalised by those of the last :math:`1/(1-\beta_2)` updates, which were larger while the
    norm was smaller, so that updates fall short of the squared size C until growth slows down:

    .. math::
        r_{k+1}^2 = (1-\eta_k\lambda)^2 r_k^2 + C\eta_k^2\,\frac{1/r_k^2}{\hat v_k}, \qquad
        v_k = \beta_2 v_{k-1} + (1-\beta_2)/r_k^2,

    with bias correction, in the mean square over random gradients and for decoupled decay. The first average
    is taken to be short.

    Parameters
    ----------
    trace : Trace
        Of Adam without decay, or AdamW.
    init_scale : float
        Norm :math:`r_0` at the start.
    entries : float
        Number C of weights.
    beta2 : float
        Of the second average; at 0 the recursion is that of :func:`fixed_size_norms`.

    Returns
    -------
    ndarray, shape (updates,)
        After each update.

    Examples
    --------
    The squared norm would grow by 4 if the second average had no delay:

    >>> trace = Trace(lr=np.full(4000, 1e-3), optimizer="adam")
    >>> round(float(adam_norms(trace, 0.5, 1000)[-1] ** 2 - 0.25), 2)
    2.68
    """
    squares, square, average, weight = [], float(init_scale) ** 2, 0.0, 1.0
    kept = (1 - trace.lr * trace.weight_decay) ** 2
    for keep, push in zip(kept.tolist(), (entries * trace.lr**2).tolist(), strict=True):
        weight *= beta2
        average = beta2 * average + (1 - beta2) / square
        square = keep * square + push * (1 - weight) / (square * average)
        squares.append(square)
    return np.sqrt(squares)
