"""Run folders: whole or not there, never overwritten, damage found and named."""

import json

import pandas as pd
import pytest

from initmem.empirics import store
from initmem.empirics.config import Run, Sweep
from initmem.empirics.table import gather
from initmem.theory.errors import InvalidInput, WorkFailed

RESULT = {"test_accuracy": 0.5, "diverged": False, "repair_gap": float("nan"), "selected_epoch": None}


@pytest.fixture
def sweep(small_cell) -> Sweep:
    return Sweep(
        name="s", cells=(small_cell("a"), small_cell("b", lr=0.1)), init_scales=(0.5, 1.0), seeds=(0,)
    )


@pytest.fixture
def written(sweep: Sweep, tmp_path):
    """A sweep of four runs of which the first is written."""
    store.create(tmp_path / "out", sweep)
    first = sweep.runs()[0]
    store.write_run(tmp_path / "out", first, pd.DataFrame({"epoch": [1, 2]}), RESULT, {"torch": "x"})
    return tmp_path / "out", first


def test_a_run_comes_back_as_written(written) -> None:
    folder, run = written
    record = store.read_run(folder, run)
    assert Run.model_validate(record["run"]) == run
    assert record["result"] == RESULT | {"repair_gap": None}
    assert store.read_history(folder, run).epoch.tolist() == [1, 2]
    assert [store.is_finished(folder, r) for r in store.read_sweep(folder).runs()] == [True] + [False] * 3


def test_stored_json_is_strict(written) -> None:
    folder, run = written

    def refuse(constant: str):
        raise AssertionError(constant)

    json.loads((store.run_folder(folder, run) / "run.json").read_text(), parse_constant=refuse)


def test_a_finished_run_is_never_overwritten(written) -> None:
    folder, run = written
    path = store.run_folder(folder, run) / "run.json"
    before = path.read_bytes(), path.stat().st_mtime_ns
    store.write_run(folder, run, pd.DataFrame({"epoch": [9]}), RESULT | {"test_accuracy": 0.9}, {})
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    assert sorted(p.name for p in (folder / "runs").iterdir()) == [run.identity]


@pytest.mark.parametrize("left", ["runs", ".sweep.json.12345"])
def test_a_sweep_killed_at_its_start_can_be_started_again(sweep: Sweep, tmp_path, left: str) -> None:
    (tmp_path / "out").mkdir()
    if left == "runs":
        (tmp_path / "out" / left).mkdir()
    else:
        (tmp_path / "out" / left).write_text("{")
    store.create(tmp_path / "out", sweep)
    assert store.read_sweep(tmp_path / "out") == sweep


def test_another_sweep_is_refused(written, sweep: Sweep) -> None:
    folder, _ = written
    store.create(folder, sweep)
    with pytest.raises(InvalidInput, match="holds another sweep, 's', not this 't'"):
        store.create(folder, sweep.model_copy(update={"name": "t"}))


def test_a_folder_with_something_else_is_refused(sweep: Sweep, tmp_path) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(InvalidInput, match="exists and holds no sweep"):
        store.create(tmp_path, sweep)
    with pytest.raises(InvalidInput, match="exists and holds no sweep"):
        store.create(tmp_path / "thesis.tex", sweep)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe", b'{"name": "s"}'])
def test_an_unreadable_sweep_file(written, content: bytes) -> None:
    folder, _ = written
    (folder / "sweep.json").write_bytes(content)
    with pytest.raises(InvalidInput, match=r"sweep.json cannot be read as a sweep"):
        store.read_sweep(folder)


def test_no_sweep_at_all(tmp_path) -> None:
    with pytest.raises(InvalidInput, match="holds no sweep: .*sweep.json is missing"):
        gather(tmp_path)


@pytest.mark.parametrize(
    "damage",
    [
        lambda f: (f / "run.json").write_bytes((f / "run.json").read_bytes()[:100]),
        lambda f: (f / "run.json").write_bytes(b""),
        lambda f: (f / "run.json").unlink(),
        lambda f: (f / "run.json").write_text("[1, 2]"),
        lambda f: (f / "run.json").write_text("[" * 100_000),
        lambda f: (f / "run.json").write_text((f / "run.json").read_text().replace("0.5", "0.6")),
        lambda f: (f / "run.json").write_text('{"run": null, "result": {}}'),
        lambda f: (f / "history.parquet").write_bytes((f / "history.parquet").read_bytes()[:-3]),
        lambda f: (f / "history.parquet").unlink(),
    ],
)
def test_damage_is_named_and_set_aside(written, damage) -> None:
    folder, run = written
    path = store.run_folder(folder, run)
    damage(path)
    with pytest.raises(WorkFailed, match="start the same sweep again"):
        store.read_history(folder, run)
    left = sorted(p.name for p in path.iterdir())
    (moved,) = store.set_aside_damaged(folder, [run])
    assert not store.is_finished(folder, run)
    assert moved.name == f"{run.identity}.damaged-1"
    assert sorted(p.name for p in moved.iterdir()) == left  # nothing is deleted


def test_the_run_of_another_cell_in_its_place_is_damage(written, sweep: Sweep) -> None:
    folder, run = written
    other = sweep.runs()[1]
    store.run_folder(folder, run).rename(store.run_folder(folder, other))
    with pytest.raises(WorkFailed, match="changed or of another run"):
        store.read_run(folder, other)


def test_gather_names_what_is_missing(written) -> None:
    folder, _ = written
    with pytest.raises(WorkFailed, match="1 of 4 runs .* cell 'a', init_scale 1, seed 0"):
        gather(folder)
