"""Sphinx configuration. What the code says is generated from it, so it cannot go stale."""

import importlib
import pkgutil
import subprocess
import sys
import warnings
from importlib.metadata import version as installed_version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import model_pages
import optimizer_pages

HERE = Path(__file__).resolve().parent
GENERATED = HERE / "_generated"
PACKAGES = ("theory", "empirics", "validate", "figures", "cli")

project = "initmem-theory"
author = "The initmem-theory developers"
copyright = f"2026, {author}"
version = release = installed_version("initmem-theory")

extensions = [
    "sphinx.ext.autodoc",
    "sphinx-mathjax-offline",
    "sphinx.ext.viewcode",
    "numpydoc",
    "myst_parser",
]
exclude_patterns = ["_build"]
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3

smartquotes = False  # it would turn --option into an en dash

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the signature and the numpydoc sections say it already
numpydoc_show_class_members = False

html_theme = "furo"
html_title = f"{project} {version}"
html_static_path = ["_generated/static"]
html_css_files = ["formulas.css"]

# autodoc reads the signatures of imported functions before it leaves these out, and numpydoc then
# finds sections in sympy's docstrings that it does not know.
warnings.filterwarnings("ignore", "Unknown section", UserWarning)

# The theme lets wide formulas scroll, which would give those of several lines a scroll bar upright.
FORMULAS = "div.math { overflow-y: hidden; }\n"


def modules(package: str) -> list[str]:
    """Name the package and every module below it."""
    path = importlib.import_module(package).__path__
    below = [module.name for module in pkgutil.walk_packages(path, prefix=f"{package}.")]
    return [package, *(name for name in below if not name.endswith("__main__"))]


def write(path: Path, text: str) -> None:
    """Write a generated page; an unchanged one keeps its time, so Sphinx does not read it again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text("utf-8") != text:
        path.write_text(text, "utf-8")


def api_page(package: str) -> str:
    """One section a module, in the order of the file system."""
    sections = (
        f"## {name}\n\n```{{eval-rst}}\n.. automodule:: {name}\n   :members:\n```\n"
        for name in modules(package)
    )
    return f"# {package}\n\n" + "\n".join(sections)


def command_page() -> str:
    """Return typer's own description of every command."""
    command = [sys.executable, "-m", "typer", "initmem.cli", "utils", "docs"]
    command += ["--name", "initmem-theory", "--title", "Command line"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


for folder in PACKAGES:
    write(GENERATED / "api" / f"{folder}.md", api_page(f"initmem.{folder}"))
write(GENERATED / "cli.md", command_page())
write(GENERATED / "static" / "formulas.css", FORMULAS)
write(GENERATED / "optimizers.inc", optimizer_pages.overview())
write(GENERATED / "validity.inc", model_pages.validity())
write(GENERATED / "evidence.inc", model_pages.evidence())
write(GENERATED / "works.inc", optimizer_pages.works(optimizer_pages.CITED) + "\n")

# Experiments and examples take seconds each, so a page is made again only where a source has changed.
mark = f"% made from {optimizer_pages.fingerprint()}\n\n"
PAGES = {"optimizers": optimizer_pages, "models": model_pages}
for folder, pages in PAGES.items():
    for name in pages.NAMES:
        path = GENERATED / folder / f"{name}.md"
        if not path.exists() or not path.read_text("utf-8").startswith(mark):
            write(path, mark + pages.page(name))
