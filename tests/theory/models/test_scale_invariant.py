"""The law of the norm against exact recursions, weight vectors, torch's Adam and published numbers."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from initmem.theory.errors import InvalidInput
from initmem.theory.models.radial import adam_norms, fixed_size_norms, sgd_norms
from initmem.theory.models.random_walk import final_norms
from initmem.theory.models.scale_invariant import (
    SCALE_INVARIANT,
    age,
    batch_gradient_square,
    buffer_share,
    norm,
    radial_memory,
    simulate,
)
from initmem.theory.models.updates import run
from initmem.theory.trace import Array, Trace, joined


def following(lr: Array, **given: Any) -> Trace:
    """The trace with these rates; a number among the rest holds for every update."""
    return Trace(lr=lr, **given)


SETTINGS = {"init_scale": 1.0, "gradient_norm": 1.0, "noise": 1.0, "entries": 64.0}

# Schedules that are not constant, and the clocks of the law of order one.
TRACES = {
    "sgd": following(np.linspace(0.1, 0.01, 60), batch_size=4),
    "sgd with decay": following(np.linspace(0.1, 0.01, 60), batch_size=4, weight_decay=0.2),
    "sgd with momentum": following(np.linspace(0.02, 0.002, 60), batch_size=4, momentum=0.8),
    "sgd with both": following(np.linspace(0.02, 0.002, 60), batch_size=4, momentum=0.8, weight_decay=0.2),
    "adam": following(np.linspace(0.02, 0.002, 60), optimizer="adam"),
    "adamw": following(np.linspace(0.02, 0.002, 60), optimizer="adamw", weight_decay=1.0),
    "muon": following(np.linspace(0.02, 0.002, 60), optimizer="muon", momentum=0.8, weight_decay=1.0),
}


def finer(trace: Trace, f: int) -> Trace:
    """Every update in f^2 updates of lr/f: the sums of squared rates and of decay stay what they are."""
    return following(
        np.repeat(trace.lr, f * f) / f,
        batch_size=np.repeat(trace.batch_size, f * f),
        weight_decay=np.repeat(trace.weight_decay, f * f) / f,
        optimizer=trace.optimizer,
        momentum=trace.momentum,
        train_size=trace.train_size,
    )


def test_a_hundred_updates_of_sgd_by_hand() -> None:
    # (.0625 + 2 * 100 * .01 * 4)^(1/4).
    after = norm(following(np.full(100, 0.1)), 0.5, gradient_norm=2.0, noise=0.0)[-1]
    assert after == pytest.approx(1.6850680, abs=5e-8)


@pytest.mark.parametrize(
    ("updates", "sgd", "adam"), [(1000, 2.1407, 2.72), (10_000, 3.7653, 8.06), (40_000, 5.3200, 16.03)]
)
def test_growth_without_decay(updates: int, sgd: float, adam: float) -> None:
    plain, fixed = following(np.full(40_000, 0.1)), following(np.full(40_000, 0.01), optimizer="adam")
    assert norm(plain, 1.0, 1.0, 0.0)[updates - 1] == pytest.approx(sgd, abs=5e-5)
    assert norm(fixed, 1.0, entries=64)[updates - 1] == pytest.approx(adam, abs=5e-3)


def test_what_the_law_leaves_out_of_the_recursion() -> None:
    # r'^4 = a^4 r^4 + 2 a^2 lr^2 G^2 + lr^4 G^4/r^4: the last term, decayed, is all of it.
    trace, strength = TRACES["sgd with decay"], 1.7
    exact = sgd_norms(trace, 0.6, strength)
    before = np.concatenate([[0.6], exact[:-1]])
    later = np.append(np.cumprod((1 - trace.lr * trace.weight_decay)[:0:-1])[::-1], 1.0)
    left_out = ((trace.lr * strength / before * later) ** 4).sum()
    predicted = norm(trace, 0.6, strength, noise=0.0)[-1] ** 4
    assert exact[-1] ** 4 == pytest.approx(predicted + left_out, rel=1e-12)


def test_the_law_of_sgd_is_right_to_second_order_in_the_rate() -> None:
    apart = []
    for f in (2, 4, 8):
        trace = finer(TRACES["sgd with decay"], f)
        apart.append(np.log(sgd_norms(trace, 1.0, 1.5)[-1] / norm(trace, 1.0, 1.5, noise=0.0)[-1]))
    assert np.log2(np.array(apart[:-1]) / apart[1:]) == pytest.approx([2, 2], abs=0.25)


def test_the_law_of_fixed_size_updates_is_exact() -> None:
    trace = following(np.linspace(0.3, 0.0, 60), weight_decay=0.7, optimizer="muon", momentum=0.0)
    assert norm(trace, 1.3, entries=8.0) == pytest.approx(fixed_size_norms(trace, 1.3, 8.0), rel=1e-12)
    assert SCALE_INVARIANT.law(trace, **SETTINGS) == "exact"
    assert SCALE_INVARIANT.law(TRACES["muon"], **SETTINGS) == "leading order"


@pytest.mark.parametrize("name", TRACES)
def test_memory_is_the_exponent_of_the_norm(name: str) -> None:
    # Central differences: an error of epsilon^2.
    epsilon, others = 1e-4, {key: SETTINGS[key] for key in ("gradient_norm", "noise", "entries")}
    ends = np.log(norm(TRACES[name], 0.8 * np.exp([epsilon, -epsilon]), **others))
    exponent = (ends[0] - ends[1]) / (2 * epsilon)
    assert exponent == pytest.approx(radial_memory(TRACES[name], 0.8, **others), abs=1e-7)


@pytest.mark.parametrize("name", TRACES)
def test_simulated_exponents_tend_to_the_law(name: str) -> None:
    gaps, errors = [], []
    for f in (4, 8):
        trace = finer(TRACES[name], f)
        found = simulate(trace, 100, np.random.default_rng(f), **SETTINGS)
        gaps.append(found.mean() - radial_memory(trace, **SETTINGS)[-1])
        errors.append(found.std(ddof=1) / 10)
    if name == "muon":  # hardly any noise in 4096 dimensions, so that the order itself shows
        assert math.log2(gaps[0] / gaps[1]) == pytest.approx(2, abs=0.25)
    else:
        assert abs(4 * gaps[1] - gaps[0]) < 5 * math.hypot(4 * errors[1], errors[0])


def vector_norms(trace: Trace, starts: Array, seeds: int, rng: np.random.Generator) -> Array:
    """Norms of vectors of four entries, or of sixteen as a matrix of rank four, with G = 2 and noise 3."""
    name = trace.optimizer
    d, size = (16, 4.0) if name == "muon" else (4, 4.0)
    w = np.zeros((len(starts), seeds, d))
    w[..., 0] = starts[:, None]
    buffer = np.zeros_like(w)
    beta = 0.9 if name in ("adam", "adamw") else trace.momentum_coefficient
    for k in range(trace.updates):
        lr, rate = trace.lr[k], trace.weight_decay[k]
        r = np.linalg.norm(w, axis=-1, keepdims=True)
        spread = math.sqrt(9 / trace.batch_size[k] * (1 - trace.batch_size[k] / trace.train_size))
        signal, noise = rng.normal(size=(2, seeds, d))
        signal, noise = (part - (part * w).sum(-1, keepdims=True) * w / r**2 for part in (signal, noise))
        signal /= np.linalg.norm(signal, axis=-1, keepdims=True)
        g = (2 * signal + spread / math.sqrt(d - 1) * noise) / r
        if name == "sgd":
            buffer = beta * buffer + g + rate * w
            w = w - lr * buffer
            continue
        buffer = beta * buffer + (1 - beta) * g
        if name == "muon":
            ahead = beta * buffer + (1 - beta) * g
            step = math.sqrt(size) * ahead / np.linalg.norm(ahead, axis=-1, keepdims=True)
        else:
            # Its first average of gradients over the root mean square of their entries.
            buffer += (1 - beta) * g * (r * math.sqrt(size / (4 + spread**2)) - 1)
            step = buffer / (1 - beta ** (k + 1))
        w = (1 - lr * rate) * w - lr * step
    return np.linalg.norm(w, axis=-1)


@pytest.mark.parametrize("name", TRACES)
def test_three_numbers_a_run_follow_the_vectors(name: str) -> None:
    # Few dimensions, large steps: far from the law, where the two simulations agree none the less.
    seeds, starts = 2000, np.array([1.01, 0.99])
    trace = TRACES[name]
    trace = following(
        3 * trace.lr,
        batch_size=trace.batch_size,
        weight_decay=trace.weight_decay,
        optimizer=trace.optimizer,
        momentum=trace.momentum,
        train_size=10**9,
    )
    vectors = np.log(vector_norms(trace, starts, seeds, np.random.default_rng(0)))
    numbers = np.log(final_norms(trace, seeds, np.random.default_rng(1), starts, 2.0, 3.0, 4.0))
    for a, b in ((vectors[0], numbers[0]), (vectors[0] - vectors[1], numbers[0] - numbers[1])):
        error = math.sqrt((a.var(ddof=1) + b.var(ddof=1)) / seeds)
        assert abs(a.mean() - b.mean()) < 5 * error + 1e-12
    # A standard deviation has a relative error of about 1/sqrt(2 seeds).
    assert abs(vectors.std(axis=1) / numbers.std(axis=1) - 1).max() < 0.1


def adams(r0: float, updates: int, seeds: int) -> Array:
    """What torch's Adam adds to r^2, on vectors of 400 entries with C times sum lr^2 being 4."""
    rng = np.random.default_rng(0)
    trace = following(np.full(updates, 0.1 / math.sqrt(updates)), optimizer="adam")
    start = rng.normal(size=(seeds, 400))
    start *= r0 / np.linalg.norm(start, axis=-1, keepdims=True)

    def gradient(k: int, w: Array) -> Array:
        drawn = rng.normal(size=w.shape)
        square = (w * w).sum(-1, keepdims=True)
        return (drawn - (drawn * w).sum(-1, keepdims=True) / square * w) / np.sqrt(square)

    return (run(trace, start, gradient) ** 2).sum(-1) - r0**2


