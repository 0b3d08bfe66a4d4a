"""The constants of an optimizer: exact numbers where they are given, symbols where they are not."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import sympy as sp

from ..errors import InvalidInput

if TYPE_CHECKING:
    from .optimizer import Optimizer

LR = sp.Symbol("lr", positive=True)
BETA, BETA1, BETA2 = sp.symbols("beta beta1 beta2", nonnegative=True)
EPS, WEIGHT_DECAY = sp.symbols("eps weight_decay", positive=True)
BATCH_SIZE, TRAIN_SIZE = sp.symbols("batch_size train_size", positive=True, integer=True)
NO_DECAY = sp.Integer(0)
DECAY_LAWS = ("coupled", "decoupled", "independent")


@dataclass(frozen=True)
class Constants:
    r"""Numbers or symbols.

    Attributes
    ----------
    lr : Expr
        Learning rate :math:`\eta`.
    beta : Expr
        Momentum of heavy ball, Nesterov, normalized descent, sign descent and Muon.
    beta1, beta2, eps : Expr
        Of the Adam family; the first two also of Lion.
    weight_decay : Expr
        Decay coefficient :math:`\lambda`; zero unless given.
    decay_law : str
        ``coupled`` adds :math:`\lambda\theta` to the gradient, ``decoupled`` multiplies the weights by
        :math:`1-\eta\lambda`, ``independent`` by :math:`1-\lambda`.
    batch_size, train_size : Expr
        Examples of one update b and in all N.
    """

    lr: sp.Expr = LR
    beta: sp.Expr = BETA
    beta1: sp.Expr = BETA1
    beta2: sp.Expr = BETA2
    eps: sp.Expr = EPS
    weight_decay: sp.Expr = NO_DECAY
    decay_law: str = "coupled"
    batch_size: sp.Expr = BATCH_SIZE
    train_size: sp.Expr = TRAIN_SIZE

    @property
    def decay_rate(self) -> sp.Expr:
        r"""Decay per unit of time: :math:`\lambda`; :math:`\lambda/\eta` if independent of the rate."""
        return self.weight_decay / self.lr if self.decay_law == "independent" else self.weight_decay

    @property
    def coupled_rate(self) -> sp.Expr:
        """The rate of a decay that is part of the gradient, else 0."""
        return self.decay_rate if self.decay_law == "coupled" else sp.Integer(0)

    @property
    def decoupled_rate(self) -> sp.Expr:
        """The rate of a decay that acts on the weights, else 0."""
        return self.decay_rate if self.decay_law != "coupled" else sp.Integer(0)

    @property
    def has_minibatches(self) -> bool:
        """Whether a batch size was given."""
        return self.batch_size != BATCH_SIZE

    def floats(self) -> Any:
        """The same in double precision, for the executable update; symbols are left out."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        values |= {"coupled_rate": self.coupled_rate, "decoupled_rate": self.decoupled_rate}
        return SimpleNamespace(
            **{name: float(v) for name, v in values.items() if isinstance(v, sp.Expr) and v.is_number}
        )


def settle(optimizer: "Optimizer", given: Mapping[str, Any]) -> Constants:
    """The constants of an optimizer from those that were given.

    Parameters
    ----------
    optimizer : Optimizer
    given : mapping of str to number or str
        Fields of :class:`Constants`; what is missing stays a symbol, but there is no decay unless it
        is given or in the optimizer's name.

    Returns
    -------
    Constants

    Raises
    ------
    InvalidInput
        If the optimizer has no such constant or the value is out of range.

    Examples
    --------
    >>> from initmem.theory.optimizers import named
    >>> settle(named("adamw"), {"beta1": sp.Rational(9, 10)}).weight_decay
    weight_decay
    """
    decay = ("weight_decay", "decay_law") if optimizer.decay_laws else ()
    for name in given:
        if name not in ("lr", *optimizer.settings, *decay):
            hint = "; adamw and adam-l2 have decay" if name in ("weight_decay", "decay_law") else ""
            has = ", ".join(("lr", *optimizer.settings, *decay))
            raise InvalidInput(f"{name} was given for {optimizer.name}, which has {has}{hint}: leave it out.")
    law = given.get("decay_law", optimizer.decay_laws[0] if decay else "coupled")
    if decay and law not in optimizer.decay_laws:
        allowed = ", ".join(optimizer.decay_laws)
        raise InvalidInput(f"decay law {law!r} is not one of {optimizer.name}: choose one of {allowed}.")
    always = {"weight_decay": WEIGHT_DECAY} if optimizer.name in ("adamw", "adam-l2") else {}
    constants = Constants(**(always | dict(given) | {"decay_law": law}))
    check(constants)
    return constants


def check(constants: Constants) -> None:
    """Refuse numbers outside their range.

    Parameters
    ----------
    constants : Constants

    Raises
    ------
    InvalidInput
        Naming the number and the range.

    Examples
    --------
    >>> check(Constants(beta=sp.Rational(9, 10)))
    >>> check(Constants(beta=sp.Integer(1)))
    Traceback (most recent call last):
    initmem.theory.errors.InvalidInput: beta = 1 is not allowed: give a number from 0 to below 1.
    """
    ranges = {
        "lr": (lambda v: v > 0, "a number above 0"),
        "beta": (lambda v: 0 <= v < 1, "a number from 0 to below 1"),
        "beta1": (lambda v: 0 <= v < 1, "a number from 0 to below 1"),
        "beta2": (lambda v: 0 <= v < 1, "a number from 0 to below 1"),
        "eps": (lambda v: v >= 0, "0 or a number above it"),
        "weight_decay": (lambda v: v >= 0, "0 or a number above it"),
        "batch_size": (lambda v: v >= 1 and v.is_Integer, "a whole number from 1 on"),
        "train_size": (lambda v: v >= 1 and v.is_Integer, "a whole number from 1 on"),
    }
    for name, (allowed, sentence) in ranges.items():
        value = getattr(constants, name)
        if value.is_number and not allowed(value):
            raise InvalidInput(f"{name} = {_plain(value)} is not allowed: give {sentence}.")
    if constants.decay_law not in DECAY_LAWS:
        raise InvalidInput(
            f"decay law {constants.decay_law!r} is unknown: choose one of {', '.join(DECAY_LAWS)}."
        )
    if constants.decay_law == "independent" and constants.weight_decay != 0 and not constants.lr.is_number:
        raise InvalidInput(
            "independent decay takes weight_decay off the weights at every update, whatever lr is: "
            "give lr, so that its rate weight_decay/lr is a number."
        )
    batch, train = constants.batch_size, constants.train_size
    if batch.is_number and train.is_number and batch > train:
        raise InvalidInput(f"batch_size = {batch} is larger than train_size = {train}: give at most {train}.")


def _plain(value: sp.Expr) -> str:
    return str(value) if value.is_Integer else f"{float(value):g}"
