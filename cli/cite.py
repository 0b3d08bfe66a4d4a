"""``initmem-theory cite``: BibTeX for what a derivation rests on."""

from typing import Annotated

import typer

from ..theory.optimizers import NAMES, named
from ..theory.references import bibtex


def command(
    optimizers: Annotated[list[str], typer.Argument(help=f"One or more of {', '.join(NAMES)}.")],
) -> None:
    """Print BibTeX entries for the sources of one or more optimizers, each once."""
    print(bibtex(key for name in optimizers for key in named(name).references), end="")
