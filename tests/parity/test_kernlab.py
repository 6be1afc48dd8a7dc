"""Kernel PCA beside R's kernlab on iris, rows of the fit and new ones, and beside scikit-learn."""

import numpy as np
import pytest
from sklearn.decomposition import KernelPCA as SklearnKernelPCA

from examples import PAIRS as EXACT
from lowdim import KernelPCA
from parity.reference import data, results


def aligned(scores, like):
    """Scores with the signs of others."""
    return scores * np.sign((scores * like).sum(axis=0))


@pytest.mark.parametrize("solver", EXACT)
@pytest.mark.parametrize("case", ["sigma_0.2", "sigma_1"])
def test_kernlab(case, solver):
    R = results("kpca_iris_rbf")[case]
    iris = data("iris")
    rows, new = (iris[R[name].astype(int)] for name in ("train_rows_zero_based", "new_rows_zero_based"))
    model = KernelPCA(8, kernel="rbf", gamma=R["parameters"]["sigma"], solver=solver).fit(rows)
    np.testing.assert_allclose(model.eigenvalues_, R["eigenvalues_of_Kc"], rtol=1e-10)
    for X, theirs, unit in [
        (rows, R["kernlab_rotated_train"], R["unit_feature_scores_train"]),
        (new, R["kernlab_predicted_new"], R["unit_feature_scores_new"]),
    ]:
        scores = model.transform(X)
        np.testing.assert_allclose(aligned(scores, unit), unit, atol=1e-8)
        # kernlab's own scores are sqrt(m) times larger.
        np.testing.assert_allclose(aligned(scores * np.sqrt(len(rows)), theirs), theirs, atol=1e-7)


KERNELS = {
    "linear": {},
    "poly": {"gamma": 0.1, "degree": 3, "coef0": 1.0},
    "rbf": {"gamma": 0.2},
    "sigmoid": {"gamma": 0.01, "coef0": 0.1},
    "cosine": {},
}


@pytest.mark.filterwarnings("ignore::lowdim.errors.IndefiniteWarning")
@pytest.mark.parametrize("solver", [*EXACT, "auto"])
@pytest.mark.parametrize("kernel", list(KERNELS))
def test_scikit_learn(kernel, solver):
    iris = data("iris")
    rows, new = iris[::2], iris[1::2]
    theirs = SklearnKernelPCA(3, kernel=kernel, eigen_solver="dense", **KERNELS[kernel]).fit(rows)
    model = KernelPCA(3, kernel=kernel, solver=solver, **KERNELS[kernel])
    scores = model.fit_transform(rows)
    np.testing.assert_allclose(model.eigenvalues_, theirs.eigenvalues_, rtol=1e-10)
    size = np.abs(scores).max()
    for ours, other in [(scores, theirs.transform(rows)), (model.transform(new), theirs.transform(new))]:
        np.testing.assert_allclose(aligned(ours, other), other, atol=1e-8 * size)
    vectors = aligned(model.eigenvectors_, theirs.eigenvectors_)
    np.testing.assert_allclose(vectors, theirs.eigenvectors_, atol=1e-8)


def test_scikit_learn_on_digits():
    """Large enough for the iteration to be chosen by itself."""
    digits = data("digits")
    theirs = SklearnKernelPCA(5, kernel="rbf", gamma=1e-3, eigen_solver="arpack", random_state=0).fit(digits)
    model = KernelPCA(5, kernel="rbf", gamma=1e-3).fit(digits)
    assert model.solver_ == "krylov"
    np.testing.assert_allclose(model.eigenvalues_, theirs.eigenvalues_, rtol=1e-12)
    scores, other = model.transform(digits[:50]), theirs.transform(digits[:50])
    np.testing.assert_allclose(aligned(scores, other), other, atol=1e-8)
