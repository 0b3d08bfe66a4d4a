"""How long ``initmem-theory clocks`` takes, against the imports that it cannot do without.

Run in turns in one session; prints the medians and their ratio.
"""

import statistics
import subprocess
import sys
import time

ROUNDS = 15
COMMANDS = {
    "import numpy, typer, pydantic": [sys.executable, "-c", "import numpy, typer, pydantic"],
    "clocks --schedule cosine": [sys.executable, "-m", "initmem.cli", "clocks", "--schedule", "cosine"],
}


def seconds(command: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


times = {name: [] for name in COMMANDS}
for _ in range(ROUNDS):
    for name, command in COMMANDS.items():
        times[name].append(seconds(command))
baseline, clocks = (statistics.median(times[name]) for name in COMMANDS)
for name in COMMANDS:
    print(f"{name:32s} {statistics.median(times[name]) * 1000:6.0f} ms")
print(f"ratio {clocks / baseline:.2f}")
