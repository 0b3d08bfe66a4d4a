"""Points that cannot be used, and what to know before a derivation is used."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import sympy as sp

from ..backward_error.field import ModifiedField, number
from ..backward_error.parts import has_unknown, parts, symbols_of
from ..backward_error.text import brief, short
from ..errors import InvalidInput
from .loss import Loss

if TYPE_CHECKING:
    from .derivation import Derivation


def refuse_kinks(loss: Loss, field: ModifiedField, point: dict[sp.Symbol, sp.Expr]) -> None:
    """Refuse a point where the loss or the direction has no derivative."""
    formulas = (*loss.samples, *(component for term in field.terms for component in term)) if point else ()
    kinks = [part for part in parts(*formulas) if isinstance(part, (sp.Abs, sp.sign))]
    for inside in sorted({kink.args[0] for kink in kinks}, key=str):
        if not set(symbols_of(inside)) - set(point) and number(inside, point) == 0:
            here = ", ".join(f"{symbol} = {brief(value)}" for symbol, value in point.items())
            raise InvalidInput(
                f"{short(inside)} is zero at {here}, where its absolute value or sign has a kink: choose a "
                f"point where the loss and the update are smooth."
            )
    for formula in formulas:
        if not set(symbols_of(formula)) - set(point) and not has_unknown(formula):
            number(formula, point)


def warnings(result: "Derivation") -> Iterator[str]:
    """What to know before the result is used, a sentence each."""
    c = result.constants
    if result.validity.warning:
        yield result.validity.warning
    if c.lr.is_number and c.weight_decay.is_number and c.lr * c.decay_rate >= 1:
        yield (
            f"lr times the decay rate is {float(c.lr * c.decay_rate):g}: decay alone removes a weight in one "
            f"update, which no flow does."
        )
    yield from result.loss.notes
    loose = [str(s) for s in symbols_of(*result.total) if s not in result.loss.variables]
    if has_unknown(*result.total):
        yield (
            "Gamma, the trace of the covariance of the examples' gradients, is unknown from one loss: "
            "repeat --loss once for each training example."
        )
    if result.diffusion is not None and has_unknown(*result.diffusion):
        yield (
            "Sigma11 and the like are the entries of the covariance of the examples' gradients, unknown from "
            "one loss: repeat --loss once for each training example."
        )
    if result.point and loose:
        yield f"the field at the point needs a value for {', '.join(loose)}."
    open_ = [constant for constant in _without_value(result) if constant not in loose]
    if result.point and result.validity.value is None and open_:
        yield f"the validity at the point needs a value for {', '.join(open_)}."
    if result.objective is None:
        yield _why_no_objective(result)
    elif _lacks_height(result):
        yield "the integral in the objective could not be computed to 15 digits at the point."


def _lacks_height(result: "Derivation") -> bool:
    """Whether the objective has no number although the field has."""
    goal = result.objective
    if goal is None or result.field_at is None or not goal.expression.has(sp.Integral):
        return False
    return result.evaluate(goal.expression) is None


def _without_value(result: "Derivation") -> list[str]:
    """The constants of the optimizer that are still symbols."""
    settings = [name for name in result.optimizer.settings if name not in ("batch_size", "train_size")]
    return [name for name in ("lr", *settings) if not getattr(result.constants, name).is_number]


def _why_no_objective(result: "Derivation") -> str:
    if result.optimizer.weights is None:
        if result.optimizer.has_objective:
            return "the modified objective is known through first order: lower --order to see it."
        alone = len(result.loss.variables) == 1
        only = "; in one variable any field descends its integral" if alone else ""
        return (
            f"{result.optimizer.name} divides by a scale that depends on the point: there is a field but no "
            f"modified objective that comes from the loss{only}."
        )
    lost = [f"lr^{n}" for n, flat in enumerate(result.is_gradient) if flat is False]
    undecided = [f"lr^{n}" for n, flat in enumerate(result.is_gradient) if flat is None]
    if lost:
        return (
            f"the terms of order {', '.join(lost)} are no gradient: there is a field but no modified "
            f"objective."
        )
    if undecided:
        return (
            f"it could not be decided whether the terms of order {', '.join(undecided)} are a gradient, for "
            f"no point that was tried lies in the domain of the loss: give one with --at."
        )
    return "the field is a gradient, but no closed form of the objective was found."
