"""The modified field of a loss that is not spelled out, as text and as LaTeX."""

from collections.abc import Callable, Sequence
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

    def to_dict(self) -> dict[str, object]:
        """A dictionary of JSON types."""
        return {
            "field": list(self.field),
            "objective": self.objective,
            "field_latex": list(self.field_latex),
            "objective_latex": self.objective_latex,
            "notation": list(self.notation),
        }


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
    r"""Lines of :math:`\sum_\tau \eta^{|\tau|-1} c(\tau) F(\tau)` for :math:`f = -g`, text and LaTeX.

    Examples
    --------
    >>> text, tex = series_lines({(): sp.Integer(1), ((),): sp.Rational(-1, 2)})
    >>> text, tex
    (['-g', '-lr*1/2*H g'], ['-g', '-\\eta\\,\\frac{1}{2}\\,H g'])
    """
    text, tex = [], []
    for vertices, group in groupby(sorted(coefficients, key=lambda t: (size(t), t)), key=size):
        terms = {
            t: positive_base(sp.factor((-1) ** vertices * coefficients[t]))
            for t in group
            if coefficients[t] != 0
        }
        text.append(_line([(c, tensor(t)) for t, c in terms.items()], power("lr", vertices - 1), str, "*"))
        tex.append(
            _line(
                [(c, tensor_latex(t)) for t, c in terms.items()], power(r"\eta", vertices - 1), latex, r"\,"
            )
        )
    return text, tex


def added(lines: Sequence[str]) -> list[str]:
    """Lines of a sum: every line but the first with its sign in front.

    Examples
    --------
    >>> added(["-g", "-lr*H g", "lr^2*g"])
    ['-g', '- lr*H g', '+ lr^2*g']
    """
    first, *rest = lines
    return [first, *(f"- {line[1:]}" if line.startswith("-") else f"+ {line}" for line in rest)]


def power(name: str, exponent: int) -> str:
    """The power of the learning rate in front of a line, empty for the first.

    Examples
    --------
    >>> power("lr", 0), power("lr", 1), power("lr", 2)
    ('', 'lr', 'lr^2')
    """
    return (
        ""
        if exponent == 0
        else name
        if exponent == 1
        else f"{name}^{exponent}"
        if exponent < 10
        else f"{name}^{{{exponent}}}"
    )


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


def _line(
    terms: Sequence[tuple[sp.Expr, str]], factor: str, write: Callable[[sp.Expr], str], times: str
) -> str:
    """One power of the learning rate, with a common minus sign in front."""
    minus = all(c.could_extract_minus_sign() for c, _ in terms)
    joined = ""
    for c, name in terms:
        c = -c if minus else c
        negative = c.could_extract_minus_sign()
        body = name if abs(c) == 1 else f"{write(-c if negative else c)}{times}{name}"
        joined += f" - {body}" if negative else f" + {body}" if joined else body
    if factor:
        joined = f"{factor}{times}({joined})" if len(terms) > 1 else f"{factor}{times}{joined}"
    return f"-{joined}" if minus else joined
