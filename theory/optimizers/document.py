"""A derivation as a LaTeX document that compiles as it stands."""

from collections.abc import Iterable

import sympy as sp

from ..backward_error.parts import length
from .derivation import Derivation
from .formula import Formula, added, latex
from .line_breaks import rows, wrapped
from .optimizer import Optimizer

# A page cannot hold more, and TeX does not break what stands inside brackets.
LONGEST = 4000
ROWS = 100

_FRAME = r"""\documentclass{article}
\usepackage{amsmath,amssymb}
\allowdisplaybreaks
\begin{document}
%s
\end{document}
"""


def of_derivation(result: Derivation) -> str:
    r"""The field order by order, the objective and the warnings.

    Parameters
    ----------
    result : Derivation

    Returns
    -------
    str

    Examples
    --------
    >>> from initmem.theory.optimizers.derivation import derive
    >>> from initmem.theory.optimizers.loss import Loss
    >>> document = of_derivation(derive("gd", Loss.parse(["x**2/2"])))
    >>> r"F_1 : {} & \dot{x} = - \frac{x}{2}" in document
    True
    """
    lines = _broken("L = {} &", _fitting(result.loss.mean))
    for n, term in enumerate(result.field.terms):
        name = f"F_{n}" if n < 10 else f"F_{{{n}}}"
        for variable, component in zip(result.loss.variables, term, strict=True):
            lines += _broken(rf"{name} : {{}} & \dot{{{latex(variable)}}} =", _fitting(component))
    goal = result.objective
    if goal is not None:
        lines += _broken(r"\tilde L = {} &", _fitting(goal.expression))
    body = [_heading(result.optimizer, result.field.order), _aligned(lines)]
    if goal is not None:
        body.append(rf"\noindent {_words(f'The objective is L~; the field is {goal.field}.')}")
    body += [rf"\noindent {_words(warning)}" for warning in result.warnings]
    return wrapped(_FRAME % "\n\n".join(body))


def of_formula(optimizer: Optimizer, formula: Formula, order: int) -> str:
    """The general field and objective.

    Parameters
    ----------
    optimizer : Optimizer
    formula : Formula
    order : int

    Returns
    -------
    str
    """
    first, *rest = added(formula.field_latex)
    lines = _broken(r"\dot\theta = {} &", first)
    body = [_heading(optimizer, order)]
    for line in rest:
        # TeX holds an alignment in memory, so the long ones of high orders have one each.
        lines += _broken("& {}", line)
        if len(lines) > ROWS:
            body.append(_aligned(lines))
            lines = []
    body += [_aligned(lines)] if lines else []
    if formula.objective_latex is not None:
        body.append(_aligned(_broken(r"\tilde L = {} &", formula.objective_latex)))
    body += [rf"\noindent {_words(note)}" for note in formula.notation]
    return wrapped(_FRAME % "\n\n".join(body))


def _heading(optimizer: Optimizer, order: int) -> str:
    through = "the plain flow" if order == 0 else rf"through $\eta^{{{order}}}$"
    field = r"$\dot\theta = F_0 + \eta F_1 + \dots$, where time is learning rate times updates"
    return "\n\n".join(
        [
            rf"\section*{{\raggedright {optimizer.title}, {through}}}",
            rf"\[ {optimizer.update} \]",
            rf"\noindent The field is {field}.",
        ]
    )


def _fitting(expression: sp.Expr) -> str:
    parts = length(expression)
    text = latex(expression) if parts <= LONGEST else ""  # each part takes a letter at least
    return text if 0 < len(text) <= LONGEST else rf"\text{{{parts:,} names and operations, not shown}}"


def _broken(start: str, formula: str) -> list[str]:
    """The rows of one formula behind its left-hand side."""
    first, *rest = rows(formula)
    return [f"{start} {first}", *(rf"& \quad {{}} {row}" for row in rest)]


def _aligned(lines: Iterable[str]) -> str:
    return "\\begin{align*}\n" + " \\\\\n".join(lines) + "\n\\end{align*}"


_SPECIAL = {
    **{mark: f"\\{mark}" for mark in "_{}&%#$"},
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "^": r"\^{}",
    "~": r"\~{}",
    "\\": r"\textbackslash{}",
}


def _words(text: str) -> str:
    return "".join(_SPECIAL.get(letter, letter) for letter in text)
