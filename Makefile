# `make demo` and `make test` need only Python and make.
PYTHON ?= python3
BIN := .venv/bin
PACKAGE := .venv/.package
INSTALLED := .venv/.installed
# OpenSpiel, Gambit and PyTorch have a separate environment, so that nothing else can depend on them
EXTRAS := .venv-extras
# long tests mostly compute, so they compile with the same flag as the commands
LONG := XLA_FLAGS='--xla_backend_optimization_level=1'

.PHONY: help demo docs explorer explorer-check explorer-data test test-quick test-slow test-browser test-extras test-lowest test-versions mutation lint format bench clean
.DEFAULT_GOAL := help

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# the packages for the demo, then those for development
$(PACKAGE): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(INSTALLED): $(PACKAGE)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --group dev
	touch $@

demo: $(PACKAGE) ## reproduce the paper on a small scale: a table, and out/demo/report.html
	$(BIN)/regrax reproduce --quick --out out/demo

# lint and tests run in parallel, since the type checker uses one core; tests in a file share compiled programs, so
# each worker takes runs of consecutive tests
test: $(INSTALLED) ## check style, types and import layers, and run the tests
	$(MAKE) --no-print-directory --jobs 2 lint test-quick

test-quick: $(INSTALLED)
	XLA_FLAGS="$$($(BIN)/python tests/xla_flags.py)" $(BIN)/pytest --quiet --numprocesses 2 --dist worksteal -m 'not slow and not extras and not browser'

test-slow: $(INSTALLED) ## run the long tests: training, certificates, a million sequences
	$(LONG) $(BIN)/pytest --quiet --numprocesses 2 -m 'slow and not browser'

test-browser: $(INSTALLED) ## test the explorer and the reports in Chromium; skipped with a message if there is none
	$(LONG) $(BIN)/pytest --quiet --numprocesses 2 -m browser tests

$(EXTRAS)/.installed: pyproject.toml
	test -x $(EXTRAS)/bin/python || $(PYTHON) -m venv $(EXTRAS)
	$(EXTRAS)/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(EXTRAS)/bin/python -m pip install --quiet --editable . --group dev --group test-extras
	touch $@

# one thread per worker, because PyTorch's threads would compete for cores
test-extras: $(EXTRAS)/.installed ## install OpenSpiel, Gambit and PyTorch in a separate environment and compare against them
	$(EXTRAS)/bin/basedpyright --project tools/extras-types.json
	OMP_NUM_THREADS=1 XLA_FLAGS="$$($(EXTRAS)/bin/python tests/xla_flags.py)" $(EXTRAS)/bin/pytest --quiet --numprocesses 2 -m extras

# the oldest supported transformers; all other packages come from the extras environment
LOWEST := .venv-lowest
PACKAGES := import sysconfig; print(sysconfig.get_path("purelib"))
$(LOWEST)/.installed: $(EXTRAS)/.installed
	$(EXTRAS)/bin/python -m venv --clear $(LOWEST)
	$(EXTRAS)/bin/python -c '$(PACKAGES)' > "$$($(LOWEST)/bin/python -c '$(PACKAGES)')/extras.pth"
	$(LOWEST)/bin/python -m pip install --quiet "$$(sed -n 's/.*"\(transformers\)>=\([0-9.]*\)".*/\1==\2/p' pyproject.toml)"
	touch $@

test-lowest: $(LOWEST)/.installed ## test language models with the oldest supported transformers
	OMP_NUM_THREADS=1 XLA_FLAGS="$$($(EXTRAS)/bin/python tests/xla_flags.py)" $(LOWEST)/bin/python -m pytest --quiet -m extras tests/agents/llm/test_policy.py tests/agents/llm/test_learner.py tests/agents/llm/test_trainer.py

test-versions: $(INSTALLED) ## test the wheel with the oldest and the newest dependencies
	$(BIN)/python -m tools.versions

mutation: $(INSTALLED) ## mutate regret and simplex with mutmut, and check that the tests notice
	$(BIN)/python -m pip install --quiet mutmut==3.8.1
	$(BIN)/mutmut run

# a separate environment, because Sphinx and Jupyter are needed only to build the documentation
DOCS := .venv-docs
$(DOCS)/.installed: pyproject.toml
	test -x $(DOCS)/bin/python || $(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(DOCS)/bin/python -m pip install --quiet --editable . --group docs
	touch $@

docs: $(DOCS)/.installed ## build the site and run every code cell: docs/_build/html/index.html
	$(DOCS)/bin/python -m sphinx --quiet --fail-on-warning --jobs 2 --fresh-env docs docs/_build/html
	$(DOCS)/bin/python -m tools.links docs/_build/html

# the explorer's JavaScript is built and checked with node; the built page is committed, so users do not need node
WEB := explorer
$(WEB)/node_modules/.installed: $(WEB)/package-lock.json
	npm --prefix $(WEB) ci --silent
	touch $@

explorer: $(WEB)/node_modules/.installed ## build the explorer from its JavaScript (needs node)
	npm --prefix $(WEB) run --silent format
	npm --prefix $(WEB) run --silent build

explorer-check: $(WEB)/node_modules/.installed ## check and test the explorer's JavaScript (needs node)
	npm --prefix $(WEB) run --silent check

explorer-data: $(INSTALLED) ## train and tabulate the explorer's data; then run `make explorer`
	$(BIN)/python -m tools.explorer_data

lint: $(INSTALLED) ## check style, types and import layers
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/basedpyright src
	$(BIN)/lint-imports

format: $(INSTALLED) ## format the code
	$(BIN)/ruff check --fix --quiet .
	$(BIN)/ruff format --quiet .

# install each peer separately, so that one failure affects only its own rows in the results
.venv-bench/.installed: benchmarks/sides/requirements.txt
	test -x .venv-bench/bin/python || $(PYTHON) -m venv .venv-bench
	.venv-bench/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	while read -r peer; do .venv-bench/bin/python -m pip install --quiet "$$peer" || true; done < $<
	touch $@

bench: $(INSTALLED) .venv-bench/.installed ## benchmark against other libraries and the hardware: benchmarks/RESULTS.md
	$(BIN)/python -m benchmarks

clean: ## remove environments, caches and built pages
	rm -rf mutants .venv .venv-bench .venv-versions $(EXTRAS) $(LOWEST) $(DOCS) docs/_build docs/api docs/reference/_generated .pytest_cache .ruff_cache .import_linter_cache
