r"""Nesterov momentum as torch has it: the buffer, and once more the present gradient.

These iterates are the points at which the gradient is computed. Nesterov's own points lie
:math:`\beta(\theta_k-\theta_{k-1})` behind; they follow the same field to first order, and on quadratics
to any order.
"""

from typing import Any

import numpy as np
import sympy as sp

from ..backward_error.lag import geometric
from . import linear_memory
from .constants import Constants


def weights(c: Constants) -> sp.Expr:
    r"""The present gradient with weight :math:`1+\beta`, then :math:`\beta^{j+1}`."""
    return 1 + c.beta * geometric(c.beta)


def step(theta: np.ndarray, slope: Any, buffer: Any, c: Any) -> tuple[np.ndarray, Any]:
    """One update."""
    buffer = np.zeros_like(theta) if buffer is None else buffer
    g = slope(theta) + c.coupled_rate * theta
    buffer = c.beta * buffer + g
    return (1 - c.lr * c.decoupled_rate) * theta - c.lr * (g + c.beta * buffer), buffer


OPTIMIZER = linear_memory.optimizer(
    weights,
    step,
    name="nesterov",
    title="Gradient descent with Nesterov momentum",
    settings=("beta", "batch_size", "train_size"),
    highest_order=8,
    update=(
        r"v \leftarrow \beta v + g + \lambda\theta,\quad "
        r"\theta \leftarrow \theta - \eta\,(g + \lambda\theta + \beta v)"
    ),
    twin=linear_memory.TWIN,
    assumptions=linear_memory.ASSUMPTIONS,
    clocks=linear_memory.CLOCKS,
    references=(
        "nesterov1983method",
        "sutskever2013importance",
        "kovachki2021continuous",
        "cattaneo2025memory",
        "kirchgraber1986multistep",
    ),
)
