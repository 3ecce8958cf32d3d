# What one does here; `make` lists it. Everything it makes lies in .venv and .state.
PYTHON ?= python3
BIN := .venv/bin
.DEFAULT_GOAL := help
.PHONY: help quickstart venv test test-long lint bench lab-up lab-down clean

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "make %-12s %s\n", $$1, $$2}'

quickstart: venv ## build, test and tabulate real images with the engine of this host, or with podman installed for it
	@.ci/quickstart

venv: .venv/made-by-make ## the virtual environment with imgbuild (editable) and what its tests need
.venv/made-by-make: pyproject.toml .ci/venv
	@PYTHON=$(PYTHON) .ci/venv
	@touch $@

test: venv ## lint and every test this machine allows; with CI=true the lab too, and nothing may be skipped
	@.ci/test -m "not long"

test-long: venv ## the tests that take minutes as well
	@.ci/test

lint: venv ## ruff, mypy, and the floors
	@failed=0; for tool in "ruff check" "ruff format --check" mypy lint-imports; do $(BIN)/$$tool || failed=1; done; exit $$failed

bench: venv ## the numbers the README claims, measured on this machine
	@if tests/lab/lab status >/dev/null 2>&1; then tests/lab/lab run -- $(BIN)/python tests/bench/run.py; else $(BIN)/python tests/bench/run.py; fi

lab-up: ## engines, a registry and stand-in bases on loopback, for tests (Debian, root)
	@tests/lab/lab up --classic

lab-down: ## stop them
	@tests/lab/lab down

clean: ## remove caches and builds; .venv, .state and the caches of the user stay
	@rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	@find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +
