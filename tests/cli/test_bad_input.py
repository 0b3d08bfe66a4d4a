"""Whatever is wrong: one sentence, the right status, no traceback."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from initmem.empirics import store
from initmem.empirics.presets import preset


def run(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", "initmem.cli", *arguments], capture_output=True, text=True)


def refused(done: subprocess.CompletedProcess, status: int, says: str) -> None:
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr + done.stdout
    # typer frames its own messages; ours are one line.
    words = " ".join(done.stderr.replace("│", " ").split())
    assert says in words
    if done.stderr.startswith("initmem-theory:"):
        assert done.stderr.count("\n") == 1
        assert done.stderr.rstrip().endswith(".")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("--schedule cosin", "schedule 'cosin' is unknown: choose one of constant, cosine, linear"),
        ("--lr -0.1", "lr = -0.1 is not allowed: input should be greater than 0"),
        ("--lr nan", "lr = nan is not allowed: input should be a finite number"),
        ("--lr fast", "Invalid value for '--lr'"),
        ("--epochs 0", "epochs = 0 is not allowed"),
        ("--epochs 5 --updates 9", "epochs = 5 and updates = 9 were both given: give one"),
        ("--batch-size 50000", "batch_size = 50000 is larger than the 40000 training images"),
        ("--weight-decay 1000", "lr * weight_decay = 1 would erase the weights in one update"),
        ("--weight-decay -1", "weight_decay = -1.0 is not allowed"),
        ("--momentum 1", "momentum = 1.0 is not allowed: input should be less than 1"),
        ("--optimizer rmsprop", "optimizer = 'rmsprop' is not allowed: input should be 'sgd', 'adam'"),
        ("--optimizer adam --momentum 0.9", "momentum belongs to sgd or muon"),
        ("--updates 1000000000000", "updates = 1000000000000 is not allowed: input should be less than or"),
        ("--epochs 1000000000", "give at most 1,000,000,000"),
        ("--lr 1e200", "lr = 1e+200 is not allowed: its clocks would overflow"),
        ("--lr 1e-200", "lr = 1e-200 is not allowed"),
        ("--warmup-epochs 1e308", "warmup_epochs = 1e+308 is not allowed"),
        ("--optimizer adam --weight-decay 1e308", "weight_decay = 1e+308 is not allowed"),
        ("--warmup-epochs 301", "shorten it"),
        ("--learning-rate 1", "No such option"),
    ],
)
def test_recipes(options: str, says: str) -> None:
    refused(run("clocks", *options.split()), 2, says)


def test_unknown_preset(tmp_path: Path) -> None:
    refused(
        run("reproduce", "--preset", "huge", "--out", str(tmp_path / "x")), 2, "'huge' is unknown: choose one"
    )
    assert not (tmp_path / "x").exists()


def test_folders(tmp_path: Path) -> None:
    refused(run("validate", str(tmp_path / "nothing")), 2, "holds no sweep")
    (tmp_path / "thesis.tex").write_text("mine")
    refused(run("sweep", "--preset", "smoke", "--out", str(tmp_path)), 2, "exists and holds no sweep")
    blocked = tmp_path / "thesis.tex" / "below"
    refused(run("sweep", "--preset", "smoke", "--out", str(blocked)), 1, "cannot be written")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "sweep.json").write_text('{"name": "x", ')
    refused(run("validate", str(tmp_path / "broken")), 2, "cannot be read as a sweep")
    assert (tmp_path / "thesis.tex").read_text() == "mine"


def test_an_unfinished_sweep(tmp_path: Path) -> None:
    store.create(tmp_path / "out", preset("smoke"))
    for options in ((), ("--allow-missing",)):
        refused(run("validate", str(tmp_path / "out"), *options), 1, "0 of 24 runs")


@pytest.mark.parametrize("damage", ["", "{", '{"run": 1}', "\x00\x01"])
def test_a_half_written_run(smoke: Path, damage: str) -> None:
    run_file = store.run_folder(smoke, preset("smoke").runs()[3]) / "run.json"
    whole = run_file.read_bytes()
    try:
        run_file.write_text(damage)
        refused(
            run("validate", str(smoke)),
            1,
            f"{run_file.parent} is missing, half-written, changed or of another run",
        )
        assert run_file.read_text() == damage  # validation changes no run
    finally:
        run_file.write_bytes(whole)


def test_too_few_rounds(smoke: Path) -> None:
    refused(run("validate", str(smoke), "--rounds", "3"), 2, "Invalid value for '--rounds'")


def test_a_sweep_that_diverged_says_so(smoke: Path, tmp_path: Path) -> None:
    """NaN losses end in the table and in the report, not in a crash."""
    sweep = preset("smoke")
    recipe = sweep.cells[0].recipe.model_copy(update={"lr": 1e30})
    lost = sweep.cells[0].model_copy(update={"name": "lost", "recipe": recipe})
    changed = sweep.model_copy(update={"cells": (*sweep.cells[:2], lost)})
    from initmem.empirics.sweep import run_sweep

    run_sweep(changed, tmp_path / "out", workers=2)
    done = run("validate", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    assert "6 of 18 runs diverged" in done.stderr
    assert "Traceback" not in done.stderr
    record = json.loads((store.run_folder(tmp_path / "out", changed.runs()[-1]) / "run.json").read_text())
    assert record["result"]["train_loss"] is None
    assert record["result"]["diverged_epoch"] == 1
    assert "diverged" in record["result"]["reason"]
    assert "lost" in (tmp_path / "out" / "report.html").read_text()

    only = sweep.model_copy(update={"cells": (lost,)})
    run_sweep(only, tmp_path / "only", workers=1)
    refused(run("validate", str(tmp_path / "only")), 1, "all 6 runs diverged")
