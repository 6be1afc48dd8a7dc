"""Models work with every version of scikit-learn that is supported, and say what an older one cannot do."""

import subprocess
import sys

import pytest
import sklearn

from lowdim import PCA

OLD = tuple(int(part) for part in sklearn.__version__.split(".")[:2]) < (1, 9)


def test_set_callbacks_is_there_if_scikit_learn_has_callbacks():
    assert hasattr(PCA(), "set_callbacks") == (not OLD)


def test_without_callbacks_models_fit_and_say_which_version_has_them():
    """In a fresh interpreter in which `sklearn.callback` cannot be imported, as in older versions."""
    code = """
import sys
import sklearn.model_selection, sklearn.pipeline, sklearn.preprocessing
sys.modules["sklearn.callback"] = None
import numpy as np
from lowdim import PCA, PLSRegression
X = np.random.default_rng(0).standard_normal((30, 4))
assert PCA(2).fit(X).transform(X).shape == (30, 2)
assert PLSRegression(1).fit(X, X[:, 0]).score(X, X[:, 0]) > 0.1
assert not hasattr(PCA(), "set_callbacks")
try:
    PCA().set_callbacks()
except AttributeError as error:
    print(error.__cause__)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert f"callbacks need scikit-learn 1.9 or newer, and {sklearn.__version__} is installed" in done.stdout


@pytest.mark.parametrize("display", ["diagram", "text"])
def test_html_is_offered_if_it_is_wanted(display):
    model = PCA(2).fit([[1.0, 2, 0], [0, 1, 4], [3, 1, 2]])
    with sklearn.config_context(display=display):
        assert ("text/html" in model._repr_mimebundle_()) == (display == "diagram")
        assert hasattr(model, "_repr_html_") == (display == "diagram")
