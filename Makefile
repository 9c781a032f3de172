# Two commands are all that a newcomer needs: make generate, make test. Each makes .venv and installs by itself.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: generate test check test-all interop differential history bench clean

generate: $(STAMP)
	$(BIN)/acp-codegen generate
	$(BIN)/python -m tools.docs

check: $(STAMP)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports
	$(BIN)/mypy
	$(BIN)/acp-codegen check

test: check
	$(BIN)/pytest -n auto --dist loadfile -m "not interop"

# The same tests on every Python from 3.11 up that pyenv or PATH offers.
test-all:
	tools/test_all

# Real peers over stdio, HTTP and WebSocket: the TypeScript SDK, Goose and acpx; nginx and a browser. What cannot be had
# here is skipped by name, at the end of the output.
interop: $(STAMP)
	$(BIN)/pytest -m interop -ra tests/interop

# `decode` against the validators of the reference TypeScript SDK; needs npm. COUNT and SEED choose the values.
differential: $(STAMP)
	PYTHONPATH=generated $(BIN)/python -m tests.differential $(if $(COUNT),--count $(COUNT)) $(if $(SEED),--seed $(SEED))

# Every schema that was ever published, and the diff of each with the one before; needs npm. ONLY picks versions.
history: $(STAMP)
	$(BIN)/python -m tests.published $(if $(ONLY),--only $(ONLY)) $(if $(JOBS),--jobs $(JOBS))

bench: $(STAMP)
	PYTHONPATH=generated $(BIN)/python -m benchmarks

$(STAMP): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable . --group dev
	touch $(STAMP)

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis
