"""Every example in a docstring is run, in whatever form the package is installed."""

import doctest
import importlib
import pkgutil

import pytest

PACKAGES = [f"initmem.{name}" for name in ("theory", "empirics", "validate", "figures", "cli")]


def module_names() -> list[str]:
    """The five packages and every module below them."""
    names = []
    for name in PACKAGES:
        package = importlib.import_module(name)
        below = pkgutil.walk_packages(package.__path__, prefix=f"{name}.")
        names += [name, *(module.name for module in below)]
    return [name for name in names if not name.endswith(".__main__")]


@pytest.mark.parametrize("name", module_names())
def test_examples(name: str, tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(name)
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    result = doctest.testmod(module, optionflags=flags)
    assert result.failed == 0, f"{result.failed} of {result.attempted} examples, printed above"
