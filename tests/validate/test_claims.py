"""Verdicts on made-up studies whose answer is known."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from initmem.empirics.config import Cell
from initmem.empirics.table import cell_columns
from initmem.theory.clocks import CLOCKS
from initmem.theory.recipe import Recipe
from initmem.validate.claims import claims
from initmem.validate.radial import radial_memory
from initmem.validate.regression import fits
from initmem.validate.spread import spread

SCALES, SEEDS = (0.1, 0.5, 1.0, 2.5), (0, 1, 2)


def cell(
    name: str, drop: float, memory: float, fitted: bool = True, sd: float = 1.0, **recipe: Any
) -> pd.DataFrame:
    """Runs whose accuracy falls by `drop` pp over the scales, with seed noise of `sd` pp."""
    config = Recipe.model_validate({"train_size": 480, "batch_size": 32, "epochs": 60, "lr": 0.03} | recipe)
    columns = cell_columns(Cell(name=name, recipe=config))
    random = np.random.default_rng(len(name))
    rows = [
        {
            "seed": seed,
            "init_scale": scale,
            "test_accuracy": 0.85 - drop / 100 * i / 3 + random.normal(0, sd / 100),
            "initial_norm": 10 * scale,
            "final_norm": 10 * scale**memory * np.exp(random.normal(0, 0.01)),
        }
        for seed in SEEDS
        for i, scale in enumerate(SCALES)
    ]
    return pd.DataFrame(rows).assign(
        **columns,
        **{f"{clock}_selected": columns[clock] for clock in CLOCKS},
        test_accuracy_final=lambda frame: frame.test_accuracy,
        interpolation_epoch=10.0 if fitted else np.nan,
        diverged=False,
    )


def verdicts(*frames: pd.DataFrame) -> dict[str, str]:
    table = pd.concat(frames, ignore_index=True)
    cells, radial = spread(table, rounds=500), radial_memory(table)
    return {c.number: c.verdict for c in claims(table, cells, radial, fits(cells), rounds=500)}


SGD = cell("sgd", 25, 0.8)


@pytest.mark.parametrize(
    ("number", "frames", "verdict"),
    [
        ("1", [SGD], "supported"),
        ("1", [cell("sgd", 0, 0.8)], "contradicted"),
        ("1", [cell("sgd", 4, 0.8, sd=2)], "underpowered"),
        ("1", [cell("sgd", 25, 0.8, fitted=False)], "not tested"),
        ("2", [SGD], "not tested"),
        ("2", [SGD, cell("long", 25, 0.8, epochs=240)], "supported"),
        ("2", [SGD, cell("long", 25, 0.5, epochs=240)], "contradicted"),
        ("2", [SGD, cell("long", 5, 0.8, epochs=240)], "contradicted"),
        ("3", [SGD, cell("adam", 2, 0.2, optimizer="adam", lr=0.02)], "supported"),
        ("3", [SGD, cell("adam", 45, 0.2, optimizer="adam", lr=0.02)], "contradicted"),
        ("3", [SGD, cell("adam", 12, 0.8, sd=4, optimizer="adam", lr=0.02)], "underpowered"),
        ("4", [cell("l2", 1, 0.1, lr=0.1, weight_decay=0.03)], "supported"),
        ("4", [cell("l2", 20, 0.1, lr=0.1, weight_decay=0.03)], "contradicted"),
        ("4", [cell("l2", 5, 0.1, lr=0.1, weight_decay=0.03)], "underpowered"),
        ("4", [cell("l2", 1, 0.1, weight_decay=1e-4)], "not tested"),
        ("5", [SGD, cell("b16", 15, 0.8, batch_size=16)], "supported"),
        ("5", [SGD, cell("b16", 25, 0.6, batch_size=16)], "supported"),
        ("5", [SGD, cell("b16", 35, 0.9, batch_size=16)], "contradicted"),
        ("5", [SGD, cell("b16", 35, 0.6, batch_size=16)], "underpowered"),  # the two measures disagree
        ("6", [SGD, cell("muon", 5, 0.1, optimizer="muon", lr=0.02)], "supported"),
        ("6", [SGD, cell("muon", 5, 0.9, optimizer="muon", lr=0.02)], "contradicted"),
        ("7", [SGD], "not tested"),
        ("A", [SGD, cell("long", 25, 0.8, epochs=240), cell("b16", 25, 0.8, batch_size=16)], "supported"),
        ("A", [SGD, cell("long", 25, 0.8, epochs=240), cell("b16", 25, 0.6, batch_size=16)], "contradicted"),
        ("A", [SGD, cell("b16", 25, 0.6, batch_size=16)], "not tested"),
        ("B", [SGD, cell("heavy", 25, 0.8, lr=0.003, momentum=0.9)], "supported"),
        ("B", [SGD, cell("heavy", 10, 0.8, lr=0.003, momentum=0.9)], "contradicted"),
        ("B", [SGD, cell("heavy", 25, 0.8, lr=0.01, momentum=0.9)], "not tested"),
        (
            "C",
            [cell("s", 25, 0.9, optimizer="adam", lr=0.001), cell("l", 2, 0.2, optimizer="adam", lr=0.02)],
            "supported",
        ),
        (
            "C",
            [cell("s", 2, 0.9, optimizer="adam", lr=0.001), cell("l", 25, 0.2, optimizer="adam", lr=0.02)],
            "contradicted",
        ),
    ],
)
def test_verdicts(number: str, frames: list[pd.DataFrame], verdict: str) -> None:
    assert verdicts(*frames)[number] == verdict


@pytest.mark.parametrize("number", ["1", "2", "3", "4", "A", "B", "C"])
def test_noise_alone_decides_nothing(number: str) -> None:
    """The cells that support these claims at one point of noise support and contradict none at thirty."""
    frames = [
        cell("sgd", 25, 0.8, sd=30),
        cell("long", 25, 0.8, epochs=240, sd=30),
        cell("b16", 25, 0.8, batch_size=16, sd=30),
        cell("heavy", 25, 0.8, lr=0.003, momentum=0.9, sd=30),
        cell("l2", 1, 0.1, lr=0.1, weight_decay=0.03, sd=30),
        cell("a", 25, 0.9, optimizer="adam", lr=0.001, sd=30),
        cell("adam", 2, 0.2, optimizer="adam", lr=0.02, sd=30),
    ]
    assert verdicts(*frames)[number] == "underpowered"


def family(law: Any) -> list[pd.DataFrame]:
    """SGD, SGD with decay, and Adam, four clocks each, with spreads that follow `law` of the clock's rank."""
    return [
        *(cell(f"sgd{i}", law(i), 0.5, lr=0.01 * 3**i) for i in range(4)),
        *(cell(f"decay {i}", law(i), 0.5, lr=0.01 * 3**i, weight_decay=0.1) for i in range(4)),
        *(cell(f"adaptive {i}", law(i), 0.5, optimizer="adam", lr=0.001 * 3**i) for i in range(4)),
    ]


def test_clocks_against_epochs() -> None:
    falling = verdicts(*family(lambda i: 40 * 0.5**i))
    rising = verdicts(*family(lambda i: 40 * 0.5 ** (3 - i)))
    flat = verdicts(*family(lambda i: 25))
    assert (falling["8"], rising["8"], flat["8"]) == ("supported", "contradicted", "underpowered")


def test_every_claim_of_the_paper_is_answered_in_order() -> None:
    assert list(verdicts(SGD)) == ["1", "2", "3", "4", "5", "6", "7", "8", "A", "B", "C"]
