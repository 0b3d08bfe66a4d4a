"""Formulas in LaTeX, broken into rows that fit the page and lines that fit an editor."""

import re
import textwrap
from collections.abc import Iterator

# Of a row on the page, in letters; and of a line in the file.
WIDTH, COLUMNS = 52, 180

_STEP = re.compile(r"\\left|\\right|\\[{}]|[{}]| [+-] ")
_UNSEEN = re.compile(r"\\(?:left|right|frac|operatorname|,)|[{}^_ ]")
_COMMAND = re.compile(r"\\[A-Za-z]+")


def rows(formula: str) -> list[str]:
    r"""A sum in rows, broken in front of its signs, also inside round brackets where it has to be.

    Examples
    --------
    >>> rows("a + b")
    ['a + b']
    >>> [row[:12] for row in rows(r"x\left(" + " + ".join(30 * ["aa"]) + r"\right)")]
    ['x(aa + aa + ', '+ aa + aa + ']
    """
    if _width(formula) <= WIDTH:
        return [formula]
    found: list[str] = []
    for piece in _pieces(formula.replace(r"\left(", "(").replace(r"\right)", ")")):
        if found and _width(found[-1] + piece) <= WIDTH:
            found[-1] += piece
        else:
            found.append(piece)
    return [row.strip() for row in found]


def _width(formula: str) -> int:
    """About how many letters wide it is on the page."""
    letters = _COMMAND.sub("x", _UNSEEN.sub("", formula))
    return len(letters) + sum(map(str.isupper, letters)) // 2  # capitals are wide


def _pieces(formula: str) -> Iterator[str]:
    """What stands between the signs outside of braces and of brackets that grow."""
    depth = start = 0
    for step in _STEP.finditer(formula):
        mark = step.group()
        if mark in (r"\left", "{"):
            depth += 1
        elif mark in (r"\right", "}"):
            depth -= 1
        elif depth == 0 and mark.startswith(" "):
            yield formula[start : step.start()]
            start = step.start()
    yield formula[start:]


def wrapped(document: str) -> str:
    """The document with its long lines folded at blanks, where TeX reads a blank as well.

    Examples
    --------
    >>> max(map(len, wrapped("ab " * 1000).splitlines())) <= 180
    True
    """
    return "\n".join(_folded(line) for line in document.split("\n"))


def _folded(line: str) -> str:
    if len(line) <= COLUMNS:
        return line
    return "\n".join(textwrap.wrap(line, COLUMNS, break_long_words=False, break_on_hyphens=False))
