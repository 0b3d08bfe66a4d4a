import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from initmem.empirics.presets import preset
from initmem.validate.numbers import fixed, interval, significant
from initmem.validate.report import ReportFigure, render_report
from initmem.validate.report_tables import regression_rows

FIGURES = [
    ReportFigure(f"Title {n}", f"Caption {n}", f"Alternative {n} < {n + 1}", b"<svg/>") for n in range(3)
]


class Page(HTMLParser):
    """Tables as lists of rows of texts, and the tags with their attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tables: list[list[list[str]]] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self._cell = False
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
            self._cell = True

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            self._cell = False

    def handle_data(self, data):
        self.text += data
        if self._cell:
            self.tables[-1][-1][-1] += data


@pytest.fixture(scope="module")
def html(study) -> str:
    return render_report(study, FIGURES)


@pytest.fixture(scope="module")
def page(html) -> Page:
    return Page(html)


def test_nothing_is_fetched(page):
    addresses = [a[k] for _, a in page.tags for k in ("src", "href", "srcset", "action") if k in a]
    assert len(addresses) == len(FIGURES)
    assert all(address.startswith("data:image/svg+xml;base64,") for address in addresses)
    assert not {"script", "link", "iframe", "object", "base"} & {tag for tag, _ in page.tags}


def test_styles_fetch_nothing(html):
    style = html[html.index("<style>") : html.index("</style>")]
    assert "url(" not in style
    assert "@import" not in style


def test_names_are_escaped(html, page):
    assert "<script" not in html
    assert "muon &lt;script&gt;" in html
    assert "muon <script>" in [row[0] for row in page.tables[1]]


def test_every_claim_has_its_verdict_in_words(page, study):
    rows = page.tables[0][1:]
    assert [row[0] for row in rows] == [claim.number for claim in study.claims]
    for row, claim in zip(rows, study.claims, strict=True):
        assert claim.verdict in row[2]
        assert row[1::2] == [claim.statement, claim.numbers, claim.reported]
    assert (
        "Of the 4 claims examined, 1 is supported, 1 is contradicted, 1 is underpowered and 1 is not "
        "tested." in page.text
    )


def test_every_spread_is_the_one_of_the_table(page, study):
    rows = {row[0]: row for row in page.tables[1][1:]}
    assert list(rows) == list(study.cells.cell)
    for cell in study.cells.itertuples():
        row = rows[cell.cell]
        assert float(row[1]) == pytest.approx(cell.spread, abs=0.05)
        assert row[1] == f"{cell.spread:.1f}"
        assert row[2] == f"[{cell.spread_low:.1f}, {cell.spread_high:.1f}]"
        assert row[3:6] == [f"{value:.1f}" for value in (cell.spread_final, cell.floor, cell.floor_95)]
        assert row[-3:] == ["12 of 12", "0", "0"]
    assert rows["sgd"][8] == "0.80"


def test_the_clocks_in_force_are_bold(html):
    # The cell "sgd l2": 100 updates at lr 0.1, b = 128 and decay 0.01.
    assert f"<strong>{significant(0.1**2 * 100 / 128)}</strong>" in html
    assert f"<strong>{significant(0.01 * 0.1 * 100)}</strong>" in html
    assert f'<span class="unit">{significant(0.1 * 100)}</span>' in html


def test_regressions_are_the_fits(study):
    rows = regression_rows(study)
    assert rows[0]["clock"] == "T_SGD"
    assert rows[0]["slope"] == fixed(study.fits[0].coef_, 2)
    assert rows[0]["left_out"] == ["adam, muon <script>: T_SGD is not in force"]
    ranks = [row["cells"] for row in rows]
    assert ranks == sorted(ranks, reverse=True)  # "in force" before "all"


def test_figures_have_alternatives(page):
    images = [attributes for tag, attributes in page.tags if tag == "img"]
    assert [image["alt"] for image in images] == [figure.alt for figure in FIGURES]
    for figure in FIGURES:
        assert figure.caption in page.text


def test_tables_have_captions_and_scopes(page):
    tags = [tag for tag, _ in page.tags]
    assert tags.count("caption") == tags.count("table") == 4
    assert all("scope" in attributes for tag, attributes in page.tags if tag == "th")
    assert ("html", {"lang": "en"}) in page.tags
    assert [tag for tag in tags if re.fullmatch("h[1-6]", tag)] == ["h1"] + ["h2"] * 9


def test_missing_and_diverged_runs_are_named(study):
    table = study.table.drop(index=0)
    table["diverged"] = table.run == "adam 1 2.5"
    text = Page(render_report(replace(study, table=table), [])).text
    assert "not trained: cell “sgd”, scale 0.1, seed 0" in text
    assert "diverged: cell “adam”, scale 2.5, seed 1" in text


def test_what_is_not_there_is_a_dash(study):
    cells = study.cells.assign(spread=np.nan, spread_low=np.nan, spread_final=np.nan)
    page = Page(render_report(replace(study, cells=cells, fits=[], claims=[]), []))
    assert page.tables[1][1][1:4] == ["–", "–", "–"]
    assert "No cell has a spread" in page.text
    assert "No regression could be made" in page.text
    assert "nan" not in page.text


def test_a_preset_is_named_in_the_commands(study):
    smoke = preset("smoke")
    assert "sweep --preset smoke --out DIR" in render_report(replace(study, sweep=smoke), [])
    renamed = smoke.model_copy(update={"seeds": (5,)})
    assert "--preset" not in render_report(replace(study, sweep=renamed), [])


def test_equal_studies_give_equal_reports(study, html):
    assert render_report(study, FIGURES) == html


def test_rounding():
    assert fixed(-1.25, 2) == "−1.25"
    assert significant(7.3125e-4) == "0.000731"
    assert significant(999.6) == "1e3"
    assert interval(float("inf"), 1.0) == "–"