@pytest.mark.parametrize(("scale", "updates"), [(10.0, 4000), (1.0, 16_000), (0.5, 16_000)])
def test_adam_adds_its_entries_times_the_squared_rates_as_far_as_its_second_average_keeps_up(
    scale: float, updates: int
) -> None:
    grown = adams(scale, updates, 4)
    trace = following(np.full(updates, 0.1 / math.sqrt(updates)), optimizer="adam")
    predicted = adam_norms(trace, scale, 400)[-1] ** 2 - scale**2
    # The first average is a hundredth of the second.
    assert abs(grown.mean() - predicted) < 5 * grown.std(ddof=1) / 2 + 0.01 * predicted
    if scale == 10:
        assert predicted == pytest.approx(4, rel=0.01)
    else:
        assert grown.mean() < 3.7


def test_adam_from_a_small_start() -> None:
    # From small weights the second average still holds the large gradients that are gone.
    grown = adams(0.5, 4000, 4)
    assert grown.mean() == pytest.approx(2.72, abs=5 * grown.std(ddof=1) / 2 + 0.005)


def test_adam_with_a_second_average_without_delay_is_of_fixed_size() -> None:
    trace = following(np.linspace(0.1, 0.01, 50), weight_decay=0.5, optimizer="adamw")
    assert adam_norms(trace, 0.7, 9.0, beta2=0.0) == pytest.approx(
        fixed_size_norms(trace, 0.7, 9.0), rel=1e-12
    )


