"""A modified field: its terms order by order, as formulas and as a function of numbers."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import mpmath as mp
import numpy as np
import sympy as sp

from ..errors import InvalidInput, WorkFailed
from .parts import symbols_of
from .text import brief, short
from .values import numerical

Vector = tuple[sp.Expr, ...]


@dataclass(frozen=True)
class ModifiedField:
    r"""The field :math:`\dot\theta = F_0 + \eta F_1 + \dots + \eta^n F_n` that the updates follow.

    Time is learning rate times updates.

    Attributes
    ----------
    variables : tuple of Symbol, length d
        The parameters :math:`\theta`.
    terms : tuple of tuple of Expr
        :math:`F_0, \dots, F_n`, each with d components.

    Examples
    --------
    >>> x = sp.Symbol("x")
    >>> field = ModifiedField((x,), ((-x,), (-x / 2,)))
    >>> field.total(sp.Rational(1, 10))
    (-21*x/20,)
    """

    variables: tuple[sp.Symbol, ...]
    terms: tuple[Vector, ...]

    @property
    def order(self) -> int:
        """Largest power of the learning rate that is kept."""
        return len(self.terms) - 1

    def total(self, lr: sp.Expr) -> Vector:
        """The sum of all terms at a learning rate."""
        components = zip(*self.terms, strict=True)
        return tuple(sp.Add(*(lr**n * term for n, term in enumerate(terms))) for terms in components)

    def at(self, theta: np.ndarray, order: int | None = None) -> np.ndarray:
        r"""The terms at a point in double precision; they may have no symbols but the variables.

        Parameters
        ----------
        theta : ndarray of shape (d,)
        order : int, optional
            Only the terms up to this power of the learning rate.

        Returns
        -------
        ndarray of shape (order + 1, d)

        Examples
        --------
        >>> x = sp.Symbol("x")
        >>> ModifiedField((x,), ((-x,), (-x / 2,))).at(np.array([2.0]))
        array([[-2.],
               [-1.]])
        """
        last = self.order if order is None else order
        return np.array([term(*theta) for term in self._compiled[: last + 1]], dtype=float)

    @cached_property
    def _compiled(self) -> list[Callable[..., list[float]]]:
        # Each term by itself: the flow of a low order must not pay for the long terms of a high one.
        return [sp.lambdify(self.variables, list(term), modules="numpy", cse=True) for term in self.terms]

    def flow(self, start: np.ndarray, lr: float, updates: int, order: int | None = None) -> np.ndarray:
        r"""Where the flow is after a number of updates.

        Parameters
        ----------
        start : ndarray of shape (d,)
        lr : float
        updates : int
            The flow runs for a time of `lr` times `updates`.
        order : int, optional
            Keep only terms up to this power of the learning rate.

        Returns
        -------
        ndarray of shape (d,)

        Raises
        ------
        WorkFailed
            If the flow cannot be followed that far.

        Examples
        --------
        >>> x = sp.Symbol("x")
        >>> field = ModifiedField((x,), ((-x,), (-x / 2,)))
        >>> float(field.flow(np.array([1.0]), 0.1, 10)[0] / np.exp(-1.05))
        1.0000000000...
        """
        from scipy.integrate import solve_ivp  # half a second that a derivation need not wait for

        last = self.order if order is None else order
        powers = lr ** np.arange(last + 1)

        def velocity(_: float, theta: np.ndarray) -> np.ndarray:
            return powers @ self.at(theta, last)

        done = solve_ivp(velocity, (0.0, lr * updates), start, method="DOP853", rtol=3e-14, atol=1e-15)
        if not done.success:
            raise WorkFailed(f"the modified flow could not be followed for {updates} updates: {done.message}")
        return done.y[:, -1]


def number(expression: sp.Expr, point: Mapping[sp.Symbol, sp.Expr]) -> float:
    """The value of an expression at a point, computed with 20 digits or more and rounded to double.

    Parameters
    ----------
    expression : Expr
    point : mapping of Symbol to number

    Returns
    -------
    float

    Raises
    ------
    InvalidInput
        If a symbol has no value, or the value is not a finite real number.

    Examples
    --------
    >>> x = sp.Symbol("x")
    >>> number(sp.sqrt(x), {x: sp.Integer(2)})
    1.4142135623730951
    """
    symbols = symbols_of(expression)
    missing = [str(symbol) for symbol in symbols if symbol not in point]
    if missing:
        raise InvalidInput(
            f"{', '.join(missing)} has no value: give one for each symbol of {short(expression)}."
        )
    where = ", ".join(f"{symbol} = {brief(point[symbol])}" for symbol in symbols)
    try:
        value = _settled(expression, point)
    except OverflowError:
        raise InvalidInput(
            f"{short(expression)} leads to numbers beyond exp(1e301) at {where}, more than can be computed: "
            f"choose a smaller point or smaller constants."
        ) from None
    except (ArithmeticError, ValueError, TypeError):
        value = mp.nan
    if isinstance(value, mp.mpc) or not mp.isfinite(value):
        raise InvalidInput(
            f"{short(expression)} is not a finite real number at {where}: choose a point where the loss is "
            f"smooth."
        )
    if not math.isfinite(float(value)):
        raise InvalidInput(
            f"{short(expression)} is {mp.nstr(value, 3)}, more than a double holds: choose a smaller point "
            f"or smaller constants."
        )
    return float(value)


def _settled(expression: sp.Expr, point: Mapping[sp.Symbol, sp.Expr]) -> Any:
    """The value with as many digits as it takes until twenty of them stay."""
    before = None
    for digits in (40, 80, 160, 320, 640):
        with mp.workdps(digits):
            value = numerical([expression], point)[0]
            if isinstance(value, mp.mpc) and abs(value.imag) <= abs(value.real) * mp.mpf(10) ** (10 - digits):
                value = value.real
            if not mp.isfinite(value) or expression.has(sp.Integral):
                return value
            if before is not None and value != 0 and abs(value - before) <= abs(value) * mp.mpf(10) ** -20:
                return value
            before = value
    return mp.mpf(0)  # what is left of a difference of equal numbers
