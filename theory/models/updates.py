r"""The updates of SGD, Adam, AdamW and Muon on arrays, many runs at once, for the simulators."""

from collections.abc import Callable

import numpy as np

from ..trace import Array, Trace

BETA1, BETA2, EPS = 0.9, 0.999, 1e-8  # torch's defaults


def run(trace: Trace, start: Array, gradient: Callable[[int, Array], Array]) -> Array:
    r"""Train from `start` and return the weights after the last update.

    Adam is torch's, with bias correction and :math:`\varepsilon` outside the root. Muon has Nesterov
    momentum and the exact polar factor, which for a vector is the vector over its norm.

    Parameters
    ----------
    trace : Trace
    start : ndarray, shape (..., d)
        All axes but the last are runs.
    gradient : callable
        From the number of the update and the weights to the gradients, of the same shape.

    Returns
    -------
    ndarray, shape (..., d)

    Examples
    --------
    >>> trace = Trace(lr=np.full(2, 0.1), weight_decay=1.0, optimizer="adamw")
    >>> run(trace, np.array([1.0]), lambda k, w: np.zeros(1)).round(6).tolist()
    [0.81]
    """
    w, direction = np.array(start, dtype=float), RULES[trace.optimizer](trace)
    coupled = trace.decay_law == "coupled"
    for k, (lr, decay) in enumerate(zip(trace.lr.tolist(), trace.weight_decay.tolist(), strict=True)):
        g = gradient(k, w)
        inside, outside = (decay, 0.0) if coupled else (0.0, decay)
        w = (1 - lr * outside) * w - lr * direction(g + inside * w)
    return w


def _sgd(trace: Trace) -> Callable[[Array], Array]:
    beta = trace.momentum_coefficient
    buffer: Array | float = 0.0

    def direction(g: Array) -> Array:
        nonlocal buffer
        buffer = beta * buffer + g
        return buffer

    return direction


def _adam(trace: Trace) -> Callable[[Array], Array]:
    m: Array | float = 0.0
    v: Array | float = 0.0
    updates = 0

    def direction(g: Array) -> Array:
        nonlocal m, v, updates
        updates += 1
        m, v = BETA1 * m + (1 - BETA1) * g, BETA2 * v + (1 - BETA2) * g**2
        return (m / (1 - BETA1**updates)) / (np.sqrt(v / (1 - BETA2**updates)) + EPS)

    return direction


def _muon(trace: Trace) -> Callable[[Array], Array]:
    beta = trace.momentum_coefficient
    buffer: Array | float = 0.0

    def direction(g: Array) -> Array:
        nonlocal buffer
        buffer = beta * buffer + (1 - beta) * g
        ahead = beta * buffer + (1 - beta) * g
        norm = np.linalg.norm(ahead, axis=-1, keepdims=True)
        return ahead / np.where(norm > 0, norm, 1.0)

    return direction


RULES: dict[str, Callable[[Trace], Callable[[Array], Array]]] = {
    "sgd": _sgd,
    "adam": _adam,
    "adamw": _adam,
    "muon": _muon,
}