@pytest.mark.parametrize(("scale", "left"), [(1.0, 0.0273), (2.5, 0.1137)])
def test_what_real_adam_remembers_at_the_recipe_of_the_paper(scale: float, left: float) -> None:
    # Simulated on vectors of 1152 entries with shared gradients: 93,900 updates, 17 seconds.
    trace, r0, epsilon = following(np.full(93_900, 1e-3), optimizer="adam"), scale * math.sqrt(2), 1e-3
    ends = [math.log(adam_norms(trace, r0 * math.exp(shift), 1152)[-1]) for shift in (epsilon, -epsilon)]
    assert (ends[0] - ends[1]) / (2 * epsilon) == pytest.approx(left, rel=0.01)


@pytest.mark.parametrize(("scale", "left"), [(1.0, 0.0182), (2.5, 0.1036), (0.1, 0.0002)])
def test_adam_at_the_recipe_of_the_paper(scale: float, left: float) -> None:
    # A 3x3 kernel over 128 channels, with He's variance 2/1152 at scale 1.
    trace = following(np.full(93_900, 1e-3), optimizer="adam")
    found = radial_memory(trace, scale * math.sqrt(2), entries=1152)[-1]
    assert found == pytest.approx(left, abs=5e-5)


@pytest.mark.parametrize(
    ("gain", "apart"), [(0, 3.219), (1e-4, 3.046), (1e-2, 2.065), (1, 0.923), (100, 0.082)]
)
def test_what_sgd_leaves_of_a_range_of_scales(gain: float, apart: float) -> None:
    # 2 sum lr^2 G^2 in units of r_0^4 = 4.
    trace = following(np.full(93_900, 1e-3))
    strength = math.sqrt(gain * 4 / (2 * 93_900 * 1e-6))
    ends = norm(trace, math.sqrt(2) * np.array([2.5, 0.1]), gradient_norm=strength, noise=0.0)[:, -1]
    assert math.log(ends[0] / ends[1]) == pytest.approx(apart, abs=5e-4)


