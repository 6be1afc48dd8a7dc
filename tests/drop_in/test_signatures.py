"""The classes of lowdim.sklearn are scikit-learn estimators with the signatures of scikit-learn's classes."""

import inspect
import pickle

import numpy as np
import pytest
from sklearn import cross_decomposition, decomposition
from sklearn.base import clone
from sklearn.datasets import load_linnerud
from sklearn.utils.estimator_checks import parametrize_with_checks

import lowdim.sklearn

X, y = load_linnerud(return_X_y=True)
CLASSES = [name for name in lowdim.sklearn.__all__ if name != "fastica"]
#: Methods whose arguments may be passed by position.
METHODS = ("fit", "fit_transform", "transform", "inverse_transform", "partial_fit", "predict", "score", "score_samples")


def theirs(name):
    return getattr(decomposition, name, None) or getattr(cross_decomposition, name)


@pytest.mark.parametrize("name", lowdim.sklearn.__all__)
def test_the_signature_is_that_of_the_installed_scikit_learn(name):
    ours = inspect.signature(getattr(lowdim.sklearn, name)).parameters.values()
    expected = inspect.signature(theirs(name)).parameters.values()
    assert [(p.name, p.kind, p.default) for p in ours] == [(p.name, p.kind, p.default) for p in expected]


@pytest.mark.parametrize("name", CLASSES)
def test_methods_take_the_arguments_of_scikit_learn(name):
    """Further arguments come after them."""
    ours, expected = getattr(lowdim.sklearn, name), theirs(name)
    for method in METHODS:
        if hasattr(expected, method) and not hasattr(getattr(expected, method), "_deprecated"):
            known = [p for p in inspect.signature(getattr(expected, method)).parameters if p not in ("params", "Y")]
            known = [p for p in known if not p.endswith("_params")]
            assert list(inspect.signature(getattr(ours, method)).parameters)[: len(known)] == known, method


@pytest.mark.parametrize("name", CLASSES)
def test_every_argument_is_in_the_docstring(name):
    parameters = inspect.getdoc(getattr(lowdim.sklearn, name)).partition("Attributes\n")[0]
    heads = [line for line in parameters.splitlines() if line and not line.startswith(" ")]
    documented = {word.strip() for line in heads for word in line.partition(":")[0].split(",")}
    assert set(inspect.signature(getattr(lowdim.sklearn, name)).parameters) <= documented


@pytest.mark.parametrize("options", [{}, {"fit_inverse_transform": True}], ids=["default", "inverse"])
@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.filterwarnings("ignore::lowdim.errors.LowdimWarning", "ignore::sklearn.exceptions.ConvergenceWarning")
def test_fitted_attributes_have_the_names_and_shapes_of_scikit_learn(name, options):
    cls = getattr(lowdim.sklearn, name)
    options = {key: value for key, value in options.items() if key in inspect.signature(cls).parameters}
    expected, ours = theirs(name)(2, **options).fit(X, y), cls(2, **options).fit(X, y)
    attributes = [a for a in vars(expected) if a.endswith("_") and not a.startswith("_")]
    assert len(attributes) > 2
    for attribute in attributes:
        assert np.shape(getattr(ours, attribute)) == np.shape(getattr(expected, attribute)) or attribute == "loglike_"


#: The checks pass a single column y, for which these classes have one component.
ONE_COMPONENT = ("CCA", "PLSCanonical", "PLSSVD")
CHECKED = [getattr(lowdim.sklearn, name)(*([1] if name in ONE_COMPONENT else [])) for name in CLASSES]


@parametrize_with_checks(CHECKED)
@pytest.mark.filterwarnings(
    "ignore::lowdim.errors.RankWarning",
    "ignore::lowdim.errors.SmallSampleWarning",
    "ignore::lowdim.errors.ConvergenceWarning",
)
def test_checks_of_scikit_learn(estimator, check):
    """No expected failures."""
    check(estimator)


@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.filterwarnings("ignore::lowdim.errors.LowdimWarning")
def test_clone_and_pickle(name):
    model = getattr(lowdim.sklearn, name)().fit(X, y)
    assert clone(model).get_params() == model.get_params()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).transform(X), model.transform(X))
    assert str(model).startswith(name)


BAD = {
    "PCA": {"svd_solver": "qr", "n_components": -1, "tol": -1.0, "iterated_power": "often", "n_oversamples": 0},
    "IncrementalPCA": {"batch_size": 0, "n_components": 0},
    "FactorAnalysis": {"svd_method": "qr", "rotation": "oblimin", "max_iter": 0, "tol": -1.0},
    "KernelPCA": {"kernel": "laplace", "eigen_solver": "qr", "alpha": -1.0, "degree": -1, "n_jobs": 0.5},
    "FastICA": {"algorithm": "both", "whiten": True, "fun": "sin", "tol": -1.0, "whiten_solver": "qr"},
    "PLSRegression": {"n_components": 0, "scale": "yes", "max_iter": 0, "tol": -1.0},
    "PLSCanonical": {"algorithm": "qr", "n_components": 1.5},
    "PLSSVD": {"n_components": None, "copy": "no"},
    "CCA": {"scale": (True, False), "n_components": "cv"},
}


@pytest.mark.parametrize(("name", "bad"), [(name, (k, v)) for name, table in BAD.items() for k, v in table.items()])
def test_invalid_values_raise_the_error_of_scikit_learn(name, bad):
    with pytest.raises(ValueError) as expected:
        theirs(name)(**dict([bad])).fit(X, y)
    with pytest.raises(type(expected.value)) as got:
        getattr(lowdim.sklearn, name)(**dict([bad])).fit(X, y)
    assert str(got.value) == str(expected.value)
