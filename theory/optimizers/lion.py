r"""Lion: the sign of a mix of the present gradient and its average.

The mix has weight :math:`1-\beta_1` on the present gradient and :math:`\beta_1` on the average, which
was last updated one step before.
"""

from typing import Any

import numpy as np
import sympy as sp

from ..backward_error.lag import Z, average
from . import steepest
from .constants import Constants
from .sign import NORM


def weights(c: Constants) -> sp.Expr:
    """The present gradient and, one update late, the average."""
    return (1 - c.beta1) + c.beta1 * Z * average(c.beta2)


def step(theta: np.ndarray, slope: Any, buffer: Any, c: Any) -> tuple[np.ndarray, Any]:
    """One update."""
    g = slope(theta) + c.coupled_rate * theta
    buffer = np.zeros_like(theta) if buffer is None else buffer
    direction = np.sign(c.beta1 * buffer + (1 - c.beta1) * g)
    return steepest.moved(theta, direction, c), c.beta2 * buffer + (1 - c.beta2) * g


OPTIMIZER = steepest.optimizer(
    NORM,
    step,
    weights,
    name="lion",
    title="Lion",
    settings=("beta1", "beta2"),
    update=(
        r"\theta \leftarrow (1-\eta\lambda)\,\theta - \eta\operatorname{sign}(\beta_1 m + (1-\beta_1)\,g),"
        r"\quad m \leftarrow \beta_2 m + (1-\beta_2)\,g"
    ),
    twin=r"\dot\theta = -\operatorname{sign}(g) - \lambda\theta",
    assumptions=("no component of the gradient changes sign within the memory of the average", "full batch"),
    clocks=("T_adapt: every coordinate moves by lr", "T_L2: if the decay is decoupled"),
    references=("chen2023symbolic", "chen2024lion", "bernstein2024old"),
)
