"""FastICA of lowdim.sklearn: the sources of scikit-learn's from the same start, with all arguments that change them."""

import numpy as np
import pytest
from sklearn import decomposition

from lowdim.errors import LowdimWarning
from lowdim.sklearn import FastICA, fastica

random = np.random.default_rng(0)
X = random.laplace(size=(600, 3)) @ random.standard_normal((3, 4)) + 0.05 * random.standard_normal((600, 4)) + 3.0
START = np.linalg.qr(random.standard_normal((3, 3)))[0]


def quartic(x, weight=1.0):
    return weight * x**3, weight * (3 * x**2).mean(axis=-1)


CASES = {
    "logcosh": {},
    "logcosh alpha": {"fun_args": {"alpha": 1.7}},
    "exp": {"fun": "exp"},
    "cube": {"fun": "cube"},
    "function": {"fun": quartic, "fun_args": {"weight": 2.0}},
}


def assert_same_sources(ours, theirs, rows, atol=1e-6):
    """Equal up to order and sign, and in scale."""
    S, T = ours.transform(rows), theirs.transform(rows)
    order = np.abs(np.corrcoef(S.T, T.T)[: S.shape[1], S.shape[1] :]).argmax(axis=1)
    assert sorted(order) == list(range(S.shape[1]))
    np.testing.assert_allclose(np.abs(S), np.abs(T[:, order]), atol=atol * np.abs(T).max())
    np.testing.assert_allclose(np.abs(ours.components_), np.abs(theirs.components_[order]), rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(np.abs(ours.mixing_), np.abs(theirs.mixing_[:, order]), rtol=1e-3, atol=1e-2)


@pytest.mark.parametrize("algorithm", ["parallel", "deflation"])
@pytest.mark.parametrize("whiten", ["unit-variance", "arbitrary-variance"])
@pytest.mark.parametrize("case", CASES)
def test_sources(case, whiten, algorithm):
    options = {"algorithm": algorithm, "whiten": whiten, "max_iter": 5000, **CASES[case]}
    # Its tolerance is for the square of an angle, ours for the gradient.
    theirs = decomposition.FastICA(3, w_init=START, tol=1e-15, **options).fit(X)
    options["tol"] = 1e-8
    # scikit-learn's start is in the coordinates of its own whitened rows, which may differ in sign.
    ours = FastICA(3, w_init=START, **options).fit(X)
    signs = np.sign(np.sum(ours.whitening_ * theirs.whitening_, axis=1))
    np.testing.assert_allclose(ours.whitening_, theirs.whitening_ * signs[:, None], atol=1e-10)
    ours = FastICA(3, w_init=START * signs, **options).fit(X)
    assert_same_sources(ours, theirs, X)
    np.testing.assert_allclose(ours.inverse_transform(ours.transform(X)), theirs.inverse_transform(theirs.transform(X)))


@pytest.mark.parametrize("case", CASES)
def test_rows_that_are_white_already(case):
    white = decomposition.PCA(3, whiten=True).fit_transform(X)
    options = {"whiten": False, "max_iter": 5000, "w_init": START, **CASES[case]}
    ours = FastICA(tol=1e-8, **options).fit(white)
    assert_same_sources(ours, decomposition.FastICA(tol=1e-15, **options).fit(white), white)
    assert not hasattr(ours, "whitening_")
    np.testing.assert_array_equal(ours.mean_, 0.0)
    with pytest.warns(LowdimWarning, match="Ignoring n_components"):
        FastICA(2, **options).fit(white)


@pytest.mark.parametrize("whiten", ["unit-variance", "arbitrary-variance", False])
def test_as_a_function(whiten):
    rows = X if whiten else decomposition.PCA(whiten=True).fit_transform(X)
    K, W, S, mean, steps = fastica(rows, whiten=whiten, return_X_mean=True, return_n_iter=True)
    assert steps >= 1
    if whiten:
        np.testing.assert_allclose(S, (rows - mean) @ (W @ K).T, atol=1e-12)
        np.testing.assert_allclose(K @ (rows - mean).T @ (rows - mean) @ K.T, np.eye(4), atol=1e-10)
    else:
        assert K is None and mean is None
        np.testing.assert_allclose(S, rows @ W.T, atol=1e-12)
    assert fastica(rows, whiten=whiten, compute_sources=False)[2] is None


def test_too_many_components_are_set_to_the_most():
    with pytest.warns(LowdimWarning, match="n_components is too large: it will be set to 4"):
        assert FastICA(9).fit(X).components_.shape == (4, 4)


def test_there_is_no_density():
    model = FastICA(3).fit(X)
    assert not hasattr(model, "score") and not hasattr(model, "score_samples") and not hasattr(model, "loglike_")


def test_refusals():
    with pytest.raises(ValueError, match=r"alpha must be in \[1,2\], got 3"):
        FastICA(fun_args={"alpha": 3.0}).fit(X)
    with pytest.raises(ValueError, match=r"w_init has invalid shape \(2, 2\), should be \(3, 3\)"):
        FastICA(3, w_init=np.eye(2)).fit(X)
    with pytest.raises(ValueError, match="fun must return a pair"):
        FastICA(3, fun=np.tanh).fit(X)
    with pytest.raises(ValueError, match="whiten=False needs to know the number of rows"):
        FastICA(whiten=False).fit(lambda: iter([X[:300], X[300:]]))
    with pytest.raises(AttributeError, match=r"use lowdim\.ICA"):
        FastICA(3).fit(X).score(X)
    with pytest.raises(ValueError, match="leave sample_weight out"):
        FastICA(3, fun=quartic).fit(X, sample_weight=np.ones(600))


@pytest.mark.parametrize("algorithm", ["parallel", "deflation"])
def test_weights_are_repeated_rows(algorithm):
    w = np.arange(600) % 3
    options = {"algorithm": algorithm, "tol": 1e-9, "w_init": START}
    weighted = FastICA(3, **options).fit(X, sample_weight=w.astype(float))
    repeated = FastICA(3, **options).fit(np.repeat(X, w, axis=0))
    np.testing.assert_allclose(weighted.components_, repeated.components_, atol=1e-6)
