"""Solvable models trained with recipes that differ, for lengths that bring them to similar ages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..theory.method import OptimizerName
from ..theory.models.memory import Prediction, Simulation, predict, simulate
from ..theory.models.validity import CLOCKS
from ..theory.recipe import Recipe
from ..theory.trace import Trace

LENGTHS = 4  # of every recipe, at ages from near 0 to the end of the panel
_LONG = 1000  # updates by which the pace of a recipe's age is measured


@dataclass(frozen=True)
class Family:
    """What a recipe has in place of the first one's constants.

    Attributes
    ----------
    words : str
    rate, batch : int
        By what learning rate and batch size are multiplied.
    schedule : str
    """

    words: str
    rate: int = 1
    batch: int = 1
    schedule: str = "constant"


FAMILIES = (
    Family("constant rate"),
    Family("3 times the rate", rate=3),
    Family("4 times the batch", batch=4),
    Family("cosine from 2 times the rate", rate=2, schedule="cosine"),
)


@dataclass(frozen=True)
class Setting:
    """What one panel shows.

    Attributes
    ----------
    title, recipe : str
        What remembers, and how it is trained.
    model, optimizer : str
    lr : float
        Peak rate of the first family.
    clock : str
        With its constant, in LaTeX.
    other : str
        A clock of :data:`~initmem.theory.models.validity.CLOCKS` that is not the model's.
    settings : mapping of str to float
        Of the model.
    weight_decay : float
    span : float
        The largest age that is shown.
    seeds : int
        2 where nothing but a sign is random.
    note : str
        In the lower left corner.
    """

    title: str
    recipe: str
    model: str
    optimizer: OptimizerName
    lr: float
    clock: str
    other: str
    settings: Mapping[str, float] = field(default_factory=dict)
    weight_decay: float = 0.0
    span: float = 3.2
    seeds: int = 200
    note: str = ""

    def predict(self, family: Family, updates: int) -> Prediction:
        """The law after some updates of a family's recipe."""
        recipe = Recipe(
            optimizer=self.optimizer,
            lr=self.lr * family.rate,
            batch_size=4 * family.batch,
            schedule=family.schedule,
            updates=updates,
            weight_decay=self.weight_decay,
            train_size=10**15,  # so large that a batch takes nothing from it
        )
        return predict(self.model, Trace.of(recipe), self.settings)


_LABELS = {"noise": 6.0}
_NOISE = {"gradient_norm": 0.0, "noise": 3.0}
_ON_LABELS = "SGD, label noise"
SETTINGS = (
    Setting("Null space", "AdamW", "null-space", "adamw", 5e-3, "$T_{L2}$", "T_SGD", {}, 0.5, seeds=2),
    Setting("Row space", "SGD", "row-space", "sgd", 5e-3, r"$h\,\sum\eta_k$", "T_SGD"),
    Setting("Imbalance", _ON_LABELS, "imbalance", "sgd", 0.01, r"$s^2\,T_{SGD}$", "T_adapt", _LABELS),
    Setting("Diagonal network", _ON_LABELS, "diagonal", "sgd", 0.01, r"$s^2\,T_{SGD}$", "T_adapt", _LABELS),
    Setting(
        "Scale-invariant norm",
        "SGD, noise dominates",
        "scale-invariant",
        "sgd",
        0.015,
        r"$(2s^2/r_0^4)\;T_{SGD}$",
        "T_adapt",
        _NOISE,
    ),
    Setting(
        "Scale-invariant norm",
        "Adam",
        "scale-invariant",
        "adam",
        1.5e-3,
        r"$(C/r_0^2)\,\sum\eta_k^2$",
        "T_adapt",
    ),
    Setting(
        "Weight without gradient",
        "Adam with L2",
        "gradient-free",
        "adam",
        7e-6,
        r"$T_{adapt}/|w_0|$",
        "sum lr^2",
        weight_decay=0.1,
        span=1.0,
        seeds=2,
        note="above the line by\na lag of first order\nin the rate",
    ),
    Setting(
        "Noisy quadratic",
        "Adam",
        "noisy-quadratic",
        "adam",
        5e-4,
        r"$(c\,h/s)\,\sum\eta_k\sqrt{b_k}$",
        "T_SGD",
    ),
)


@dataclass(frozen=True)
class Dot:
    """Trainings with one recipe of one length.

    Attributes
    ----------
    family : Family
    prediction : Prediction
    simulation : Simulation
    reading : float
        Of the other clock, in units in which the first family's is the age.
    """

    family: Family
    prediction: Prediction
    simulation: Simulation
    reading: float


@dataclass(frozen=True)
class Panel:
    """A memory against its clock.

    Attributes
    ----------
    setting : Setting
    ages, memories : ndarray, shape (updates,)
        The line of the law, along the first recipe.
    dots : tuple of Dot
    """

    setting: Setting
    ages: np.ndarray
    memories: np.ndarray
    dots: tuple[Dot, ...]


def lengths(setting: Setting, index: int) -> list[int]:
    """Updates of the trainings of one family, such that the ages of all families spread evenly.

    Parameters
    ----------
    setting : Setting
    index : int
        Of the family.

    Returns
    -------
    list of int

    Examples
    --------
    An update of the first recipe is an age of 0.005 * 0.5:

    >>> lengths(SETTINGS[0], 0)
    [40, 360, 680, 1000]
    """
    pace = setting.predict(FAMILIES[index], _LONG).age / _LONG
    ends = (np.arange(LENGTHS) + (index + 0.5) / len(FAMILIES)) / LENGTHS
    return [round(float(end) * setting.span / pace) for end in ends]


def simulate_panel(setting: Setting) -> Panel:
    """Train one model with all recipes at all lengths.

    Parameters
    ----------
    setting : Setting

    Returns
    -------
    Panel

    Examples
    --------
    >>> dot = simulate_panel(SETTINGS[0]).dots[0]
    >>> round(dot.prediction.age, 6), round(dot.simulation.mean, 6)
    (0.1, 0.904724)
    """
    first = setting.predict(FAMILIES[0], _LONG)
    unit = first.age / CLOCKS[setting.other](first.trace)
    dots = []
    for index, family in enumerate(FAMILIES):
        for updates in lengths(setting, index):
            prediction = setting.predict(family, updates)
            simulation = simulate(prediction, setting.seeds, seed=len(dots))
            reading = unit * CLOCKS[setting.other](prediction.trace)
            dots.append(Dot(family, prediction, simulation, reading))
    whole = setting.predict(FAMILIES[0], round(_LONG * setting.span / first.age))
    known = whole.trace, whole.settings
    ages, memories = (law(known[0], **known[1]) for law in (whole.model.age, whole.model.memory))
    return Panel(setting, ages, memories, tuple(dots))


def simulate_panels(settings: Sequence[Setting] = SETTINGS) -> tuple[Panel, ...]:
    """All panels; the same numbers every time."""
    return tuple(simulate_panel(setting) for setting in settings)
