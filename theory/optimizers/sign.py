r"""Sign descent, also signum: every coordinate moves by :math:`\eta`.

Away from the points where a gradient component changes sign its field is piecewise constant, so the
iterates follow the plain flow exactly and the penalty on :math:`\|\nabla L\|_1` acts only at the kinks.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import sympy as sp

from . import steepest


def signs(p: Sequence[sp.Expr], variables: Sequence[sp.Symbol]) -> list[sp.Expr]:
    """The sign of each component."""
    return [sp.sign(component) for component in p]


def norm(p: Sequence[sp.Expr], variables: Sequence[sp.Symbol]) -> sp.Expr:
    """The 1-norm, dual to the maximum norm."""
    return sp.Add(*(sp.Abs(component) for component in p))


def step(theta: np.ndarray, slope: Any, buffer: Any, c: Any) -> tuple[np.ndarray, Any]:
    """One update."""
    _, buffer = steepest.averaged(theta, slope, buffer, c)
    return steepest.moved(theta, np.sign(buffer), c), buffer


def expected_sign(gradient: float, noise: float) -> float:
    r"""The mean of :math:`\operatorname{sign}(g + s\xi)` for standard normal :math:`\xi`.

    It is :math:`\operatorname{erf}(g/(\sqrt2\,s))`, close to :math:`\sqrt{2/\pi}\,g/s` where noise
    dominates: the speed of sign descent then falls with the noise and grows with the batch size.

    Parameters
    ----------
    gradient, noise : float
        Mean g and standard deviation s of the stochastic gradient.

    Returns
    -------
    float

    Examples
    --------
    >>> round(expected_sign(0.3, 1.0), 10)
    0.2358228444
    """
    return math.erf(gradient / (math.sqrt(2) * noise))


NORM = steepest.Norm(
    signs, norm, "sign", "sign(p) has the sign of each component of p", "||grad L||_1", r"\|\nabla L\|_1"
)

OPTIMIZER = steepest.optimizer(
    NORM,
    step,
    name="sign",
    title="Sign descent with momentum (signum)",
    settings=("beta",),
    update=(
        r"m \leftarrow \beta m + (1-\beta)\,g,\quad "
        r"\theta \leftarrow (1-\eta\lambda)\,\theta - \eta\operatorname{sign}(m)"
    ),
    twin=r"\dot\theta = -\operatorname{sign}(g) - \lambda\theta",
    assumptions=("no component of the gradient changes sign within the memory of the average", "full batch"),
    clocks=("T_adapt: every coordinate moves by lr", "T_L2: if the decay is decoupled"),
    references=("bernstein2018signsgd", "compagnoni2025adaptive", "bernstein2024old"),
)
