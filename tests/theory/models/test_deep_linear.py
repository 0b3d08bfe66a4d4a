"""Imbalance of linear layers against networks trained with plain matrix products."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from initmem.theory.errors import InvalidInput
from initmem.theory.models import named
from initmem.theory.models.deep_linear import age, imbalance, memory, next_imbalance, recursion, simulate
from initmem.theory.trace import Trace, joined

LR, DECAY = 0.05, 0.3


def backward(layers: list[np.ndarray], x: np.ndarray, y: np.ndarray) -> list[np.ndarray]:
    """Gradients of the mean squared error by the chain rule, one layer after another."""
    inputs = [x]
    for layer in layers:
        inputs.append(layer @ inputs[-1])
    error, gradients = (inputs[-1] - y) / x.shape[1], []
    for layer, before in zip(reversed(layers), reversed(inputs[:-1]), strict=True):
        gradients.append(error @ before.T)
        error = layer.T @ error
    return gradients[::-1]


@pytest.mark.parametrize("widths", [(3, 4, 2), (1, 1, 1), (5, 2, 4), (2, 3, 5, 4, 3)])
@pytest.mark.parametrize("batch", [1, 7])
def test_update_of_any_widths_and_any_depth_is_exact(widths: tuple[int, ...], batch: int) -> None:
    draw = np.random.default_rng(len(widths) + batch)
    layers = [draw.normal(size=shape) for shape in zip(widths[1:], widths[:-1], strict=True)]
    for _ in range(3):
        gradients = backward(
            layers, draw.normal(size=(widths[0], batch)), draw.normal(size=(widths[-1], batch))
        )
        after = [(1 - LR * DECAY) * w - LR * g for w, g in zip(layers, gradients, strict=True)]
        for i in range(len(layers) - 1):
            before, (first, second) = imbalance(*layers[i : i + 2]), gradients[i : i + 2]
            predicted = next_imbalance(before, first, second, LR, DECAY)
            np.testing.assert_allclose(predicted, imbalance(*after[i : i + 2]), rtol=1e-12, atol=1e-11)
        layers = after


def test_two_numbers() -> None:
    # u = 1.5, v = 0.2 for the target 0, so that r = uv = 0.3.
    u, v = 1.5 - 0.1 * 0.3 * 0.2, 0.2 - 0.1 * 0.3 * 1.5
    left = recursion(Trace(lr=np.array([0.1])), np.array([0.3]))[0]
    assert left * (1.5**2 - 0.2**2) == pytest.approx(2.208011, abs=1e-12)
    assert u * u - v * v == pytest.approx(2.208011, abs=1e-12)


def residuals(trace: Trace, noise: float) -> tuple[np.ndarray, float]:
    """Train u = 1.5, v = 0.2 on inputs of random size with the target 1 per input, beside the curve."""
    draw = np.random.default_rng(3)
    u, v, found = 1.5, 0.2, np.empty(trace.updates)
    for k, lr in enumerate(trace.lr.tolist()):
        x = draw.uniform(0.5, 1.5)
        found[k] = x * (x * (u * v - 1) + noise * draw.normal())
        u, v = u - lr * found[k] * v, v - lr * found[k] * u
    return found, (u * u - v * v) / (1.5**2 - 0.2**2)


def test_memory_saturates_at_interpolation_and_not_with_label_noise() -> None:
    trace = Trace(lr=np.full(20_000, 0.05))
    for noise in (0.0, 0.5):
        found, trained = residuals(trace, noise)
        left = recursion(trace, found)
        assert left[-1] == pytest.approx(trained, rel=1e-11)
        if noise == 0:
            # T_SGD grows twentyfold after the residual is gone.
            assert abs(found[1000:]).max() < 1e-14
            assert left[-1] == left[1000] == pytest.approx(0.993086, abs=1e-6)
        else:
            # Of T_SGD the second moment of the residual: E x^2 noise^2 of label noise, and of first order
            # in lr E x^4 times the variance lr * curvature * noise^2/2 of uv, with E x^2 = 13/12,
            # E x^4 = 121/80, curvature 2 once balanced. Five times the sampling error of x^2 noise^2.
            rate = -math.log(left[-1]) / (0.05**2 * 20_000)
            expected = 0.5**2 * (13 / 12 + 121 / 80 * 0.05)
            assert rate == pytest.approx(expected, rel=5 * math.sqrt(3.2 / 20_000))


def test_recursion_is_for_plain_sgd() -> None:
    for trace in (Trace(lr=np.ones(1), momentum=0.5), Trace(lr=np.ones(1), optimizer="adam")):
        with pytest.raises(InvalidInput, match="no exact recursion"):
            recursion(trace, np.zeros(1))


def test_without_noise_and_decay_nothing_is_forgotten() -> None:
    trace = Trace(lr=np.full(50, 0.1))
    assert simulate(trace, 3, np.random.default_rng(0), noise=0.0).tolist() == [1, 1, 1]
    assert memory(trace, noise=0.0)[-1] == 1


def test_law_of_a_recipe_by_hand() -> None:
    trace = Trace(lr=np.array([0.1, 0.2]), batch_size=np.array([4, 2]), weight_decay=0.5, momentum=0.5)
    # 2*T_L2 = 2*0.5*(0.2 + 0.4); noise^2*T_SGD = 9*(0.04/4 + 0.16/2).
    assert age(trace, noise=3.0)[-1] == pytest.approx(0.6 + 9 * 0.09)


TRACES = st.builds(
    lambda lr, batch, decay, momentum: Trace(
        lr=np.array(lr), batch_size=batch, weight_decay=decay, momentum=momentum
    ),
    st.lists(st.floats(0, 0.5), min_size=2, max_size=8),
    st.integers(1, 64),
    st.floats(0, 1),
    st.floats(0, 0.9),
)


@pytest.mark.parametrize("name", ["imbalance", "diagonal"])
@given(trace=TRACES, noise=st.floats(0, 2), data=st.data())
def test_memory_falls_and_ages_add(name: str, trace: Trace, noise: float, data: st.DataObject) -> None:
    model = named(name)
    settings = {**model.settings, "noise": noise}
    left, cut = model.memory(trace, **settings), data.draw(st.integers(1, trace.updates - 1))
    assert ((left >= 0) & (left <= 1)).all()
    assert (np.diff(left) <= 0).all()
    parts = trace[:cut], trace[cut:]
    added = sum(model.age(part, **settings)[-1] for part in parts)
    assert model.age(joined(parts), **settings)[-1] == pytest.approx(added, rel=1e-12, abs=1e-300)
    assert left[-1] == pytest.approx(math.exp(-added), rel=1e-9)


def test_derivation_ends_in_the_law() -> None:
    sp = pytest.importorskip("sympy")
    *_, rest, law = named("imbalance").derive()
    assert rest.equation.rhs == 0
    lr, b, s, rate, t = (next(x for x in law.equation.free_symbols if x.name == n) for n in LETTERS)
    value = law.equation.rhs.subs({lr: sp.Rational(1, 10), b: 4, s: 3, rate: sp.Rational(1, 2), t: 2})
    trace = Trace(lr=np.full(20, 0.1), batch_size=4, weight_decay=0.5)
    assert float(value / sp.Symbol("D_0", real=True)) == pytest.approx(
        memory(trace, noise=3.0)[-1], rel=1e-12
    )


LETTERS = ("lr", "batch_size", "s", "lambda", "t")
