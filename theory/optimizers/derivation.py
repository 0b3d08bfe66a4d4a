"""Derive the modified field and objective of one optimizer on one loss, and say how far to trust them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import sympy as sp

from ..backward_error.field import ModifiedField, number
from ..backward_error.objective import curl, is_gradient, numerical_curl
from ..backward_error.parts import has_unknown, symbols_of
from ..backward_error.text import written
from ..backward_error.vanishing import negligible
from ..errors import InvalidInput
from . import named
from .cautions import refuse_kinks, warnings
from .constants import Constants, check, settle
from .formula import Formula
from .loss import Loss
from .optimizer import Objective, Optimizer
from .rates import rates
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
    is_gradient : tuple of (bool or None)
        For each order whether the curl of :math:`F_n` vanishes; None where no point of the domain of the
        loss was found to decide that.
    objective : Objective or None
        The modified objective through that order; None if there is none or none was found.
    diffusion : Matrix or None
        Covariance of the noise per unit of time, if the twin is a stochastic equation.
    rates : list of dict or None
        For a quadratic loss and linear memory: each curvature with the rate of the modified flow to all
        orders, None where the characteristic root is not real and positive.
    point : dict of Symbol to number
        Where to evaluate; empty if nowhere.
    validity : Validity
    warnings : tuple of str
    """

    optimizer: Optimizer
    constants: Constants
    loss: Loss
    field: ModifiedField
    is_gradient: tuple[bool | None, ...]
    objective: Objective | None
    diffusion: sp.Matrix | None
    rates: list[dict[str, float | None]] | None
    point: dict[sp.Symbol, sp.Expr]
    validity: Validity
    warnings: tuple[str, ...]

    @property
    def total(self) -> tuple[sp.Expr, ...]:
        """The components of the field with all its orders."""
        return self.field.total(self.constants.lr)

    def evaluate(self, expression: sp.Expr) -> float | None:
        """The number at the point; None without a point, or while something in it is not known.

        An integral that is left as it stands may have no value that can be computed to 15 digits.
        """
        if not self.point or set(symbols_of(expression)) - set(self.point) or has_unknown(expression):
            return None
        try:
            return number(expression, self.point)
        except InvalidInput:
            if expression.has(sp.Integral):
                return None
            raise

    @property
    def field_at(self) -> list[float] | None:
        """The field at the point."""
        values = [self.evaluate(component) for component in self.total]
        return None if None in values else values  # type: ignore[return-value]

    @property
    def curl_at(self) -> list[dict[str, float | None]] | None:
        r"""For each order the curl of :math:`F_n` at the point, :math:`\partial_x F_y - \partial_y F_x`.

        A dictionary from each pair of variables, as "x,y", to the number, empty in one dimension.
        """
        if not self.point:
            return None
        return [self._curl(term) for term in self.field.terms]

    def _curl(self, term: Sequence[sp.Expr]) -> dict[str, float | None]:
        variables = self.loss.variables
        if has_unknown(*term) or set(symbols_of(*term)) - set(variables):
            return {f"{a},{b}": self.evaluate(part) for (a, b), part in curl(term, variables).items()}
        found = numerical_curl(term, variables, variables)(self.point) or {}
        return {
            f"{a},{b}": 0.0 if negligible(part, scale) else float(part)
            for (a, b), (part, scale) in found.items()
        }

    def to_dict(self) -> dict[str, Any]:
        """A dictionary of JSON types; formulas are strings that sympy reads."""
        goal = self.objective
        return {
            "optimizer": self.optimizer.name,
            "order": self.field.order,
            "loss": written(self.loss.mean),
            "variables": [str(variable) for variable in self.loss.variables],
            "constants": {
                name: str(getattr(self.constants, name)) for name in ("lr", *self.optimizer.settings)
            }
            | {"weight_decay": str(self.constants.weight_decay), "decay_law": self.constants.decay_law},
            "convention": CONVENTION,
            "field": [written(component) for component in self.total],
            "terms": [[written(component) for component in term] for term in self.field.terms],
            "at": {str(symbol): float(value) for symbol, value in self.point.items()} or None,
            "field_at": self.field_at,
            "objective": None if goal is None else written(goal.expression),
            "objective_at": None if goal is None else self.evaluate(goal.expression),
            "objective_gives": None if goal is None else goal.field,
            "is_gradient": list(self.is_gradient),
            "curl_at": self.curl_at,
            "rates": self.rates,
            "diffusion": None
            if self.diffusion is None
            else [[written(e) for e in row] for row in self.diffusion.tolist()],
            "validity": self.validity.to_dict(),
            "warnings": list(self.warnings),
            "references": list(self.optimizer.references),
        }