def test_batches_without_replacement() -> None:
    # N = 6: what is left of the variance at b = 1, 2, 3, 4, 6.
    trace = following(np.ones(5), batch_size=np.array([1.0, 2, 3, 4, 6]), train_size=6)
    assert batch_gradient_square(trace, 0.0, 1.0) == pytest.approx([1, 0.4, 0.2, 0.1, 0], abs=1e-15)
    assert batch_gradient_square(following(np.ones(1), train_size=1), 2.0, 1.0) == pytest.approx([4])


def test_the_clock_of_sgd_is_t_sgd_only_where_noise_dominates() -> None:
    def ages(gradient_norm: float, noise: float) -> list[float]:
        return [
            float(age(following(np.full(50, 0.01), batch_size=b), 2.0, gradient_norm, noise, 64.0)[-1])
            for b in (8, 32)
        ]

    sum_squares = 50 * 0.01**2
    for b, value in zip((8, 32), ages(0.0, 3.0), strict=True):
        assert value == pytest.approx(2 * 9 / 2**4 * sum_squares / b * (40_000 - b) / 39_999, rel=1e-12)
    assert ages(3.0, 0.0) == pytest.approx([2 * 9 / 2**4 * sum_squares] * 2, rel=1e-12)


def test_norms_come_to_rest_where_decay_and_growth_balance() -> None:
    # Beyond e^700 of undone decay: nothing overflows, and the start is gone.
    trace = following(np.full(200_000, 0.01), weight_decay=0.5, optimizer="adamw")
    balance = 0.01 * math.sqrt(64 / (1 - 0.995**2))
    assert norm(trace, 3.0, entries=64)[-1] == pytest.approx(balance, rel=1e-9)
    left, years = radial_memory(trace, 3.0, entries=64), age(trace, 3.0, 1.0, 1.0, 64.0)
    assert left[-1] == 0
    assert np.isfinite(years).all()
    assert (np.diff(years) >= 0).all()


recipes = st.builds(
    following,
    lr=st.lists(st.floats(0, 0.5), min_size=2, max_size=30).map(np.array),
    weight_decay=st.floats(0, 1),
    batch_size=st.integers(1, 100),
    optimizer=st.sampled_from(["sgd", "adamw", "muon"]),
)
scales = st.floats(0.01, 100)


@given(recipes, scales)
def test_memory_falls_from_one_towards_zero(trace: Trace, scale: float) -> None:
    left = radial_memory(trace, scale)
    assert ((left >= 0) & (left <= 1)).all()
    assert (np.diff(left) <= 1e-12).all()


@given(recipes, scales, st.data())
def test_cut_in_two_the_memory_is_a_product(trace: Trace, scale: float, data: st.DataObject) -> None:
    cut = data.draw(st.integers(1, trace.updates - 1))
    between = float(norm(trace[:cut], scale)[-1])
    parts = radial_memory(trace[:cut], scale)[-1] * radial_memory(trace[cut:], between)[-1]
    assert radial_memory(joined([trace[:cut], trace[cut:]]), scale)[-1] == pytest.approx(parts, rel=1e-9)


