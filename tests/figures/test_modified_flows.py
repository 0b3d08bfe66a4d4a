from pathlib import Path

import numpy as np
import pytest
import sympy as sp

from initmem.figures import modified_flows, style
from initmem.figures.modified_flows import SETTINGS, Setting, compare
from initmem.theory.optimizers import named
from initmem.theory.optimizers.constants import settle
from initmem.theory.optimizers.derivation import derive
from initmem.theory.optimizers.loss import Loss

# By which factor the distance of the last iterate falls from each order to the next. Observed are 5.1, 3.0
# and 2.3 for descent, 3.4, 2.7 and 2.6 for heavy ball, 5.8, 3.3 and 2.3 for Adam; these are four fifths.
FACTORS = {"gd": (4.0, 2.4, 1.8), "heavy-ball": (2.7, 2.1, 2.0), "adam": (4.6, 2.6, 1.8)}
NAMES = [setting.optimizer for setting in SETTINGS]


@pytest.fixture(scope="module")
def comparisons():
    return [compare(setting) for setting in SETTINGS]


@pytest.fixture(params=NAMES)
def comparison(comparisons, request):
    return comparisons[NAMES.index(request.param)]


def exact(setting: Setting) -> dict[str, sp.Rational]:
    return {name: sp.Rational(text) for name, text in setting.constants.items()}


def test_the_three_panels():
    assert NAMES == ["gd", "heavy-ball", "adam"]


def test_every_order_is_nearer_at_every_update(comparison):
    distances = comparison.distances
    assert distances.shape == (4, comparison.setting.updates + 1)
    assert (distances[:-1, 1:] > distances[1:, 1:]).all()
    falls = distances[:-1, -1] / distances[1:, -1]
    assert (falls > FACTORS[comparison.setting.optimizer]).all()


def test_all_flows_start_at_the_first_dot(comparison):
    for flow in comparison.flows:
        np.testing.assert_array_equal(flow[0], comparison.iterates[0])


def test_orders_are_told_apart_by_eye(comparison):
    """The plain flow ends visibly beside the last dot, more than a hundredth of the path away."""
    length = np.linalg.norm(np.diff(comparison.iterates, axis=0), axis=1).sum()
    assert comparison.distances[0, -1] > 0.01 * length
    assert comparison.distances[3, -1] < 0.01 * length


def test_expansions_are_within_their_limits(comparison):
    setting = comparison.setting
    for theta in comparison.iterates[[0, -1]]:
        at = dict(zip("xy", map(sp.Float, theta), strict=True))
        validity = derive(setting.optimizer, Loss.parse([setting.loss]), 0, exact(setting), at).validity
        assert validity.within


@pytest.mark.parametrize("index", [0, 1])
def test_flows_are_those_of_the_theory(comparisons, index):
    """They end where theory follows them to, but for the relative tolerance of 1e-12 of each step."""
    setting, flows = SETTINGS[index], comparisons[index].flows
    constants = settle(named(setting.optimizer), exact(setting))
    claimed = named(setting.optimizer).field(Loss.parse([setting.loss]), constants, 3)
    for order, flow in enumerate(flows):
        end = claimed.flow(flow[0], float(constants.lr), setting.updates, order)
        np.testing.assert_allclose(flow[-1], end, atol=1e-9)


def test_iterates_of_descent_on_a_quadratic_are_powers():
    setting = Setting("gd", "x**2/2 + y**2", {"lr": "0.2"}, (1.0, 1.0), 3)
    k = np.arange(4)
    np.testing.assert_allclose(compare(setting).iterates.T, [0.8**k, 0.6**k], rtol=1e-14)


def test_iterates_of_heavy_ball_have_forgotten_their_start():
    """Only the slow root of z**2 - (1 + beta - lr)*z + beta = 0 is left, both coordinates alike.

    After 57 updates the fast one is (0.565 / 0.885)**57 = 8e-12 of it.
    """
    setting = Setting("heavy-ball", "x**2/2 + y**2/2", {"lr": "0.05", "beta": "0.5"}, (1.0, 2.0), 5)
    iterates = compare(setting).iterates
    root = (1.45 + np.sqrt(1.45**2 - 2)) / 2
    np.testing.assert_allclose(iterates[1:] / iterates[:-1], root, rtol=1e-9)


def test_what_is_drawn_is_what_was_computed(comparisons):
    figure = modified_flows.draw(comparisons)
    drawn: dict[str, list] = {}
    for axes in figure.axes:
        for line in axes.lines:
            if line.get_gid():
                drawn.setdefault(str(line.get_gid()), []).append(line.get_xydata())
    for which, comparison in enumerate(comparisons):
        np.testing.assert_array_equal(drawn["iterates"][which], comparison.iterates)
        for order in range(4):
            np.testing.assert_array_equal(drawn[f"flow {order}"][which], comparison.flows[order])
            shown = drawn[f"distance {order}"][which]
            np.testing.assert_array_equal(shown[:, 1], comparison.distances[order, 1:])
            np.testing.assert_array_equal(shown[:, 0], np.arange(1, comparison.setting.updates + 1))


def test_labels_of_orders_do_not_cover_each_other(comparisons):
    figure = modified_flows.draw(comparisons)
    figure.draw_without_rendering()
    for axes in figure.axes:
        boxes = [t.get_window_extent() for t in axes.texts if t.get_text().startswith("order")]
        for index, box in enumerate(boxes):
            assert not any(box.overlaps(other) for other in boxes[:index])


def test_equal_figures_are_equal_files(comparisons, tmp_path: Path):
    first = style.save(modified_flows.draw(comparisons), tmp_path / "first")
    second = style.save(modified_flows.draw(comparisons), tmp_path / "second")
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_alternative_says_the_distances(comparisons):
    said = modified_flows.alt(comparisons)
    assert "0.045, 0.0088, 0.0029, 0.0013 after 10 updates of Gradient descent" in said
    for comparison in comparisons:
        assert ", ".join(f"{d:.2g}" for d in comparison.distances[:, -1]) in said
    assert said.count(".\n") == 0
    assert said.endswith(".")
