r"""Gradient descent: explicit Euler on the gradient flow.

Its iterates descend :math:`L + \frac\eta4|\nabla L|^2` to first order. Decay in the gradient and decay
on the weights are the same thing here.
"""

from typing import Any

import numpy as np
import sympy as sp

from ..backward_error.lag import NOW
from . import linear_memory
from .constants import Constants


def weights(c: Constants) -> sp.Expr:
    """The present gradient alone."""
    return NOW


def step(theta: np.ndarray, slope: Any, state: None, c: Any) -> tuple[np.ndarray, None]:
    """One update."""
    return theta - c.lr * (slope(theta) + (c.coupled_rate + c.decoupled_rate) * theta), None


OPTIMIZER = linear_memory.optimizer(
    weights,
    step,
    name="gd",
    title="Gradient descent",
    settings=(),
    highest_order=11,
    update=r"\theta \leftarrow \theta - \eta\,(g + \lambda\theta)",
    twin=r"\dot\theta = -g - \lambda\theta",
    assumptions=("full batch",),
    clocks=("T_L2: decay shrinks every weight by the same factor", "no T_SGD: there is no minibatch noise"),
    references=("barrett2021implicit", "hairer2006geometric", "calaque2011two", "rosca2023continuous"),
)
