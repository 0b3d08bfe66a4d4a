"""The demo still shows what the README says of it: ``check_demo.py FOLDER``.

The bounds are wide, since the bits differ between processors; the order of the cells must not.
"""

import sys
from pathlib import Path

import pandas as pd

folder = Path(sys.argv[1])
cells = pd.read_csv(folder / "cells.csv").set_index("cell")
remembers = ["sgd", "sgd long", "sgd momentum", "adam short", "adamw short", "muon short"]
forgets = ["sgd l2", "adam", "adamw"]

assert (folder / "report.html").stat().st_size > 100_000
assert (cells.runs == 21).all(), cells.runs
assert (cells.loc[remembers, "spread_low"] > cells.loc[remembers, "floor_95"]).all(), cells.spread_low
assert (cells.loc[remembers, "spread"] > 15).all(), cells.spread
assert (cells.loc[forgets, "spread"] < 1.5 * cells.loc[forgets, "floor_95"]).all(), cells.spread
assert (cells.loc[remembers, "slope"] > 0.6).all(), cells.slope
assert (cells.loc[[*forgets, "muon"], "slope"] < 0.4).all(), cells.slope
assert cells.slope["sgd b16"] < cells.slope["sgd long"] - 0.05, cells.slope
print("the demo shows what the README says")
