# make demo   sets everything up, trains on a small table, prints the rules
# make test   sets everything up, runs every check that CI runs

PYTHON ?= python3
WORKERS ?= auto
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet

# The one place of the pin is pyproject.toml.
TORCH := $(shell sed -n 's/.*"\(torch==[0-9.]*\)".*/\1/p' pyproject.toml | head -n 1)

# Benchmark tables, where they lie beside the clone.
DATASETS := $(shell cd ../shared/datasets 2>/dev/null && pwd)
ifneq ($(DATASETS),)
export DLN_DATA_HOME ?= $(DATASETS)
endif

# What atheris fuzzes, and for how many seconds each.
FUZZED := model_file table command_line
SECONDS ?= 300

.PHONY: help demo test lint format docs pytest fuzz clean

help:
	@echo "make demo     train on a small table, print the rules"
	@echo "make test     all checks: lint, documentation, tests"
	@echo "make lint     ruff, mypy --strict, import-linter"
	@echo "make pytest   tests only"
	@echo "make format   ruff format, ruff check --fix"
	@echo "make docs     build the documentation into site/"
	@echo "make fuzz     feed the readers of files and tables with damaged input, SECONDS=300 each"
	@echo "make clean    remove what the other targets made"

demo: $(VENV)/.light
	$(BIN)/python -m dln.demo

test: lint docs pytest

lint: $(VENV)/.full
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.full
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(VENV)/.full
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

pytest: $(VENV)/.full
	$(BIN)/pytest -n $(WORKERS)

fuzz: $(FUZZED:%=fuzz-%)

# What is found goes to build/fuzz; the corpus in the tree is only read.
fuzz-%: $(VENV)/.fuzz
	mkdir -p build/fuzz/$*
	$(BIN)/python fuzz/$*.py -max_total_time=$(SECONDS) -timeout=20 -rss_limit_mb=4096 -verbosity=0 -print_final_stats=1 \
		-artifact_prefix=build/fuzz/$*- build/fuzz/$* fuzz/corpus/$*

clean:
	rm -rf $(VENV) site dist build .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests benchmarks docs -name __pycache__ -type d -prune -exec rm -rf {} +

# Two installs in one environment, each redone only when pyproject.toml changes: the light one is what a user gets,
# the full one is for development and begins with torch, so that nothing else pulls another build of it.
$(VENV)/.light: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) --editable .
	touch $@

$(VENV)/.full: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) $(TORCH)
	$(PIP) --editable '.[test,docs,plot]'
	touch $(VENV)/.light $@

$(VENV)/.fuzz: $(VENV)/.full
	$(PIP) --editable '.[fuzz]'
	touch $@
