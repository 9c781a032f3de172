# Two commands are all that a newcomer needs: make generate, make test. Each makes .venv and installs by itself.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PROFILES := --profile v2/stable --profile v2/unstable

.PHONY: generate test check test-all bench clean

generate: $(STAMP)
	$(BIN)/acp-codegen generate

check: $(STAMP)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports
	$(BIN)/mypy
	$(BIN)/acp-codegen generate --check

test: check
	$(BIN)/pytest -n auto --dist loadfile

# The same tests on every Python from 3.11 up that pyenv or PATH offers.
test-all:
	tools/test_all

bench: $(STAMP)
	PYTHONPATH=generated $(BIN)/python -m benchmarks

$(STAMP): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable . --group dev
	touch $(STAMP)

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis
