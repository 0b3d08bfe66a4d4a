"""Equilibria against weight vectors among random gradients, published limits and their derivations."""

import math
from collections.abc import Callable

import numpy as np
import pytest
import sympy as sp

from initmem.theory.errors import InvalidInput
from initmem.theory.models import equilibrium, equilibrium_derivation
from initmem.theory.models.lion_equilibrium import lion, lion_linearised, mix_correlation, mix_square
from initmem.theory.trace import Array

Rule = Callable[[Array, Array], Array]

# The betas of Lion, with norms that the sheet of formulas gives: simulated, as published, by the arcsine.
LIONS = [
    ((0.0, 0.0), 0.3890, 0.3090, 0.3873),
    ((0.9, 0.5), 0.6407, 0.5840, 0.6383),
    ((0.9, 0.99), 2.585, 2.605, 2.625),
]


def measured(step: Rule, start: Array, updates: int, skipped: int, seed: int = 0) -> tuple[Array, Array]:
    """Root mean square norm and angle of every run, with gradients of norm 1/r in random directions.

    While half of `skipped` updates fill the averages, the norm is held.
    """
    rng, w = np.random.default_rng(seed), start
    length = np.linalg.norm(start, axis=-1, keepdims=True)
    norms, angles = 0.0, 0.0
    for k in range(updates):
        square = (w * w).sum(-1, keepdims=True)
        drawn = rng.normal(size=w.shape)
        drawn -= (drawn * w).sum(-1, keepdims=True) / square * w
        moved = step(w, drawn / np.sqrt(square * (drawn * drawn).sum(-1, keepdims=True)))
        if k >= skipped:
            norms += (moved * moved).sum(-1)
            chord = moved / np.linalg.norm(moved, axis=-1, keepdims=True) - w / np.sqrt(square)
            angles += (chord * chord).sum(-1)
        if 2 * k < skipped:
            moved = moved * length / np.linalg.norm(moved, axis=-1, keepdims=True)
        w = moved
    count = updates - skipped
    return np.sqrt(norms / count), np.sqrt(angles / count)


def starts(norm: float, seeds: int, dimension: int) -> Array:
    w = np.random.default_rng(1).normal(size=(seeds, dimension))
    return norm * w / np.linalg.norm(w, axis=-1, keepdims=True)


def error(values: Array) -> float:
    """Standard error of the mean."""
    return float(values.std(ddof=1)) / math.sqrt(len(values))


def assert_mean(values: Array, expected: float, bias: float = 0.0) -> None:
    """Within five standard errors, beyond a bias relative to the expected value."""
    assert abs(values.mean() - expected) < 5 * error(values) + bias * expected


def sgd_rule(lr: float, weight_decay: float, momentum: float) -> Rule:
    buffer: Array | float = 0.0

    def step(w: Array, g: Array) -> Array:
        nonlocal buffer
        buffer = momentum * buffer + g + weight_decay * w
        return w - lr * buffer

    return step


def adam_rule(lr: float, inside: float, outside: float) -> Rule:
    m: Array | float = 0.0
    v: Array | float = 0.0
    k = 0

    def step(w: Array, g: Array) -> Array:
        nonlocal m, v, k
        k, g = k + 1, g + inside * w
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        return (1 - lr * outside) * w - lr * m / (1 - 0.9**k) / np.sqrt(v / (1 - 0.999**k))

    return step


def lion_rule(lr: float, weight_decay: float, beta1: float, beta2: float) -> Rule:
    m: Array | float = 0.0

    def step(w: Array, g: Array) -> Array:
        nonlocal m
        sign = np.sign(beta1 * m + (1 - beta1) * g)
        m = beta2 * m + (1 - beta2) * g
        return (1 - lr * weight_decay) * w - lr * sign

    return step


def muon_rule(lr: float, weight_decay: float, beta: float, nesterov: bool, shape: tuple[int, int]) -> Rule:
    m: Array | float = 0.0

    def step(w: Array, g: Array) -> Array:
        nonlocal m
        m = beta * m + (1 - beta) * g
        ahead = np.reshape(beta * m + (1 - beta) * g if nesterov else m, (-1, *shape))
        values, vectors = np.linalg.eigh(ahead @ ahead.swapaxes(1, 2))
        polar = (vectors / np.sqrt(values)[:, None, :]) @ (vectors.swapaxes(1, 2) @ ahead)
        return (1 - lr * weight_decay) * w - lr * polar.reshape(w.shape)

    return step


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_sgd(momentum: float) -> None:
    at = equilibrium.sgd(0.1, 0.01, momentum=momentum)
    norms, angles = measured(sgd_rule(0.1, 0.01, momentum), starts(at.norm, 8, 400), 6000, 500)
    if momentum == 0:  # nothing is random
        assert norms == pytest.approx(at.norm, rel=1e-9)
        assert at.norm == pytest.approx(1.495536, abs=5e-7)
        # An angle in place of its chord.
        assert 2 * np.arcsin(angles / 2) == pytest.approx(at.rotation, rel=1e-6)
        return
    # The norm fluctuates, and the mean of V/r^2 is not the ratio of the means: some parts in d.
    assert_mean(norms, at.norm, bias=1 / 400)
    assert_mean(angles, at.rotation, bias=1 / 400)
    assert at.norm == pytest.approx(2.65932, abs=5e-6)
    assert at.rotation == pytest.approx(0.0324443, abs=2e-6)


def test_adamw() -> None:
    at = equilibrium.adamw(1e-3, 0.5, 1000)
    norms, angles = measured(adam_rule(1e-3, 0.0, 0.5), starts(at.norm, 8, 1000), 5000, 2000)
    # The second average holds the present gradient too, of which 1 - beta_2 is its own share.
    assert_mean(norms, at.norm, bias=1e-3)
    assert_mean(angles, at.rotation, bias=1e-3)
    # The limit of little decay, which is published, lies further off.
    assert math.sqrt(1e-3 * 1000 / (2 * 0.5)) == pytest.approx(at.norm, rel=3e-3)
    assert at.rotation == pytest.approx(0.0072548, rel=2e-4)


def test_adam_with_decay_in_the_gradient() -> None:
    at = equilibrium.adam(1e-3, 1e-3, 1000)
    norms, angles = measured(adam_rule(1e-3, 1e-3, 0.0), starts(at.norm, 4, 1000), 8000, 3000)
    assert at.norm == pytest.approx(2.5099, abs=5e-5)
    # To leading order in 1 - beta_2 and in the relaxation within the first average's ten updates.
    assert_mean(norms, at.norm, bias=1e-3 + 10 * at.relaxation)
    assert_mean(angles, at.rotation, bias=1e-3 + 10 * at.relaxation)


@pytest.mark.parametrize(("betas", "simulated", "published", "arcsine"), LIONS)
def test_lion(betas: tuple[float, float], simulated: float, published: float, arcsine: float) -> None:
    lr, entries = 3e-4, 1000
    exact, line = lion(lr, 1.0, entries, *betas), lion_linearised(lr, 1.0, entries, *betas)
    norms, angles = measured(lion_rule(lr, 1.0, *betas), starts(exact.norm, 8, entries), 5000, 1500)
    assert_mean(norms, exact.norm, bias=1 / entries)
    assert_mean(angles, exact.rotation, bias=1 / entries)
    # The sheet's own simulation has an error that it does not state; that of its digits and of one run.
    assert exact.norm == pytest.approx(simulated, rel=0.01)
    assert line.norm == pytest.approx(published, rel=5e-4)
    assert lion(1e-6, 1.0, 0.3e6, *betas).norm == pytest.approx(arcsine, rel=5e-4)
    if betas != (0.9, 0.99):
        # The straight line is refuted where the mix is short.
        assert norms.mean() - line.norm > 20 * error(norms)
        assert line.norm < 0.95 * norms.mean()


def test_lion_without_momentum_is_off_by_the_slope_of_the_line() -> None:
    ratio = lion(1e-6, 1.0, 300, 0.0, 0.0).norm / lion_linearised(1e-6, 1.0, 300, 0.0, 0.0).norm
    assert ratio == pytest.approx(math.sqrt(math.pi / 2), rel=1e-6)


def test_the_correlation_of_lions_mixes() -> None:
    # From the weights on past gradients, lag by lag.
    beta1, beta2 = 0.7, 0.8
    weights = np.append(1 - beta1, beta1 * (1 - beta2) * beta2 ** np.arange(400.0))
    assert mix_square(beta1, beta2) == pytest.approx(weights @ weights, rel=1e-12)
    lagged = [weights[:-lag] @ weights[lag:] / (weights @ weights) for lag in range(1, 60)]
    assert mix_correlation(beta1, beta2)[:59] == pytest.approx(lagged, rel=1e-9)


@pytest.mark.parametrize(
    ("shape", "beta", "nesterov"), [((16, 64), 0.0, False), ((1, 2000), 0.9, False), ((1, 2000), 0.8, True)]
)
def test_muon(shape: tuple[int, int], beta: float, nesterov: bool) -> None:
    at = equilibrium.muon(0.01, 0.1, shape[0], beta, nesterov)
    start = starts(at.norm, 4, shape[0] * shape[1])
    norms, angles = measured(muon_rule(0.01, 0.1, beta, nesterov, shape), start, 3000, 1000)
    if beta == 0:
        assert at.norm == pytest.approx(0.8944, abs=5e-4)
    # Polar factors of vectors of d entries are as correlated as the averages, up to some parts in d.
    assert_mean(norms, at.norm, bias=4 / 2000 if beta else 0.0)
    assert_mean(angles, at.rotation, bias=4 / 2000 if beta else 0.0)


@pytest.mark.parametrize(("shape", "least", "most"), [((16, 128), 0.98, 0.998), ((16, 16), 0.84, 0.92)])
def test_the_norm_under_muon_is_an_upper_value_for_matrices(
    shape: tuple[int, int], least: float, most: float
) -> None:
    at = equilibrium.muon(0.01, 0.1, 16, 0.9, nesterov=False)
    start = starts(0.93 * at.norm, 4, shape[0] * shape[1])
    norms, _ = measured(muon_rule(0.01, 0.1, 0.9, False, shape), start, 2500, 1000)
    assert least < norms.mean() / at.norm < most
    # The published form, for little decay.
    assert equilibrium.muon(1e-3, 0.01, 16, 0.9, nesterov=False).norm == pytest.approx(3.90, abs=2e-3)


def test_norms_relax_at_the_stated_rates() -> None:
    # Deviations of mean squares, followed exactly.
    lr, rate, beta = 0.01, 0.01, 0.5
    at = equilibrium.sgd(lr, rate, momentum=beta)
    square, along, buffer = at.norm**2 * 1.001, 0.0, 0.0
    deviations = []
    for _ in range(20_000):
        buffer = beta**2 * buffer + 1 / square + rate**2 * square + 2 * beta * rate * along
        along = beta * along + rate * square
        square, along = square - 2 * lr * along + lr**2 * buffer, along - lr * buffer
        deviations.append(square**2 - at.norm**4)
    fading = -math.log(abs(deviations[-1] / deviations[9_999])) / 10_000
    assert fading == pytest.approx(at.relaxation, rel=0.01)

    fixed = equilibrium.adamw(0.1, 0.2, 64, beta1=0.0)
    square = 4 * fixed.norm**2
    after = 0.98**2 * square + 64 * 0.1**2
    left = (after - fixed.norm**2) / (square - fixed.norm**2)
    assert -math.log(left) == pytest.approx(fixed.relaxation, rel=1e-9)

    def drift(square: float) -> float:  # of Adam with decay in the gradient, by its definition
        r = math.sqrt(square)
        return 0.01**2 * 64 - 2 * 0.01 * 0.02 * square * r * math.sqrt(64)

    at = equilibrium.adam(0.01, 0.02, 64)
    assert drift(at.norm**2) == pytest.approx(0, abs=1e-15)
    slope = (drift(at.norm**2 + 1e-5) - drift(at.norm**2 - 1e-5)) / 2e-5
    assert -slope == pytest.approx(at.relaxation, rel=1e-6)


