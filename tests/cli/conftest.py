"""Commands as a user types them, and a finished smoke study, made once by the command itself."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from initmem.cli import main


@pytest.fixture
def call(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Run a command in this process; returns exit status, standard output and standard error."""

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["initmem-theory", *arguments])
        monkeypatch.setenv("COLUMNS", "80")
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return run


@pytest.fixture(scope="session")
def smoke(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that ``reproduce --preset smoke`` leaves."""
    folder = tmp_path_factory.mktemp("smoke") / "out"
    command = [sys.executable, "-m", "initmem.cli", "reproduce", "--preset", "smoke", "--out", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == f"report: {folder / 'report.html'}"
    return folder
