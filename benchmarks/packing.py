"""Training speed by members of a packed network, on one thread, relative to one member at a time.

Prints trained images per second, evaluation and recording included, for each width; the numbers behind
``MEMBERS_BY_WIDTH`` in ``empirics/packing.py``. Takes a few minutes.
"""

import os
import sys
import time

from initmem.empirics.sweep import WORKER_ENVIRONMENT

if os.environ.get("OMP_NUM_THREADS") != "1":  # the allocator reads its settings when a process begins
    os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | WORKER_ENVIRONMENT)

import torch

from initmem.empirics.config import Cell, DataConfig, NetworkConfig
from initmem.empirics.training import train
from initmem.theory.recipe import Recipe

torch.set_num_threads(1)


def images_per_second(width: int, members: int) -> float:
    """Of the better of two short trainings; loading the data is in it, as in a sweep."""
    recipe = Recipe(train_size=512, batch_size=32, epochs=max(2, 24 // members), lr=0.03)
    cell = Cell(name="speed", recipe=recipe, data=DataConfig(), network=NetworkConfig(width=width))
    best = 0.0
    for _ in range(2):
        began = time.perf_counter()
        train(cell, [(1.0, seed) for seed in range(members)])
        best = max(best, recipe.total_updates * 32 * members / (time.perf_counter() - began))
    return best


for width in (4, 8, 16):
    alone = images_per_second(width, 1)
    row = f"width {width:2d}: 1 member {alone:7.0f} images/s"
    for members in (2, 4, 8, 16, 32):
        row += f" | {members} {images_per_second(width, members) / alone:.1f}x"
    print(row, flush=True)
