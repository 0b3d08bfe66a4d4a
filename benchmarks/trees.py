"""Coefficients of explicit Euler's modified equation through order 9, ours against kauri's, and ``derive``.

Every measurement is a fresh process, so no cache is warm; imports are not timed. Ours is the whole call,
trees included. kauri (``kauri.omega``, the logarithm of Euler in its substitution algebra) is timed with
the generation of its trees and without. One kauri process gives all rows: a row is the sum up to its
order, so lower orders are computed once and kauri's own caches help it as much as they can. Ours is exact
and kauri's is in floating point; the largest difference is printed. Takes several minutes, nearly all of
them kauri at order 9; a number as argument sets a lower largest order.

Last, the wall time of a whole ``derive`` of sixth order beside the import of sympy, in turns, medians.
"""

import json
import os
import statistics
import subprocess
import sys
import time
from fractions import Fraction

LARGEST = int(sys.argv[1]) if len(sys.argv) > 1 else 9
ROUNDS = 5
ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1"}

OURS = """
import json, sys, time
from initmem.theory.backward_error.coefficients import euler_coefficients
from initmem.theory.backward_error.trees import symmetry
began = time.perf_counter()
exact = euler_coefficients(int(sys.argv[1]))
seconds = time.perf_counter() - began
print(json.dumps([seconds, {str(tree): str(c * symmetry(tree)) for tree, c in exact.items()}]))
"""

KAURI = """
import json, sys, time
import kauri
def sorted_tuple(tree):
    return tuple(sorted(map(sorted_tuple, tree)))
rows, values = [], {}
for order in range(1, int(sys.argv[1]) + 1):
    began = time.perf_counter()
    trees = list(kauri.trees_of_order(order))
    generated = time.perf_counter()
    found = [kauri.omega(tree) for tree in trees]
    rows.append([generated - began, time.perf_counter() - generated])
    values |= {str(sorted_tuple(tree.unlabelled_repr)): c for tree, c in zip(trees, found)}
print(json.dumps([rows, values]))
"""

COMMANDS = {
    "import sympy": [sys.executable, "-c", "import sympy"],
    "derive gd --order 6": [
        *(sys.executable, "-m", "initmem.cli", "derive", "gd", "--order", "6"),
        *("--loss", "x**2*y/2 + x**2 + y**2/2"),
    ],
}


def measured(code: str, order: int) -> list:
    command = [sys.executable, "-c", code, str(order)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, env=ENVIRONMENT).stdout)


def seconds(command: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=ENVIRONMENT)
    return time.perf_counter() - began


rows, theirs = measured(KAURI, LARGEST)
generating = evaluating = 0.0
values: dict[str, str] = {}
for order, (generation, evaluation) in enumerate(rows, start=1):
    generating += generation
    evaluating += evaluation
    runs = [measured(OURS, order) for _ in range(ROUNDS)]
    ours, values = statistics.median(run[0] for run in runs), runs[-1][1]
    print(
        f"through order {order}: {len(values):3d} trees | ours {ours * 1000:7.3f} ms | "
        f"kauri {generating + evaluating:8.3f} s, without generating trees {evaluating:8.3f} s | "
        f"ratio {(generating + evaluating) / ours:6.0f}, {evaluating / ours:6.0f}",
        flush=True,
    )
assert values.keys() == theirs.keys()
difference = max(abs(float(Fraction(values[tree])) - theirs[tree]) for tree in values)
print(f"largest difference of kauri's values from ours {difference:.1e}")

times = {name: [] for name in COMMANDS}
for _ in range(ROUNDS):
    for name, command in COMMANDS.items():
        times[name].append(seconds(command))
for name in COMMANDS:
    print(f"{name:20s} {statistics.median(times[name]):.2f} s")
