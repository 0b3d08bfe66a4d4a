"""Run a sweep: what is finished stays, what is missing is trained, in as many processes as asked for."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue

from ..theory.errors import InvalidInput, WorkFailed
from . import store
from .config import Run, Sweep
from .packing import packs, work

# Small tensors come and go thousands of times a second; by default glibc hands their pages back to the
# kernel each time, which costs 10 to 40% of the training time at small widths.
WORKER_ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "MALLOC_TRIM_THRESHOLD_": str(2**31 - 1),
    "MALLOC_MMAP_THRESHOLD_": str(2**30),
    "MALLOC_TOP_PAD_": str(2**26),
}


@dataclass
class Progress:
    """How far a sweep is, in runs and in work.

    Attributes
    ----------
    runs, finished : int
        Of the whole sweep; `finished` counts those of earlier starts too.
    set_aside : list of Path
        Damaged run folders that were renamed, and whose runs are trained anew.
    total, done : float
        Work of this start.
    """

    runs: int
    finished: int
    set_aside: list[Path]
    total: float
    workers: int
    longest: float = 0.0
    done: float = 0.0
    began: float = field(default_factory=time.monotonic)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def add(self, amount: float, runs: int = 0) -> None:
        """Count work that was done, and runs that were written."""
        with self._lock:
            self.done += amount
            self.finished += runs

    @property
    def seconds_left(self) -> float | None:
        """Time left at the rate seen so far; None until one percent is done.

        The estimate is the remaining work over the measured rate of all workers, and at least the
        time that the longest pack still needs on one of them.
        """
        if not self.total:
            return 0.0
        if self.done < 0.01 * self.total:
            return None
        elapsed = time.monotonic() - self.began
        rate = self.done / elapsed
        alone = self.longest * self.workers / rate - elapsed
        return max((self.total - self.done) / rate, alone, 0.0)


def available_cores() -> int:
    """Processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_sweep(
    sweep: Sweep,
    folder: Path,
    workers: int | None = None,
    on_progress: Callable[[Progress], None] = lambda progress: None,
) -> None:
    """Train every run of a sweep that is not finished yet.

    May be interrupted at any moment, by any means, and started again: finished runs are never
    touched, and the table of the finished sweep has the same bits as without the interruption.

    Parameters
    ----------
    sweep : Sweep
    folder : Path
        Where the sweep lives; made if missing.
    workers : int, optional
        Processes, each with one thread; as many as there are cores by default.
    on_progress : callable, optional
        Called several times a second.

    Raises
    ------
    InvalidInput
        If the folder belongs to another sweep.
    WorkFailed
        If a worker process ends before its work is done.
    KeyboardInterrupt
        After Ctrl-C, when all workers have ended.
    """
    if workers is not None and workers < 1:
        raise InvalidInput(f"workers = {workers} is not allowed: give at least 1.")
    store.create(folder, sweep)
    runs = sweep.runs()
    set_aside = store.set_aside_damaged(folder, runs)
    missing = {run.identity for run in runs if not store.is_finished(folder, run)}
    todo = [pack for pack in packs(runs) if any(run.identity in missing for run in pack)]
    count = min(workers or available_cores(), len(todo))
    progress = Progress(
        runs=len(runs),
        finished=len(runs) - len(missing),
        set_aside=set_aside,
        total=sum(map(work, todo)),
        workers=max(count, 1),
        longest=max(map(work, todo), default=0.0),
    )
    on_progress(progress)
    if not todo:
        return
    queue: SimpleQueue[list[Run]] = SimpleQueue()
    for pack in todo:
        queue.put(pack)
    with _interrupt() as interrupted:
        serving = [_Worker(folder, number) for number in range(count)]
        try:
            with ThreadPoolExecutor(count) as threads:
                futures = [threads.submit(worker.serve, queue, missing, progress) for worker in serving]
                _watch(futures, progress, on_progress, serving, interrupted)
        finally:
            for worker in serving:
                worker.close()
    on_progress(progress)


@contextmanager
def _interrupt() -> Iterator[threading.Event]:
    """Ctrl-C as an event, so that it cannot strike between the start of a worker and its keeping."""
    event = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield event  # signals belong to the main thread; its owner decides
        return
    before = signal.signal(signal.SIGINT, lambda *_: event.set())
    try:
        yield event
    finally:
        signal.signal(signal.SIGINT, before)


def _watch(
    futures: list[Future[None]],
    progress: Progress,
    on_progress: Callable[[Progress], None],
    serving: list["_Worker"],
    interrupted: threading.Event,
) -> None:
    """Report until all workers have ended; end all of them when one fails or Ctrl-C arrives."""
    try:
        pending = set(futures)
        while pending:
            ended, pending = wait(pending, timeout=0.2, return_when=FIRST_EXCEPTION)
            for future in ended:
                future.result()
            on_progress(progress)
            if interrupted.is_set():
                raise KeyboardInterrupt
    except BaseException:
        for worker in serving:
            worker.kill()  # its thread then sees the end of its output and returns
        raise


class _Worker:
    """A child process and the thread's side of the conversation with it."""

    def __init__(self, folder: Path, number: int) -> None:
        self.folder = folder
        self.log = folder / f"worker-{number}.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", f"{__package__}.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=os.environ | WORKER_ENVIRONMENT,
                text=True,
            )

    def serve(self, queue: "SimpleQueue[list[Run]]", missing: set[str], progress: Progress) -> None:
        """Give packs to the process until there are none left."""
        while True:
            try:
                pack = queue.get_nowait()
            except Empty:
                return
            self._train(pack, progress)
            progress.add(0.0, runs=sum(run.identity in missing for run in pack))

    def _train(self, pack: list[Run], progress: Progress) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        task = {"folder": str(self.folder.resolve())}
        task["runs"] = [run.model_dump(mode="json") for run in pack]  # pyright: ignore
        each, counted = work(pack) / pack[0].cell.recipe.total_epochs, 0
        try:
            print(json.dumps(task), file=self.process.stdin, flush=True)
            for line in self.process.stdout:
                report = json.loads(line)
                if "error" in report:
                    raise WorkFailed(
                        f"training cell {pack[0].cell.name!r} failed with {report['error']}: finished runs "
                        f"are kept, start the same sweep again to continue."
                    )
                if "done" in report:
                    # Packs whose members all diverged stop early; their work counts as done.
                    progress.add(work(pack) - each * counted)
                    return
                progress.add(each * (report["epochs"] - counted))
                counted = report["epochs"]
        except OSError:
            pass
        status = self.process.wait()
        log = f", see {self.log}" if self.log.stat().st_size else ""
        raise WorkFailed(
            f"the worker that trained cell {pack[0].cell.name!r} ended with status {status}{log}: finished "
            f"runs are kept, start the same sweep again to continue."
        )

    def kill(self) -> None:
        """End the process at once."""
        self.process.kill()

    def close(self) -> None:
        """End the process; a log without content goes."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()
        if self.log.exists() and self.log.stat().st_size == 0:
            self.log.unlink()
