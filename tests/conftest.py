"""Settings of all tests.

Hypothesis draws the same examples in every run; `--hypothesis-profile=explore` draws others. BLAS is limited to one
thread, unless a test raises the limit itself, and scikit-learn's checks of other array libraries are enabled. These two
are environment variables that are read when NumPy and SciPy are first imported.
"""

import os
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


def pytest_collection_modifyitems(items):
    """Heywood cases are a property of the rows, and common in small random tables: they are no errors in tests.

    This is not in the settings of pytest, because these would import lowdim before the variables above are set.
    """
    for item in items:
        item.add_marker(pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning"))
