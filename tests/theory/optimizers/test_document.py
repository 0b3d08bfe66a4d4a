"""LaTeX documents: rows that fit the page, lines that fit the file, and nothing lost between them."""

import re

import pytest
import sympy as sp

from initmem.theory.optimizers.derivation import derive, general
from initmem.theory.optimizers.document import of_derivation, of_formula
from initmem.theory.optimizers.line_breaks import rows
from initmem.theory.optimizers.loss import Loss


@pytest.mark.parametrize("order", [5, 9])
def test_general_formulas_fit(order: int) -> None:
    optimizer, formula = general("gd", order)
    document = of_formula(optimizer, formula, order)
    assert max(map(len, document.splitlines())) <= 200
    # A fraction and a tensor with its indices are about 40 letters; a row has at most two or three.
    assert max(row.count(r"\frac") for row in document.split(r"\\")) <= 4
    whole = re.sub(r"\s|\\\\|&|\{\}|\\quad|\\(begin|end)\{align\*\}", "", document)
    for line in formula.field_latex[1:]:
        assert re.sub(r"\s|\{\}", "", line).lstrip("-") in whole


def test_formulas_of_a_loss_fit() -> None:
    document = of_derivation(derive("gd", Loss.parse(["x**4 + x**3*y + y**4/4 + x*y"]), 6))
    assert max(map(len, document.splitlines())) <= 200
    assert document.count("\\begin{") == document.count("\\end{")


def test_rows_break_between_terms_only() -> None:
    x = sp.Symbol("x")
    terms = [rf"\frac{{a + b}}{{{n}}} x^{{{n} + 1}}" for n in range(30)]
    broken = rows(" + ".join(terms))
    assert len(broken) > 3
    assert all(row.startswith(("\\frac", "+ \\frac")) and row.count("{") == row.count("}") for row in broken)
    assert " ".join(broken) == " + ".join(terms)
    assert rows(sp.latex(x**2 + 1)) == ["x^{2} + 1"]
