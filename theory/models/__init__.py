"""Solvable models, one file a family: the law by which each forgets its start, and a simulator of it."""

from importlib import import_module
from typing import TYPE_CHECKING

from ..errors import InvalidInput

if TYPE_CHECKING:
    from .model import MemoryModel

# Each name with the file and the constant in it; whatever is listed has to pass the contract suite.
WHERE = {
    "null-space": ("linear", "NULL_SPACE"),
    "row-space": ("linear", "ROW_SPACE"),
    "imbalance": ("deep_linear", "IMBALANCE"),
    "difference": ("difference", "DIFFERENCE"),
    "diagonal": ("diagonal", "DIAGONAL"),
    "scale-invariant": ("scale_invariant", "SCALE_INVARIANT"),
    "gradient-free": ("gradient_free", "GRADIENT_FREE"),
    "noisy-quadratic": ("noisy_quadratic", "NOISY_QUADRATIC"),
}
NAMES = tuple(WHERE)


def named(name: str) -> "MemoryModel":
    """What is stated about a solvable model.

    Parameters
    ----------
    name : str
        One of :data:`NAMES`.

    Returns
    -------
    MemoryModel

    Raises
    ------
    InvalidInput
        If the name is unknown.

    Examples
    --------
    >>> named("null-space").clock
    'T_L2, with constant 1'
    """
    if name not in WHERE:
        raise InvalidInput(f"model {name!r} is unknown: choose one of {', '.join(NAMES)}.")
    file, constant = WHERE[name]
    return getattr(import_module(f".{file}", __name__), constant)
