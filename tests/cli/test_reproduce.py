"""``reproduce`` is ``sweep`` and ``validate``; its parts can be done again without changing them."""

import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from initmem.empirics.table import gather


def run(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", "initmem.cli", *arguments], capture_output=True, text=True)


def test_what_it_leaves(smoke: Path) -> None:
    assert {p.name for p in smoke.iterdir()} == {
        "sweep.json", "runs", "table.csv", "table.parquet", "cells.csv", "figures", "report.html",
    }  # fmt: skip
    pictures = ("clock_vs_spread", "radial_memory", "accuracy_vs_scale")
    assert {p.name for p in (smoke / "figures").iterdir()} == {
        f"{p}.{e}" for p in pictures for e in ("svg", "png")
    }


def test_the_table_on_disk_is_the_gathered_one(smoke: Path) -> None:
    pd.testing.assert_frame_equal(pd.read_parquet(smoke / "table.parquet"), gather(smoke))
    assert len(pd.read_csv(smoke / "table.csv")) == 24


def test_validation_again_gives_the_same_files(smoke: Path) -> None:
    before = {p: p.read_bytes() for p in smoke.rglob("*") if p.is_file()}
    done = run("validate", str(smoke))
    assert done.returncode == 0
    assert {p: p.read_bytes() for p in smoke.rglob("*") if p.is_file()} == before


def test_reproduce_again_trains_nothing(smoke: Path) -> None:
    before = {p: p.stat().st_mtime_ns for p in (smoke / "runs").rglob("*")}
    done = run("reproduce", "--preset", "smoke", "--out", str(smoke))
    assert done.returncode == 0
    assert {p: p.stat().st_mtime_ns for p in (smoke / "runs").rglob("*")} == before
    assert "24/24 runs" in done.stderr


def test_another_preset_is_refused(smoke: Path) -> None:
    done = run("reproduce", "--preset", "quick", "--out", str(smoke))
    assert done.returncode == 2
    assert "holds another sweep, 'smoke', not this 'quick'" in done.stderr


@pytest.mark.parametrize("command", [(), ("clocks",), ("sweep",), ("validate",), ("reproduce",)])
def test_help_fits_eighty_columns(command: tuple[str, ...]) -> None:
    environment = os.environ | {"COLUMNS": "80", "TERM": "dumb"}
    done = subprocess.run(
        [sys.executable, "-m", "initmem.cli", *command, "--help"],
        capture_output=True,
        text=True,
        env=environment,
    )
    assert done.returncode == 0
    assert "Usage: initmem-theory" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