CONVENTION = (
    "the field is d theta/dt and time t is lr * updates; order n keeps terms through lr^n; terms[n] and "
    "curl_at[n] are the coefficients of lr^n"
)


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
    ((True, True, False), [{'x,y': 0.0}, {'x,y': 0.0}, {'x,y': 0.75}])
    """
    optimizer = _known(name, order)
    constants = _with_train_size(settle(optimizer, given or {}), optimizer, loss)
    point = _point(loss, at) if at else {}
    field = optimizer.field(loss, constants, order)
    refuse_kinks(loss, field, point)
    # The plain flow of a weighted sum of gradients is one.
    known = (True,) if optimizer.weights else ()
    rest = (is_gradient(term, loss.variables, point) for term in field.terms[len(known) :])
    gradients = (*known, *rest)
    objective = optimizer.objective(loss, constants, field, point)
    validity = optimizer.validity(loss, constants, point)
    result = Derivation(
        optimizer=optimizer,
        constants=constants,
        loss=loss,
        field=field,
        is_gradient=gradients,
        objective=objective,
        diffusion=optimizer.diffusion(loss, constants) if optimizer.diffusion else None,
        point=point,
        rates=rates(optimizer, loss, constants),
        validity=validity,
        warnings=(),
    )
    return replace(result, warnings=tuple(warnings(result)))


def general(name: str, order: int = 1, given: Mapping[str, Any] | None = None) -> tuple[Optimizer, Formula]:
    """The modified field of an optimizer for a loss that is not spelled out.

    Parameters
    ----------
    name : str
    order : int
    given : mapping of str to number, optional
        As for :func:`derive`.

    Returns
    -------
    Optimizer
    Formula

    Raises
    ------
    InvalidInput
        If the optimizer, order or a constant cannot be used.

    Examples
    --------
    >>> general("gd")[1].objective
    'L + lr*1/4*|grad L|^2'
    """
    optimizer = _known(name, order)
    return optimizer, optimizer.formula(settle(optimizer, given or {}), order)


def _known(name: str, order: int) -> Optimizer:
    optimizer = named(name)
    if not 0 <= order <= optimizer.highest_order:
        raise InvalidInput(
            f"order = {order} is not available for {name}: give a whole number from 0, the plain flow, to "
            f"{optimizer.highest_order}."
        )
    return optimizer


def _with_train_size(constants: Constants, optimizer: Optimizer, loss: Loss) -> Constants:
    """Several formulas are the training set, so their number is its size."""
    count = len(loss.samples)
    if count == 1 or "train_size" not in optimizer.settings:
        return constants
    if constants.train_size.is_number and constants.train_size != count:
        raise InvalidInput(
            f"train_size = {constants.train_size} was given with {count} losses, one for each example: "
            f"leave it out."
        )
    known = replace(constants, train_size=sp.Integer(count))
    check(known)
    return known


def _point(loss: Loss, at: Mapping[str, sp.Expr] | None) -> dict[sp.Symbol, sp.Expr]:
    if not at:
        return {}
    names = {str(variable): variable for variable in loss.variables}
    missing, unknown = sorted(set(names) - set(at)), sorted(set(at) - set(names))
    if missing:
        raise InvalidInput(f"the point has no value for {', '.join(missing)}: give one for each variable.")
    if unknown:
        raise InvalidInput(
            f"the point has a value for {', '.join(unknown)}, which is no variable of the loss: it has "
            f"{', '.join(names)}."
        )
    point = {names[name]: sp.sympify(value) for name, value in at.items()}
    for value in point.values():
        number(value, {})  # refuses what a double cannot hold
    return point
