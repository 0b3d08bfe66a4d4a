"""A finished smoke study, made once by the command itself."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def smoke(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that ``reproduce --preset smoke`` leaves."""
    folder = tmp_path_factory.mktemp("smoke") / "out"
    command = [sys.executable, "-m", "initmem.cli", "reproduce", "--preset", "smoke", "--out", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == f"report: {folder / 'report.html'}"
    return folder
