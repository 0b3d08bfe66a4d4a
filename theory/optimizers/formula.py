"""The modified field of a loss that is not spelled out, as text and as LaTeX."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import sympy as sp

from ..backward_error.trees import Tree, size

LATEX_NAMES = {
    "lr": r"\eta",
    "beta": r"\beta",
    "beta1": r"\beta_1",
    "beta2": r"\beta_2",
    "eps": r"\varepsilon",
    "weight_decay": r"\lambda",
    "batch_size": "b",
    "train_size": "N",
    "g_j": "g_j",
    "P_j": "P_j",
    "theta_j": r"\theta_j",
    "theta": r"\theta",
}


@dataclass(frozen=True)
class Formula:
    """A general formula, one line for each power of the learning rate.

    Attributes
    ----------
    field, field_latex : tuple of str
        The right-hand side of d theta/dt; the lines add up.
    objective, objective_latex : str or None
        The modified objective through the order asked for.
    notation : tuple of str
        What the letters mean and how field and objective belong together.
    """

    field: tuple[str, ...]
    field_latex: tuple[str, ...]
    objective: str | None
    objective_latex: str | None
    notation: tuple[str, ...]


def latex(expression: sp.Expr) -> str:
    r"""LaTeX with the field's letters for our names.

    Examples
    --------
    >>> latex(sp.Symbol("lr") / 2)
    '\\frac{\\eta}{2}'
    """
    names = {
        symbol: LATEX_NAMES[str(symbol)] for symbol in expression.free_symbols if str(symbol) in LATEX_NAMES
    }
    return sp.latex(expression, symbol_names=names)


def tensor(tree: Tree) -> str:
    """The elementary differential of a tree with f = -grad L, without its sign.

    Examples
    --------
    >>> tensor((((),),)), tensor(((), ((),)))
    ('H H g', "L'''[g, H g]")
    """
    inside = [tensor(child) for child in sorted(tree, key=lambda child: (size(child), child))]
    if not inside:
        return "g"
    return f"H {inside[0]}" if len(inside) == 1 else f"L{(len(inside) + 1) * chr(39)}[{', '.join(inside)}]"


def tensor_latex(tree: Tree) -> str:
    r"""The same in LaTeX.

    Examples
    --------
    >>> tensor_latex(((), ()))
    '\\nabla^3 L[g, g]'
    """
    inside = [tensor_latex(child) for child in sorted(tree, key=lambda child: (size(child), child))]
    if not inside:
        return "g"
    return (
        f"H {inside[0]}"
        if len(inside) == 1
        else rf"\nabla^{{{len(inside) + 1}}} L[{', '.join(inside)}]".replace("{3}", "3")
    )


def series_lines(coefficients: dict[Tree, sp.Expr]) -> tuple[list[str], list[str]]:
    r"""Lines of :math:`\sum_\tau \eta^{|\tau|-1} c(\tau) F(\tau)` for :math:`f = -g`, text and LaTeX."""
    text, tex = [], []
    for vertices, group in groupby(sorted(coefficients, key=lambda t: (size(t), t)), key=size):
        trees = [tree for tree in group if coefficients[tree] != 0]
        signed = [positive_base(sp.factor((-1) ** vertices * coefficients[tree])) for tree in trees]
        text.append(power("lr", vertices - 1) + _joined(signed, [tensor(t) for t in trees], str, "*"))
        tex.append(
            power(r"\eta", vertices - 1) + _joined(signed, [tensor_latex(t) for t in trees], latex, r"\,")
        )
    return text, tex


def power(name: str, exponent: int) -> str:
    """The factor in front of a line.

    Examples
    --------
    >>> power("lr", 0), power("lr", 1), power("lr", 2)
    ('', 'lr ', 'lr^2 ')
    """
    return "" if exponent == 0 else f"{name} " if exponent == 1 else f"{name}^{exponent} "


def positive_base(expression: sp.Expr) -> sp.Expr:
    """Write powers of (beta - 1) as powers of (1 - beta), which is positive.

    Examples
    --------
    >>> beta = sp.Symbol("beta")
    >>> positive_base(sp.factor((1 + beta) / (beta - 1) ** 3))
    -(beta + 1)/(1 - beta)**3
    """

    def flipped(base: sp.Expr, exponent: sp.Expr) -> sp.Expr:
        negative = (
            base.is_Add and base.as_coeff_Add()[0] == -1 and len(base.args) == 2 and exponent.is_Integer
        )
        return (-1) ** exponent * (-base) ** exponent if negative else base**exponent

    return expression.replace(sp.Pow, flipped)


def _joined(coefficients: Sequence[sp.Expr], names: Sequence[str], write, times: str) -> str:
    terms = []
    for c, name in zip(coefficients, names, strict=True):
        negative = c.could_extract_minus_sign()
        size_ = -c if negative else c
        body = name if size_ == 1 else f"{write(size_)}{times}{name}"
        terms.append(("-" if negative else "+", body))
    if not terms:
        return "0"
    first = terms[0][1] if terms[0][0] == "+" else f"-{terms[0][1]}"
    joined = first + "".join(f" {sign} {body}" for sign, body in terms[1:])
    return joined if len(terms) == 1 else f"({joined})"
