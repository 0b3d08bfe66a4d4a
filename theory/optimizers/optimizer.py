"""What is stated about an optimizer: its update, its flow, and where that comes from."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

from ..backward_error.field import ModifiedField
from .constants import Constants
from .experiment import Experiment
from .formula import Formula
from .loss import Loss
from .validity import Validity

Gradient = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Objective:
    r"""A modified objective and the sense in which the field descends it.

    Attributes
    ----------
    expression : Expr
        Equal to the loss at :math:`\eta = 0`.
    field : str
        The field in terms of it, for example ``-grad(objective)/(1 - beta)``.
    """

    expression: sp.Expr
    field: str


@dataclass(frozen=True)
class Optimizer:
    r"""One optimizer with all that is claimed about it; the contract suite tests every claim.

    Attributes
    ----------
    name, title : str
    settings : tuple of str
        The fields of :class:`Constants` that it has.
    decay_laws : tuple of str
        How it may decay, the usual law first; empty if it does not.
    update, twin : str
        The discrete update and its continuous twin, in LaTeX.
    assumptions : tuple of str
        Conditions under which the field is right.
    clocks : tuple of str
        Which clocks are in force.
    references : tuple of str
        Keys of :mod:`initmem.theory.references`.
    highest_order : int
        Largest power of the learning rate to which the field is derived.
    field : callable
        ``field(loss, constants, order)`` gives the modified field.
    objective : callable
        ``objective(loss, constants, field, point)`` gives the modified objective through the order of
        the field, or None; the point may be left out and helps to find the domain of the loss.
    formula : callable
        ``formula(constants, order)`` gives the field for a loss that is not spelled out.
    step : callable
        ``step(theta, gradient, state, constants)`` is one executable update with numpy; `state` is None
        before the first, and `constants` holds floats. Returns the new parameters and state.
    validity : callable
        ``validity(loss, constants, point)`` measures how far the expansion may be trusted.
    experiment : callable
        ``experiment(seed)`` runs updates and flow side by side.
    diffusion : callable, optional
        ``diffusion(loss, constants)`` gives the covariance of the noise per unit of time, where the
        twin is a stochastic equation.
    weights : callable, optional
        ``weights(constants)`` gives the lag weights, where the step is a weighted sum of past gradients
        of the whole training set, else None.
    has_objective : bool
        Whether the field descends a modified objective at all.
    """

    name: str
    title: str
    settings: tuple[str, ...]
    decay_laws: tuple[str, ...]
    update: str
    twin: str
    assumptions: tuple[str, ...]
    clocks: tuple[str, ...]
    references: tuple[str, ...]
    highest_order: int
    field: Callable[[Loss, Constants, int], ModifiedField]
    objective: Callable[..., Objective | None]
    formula: Callable[[Constants, int], Formula]
    step: Callable[[np.ndarray, Gradient, Any, Any], tuple[np.ndarray, Any]]
    validity: Callable[[Loss, Constants, dict[sp.Symbol, sp.Expr]], Validity]
    experiment: Callable[[int], Experiment]
    diffusion: Callable[[Loss, Constants], sp.Matrix] | None = None
    weights: Callable[[Constants], sp.Expr | None] | None = None
    has_objective: bool = True
