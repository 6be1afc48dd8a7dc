"""Settings of all tests.

Hypothesis draws the same examples in every run; `--hypothesis-profile=explore` draws others. BLAS is limited to one
thread, unless a test raises the limit itself, and scikit-learn's checks of other array libraries are enabled. These two
are environment variables that are read when NumPy and SciPy are first imported.

Of a grid, a test with very many cases, a sample runs, unless `--whole-grids` asks for all of them, as `make test-all`
does.
"""

import os
import random
from collections import defaultdict
from importlib import import_module
from importlib.util import find_spec

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("SCIPY_ARRAY_API", "1")

import pytest
from hypothesis import settings

settings.register_profile("steady", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None, max_examples=1000)
settings.load_profile("steady")


def pytest_sessionstart():
    """Checks of scikit-learn for a GPU are skipped where there is none.

    scikit-learn asks torch whether it was built for CUDA, as that of PyPI is, and not whether there is a device.
    """
    if find_spec("torch") is not None:
        torch = import_module("torch")
        if not torch.cuda.is_available():
            torch.backends.cuda.is_built = lambda: False


@pytest.fixture
def memory(monkeypatch):
    """`memory(n)`: from here on, the machine has n bytes of memory in all; 0 if that is unknown."""
    real = getattr(os, "sysconf", None)

    def set_to(n_bytes):
        told = {"SC_PHYS_PAGES": n_bytes, "SC_PAGE_SIZE": 1}
        monkeypatch.setattr(os, "sysconf", lambda name: told[name] if name in told else real(name), raising=False)

    return set_to


#: A test with more cases than this is a grid. Of a grid, at least this many cases run, or this share of them.
_FEWEST, _SHARE = 40, 0.1


def pytest_addoption(parser):
    parser.addoption("--whole-grids", action="store_true", help="run all cases of tests that have very many")


def sample_of(cases):
    """Cases of a grid, the same ones in every run: first those with values of its parameters that none before had."""
    shuffled = random.Random(0).sample(cases, len(cases))
    seen, new, others = set(), [], []
    for case in shuffled:
        values = set(enumerate(case.callspec.id.split("-")))
        (others if values <= seen else new).append(case)
        seen |= values
    # Where nearly every case has a value of its own, there is but one parameter.
    size = max(_FEWEST, int(_SHARE * len(cases)), len(new) if len(new) < len(cases) / 2 else 0)
    return {*[*new, *others][:size]}


def pytest_collection_modifyitems(config, items):
    """The sample of each grid."""
    grids = defaultdict(list)
    for item in items:
        grids[item.nodeid.partition("[")[0]].append(item)
    left_out = set()
    for cases in grids.values():
        if len(cases) > _FEWEST and hasattr(cases[0], "callspec") and not config.getoption("--whole-grids"):
            left_out |= {*cases} - sample_of(cases)
    if left_out:
        config.hook.pytest_deselected(items=[*left_out])
        items[:] = [item for item in items if item not in left_out]
