r"""What normalized descent, sign descent, Lion and Muon share: a step of fixed size under some norm.

The update is :math:`-\eta\,\mathrm{LMO}(M)`, where M averages past gradients and
:math:`\mathrm{LMO}(p)` is the direction of length 1 that is steepest for the gradient p. With the mean
lag :math:`M_1` of the averaging the field descends, to first order,

.. math:: \tilde L = L + \eta\left(\tfrac12 + M_1\right)
          \left(\|\nabla L\|_* + \lambda\langle\theta,\nabla L\rangle\right), \qquad
          \dot\theta = -\left(1 + \tfrac{\eta\lambda}{2}\right)
          \left(\mathrm{LMO}(\nabla\tilde L) + \lambda\theta\right),

where :math:`\|\cdot\|_*` is the dual norm, the one whose gradient LMO is, and :math:`\lambda` a decoupled
decay. The penalty is on the norm itself and not on its square.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import sympy as sp

from ..backward_error.field import ModifiedField, number
from ..backward_error.lag import NOW, average, moments
from ..backward_error.matching import Memory, match
from ..backward_error.vanishing import Point
from .constants import Constants
from .experiment import Experiment, follow, random_loss
from .formula import Formula, latex, positive_base
from .loss import Loss, decayed, gradient
from .optimizer import Objective, Optimizer
from .validity import Validity


class Norm(NamedTuple):
    """A norm for steps: its steepest direction and its dual, as functions of (gradient, variables)."""

    direction: Callable[[Sequence[sp.Expr], Sequence[sp.Symbol]], list[sp.Expr]]
    dual: Callable[[Sequence[sp.Expr], Sequence[sp.Symbol]], sp.Expr]
    direction_name: str
    meaning: str
    dual_name: str
    dual_latex: str


def momentum(c: Constants) -> sp.Expr:
    r"""An exponential average of gradients with constant :math:`\beta`."""
    return average(c.beta)


def optimizer(
    norm: Norm,
    step: Callable[..., tuple[np.ndarray, Any]],
    weights: Callable[[Constants], sp.Expr] = momentum,
    dimension: int = 2,
    highest_order: int = 3,
    **stated: Any,
) -> Optimizer:
    """A steepest-descent optimizer from its norm, its averaging and what else is stated about it."""

    def field(loss: Loss, c: Constants, order: int) -> ModifiedField:
        return modified_field(loss, c, order, norm, weights(c))

    def objective(
        loss: Loss, c: Constants, known: ModifiedField, point: Point | None = None
    ) -> Objective | None:
        if known.order > 1:
            return None
        L = decayed(loss.mean, loss.variables, c.coupled_rate)
        slopes, rate = gradient(L, loss.variables), c.decoupled_rate
        along = sp.Add(*(x * g for x, g in zip(loss.variables, slopes, strict=True)))
        penalty = c.lr * mean_lag(weights(c)) * (norm.dual(slopes, loss.variables) + rate * along)
        return Objective(L + penalty * known.order, _sense(norm.direction_name, known.order, rate))

    def experiment(seed: int) -> Experiment:
        loss, start = random_loss(seed, dimension)
        memory = dict(zip(stated["settings"], (sp.Rational(1, 2), sp.Rational(3, 5)), strict=False))
        c = Constants(weight_decay=sp.Rational(3, 10), decay_law="decoupled", **memory)
        return follow(field, step, c, loss, start, min(highest_order, 2))

    return Optimizer(
        field=field,
        objective=objective,
        formula=lambda c, order: formula(c, order, norm, weights(c)),
        step=step,
        validity=lambda loss, c, point: validity(loss, c, point, norm, weights(c)),
        experiment=experiment,
        highest_order=highest_order,
        decay_laws=("decoupled", "independent", "coupled"),
        **stated,
    )


def modified_field(loss: Loss, c: Constants, order: int, norm: Norm, weights: sp.Expr) -> ModifiedField:
    """The field of a steepest-descent method, from its update."""
    slopes = gradient(decayed(loss.mean, loss.variables, c.coupled_rate), loss.variables)
    rate, d = c.decoupled_rate, len(slopes)

    def update(*remembered: sp.Symbol) -> list[sp.Expr]:
        direction = norm.direction(remembered[:d], loss.variables)
        theta = remembered[d:] or [sp.Integer(0)] * d
        return [-u - rate * x for u, x in zip(direction, theta, strict=True)]

    memories = [Memory(weights, g) for g in slopes]
    memories += [Memory(NOW, x) for x in loss.variables] if rate != 0 else []
    return ModifiedField(loss.variables, match(update, memories, loss.variables, order))


def mean_lag(weights: sp.Expr) -> sp.Expr:
    """Half an update for the step itself, plus the mean age of the averaged gradients."""
    total, first = moments(weights, 2)
    return positive_base(sp.factor(sp.Rational(1, 2) + first / total))


def formula(c: Constants, order: int, norm: Norm, weights: sp.Expr) -> Formula:
    """The modified objective for any loss, and the field in terms of it."""
    rate, factor = c.decoupled_rate, mean_lag(weights)
    text = f"L + lr*{factor}*{norm.dual_name}"
    tex = rf"L + \eta\,{latex(factor)}\,{norm.dual_latex}"
    if rate != 0:
        text = f"L + lr*{factor}*({norm.dual_name} + {rate}*<theta, grad L>)"
        both = rf"{norm.dual_latex} + {latex(rate)}\langle\theta,\nabla L\rangle"
        tex = rf"L + \eta\,{latex(factor)}\left({both}\right)"
    lmo, lmo_tex = norm.direction_name, rf"\operatorname{{{norm.direction_name}}}"
    inner, inner_tex = ("L", "L") if order == 0 else ("L~", r"\tilde L")
    speed = f"(1 + lr*{rate}/2)*" if rate != 0 and order else ""
    speed_tex = rf"\left(1 + \eta\,{latex(rate)}/2\right)" if speed else ""
    body = f"{lmo}(grad {inner})" + (f" + {rate}*theta" if rate != 0 else "")
    body_tex = rf"{lmo_tex}(\nabla {inner_tex})" + (rf" + {latex(rate)}\theta" if rate != 0 else "")
    notation = [norm.meaning, "L~ is the objective; both are right through first order in lr"]
    if c.coupled_rate != 0:
        notation.append(f"L stands for L + ({c.coupled_rate}/2) |theta|^2, the loss with its L2 term")
    if order > 1:
        notation.append("give --loss for the terms beyond lr")
    return Formula(
        (f"-{speed}({body})" if speed or rate != 0 else f"-{body}",),
        (rf"-{speed_tex}\left({body_tex}\right)" if rate != 0 else f"-{body_tex}",),
        text if order else "L",
        tex if order else "L",
        tuple(notation),
    )


def _sense(direction: str, order: int, rate: sp.Expr) -> str:
    direction = f"{direction}(grad(objective))"
    if rate == 0:
        return f"-{direction}"
    return f"-{f'(1 + lr*{rate}/2)*' if order else ''}({direction} + {rate}*theta)"


def validity(
    loss: Loss, c: Constants, point: dict[sp.Symbol, sp.Expr], norm: Norm, weights: sp.Expr
) -> Validity:
    """How much of the gradient's dual norm the first correction is."""
    parameter = "lr*(mean lag + 1/2)*|grad ||grad L||_dual| / |grad L|"
    lag = mean_lag(weights)
    if not (c.lr.is_number and lag.is_number and point):
        return Validity(parameter, limit=1.0)
    slopes = gradient(decayed(loss.mean, loss.variables, c.coupled_rate), loss.variables)
    turning = gradient(norm.dual(slopes, loss.variables), loss.variables)
    change = np.linalg.norm([number(component, point) for component in turning])
    size = np.linalg.norm([number(component, point) for component in slopes])
    beyond = (
        "the gradient changes by its own size within the optimizer's memory and the series cannot be trusted"
    )
    return Validity(parameter, limit=1.0, value=float(c.lr * lag * change / size), beyond=beyond)


def averaged(
    theta: np.ndarray, slope: Any, buffer: np.ndarray | None, c: Any
) -> tuple[np.ndarray, np.ndarray]:
    """The gradient with its coupled decay, and the average of gradients with constant beta."""
    g = slope(theta) + c.coupled_rate * theta
    buffer = np.zeros_like(theta) if buffer is None else buffer
    return g, c.beta * buffer + (1 - c.beta) * g


def moved(theta: np.ndarray, direction: np.ndarray, c: Any) -> np.ndarray:
    """A step of fixed size with decoupled decay."""
    return (1 - c.lr * c.decoupled_rate) * theta - c.lr * direction
