"""What is stated about a solvable model: what it remembers, by which law, and on which clock."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from ..errors import InvalidInput
from ..method import OptimizerName
from ..recipe import LARGEST
from ..trace import Array, Trace

if TYPE_CHECKING:
    import sympy as sp

Law = Literal["exact", "leading order"]

# What a model may ask about the network and its data, with the meaning shown to users.
SETTINGS: dict[str, str] = {
    "init_scale": "size of the weights at the start",
    "curvature": "eigenvalue of the Hessian",
    "gradient_norm": "norm of the full gradient, at weight norm 1 if that scales it",
    "noise": "standard deviation of one example's gradient or residual",
    "entries": "number of weights; for muon the smaller side of the matrix",
}


class Step(NamedTuple):
    """One line of a derivation: what is done, and the equation that it leads to."""

    text: str
    equation: "sp.Basic"


@dataclass(frozen=True)
class MemoryModel:
    r"""A model that can be solved, as far as its memory of the start goes.

    Attributes
    ----------
    name : str
        On the command line.
    title : str
        In a heading.
    remembers : str
        The quantity whose share is called memory.
    optimizers : tuple of str
        For which recipes the law is stated.
    settings : mapping of str to float
        What it asks beyond the recipe, a subset of :data:`SETTINGS`, with defaults.
    formula : str
        The law in plain text.
    latex : str
        The law in LaTeX.
    clock : str
        The clock it turns on with its constant, in plain text.
    law : callable
        ``(trace, **settings)`` to "exact" or "leading order": how the law stands for this trace.
    age : callable
        ``(trace, **settings)`` to ndarray, shape (updates,): the clock with its constant, as a number
        without unit, after each update.
    memory : callable
        ``(trace, **settings)`` to ndarray, shape (updates,): the share that is left after each update.
    simulate : callable
        ``(trace, seeds, rng, **settings)`` to ndarray, shape (seeds,): the share left at the end in
        simulated trainings, whose mean `memory` predicts.
    derive : callable
        ``()`` to a tuple of `Step`: the law from the modified objective or the update.
    assumptions : tuple of str
    references : tuple of str
        Keys of :mod:`initmem.theory.references`.
    """

    name: str
    title: str
    remembers: str
    optimizers: tuple[OptimizerName, ...]
    settings: Mapping[str, float]
    formula: str
    latex: str
    clock: str
    law: Callable[..., Law]
    age: Callable[..., Array]
    memory: Callable[..., Array]
    simulate: Callable[..., Array]
    derive: Callable[[], tuple[Step, ...]]
    assumptions: tuple[str, ...]
    references: tuple[str, ...]

    def settled(self, trace: Trace, given: Mapping[str, float]) -> dict[str, float]:
        """The given settings over the defaults.

        Raises
        ------
        InvalidInput
            If the law does not hold for the optimizer, or a setting is not asked for or not positive.
        """
        if trace.optimizer not in self.optimizers:
            raise InvalidInput(
                f"{self.name} has no law for {trace.optimizer}: it holds for {', '.join(self.optimizers)}."
            )
        for name, value in given.items():
            if name not in self.settings:
                asked = ", ".join(self.settings) or "nothing beyond the recipe"
                raise InvalidInput(f"{name} = {value:g} is not used by {self.name}: it asks for {asked}.")
            if not 0 <= value <= LARGEST:
                raise InvalidInput(f"{name} = {value:g} is not allowed: give a number from 0 to {LARGEST:g}.")
        return {**self.settings, **given}
