"""Which runs train side by side, and how long they take relative to each other.

How many members lie beside a run, and at which place it lies among them, moves its numbers in the last
bit: vectorised kernels treat the end of an array differently. A pack therefore depends on the sweep
alone. One that was interrupted between its runs trains whole again, and writes those that are missing.
"""

from collections.abc import Iterable

from .config import Run

# Members of one packed network by width: narrow networks leave the processor waiting for calls, wide
# ones fill it alone. Measured on two cores, see benchmarks/.
MEMBERS_BY_WIDTH = ((8, 32), (16, 8))


def packs(runs: Iterable[Run]) -> list[list[Run]]:
    """Split all runs of a sweep into packs that train together, the longest work first.

    Parameters
    ----------
    runs : iterable of Run
        Every run of the sweep, finished or not.

    Returns
    -------
    list of list of Run
        Every pack is of one cell.
    """
    by_cell: dict[str, list[Run]] = {}
    for run in runs:
        by_cell.setdefault(run.cell.name, []).append(run)
    result = []
    for members in by_cell.values():
        size = _capacity(members[0].cell.network.width)
        result += [members[start : start + size] for start in range(0, len(members), size)]
    return sorted(result, key=work, reverse=True)


def _capacity(width: int) -> int:
    return next((size for limit, size in MEMBERS_BY_WIDTH if width <= limit), 1)


def work(pack: list[Run]) -> float:
    """Training effort of a pack in images, for balancing and for the time that is left.

    An update costs what ten images cost whatever its size, an evaluated image a third of a trained
    one, and Muon's iteration about half of the training beside it at the widths that pack.
    """
    recipe, data = pack[0].cell.recipe, pack[0].cell.data
    images = recipe.total_updates * (recipe.batch_size + 10)
    evaluated = recipe.total_epochs * data.validation_size / 3
    return len(pack) * (images * (1.5 if recipe.optimizer == "muon" else 1.0) + evaluated)
