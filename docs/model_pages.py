"""The pages on solvable models: what the code states of each, its derivation and a simulation, run here."""

import inspect
import os
import re
import subprocess
import sys
from functools import cache

import sympy as sp
from optimizer_pages import bullets, display, plain, works
from sympy.core.alphabets import greeks

from initmem.theory.models import NAMES, WHERE, named
from initmem.theory.models.model import MemoryModel, Step
from initmem.theory.models.validity import CLOCKS, Entry, table

SIGNS = {"exact": "=", "leading order": "≈", "contributes nothing": "0", "wrong": "✗", "does not run": ""}

# Symbols whose names sympy would not set as they are meant.
LETTERS = {
    "lr": r"\eta",
    "weight_decay": r"\lambda",
    "batch_size": "b",
    "<w, grad L>": r"\langle w, \nabla L\rangle",
    "d r^4/dt": r"\frac{dr^4}{dt}",
    "d ln r/d ln r_0": r"\frac{d\ln r}{d\ln r_0}",
    "n_sgd": r"n_{\mathrm{sgd}}",
    "n_adam": r"n_{\mathrm{adam}}",
}

# Recipes short enough to simulate, at which the laws hold.
EXAMPLES = {
    "null-space": "--optimizer adamw --lr 0.01 --weight-decay 0.5 --schedule cosine --updates 300",
    "row-space": "--lr 0.01 --batch-size 4 --updates 200",
    "imbalance": "--lr 0.01 --batch-size 4 --noise 4 --updates 2000",
    "difference": "--optimizer muon --momentum 0 --lr 0.001 --weight-decay 0.5 --updates 1000",
    "diagonal": "--lr 0.01 --batch-size 4 --noise 4 --updates 2000",
    "scale-invariant": "--lr 0.01 --batch-size 4 --noise 10 --weight-decay 0.1 --updates 200",
    "gradient-free": "--optimizer adam --lr 1e-5 --weight-decay 0.1 --updates 50000",
    "noisy-quadratic": "--optimizer adam --lr 0.001 --batch-size 16 --updates 200",
}


@cache
def _table() -> list[tuple[str, str, dict[str, Entry]]]:
    return [(row.remembers, row.model, entries) for row, entries in table()]


def validity() -> str:
    """The table of clocks, with one line of evidence for every row."""
    head = ["memory of", *(f"`{clock}`" for clock in CLOCKS)]
    rows = [head, ["---", *[":-:"] * len(CLOCKS)]]
    for remembers, model, entries in _table():
        link = f"[{remembers}](_generated/models/{model}.md)" if model in NAMES else remembers
        rows.append([link, *(_cell(entry) for entry in entries.values())])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n"


def _cell(entry: Entry) -> str:
    sign = SIGNS[entry.verdict]
    return sign if entry.constant is None else f"{sign} {entry.constant:.4g}"


def evidence() -> str:
    """For every wrong clock the change of the recipe that shows it most."""
    lines = [
        "| memory of | clock | changed, at one reading | memory before | after |",
        "|---|---|---|--:|--:|",
    ]
    for remembers, _, entries in _table():
        for clock, entry in entries.items():
            if entry.verdict == "wrong":
                before, *others = entry.memories
                move, after = max(
                    zip(entry.moves, others, strict=True), key=lambda pair: abs(pair[1] - before)
                )
                lines.append(f"| {remembers} | `{clock}` | {plain(move)} | {before:.3g} | {_memory(after)} |")
    return "\n".join(lines) + "\n"


def _memory(value: float) -> str:
    return f"{value:.3g}" if value < float("inf") else "diverges"


def page(name: str) -> str:
    """The page of a model, in Markdown."""
    model = named(name)
    module = f"initmem.theory.models.{WHERE[name][0]}"
    parts = [
        f"# {model.title}",
        f"```{{eval-rst}}\n{inspect.cleandoc(sys.modules[module].__doc__ or '')}\n```",
        "## Law",
        f"What is remembered: {plain(model.remembers)}. The share that is left:",
        display(model.latex),
        f"Clock: {plain(model.clock)}. The code is {{py:mod}}`{module}`.",
        "## Derivation",
        "Computed by the code when this page was made:",
        *derivation(model.derive()),
        "## Assumptions",
        bullets(map(plain, model.assumptions)),
        "## Example",
        example(model),
        "## References",
        works(model.references),
    ]
    return "\n\n".join(parts) + "\n"


def derivation(steps: tuple[Step, ...]) -> list[str]:
    """Every step as a sentence and a formula."""
    return [part for step in steps for part in (f"{plain(step.text)}:", display(_formula(step)))]


def _formula(step: Step) -> str:
    names = {symbol: LETTERS.get(symbol.name) for symbol in step.equation.free_symbols}
    for symbol in names:
        if names[symbol] is None and re.fullmatch("[a-z]{3,}", symbol.name) and symbol.name not in greeks:
            names[symbol] = rf"\mathrm{{{symbol.name}}}"
    return sp.latex(step.equation, symbol_names={k: v for k, v in names.items() if v is not None})


def example(model: MemoryModel) -> str:
    """A command with its simulation, and what it prints."""
    command = f"memory {model.name} {EXAMPLES[model.name]} --simulate"
    printed = subprocess.run(
        [sys.executable, "-m", "initmem.cli", *command.split()],
        check=True,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=os.environ | {"COLUMNS": "80", "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"},
    ).stdout
    output = "\n".join(line.rstrip() for line in printed.strip().splitlines())
    return f"```console\n$ initmem-theory {command}\n```\n\n```text\n{output}\n```"
