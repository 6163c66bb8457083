# Works from a fresh clone with only Python 3.11+, pip and make.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check

.PHONY: run test lint types contracts check clean

run: $(VENV)/.run
	@$(BIN)/keepsake run

test: $(VENV)/.test lint types contracts
	@$(BIN)/python -m pytest --numprocesses=logical --maxprocesses=8 --dist=worksteal --cov --cov-report=term

check: $(VENV)/.test lint types contracts

lint: $(VENV)/.test
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: $(VENV)/.test
	@$(BIN)/mypy

contracts: $(VENV)/.test
	@$(BIN)/lint-imports

$(BIN)/python:
	@echo "[1/2] Creating a Python environment in $(VENV) with $(PYTHON)"
	@$(PYTHON) -c 'import sys; sys.exit("Keepsake needs Python 3.11 or newer; found " + sys.version) if sys.version_info < (3, 11) else None'
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.run: $(BIN)/python pyproject.toml
	@echo "[2/2] Installing Keepsake and its libraries (about 400 MB on disk, a minute or two the first time)"
	@$(PIP) install --progress-bar on -q -e .
	@touch $@

$(VENV)/.test: $(BIN)/python pyproject.toml
	@echo "[2/2] Installing Keepsake with everything its tests need"
	@$(PIP) install -q -e '.[dev]'
	@touch $@ $(VENV)/.run

clean:
	rm -rf $(VENV) .coverage .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
