# Needs python >= 3.11 and make; everything else goes into a virtual environment.

VENV ?= .venv
PYTHON ?= python3
PRESET ?= quick
OUT ?= demo

BIN := $(VENV)/bin
# Directories are listed too: their time changes when a file is deleted.
SOURCES := pyproject.toml \
  $(shell find theory empirics validate figures cli -name __pycache__ -prune -o -print)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test lint docs bench clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-6s %s\n", $$1, $$2}' Makefile

demo: $(VENV)/.runtime ## sweep, validation and report on this machine: PRESET=quick OUT=demo
	$(BIN)/initmem-theory reproduce --preset $(PRESET) --out $(OUT)

# One worker a core, hence one thread a worker.
test: $(VENV)/.test ## the whole test suite, slow tests included
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist loadgroup

lint: $(VENV)/.test ## style, formatting, types and the direction of imports
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports

docs: $(VENV)/.docs ## the documentation, in docs/_build/html; a warning is an error
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

bench: $(VENV)/.test ## the benchmarks
	@set -e; for script in benchmarks/*.py; do \
	  echo "$$script"; $(BIN)/python "$$script"; done

clean: ## remove the environment and whatever the other targets wrote, but not the demo
	rm -rf $(VENV) build *.egg-info docs/_build docs/_generated benchmarks/results \
	  .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A stamp stands for one set of dependencies together with the package built from these sources. The
# install is not editable, so that tests and demo see what a user gets. setuptools would put files
# left in build/ by an earlier source tree into the wheel: hence the removal.
$(VENV)/.runtime: EXTRA :=
$(VENV)/.test: EXTRA := [test]
$(VENV)/.docs: EXTRA := [docs]
$(VENV)/.runtime $(VENV)/.test $(VENV)/.docs: $(SOURCES) | $(VENV)/.created
	rm -rf build
	$(BIN)/python -m pip install --disable-pip-version-check --quiet '.$(EXTRA)'
	rm -rf build
	@touch $@

$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "initmem-theory needs Python 3.11 or newer: name one with make PYTHON=/path/to/python." >&2; \
	  exit 1; }
	$(PYTHON) -m venv --clear $(VENV)
	@touch $@
