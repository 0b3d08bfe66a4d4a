"""Proof by experiment: what is claimed of an optimizer has to hold beside its own updates.

The error of a flow that keeps terms through lr^n must fall as lr^(n+1) when the learning rate is halved.
The observed order is a binary logarithm of a ratio of errors. A coefficient that is wrong costs at least a
whole order; the next term of the error moves it by about the smallest rate times a constant, which a
quarter of an order allows for.
"""

from itertools import pairwise, permutations
from typing import Any

import numpy as np
import pytest
import sympy as sp

from initmem.theory.backward_error.shuffling import displacement
from initmem.theory.expression import parse_expression
from initmem.theory.optimizers import NAMES, named
from initmem.theory.optimizers.constants import Constants
from initmem.theory.optimizers.experiment import ROUNDING, UPDATES, follow, random_examples, random_loss
from initmem.theory.optimizers.loss import Loss
from initmem.theory.optimizers.sgd_without_replacement import epoch_mean
from initmem.theory.references import REFERENCES

TOLERANCE = 0.25
HALF, THIRD = sp.Rational(1, 2), sp.Rational(3, 10)


@pytest.mark.parametrize(
    ("name", "seed"), [(name, 1) for name in NAMES] + [(n, 2) for n in NAMES if n != "muon"]
)
def test_every_kept_order_raises_the_order_of_the_error(name: str, seed: int) -> None:
    result = named(name).experiment(seed)
    assert result.observed == pytest.approx([n + 1 for n in range(len(result.errors))], abs=TOLERANCE)
    # The plain flow is off by more than rounding, and each correction improves it at the same rate.
    smallest = [row[-1] for row in result.errors]
    assert smallest == sorted(smallest, reverse=True)
    assert smallest[0] > 100 * ROUNDING


@pytest.mark.parametrize("name", NAMES)
def test_the_statement_is_complete(name: str) -> None:
    optimizer = named(name)
    assert optimizer.name == name
    assert optimizer.update
    assert optimizer.twin
    assert optimizer.assumptions
    assert optimizer.clocks
    assert optimizer.references
    assert set(optimizer.references) <= set(REFERENCES)


@pytest.mark.parametrize("law", ["coupled", "decoupled"])
@pytest.mark.parametrize(
    ("name", "memory"),
    [
        ("gd", {}),
        ("heavy-ball", {"beta": HALF}),
        ("nesterov", {"beta": HALF}),
        ("rmsprop", {"beta2": HALF, "eps": sp.Rational(1, 4)}),
        ("ngd", {"beta": HALF}),
        ("lion", {"beta1": HALF, "beta2": HALF}),
    ],
)
def test_decay_laws(name: str, law: str, memory: dict[str, sp.Expr]) -> None:
    optimizer, (loss, start) = named(name), random_loss(4)
    c = Constants(weight_decay=THIRD, decay_law=law, **memory)
    result = follow(optimizer.field, optimizer.step, c, loss, start, 2)
    if name == "lion" and law == "coupled":  # the sign of a smooth gradient is constant: no correction
        assert max(map(max, result.errors)) < ROUNDING
    else:
        assert result.observed == pytest.approx([1, 2, 3], abs=TOLERANCE)


@pytest.mark.parametrize("name", ["sign", "lion"])
def test_sign_descent_has_no_correction_away_from_kinks(name: str) -> None:
    optimizer, (loss, start) = named(name), random_loss(4)
    memory: dict[str, Any] = dict.fromkeys(optimizer.settings, HALF)
    result = follow(optimizer.field, optimizer.step, Constants(**memory), loss, start, 1)
    assert max(map(max, result.errors)) < ROUNDING


