"""``initmem-theory reproduce``: sweep, validation, figures and report in one go."""

from .sweep import Out, Preset, Workers
from .validate import Rounds, validate


def command(
    out: Out,
    preset: Preset = "quick",
    workers: Workers = None,
    rounds: Rounds = 2000,
) -> None:
    """Train a preset, validate it and write one self-contained report.

    The same as ``sweep`` followed by ``validate``; stopped at any moment, the same command goes on.
    """
    from ..empirics.presets import preset as named
    from .progress import run_with_bar

    run_with_bar(named(preset), out, workers)
    validate(out, rounds=rounds)
