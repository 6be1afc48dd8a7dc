# Needs only make and python3 (3.11 or newer). Everything is installed into .venv.
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip --disable-pip-version-check install -q
# A second environment, with the lowest versions that pyproject.toml allows.
OLDEST := .venv-oldest
OLDEST_PY := $(OLDEST)/bin/python
# Two pytest workers share the cores, so each limits BLAS to one thread. `summarize` uses as many threads as BLAS, so a
# test of the threaded path raises the limit itself: `with threadpool_limits(2, user_api="blas")`.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1
TEST_SETTINGS := SCIPY_ARRAY_API=1 $(ONE_THREAD)

.PHONY: demo test test-oldest lint lint-page bench sweep docs clean

demo: $(VENV)/.demo
	@echo "The command is $(VENV)/bin/lowdim."
	$(PY) examples/demo.py

test: $(VENV)/.test
	$(TEST_SETTINGS) $(PY) -m pytest $(ARGS)

test-oldest: $(OLDEST)/.test
	$(TEST_SETTINGS) $(OLDEST_PY) -m pytest $(ARGS)

lint: $(VENV)/.lint
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy src
	$(VENV)/bin/lint-imports
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
	@echo "The site begins at build/docs/index.html."

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

$(VENV)/.test $(VENV)/.lint $(VENV)/.bench $(VENV)/.docs: $(VENV)/.%: $(VENV)/.core
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
