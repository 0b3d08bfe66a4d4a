"""A progress bar for sweeps, with the time left as the measured rate has it."""

import datetime
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from ..empirics.config import Sweep
from ..empirics.sweep import Progress as SweepProgress
from ..empirics.sweep import run_sweep
from .errors import stop


def run_with_bar(sweep: Sweep, folder: Path, workers: int | None) -> None:
    """Run a sweep under a progress bar on standard error."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[runs]} runs"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
    )
    bar = Progress(*columns, console=console)
    task = bar.add_task(f"sweep {sweep.name}", total=1.0, runs="", left="")
    told: set[Path] = set()

    def show(progress: SweepProgress) -> None:
        bar.start()  # only now: a refused folder gets its sentence without a bar above it
        for path in set(progress.set_aside) - told:
            told.add(path)
            console.print(f"A damaged run was set aside as {path} and is trained anew.")
        seconds = progress.seconds_left
        finished = progress.finished == progress.runs
        bar.update(
            task,
            completed=1.0 if finished else progress.done / progress.total,
            runs=f"{progress.finished}/{progress.runs}",
            left=""
            if finished
            else "measuring the rate"
            if seconds is None
            else f"about {datetime.timedelta(seconds=round(seconds))} left",
        )

    try:
        run_sweep(sweep, folder, workers, on_progress=show)
    except KeyboardInterrupt:
        bar.stop()
        stop("stopped by Ctrl-C; finished runs are kept, the same command continues.", 130)
    finally:
        bar.stop()
