# Needs only make and python3 (3.11 or newer). Everything is installed into .venv.
# Windows keeps the programs of an environment in another folder, calls Python `python`, and needs bash, which comes with git.
ifeq ($(OS),Windows_NT)
SHELL := bash
PYTHON ?= python
BIN := Scripts
else
PYTHON ?= python3
BIN := bin
endif
VENV := .venv
PROGRAMS := $(VENV)/$(BIN)
PY := $(PROGRAMS)/python
PIP := $(PY) -m pip --disable-pip-version-check install -q
# A second environment, with the lowest versions that pyproject.toml allows.
OLDEST := .venv-oldest
OLDEST_PY := $(OLDEST)/$(BIN)/python
# Two pytest workers share the cores, so each limits BLAS to one thread. `summarize` uses as many threads as BLAS, so a
# test of the threaded path raises the limit itself: `with threadpool_limits(2, user_api="blas")`.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1
# Tests start many processes, and all import lowdim: they take less time if Python keeps what it has compiled, whatever
# the environment says.
TEST_SETTINGS := SCIPY_ARRAY_API=1 PYTHONDONTWRITEBYTECODE= $(ONE_THREAD)

.PHONY: demo test test-all test-oldest test-spark test-spark-oldest test-torch lint lint-page bench sweep docs linkcheck dist clean

demo: $(VENV)/.demo
	@echo "The command is $(PROGRAMS)/lowdim."
	$(PY) examples/demo.py

# Of tests with very many cases (every check of scikit-learn for every estimator, every model for every kind of input),
# `make test` runs a sample, and the other goals run all of them.
test: $(VENV)/.test
	$(TEST_SETTINGS) $(PY) -m pytest $(ARGS)

test-all: $(VENV)/.test
	$(TEST_SETTINGS) $(PY) -m pytest --whole-grids $(ARGS)

test-oldest: $(OLDEST)/.test
	$(TEST_SETTINGS) $(OLDEST_PY) -m pytest --whole-grids $(ARGS)

# The tests of Spark, which `make test` skips as long as pyspark is not installed. They need Java 17 as well.
SPARK_TESTS := tests/sources/spark tests/sources/test_base_engines.py tests/sources/test_base_engine_parity.py

test-spark: $(VENV)/.test $(VENV)/.spark
	$(TEST_SETTINGS) $(PY) -m pytest --whole-grids $(SPARK_TESTS) $(ARGS)

test-spark-oldest: $(OLDEST)/.spark
	$(TEST_SETTINGS) $(OLDEST_PY) -m pytest --whole-grids $(SPARK_TESTS) $(ARGS)

# The tests of torch, which `make test` skips as long as it is not installed: those that have it in their name or in the
# name of their case, and all of the files that name it.
TORCH_FILES = $(shell grep -rlw torch tests --include='test_*.py' | sed 's|.*/||; s|[.]py$$| or|')

test-torch: $(VENV)/.test $(VENV)/.torch
	$(TEST_SETTINGS) $(PY) -m pytest --whole-grids -k "$(TORCH_FILES) torch" $(ARGS)

lint: $(VENV)/.lint
	$(PROGRAMS)/ruff check .
	$(PROGRAMS)/ruff format --check .
	$(PROGRAMS)/mypy
	$(PROGRAMS)/lint-imports
	@if command -v npm >/dev/null; then $(MAKE) --no-print-directory lint-page; else \
	echo "npm is not installed, so the scripts and style sheets of the report were not checked."; fi

lint-page: node_modules/.lint
	npm run --silent check

bench: $(VENV)/.bench
	$(PY) -m benchmarks $(ARGS)

sweep: $(VENV)/.core
	$(ONE_THREAD) $(PY) -m benchmarks.sweep $(ARGS)

# Warnings are errors. What Sphinx generates beside its pages is in docs/generated.
docs: $(VENV)/.docs
	rm -rf docs/generated build/docs
	$(ONE_THREAD) $(PY) -m sphinx -W --keep-going -q -b html -d build/doctrees docs build/docs
	$(PY) tests/release/site.py build/docs
	@echo "The site begins at build/docs/index.html."

# Every address on the pages is asked for, so this needs a network. The scripts of the gallery are not run.
linkcheck: $(VENV)/.docs
	rm -rf docs/generated build/linkcheck
	$(ONE_THREAD) $(PY) -m sphinx --keep-going -q -D plot_gallery=0 -b linkcheck -d build/linkcheck/doctrees docs build/linkcheck

# The archives of a release. Each is installed in an environment of its own, and used there.
dist: $(VENV)/.dist
	rm -rf dist
	$(PY) -m build
	$(PY) -m twine check --strict dist/*
	$(PY) tests/release/archives.py dist

clean:
	rm -rf $(VENV) $(OLDEST) node_modules demo build dist docs/generated
	rm -rf .pytest_cache .hypothesis .mypy_cache .ruff_cache .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# One stamp file for each set of packages: nothing is installed twice, or before it is needed.
$(VENV)/.core: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) -e .
	@touch $@

# The demo draws, writes a report, and prints commands.
$(VENV)/.demo: $(VENV)/.core
	$(PIP) -e '.[cli,plot,report]'
	@touch $@

$(VENV)/.test $(VENV)/.lint $(VENV)/.bench $(VENV)/.docs $(VENV)/.dist $(VENV)/.spark $(VENV)/.torch: $(VENV)/.%: $(VENV)/.core
	$(PIP) -e '.[$*]'
	@touch $@

# There is no lock file, because it would name the registry; the version is exact in package.json.
node_modules/.lint: package.json
	npm install --silent --no-package-lock --no-audit --no-fund
	@touch $@

# uv can install the lowest versions of what is named in pyproject.toml (and current versions of what these need).
$(OLDEST)/.test: pyproject.toml
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST_PY) -m pip --disable-pip-version-check install -q uv
	$(OLDEST_PY) -m uv pip install -q --python $(OLDEST_PY) --resolution lowest-direct -e '.[test]'
	@touch $@

$(OLDEST)/.spark: $(OLDEST)/.test
	$(OLDEST_PY) -m uv pip install -q --python $(OLDEST_PY) --resolution lowest-direct -e '.[test,spark]'
	@touch $@
