"""How much work a derivation may take, counted and not timed, so that the same input has the same end."""

import sympy as sp

from ..errors import InvalidInput
from .parts import length

# Some seconds of work.
LIMIT = 10_000_000


class Effort:
    """What has been spent so far.

    Examples
    --------
    >>> effort = Effort(limit=10)
    >>> effort.spend(9)
    >>> effort.spend(9)
    Traceback (most recent call last):
    ...
    initmem.theory.errors.InvalidInput: the formulas of this order become too long, ...
    """

    def __init__(self, limit: int = LIMIT) -> None:
        self.limit, self.spent = limit, 0
        self._lengths: dict[sp.Basic, int] = {}

    def spend(self, amount: int) -> None:
        """Count the additions of exponents in products of monomials, and refuse to go beyond the limit."""
        self.spent += amount
        if self.spent > self.limit:
            raise InvalidInput(
                "the formulas of this order become too long, beyond some million operations: lower --order, "
                "or give a loss that is shorter or has fewer variables."
            )

    def look_at(self, expression: sp.Expr) -> None:
        """Count a formula that was put together: two for each of its nodes, as measured."""
        self.spend(2 * length(expression, self._lengths))
