# Every target works on a fresh clone: the virtual environment is made when it is missing or out of date.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed

.PHONY: setup demo test check format docs reproduce bench bench-all clean

setup: $(STAMP)

# torch goes in first and alone, pinned: any looser request pulls gigabytes of CUDA libraries.
$(STAMP): pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "ignn-solver needs Python 3.11 or newer: make PYTHON=python3.11 setup"; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "$$(grep '^torch==' constraints.txt)"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $(STAMP)

demo: setup
	$(BIN)/ignn-solver demo

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: check
	$(BIN)/pytest

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The tables come from results/; a warning is an error. Open build/docs/index.html.
docs: setup
	$(BIN)/python benchmarks/tables.py
	$(BIN)/python -m sphinx -a -E -W --keep-going -q -b html docs build/docs

# From nothing to a page in about a quarter of an hour; `reproduce all --full` takes hours.
reproduce: setup
	$(BIN)/ignn-solver reproduce all --quick
	$(BIN)/ignn-solver report results/quick -o report.html

# On an idle machine; `all` leaves out the datasets that are not here.
bench: setup
	$(BIN)/python benchmarks/loop_overhead.py

# Hours, on an idle machine, with the datasets at hand.
bench-all: bench
	$(BIN)/python benchmarks/roofline.py
	$(BIN)/ignn-solver bench all --json results/bench.json
	$(BIN)/python benchmarks/scaling.py
	$(BIN)/python benchmarks/nci1_inference.py

clean:
	rm -rf .venv demo build dist .pytest_cache .ruff_cache .mypy_cache
