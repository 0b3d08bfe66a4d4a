from dataclasses import replace

import numpy as np
import pytest

from initmem.figures import phase_diagram, style
from initmem.figures.norm_phases import REGIONS, Norm
from initmem.figures.phase_diagram import DECAYS, guide
from initmem.theory.errors import InvalidInput
from initmem.theory.models import scale_invariant
from initmem.theory.trace import Trace

NORM = Norm()
SMALL = Norm(init_scale=0.7, gradient_norm=0.3, noise=1.4, train_size=1200, epochs=3)


def settings(norm: Norm) -> dict[str, float]:
    return {"init_scale": norm.init_scale, "gradient_norm": norm.gradient_norm, "noise": norm.noise}


def trace(norm: Norm, lr: float, batch_size: int, weight_decay: float) -> Trace:
    updates = norm.epochs * norm.train_size // batch_size
    return Trace(
        lr=np.full(updates, lr),
        batch_size=np.float64(batch_size),
        weight_decay=np.float64(weight_decay),
        train_size=norm.train_size,
    )


@pytest.mark.parametrize("weight_decay", [0.0, 1e-9, 1e-3, 0.3, 5.0])
@pytest.mark.parametrize("batch_size", [1, 8, 300, 1200])
@pytest.mark.parametrize("lr", [1e-3, 0.02, 0.15])
def test_the_geometric_sum_is_the_age_of_the_theory(lr, batch_size, weight_decay):
    """Up to the rounding of the 3600 updates that the theory sums, and of the logarithms."""
    run = trace(SMALL, lr, batch_size, weight_decay)
    decay, growth = SMALL.forgotten(lr, batch_size, weight_decay)
    memory = scale_invariant.radial_memory(run, **settings(SMALL))[-1]
    assert SMALL.memory(lr, batch_size, weight_decay) == pytest.approx(memory, rel=1e-9, abs=0)
    if decay + growth < 700:  # beyond it the age is no double
        age = scale_invariant.age(run, entries=128.0, **settings(SMALL))[-1]
        assert np.expm1(decay + growth) == pytest.approx(age, rel=1e-9)


@pytest.mark.parametrize("weight_decay", [0.0, 1e-3, 0.3])
@pytest.mark.parametrize("batch_size", [8, 300])
def test_what_is_forgotten_is_decay_and_growth_of_the_norm(batch_size, weight_decay):
    run = trace(SMALL, 0.02, batch_size, weight_decay)
    decay, growth = SMALL.forgotten(0.02, batch_size, weight_decay)
    norm = scale_invariant.norm(run, **settings(SMALL))[-1]
    assert growth == pytest.approx(4 * np.log(norm / SMALL.init_scale), rel=1e-9, abs=1e-12)
    # T_L2 is the first term of the logarithm, whose next is half its square.
    assert decay == pytest.approx(4 * run.decay.sum(), rel=0.02 * weight_decay, abs=1e-300)


def test_without_decay_half_is_left_where_the_age_is_one():
    batch = np.array([1.0, 16.0, 100.0, 1000.0, 40_000.0])
    signal, noise = NORM.gradient_squares(batch)
    updates = NORM.epochs * NORM.train_size / batch
    lr = np.sqrt(NORM.init_scale**4 / (2 * updates * (signal + noise)))
    np.testing.assert_allclose(NORM.memory(lr, batch, 0.0), 0.5, rtol=1e-12)
    assert (NORM.region(0.999 * lr, batch, 0.0) == REGIONS.index("remembered")).all()
    assert (NORM.region(1.001 * lr, batch, 0.0) != REGIONS.index("remembered")).all()


def test_noise_gives_way_to_signal_where_they_add_as_much():
    """G^2 = s^2/b (N - b)/(N - 1) has b = N s^2/(G^2 (N - 1) + s^2), here 99.75."""
    n, g, s = NORM.train_size, NORM.gradient_norm**2, NORM.noise**2
    even = n * s / (g * (n - 1) + s)
    assert even == pytest.approx(99.75, abs=0.005)
    left, right = NORM.region(0.5, [0.999 * even, 1.001 * even], 0.0)
    assert (REGIONS[left], REGIONS[right]) == ("noise", "signal")


def test_decay_takes_over_where_it_is_half_of_the_sum():
    """There the norm has grown as much as decay takes: with x = exp(4 T), 1 + tau = x^2."""
    lr = np.geomspace(1e-3, 1, 4001)
    decay, growth = NORM.forgotten(lr, 16.0, 3e-5)
    region = NORM.region(lr, 16.0, 3e-5)
    first = int(np.argmax(region == REGIONS.index("decay")))
    assert REGIONS[region[first - 1]] == "noise"
    assert decay[first] == pytest.approx(growth[first], rel=0.002)  # the grid is .0017 fine
    assert np.exp(decay + growth)[first] == pytest.approx(np.exp(2 * decay[first]), rel=0.01)
    assert (region[first:] == REGIONS.index("decay")).all()


