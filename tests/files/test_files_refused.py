"""What cannot be saved: functions, objects of other libraries, random generators, attributes that no fit sets."""

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

import lowdim
from examples import X, Y
from lowdim import FeatureMapPCA, KernelPCA, densities, kernels, save, solvers
from lowdim.errors import LowdimWarning, without_warnings


class OwnPCA(lowdim.PCA):
    """A model that lowdim does not know."""


class OwnSolver(solvers.Krylov):
    """A solver that lowdim does not know."""


def square(block):
    return block**2


def cube(y):
    return y**3, 3 * y**2


CUSTOM = densities.CustomDensity(lambda u: u**4 / 4, lambda u: u**3, lambda u: 3 * u**2)
MODELS = {
    "own kernel": (KernelPCA(2, kernel=lambda x, y: float(x @ y)), "the parameter kernel of this KernelPCA|kernel_"),
    "own kernel in a sum": (KernelPCA(2, kernel=kernels.Linear() + kernels.Function(np.dot)), "Function|function"),
    "own density": (lowdim.ICA(2, density=CUSTOM, extended=False), "densities_|the parameter density"),
    "own feature map": (FeatureMapPCA(2, feature_map=square), "feature_map"),
    "transformer": (FeatureMapPCA(2, feature_map=StandardScaler()), r"feature_map.* an estimator.*Save it by itself"),
    "own contrast": (lowdim.sklearn.FastICA(2, fun=cube), "the parameter fun of this FastICA is a function"),
    "own solver": (lowdim.PCA(2, solver=OwnSolver()), "solver"),
    "random state": (
        lowdim.PCA(2, random_state=np.random.RandomState(0)),
        "random generator.*whole number",
    ),
}


@pytest.mark.parametrize("name", list(MODELS))
def test_code_cannot_be_saved(name, tmp_path):
    model, message = MODELS[name]
    with without_warnings(LowdimWarning):
        model.fit(X)
    with pytest.raises(TypeError, match=message) as error:
        save(model, tmp_path / "model")
    assert "which a file cannot hold" in str(error.value)
    assert not any(tmp_path.iterdir())


def test_models_of_other_classes(tmp_path):
    for obj in (OwnPCA(2).fit(X), StandardScaler().fit(X), {"a": 1}, X, lowdim.PCA, kernels.Linear(), None):
        with pytest.raises(TypeError, match=r"cannot be saved\. Fitted models of lowdim"):
            save(obj, tmp_path / "file")


def test_a_model_that_is_not_fitted(tmp_path):
    with pytest.raises(ValueError, match="this PCA is not fitted yet"):
        save(lowdim.PCA(2), tmp_path / "model")


def test_attributes_that_no_fit_sets(tmp_path):
    model = lowdim.PCA(2).fit(X)
    model.note = "mine"
    with pytest.raises(TypeError, match=r"attribute note of this PCA.*del model\.note"):
        save(model, tmp_path / "model")


def test_attributes_that_were_changed(tmp_path):
    """What could not be loaded is not saved."""
    model = lowdim.PCA(2).fit(X)
    model.components_ = 2.0 * model.components_
    with pytest.raises(ValueError, match="the rows of components_ are not orthonormal"):
        save(model, tmp_path / "model")
    del model.components_
    with pytest.raises(ValueError, match="components_ is missing"):
        save(model, tmp_path / "model")


def test_settings_with_functions(tmp_path):
    tried = {"density": [CUSTOM]}
    result = lowdim.selection.CrossValidation(
        "ICA",
        "score",
        True,
        np.arange(2),
        [tried],
        np.zeros((3, 1, 2)),
        None,
        np.ones(3),
        90,
        1,
        lowdim.plan(lowdim.PCA(2), X),
    )
    with pytest.raises(TypeError, match=r"settings of CrossValidation.*\['density'\]\[0\]"):
        save(result, tmp_path / "result")


def test_numbers_of_unusual_dtypes(tmp_path):
    model = lowdim.CCA(2, regularization=(np.longdouble(0.1), 0.2)).fit(X, Y)
    with pytest.raises(TypeError, match=r"regularization of this CCA\[0\] is a number of dtype.*float64 first"):
        save(model, tmp_path / "model")


def test_what_load_would_refuse_is_not_saved(tmp_path):
    """A sum of many kernels is nested deeply."""
    kernel = kernels.Gaussian()
    for _ in range(40):
        kernel = kernel + kernels.Gaussian()
    with pytest.raises(ValueError, match=r"was not written, because it could not be loaded again: .*nested"):
        save(KernelPCA(1, kernel=kernel).fit(X), tmp_path / "model")
    assert list(tmp_path.iterdir()) == []
