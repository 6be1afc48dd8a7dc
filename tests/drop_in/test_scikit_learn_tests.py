"""scikit-learn's own tests pass with the classes of lowdim.sklearn, apart from those in the tables, with reasons."""

import pytest

from drop_in.scikit_learn_tests import DIFFERENT, LEFT_OUT, MODULES, tests_of


def _suite(key):
    """A class whose methods are the tests of one of scikit-learn's modules."""
    methods = {name: staticmethod(test) for name, test in tests_of(key).items()}
    cls = type("Test" + key.title().replace("_", ""), (), {"key": key, **methods})
    # scikit-learn gives no warning where lowdim has reason to warn of ranks, sample sizes or convergence.
    return pytest.mark.filterwarnings("default::lowdim.errors.LowdimWarning")(cls)


for _key in MODULES:
    _cls = _suite(_key)
    globals()[_cls.__name__] = _cls
del _cls
