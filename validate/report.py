"""A study as one HTML file that needs nothing beside it: no network, no script, no other file."""

import base64
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from ..empirics.presets import PRESETS
from .evidence import FITTED, fits_training_data
from .numbers import fixed
from .report_tables import recipe_rows, regression_rows, result_rows
from .study import Study

VERDICTS = ("supported", "contradicted", "underpowered", "not tested")
# A sign beside the word, and the class that colours both: a verdict is never colour alone.
SIGNS = {"supported": "✓", "contradicted": "✗", "underpowered": "≈", "not tested": "○"}
PACKAGES = ("initmem-theory", "torch", "numpy", "scipy", "statsmodels")


@dataclass(frozen=True)
class ReportFigure:
    """A figure of the report.

    Attributes
    ----------
    title, caption : str
    alt : str
        The figure in one sentence, with its main numbers, for who cannot see it.
    svg : bytes
    """

    title: str
    caption: str
    alt: str
    svg: bytes

    @property
    def source(self) -> str:
        """The picture itself, as the address of an ``img``."""
        return "data:image/svg+xml;base64," + base64.b64encode(self.svg).decode()


def render_report(study: Study, figures: Sequence[ReportFigure]) -> str:
    """The report of a study.

    Parameters
    ----------
    study : Study
    figures : sequence of ReportFigure
        The first one stands at the top, under the verdicts; the others follow the tables.

    Returns
    -------
    str
        HTML; equal studies and figures give equal text.
    """
    return _template().render(
        study=study,
        answer=_answer(study),
        figures=figures,
        fitted=f"{FITTED:.0%}",
        unfitted=list(study.cells.cell[~fits_training_data(study.cells)]),
        signs=SIGNS,
        results=result_rows(study),
        recipes=recipe_rows(study.cells),
        regressions=regression_rows(study),
        incidents=_incidents(study),
        limits=_limits(study),
        setting=_setting(study),
        versions={name: version(name) for name in PACKAGES},
        commands=_commands(study),
    )


