"""``initmem-theory clocks`` as a user types it."""

import json
import subprocess
import sys

import pytest

from initmem.theory.clocks import clocks
from initmem.theory.recipe import Recipe

HEAVY = (
    "torch",
    "torchvision",
    "pandas",
    "statsmodels",
    "sympy",
    "scipy",
    "matplotlib",
    "sklearn",
    "pyarrow",
)


def run(*arguments: str, python: tuple[str, ...] = ("-m", "initmem.cli")) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, *python, *arguments], capture_output=True, text=True)


def test_defaults_are_the_papers_recipe() -> None:
    done = run("clocks", "--json")
    result = json.loads(done.stdout)
    assert result == json.loads(json.dumps(clocks(Recipe()).to_dict()))
    assert result["updates"] == 93_600
    assert result["T_SGD"] == pytest.approx(7.3e-4, rel=0.01)
    wanted = {
        "updates",
        "sum_lr",
        "sum_lr_squared",
        "T_SGD",
        "T_L2",
        "T_adapt",
        "in_force",
        "recipe",
        "warnings",
    }
    assert wanted <= set(result)


def test_every_option_reaches_the_recipe() -> None:
    done = run(
        *[
            "clocks",
            "--json",
            "--schedule",
            "cosine",
            "--lr",
            "0.02",
            "--updates",
            "1000",
            "--batch-size",
            "64",
            "--train-size",
            "500",
        ],
        *[
            "--keep-last",
            "--optimizer",
            "muon",
            "--momentum",
            "0.8",
            "--weight-decay",
            "0.1",
            "--warmup-epochs",
            "2",
        ],
    )
    recipe = json.loads(done.stdout)["recipe"]
    assert recipe == {
        "optimizer": "muon", "lr": 0.02, "schedule": "cosine", "epochs": None, "updates": 1000,
        "warmup_epochs": 2.0, "batch_size": 64, "train_size": 500, "drop_last": False, "momentum": 0.8,
        "weight_decay": 0.1, "auxiliary_lr": None,
    }  # fmt: skip


def test_cosine_is_torchs() -> None:
    result = json.loads(
        run("clocks", "--json", "--schedule", "cosine", "--lr", "1", "--updates", "100").stdout
    )
    assert result["sum_lr"] == pytest.approx(50.5, rel=1e-14)
    assert result["sum_lr_squared"] == pytest.approx(38.0, rel=1e-14)


def test_the_table_says_what_is_in_force_and_why() -> None:
    out = run(
        "clocks", "--momentum", "0.9", "--weight-decay", "5e-4", "--lr", "0.1", "--schedule", "step"
    ).stdout
    for text in ("93,600", "4937.4", "470.363", "367.471", "24.687", "3.67471", "2.4687", "in force"):
        assert text in out
    assert "The start should be forgotten" in out


@pytest.mark.parametrize("output", [("--json",), ()])
def test_it_loads_nothing_heavy(output: tuple[str, ...]) -> None:
    script = f"""
import sys
sys.argv = ["initmem-theory", "clocks", "--schedule", "cosine", *{output!r}]
from initmem.cli import main
try:
    main()
finally:
    print(sorted(set(sys.modules) & set({HEAVY!r})), file=sys.stderr)
"""
    done = run(python=("-c", script))
    assert done.returncode == 0
    assert done.stderr.strip() == "[]"