@given(recipes, scales, st.data())
def test_without_decay_ages_add_up(trace: Trace, scale: float, data: st.DataObject) -> None:
    plain = following(trace.lr, batch_size=trace.batch_size, optimizer=trace.optimizer)
    cut = data.draw(st.integers(1, plain.updates - 1))
    parts = [age(part, scale, 1.0, 1.0, 64.0)[-1] for part in (plain[:cut], plain[cut:])]
    assert age(plain, scale, 1.0, 1.0, 64.0)[-1] == pytest.approx(sum(parts), rel=1e-9, abs=1e-300)


@given(recipes, scales, st.integers(2, 5))
def test_without_decay_only_the_sum_of_squares_counts(trace: Trace, scale: float, f: int) -> None:
    plain = following(trace.lr, batch_size=trace.batch_size, optimizer=trace.optimizer)
    assert radial_memory(finer(plain, f), scale)[-1] == pytest.approx(
        radial_memory(plain, scale)[-1], rel=1e-9
    )


def test_refusals() -> None:
    trace = following(np.ones(2) / 10)
    with pytest.raises(InvalidInput, match="give a positive norm at the start"):
        norm(trace, 0.0)
    with pytest.raises(InvalidInput, match="give --weight-decay 0, or the optimizer adamw"):
        radial_memory(following(np.ones(2), weight_decay=0.1, optimizer="adam"), 1.0)
    with pytest.raises(InvalidInput, match="give at least 2"):
        simulate(trace, 2, np.random.default_rng(0), 1.0, 1.0, 1.0, 1.0)


def test_the_derivation_arrives_at_the_law() -> None:
    import sympy as sp

    steps = {step.text: step.equation for step in SCALE_INVARIANT.derive()}
    lr, G, Gamma, b, rate, tau = sp.symbols("lr G Gamma batch_size lambda tau", positive=True)
    fourth = sp.Symbol("r^4")

    def rhs(text: str) -> sp.Expr:
        found = steps[text].rhs
        known = {s.name: s for s in (lr, G, Gamma, b, rate, tau)}
        return found.subs({s: known[s.name] for s in found.free_symbols if s.name in known})

    assert rhs("its gradient is orthogonal to the weights") == 0
    # (lr/4)|grad|^2 is 2 lr G^2 in r^4, and the noise of b among N = 3 is 2 lr (N-b)/(b(N-1)) Gamma.
    assert sp.simplify(rhs("what (lr/4)*|grad L|^2 does to the norm") - 2 * lr * G**2) == 0
    noise = rhs("what the noise of batches of b among three shuffled examples adds")
    assert sp.simplify(noise - 2 * lr * Gamma * (3 - b) / (b * 2)) == 0
    decayed = rhs("with decay")
    assert sp.simplify(decayed - 2 * lr * G**2 + 4 * rate * (1 + lr * rate / 2) * fourth) == 0
    assert rhs("what a logarithm has beyond that decay, through lr") == 0
    assert sp.simplify(rhs("in units of the start, gains = tau*r_0^p") - 1 / (1 + tau)) == 0
    assert rhs("in those of Adam's average") == 1
    share = rhs("the squared weights of Muon's Nesterov average")
    at = following(np.ones(1), optimizer="muon", momentum=0.7)
    assert float(share.subs({s: sp.Rational(7, 10) for s in share.free_symbols})) == pytest.approx(
        buffer_share(at), rel=1e-12
    )
    # At a constant rate the flow's r^4 and the updates' differ by one part in lr*lambda.
    values = {"lr": 0.01, "G": 1.5, "lambda": 0.2, "r_0": 0.9, "t": 3.0}
    flow = steps["after a time t at a constant rate"].rhs
    flow = float(flow.subs({s: values[s.name] for s in flow.free_symbols}))
    updates = norm(following(np.full(300, 0.01), weight_decay=0.2), 0.9, 1.5, noise=0.0)[-1] ** 4
    assert updates == pytest.approx(flow, rel=0.01 * 0.2)
