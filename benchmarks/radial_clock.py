"""What recording the measured clocks costs: training with them, relative to training without, in turns."""

import os
import statistics
import sys
import time

from initmem.empirics.sweep import WORKER_ENVIRONMENT

if os.environ.get("OMP_NUM_THREADS") != "1":  # the allocator reads its settings when a process begins
    os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | WORKER_ENVIRONMENT)

import torch

from initmem.empirics.presets import preset
from initmem.empirics.radial_clock import RadialClock
from initmem.empirics.training import train

torch.set_num_threads(1)

ROUNDS, EPOCHS = 5, 2
STARTS = [(scale, seed) for scale in (0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 2.5) for seed in range(3)]
ADD = RadialClock.add


def seconds(cell, recording: bool) -> float:
    """Of this thread, which does all the work, for one short training of all starts together."""
    RadialClock.add = ADD if recording else lambda self, lr: None  # type: ignore[method-assign]
    began = time.thread_time()
    train(cell, STARTS)
    return time.thread_time() - began


for cell in preset("quick").cells[::5]:
    recipe = cell.recipe.model_copy(update={"epochs": EPOCHS, "updates": None})
    short = cell.model_copy(update={"recipe": recipe})
    pairs = [(seconds(short, True), seconds(short, False)) for _ in range(ROUNDS)]
    ratios = [recorded / plain for recorded, plain in pairs]
    print(f"{cell.name:16s} median ratio {statistics.median(ratios):.3f}", flush=True)
