"""The tables of a report: a study's numbers as rows of text."""

from collections import Counter
from typing import Any

import pandas as pd

from ..theory.clocks import CLOCKS
from .numbers import DASH, fixed, interval, probability, significant
from .regression import ClockRegression
from .study import Study

Row = dict[str, Any]


# Which cells a regression counts, in the order of the table.
COUNTED = {"in_force": "in force", "alone": "alone in force", "all": "all"}


def result_rows(study: Study) -> list[Row]:
    """One row a cell: what was measured."""
    planned = len(study.sweep.init_scales) * len(study.sweep.seeds)
    missing = Counter(run.cell.name for run in study.missing)
    cells = study.cells.merge(study.radial, on="cell", how="left")
    return [
        {
            "cell": cell.cell,
            "spread": fixed(cell.spread),
            "spread_interval": interval(cell.spread_low, cell.spread_high),
            "spread_final": fixed(cell.spread_final),
            "floor": fixed(cell.floor),
            "floor_95": fixed(cell.floor_95),
            "above": bool(cell.spread > cell.floor_95),
            "p": probability(cell.p_value),
            "seed_sd": fixed(cell.seed_sd),
            "slope": fixed(cell.slope, 2),
            "slope_interval": interval(cell.slope_low, cell.slope_high, 2),
            "interpolated": _percent(cell.interpolated),
            "runs": f"{cell.runs} of {planned}",
            "missing": missing[cell.cell],
            "diverged": cell.diverged,
            "note": cell.note,
        }
        for cell in cells.itertuples()
    ]


def recipe_rows(cells: pd.DataFrame) -> list[Row]:
    """One row a cell: how it was trained, and its clocks with those in force."""
    return [
        {
            "cell": cell.cell,
            "optimizer": cell.optimizer,
            "lr": f"{cell.lr:g}",
            "schedule": cell.schedule,
            "epochs": f"{cell.epochs:,}",
            "updates": f"{cell.updates:,}",
            "batch_size": f"{cell.batch_size:,}",
            "momentum": f"{cell.momentum:g}",
            "weight_decay": f"{cell.weight_decay:g}",
            "clocks": [
                {"value": significant(getattr(cell, name)), "governs": name in _in_force(cell)}
                for name in CLOCKS
            ],
        }
        for cell in cells.itertuples()
    ]


def regression_rows(study: Study) -> list[Row]:
    """One row a regression, those over the cells that the clock governs first."""
    own_first = sorted(study.fits, key=lambda fit: list(COUNTED).index(fit.cells))
    return [
        {
            "clock": row["clock"],
            "at": "horizon" if row["at"] == "horizon" else "selected checkpoint",
            "cells": COUNTED[row["cells"]],
            "slope": fixed(row["slope"], 2),
            "slope_interval": interval(row["slope_low"], row["slope_high"], 2),
            "r_squared": fixed(row["r_squared"], 2),
            "n_cells": row["n_cells"],
            "n_runs": row["n_runs"],
            "left_out": _left_out(fit),
        }
        for fit in own_first
        for row in [fit.summary()]
    ]


def _left_out(fit: ClockRegression) -> list[str]:
    """Cells by the reason why they are not in a regression."""
    by_reason: dict[str, list[str]] = {}
    for cell, reason in fit.left_out_.items():
        by_reason.setdefault(reason, []).append(cell)
    return [f"{', '.join(names)}: {reason}" for reason, names in by_reason.items()]


def _in_force(cell: Any) -> list[str]:
    return cell.in_force.split("+")


def _percent(share: float) -> str:
    return DASH if pd.isna(share) else f"{100 * share:.0f}%"