@pytest.mark.parametrize(("rows", "columns"), [(1, 3), (3, 2)])
def test_muon_of_other_shapes(rows: int, columns: int) -> None:
    """The matrix step of the executable update is square; here it is written again for any shape."""
    names = [f"w{i + 1}{j + 1}" for i in range(rows) for j in range(columns)]
    draw = np.random.default_rng(rows * columns)
    text = " + ".join(f"{draw.uniform(0.5, 1.5):.2f}*{n}**2/2 + {draw.uniform(1, 3):.2f}*{n}" for n in names)
    text += f" + 0.3*{names[0]}*{names[1]}*{names[-1]}"
    loss, start = Loss.parse([text]), draw.uniform(0.2, 1.0, len(names))

    def step(theta, slope, buffer, c):
        m = (0 if buffer is None else c.beta * buffer) + (1 - c.beta) * slope(theta)
        U, _, Vt = np.linalg.svd(m.reshape(rows, columns), full_matrices=False)
        return theta - c.lr * (U @ Vt).ravel(), m

    result = follow(named("muon").field, step, Constants(beta=HALF), loss, start, 1)
    assert result.observed == pytest.approx([1, 2], abs=TOLERANCE)


@pytest.mark.parametrize(
    ("name", "rate"), [("ngd", 0), ("ngd", THIRD), ("sign", THIRD), ("lion", THIRD), ("muon", THIRD)]
)
def test_steepest_descent_of_the_objective_is_the_field(name: str, rate: sp.Expr) -> None:
    """-(1 + lr*decay/2)(LMO(grad objective) + decay*theta) agrees with the field through first order."""
    optimizer, (loss, start) = named(name), random_loss(5, 4 if name == "muon" else 2)
    memory: dict[str, Any] = dict.fromkeys(optimizer.settings, HALF)
    c = Constants(weight_decay=sp.sympify(rate), decay_law="decoupled", **memory)
    field = optimizer.field(loss, c, 1)
    objective = optimizer.objective(loss, c, field)
    assert objective is not None
    slopes = sp.lambdify((c.lr, *loss.variables), [sp.diff(objective.expression, v) for v in loss.variables])
    theta = np.array(start)

    def claimed(lr: float) -> np.ndarray:
        p = np.array(slopes(lr, *theta), dtype=float)
        direction = {"ngd": lambda: p / np.linalg.norm(p), "muon": lambda: polar(p)}.get(
            name, lambda: np.sign(p)
        )()
        return -(1 + lr * float(rate) / 2) * (direction + float(rate) * theta)

    exact = field.at(theta)
    errors = [np.linalg.norm(claimed(lr) - exact[0] - lr * exact[1]) for lr in (0.02, 0.01)]
    assert np.linalg.norm(claimed(0.0) - exact[0]) < ROUNDING
    assert errors[1] < ROUNDING or np.log2(errors[0] / errors[1]) == pytest.approx(2, abs=TOLERANCE)


def polar(p: np.ndarray) -> np.ndarray:
    U, _, Vt = np.linalg.svd(p.reshape(2, 2))
    return (U @ Vt).ravel()


def test_all_shuffles_without_replacement() -> None:
    """Every shuffle of six examples in batches of two, as plain loops, against the library's mean."""
    loss, start = random_examples(7, 6)
    slopes = [sp.lambdify(loss.variables, [sp.diff(s, v) for v in loss.variables]) for s in loss.samples]
    ends = []
    for order in permutations(range(6)):
        theta = np.array(start)
        for batch in (order[:2], order[2:4], order[4:]):
            theta = theta - 0.05 * np.mean([slopes[i](*theta) for i in batch], axis=0)
        ends.append(theta)
    assert epoch_mean(loss, start, 0.05, 2) == pytest.approx(np.mean(ends, axis=0), abs=1e-13)


def test_without_the_finite_population_factor_the_order_is_lost() -> None:
    loss, start = random_examples(1, 6)
    optimizer = named("sgd-without-replacement")
    right = Constants(batch_size=sp.Integer(2), train_size=sp.Integer(6))
    # (N - b)/(N - 1) tends to 1 in an endless training set with the same Gamma.
    endless = Constants(batch_size=sp.Integer(2), train_size=sp.Integer(2 * 10**12))
    orders = []
    for c in (right, endless):
        field = optimizer.field(loss, c, 1)
        errors = [
            np.linalg.norm(field.flow(np.array(start), lr, 3) - epoch_mean(loss, start, lr, 2))
            for lr in (1e-2, 5e-3)
        ]
        orders.append(np.log2(errors[0] / errors[1]))
    assert orders[0] == pytest.approx(3, abs=TOLERANCE)
    assert orders[1] == pytest.approx(2, abs=TOLERANCE)  # that of the plain flow over one epoch


