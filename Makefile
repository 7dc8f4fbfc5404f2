# `make demo` and `make test` work on a machine with only Python and make.
PYTHON ?= python3
BIN := .venv/bin
PACKAGE := .venv/.package
INSTALLED := .venv/.installed
# OpenSpiel, Gambit and PyTorch live apart, so that nothing else can come to need them
EXTRAS := .venv-extras
# long tests compute for long: as commands do it
LONG := XLA_FLAGS='--xla_backend_optimization_level=1'

.PHONY: help demo docs explorer explorer-check explorer-data test test-quick test-slow test-browser test-extras test-lowest test-versions mutation lint format bench clean
.DEFAULT_GOAL := help

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# what a demonstration runs, and beside it what developers need
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

# beside each other: the type checker keeps one core busy; tests of a file share programs, so workers take runs of them
test: $(INSTALLED) ## check style, types and the order of layers, and run the tests
	$(MAKE) --no-print-directory --jobs 2 lint test-quick

test-quick: $(INSTALLED)
	XLA_FLAGS="$$($(BIN)/python tests/xla_flags.py)" $(BIN)/pytest --quiet --numprocesses 2 --dist worksteal -m 'not slow and not extras and not browser'

test-slow: $(INSTALLED) ## run the longer tests: trainings, certificates, a million sequences
	$(LONG) $(BIN)/pytest --quiet --numprocesses 2 -m 'slow and not browser'

test-browser: $(INSTALLED) ## open the explorer and the reports in Chromium; without one the tests skip and say so
	$(LONG) $(BIN)/pytest --quiet --numprocesses 2 -m browser tests

$(EXTRAS)/.installed: pyproject.toml
	test -x $(EXTRAS)/bin/python || $(PYTHON) -m venv $(EXTRAS)
	$(EXTRAS)/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(EXTRAS)/bin/python -m pip install --quiet --editable . --group dev --group test-extras
	touch $@

# a thread per worker: PyTorch's own would wait for each other's cores
test-extras: $(EXTRAS)/.installed ## install OpenSpiel, Gambit and PyTorch into an environment of their own and compare with them
	$(EXTRAS)/bin/basedpyright --project tools/extras-types.json
	OMP_NUM_THREADS=1 XLA_FLAGS="$$($(EXTRAS)/bin/python tests/xla_flags.py)" $(EXTRAS)/bin/pytest --quiet --numprocesses 2 -m extras

# the extras with transformers at its lower bound; the rest is found where the extras are
LOWEST := .venv-lowest
PACKAGES := import sysconfig; print(sysconfig.get_path("purelib"))
$(LOWEST)/.installed: $(EXTRAS)/.installed
	$(EXTRAS)/bin/python -m venv --clear $(LOWEST)
	$(EXTRAS)/bin/python -c '$(PACKAGES)' > "$$($(LOWEST)/bin/python -c '$(PACKAGES)')/extras.pth"
	$(LOWEST)/bin/python -m pip install --quiet "$$(sed -n 's/.*"\(transformers\)>=\([0-9.]*\)".*/\1==\2/p' pyproject.toml)"
	touch $@

test-lowest: $(LOWEST)/.installed ## run language models with the oldest transformers that is allowed
	OMP_NUM_THREADS=1 XLA_FLAGS="$$($(EXTRAS)/bin/python tests/xla_flags.py)" $(LOWEST)/bin/python -m pytest --quiet -m extras tests/agents/llm/test_policy.py tests/agents/llm/test_learner.py tests/agents/llm/test_trainer.py

test-versions: $(INSTALLED) ## install the wheel with the oldest and the newest of everything, and try it
	$(BIN)/python -m tools.versions

mutation: $(INSTALLED) ## change regret and simplex line by line with mutmut, and see whether a test fails
	$(BIN)/python -m pip install --quiet mutmut==3.8.1
	$(BIN)/mutmut run

# in an environment of its own: Sphinx and Jupyter are of no use to who only changes code
DOCS := .venv-docs
$(DOCS)/.installed: pyproject.toml
	test -x $(DOCS)/bin/python || $(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(DOCS)/bin/python -m pip install --quiet --editable . --group docs
	touch $@

docs: $(DOCS)/.installed ## build the site, running every cell of its pages: docs/_build/html/index.html
	$(DOCS)/bin/python -m sphinx --quiet --fail-on-warning --jobs 2 --fresh-env docs docs/_build/html
	$(DOCS)/bin/python -m tools.links docs/_build/html

# the page's JavaScript, built and checked with node; the built page is committed, so that nobody else needs it
WEB := explorer
$(WEB)/node_modules/.installed: $(WEB)/package-lock.json
	npm --prefix $(WEB) ci --silent
	touch $@

explorer: $(WEB)/node_modules/.installed ## build the explorer from its JavaScript (needs node)
	npm --prefix $(WEB) run --silent format
	npm --prefix $(WEB) run --silent build

explorer-check: $(WEB)/node_modules/.installed ## check and test the explorer's JavaScript (needs node)
	npm --prefix $(WEB) run --silent check

explorer-data: $(INSTALLED) ## train and tabulate what the explorer shows; then `make explorer`
	$(BIN)/python -m tools.explorer_data

lint: $(INSTALLED) ## check style, types and the order of layers
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/basedpyright src
	$(BIN)/lint-imports

format: $(INSTALLED) ## rewrite the code in the project's style
	$(BIN)/ruff check --fix --quiet .
	$(BIN)/ruff format --quiet .

# each apart, so that one that cannot be installed is reported by its rows and the others are not lost
.venv-bench/.installed: benchmarks/sides/requirements.txt
	test -x .venv-bench/bin/python || $(PYTHON) -m venv .venv-bench
	.venv-bench/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	while read -r peer; do .venv-bench/bin/python -m pip install --quiet "$$peer" || true; done < $<
	touch $@

bench: $(INSTALLED) .venv-bench/.installed ## measure speed against the peers and the machine: benchmarks/RESULTS.md
	$(BIN)/python -m benchmarks

clean: ## remove what the commands above made
	rm -rf mutants .venv .venv-bench .venv-versions $(EXTRAS) $(LOWEST) $(DOCS) docs/_build docs/api .pytest_cache .ruff_cache .import_linter_cache
