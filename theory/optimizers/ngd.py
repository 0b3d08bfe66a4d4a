r"""Normalized gradient descent: a step of Euclidean length :math:`\eta` along the averaged gradient."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import sympy as sp

from . import steepest
from .loss import squared


def unit(p: Sequence[sp.Expr], variables: Sequence[sp.Symbol]) -> list[sp.Expr]:
    r"""The unit vector :math:`p/|p|`."""
    return [component / norm(p, variables) for component in p]


def norm(p: Sequence[sp.Expr], variables: Sequence[sp.Symbol]) -> sp.Expr:
    """The Euclidean norm, its own dual."""
    return sp.sqrt(squared(p))


def step(theta: np.ndarray, slope: Any, buffer: Any, c: Any) -> tuple[np.ndarray, Any]:
    """One update."""
    _, buffer = steepest.averaged(theta, slope, buffer, c)
    return steepest.moved(theta, buffer / np.linalg.norm(buffer), c), buffer


NORM = steepest.Norm(unit, norm, "unit", "unit(p) = p/|p|", "||grad L||_2", r"\|\nabla L\|_2")

OPTIMIZER = steepest.optimizer(
    NORM,
    step,
    name="ngd",
    title="Normalized gradient descent",
    settings=("beta",),
    update=(
        r"m \leftarrow \beta m + (1-\beta)\,g,\quad "
        r"\theta \leftarrow (1-\eta\lambda)\,\theta - \eta\,m/|m|"
    ),
    twin=r"\dot\theta = -g/|g| - \lambda\theta",
    assumptions=("the gradient stays away from zero", "full batch"),
    clocks=("T_adapt: every step has length lr", "T_L2: if the decay is decoupled"),
    references=("cortes2006finite", "bernstein2024old"),
)
