r"""Heavy ball: the step is a sum of all past gradients with weights :math:`\beta^j`.

The full gradient is penalised as if the learning rate were
:math:`\eta(1+\beta)/(1-\beta)^2`. The noise of shuffled minibatches is not: it is felt with the effective
rate :math:`\eta/(1-\beta)`, less what the buffer carries into the next epoch. On a quadratic the
roots turn complex at :math:`\eta\lambda = (1-\sqrt\beta)^2`, and nothing is then forgotten faster than
:math:`\beta^{k/2}`.
"""

from typing import Any

import numpy as np
import sympy as sp

from ..backward_error.lag import geometric
from . import linear_memory
from .constants import Constants


def weights(c: Constants) -> sp.Expr:
    r"""Weights :math:`\beta^j`."""
    return geometric(c.beta)


def step(theta: np.ndarray, slope: Any, buffer: Any, c: Any) -> tuple[np.ndarray, Any]:
    """One update."""
    buffer = np.zeros_like(theta) if buffer is None else buffer
    buffer = c.beta * buffer + slope(theta) + c.coupled_rate * theta
    return (1 - c.lr * c.decoupled_rate) * theta - c.lr * buffer, buffer


OPTIMIZER = linear_memory.optimizer(
    weights,
    step,
    name="heavy-ball",
    title="Gradient descent with heavy-ball momentum",
    settings=("beta", "batch_size", "train_size"),
    highest_order=8,
    update=r"v \leftarrow \beta v + g + \lambda\theta,\quad \theta \leftarrow \theta - \eta v",
    twin=linear_memory.TWIN,
    assumptions=linear_memory.ASSUMPTIONS,
    clocks=linear_memory.CLOCKS,
    references=(
        "polyak1964methods",
        "kovachki2021continuous",
        "farazmand2020multiscale",
        "ghosh2023implicit",
        "cattaneo2025memory",
        "kirchgraber1986multistep",
    ),
)
