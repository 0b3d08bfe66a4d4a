r"""Elementary differentials of a field that is given as formulas.

For a tree with children :math:`\tau_1, \dots, \tau_m` the elementary differential is the m-th derivative
of the field applied to those of the children,
:math:`F(\tau) = f^{(m)}\bigl(F(\tau_1), \dots, F(\tau_m)\bigr)` and :math:`F(\bullet) = f`.
"""

from collections.abc import Sequence
from typing import Any

import sympy as sp
from sympy.polys.rings import ring

from .derivative import derivative
from .trees import Tree

Index = tuple[int, ...]


class ElementaryDifferentials:
    r"""Evaluator that remembers partial derivatives and what it has computed of each tree.

    Partial derivatives commute, so a multi-index :math:`\alpha` names one. Contracting with the
    children is replacing :math:`\xi^\alpha` by :math:`\partial^\alpha f` in
    :math:`\prod_i F(\tau_i)\cdot\xi`, which merges the terms that differ by the order of indices.

    Parameters
    ----------
    field : sequence of Expr, length d
        Components of f. Where all are polynomials with rational coefficients the arithmetic is done
        in the ring of polynomials, which is faster and leaves results expanded.
    variables : sequence of Symbol, length d

    Examples
    --------
    >>> y = sp.Symbol("y")
    >>> ElementaryDifferentials([y**2], [y])(((),))
    (2*y**3,)
    """

    def __init__(self, field: Sequence[sp.Expr], variables: Sequence[sp.Symbol]) -> None:
        self.dimension = len(variables)
        components, self._generators = _in_ring(field, variables)
        self._in_ring = self._generators != list(variables)
        origin = (0,) * self.dimension
        self._partials: list[dict[Index, Any]] = [{origin: component} for component in components]
        self._values: dict[Tree, tuple[Any, ...]] = {}
        self._forms: dict[tuple[Tree, ...], dict[Index, Any]] = {(): {origin: 1}}

    def __call__(self, tree: Tree) -> tuple[sp.Expr, ...]:
        """The components of the elementary differential of a tree.

        Parameters
        ----------
        tree : Tree

        Returns
        -------
        tuple of Expr, length d
        """
        return tuple(_expression(component) for component in self._value(tree))

    def combine(self, coefficients: dict[Tree, sp.Expr]) -> tuple[sp.Expr, ...]:
        """The field that is the given linear combination of elementary differentials.

        Parameters
        ----------
        coefficients : dict of Tree to Expr

        Returns
        -------
        tuple of Expr, length d
        """
        exact = all(coefficient.is_Rational for coefficient in coefficients.values())
        total: list[Any] = [0] * self.dimension
        for tree, coefficient in coefficients.items():
            if coefficient != 0:
                # Rational sums stay in the ring; symbols in a coefficient lead out of it.
                scale = sp.QQ(coefficient.p, coefficient.q) if exact and self._in_ring else coefficient
                value = self._value(tree) if exact else self(tree)
                total = [t + scale * c for t, c in zip(total, value, strict=True)]
        return tuple(_expression(component) for component in total)

    def _value(self, tree: Tree) -> tuple[Any, ...]:
        if tree not in self._values:
            form = self._form(tree)
            self._values[tree] = tuple(
                sum(c * self._partial(i, index) for index, c in form.items()) for i in range(self.dimension)
            )
        return self._values[tree]

    def _form(self, forest: tuple[Tree, ...]) -> dict[Index, Any]:
        """The product of the linear forms of the trees, as multi-index to coefficient."""
        if forest not in self._forms:
            product: dict[Index, Any] = {}
            last = self._value(forest[-1])
            for index, coefficient in self._form(forest[:-1]).items():
                for i, component in enumerate(last):
                    if component != 0:
                        raised = _raise(index, i)
                        product[raised] = product.get(raised, 0) + coefficient * component
            self._forms[forest] = product
        return self._forms[forest]

    def _partial(self, component: int, index: Index) -> Any:
        known = self._partials[component]
        if index not in known:
            axis = next(i for i, order in enumerate(index) if order)
            below = self._partial(component, _raise(index, axis, -1))
            generator = self._generators[axis]
            known[index] = below.diff(generator) if self._in_ring else derivative(below, generator)
        return known[index]


def _raise(index: Index, axis: int, by: int = 1) -> Index:
    return (*index[:axis], index[axis] + by, *index[axis + 1 :])


def _in_ring(field: Sequence[sp.Expr], variables: Sequence[sp.Symbol]) -> tuple[list[Any], list[Any]]:
    """The components as polynomials over the rationals if they are that, else as they came."""
    symbols = set(variables).union(*(component.free_symbols for component in field))
    generators = [*variables, *sorted(symbols - set(variables), key=str)]
    polynomials, *_ = ring(generators, sp.QQ)
    try:
        exact = [polynomials.from_expr(component) for component in field]
    except ValueError:  # not a polynomial, or with coefficients such as sqrt(2)
        return list(field), list(variables)
    return exact, list(polynomials.gens[: len(variables)])


def _expression(component: Any) -> sp.Expr:
    return component.as_expr() if hasattr(component, "as_expr") else sp.sympify(component)
