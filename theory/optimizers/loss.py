"""A loss given as formulas: one for each training example, or only their mean."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property

import sympy as sp

from ..backward_error.derivative import derivative
from ..errors import InvalidInput
from ..expression import parse_expression, variables
from .constants import Constants

_NAMES_E = re.compile(r"(?<![\w.])E(?!\w)")
_EULER = "E in the loss is Euler's number 2.718...; write e, or another name, for a variable."


@dataclass(frozen=True)
class Loss:
    r"""Losses :math:`l_i(\theta)` of the training examples; training minimises their mean L.

    Attributes
    ----------
    samples : tuple of Expr
        One formula an example. A single formula is the mean itself.
    variables : tuple of Symbol, length d
        The parameters :math:`\theta`, in natural order.
    notes : tuple of str
        What to know about how the text was read, a sentence each.

    Examples
    --------
    >>> loss = Loss.parse(["(x - 1)**2/2", "(x + 1)**2/2"])
    >>> loss.mean.expand(), loss.noise.expand()
    (x**2/2 + 1/2, 1)
    """

    samples: tuple[sp.Expr, ...]
    variables: tuple[sp.Symbol, ...]
    notes: tuple[str, ...] = ()

    @classmethod
    def parse(cls, texts: Sequence[str]) -> "Loss":
        """Read the formulas with :func:`initmem.theory.expression.parse_expression`.

        Raises
        ------
        InvalidInput
            If a formula cannot be read or none of them has a variable.
        """
        loss = cls.of(*(parse_expression(text) for text in texts))
        return replace(loss, notes=(_EULER,)) if any(map(_NAMES_E.search, texts)) else loss

    @classmethod
    def of(cls, *samples: sp.Expr) -> "Loss":
        """The loss with these formulas, one for each example.

        Raises
        ------
        InvalidInput
            If there is nothing to train.
        """
        symbols = variables(sp.Tuple(*samples))
        constants = {field.name for field in fields(Constants)}
        for name in (symbol.name for symbol in symbols if symbol.name in constants):
            raise InvalidInput(f"{name} is the name of a constant, not of a variable: rename it in the loss.")
        if not symbols:
            raise InvalidInput(f"the loss {samples[0]} has no variable: there is nothing to train.")
        return cls(samples, symbols)

    @cached_property
    def mean(self) -> sp.Expr:
        """The training loss L."""
        return sp.Add(*self.samples) / len(self.samples)

    @cached_property
    def noise(self) -> sp.Expr:
        r""":math:`\Gamma = \frac1N\sum_i|\nabla l_i-\nabla L|^2`; unknown where there is one formula."""
        if len(self.samples) == 1:
            return sp.Function("Gamma")(*self.variables)
        return sp.Add(
            *(squared(gradient(sample - self.mean, self.variables)) for sample in self.samples)
        ) / len(self.samples)

    @cached_property
    def covariance(self) -> sp.Matrix:
        r""":math:`\Sigma = \frac1N \sum_i (\nabla l_i - \nabla L)(\nabla l_i - \nabla L)^\top`."""
        if len(self.samples) == 1:
            d = len(self.variables)
            return sp.Matrix(d, d, lambda i, j: sp.Function(f"Sigma{i + 1}{j + 1}")(*self.variables))
        parts = [sp.Matrix(gradient(sample - self.mean, self.variables)) for sample in self.samples]
        return sum((part * part.T for part in parts), sp.zeros(len(self.variables))) / len(parts)


def gradient(loss: sp.Expr, variables: Sequence[sp.Symbol]) -> list[sp.Expr]:
    """The partial derivatives.

    Examples
    --------
    >>> x, y = sp.symbols("x y")
    >>> gradient(x * y**2, (x, y))
    [y**2, 2*x*y]
    """
    return [derivative(loss, variable) for variable in variables]


def decayed(loss: sp.Expr, variables: Sequence[sp.Symbol], rate: sp.Expr) -> sp.Expr:
    r"""The loss whose gradient includes a coupled decay, :math:`L + \frac{\lambda}{2}|\theta|^2`.

    Examples
    --------
    >>> x = sp.Symbol("x")
    >>> decayed(sp.exp(x), (x,), sp.Rational(1, 10))
    x**2/20 + exp(x)
    """
    return loss + rate / 2 * squared(variables)


def squared(vector: Sequence[sp.Expr]) -> sp.Expr:
    """The squared Euclidean norm.

    Examples
    --------
    >>> squared(sp.symbols("x y"))
    x**2 + y**2
    """
    return sp.Add(*(component**2 for component in vector))
