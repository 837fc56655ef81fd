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

# Tests that need no extras, for other versions than those of development: of dependencies, of pandas, of Python.
FEW_TESTS := tests/circuit/test_circuit.py tests/circuit/test_bits.py tests/data/test_rows.py \
	tests/data tests/readers/test_model_file.py tests/cli/test_columns.py \
	tests/cli/test_read.py tests/test_load.py tests/cli/test_commands.py
FEW_TOOLS := 'pytest>=9' 'hypothesis>=6.130' 'pandas>=2.2' 'pyarrow>=19'
PYTHONS := 3.11 3.12 3.13 3.14

.PHONY: help demo test lint format docs pytest test-oldest test-pythons fuzz clean

help:
	@echo "make demo     train on a small table, print the rules"
	@echo "make test     all checks: lint, documentation, tests"
	@echo "make lint     ruff, mypy --strict, import-linter"
	@echo "make pytest   tests only"
	@echo "make test-oldest   tests that need no extras, with the oldest versions that pyproject.toml allows"
	@echo "make test-pythons  the same with the newest versions, on every Python from 3.11 to 3.14 that is there"
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

# What old packages warn of is not ours to mend: warnings are shown, not errors. The published schema is the one that
# the newest msgspec makes.
test-oldest: $(VENV)-oldest/.done
	$(VENV)-oldest/bin/python -m pytest --quiet -W default $(FEW_TESTS) \
		--deselect tests/readers/test_model_file.py::test_the_schema_is_up_to_date

test-pythons:
	@for version in $(PYTHONS); do \
		command -v python$$version >/dev/null && python$$version --version || { echo "no Python $$version here"; continue; }; \
		python$$version -m venv $(VENV)-$$version && \
		$(VENV)-$$version/bin/python -m pip install --quiet --editable . $(FEW_TOOLS) && \
		$(VENV)-$$version/bin/python -m pytest --quiet -W default $(FEW_TESTS) || exit 1; \
	done

fuzz: $(FUZZED:%=fuzz-%)

# What is found goes to build/fuzz; the corpus in the tree is only read.
fuzz-%: $(VENV)/.fuzz
	mkdir -p build/fuzz/$*
	$(BIN)/python fuzz/$*.py -max_total_time=$(SECONDS) -timeout=20 -rss_limit_mb=4096 -verbosity=0 -print_final_stats=1 \
		-artifact_prefix=build/fuzz/$*- build/fuzz/$* fuzz/corpus/$*

clean:
	rm -rf $(VENV) $(VENV)-* site dist build .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests bench benchmarks docs -name __pycache__ -type d -prune -exec rm -rf {} +

# Two installs in one environment, each redone only when pyproject.toml changes: the light one is what a user gets,
# the full one is for development and begins with torch, so that nothing else pulls another build of it.
$(VENV)/.light: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) --editable .
	touch $@

$(VENV)/.full: pyproject.toml bench/pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) $(TORCH)
	$(PIP) --editable '.[test,docs]' --editable ./bench
	touch $(VENV)/.light $@

$(VENV)-oldest/.done: pyproject.toml
	$(PYTHON) -m venv $(VENV)-oldest
	$(VENV)-oldest/bin/python -m pip install --quiet uv
	$(VENV)-oldest/bin/uv pip install --quiet --python $(VENV)-oldest/bin/python --resolution lowest-direct \
		--editable . $(FEW_TOOLS)
	touch $@

$(VENV)/.fuzz: $(VENV)/.full
	$(PIP) --editable '.[fuzz]'
	touch $@
