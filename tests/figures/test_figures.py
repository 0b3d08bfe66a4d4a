from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from initmem.figures import accuracy_vs_scale, clock_vs_spread, radial_memory, style
from initmem.figures.labels import spread_apart
from initmem.theory.clocks import CLOCKS


def lines(axes: Axes, gid: str) -> list[Line2D]:
    return [line for line in axes.lines if (line.get_gid() or "").startswith(gid)]


def name_of(line: Line2D) -> str:
    return str(line.get_gid()).removeprefix("cell ")


@pytest.fixture
def clock_figure(cells, regressions):
    return clock_vs_spread.draw(cells, regressions)


def panel(figure, clock: str) -> Axes:
    return next(axes for axes in figure.axes if axes.get_xlabel() == clock_vs_spread.AXIS_LABELS[clock])


@pytest.mark.parametrize("clock", CLOCKS)
def test_points_are_the_cells_that_the_clock_governs(clock_figure, cells, clock):
    drawn = {
        name_of(line): (*np.asarray(line.get_xdata()), *np.asarray(line.get_ydata()))
        for line in lines(panel(clock_figure, clock), "cell ")
    }
    expected = {
        row.cell: (getattr(row, clock), row.spread)
        for row in cells.itertuples()
        if clock in row.in_force.split("+")
    }
    assert drawn == expected


def test_the_line_is_the_fit(clock_figure, regressions):
    axes = panel(clock_figure, "T_SGD")
    fit = clock_vs_spread.horizon_fit(regressions, "T_SGD")
    assert fit is not None
    (line,) = lines(axes, "line")
    x = np.asarray(line.get_xdata())
    np.testing.assert_array_equal(line.get_ydata(), fit.predict(x))
    assert (x[0], x[-1]) == pytest.approx((fit.cells_.T_SGD.min(), fit.cells_.T_SGD.max()))
    band = np.asarray(axes.collections[0].get_paths()[0].vertices)
    low, high = fit.band(x)
    assert band[:, 1].min() == pytest.approx(low.min())
    assert band[:, 1].max() == pytest.approx(high.max())
    words = " ".join(text.get_text() for text in axes.texts)
    assert f"slope {fit.coef_:.2f}".replace("-", "−") in words
    assert f"R² = {fit.r_squared_:.2f}, {fit.n_cells_} cells" in words


def test_a_panel_without_a_fit_says_so(clock_figure):
    axes = panel(clock_figure, "T_adapt")
    assert not lines(axes, "line")
    assert any("no fit: 2 of at least 3 cells" in text.get_text() for text in axes.texts)


def test_a_cell_without_spread_is_named(cells, regressions):
    broken = cells.assign(spread=cells.spread.where(cells.cell != "adam"))
    axes = panel(clock_vs_spread.draw(broken, regressions), "T_adapt")
    assert any("without a spread to show: adam" in text.get_text() for text in axes.texts)
    assert [line.get_gid() for line in lines(axes, "cell ")] == ["cell muon <script>"]


def test_labels_do_not_cover_each_other(clock_figure):
    clock_figure.draw_without_rendering()
    axes = panel(clock_figure, "T_SGD")
    boxes = [t.get_window_extent() for t in axes.texts if t.get_text().startswith("sgd")]
    assert len(boxes) == 4
    for index, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:index])


def test_spread_apart_keeps_order_and_gap():
    placed = spread_apart([0.3, 0.1, 0.31, 0.9], gap=0.1)
    assert placed == pytest.approx([0.255, 0.1, 0.355, 0.9])


def test_radial_lines_are_geometric_means_over_seeds(table, radial):
    figure = radial_memory.draw(table, radial)
    drawn = {name_of(line): line for a in figure.axes for line in lines(a, "cell ")}
    assert set(drawn) == set(table.cell)
    runs = table[table.cell == "sgd"]
    mean = np.exp(np.log(runs.set_index("init_scale").final_norm).groupby("init_scale").mean())
    np.testing.assert_allclose(np.asarray(drawn["sgd"].get_ydata()), mean, rtol=1e-12)
    texts = {text.get_text() for axes in figure.axes for text in axes.texts}
    assert {"sgd  0.80", "adam  0.20"} <= texts
    assert [axes.get_title(loc="left") for axes in figure.axes] == [
        "SGD",
        "SGD with weight decay",
        "Adam and AdamW",
        "Muon",
    ]


def test_accuracies_are_in_percent(table, cells):
    figure = accuracy_vs_scale.draw(table, cells)
    (line,) = lines(figure.axes[0], "mean")
    runs = table[table.cell == "sgd"]
    drawn = np.asarray(line.get_ydata())
    np.testing.assert_allclose(drawn, 100 * runs.groupby("init_scale").test_accuracy.mean())
    assert np.ptp(drawn) == pytest.approx(cells.spread[0])
    assert sum(axes.get_visible() for axes in figure.axes) == len(cells)


def drawings(table, cells, radial, regressions):
    return {
        "clocks": lambda: clock_vs_spread.draw(cells, regressions),
        "radial": lambda: radial_memory.draw(table, radial),
        "accuracy": lambda: accuracy_vs_scale.draw(table, cells),
    }


def settings():
    """The reader's settings, but for the backend: to look at that one makes matplotlib choose it."""
    return {key: mpl.rcParams[key] for key in mpl.rcParams if key != "backend"}


@pytest.mark.parametrize("which", ["clocks", "radial", "accuracy"])
def test_equal_figures_are_equal_files(table, cells, radial, regressions, which, tmp_path: Path):
    draw = drawings(table, cells, radial, regressions)[which]
    before = settings()
    first = style.save(draw(), tmp_path / "a.b" / "first")
    assert settings() == before
    # The reader's settings change nothing.
    with mpl.rc_context({"font.size": 20, "lines.linewidth": 9, "svg.fonttype": "none"}):
        second = style.save(draw(), tmp_path / "second")
    assert [path.name for path in first] == ["first.svg", "first.png"]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.b", "second.png", "second.svg"]


def test_alternatives_say_the_numbers(table, cells, radial, regressions):
    fit = clock_vs_spread.horizon_fit(regressions, "T_SGD")
    assert fit is not None
    said = clock_vs_spread.alt(cells, regressions)
    assert f"T_SGD {fit.coef_:.2f}" in said
    assert f"{cells.spread.max():.1f} pp (sgd)" in said
    assert "sgd 0.80" in radial_memory.alt(table, radial)
    assert f"sgd {cells.spread[0]:.1f} (best at 0.1, worst at 2.5)" in accuracy_vs_scale.alt(table, cells)
