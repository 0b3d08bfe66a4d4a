"""The pages on optimizers: what the code states of each, its experiment and an example, run here."""

import hashlib
import inspect
import math
import os
import re
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path

import sympy

import initmem.theory.optimizers as optimizers
from initmem.cli import derive
from initmem.theory.optimizers import NAMES
from initmem.theory.optimizers.constants import settle
from initmem.theory.optimizers.derivation import general
from initmem.theory.optimizers.formula import Formula, added
from initmem.theory.optimizers.optimizer import Optimizer
from initmem.theory.references import link, short

# The example of a page: a small loss, and numbers for whatever constants its optimizer has.
PLAIN = (("x**2/2 + y**2",), "x=1,y=1")
TWO_EXAMPLES = (("(x - 1)**2/2", "(x + 1)**2"), "x=2")
MATRIX = (("w11**2/2 + w12**2 + w21**2 + 2*w22**2",), "w11=2,w12=1,w21=-1,w22=1")
LOSSES = {"sgd": TWO_EXAMPLES, "sgd-without-replacement": TWO_EXAMPLES, "muon": MATRIX}
TYPICAL = {"beta": "0.9", "beta1": "0.9", "beta2": "0.999", "eps": "0.0001"}

# The most lines of formulas that an example shows.
LONGEST = 30

EXPERIMENT = """\
Run for this page: {setup}. Where terms through $\\eta^n$ are kept, the distance between updates and flow
should fall as $\\eta^{{n+1}}$. The observed order is the binary logarithm of the quotient of the last two
distances.
"""

# Cited on the page about modified objectives, in the order of its argument.
CITED = (
    "hairer2006geometric",
    "barrett2021implicit",
    "calaque2011two",
    "stanley2011enumerative",
    "kirchgraber1986multistep",
    "smith2021origin",
    "li2017stochastic",
    "cattaneo2024implicit",
    "bernstein2024old",
    "jordan2024muon",
)


def fingerprint() -> str:
    """Everything that a page is made from; while it is the same, no page is made again."""
    theory = Path(inspect.getfile(optimizers)).parents[1]
    sources = [
        *sorted(theory.rglob("*.py")),
        theory / "references.bib",
        Path(derive.__file__),
        *sorted(Path(__file__).parent.glob("*_pages.py")),
    ]
    digest = hashlib.sha256(sympy.__version__.encode())
    for source in sources:
        digest.update(Path(source).read_bytes())
    return digest.hexdigest()


def page(name: str) -> str:
    """The page of an optimizer, in Markdown."""
    optimizer, formula = general(name, 1)
    module = import_module(f"{optimizers.__name__}.{name.replace('-', '_')}")
    parts = [
        f"# {optimizer.title}",
        f"```{{eval-rst}}\n{inspect.cleandoc(module.__doc__ or '')}\n```",
        "## Update and flow",
        stacked([f"& {step}" for step in optimizer.update.split(r",\quad")]),
        "To leading order the updates follow",
        display(optimizer.twin),
        f"with the letters of {{doc}}`/optimizers`. The code is {{py:mod}}`{module.__name__}`.",
        "## Modified flow",
        *modified(optimizer, formula),
        "## Assumptions",
        bullets(map(plain, optimizer.assumptions)),
        "## Clocks in force",
        bullets(map(plain, optimizer.clocks)),
        "## Experiment",
        experiment(optimizer),
        "## Example",
        example(optimizer),
        "## References",
        works(optimizer.references),
        f"`initmem-theory cite {name}` prints them as BibTeX.",
    ]
    return "\n\n".join(parts) + "\n"


def modified(optimizer: Optimizer, formula: Formula) -> list[str]:
    """The general field and objective through first order."""
    first, *rest = added(formula.field_latex)
    state = r"\dot\theta_j" if "_j" in first else r"\dot\theta"
    parts = [
        r"For any loss, through first order in $\eta$,",
        stacked([rf"{state} = {{}} & {first}", *(rf"& {{}} {line}" for line in rest)]),
    ]
    if formula.objective_latex is not None:
        parts += ["with the modified objective", display(rf"\tilde L = {formula.objective_latex}")]
    elif not optimizer.has_objective:
        parts.append(
            "There is no modified objective: the gradient is divided by a scale that depends on the point."
        )
    notation = (textwrap.fill(note, 84, subsequent_indent="  ") for note in formula.notation)
    return [*parts, "```text\n" + "\n".join(notation) + "\n```"]


