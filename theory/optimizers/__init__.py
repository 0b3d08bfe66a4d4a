"""Optimizers, one a file: the update, the flow that its iterates follow, and where that is known from."""

from importlib import import_module
from typing import TYPE_CHECKING

from ..errors import InvalidInput

if TYPE_CHECKING:
    from .optimizer import Optimizer

# Each has a file of its name; whatever is listed here has to pass the contract suite.
NAMES = (
    "gd",
    "sgd",
    "sgd-without-replacement",
    "heavy-ball",
    "nesterov",
    "rmsprop",
    "adam",
    "adamw",
    "adam-l2",
    "ngd",
    "sign",
    "lion",
    "muon",
)


def named(name: str) -> "Optimizer":
    """What is stated about an optimizer.

    Parameters
    ----------
    name : str
        One of :data:`NAMES`.

    Returns
    -------
    Optimizer

    Raises
    ------
    InvalidInput
        If the name is unknown.

    Examples
    --------
    >>> named("heavy-ball").title
    'Gradient descent with heavy-ball momentum'
    """
    if name not in NAMES:
        raise InvalidInput(f"optimizer {name!r} is unknown: choose one of {', '.join(NAMES)}.")
    return import_module(f".{name.replace('-', '_')}", __name__).OPTIMIZER
