"""Proof by experiment: updates beside the flow that is claimed for them, at a ladder of learning rates."""

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import sympy as sp

from ..backward_error.field import ModifiedField
from .constants import Constants
from .loss import Loss, gradient

# Learning rates fall by a factor of two, so the order of the error is a binary logarithm.
UPDATES = (100, 200, 400)
TIME = 0.4

# Distances below this are rounding.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Experiment:
    r"""Distances between updates and flow.

    Attributes
    ----------
    setup : str
        What was compared, in one sentence.
    lrs : tuple of float
        Learning rates, each half of the one before.
    errors : tuple of tuple of float
        A row for each order n that is kept: the distance at each learning rate. It should fall as
        :math:`\eta^{n+1}`.

    Examples
    --------
    >>> Experiment("", (0.2, 0.1), ((0.4, 0.2), (0.04, 0.01))).observed
    (1.0, 2.0)
    """

    setup: str
    lrs: tuple[float, ...]
    errors: tuple[tuple[float, ...], ...]

    @property
    def observed(self) -> tuple[float, ...]:
        """The order of the error between the two smallest rates; infinite where it is rounding."""
        return tuple(math.inf if max(row) < ROUNDING else math.log2(row[-2] / row[-1]) for row in self.errors)


def follow(
    field: Callable[[Loss, Constants, int], ModifiedField],
    step: Callable[..., tuple[np.ndarray, Any]],
    constants: Constants,
    loss: Loss,
    start: Sequence[float] | np.ndarray,
    order: int,
) -> Experiment:
    r"""Let an optimizer run and follow its modified flow of every order up to `order`.

    The updates begin upstream of `start` and run until their memory has forgotten how they began, for
    the flow describes what comes after. From there both run for the same time, at every learning rate.

    Parameters
    ----------
    field, step : callable
        As in :class:`initmem.theory.optimizers.optimizer.Optimizer`.
    constants : Constants
        Without a learning rate, which the ladder sets.
    loss : Loss
    start : array_like of length d
    order : int

    Returns
    -------
    Experiment
    """
    claimed = field(loss, constants, order)
    slope = sp.lambdify(loss.variables, gradient(loss.mean, loss.variables), modules="numpy", cse=True)

    def gradient_at(theta: np.ndarray) -> np.ndarray:
        return np.array(slope(*theta), dtype=float)

    numbers = constants.floats()
    memory = max((getattr(numbers, name, 0.0) for name in ("beta", "beta1", "beta2")), default=0.0)
    burn_in = math.ceil(math.log(1e-17) / math.log(memory)) if memory else 0
    errors = []
    for updates in UPDATES:
        numbers.lr = TIME / updates
        theta, state = claimed.flow(np.array(start), numbers.lr, -burn_in, 0), None
        for _ in range(burn_in):
            theta, state = step(theta, gradient_at, state, numbers)
        begin = theta
        for _ in range(updates):
            theta, state = step(theta, gradient_at, state, numbers)
        errors.append(
            [np.linalg.norm(claimed.flow(begin, numbers.lr, updates, n) - theta) for n in range(order + 1)]
        )
    lrs = tuple(TIME / updates for updates in UPDATES)
    return Experiment(
        _setup(loss, constants), lrs, tuple(tuple(map(float, row)) for row in zip(*errors, strict=True))
    )


def _setup(loss: Loss, constants: Constants) -> str:
    given = {
        name: value
        for name, value in vars(constants).items()
        if getattr(value, "is_number", False) and value != 0
    }
    numbers = ", ".join(f"{name} = {float(value):g}" for name, value in given.items())
    return f"a random smooth loss of {len(loss.variables)} variables{', ' if numbers else ''}{numbers}"


def random_loss(seed: int, dimension: int = 2) -> tuple[Loss, list[float]]:
    """A smooth, nonlinear loss and a start from which no gradient component changes sign for a while.

    Parameters
    ----------
    seed : int
    dimension : int
        2 gives the variables x and y; 4 the entries w11, w12, w21 and w22 of a matrix.

    Returns
    -------
    Loss
    list of float

    Examples
    --------
    >>> random_loss(0)[0].variables
    (x, y)
    """
    draw = random.Random(seed)

    def about(center: float, width: float = 0.25) -> sp.Rational:
        return sp.Rational(round(100 * (center + draw.uniform(-width, width))), 100)

    names = {2: "x y", 4: "w11 w12 w21 w22"}[dimension]
    theta = sp.symbols(names, real=True)
    slopes = {2: (3, -4), 4: (4, 1, -1, 3)}[dimension]
    start = [float(about(c)) for c in {2: (0.6, -0.4), 4: (1.0, 0.5, 0.3, 0.8)}[dimension]]
    loss = sp.Add(
        *(about(s) * t for s, t in zip(slopes, theta, strict=True)),
        *(about(1.0) * t**2 / 2 for t in theta),
        *(about(0.5) * sp.sin(t + about(1.5) * u) for t, u in pairwise(theta)),
        about(0.5) * theta[0] ** 2 * theta[1],
        about(0.4) * sp.exp(theta[-1] / 2),
    )
    return Loss.of(loss), start


def random_examples(seed: int, count: int) -> tuple[Loss, list[float]]:
    """Smooth losses of so many training examples, each perturbed by itself, and a start.

    Parameters
    ----------
    seed, count : int

    Returns
    -------
    Loss
    list of float

    Examples
    --------
    >>> len(random_examples(0, 6)[0].samples)
    6
    """
    draw = random.Random(seed)
    loss, start = random_loss(seed)
    x, y = loss.variables

    def any_number() -> sp.Rational:
        return sp.Rational(round(100 * draw.uniform(-1, 1)), 100)

    return Loss.of(
        *(
            loss.mean
            + any_number() * x**2
            + any_number() * x * y
            + any_number() * sp.sin(y)
            + any_number() * x
            for _ in range(count)
        )
    ), start
