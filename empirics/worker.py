"""A worker process: reads packs from standard input, trains them, writes their runs, reports.

One JSON object a line in each direction. In: ``{"folder": ..., "runs": [...]}``. Out:
``{"epochs": n}`` while a pack trains, ``{"done": true}`` when its runs are written, ``{"error": ...}`` if
that failed. One thread a process: the same thread count gives the same bits, and single-threaded workers
use the cores better. When the parent is gone the next report fails, and the worker ends.
"""

import json
import os
import platform
import signal
import sys
import traceback
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import torch

from .config import Run
from .store import write_run
from .training import train


def environment(members: int) -> dict[str, Any]:
    """What the bits of a result may depend on besides its configuration."""
    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "machine": platform.machine(),
        "instruction_set": torch.backends.cpu.get_cpu_capability(),
        "threads": torch.get_num_threads(),
        "memory_format": "channels_last",
        "members": members,
    }


def work(task: dict[str, Any], reports: TextIO) -> None:
    """Train one pack and write its runs."""
    runs = [Run.model_validate(run) for run in task["runs"]]
    outcomes = train(
        runs[0].cell,
        [(run.init_scale, run.seed) for run in runs],
        on_epoch=lambda epoch: print(json.dumps({"epochs": epoch}), file=reports),
    )
    for run, outcome in zip(runs, outcomes, strict=True):
        write_run(Path(task["folder"]), run, outcome.history, outcome.result, environment(len(runs)))


def main() -> None:
    """Serve packs until standard input ends."""
    # Ctrl-C reaches the whole process group; the parent decides when a worker ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    torch.set_num_threads(1)
    # Reports go to a private copy of standard output, so that no library can write between them.
    reports = os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1)
    sys.stdout = sys.stderr
    for line in sys.stdin:
        task = json.loads(line)
        try:
            work(task, reports)
        except BrokenPipeError:
            os._exit(1)  # nobody is there to read a report or a log
        except Exception as error:
            # First the report: the log may be on the disk that is full.
            print(json.dumps({"error": f"{type(error).__name__}: {error}"}), file=reports)
            traceback.print_exc()
            sys.exit(1)
        print(json.dumps({"done": True}), file=reports)


if __name__ == "__main__":
    main()
