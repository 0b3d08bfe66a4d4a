"""What the README and the documentation tell a reader to type does work.

Each page is followed from top to bottom in one empty folder, as a reader would: its
``initmem-theory`` commands run through the installed script, its Python blocks run in one
namespace, and its ``make`` targets are resolved without being run. One substitution is made:
where a page says ``--preset quick`` the smoke preset runs in its place, because ``.ci/run`` runs
the quick one itself with ``make demo``. Other lines of a shell block (cloning, installing) are not
followed.
"""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
SHELL = {"console", "bash", "shell", "sh"}
FENCE = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```\s*$", re.MULTILINE | re.DOTALL)


def steps(text: str) -> Iterator[tuple[str, str]]:
    """Yield what a page asks for, in order: ``("python", block)`` or ``("shell", command)``."""
    for language, block in FENCE.findall(text):
        if language == "python":
            yield "python", block
        elif language in SHELL:
            for line in block.replace("\\\n", " ").splitlines():
                command = " ".join(line.removeprefix("$ ").split())
                if command.startswith(("initmem-theory ", "make ")):
                    yield "shell", command


def run(command: str, folder: Path) -> None:
    """Run one shell command with the scripts of this environment in front, and expect success."""
    path = os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]])
    # A `make` that runs these tests must not hand its own flags to the one tested here.
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
    done = subprocess.run(
        command,
        shell=True,
        cwd=folder,
        env=environment | {"PATH": path, "PYTHONWARNINGS": "default"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"$ {command}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"


def resolve_target(command: str) -> None:
    """Check that ``make TARGET`` names a target and could be run."""
    run(command.replace("make ", "make --dry-run ", 1), ROOT)


def case(page: Path):
    """Return the test case of a page, slow where the page trains."""
    slow = any("--preset quick" in step for _, step in steps(page.read_text("utf-8")))
    name = page.relative_to(ROOT).as_posix()
    return pytest.param(page, id=name, marks=[pytest.mark.slow] if slow else [])


@pytest.mark.parametrize("page", [case(page) for page in PAGES])
def test_page(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    namespace: dict[str, object] = {"__name__": "__main__"}
    for kind, step in steps(page.read_text("utf-8")):
        if kind == "python":
            exec(compile(step, str(page), "exec"), namespace)
        elif step.startswith("make "):
            resolve_target(step)
        else:
            run(step.replace("--preset quick", "--preset smoke"), tmp_path)


def test_the_installed_script_is_the_one_that_runs() -> None:
    script = shutil.which("initmem-theory", path=sysconfig.get_path("scripts"))
    assert script is not None
    assert Path(script).parent == Path(sys.executable).parent


def test_steps_are_read_in_order() -> None:
    page = (
        "```console\n$ make demo\n$ initmem-theory a \\\n    --b 1\nprinted\n```\n"
        "```python\nx = 1\n```\n```text\ninitmem-theory never\n```\n"
        "```bash\npip install .\ninitmem-theory c\n```\n"
    )
    assert list(steps(page)) == [
        ("shell", "make demo"),
        ("shell", "initmem-theory a --b 1"),
        ("python", "x = 1\n"),
        ("shell", "initmem-theory c"),
    ]
