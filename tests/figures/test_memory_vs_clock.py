import numpy as np
import pytest

from initmem.figures import memory_vs_clock, style
from initmem.figures.memory_panels import (
    FAMILIES,
    LENGTHS,
    SETTINGS,
    Dot,
    Panel,
    Setting,
    lengths,
    simulate_panel,
    simulate_panels,
)
from initmem.theory.models import gradient_free
from initmem.theory.models.memory import Prediction

# How far the same trainings are from the line by the other clock: reading over age of the four families.
# Rates enter plain or squared, of which a cosine keeps 1/2 and 3/8, and batches as 1/b or sqrt(b).
READINGS = (
    (1, 3, 1 / 4, 3 / 2),
    (1, 3, 1 / 4, 3 / 2),
    (1, 1 / 3, 4, 2 / 3),
    (1, 1 / 3, 4, 2 / 3),
    (1, 1 / 3, 4, 2 / 3),
    (1, 1 / 3, 1, 2 / 3),
    (1, 3, 1, 3 / 2),
    (1, 3, 1 / 8, 3 / 2),
)
CHEAP = SETTINGS[:2]


@pytest.fixture(scope="module")
def panels() -> tuple[Panel, ...]:
    return simulate_panels()


@pytest.fixture(scope="module")
def cheap() -> tuple[Panel, ...]:
    return simulate_panels(CHEAP)


def reading_of(setting: Setting, prediction: Prediction) -> float:
    """The other clock, from its definition."""
    trace = prediction.trace
    increments = {
        "T_SGD": trace.lr**2 / trace.batch_size,
        "T_adapt": trace.lr,
        "sum lr^2": trace.lr**2,
    }
    return float(increments[setting.other].sum())


def first_order(panel: Panel, dot: Dot) -> tuple[float, float]:
    """The range of means minus laws that the learning rate explains, beside which there is chance only."""
    prediction, model = dot.prediction, panel.setting.model
    age, memory, lr = prediction.age, prediction.memory, prediction.trace.lr.max()
    increment = prediction.model.age(prediction.trace, **prediction.settings)[0]  # of the age, at the peak
    if model in ("null-space", "row-space"):
        return 0.0, 0.0  # the law is exact
    if model in ("imbalance", "diagonal"):  # the net strays from what it fits; observed are .6 to 1.5
        return -1.6 * lr * age * memory, 0.0
    if panel.setting.optimizer == "sgd":  # the square of every increment, which falls as 1/r^4
        return -increment * np.log1p(age) * memory**2, 0.0
    if model == "scale-invariant":  # Adam's first average of the first 1/(1 - beta1) updates; 11 to 17
        return -18 * increment * memory**2, 0.0
    if model == "noisy-quadratic":  # the same average follows the weight beta1/(1 - beta1) updates behind
        return -10 * increment * age * memory, 0.0
    # Higher orders take from the lag, and at most two fifths, before the averages are full.
    lag = float(gradient_free.lag(prediction.trace, **prediction.settings)[-1])
    return 0.6 * lag, lag


@pytest.mark.slow
@pytest.mark.parametrize("index", range(len(SETTINGS)))
def test_every_training_is_on_the_line(panels, index):
    """Within 5 standard errors beyond what the learning rate explains; rounding where nothing is random."""
    panel = panels[index]
    assert len(panel.dots) == len(FAMILIES) * LENGTHS
    for dot in panel.dots:
        low, high = first_order(panel, dot)
        error = 5 * dot.simulation.standard_error + 1e-12
        assert low - error < dot.simulation.difference < high + error


@pytest.mark.slow
@pytest.mark.parametrize("index", range(len(SETTINGS)))
def test_it_can_be_seen_that_all_are_on_one_line(panels, index):
    """A dot is 4.6 points wide and a panel 130 high: the middles are within a dot of the line."""
    panel = panels[index]
    line = np.append(0.0, panel.ages), np.append(1.0, panel.memories)
    for dot in panel.dots:
        assert abs(dot.simulation.mean - np.interp(dot.prediction.age, *line)) < 4.6 / 130


