"""The wheel holds every file of the five packages, under ``initmem``, and nothing else."""

import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("theory", "empirics", "validate", "figures", "cli")
# Rendered figures for the README: not part of the library.
GALLERY = ROOT / "figures" / "gallery"
JUNK = shutil.ignore_patterns("__pycache__", "*.pyc", ".*")


def source_files() -> set[str]:
    """Every file of the five folders, named as it must be in the wheel."""
    return {
        f"initmem/{path.relative_to(ROOT).as_posix()}"
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and GALLERY not in path.parents
        if "__pycache__" not in path.parts and not path.name.startswith(".")
    }


def source_packages() -> set[str]:
    """Every folder with an ``__init__.py``, named as Python imports it."""
    return {
        "initmem." + ".".join(init.parent.relative_to(ROOT).parts)
        for folder in FOLDERS
        for init in (ROOT / folder).rglob("__init__.py")
    }


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Names in a wheel built from a copy, so that the build leaves nothing in the source tree."""
    source = tmp_path_factory.mktemp("source")
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, source / folder, ignore=JUNK)
    for file in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / file, source)
    built = subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", "dist"],
        cwd=source,
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    (path,) = (source / "dist").glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        return set(archive.namelist())


def test_wheel_holds_every_source_file_and_no_other(wheel: set[str]) -> None:
    code = {name for name in wheel if ".dist-info/" not in name}
    assert source_files() - code == set(), "left out: see packages and package-data in pyproject"
    assert code - source_files() == set()


def test_wheel_carries_licence_and_entry_point(wheel: set[str]) -> None:
    metadata = {name.partition(".dist-info/")[2] for name in wheel if ".dist-info/" in name}
    assert {"METADATA", "entry_points.txt", "licenses/LICENSE"} <= metadata


def test_every_package_is_declared() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        setuptools = tomllib.load(file)["tool"]["setuptools"]
    assert set(setuptools["packages"]) == source_packages()
    assert setuptools["package-dir"] == {f"initmem.{folder}": folder for folder in FOLDERS}


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_package_says_that_it_is_typed(folder: str) -> None:
    assert (ROOT / folder / "py.typed").is_file()


def test_initmem_stays_a_namespace() -> None:
    assert "initmem/__init__.py" not in source_files()
    assert not (ROOT / "initmem").exists()
