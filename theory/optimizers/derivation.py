"""Derive the modified field and objective of one optimizer on one loss, and say how far to trust them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import sympy as sp

from ..backward_error.field import ModifiedField, number
from ..backward_error.objective import curl, is_gradient
from ..errors import InvalidInput
from . import optimizer as named
from .constants import WEIGHT_DECAY, Constants, check
from .loss import Loss
from .optimizer import Objective, Optimizer
from .validity import Validity


@dataclass(frozen=True)
class Derivation:
    r"""What an optimizer's steps really follow, with time measured as learning rate times updates.

    Attributes
    ----------
    optimizer : Optimizer
    constants : Constants
    loss : Loss
    field : ModifiedField
        :math:`F_0, \dots, F_n`.
    is_gradient : tuple of bool
        For each order whether the curl of :math:`F_n` vanishes.
    objective : Objective or None
        The modified objective through that order; None if there is none or none was found.
    diffusion : Matrix or None
        Covariance of the noise per unit of time, if the twin is a stochastic equation.
    point : dict of Symbol to number
        Where to evaluate; empty if nowhere.
    validity : Validity
    warnings : tuple of str
    """

    optimizer: Optimizer
    constants: Constants
    loss: Loss
    field: ModifiedField
    is_gradient: tuple[bool, ...]
    objective: Objective | None
    diffusion: sp.Matrix | None
    point: dict[sp.Symbol, sp.Expr]
    validity: Validity
    warnings: tuple[str, ...]

    @property
    def total(self) -> tuple[sp.Expr, ...]:
        """The components of the field with all its orders."""
        return self.field.total(self.constants.lr)

    def evaluate(self, expression: sp.Expr) -> float | None:
        """The number at the point; None without a point or while a constant is still a symbol."""
        if not self.point or expression.free_symbols - set(self.point) or expression.has(sp.core.function.AppliedUndef):
            return None
        return number(expression, self.point)

    @property
    def field_at(self) -> list[float] | None:
        """The field at the point."""
        values = [self.evaluate(component) for component in self.total]
        return None if None in values else values  # type: ignore[return-value]

    @property
    def curl_at(self) -> list[Any] | None:
        r"""For each order the curl of :math:`F_n` at the point.

        A number in two dimensions, :math:`\partial_x F_y - \partial_y F_x`; a dictionary from "x,y" to the
        number in more; 0 in one.
        """
        if not self.point:
            return None
        return [self._curl(term) for term in self.field.terms]

    def _curl(self, term: Sequence[sp.Expr]) -> Any:
        parts = curl(term, self.loss.variables)
        values = {f"{a},{b}": self.evaluate(part) for (a, b), part in parts.items()}
        return 0.0 if not values else next(iter(values.values())) if len(values) == 1 else values

    def to_dict(self) -> dict[str, Any]:
        """A dictionary of JSON types; formulas are strings that sympy reads."""
        goal = self.objective
        return {
            "optimizer": self.optimizer.name,
            "order": self.field.order,
            "loss": str(self.loss.mean),
            "variables": [str(variable) for variable in self.loss.variables],
            "constants": {
                name: str(getattr(self.constants, name)) for name in ("lr", *self.optimizer.settings)
            }
            | {"weight_decay": str(self.constants.weight_decay), "decay_law": self.constants.decay_law},
            "convention": CONVENTION,
            "field": [str(component) for component in self.total],
            "terms": [[str(component) for component in term] for term in self.field.terms],
            "at": {str(symbol): float(value) for symbol, value in self.point.items()} or None,
            "field_at": self.field_at,
            "objective": None if goal is None else str(goal.expression),
            "objective_at": None if goal is None else self.evaluate(goal.expression),
            "objective_gives": None if goal is None else goal.field,
            "is_gradient": list(self.is_gradient),
            "curl_at": self.curl_at,
            "diffusion": None if self.diffusion is None else [[str(e) for e in row] for row in self.diffusion.tolist()],
            "validity": self.validity.to_dict(),
            "warnings": list(self.warnings),
            "references": list(self.optimizer.references),
        }


CONVENTION = (
    "the field is d theta/dt and time t is lr * updates; order n keeps terms through lr^n; terms[n] and "
    "curl_at[n] are the coefficients of lr^n"
)


def settle(optimizer: Optimizer, given: Mapping[str, Any]) -> Constants:
    """The constants of an optimizer from those that were given.

    Parameters
    ----------
    optimizer : Optimizer
    given : mapping of str to number or str
        Fields of :class:`Constants`; what is missing stays a symbol, but there is no decay unless it
        is given or in the optimizer's name.

    Returns
    -------
    Constants

    Raises
    ------
    InvalidInput
        If the optimizer has no such constant or the value is out of range.

    Examples
    --------
    >>> settle(named("adamw"), {"beta1": sp.Rational(9, 10)}).weight_decay
    weight_decay
    """
    decay = ("weight_decay", "decay_law") if optimizer.decay_laws else ()
    for name in given:
        if name not in ("lr", *optimizer.settings, *decay):
            hint = "; adamw and adam-l2 have decay" if name in ("weight_decay", "decay_law") else ""
            raise InvalidInput(
                f"{name} was given for {optimizer.name}, which has {', '.join(('lr', *optimizer.settings, *decay))}"
                f"{hint}: leave it out."
            )
    law = given.get("decay_law", optimizer.decay_laws[0] if decay else "coupled")
    if decay and law not in optimizer.decay_laws:
        raise InvalidInput(
            f"decay law {law!r} is not one of {optimizer.name}: choose one of {', '.join(optimizer.decay_laws)}."
        )
    always = {"weight_decay": WEIGHT_DECAY} if optimizer.name in ("adamw", "adam-l2") else {}
    constants = Constants(**(always | dict(given) | {"decay_law": law}))
    check(constants)
    return constants


def derive(
    name: str,
    loss: Loss,
    order: int = 1,
    given: Mapping[str, Any] | None = None,
    at: Mapping[str, sp.Expr] | None = None,
) -> Derivation:
    r"""The modified field of an optimizer on a loss, its objective where there is one, and its validity.

    Parameters
    ----------
    name : str
        One of :data:`initmem.theory.optimizers.NAMES`.
    loss : Loss
        One formula, or one for each training example.
    order : int
        Keep terms through :math:`\eta^n`: 0 is the plain flow, 1 the first correction.
    given : mapping of str to number, optional
        Constants; exact if given as sympy numbers. What is missing stays a symbol.
    at : mapping of str to number, optional
        A point at which to evaluate, with a value for every variable.

    Returns
    -------
    Derivation

    Raises
    ------
    InvalidInput
        If the optimizer, order, a constant or the point cannot be used.

    Examples
    --------
    >>> result = derive("gd", Loss.parse(["x**2/2"]), order=2, given={"lr": sp.Rational(1, 10)})
    >>> result.total, result.objective.expression
    ((-79*x/75,), 79*x**2/150)

    From second order on the field is in general no gradient:

    >>> loss = Loss.parse(["x**2*y/2 + x**2 + y**2/2"])
    >>> result = derive("gd", loss, order=2, at={"x": sp.Integer(1), "y": sp.Integer(1)})
    >>> result.is_gradient, result.curl_at
    ((True, True, False), [0.0, 0.0, 0.75])
    """
    optimizer = named(name)
    if not 0 <= order <= optimizer.highest_order:
        raise InvalidInput(
            f"order = {order} is not available for {name}: give a whole number from 0, the plain flow, to "
            f"{optimizer.highest_order}."
        )
    constants = _with_train_size(settle(optimizer, given or {}), optimizer, loss)
    point = _point(loss, at) if at else {}
    field = optimizer.field(loss, constants, order)
    if point:
        field.at_or_refuse(point)
    gradients = tuple(is_gradient(term, loss.variables) for term in field.terms)
    objective = optimizer.objective(loss, constants, field)
    validity = optimizer.validity(loss, constants, point)
    return Derivation(
        optimizer=optimizer,
        constants=constants,
        loss=loss,
        field=field,
        is_gradient=gradients,
        objective=objective,
        diffusion=optimizer.diffusion(loss, constants) if optimizer.diffusion else None,
        point=point,
        validity=validity,
        warnings=tuple(_warnings(optimizer, constants, loss, field, gradients, objective, validity, point)),
    )
