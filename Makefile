# Needs only make and python3 (3.11 or newer). Everything is installed into .venv.
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip --disable-pip-version-check install -q

.PHONY: demo test lint bench docs clean

demo: $(VENV)/.core
	$(PY) examples/demo.py

# Two pytest workers share the cores, so each limits BLAS to one thread. `summarize` uses as many threads as BLAS, so a
# test of the threaded path raises the limit itself: `with threadpool_limits(2, user_api="blas")`.
test: $(VENV)/.test
	SCIPY_ARRAY_API=1 OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 $(PY) -m pytest $(ARGS)

lint: $(VENV)/.lint
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy src
	$(VENV)/bin/lint-imports

bench: $(VENV)/.bench
	$(PY) -m benchmarks $(ARGS)

docs:
	@echo "The pages are the Markdown files in docs/. There is no site to build yet."

clean:
	rm -rf $(VENV) build dist .pytest_cache .hypothesis .mypy_cache .ruff_cache .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# One stamp file for each set of packages: nothing is installed twice, or before it is needed.
$(VENV)/.core: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) -e .
	@touch $@

$(VENV)/.test $(VENV)/.lint $(VENV)/.bench: $(VENV)/.%: $(VENV)/.core
	$(PIP) -e '.[$*]'
	@touch $@
