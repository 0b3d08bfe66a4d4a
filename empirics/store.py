"""One folder a run, written so that it is either whole or not there.

A sweep lives in one folder::

    sweep.json                  the cells, scales and seeds
    runs/<identity>/run.json    configuration, result, environment
    runs/<identity>/history.parquet

A run is written to a temporary folder, flushed to disk and renamed, so a run folder that exists is
finished; status is read from the files and nothing else. There is no shared index to corrupt.
"""

import hashlib
import io
import json
import math
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import ValidationError

from ..theory.errors import InvalidInput, WorkFailed
from .config import Run, Sweep


def run_folder(folder: Path, run: Run) -> Path:
    """Where a run is, or will be."""
    return folder / "runs" / run.identity


def is_finished(folder: Path, run: Run) -> bool:
    """Whether a run has been written."""
    return run_folder(folder, run).is_dir()


def create(folder: Path, sweep: Sweep) -> None:
    """Make the folder of a sweep, or check that it already belongs to this sweep.

    Raises
    ------
    InvalidInput
        If the folder holds another sweep or something else.
    """
    path = folder / "sweep.json"
    if path.exists():
        present = read_sweep(folder)
        if present != sweep:
            raise InvalidInput(
                f"{folder} holds another sweep, {present.name!r}, not this {sweep.name!r}: "
                f"give a folder of its own."
            )
        return
    if folder.exists() and (not folder.is_dir() or any(map(_foreign, folder.iterdir()))):
        raise InvalidInput(f"{folder} exists and holds no sweep: give a new or empty folder.")
    try:
        (folder / "runs").mkdir(parents=True, exist_ok=True)
        write_file(path, sweep.model_dump_json(indent=2).encode())
    except OSError as error:
        raise WorkFailed(f"{folder} cannot be written ({error.strerror}).") from error


def _foreign(path: Path) -> bool:
    """Whether a file is none of a sweep's: one that was killed at its start has no ``sweep.json`` yet."""
    return path.name != "runs" and not path.name.startswith(".sweep.json.")


def read_sweep(folder: Path) -> Sweep:
    """The sweep that a folder belongs to.

    Raises
    ------
    InvalidInput
        If the folder holds no readable sweep.
    """
    path = folder / "sweep.json"
    try:
        return Sweep.model_validate_json(path.read_bytes())
    except FileNotFoundError as error:
        raise InvalidInput(f"{folder} holds no sweep: {path} is missing.") from error
    except (OSError, ValidationError) as error:
        raise InvalidInput(
            f"{path} cannot be read as a sweep: it is damaged or foreign, give another folder."
        ) from error


def write_run(
    folder: Path,
    run: Run,
    history: pd.DataFrame,
    result: dict[str, Any],
    environment: dict[str, Any],
) -> None:
    """Write a run whole, or not at all; a run that is already there is left untouched.

    Parameters
    ----------
    folder : Path
        Of the sweep.
    run : Run
    history : DataFrame
    result : dict
        Scalars; what is not finite is stored as null, and ``result["reason"]`` says why.
    environment : dict
        Versions and settings that a reader of the numbers may ask for.
    """
    final = run_folder(folder, run)
    temporary = final.with_name(f".{final.name}.{os.getpid()}")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    parquet = io.BytesIO()
    history.to_parquet(parquet, index=False)
    record = {
        "run": run.model_dump(mode="json"),
        "result": {key: _finite(value) for key, value in result.items()},
        "environment": environment,
        "history_sha256": hashlib.sha256(parquet.getvalue()).hexdigest(),
    }
    record["sha256"] = _digest(record)
    try:
        write_file(temporary / "history.parquet", parquet.getvalue())
        write_file(temporary / "run.json", json.dumps(record, indent=2, allow_nan=False).encode())
        temporary.rename(final)
    except OSError:
        shutil.rmtree(temporary, ignore_errors=True)
        if not final.is_dir():  # if it is there, it was written before or by another process
            raise
    _sync(final.parent)


def read_run(folder: Path, run: Run) -> dict[str, Any]:
    """The record of a finished run: its configuration, result and environment.

    Both files of the run are checked against what was written, so that damage is found here and not
    when somebody needs the epochs.

    Raises
    ------
    WorkFailed
        If a file is missing, is not what was written, or belongs to another run.
    """
    path = run_folder(folder, run)
    try:
        record = json.loads((path / "run.json").read_bytes())
        if record.pop("sha256") != _digest(record):
            raise ValueError("changed after it was written")
        if Run.model_validate(record["run"]).identity != run.identity:
            raise ValueError("of another run")
        if hashlib.sha256((path / "history.parquet").read_bytes()).hexdigest() != record["history_sha256"]:
            raise ValueError("epochs changed after they were written")
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise WorkFailed(
            f"{path} is missing, half-written, changed or of another run: start the same sweep again, "
            f"which sets it aside and trains it anew."
        ) from error
    return record


def _digest(record: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()


def read_history(folder: Path, run: Run) -> pd.DataFrame:
    """The epochs of a finished run, a row each.

    Raises
    ------
    WorkFailed
        If the run cannot be read, see :func:`read_run`.
    """
    read_run(folder, run)
    return pd.read_parquet(run_folder(folder, run) / "history.parquet")


def set_aside_damaged(folder: Path, runs: Sequence[Run]) -> list[Path]:
    """Rename run folders that cannot be read, so that their runs count as not done.

    Returns
    -------
    list of Path
        Where they are now; nothing is deleted.
    """
    moved = []
    for run in runs:
        path = run_folder(folder, run)
        if not path.exists():
            continue
        try:
            read_run(folder, run)
        except WorkFailed:
            taken = [path.with_name(f"{path.name}.damaged-{n}") for n in range(1, 1000)]
            target = next(candidate for candidate in taken if not candidate.exists())
            path.rename(target)
            moved.append(target)
    return moved


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def write_file(path: Path, content: bytes) -> None:
    """Write a file so that a reader sees the old content or the new, never a part."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with temporary.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def _sync(folder: Path) -> None:
    """Make a rename in a folder survive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
