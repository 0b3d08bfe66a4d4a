"""Points that cannot be used, and what to know before a derivation is used."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import sympy as sp
from sympy.core.function import AppliedUndef

from ..backward_error.field import ModifiedField, number, short
from ..errors import InvalidInput
from .loss import Loss

if TYPE_CHECKING:
    from .derivation import Derivation


def refuse_kinks(loss: Loss, field: ModifiedField, point: dict[sp.Symbol, sp.Expr]) -> None:
    """Refuse a point where the loss or the direction has no derivative."""
    here = ", ".join(f"{symbol} = {value}" for symbol, value in point.items())
    formulas = (*loss.samples, *(component for term in field.terms for component in term)) if point else ()
    kinked = sp.Tuple(*formulas).atoms(sp.Abs, sp.sign)
    for inside in sorted((kink.args[0] for kink in kinked), key=str):
        if not inside.free_symbols - set(point) and inside.subs(point).equals(0):
            raise InvalidInput(
                f"{short(inside)} is zero at {here}, where its absolute value or sign has a kink: choose a "
                f"point where the loss and the update are smooth."
            )
    for formula in formulas:
        if not formula.free_symbols - set(point) and not formula.has(AppliedUndef):
            number(formula, point)


def warnings(result: "Derivation") -> Iterator[str]:
    """What to know before the result is used, a sentence each."""
    c, name = result.constants, result.optimizer.name
    if result.validity.warning:
        yield result.validity.warning
    if c.lr.is_number and c.weight_decay.is_number and c.lr * c.decay_rate >= 1:
        yield (
            f"lr times the decay rate is {float(c.lr * c.decay_rate):g}: decay alone removes a weight in one "
            f"update, which no flow does."
        )
    total = sp.Tuple(*result.total)
    loose = sorted(str(symbol) for symbol in total.free_symbols - set(result.loss.variables))
    unknown = total.has(AppliedUndef)
    if unknown:
        yield (
            "Gamma, the trace of the covariance of the examples' gradients, is unknown from one loss: "
            "repeat --loss once for each training example."
        )
    if result.point and loose:
        yield f"the field at the point needs a value for {', '.join(loose)}."
    if result.objective is None and result.optimizer.weights is not None:
        lost = [n for n, flat in enumerate(result.is_gradient) if not flat]
        yield (
            f"the terms of order {', '.join(f'lr^{n}' for n in lost)} are no gradient: there is a field but "
            f"no modified objective."
            if lost
            else "the field is a gradient, but no closed form of the objective was found."
        )
    elif result.objective is None:
        yield (
            f"{name} divides by a scale that depends on the point: there is a field but no modified "
            f"objective that comes from the loss."
            if not result.optimizer.has_objective
            else "the modified objective is known through first order: lower --order to see it."
        )
