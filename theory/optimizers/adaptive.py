r"""What RMSProp, Adam and its two decays share: a step divided by the root of averaged squares.

The executable update has :math:`\varepsilon` inside the root, :math:`m/\sqrt{v+\varepsilon}`, as the
derivation needs it; torch divides by :math:`\sqrt v + \varepsilon`. The two agree where
:math:`v \gg \varepsilon`, and torch's constant :math:`10^{-8}` corresponds to :math:`10^{-16}` here.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import sympy as sp

from ..backward_error.derivative import derivative
from ..backward_error.field import ModifiedField, number
from ..backward_error.lag import NOW, moments
from ..backward_error.matching import Memory, match
from ..backward_error.vanishing import Point
from .constants import EPS, Constants
from .experiment import Experiment, follow, random_loss
from .formula import Formula, latex, positive_base
from .loss import Loss, decayed, gradient
from .optimizer import Objective, Optimizer
from .validity import Validity

# The lag weights of numerator and denominator.
Weights = Callable[[Constants], tuple[sp.Expr, sp.Expr]]

# A component of the second correction already has thousands of terms for a loss of two variables.
HIGHEST_ORDER = 3


def optimizer(weights: Weights, **stated: Any) -> Optimizer:
    """An adaptive optimizer from its lag weights and what else is stated about it."""

    def experiment(seed: int) -> Experiment:
        loss, start = random_loss(seed)
        third, half = sp.Rational(3, 10), sp.Rational(1, 2)
        decay = {"weight_decay": third, "decay_law": stated["decay_laws"][0]} if stated["decay_laws"] else {}
        memory = {"beta1": half} if "beta1" in stated["settings"] else {}
        c = Constants(beta2=sp.Rational(6, 10), eps=sp.Rational(1, 4), **memory, **decay)
        return follow(field, step, c, loss, start, 2)

    def field(loss: Loss, c: Constants, order: int) -> ModifiedField:
        return modified_field(loss, c, order, *weights(c))

    return Optimizer(
        field=field,
        objective=no_objective,
        formula=lambda c, order: formula(c, order, *weights(c)),
        step=step,
        validity=lambda loss, c, point: validity(loss, c, point, *weights(c)),
        experiment=experiment,
        highest_order=HIGHEST_ORDER,
        has_objective=False,
        **stated,
    )


def no_objective(
    loss: Loss, c: Constants, field: ModifiedField, point: Point | None = None
) -> Objective | None:
    """The field is a gradient times a matrix that depends on the point: it descends no single function."""
    return None


def modified_field(loss: Loss, c: Constants, order: int, first: sp.Expr, second: sp.Expr) -> ModifiedField:
    """The field of an adaptive method whose numerator and denominator have the given lag weights."""
    slopes = gradient(decayed(loss.mean, loss.variables, c.coupled_rate), loss.variables)
    rate = c.decoupled_rate
    d = len(slopes)

    def update(*remembered: sp.Symbol) -> list[sp.Expr]:
        m, v, theta = remembered[:d], remembered[d : 2 * d], remembered[2 * d :]
        return [-m[j] / sp.sqrt(v[j] + c.eps) - (rate * theta[j] if theta else 0) for j in range(d)]

    memories = [Memory(first, g) for g in slopes] + [Memory(second, g**2) for g in slopes]
    memories += [Memory(NOW, x) for x in loss.variables] if rate != 0 else []
    return ModifiedField(loss.variables, match(update, memories, loss.variables, order))


def formula(c: Constants, order: int, first: sp.Expr, second: sp.Expr) -> Formula:
    """One component of the field for any loss, through first order."""
    g, P, theta = sp.symbols("g_j P_j theta_j", real=True)
    rate = c.decoupled_rate

    def update(m: sp.Symbol, v: sp.Symbol, x: sp.Symbol) -> list[sp.Expr]:
        return [-m / sp.sqrt(v + EPS) - rate * x]

    # With eps as a symbol even where it is a number, so that its share in the bracket can be told.
    memories = [Memory(first, g), Memory(second, g**2), Memory(NOW, theta)]
    (plain,), *corrections = match(update, memories, [theta], min(order, 1), motion={g: -P})
    plain = plain.subs(EPS, c.eps)
    text, tex = [str(plain)], [latex(plain)]
    for (correction,) in corrections:
        decay = -sp.collect(sp.expand(correction.subs(P, 0)), rate).subs(EPS, c.eps)
        A, B = _bracket(correction - correction.subs(P, 0), g, P, c)
        square = g**2 + c.eps
        share = f" + {_factor(B)}*{c.eps}/({square})" if c.eps != 0 else ""
        text.append(f"-lr*P_j/(2*{sp.sqrt(square)})*({A}{share})")
        share = rf" + {latex(B)}\,\frac{{{latex(c.eps)}}}{{{latex(square)}}}" if c.eps != 0 else ""
        tex.append(rf"-\frac{{\eta P_j}}{{2{latex(sp.sqrt(square))}}}\left({latex(A)}{share}\right)")
        if decay != 0:
            text.append(f"-lr*({decay})")
            tex.append(rf"-\eta\left({latex(decay)}\right)")
    moving = f" + {rate} H theta" if rate != 0 else ""
    notation = [
        "one component j of the field; g = grad L, H its Hessian",
        f"P = grad ||grad L||_{{1,eps}}{moving}, where ||p||_{{1,eps}} = sum_i sqrt(p_i^2 + eps)",
    ]
    if c.coupled_rate != 0:
        notation.append(f"L stands for L + ({c.coupled_rate}/2) |theta|^2, the loss with its L2 term")
    if order > 1:
        notation.append("give --loss for the terms beyond lr: they need more than g, H and P")
    return Formula(tuple(text), tuple(tex), None, None, tuple(notation))


def _bracket(weighted: sp.Expr, g: sp.Symbol, P: sp.Symbol, c: Constants) -> tuple[sp.Expr, sp.Expr]:
    r"""A and B in :math:`-P\,(A + B\varepsilon/(g^2+\varepsilon))/(2\sqrt{g^2+\varepsilon})`."""
    share = sp.Symbol("share", positive=True)
    bracket = sp.simplify(-2 * sp.sqrt(g**2 + EPS) * weighted / P)
    line = sp.Poly(sp.cancel(bracket.subs(g**2, EPS * (1 / share - 1))), share)
    A, B = line.coeff_monomial(1), sp.factor(line.coeff_monomial(share))
    return positive_base(sp.apart(A, c.beta1) if A.has(c.beta1) and c.beta1.is_Symbol else A), positive_base(
        B
    )


def _factor(expression: sp.Expr) -> str:
    return str(expression) if expression.is_Atom else f"({expression})"


def step(theta: np.ndarray, slope: Any, state: Any, c: Any) -> tuple[np.ndarray, Any]:
    """One update with bias correction, the square root over the sum with eps."""
    m, v, k = state or (np.zeros_like(theta), np.zeros_like(theta), 0)
    beta1, beta2 = getattr(c, "beta1", 0.0), c.beta2  # RMSProp has no beta1
    g = slope(theta) + c.coupled_rate * theta
    m, v, k = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g**2, k + 1
    m_hat, v_hat = m / (1 - beta1**k), v / (1 - beta2**k)
    return (1 - c.lr * c.decoupled_rate) * theta - c.lr * m_hat / np.sqrt(v_hat + c.eps), (m, v, k)


def validity(
    loss: Loss, c: Constants, point: dict[sp.Symbol, sp.Expr], first: sp.Expr, second: sp.Expr
) -> Validity:
    """How much the scale of the gradient changes within the memory, component by component."""
    parameter = "lr*(mean lag + 1/2)*max_j |P_j|/sqrt(g_j**2 + eps)"
    lags = [moments(weights, 2)[1] for weights in (first, second)]
    if not all(value.is_number for value in (c.lr, c.eps, *lags)) or not point:
        return Validity(parameter, limit=1.0)
    slopes = gradient(decayed(loss.mean, loss.variables, c.coupled_rate), loss.variables)
    norm = sp.Add(*(sp.sqrt(g**2 + c.eps) for g in slopes))
    changes = [
        abs(number(derivative(norm, x), point)) / math.sqrt(number(g**2 + c.eps, point))
        for g, x in zip(slopes, loss.variables, strict=True)
    ]
    value = float(c.lr * (max(lags) + sp.Rational(1, 2))) * max(changes)
    beyond = (
        "the gradient changes by its own size within the optimizer's memory and the series cannot be trusted"
    )
    return Validity(parameter, limit=1.0, value=value, beyond=beyond)