@pytest.mark.parametrize("index", range(len(SETTINGS)))
def test_the_other_clock_reads_otherwise(index):
    """Up to the half update by which lengths are rounded."""
    setting = SETTINGS[index]
    first = setting.predict(FAMILIES[0], 1000)
    unit = first.age / reading_of(setting, first)
    for which, (family, ratio) in enumerate(zip(FAMILIES, READINGS[index], strict=True)):
        updates = lengths(setting, which)[-1]
        prediction = setting.predict(family, updates)
        reading = unit * reading_of(setting, prediction)
        assert reading / prediction.age == pytest.approx(ratio, rel=2 / updates + 1e-6)


def test_dots_have_the_reading_of_the_other_clock(cheap):
    for panel in cheap:
        for dot in panel.dots:
            ratio = READINGS[0][FAMILIES.index(dot.family)]
            updates = dot.prediction.trace.updates
            assert dot.reading / dot.prediction.age == pytest.approx(ratio, rel=2 / updates + 1e-6)


@pytest.mark.parametrize("index", range(len(SETTINGS)))
def test_ages_of_all_recipes_spread_evenly(index):
    setting = SETTINGS[index]
    ages = []
    for which, family in enumerate(FAMILIES):
        ages += [setting.predict(family, updates).age for updates in lengths(setting, which)]
    dots = len(FAMILIES) * LENGTHS
    even = setting.span * (np.arange(dots) + 0.5) / dots
    # A cosine of n updates has (n + 1)/2 of its rate; the rest is half an update of rounding.
    np.testing.assert_allclose(np.sort(ages), even, rtol=0.02)


def test_lines_are_those_of_the_laws():
    """Exponentials but for half the square of an update's decay, 1/(1 + age), and 1 - age."""
    null, norm, free = (SETTINGS[i] for i in (0, 5, 6))
    for setting, law in (
        (null, lambda a: np.exp(-a)),
        (norm, lambda a: 1 / (1 + a)),
        (free, lambda a: 1 - a),
    ):
        prediction = setting.predict(FAMILIES[0], 500)
        pace = prediction.age / 500
        assert prediction.memory == pytest.approx(law(prediction.age), rel=pace * prediction.age)


def test_the_same_numbers_every_time(cheap):
    again = simulate_panel(SETTINGS[1])
    assert [dot.simulation for dot in again.dots] == [dot.simulation for dot in cheap[1].dots]
    assert len({dot.simulation.mean for dot in again.dots}) == len(again.dots)


def test_what_is_drawn_is_what_was_computed(cheap):
    figure = memory_vs_clock.draw(cheap)
    for axes, panel in zip(figure.axes, cheap, strict=False):
        drawn = {str(line.get_gid()): np.asarray(line.get_xydata()) for line in axes.lines if line.get_gid()}
        np.testing.assert_array_equal(drawn["law"][1:], np.column_stack([panel.ages, panel.memories]))
        for container, family in zip(axes.containers, FAMILIES, strict=True):
            dots = [dot for dot in panel.dots if dot.family == family]
            expected = [(dot.prediction.age, dot.simulation.mean) for dot in dots]
            np.testing.assert_array_equal(container[0].get_xydata(), expected)
            (bars,) = container[2]
            heights = [np.ptp(segment[:, 1]) / 2 for segment in bars.get_segments()]
            np.testing.assert_allclose(heights, [d.simulation.standard_error for d in dots], atol=1e-15)
            rings = [(d.reading, d.simulation.mean) for d in dots if d.reading <= panel.setting.span]
            if family is FAMILIES[0]:
                assert f"ring {family.words}" not in drawn
            else:
                np.testing.assert_array_equal(drawn[f"ring {family.words}"], rings)


def test_equal_figures_are_equal_files(cheap, tmp_path):
    first, second = (style.save(memory_vs_clock.draw(cheap), tmp_path / name) for name in ("first", "second"))
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_alternative_says_the_largest_distances(cheap):
    said = memory_vs_clock.alt(cheap)
    for panel in cheap:
        largest = max(abs(dot.simulation.difference) for dot in panel.dots)
        assert f"under {panel.setting.recipe}, {largest:.2g}" in said
    assert said.endswith(".")