@cache
def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("initmem.validate", package_path=""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html.j2")


def _answer(study: Study) -> list[str]:
    """The answer in a few sentences, every one made from numbers."""
    count = Counter(claim.verdict for claim in study.claims)
    tally = _join([f"{_are(count[verdict])} {verdict}" for verdict in VERDICTS if count[verdict]])
    sentences = [f"Of the {len(study.claims)} claims examined, {tally}."] if study.claims else []
    known = study.cells.dropna(subset="spread")
    if known.empty:
        return [*sentences, "No cell has a spread: at least two scales must be trained."]
    top, bottom = known.loc[known.spread.idxmax()], known.loc[known.spread.idxmin()]
    sentences.append(
        f"The test accuracy depends most on the scale of the start in cell {_spread(top)}, and least "
        f"in cell {_spread(bottom)}."
    )
    rated = known.dropna(subset="floor_95")
    if len(rated):
        above = int((rated.spread > rated.floor_95).sum())
        sentences.append(
            f"In {above} of {len(rated)} cells the spread is larger than seeds alone would make it in "
            f"19 of 20 repetitions."
        )
    return sentences


def _spread(cell: Any) -> str:
    return (
        f"“{cell.cell}” ({fixed(cell.spread)} pp; noise floor {fixed(cell.floor)}, "
        f"95% floor {fixed(cell.floor_95)})"
    )


def _incidents(study: Study) -> list[str]:
    """Runs that are not there or did not end well, by name."""
    missing = [
        f"not trained: cell “{run.cell.name}”, scale {run.init_scale:g}, seed {run.seed}"
        for run in study.missing
    ]
    diverged = [
        f"diverged: cell “{run.cell}”, scale {run.init_scale:g}, seed {run.seed}"
        for run in study.diverged.itertuples()
    ]
    return missing + diverged


def _setting(study: Study) -> dict[str, str]:
    """Data, network and grid in words; what differs between cells is listed."""
    cells, scales = study.sweep.cells, study.sweep.init_scales
    data = [
        f"{cell.data.name}: {cell.recipe.train_size:,} training and {cell.data.validation_size:,} "
        f"validation images, the rest for testing, pixel noise of standard deviation "
        f"{cell.data.pixel_noise:g}, split seed {cell.data.split_seed}"
        for cell in cells
    ]
    networks = [f"{cell.network.name} with BatchNorm, width {cell.network.width}" for cell in cells]
    return {
        "Data": "; ".join(dict.fromkeys(data)),
        "Network": "; ".join(dict.fromkeys(networks)),
        "Start": "He-normal kernels times the scale σ_w ∈ {" + ", ".join(f"{s:g}" for s in scales) + "}",
        "Seeds": ", ".join(map(str, study.sweep.seeds)),
        "Runs": f"{len(study.table)} of {len(study.sweep.runs())}, in {len(cells)} cells",
    }


def _limits(study: Study) -> list[str]:
    """What the study cannot say, as far as it can be read off its own configuration."""
    sweep = study.sweep
    widths = sorted({cell.network.width for cell in sweep.cells})
    splits = {(cell.data.name, cell.data.split_seed) for cell in sweep.cells}
    seeds = len(sweep.seeds)
    limits = [
        f"The network is small: a ResNet-9 of width {_join([str(w) for w in widths])}. The paper's "
        f"ResNet-56 and ResNet-110 are not trained, so what it says about depth is not examined.",
    ]
    if any(cell.data.name == "digits" for cell in sweep.cells):
        noisy = any(cell.data.pixel_noise for cell in sweep.cells)
        limits.append(
            "The images are scikit-learn's digits of 8×8 pixels"
            + (", made hard by pixel noise" if noisy else "")
            + "; spreads in percentage points do not carry over to CIFAR-10, their order may."
        )
    if len(splits) == 1:
        limits.append(
            "All cells share one split of the data: the intervals hold for this split, and say nothing "
            "about how the numbers change with another."
        )
    limits += [
        f"Seeds: {seeds}. Intervals and noise floors rest on noise pooled over the scales of a cell; "
        f"where large scales are noisier than small ones, as is common, they are approximate.",
        "A spread is a range over the scales that were tried: another grid gives another range.",
        "The train accuracy behind “interpolated” is averaged over the batches of an epoch while the "
        "weights move, in training mode; it is not measured again at the epoch's end.",
        "A regression has one observation a cell, the cells were chosen and not drawn, and within a "
        "sweep the clocks move together: a slope is a description, not a law.",
    ]
    governed = study.cells[study.cells.in_force.str.contains("T_adapt")]
    if len(governed) > 2 and np.log(governed[["lr", "T_adapt"]]).corr().iloc[0, 1] > 0.9:
        limits.append(
            "Among the cells that T_adapt governs it grows with the learning rate (correlation of the logs "
            "above 0.9): these cells cannot tell T_adapt from the rate itself or from Σ η²."
        )
    if (study.cells.in_force.str.contains("T_SGD") & study.cells.in_force.str.contains("T_L2")).any():
        limits.append(
            "Cells that two clocks govern enter the regression of each: the slope on T_SGD over all cells in "
            "force includes cells that forget by decay. The rows “alone in force” leave them out."
        )
    limits.append("No correction is made for testing several claims at once.")
    return limits


def _commands(study: Study) -> list[str]:
    """What computes the report again; a sweep that is no preset is described in its own folder."""
    name = study.sweep.name
    again = ["initmem-theory validate DIR"]
    if name in PRESETS and PRESETS[name]() == study.sweep:
        again.insert(0, f"initmem-theory sweep --preset {name} --out DIR")
    return again


def _are(count: int) -> str:
    return f"{count} {'is' if count == 1 else 'are'}"


def _join(words: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))
