r"""Elementary differentials of a field that is given as formulas.

For a tree with children :math:`\tau_1, \dots, \tau_m` the elementary differential is the m-th derivative
of the field applied to those of the children,
:math:`F(\tau) = f^{(m)}\bigl(F(\tau_1), \dots, F(\tau_m)\bigr)` and :math:`F(\bullet) = f`.
"""

from collections.abc import Mapping, Sequence
from math import comb, lcm, prod
from typing import Any

import sympy as sp
from sympy.polys.rings import PolyElement, ring

from .derivative import derivative
from .effort import Effort
from .trees import Tree, size

Index = tuple[int, ...]

# Powers that could have more terms stay as they are written.
MOST_TERMS = 300


class ElementaryDifferentials:
    r"""Evaluator that remembers partial derivatives and what it has computed of each tree.

    Partial derivatives commute, so a multi-index :math:`\alpha` names one. Contracting with the
    children is replacing :math:`\xi^\alpha` by :math:`\partial^\alpha f` in
    :math:`\prod_i F(\tau_i)\cdot\xi`, which merges the terms that differ by the order of indices.

    Parameters
    ----------
    field : sequence of Expr, length d
        Components of f. Where all are polynomials with rational coefficients, and not too long, the
        arithmetic is done in the ring of polynomials with integer coefficients, which is faster and
        leaves results expanded.
    variables : sequence of Symbol, length d

    Raises
    ------
    InvalidInput
        By either method, where the formulas become too long.

    Examples
    --------
    >>> y = sp.Symbol("y")
    >>> ElementaryDifferentials([y**2], [y])(((),))
    (2*y**3,)
    """

    def __init__(self, field: Sequence[sp.Expr], variables: Sequence[sp.Symbol]) -> None:
        self.dimension = len(variables)
        exact = _in_ring(field, variables)
        self._in_ring = exact is not None
        # The ring has integers only: what it holds of a tree is a power of the denominator too large.
        components, self._generators, self._denominator = exact or (list(field), list(variables), 1)
        self._effort = Effort()
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
        divisor = self._denominator ** size(tree)
        return tuple(_expression(component, divisor) for component in self._value(tree))

    def combine(self, coefficients: Mapping[Tree, sp.Expr]) -> tuple[sp.Expr, ...]:
        """The field that is the given linear combination of elementary differentials.

        Parameters
        ----------
        coefficients : mapping of Tree to Expr

        Returns
        -------
        tuple of Expr, length d
        """
        scales = {tree: scale for tree, scale in coefficients.items() if scale != 0}
        if self._in_ring and all(scale.is_Rational for scale in scales.values()):
            return self._combined(scales)
        # Symbols in a coefficient lead out of the ring.
        values = [[scale * component for component in self(tree)] for tree, scale in scales.items()]
        return tuple(sp.Add(*(value[i] for value in values)) for i in range(self.dimension))

    def _combined(self, scales: Mapping[Tree, sp.Rational]) -> tuple[sp.Expr, ...]:
        """The same in the ring, where trees that differ in one child are added before they are multiplied."""
        divisor = lcm(*(int(scale.q) * self._denominator ** size(tree) for tree, scale in scales.items()))
        form: dict[Index, Any] = {}
        last: dict[tuple[Tree, ...], list[Any]] = {}
        for tree, scale in scales.items():
            factor = int(scale.p) * (divisor // (int(scale.q) * self._denominator ** size(tree)))
            if not tree:
                form = {(0,) * self.dimension: factor}
                continue
            total = last.get(tree[:-1], [0] * self.dimension)
            last[tree[:-1]] = [t + factor * c for t, c in zip(total, self._value(tree[-1]), strict=True)]
        for others, vector in last.items():
            for index, coefficient in self._times(self._form(others), vector).items():
                form[index] = form.get(index, 0) + coefficient
        return tuple(_expression(self._contracted(form, i), divisor) for i in range(self.dimension))

    def _value(self, tree: Tree) -> tuple[Any, ...]:
        if tree not in self._values:
            form = self._form(tree)
            self._values[tree] = tuple(self._contracted(form, i) for i in range(self.dimension))
        return self._values[tree]

    def _contracted(self, form: dict[Index, Any], component: int) -> Any:
        return sum(self._product(c, self._partial(component, index)) for index, c in form.items())

    def _form(self, forest: tuple[Tree, ...]) -> dict[Index, Any]:
        """The product of the linear forms of the trees, as multi-index to coefficient."""
        if forest not in self._forms:
            self._forms[forest] = self._times(self._form(forest[:-1]), self._value(forest[-1]))
        return self._forms[forest]

    def _times(self, form: dict[Index, Any], vector: Sequence[Any]) -> dict[Index, Any]:
        product: dict[Index, Any] = {}
        for index, coefficient in form.items():
            for i, component in enumerate(vector):
                if component != 0:
                    raised = _raise(index, i)
                    product[raised] = product.get(raised, 0) + self._product(coefficient, component)
        return product

    def _product(self, left: Any, right: Any) -> Any:
        if self._in_ring:
            self._effort.spend(_terms(left) * _terms(right) * self.dimension)
            return left * right
        product = left * right
        self._effort.look_at(product)
        return product

    def _partial(self, component: int, index: Index) -> Any:
        known = self._partials[component]
        if index not in known:
            axis = next(i for i, order in enumerate(index) if order)
            below = self._partial(component, _raise(index, axis, -1))
            generator = self._generators[axis]
            known[index] = below.diff(generator) if self._in_ring else derivative(below, generator)
        return known[index]


def most_terms(expression: sp.Expr) -> int:
    """A bound on the number of terms of a polynomial when it is expanded.

    Examples
    --------
    >>> x, y = sp.symbols("x y")
    >>> most_terms((x + y + 1) ** 3 * x + y)
    11
    """
    if isinstance(expression, sp.Add):
        return sum(map(most_terms, expression.args))
    if isinstance(expression, sp.Mul):
        return prod(map(most_terms, expression.args))
    if isinstance(expression, sp.Pow) and expression.exp.is_Integer and expression.exp > 0:
        terms, n = most_terms(expression.base), int(expression.exp)
        return comb(terms + n - 1, n)
    return 1


def _raise(index: Index, axis: int, by: int = 1) -> Index:
    return (*index[:axis], index[axis] + by, *index[axis + 1 :])


def _in_ring(
    field: Sequence[sp.Expr], variables: Sequence[sp.Symbol]
) -> tuple[list[PolyElement], list[PolyElement], int] | None:
    """Integer polynomials, their variables, and their common divisor; None if the field is no such."""
    if max(map(most_terms, field)) > MOST_TERMS:
        return None
    symbols = set(variables).union(*(component.free_symbols for component in field))
    generators = [*variables, *sorted(symbols - set(variables), key=str)]
    rational, *_ = ring(generators, sp.QQ)
    whole, *gens = ring(generators, sp.ZZ)
    try:
        exact = [rational.from_expr(component) for component in field]
    except ValueError:  # not a polynomial, or with coefficients such as sqrt(2)
        return None
    divisor = lcm(*(int(c.denominator) for polynomial in exact for c in polynomial.values()))
    scaled = [(polynomial * divisor).set_ring(whole) for polynomial in exact]
    return scaled, gens[: len(variables)], divisor


def _terms(component: Any) -> int:
    return len(component) if isinstance(component, PolyElement) else 1


def _expression(component: Any, divisor: int) -> sp.Expr:
    if not isinstance(component, PolyElement):
        return sp.sympify(component) / divisor
    rational = component.ring.clone(domain=sp.QQ)
    return (component.set_ring(rational) * sp.QQ(1, divisor)).as_expr()