def test_without_decay_nothing_decays():
    batch, lr = phase_diagram.grid(NORM)
    assert REGIONS.index("decay") not in NORM.region(lr, batch, 0.0)


@pytest.mark.parametrize(("batch", "slope"), [((1.0, 2.0), 1.0), ((20_000.0, 40_000.0), 0.5)])
def test_contours_run_along_equal_t_sgd_where_noise_dominates_alone(batch, slope):
    """The slope of ln(lr) over ln(b): 1 for noise, as that of T_SGD, and a half for the signal.

    What is left of the other part of the gradient turns it by at most .01: G^2 is a hundredth of s^2.
    """
    lr = np.geomspace(1e-4, 1, 20_001)
    rates = [np.interp(-0.5, -NORM.memory(lr, b, 0.0), lr) for b in batch]
    assert np.log(rates[1] / rates[0]) / np.log(2) == pytest.approx(slope, abs=0.012)
    t_sgd = [guide(NORM, b) ** 2 * NORM.epochs * NORM.train_size / b**2 for b in batch]
    assert t_sgd[0] == pytest.approx(t_sgd[1], rel=1e-12)


def test_more_is_forgotten_at_larger_rates_and_over_more_epochs():
    batch, lr = phase_diagram.grid(NORM)
    for weight_decay in DECAYS:
        forgotten = sum(NORM.forgotten(lr, batch, weight_decay))
        assert (np.diff(forgotten, axis=0) > 0).all()
        longer = sum(replace(NORM, epochs=101).forgotten(lr, batch, weight_decay))
        assert np.all(longer > forgotten)


@pytest.mark.parametrize(("lr", "weight_decay"), [(0.0, 0.0), (1.0, 1.0), (0.1, -1e-3)])
def test_what_no_recipe_can_have_is_refused(lr, weight_decay):
    with pytest.raises(InvalidInput, match="is out of range: give positive rates"):
        NORM.forgotten(lr, 16, weight_decay)


def test_names_stand_in_their_regions():
    figure = phase_diagram.draw()
    figure.draw_without_rendering()
    batch, lr = phase_diagram.grid(NORM)
    found = []
    for axes, weight_decay in zip(figure.axes, DECAYS, strict=True):
        names = [text for text in axes.texts if str(text.get_gid()).startswith("name ")]
        for text in names:
            box = text.get_window_extent().transformed(axes.transData.inverted())
            corners = NORM.region([box.y0, box.y0, box.y1, box.y1], [box.x0, box.x1] * 2, weight_decay)
            assert {REGIONS[corner] for corner in corners} == {text.get_text()}
            assert batch.min() < box.x0
            assert box.x1 < batch.max()
            assert lr.min() < box.y0
            assert box.y1 < lr.max()
        found.append({text.get_text() for text in names})
    assert found == [
        {"remembered", "signal", "noise"},
        {"remembered", "signal", "noise", "decay"},
        {"remembered", "signal", "decay"},
    ]


def test_the_guide_is_drawn_where_it_is_computed_and_its_name_along_it():
    figure = phase_diagram.draw()
    figure.draw_without_rendering()
    for axes in figure.axes:
        (line,) = (line for line in axes.lines if line.get_gid() == "guide")
        np.testing.assert_array_equal(line.get_ydata(), guide(NORM, np.asarray(line.get_xdata())))
        (name,) = (text for text in axes.texts if text.get_text().startswith("equal"))
        ends = axes.transData.transform(np.asarray(line.get_xydata())[[0, -1]])
        angle = np.degrees(np.arctan2(*(ends[1] - ends[0])[::-1]))
        assert name.get_rotation() == pytest.approx(angle, abs=0.1)


def test_equal_figures_are_equal_files(tmp_path):
    first, second = (style.save(phase_diagram.draw(), tmp_path / name) for name in ("first", "second"))
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_alternative_says_the_shares_of_the_regions():
    said = phase_diagram.alt()
    batch, lr = phase_diagram.grid(NORM)
    for weight_decay in DECAYS:
        region = NORM.region(lr, batch, weight_decay)
        shares = [f"{name} {100 * np.mean(region == index):.0f}%" for index, name in enumerate(REGIONS)]
        assert f"{', '.join(shares)} at weight decay {weight_decay:g}" in said
    assert said.endswith(".")
