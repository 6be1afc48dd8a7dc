"""scikit-learn's own tests pass with the classes of lowdim.sklearn, apart from those in `LEFT_OUT`, with reasons."""

import pytest
import sklearn
from packaging.version import Version
from sklearn import decomposition

import lowdim.sklearn
from drop_in.scikit_learn_tests import LEFT_OUT, MODULES, OF_OLDER_VERSIONS, collect_from, load

#: Older versions of scikit-learn do not have all tests that the table names.
WRITTEN_FOR = "1.9"


def _suite(key):
    """A class whose methods are the tests of one of scikit-learn's modules."""
    methods = {name: staticmethod(test) for name, test in collect_from(key).items()}
    cls = type("Test" + key.title().replace("_", ""), (), {"key": key, **methods})
    # lowdim warns of ranks and sample sizes where scikit-learn does not, and its tests stop a perceptron early.
    for category in ("lowdim.errors.LowdimWarning", "sklearn.exceptions.ConvergenceWarning"):
        cls = pytest.mark.filterwarnings(f"ignore::{category}")(cls)
    return cls


for _key in MODULES:
    _cls = _suite(_key)
    globals()[_cls.__name__] = _cls
del _cls


def test_the_table_names_tests_that_exist(count):
    if Version(sklearn.__version__) < Version(WRITTEN_FOR):
        assert count.collected > 0
    else:
        assert count.unused == OF_OLDER_VERSIONS


def test_nearly_all_tests_apply(count):
    """They fail one by one if they do not pass; here they are counted."""
    assert count.collected > 500
    assert count.left_out < 0.1 * count.collected


def test_the_classes_in_the_tests_are_those_of_lowdim():
    for key in MODULES:
        module = load(key)
        replaced = [name for name in lowdim.sklearn.__all__ if hasattr(module, name)]
        assert replaced
        assert all(getattr(module, name).__module__.startswith("lowdim.sklearn.") for name in replaced)
    assert decomposition.PCA.__module__.startswith("sklearn.")


def test_every_entry_has_a_reason():
    assert all(len(reason.split()) > 3 for reason in LEFT_OUT.values())
