"""The files that state the same fact agree with each other."""

import re
import tomllib
from importlib.metadata import metadata, version
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("theory", "empirics", "validate", "figures", "cli")


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"].values()
REQUIREMENTS = [
    requirement
    for group in (PROJECT["dependencies"], *EXTRAS)
    for requirement in group
    if not requirement.startswith("initmem-theory[")  # an extra that collects other extras
]


def test_one_version() -> None:
    citation = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    released = re.search(r"^## \[(\d\S*)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert citation is not None
    assert released is not None
    assert PROJECT["version"] == version("initmem-theory") == citation[1] == released[1]


def test_installed_metadata_names_the_licence() -> None:
    assert metadata("initmem-theory")["License-Expression"] == "MIT"
    assert (ROOT / "LICENSE").read_text().startswith("MIT License")


@pytest.mark.parametrize("requirement", REQUIREMENTS)
def test_dependencies_have_lower_bounds_only(requirement: str) -> None:
    assert re.fullmatch(r"[\w.-]+(\[\w+\])?>=[\d.]+", requirement)


def test_every_dependency_has_its_reason() -> None:
    table = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    explained = set(re.findall(r"^\| `([\w.-]+)(?:\[\w+\])?` \|", table, re.MULTILINE))
    assert explained == {re.split(r"[\[>]", requirement)[0] for requirement in REQUIREMENTS}


def test_tests_mirror_the_packages() -> None:
    mirrored = {path.name for path in (ROOT / "tests").iterdir() if path.is_dir()}
    assert mirrored - {"__pycache__"} <= set(FOLDERS)


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_package_has_a_drawer_for_everything(folder: str) -> None:
    names = {path.stem for path in (ROOT / folder).rglob("*.py")}
    assert names.isdisjoint({"utils", "util", "helpers", "misc", "common"})
