r"""What gradient descent, heavy ball and Nesterov share: a step that is a weighted sum of past gradients.

The modified field is a series over rooted trees with exact coefficients to any order. Its first
correction is the gradient of :math:`|\nabla L|^2`; from the second on there is an objective only for
special losses, such as quadratics and losses of one variable.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import sympy as sp

from ..backward_error import shuffling
from ..backward_error.coefficients import coefficients
from ..backward_error.derivative import derivative
from ..backward_error.differentials import ElementaryDifferentials
from ..backward_error.field import ModifiedField, number
from ..backward_error.lag import NOW, Z, memoryless
from ..backward_error.matching import Memory, match
from ..backward_error.objective import potential
from ..backward_error.quadratic import largest_product
from ..backward_error.trees import Tree, bushy, rooted_trees
from ..backward_error.vanishing import Point
from ..errors import InvalidInput
from .constants import BATCH_SIZE, TRAIN_SIZE, Constants
from .experiment import Experiment, follow, random_loss
from .formula import Formula, latex, positive_base, series_lines
from .loss import Loss, decayed, gradient, squared
from .optimizer import Objective, Optimizer
from .validity import Validity

# The arithmetic in rational functions of beta takes seconds at this order and minutes two later.
HIGHEST_SYMBOLIC_ORDER = 5

# What is the same for heavy ball and Nesterov.
ASSUMPTIONS = (
    "full batch, or shuffled minibatches where a batch size is given",
    "the buffer has filled: more than a few times 1/(1 - beta) updates have been made",
)
CLOCKS = (
    "T_SGD with the effective rate lr/(1 - beta), under minibatches",
    "T_L2 with the effective rate if the decay is coupled, with lr itself if it is decoupled",
)
TWIN = r"\dot\theta = -(g + \lambda\theta)/(1-\beta)"

Weights = Callable[[Constants], sp.Expr]


def optimizer(
    weights: Weights,
    step: Callable[..., tuple[np.ndarray, Any]],
    shuffled: Callable[[Constants], bool] = lambda c: c.has_minibatches,
    experiment: Callable[[int], Experiment] | None = None,
    **stated: Any,
) -> Optimizer:
    """An optimizer with linear memory from its lag weights and what else is stated about it."""

    def noise(c: Constants) -> sp.Expr:
        return minibatch_penalty(c, weights(c)) if shuffled(c) else sp.Integer(0)

    def field(loss: Loss, c: Constants, order: int) -> ModifiedField:
        return modified_field(loss, c, order, weights(c), noise(c))

    def beside_flow(seed: int) -> Experiment:
        loss, start = random_loss(seed)
        c = Constants(**({"beta": sp.Rational(1, 2)} if "beta" in stated["settings"] else {}))
        return follow(field, step, c, loss, start, 3)

    return Optimizer(
        field=field,
        objective=lambda loss, c, known, point=None: objective(loss, c, known, weights(c), noise(c), point),
        formula=lambda c, order: formula(c, order, weights(c), noise(c)),
        step=step,
        validity=lambda loss, c, point: validity(loss, c, point, weights(c)),
        experiment=experiment or beside_flow,
        weights=lambda c: None if shuffled(c) else weights(c),
        decay_laws=("coupled", "decoupled", "independent"),
        **stated,
    )


def modified_field(loss: Loss, c: Constants, order: int, weights: sp.Expr, noise: sp.Expr) -> ModifiedField:
    """The field, over trees; where a decay acts beside the memory, by matching."""
    rate = sp.Integer(0) if memoryless(weights) else c.decoupled_rate
    slopes = gradient(_training_loss(loss, c, weights), loss.variables)
    if rate != 0:
        d = len(slopes)
        memories = [Memory(weights, g) for g in slopes] + [Memory(NOW, x) for x in loss.variables]

        def update(*remembered: sp.Symbol) -> list[sp.Expr]:
            return [-g - rate * x for g, x in zip(remembered[:d], remembered[d:], strict=True)]

        terms = list(match(update, memories, loss.variables, order))
    else:
        exact = _coefficients(weights, order)
        evaluate = ElementaryDifferentials([-g for g in slopes], loss.variables)
        terms = [
            evaluate.combine({tree: exact[tree] for tree in rooted_trees(n + 1)}) for n in range(order + 1)
        ]
    if noise != 0 and order:
        pushed = gradient(loss.noise, loss.variables)
        terms[1] = tuple(term - noise * part for term, part in zip(terms[1], pushed, strict=True))
    return ModifiedField(loss.variables, tuple(terms))


def _coefficients(weights: sp.Expr, order: int) -> dict[Tree, sp.Expr]:
    if weights.free_symbols - {Z} and order > HIGHEST_SYMBOLIC_ORDER:
        raise InvalidInput(
            f"order = {order} takes minutes with beta as a symbol: give --beta, or an order of at most "
            f"{HIGHEST_SYMBOLIC_ORDER}."
        )
    return coefficients(weights, order + 1)


def _training_loss(loss: Loss, c: Constants, weights: sp.Expr) -> sp.Expr:
    """The loss with its L2 term; without memory decoupled decay is the same thing."""
    return decayed(loss.mean, loss.variables, c.decay_rate if memoryless(weights) else c.coupled_rate)


def minibatch_penalty(c: Constants, weights: sp.Expr) -> sp.Expr:
    """The factor of the gradient of Gamma in the field, with momentum for numbers only."""
    numbers = all(v.is_number for v in (c.batch_size, c.train_size)) and not weights.free_symbols - {Z}
    if not memoryless(weights) and not numbers:
        raise InvalidInput(
            "with momentum the minibatch term depends on how long the buffer is against the epoch: "
            "give numbers for --beta, --batch-size and --train-size together."
        )
    if c.train_size.is_number and (
        c.train_size < 2 or (c.batch_size.is_number and c.train_size % c.batch_size)
    ):
        raise InvalidInput(
            f"batch_size = {c.batch_size} and train_size = {c.train_size} do not make whole epochs of "
            f"shuffled batches: give a batch size that divides a training set of at least 2."
        )
    return shuffling.penalty(weights, c.batch_size, c.train_size)


def objective(
    loss: Loss,
    c: Constants,
    known: ModifiedField,
    weights: sp.Expr,
    noise: sp.Expr,
    near: Point | None = None,
) -> Objective | None:
    """The function that the field descends, through the order of the field, if there is one."""
    L, speed = _training_loss(loss, c, weights), sp.cancel(weights.subs(Z, 1))
    slopes = squared(gradient(L, loss.variables))
    # A decay beside the memory is not sped up with the gradient.
    beside = sp.Integer(0) if memoryless(weights) else c.decoupled_rate
    scaled = decayed(L, loss.variables, beside / speed)
    for n in range(1, known.order + 1):
        guess = [half_penalty(weights) * slopes + noise / speed * loss.noise] if n == 1 else []
        V = potential([part / speed for part in known.terms[n]], loss.variables, guess, near)
        if V is None:
            return None
        scaled += c.lr**n * V
    return Objective(scaled, f"-{_scale(speed)}grad(objective)")


def _scale(speed: sp.Expr) -> str:
    scale = positive_base(sp.factor(speed))
    return "" if scale == 1 else f"{scale}*" if scale.is_Rational or scale.is_Pow else f"({scale})*"


def half_penalty(weights: sp.Expr) -> sp.Expr:
    r"""The factor of :math:`\eta|\nabla L|^2` in the objective: a quarter for gradient descent."""
    exact = coefficients(weights, 2)
    return positive_base(sp.factor(-exact[bushy(1)] / (2 * exact[()])))


def formula(c: Constants, order: int, weights: sp.Expr, noise: sp.Expr) -> Formula:
    """The field in tensors for any loss, and the objective through first order."""
    rate = sp.Integer(0) if memoryless(weights) else c.decoupled_rate
    if rate != 0:
        raise InvalidInput(
            "decoupled decay beside momentum has no general formula: give --loss, or --decay-law coupled."
        )
    text, tex = series_lines(_coefficients(weights, order))
    notation = ["g = grad L, H its Hessian, L''' its third derivative and so on"]
    decay = c.decay_rate if memoryless(weights) else c.coupled_rate
    if noise != 0 and order:
        text.insert(2, f"-lr*{_short(noise)}*grad Gamma")
        tex.insert(2, rf"-\eta\,{latex(_short(noise))}\nabla\Gamma")
        notation.append("Gamma = mean_i |grad l_i - grad L|^2 over the N training examples, b the batch size")
    goal = goal_tex = None
    if order <= 1:
        goal, goal_tex = _objective_text(order, weights, decay, noise)
        notation.append(f"field = -{_scale(sp.cancel(weights.subs(Z, 1)))}grad(objective)")
    else:
        notation.append(
            "from lr^2 on the field is a gradient only for special losses: give --loss to test one"
        )
    if decay != 0:
        notation.append(f"in the field L stands for L + ({decay}/2) |theta|^2")
    return Formula(tuple(text), tuple(tex), goal, goal_tex, tuple(notation))


def _objective_text(order: int, weights: sp.Expr, decay: sp.Expr, noise: sp.Expr) -> tuple[str, str]:
    goal, goal_tex = "L", "L"
    if decay != 0:
        goal += f" + ({decay}/2)*|theta|^2"
        goal_tex += rf" + \frac{{{latex(decay)}}}{{2}}|\theta|^2"
    if order == 0:
        return goal, goal_tex
    factor = half_penalty(weights)
    inside, inside_tex = "|grad L|^2", r"|\nabla L|^2"
    if decay != 0:
        inside = f"(|grad L|^2 + 2*{decay}*<theta, grad L> + {decay}^2*|theta|^2)"
        inside_tex = (
            rf"|\nabla L|^2 + 2{latex(decay)}\langle\theta,\nabla L\rangle + {latex(decay**2)}|\theta|^2"
        )
        inside_tex = rf"\left({inside_tex}\right)"
    goal += f" + lr*{factor}*{inside}"
    goal_tex += rf" + \eta\,{latex(factor)}\,{inside_tex}"
    if noise != 0:
        of_speed = _short(noise / sp.cancel(weights.subs(Z, 1)))
        goal += f" + lr*{of_speed}*Gamma"
        goal_tex += rf" + \eta\,{latex(of_speed)}\,\Gamma"
    return goal, goal_tex


def _short(factor: sp.Expr) -> sp.Expr:
    """Six digits of a number; b and N for the sizes."""
    if factor.is_Rational and factor.q > 10**6:
        return sp.Float(factor, 6)
    return factor.subs({BATCH_SIZE: sp.Symbol("b"), TRAIN_SIZE: sp.Symbol("N")})


def validity(loss: Loss, c: Constants, point: dict[sp.Symbol, sp.Expr], weights: sp.Expr) -> Validity:
    """The largest curvature in units of the learning rate, against where the slow root is lost."""
    parameter = "lr*lambda_max(H)" if memoryless(weights) else "lr*lambda_max(H)/(1 - beta)^2"
    scale = 1 if memoryless(weights) else (1 - c.beta) ** 2
    if weights.free_symbols - {Z}:
        return Validity(parameter)
    limit = largest_product(weights) / float(scale)
    if not c.lr.is_number or not point:
        return Validity(parameter, limit)
    L = _training_loss(loss, c, weights)
    slopes = gradient(L, loss.variables)
    hessian = [[number(derivative(slope, x), point) for x in loss.variables] for slope in slopes]
    value = float(c.lr) * float(np.linalg.eigvalsh(np.array(hessian))[-1]) / float(scale)
    lost = (
        "the iterates change sign along the steepest direction, which no flow does"
        if memoryless(weights)
        else "the characteristic roots are complex, the iterates oscillate and no real flow carries them"
    )
    return Validity(parameter, limit, value, lost)
