r"""The modified field of any update that acts on remembered functions of the parameters.

An optimizer reads, at update k, the quantities
:math:`Q_i = \sum_j w_{ij}\,\varphi_i(\theta_{k-j})` and moves by
:math:`\theta_{k+1} = \theta_k + \eta\, U(Q_1, Q_2, \dots)`. Once its memory has forgotten the
first updates, the iterates lie on the flow of a field :math:`F = F_0 + \eta F_1 + \dots`, for which

.. math:: \frac{e^{\eta D} - 1}{\eta}\,\theta = U\Bigl(\sum_j w_{1j} e^{-j\eta D}\varphi_1, \dots\Bigr),
          \qquad D = \sum_i F_i \partial_i .

Equal powers of :math:`\eta` give :math:`F_n` from :math:`F_0, \dots, F_{n-1}`. Of the weights only the
moments enter, for :math:`\sum_j w_j e^{-j\eta D} = \sum_k M_k (-\eta D)^k / k!`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import pairwise
from math import factorial
from typing import NamedTuple

import sympy as sp

from .derivative import derivative
from .effort import Effort
from .lag import moments

Series = list[sp.Expr]  # coefficients of lr^0, lr^1, ...


class Memory(NamedTuple):
    """A remembered quantity: the lag weights, as a generating function, and what they are summed over."""

    weights: sp.Expr
    quantity: sp.Expr


def match(
    update: Callable[..., Sequence[sp.Expr]],
    memories: Sequence[Memory],
    variables: Sequence[sp.Symbol],
    order: int,
    motion: Mapping[sp.Symbol, sp.Expr] | None = None,
) -> tuple[tuple[sp.Expr, ...], ...]:
    r"""The modified field of an update, order by order in the learning rate.

    Parameters
    ----------
    update : callable
        Takes one symbol for each memory and returns the components of :math:`U` in them.
    memories : sequence of Memory
    variables : sequence of Symbol, length d
        The parameters :math:`\theta`.
    order : int
        Largest power of the learning rate.
    motion : mapping of Symbol to Expr, optional
        Time derivatives, to leading order, of further symbols that stand for functions of the
        parameters that are not spelled out. They hold for `order` at most 1.

    Returns
    -------
    tuple of tuple of Expr
        :math:`F_0, \dots, F_n`, each with d components.

    Raises
    ------
    InvalidInput
        Where the formulas become too long.

    Examples
    --------
    Gradient descent on :math:`\theta^2/2`, whose exact rate is :math:`-\ln(1-\eta)/\eta`:

    >>> from initmem.theory.backward_error.lag import NOW
    >>> x = sp.Symbol("x")
    >>> match(lambda g: [-g], [Memory(NOW, x)], [x], 3)
    ((-x,), (-x/2,), (-x/3,), (-x/4,))
    """
    field: list[Series] = [[] for _ in variables]
    velocity = dict(zip(variables, field, strict=True))
    velocity |= {symbol: [speed] for symbol, speed in (motion or {}).items()}
    effort = Effort()
    flows = [_lie_derivatives(component, velocity, effort) for component in field]
    remembered = [_lie_derivatives([memory.quantity], velocity, effort) for memory in memories]
    weights = [moments(memory.weights, order + 1) for memory in memories]
    placeholders = [
        [sp.Dummy(f"Q{i}_{n}", real=True) for n in range(order + 1)] for i in range(len(memories))
    ]
    known: dict[sp.Symbol, sp.Expr] = {}
    inside = [sp.sympify(component) for component in update(*(symbols[0] for symbols in placeholders))]
    for n in range(order + 1):
        for symbols, m, lie in zip(placeholders, weights, remembered, strict=True):
            known[symbols[n]] = _sum(m[k] * (-1) ** k / factorial(k) * lie(k, n - k) for k in range(n + 1))
        for component, flow, expression in zip(field, flows, inside, strict=True):
            moved = _sum(flow(k, n - k) / factorial(k + 1) for k in range(1, n + 1))
            component.append(expression.xreplace(known) - moved)
            effort.look_at(component[-1])
        if n < order:
            inside = [_taylor_step(expression, placeholders, n) for expression in inside]
    return tuple(zip(*field, strict=True))


def _lie_derivatives(
    series: Series, velocity: Mapping[sp.Symbol, Series], effort: Effort
) -> Callable[[int, int], sp.Expr]:
    r"""The coefficient of :math:`\eta^j` in :math:`D^k` of a series; zero beyond what a series holds.

    The velocity may still grow while this is used: a coefficient is asked for when it is known.
    """

    @cache
    def coefficient(k: int, j: int) -> sp.Expr:
        if k == 0:
            return series[j] if j < len(series) else sp.Integer(0)
        terms = []
        for symbol, speed in velocity.items():
            for m in range(min(j + 1, len(speed))):
                terms.append(speed[m] * derivative(coefficient(k - 1, j - m), symbol))
                effort.look_at(terms[-1])
        return _sum(terms)

    return coefficient


def _taylor_step(expression: sp.Expr, symbols: Sequence[Sequence[sp.Symbol]], n: int) -> sp.Expr:
    r"""From the coefficient of :math:`\eta^n` of U to the next, the symbols being Taylor coefficients."""
    return _sum(
        sp.Rational(m + 1, n + 1) * later * derivative(expression, now)
        for of_one in symbols
        for m, (now, later) in enumerate(pairwise(of_one))
        if expression.has(now)
    )


def _sum(terms: Iterable[sp.Expr]) -> sp.Expr:
    return sp.Add(*terms)