@pytest.mark.parametrize("name", ["heavy-ball", "nesterov"])
def test_momentum_amplifies_the_gradient_penalty_but_not_the_noise(name: str) -> None:
    """The mean over shuffles of an endless run, exactly, as the slow eigenvalue of the mean epoch.

    Examples a_i x^2/2 keep the update linear in (x, buffer), and epochs are independent, so the mean of
    the product is the product of the means.
    """
    a, b, beta = [0.4, 1.9, 1.1, 0.6, 2.4, 0.8], 2, 0.3
    loss = Loss.of(*(parse_expression(f"{v}*x**2/2") for v in a))
    optimizer = named(name)
    c = Constants(beta=sp.Rational(3, 10), batch_size=sp.Integer(b), train_size=sp.Integer(len(a)))
    noiseless = Constants(beta=sp.Rational(3, 10))
    rates = {
        key: [
            -float(sp.diff(term[0], loss.variables[0])) for term in optimizer.field(loss, constants, 1).terms
        ]
        for key, constants in {"noise": c, "no noise": noiseless}.items()
    }

    def epoch_rate(lr: float) -> float:
        total, count = np.zeros((2, 2)), 0
        for order in permutations(range(len(a))):
            matrix = np.eye(2)
            for batch in (order[:2], order[2:4], order[4:]):
                h = np.mean([a[i] for i in batch])
                if name == "heavy-ball":
                    one = [[1 - lr * h, -lr * beta], [h, beta]]
                else:
                    one = [[1 - lr * h * (1 + beta), -lr * beta**2], [h, beta]]
                matrix = np.array(one) @ matrix
            total, count = total + matrix, count + 1
        return -np.log(max(np.linalg.eigvals(total / count).real)) / (3 * lr)

    lrs = (4e-3, 2e-3)
    exact = [epoch_rate(lr) for lr in lrs]

    def order(rate: list[float]) -> float:
        errors = [abs(rate[0] + lr * rate[1] - value) for lr, value in zip(lrs, exact, strict=True)]
        return float(np.log2(errors[0] / errors[1]))

    assert order(rates["noise"]) == pytest.approx(2, abs=TOLERANCE)
    assert order(rates["no noise"]) == pytest.approx(1, abs=TOLERANCE)
    # With the factor (1 + beta)/(1 - beta) on the noise as well it would be first order again.
    boosted = (rates["noise"][1] - rates["no noise"][1]) * (1 + beta) / (1 - beta)
    assert order([rates["noise"][0], rates["no noise"][1] + boosted]) == pytest.approx(1, abs=TOLERANCE)


def test_shuffling_at_any_curvature_is_third_order_in_the_heterogeneity() -> None:
    draw = np.random.default_rng(3)
    a, m = draw.uniform(-1, 1, 4), draw.uniform(-1, 1, 4)
    errors = []
    for s in (0.02, 0.01):
        curvature, center = 1.8 + s * (a - a.mean()), s * m
        gradients = [lambda x, h=h, c=c: h * (x - c) for h, c in zip(curvature, center, strict=True)]
        hessians = [lambda x, h=h: np.array([[h]]) for h in curvature]
        ends = []
        for order in permutations(range(4)):
            x = 1.3
            for i in order:
                x -= 0.5 * curvature[i] * (x - center[i])
            ends.append(x)
        descent = np.array([1.3])
        for _ in range(4):
            descent = descent - 0.5 * np.mean([g(descent) for g in gradients], axis=0)
        errors.append(
            abs(np.mean(ends) - descent[0] - displacement(np.array([1.3]), gradients, hessians, 0.5, 4)[0])
        )
    assert np.log2(errors[0] / errors[1]) == pytest.approx(3, abs=TOLERANCE)


def test_the_ladder_halves() -> None:
    assert all(b == 2 * a for a, b in pairwise(UPDATES))
