"""``python -m initmem.cli``."""

from . import main

main()