@pytest.mark.parametrize(
    "call",
    [
        lambda: equilibrium.sgd(0.1, 0.0),
        lambda: equilibrium.adamw(0.1, 10.0, 10),
        lambda: equilibrium.adam(0.0, 0.1, 10),
        lambda: equilibrium.muon(0.1, -1.0, 1),
        lambda: lion(0.1, 0.0, 10),
        lambda: lion_linearised(0.1, 0.0, 10),
    ],
)
def test_without_a_balance_there_is_no_equilibrium(call: Callable[[], object]) -> None:
    with pytest.raises(InvalidInput, match="has no equilibrium: give both above 0"):
        call()


def at_numbers(equation: sp.Basic, **values: float) -> float:
    right = equation.rhs  # type: ignore[attr-defined]
    return float(right.subs({s: values[s.name] for s in right.free_symbols}))


def test_the_derivations_arrive_at_the_functions() -> None:
    given = {"lr": 0.1, "lambda": 0.3, "beta": 0.6, "G": 1.7}
    steps = {step.text: step.equation for step in equilibrium_derivation.sgd()}
    expected = equilibrium.sgd(0.1, 0.3, 1.7, 0.6)
    assert at_numbers(steps["all three at rest"], **given) == pytest.approx(expected.norm**4)
    turned = at_numbers(steps["an update turns the weights by delta"], **given)
    assert turned == pytest.approx(4 * math.sin(expected.rotation / 2) ** 2)
    left = steps["without momentum, what an update leaves of a deviation of r^4"].rhs.removeO()
    assert sp.diff(left, sp.Symbol("lambda", positive=True)) == -4 * sp.Symbol("lr", positive=True)

    given = {"lr": 0.1, "a": 1 - 0.1 * 0.3, "lambda": 0.3, "beta": 0.6, "C": 50.0, "R": 50.0}
    steps = {step.text: step.equation for step in equilibrium_derivation.decoupled()}
    expected = equilibrium.adamw(0.1, 0.3, 50.0, 0.6)
    assert at_numbers(steps["all three at rest"], **given) == pytest.approx(expected.norm**2)
    cosine = at_numbers(steps["an update turns the weights by delta"], **given)
    assert cosine == pytest.approx(math.cos(expected.rotation))
    assert at_numbers(steps["for little decay"], **given) == pytest.approx(0.1 * 50 / 0.6)
    assert at_numbers(steps["and the angle"], **given) == pytest.approx(2 * 0.03 * 0.4 / 1.6)
    muon = steps["with that average scaled to the squared norm R, as in Muon without Nesterov's step"]
    assert at_numbers(muon, **given) == pytest.approx(0.1 * 50 / 0.6 * 1.6 / 0.4)

    given = {"lr": 0.01, "lambda": 0.02, "C": 64.0, "G": 1.3}
    steps = {step.text: step.equation for step in equilibrium_derivation.adam()}
    expected = equilibrium.adam(0.01, 0.02, 64.0, 1.3)
    assert at_numbers(steps["at rest"], **given) == pytest.approx(expected.norm**3)
    rate = at_numbers(steps["the rate at which a deviation of r^2 fades"], r=expected.norm, **given)
    assert rate == pytest.approx(expected.relaxation)

    steps = {step.text: step.equation for step in equilibrium_derivation.lion()}
    assert at_numbers(steps["the mean product itself"], rho=0.5) == pytest.approx(1 / 3)
    line = lion_linearised(0.01, 0.02, 64.0, 0.9, 0.5)
    share = mix_square(0.9, 0.5)
    given = {"lr": 0.01, "lambda": 0.02, "C": 64.0, "S": share}
    assert at_numbers(steps["and so rests at"], **given) == pytest.approx(line.norm**2)
    assert at_numbers(steps["and turns by"], **given) == pytest.approx(line.rotation**2)
