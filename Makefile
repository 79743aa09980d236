# `make run` starts Pursuit, `make test` tests it; both make the virtual environment by themselves.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --disable-pip-version-check --quiet
ARGS ?=

.PHONY: run test coverage check lint eval bench soak format docs pictures clean system

run: $(VENV)/.run
	@command -v bwrap >/dev/null || echo "Hint: without bubblewrap the agent cannot run commands: apt-get install bubblewrap" >&2
	@$(BIN)/pursuit up --chat $(ARGS)

test: $(VENV)/.dev system
	$(BIN)/python -m pytest --numprocesses=3 --dist=loadfile $(ARGS)

coverage: $(VENV)/.dev system
	$(BIN)/coverage run -m pytest $(ARGS)
	$(BIN)/coverage report --skip-covered --skip-empty --sort=cover | tail -n 40

check: lint eval
	$(MAKE) --no-print-directory test

eval: $(VENV)/.dev
	$(BIN)/pursuit eval

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/.dev
	$(BIN)/python -m docs.generate

# It wants a font for emoji too, and says so where there is none.
pictures: $(VENV)/.dev system
	$(BIN)/python -m docs.pictures

bench: $(VENV)/.dev
	$(BIN)/python -m bench $(ARGS)

soak: $(VENV)/.dev system
	$(BIN)/python -m pytest -m soak --timeout=0 $(ARGS)

clean:
	rm -rf $(VENV) .coverage .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache

# The sandbox's programs, and the browser and systemd's analysis for the tests, which pip cannot install.
system:
	@if command -v bwrap >/dev/null && command -v prlimit >/dev/null && command -v chromium >/dev/null && command -v systemd-analyze >/dev/null; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ]; then sudo=; \
	elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then sudo="sudo -n"; \
	else sudo=no; fi; \
	if [ "$$sudo" = no ] || ! command -v apt-get >/dev/null; then \
	  echo "The tests need bubblewrap, prlimit (util-linux), chromium and systemd-analyze (systemd). Install them, on Debian with:" >&2; \
	  echo "  sudo apt-get install bubblewrap util-linux chromium systemd" >&2; exit 1; \
	fi; \
	echo "Installing bubblewrap, util-linux, chromium and systemd" >&2; \
	$$sudo apt-get update -qq && $$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends bubblewrap util-linux chromium systemd >/dev/null

$(BIN)/python:
	@command -v $(PYTHON) >/dev/null || { echo "There is no $(PYTHON). Pursuit needs Python 3.11 or later." >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Pursuit needs Python 3.11 or later; $(PYTHON) is $$($(PYTHON) --version). Name another: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
	  echo "$(PYTHON) cannot make a virtual environment. On Debian or Ubuntu: apt-get install python3-venv" >&2; exit 1; }

$(VENV)/.run: pyproject.toml | $(BIN)/python
	@echo "Installing Pursuit into $(VENV) (once; a minute or two)" >&2
	@$(PIP) --editable '.[acp,local,mcp]' || { $(PIP) --editable . && \
	  echo "The embedded model's library could not be installed: configure a model of your own." >&2; }
	@touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	@echo "Installing Pursuit and its tests into $(VENV) (once; a minute or two)" >&2
	@$(PIP) --editable '.[acp,dev,local,mcp]'
	@touch $@ $(VENV)/.run
