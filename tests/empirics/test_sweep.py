"""Sweeps that are stopped, killed, damaged, and started again."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from initmem.empirics import store
from initmem.empirics.packing import packs, work
from initmem.empirics.presets import preset
from initmem.empirics.sweep import Progress, run_sweep
from initmem.empirics.table import gather, write_table
from initmem.theory.errors import InvalidInput, WorkFailed

COMMAND = [sys.executable, "-m", "initmem.cli", "sweep", "--preset", "smoke", "--workers", "2", "--out"]


@pytest.fixture(scope="module")
def reference(tmp_path_factory) -> Path:
    """The smoke sweep without an interruption, with its table."""
    folder = tmp_path_factory.mktemp("reference") / "out"
    subprocess.run([*COMMAND, str(folder)], check=True, capture_output=True)
    return folder


def content(folder: Path) -> dict[str, bytes]:
    """Every file of every run, by its place."""
    # Not the temporary folders, which a worker may still be renaming.
    return {str(p.relative_to(folder)): p.read_bytes() for p in (folder / "runs").glob("[0-9a-f]*/*")}


def tables(folder: Path) -> tuple[bytes, bytes]:
    return (folder / "table.csv").read_bytes(), (folder / "table.parquet").read_bytes()


def wait_for_runs(folder: Path, count: int, process: subprocess.Popen) -> None:
    """Until so many runs are there or the sweep has ended; polls the folder, which is all there is to see."""
    while process.poll() is None and len(list((folder / "runs").glob("[0-9a-f]*"))) < count:
        time.sleep(0.005)


@pytest.mark.slow
@pytest.mark.parametrize("trial", range(3))
def test_killed_at_a_random_moment_and_continued(reference: Path, tmp_path: Path, trial: int) -> None:
    """SIGKILL to the sweep, twice, then to the end: the table and all runs have the same bits."""
    folder = tmp_path / "out"
    moments = random.Random(trial)
    for _ in range(2):
        process = subprocess.Popen(
            [*COMMAND, str(folder)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        wait_for_runs(folder, moments.randrange(1, 24), process)
        process.kill()
        process.wait()
    before = content(folder)
    done = subprocess.run([*COMMAND, str(folder)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert tables(folder) == tables(reference)
    after = content(folder)
    assert after == content(reference)
    assert all(after[name] == data for name, data in before.items())


def test_ctrl_c_stops_cleanly(tmp_path: Path) -> None:
    """In the middle of a sweep that is too long to be over by then."""
    folder = tmp_path / "out"
    command = [*COMMAND[:5], "quick", *COMMAND[6:], str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while process.poll() is None and len(list(folder.glob("worker-*.log"))) < 2:
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate()
    assert process.returncode == 130
    assert "stopped by Ctrl-C; finished runs are kept" in errors
    assert "Traceback" not in errors
    assert not list(folder.glob("worker-*.log"))
    assert store.read_sweep(folder) == preset("quick")


def test_workers_end_with_their_parent(tmp_path: Path) -> None:
    """Nobody is left training after a SIGKILL: the next report to the dead parent fails."""
    process = subprocess.Popen(
        [*COMMAND, str(tmp_path / "out")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    children: list[int] = []
    while not children and process.poll() is None:
        listed = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        children = [int(pid) for pid in listed.read_text().split()] if listed.exists() else []
        time.sleep(0.005)
    process.kill()
    process.wait()
    deadline = time.monotonic() + 60
    while any(Path(f"/proc/{pid}").exists() for pid in children):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_second_start_changes_nothing(reference: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    shutil.copytree(reference, folder)
    seen: list[Progress] = []
    run_sweep(preset("smoke"), folder, on_progress=seen.append)
    assert content(folder) == content(reference)
    assert (seen[-1].runs, seen[-1].finished, seen[-1].total) == (24, 24, 0)


def test_damaged_and_missing_runs_come_back_the_same(reference: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    shutil.copytree(reference, folder)
    runs = preset("smoke").runs()
    (store.run_folder(folder, runs[0]) / "run.json").write_text("{")
    shutil.rmtree(store.run_folder(folder, runs[-1]))
    with pytest.raises(WorkFailed, match="23 of 24 runs"):
        gather(folder)
    with pytest.raises(WorkFailed, match="half-written"):
        gather(folder, allow_missing=True)
    seen: list[Progress] = []
    run_sweep(preset("smoke"), folder, workers=1, on_progress=seen.append)
    assert [path.name for path in seen[-1].set_aside] == [f"{runs[0].identity}.damaged-1"]
    write_table(gather(folder), folder / "table")
    assert tables(folder) == tables(reference)


def test_one_worker_or_two_give_the_same_bits(reference: Path, tmp_path: Path) -> None:
    run_sweep(preset("smoke"), tmp_path / "out", workers=1)
    assert content(tmp_path / "out") == content(reference)


def test_a_table_of_what_is_there(reference: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    shutil.copytree(reference, folder)
    shutil.rmtree(store.run_folder(folder, preset("smoke").runs()[5]))
    table = gather(folder, allow_missing=True)
    assert len(table) == 23
    whole = gather(reference)
    assert whole.drop(index=5).reset_index(drop=True).equals(table)


def test_the_table_has_a_row_a_run_in_the_order_of_the_sweep(reference: Path) -> None:
    table = gather(reference)
    assert table.run.tolist() == [run.identity for run in preset("smoke").runs()]
    assert table.cell.drop_duplicates().tolist() == ["sgd", "sgd long", "sgd l2", "muon"]
    assert table.initial_norm.gt(0).all()
    sgd = table[table.cell == "sgd"].pivot(index="seed", columns="init_scale", values="initial_norm")
    # One seed is one direction: the norm is proportional to the scale, to single precision.
    assert (sgd[2.5] / sgd[0.1]).tolist() == pytest.approx([25, 25], rel=1e-5)


def test_a_worker_that_dies_is_reported(tmp_path: Path) -> None:
    def kill_workers(progress: Progress) -> None:
        for pid in Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split():
            if b"initmem.empirics.worker" in Path(f"/proc/{pid}/cmdline").read_bytes():
                os.kill(int(pid), signal.SIGKILL)

    with pytest.raises(
        WorkFailed, match=r"worker that trained cell '.*' ended with status -9: finished runs are kept"
    ):
        run_sweep(preset("smoke"), tmp_path / "out", on_progress=kill_workers)
    assert store.read_sweep(tmp_path / "out") == preset("smoke")  # and can be continued


def test_no_workers(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="workers = 0 is not allowed"):
        run_sweep(preset("smoke"), tmp_path, workers=0)


def test_packs_depend_on_the_sweep_alone_and_cover_it() -> None:
    runs = preset("quick").runs()
    split = packs(runs)
    assert sorted(run.identity for pack in split for run in pack) == sorted(run.identity for run in runs)
    assert all(len({run.cell.name for run in pack}) == 1 for pack in split)
    assert [work(pack) for pack in split] == sorted((work(pack) for pack in split), reverse=True)
    assert split[0][0].cell.name == "sgd long"


def test_the_time_left_follows_the_measured_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    progress = Progress(runs=4, finished=0, set_aside=[], total=100.0, workers=2, longest=20.0, began=1000.0)
    monkeypatch.setattr("initmem.empirics.sweep.time.monotonic", lambda: 1010.0)
    assert progress.seconds_left is None
    progress.add(20.0)
    assert progress.seconds_left == pytest.approx(40.0)  # 80 left at 2 a second
    progress.longest = 90.0  # one worker does 1 a second, so this pack ends at 90 seconds
    assert progress.seconds_left == pytest.approx(80.0)


def test_a_disk_that_refuses_is_reported_in_one_sentence(tmp_path: Path) -> None:
    """A file stands where the folder of the runs was, so no run can be written."""

    def block(progress: Progress) -> None:
        if (tmp_path / "out" / "runs").is_dir():
            (tmp_path / "out" / "runs").rmdir()
            (tmp_path / "out" / "runs").write_text("")

    with pytest.raises(
        WorkFailed, match=r"training cell '.*' failed with \w+Error: .*: finished runs are kept"
    ):
        run_sweep(preset("smoke"), tmp_path / "out", on_progress=block)
