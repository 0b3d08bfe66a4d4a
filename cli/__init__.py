"""The command line: every command parses, calls public functions and prints.

Commands import what they need when they run, so that ``clocks`` answers without loading torch.
"""

import sys

import typer

from . import cite, clocks, derive, match, memory, reproduce, sweep, validate
from .errors import report

app = typer.Typer(
    name="initmem-theory",
    help="Do deep networks forget their initialization, and which clock governs it?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("clocks")(clocks.command)
app.command("memory")(memory.command)
app.command("match")(match.command)
app.command("derive")(derive.command)
app.command("cite")(cite.command)
app.command("sweep")(sweep.command)
app.command("validate")(validate.command)
app.command("reproduce")(reproduce.command)


def main() -> None:
    """Entry point of ``initmem-theory``."""
    with report():
        app(prog_name="initmem-theory")
    sys.exit(0)
