"""The text of an expression as it is typed: its tokens, what is allowed of them, and errors that quote it.

Python's parser only groups what has passed here; nothing is ever run.
"""

import ast
import keyword
import re
import unicodedata
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NoReturn

import sympy as sp

from .errors import InvalidInput

LENGTH = 2000
NESTING = 25  # of parentheses
DIGITS, DECIMAL_EXPONENT = 50, 300  # of a number as typed

NAME = re.compile(r"[A-Za-zΑ-Ωα-ω][A-Za-zΑ-Ωα-ω0-9_]*")
NUMBER = re.compile(r"(?P<digits>(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE](?P<exponent>[+-]?[0-9]+))?")
# A token may be wrong, such as 0x1F, 1_000 or _x; it is kept in one piece to be named in the error.
TOKEN = re.compile(
    r"(?P<number>0[xXoObB][0-9A-Fa-f_]+|(?:[0-9][0-9_]*\.?[0-9_]*|\.[0-9][0-9_]*)(?:[eE][+-]?[0-9][0-9_]*)?)"
    r"|(?P<name>[A-Za-zΑ-Ωα-ω_][A-Za-zΑ-Ωα-ω0-9_]*)"
    r"""|(?P<mark>[-+*/^() ,.=\[\]{}'"<>@%&|~:])|(?P<other>.)"""
)


@dataclass(frozen=True)
class Source:
    """The text as typed, as given to Python's parser, and where each byte of the latter comes from."""

    text: str
    code: str
    origin: list[int]

    def piece(self, node: Any) -> str:
        """The part of the text that became `node`, as typed."""
        return self.text[self.origin[node.col_offset] : self.origin[node.end_col_offset]]

    def refuse(self, node: Any, why: str) -> NoReturn:
        """Raise, naming the part of the text that became `node`."""
        raise InvalidInput(f"{quoted(self.piece(node))} {why}.")


def quoted(text: str) -> str:
    """The text in quotes, cut where it is long."""
    return repr(text if len(text) <= 60 else text[:57] + "...")


def trimmed(text: str, what: str) -> str:
    """The text on one line without blanks around it; neither empty nor too long."""
    if not text.strip():
        raise InvalidInput(f"the {what} is empty: write one.")
    if len(text) > LENGTH:
        raise InvalidInput(f"the {what} has {len(text):,} characters, more than {LENGTH:,}: shorten it.")
    return re.sub(r"[\t\r\n]", " ", text.strip(" \t\r\n"))


def rational(literal: str) -> sp.Rational:
    """The exact value of a decimal number."""
    match = NUMBER.fullmatch(literal)
    if not match:
        raise InvalidInput(
            f"{quoted(literal)} is not a number as read here: write plain decimal digits without "
            f"leading zeros, such as 12, 0.5 or 1e-3."
        )
    digits, exponent = len(match["digits"].replace(".", "")), int(match["exponent"] or 0)
    if digits > DIGITS or abs(exponent) > DECIMAL_EXPONENT:
        raise InvalidInput(
            f"the number {quoted(literal)} is too long: give at most {DIGITS} digits and a decimal "
            f"exponent from -{DECIMAL_EXPONENT} to {DECIMAL_EXPONENT}."
        )
    exact = Fraction(literal)
    return sp.Rational(exact.numerator, exact.denominator)


def check_name(name: str) -> None:
    """Refuse what cannot be the name of a variable."""
    if not NAME.fullmatch(name):
        raise InvalidInput(
            f"the name {quoted(name)} is not allowed: start with a Latin or Greek letter and go on with "
            f"letters, digits and underscores."
        )
    if keyword.iskeyword(name):
        raise InvalidInput(f"the word {name!r} is reserved: choose another name.")


def _check_token(token: re.Match[str], before: re.Match[str] | None) -> None:
    """Refuse a token that is wrong by itself or after the one before it."""
    kind, written = token.lastgroup, token.group()
    if kind == "other":
        title = unicodedata.name(written, f"U+{ord(written):04X}")
        raise InvalidInput(
            f"the character {written!r} ({title}) is not allowed: use Latin and Greek letters, digits, "
            f"_ . ( ) and + - * / ^."
        )
    if kind == "name":
        check_name(written)
    if kind != "mark" and before and (before.lastgroup != "mark" or before.group() == ")"):
        between = quoted(token.string[before.start() : token.end()])
        raise InvalidInput(f"{between} lacks an operator: write {before.group()}*{written} for a product.")
    if kind == "number":
        rational(written)


def scan(text: str) -> Source:
    """Check the tokens, and write ``^`` as ``**``, for Python's ``^`` binds less than ``+``."""
    pieces, origin, depth, before = [], [], 0, None
    for token in TOKEN.finditer(text):
        _check_token(token, before)
        written = token.group()
        depth += (written == "(") - (written == ")")
        if depth > NESTING:
            raise InvalidInput(f"more than {NESTING} parentheses are nested: simplify the expression.")
        pieces.append("**" if written == "^" else written)
        for offset, character in enumerate(pieces[-1]):
            origin += [token.start() + min(offset, len(written) - 1)] * len(character.encode())
        before = before if written == " " else token
    return Source(text, "".join(pieces), [*origin, len(text)])


def parsed(source: Source) -> ast.expr:
    """The groups that Python's parser sees in the text."""
    try:
        return ast.parse(source.code, mode="eval").body
    except SyntaxError as error:
        if not error.offset:
            raise InvalidInput(f"{quoted(source.text)} ends too early: complete it.") from None
        place = source.origin[len(source.code[: error.offset - 1].encode())]
        raise InvalidInput(
            f"the expression cannot be read at character {place + 1}, from "
            f"{quoted(source.text[place:])} on: check the operators and parentheses there."
        ) from None
