"""scikit-learn's own test modules, loaded from the installed scikit-learn with the classes of lowdim.sklearn in them.

`LEFT_OUT` names the tests that do not apply, with the reason, and `DIFFERENT` those that apply and do not pass.
"""

from __future__ import annotations

import importlib.util
import sys
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from types import ModuleType

import pytest
import sklearn
from sklearn import cross_decomposition, decomposition

import lowdim.sklearn

MODULES = {
    "pca": "decomposition/tests/test_pca.py",
    "incremental_pca": "decomposition/tests/test_incremental_pca.py",
    "factor_analysis": "decomposition/tests/test_factor_analysis.py",
    "kernel_pca": "decomposition/tests/test_kernel_pca.py",
    "fastica": "decomposition/tests/test_fastica.py",
    "pls": "cross_decomposition/tests/test_pls.py",
}

INTERNAL = "calls a private function of scikit-learn, and no class"
#: Tests that do not apply, by module and by a pattern of their names.
LEFT_OUT: dict[str, str] = {}
#: Tests that apply and do not pass.
DIFFERENT: dict[str, str] = {}


@contextmanager
def classes_replaced():
    """Context in which `from sklearn.decomposition import PCA` and the like give the classes of lowdim.sklearn."""
    packages = (decomposition, cross_decomposition)
    names = [(package, name) for package in packages for name in lowdim.sklearn.__all__ if hasattr(package, name)]
    before = [(package, name, getattr(package, name)) for package, name in names]
    for package, name in names:
        setattr(package, name, getattr(lowdim.sklearn, name))
    try:
        yield
    finally:
        for package, name, cls in before:
            setattr(package, name, cls)


def load(key: str) -> ModuleType:
    """The test module of scikit-learn under this key, with the classes of lowdim.sklearn in it."""
    path = Path(sklearn.__file__).parent / MODULES[key]
    name = f"scikit_learn_tests_{key}"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    with classes_replaced():
        spec.loader.exec_module(module)
    return module


def tests_of(key: str) -> dict[str, object]:
    """The test functions of a module."""
    tests = {name: f for name, f in vars(load(key)).items() if name.startswith("test_") and callable(f)}
    for test in tests.values():
        test.pytestmark = [_with_list(mark) for mark in getattr(test, "pytestmark", [])]
    return tests


def _with_list(mark: pytest.Mark) -> pytest.Mark:
    """The mark, with its cases in a list: a generator could be read only once, and pytest warns of it."""
    if mark.name != "parametrize" or not hasattr(mark.args[1], "__next__"):
        return mark
    return pytest.mark.parametrize(mark.args[0], list(mark.args[1]), *mark.args[2:], **mark.kwargs).mark


def matches(node: str, table: dict[str, str]) -> list[str]:
    """The patterns of a table that match a test, given as "key::test_name[case]"."""
    # Square brackets are literal in names of cases.
    return [p for p in table if fnmatchcase(node, p.replace("[", "[[]"))]
