"""scikit-learn's own test modules, loaded from the installed scikit-learn with the classes of lowdim.sklearn in them.

`LEFT_OUT` names the tests that do not apply, with the reason. All others pass.
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

INTERNAL = "calls a private function of scikit-learn, and none of the classes"
READS_MORE = "expects a refusal of rows that can be read here"
DIGITS = "compares with numbers of an iteration that stopped early; test_differences.py has the converged ones"
#: Tests that do not apply: they test the internals of scikit-learn, or answers that `test_differences.py` shows to be
#: wrong. A pattern is the module, the name of the test and its case.
LEFT_OUT = {
    "pca::test_assess_dimension_*": INTERNAL,
    "pca::test_small_eigenvalues_mle": INTERNAL,
    "fastica::test_gs": INTERNAL,
    "pls::test_singular_value_helpers*": INTERNAL,
    "pls::test_svd_flip_1d": INTERNAL,
    "pca::test_pca_svd_solver_auto*": "reads a private attribute: the name of scikit-learn's solver",
    "pca::test_sparse_pca_solver_error*": READS_MORE,
    "pca::test_array_api_error_and_warnings_on_unsupported_params": READS_MORE,
    "incremental_pca::test_incremental_pca_sparse*": READS_MORE,
    "pca::test_pca_score[*": "expects another density of the rows if the scores are whitened",
    "kernel_pca::test_precomputed_kernel_not_psd[randomized]": (
        "expects an error because scikit-learn's randomized solver finds the eigenvalues of largest magnitude"
    ),
    "fastica::test_fastica_eigh_low_rank_warning": (
        "expects sources in directions without variance, and the text of a warning; here they are dropped, with another"
    ),
    "pls::test_sanity_check_pls_regression": DIGITS,
    "pls::test_sanity_check_pls_regression_constant_column_?": DIGITS,
    "pls::test_sanity_check_pls_canonical": DIGITS,
    "pls::test_sanity_check_pls_canonical_random": DIGITS,
    "pls::test_convergence_fail": "expects an iteration that is stopped after two steps; here is none",
    "pls::test_pls_*_warning_on_deprecated_Y_argument*": "expects an argument that scikit-learn 1.8 has removed",
    "pls::test_copy*": "expects copy=False to overwrite the rows",
}
#: Patterns for tests that only older versions of scikit-learn have.
OF_OLDER_VERSIONS = {"pls::test_pls_*_warning_on_deprecated_Y_argument*"}


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


def collect_from(key: str) -> dict[str, object]:
    """The test functions of a module."""
    tests = {name: f for name, f in vars(load(key)).items() if name.startswith("test_") and callable(f)}
    for test in tests.values():
        test.pytestmark = [_with_list(mark) for mark in getattr(test, "pytestmark", [])]
    return tests


def _with_list(mark: pytest.Mark) -> pytest.Mark:
    """The mark, with its cases in a list, and without those of array libraries that are not installed."""
    if mark.name != "parametrize":
        return mark
    cases = list(mark.args[1])
    if "array_namespace" in mark.args[0]:
        cases = [case for case in cases if importlib.util.find_spec(_values(case)[0])]
    return pytest.mark.parametrize(mark.args[0], cases, *mark.args[2:], **mark.kwargs).mark


def _values(case: object) -> tuple:
    """The values of a case, which may have marks and an id."""
    return getattr(case, "values", case)


def matches(node: str) -> list[str]:
    """The patterns of `LEFT_OUT` that match a test, given as "key::test_name[case]"."""
    name, _, case = node.partition("[")
    return [p for p in LEFT_OUT if _matches(name, case, *p.partition("[")[::2])]


def _matches(name: str, case: str, pattern: str, cases: str) -> bool:
    """Whether a test and its case match the patterns of both; without a pattern of cases, all do."""
    return fnmatchcase(name, pattern) and (not cases or fnmatchcase(case, cases))