def experiment(optimizer: Optimizer) -> str:
    """The distances between updates and flow as a table."""
    found = optimizer.experiment(0)
    head = ["kept through", *(rf"$\eta = {lr:g}$" for lr in found.lrs), "observed order", "expected"]
    rows = [head, ["---", *["--:"] * (len(head) - 1)]]
    for n, (distances, order) in enumerate(zip(found.errors, found.observed, strict=True)):
        seen = "rounding" if math.isinf(order) else f"{order:.2f}"
        rows.append([f"$\\eta^{n}$", *(f"{distance:.2e}" for distance in distances), seen, str(n + 1)])
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return EXPERIMENT.format(setup=plain(found.setup)) + "\n" + table


def example(optimizer: Optimizer) -> str:
    """A command of the optimizer and what it prints."""
    losses, point = LOSSES.get(optimizer.name, PLAIN)
    constants = {name: TYPICAL[name] for name in optimizer.settings if name in TYPICAL}
    options = [("--loss", loss) for loss in losses]
    options.append(("--lr", "0.0001" if constants else "0.1"))
    options += [(f"--{name}", value) for name, value in constants.items()]
    if settle(optimizer, {}).weight_decay != 0:
        options.append(("--weight-decay", "0.1"))
    if len(losses) > 1:
        options.append(("--batch-size", "1"))
    options.append(("--at", point))
    command = ["derive", optimizer.name, *(word for option in options for word in option)]
    printed = subprocess.run(
        [sys.executable, "-m", "initmem.cli", *command],
        check=True,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=os.environ | {"COLUMNS": "80", "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"},
    ).stdout
    output = abridged([line.rstrip() for line in printed.strip().splitlines()])
    return f"```console\n{typed(optimizer.name, options)}\n```\n\n```text\n{output}\n```"


def abridged(lines: list[str]) -> str:
    """What was printed, but only the beginning of formulas that would fill the page."""
    start = lines.index("") + 1
    end = lines.index("", start)
    if end - start > LONGEST:
        lines = [*lines[: start + 6], f"[{end - start - 6} more lines of formulas]", *lines[end:]]
    return "\n".join(lines)


def typed(name: str, options: list[tuple[str, str]]) -> str:
    """The command as a reader would type it, in lines that fit the page."""
    lines = [f"$ initmem-theory derive {name}"]
    for option, value in options:
        words = f"{option} {shlex.quote(value).replace(chr(39), chr(34))}"
        if len(lines[-1]) + len(words) > 76:
            lines[-1] += " \\"
            lines.append(f"    {words}")
        else:
            lines[-1] += f" {words}"
    return "\n".join(lines)


def overview() -> str:
    """The table of all optimizers with their objectives."""
    rows = ["| optimizer | name | modified objective through $\\eta$ | field through |", "|---|---|---|--:|"]
    for name in NAMES:
        optimizer, formula = general(name, 1)
        goal = "none" if formula.objective_latex is None else f"${in_cell(formula.objective_latex)}$"
        title = f"[{optimizer.title}](_generated/optimizers/{name}.md)"
        rows.append(f"| {title} | `{name}` | {goal} | $\\eta^{{{optimizer.highest_order}}}$ |")
    return "\n".join(rows) + "\n"


def works(keys: tuple[str, ...]) -> str:
    """The works behind these keys of ``references.bib`` as a list of links."""
    return bullets(
        plain(short(key)) if link(key) is None else f"[{plain(short(key))}]({link(key)})" for key in keys
    )


def bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def display(tex: str) -> str:
    return f"$$\n{tex}\n$$"


def stacked(lines: list[str]) -> str:
    """A display of several lines, aligned at their ampersands."""
    return display("\\begin{aligned}\n" + " \\\\\n".join(line.strip() for line in lines) + "\n\\end{aligned}")


def in_cell(tex: str) -> str:
    """LaTeX without the bar that would end the cell of a table."""
    return tex.replace(r"\|", r"\Vert ").replace("|", r"\vert ")


def plain(text: str) -> str:
    """Text whose signs Markdown leaves alone."""
    return re.sub(r"([\\`*_\[\]<>$|~])", r"\\\1", text)
