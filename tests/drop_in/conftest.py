"""Leaves out the tests of scikit-learn that do not apply, and counts."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from drop_in.scikit_learn_tests import LEFT_OUT, MODULES, matches


@dataclass
class Count:
    """What was collected of scikit-learn's tests."""

    collected: int = 0
    left_out: int = 0
    unused: set[str] = field(default_factory=lambda: set(LEFT_OUT))


COUNT = pytest.StashKey[Count]()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    count, kept, dropped = Count(), [], []
    for item in items:
        key = getattr(item.cls, "key", None) if hasattr(item, "cls") else None
        if key not in MODULES:
            kept.append(item)
            continue
        count.collected += 1
        left_out = matches(f"{key}::{item.name}")
        count.unused -= set(left_out)
        count.left_out += bool(left_out)
        (dropped if left_out else kept).append(item)
    config.stash[COUNT] = count
    if dropped:
        config.hook.pytest_deselected(items=dropped)
        items[:] = kept


@pytest.fixture
def count(request):
    """What was collected of scikit-learn's tests."""
    return request.config.stash[COUNT]


@pytest.fixture
def global_random_seed():
    """The seed with which scikit-learn runs its tests by default."""
    return 42


@pytest.fixture(params=[np.float64, np.float32], ids=["float64", "float32"])
def global_dtype(request):
    """Both dtypes with which scikit-learn runs its tests."""
    return request.param
