"""PCA of explicit features: the scaling of products, kernel PCA another way, circles made flat, all kinds of maps."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import KernelPCA as TheirKernelPCA
from sklearn.kernel_approximation import Nystroem
from sklearn.preprocessing import PolynomialFeatures, SplineTransformer

from inputs import INPUTS, Unreadable, namespace, table, to_numpy
from lowdim import PCA, FeatureMapPCA, kernels, plan
from lowdim.features import Polynomial
from lowdim.sources import open_source

RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((30, 3)), RNG.standard_normal((6, 3))
MAPS = [Polynomial(1), Polynomial(2), Polynomial(3), Polynomial(2, up_to=True), Polynomial(3, up_to=True, coef0=0.4)]
each_map = pytest.mark.parametrize("phi", MAPS, ids=str)


def kernel(phi, A, B):
    return (A @ B.T + (phi.coef0 if phi.up_to else 0.0)) ** phi.degree


@each_map
def test_products_of_features_are_the_kernel(phi):
    np.testing.assert_allclose(phi(X) @ phi(Y).T, kernel(phi, X, Y), rtol=1e-11, atol=1e-12)
    assert phi(X).shape == (30, phi.n_features(3))
    assert len(phi.names(["a", "b", "c"])) == phi.n_features(3)


def test_quadratic_map():
    """phi(x) = (x1^2, sqrt2 x1 x2, x2^2), for which phi(x) . phi(y) = (x . y)^2; without sqrt2 it is not."""
    x, y = np.array([[2.0, 3.0]]), np.array([[-1.0, 4.0]])
    np.testing.assert_allclose(Polynomial(2)(x) @ Polynomial(2)(y).T, [[100.0]])
    assert np.sum(Polynomial(2)(x) * Polynomial(2)(y) * [1.0, 0.5, 1.0]) == pytest.approx(124.0)
    np.testing.assert_allclose(Polynomial(2)(np.array([[2.0, 3.0]])), [[4.0, math.sqrt(2) * 6.0, 9.0]])
    assert Polynomial(2).names(["x1", "x2"]) == ["x1^2", "x1 x2", "x2^2"]
    assert Polynomial(2, up_to=True).names(["x"]) == ["x^2", "x", "1"]


@each_map
def test_every_kind_of_rows(phi):
    expected = phi(X)
    np.testing.assert_allclose(phi(sparse.csr_array(X)).toarray(), expected, atol=1e-12)
    assert phi(X.astype(np.float32)).dtype == np.float32
    for library in ("array_api_strict", "torch"):
        np.testing.assert_allclose(to_numpy(phi(namespace(library).asarray(X))), expected, atol=1e-12)


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_scores_are_those_of_kernel_pca(degree):
    ours = FeatureMapPCA(3, feature_map=Polynomial(degree)).fit_transform(X)
    theirs = TheirKernelPCA(3, kernel="poly", degree=degree, gamma=1.0, coef0=0.0, eigen_solver="dense").fit_transform(
        X
    )
    np.testing.assert_allclose(np.abs(ours), np.abs(theirs), atol=1e-9)


def test_degree_one_is_pca():
    model, pca = FeatureMapPCA(2, feature_map=Polynomial(1)).fit(X), PCA(2).fit(X)
    np.testing.assert_allclose(model.transform(Y), pca.transform(Y), atol=1e-12)
    np.testing.assert_allclose(model.inverse_transform(model.transform(Y)), pca.inverse_transform(pca.transform(Y)))


def test_a_conic_becomes_flat():
    """The ellipse (x - 1)^2 + (x - 1)(y + 2) / 5 + (y + 2)^2 / 4 = 3, from some of its points."""
    angle = RNG.uniform(0, 2 * np.pi, 60)
    A = np.array([[1.0, 0.1], [0.1, 0.25]])
    points = np.linalg.solve(np.linalg.cholesky(A).T, np.vstack([np.cos(angle), np.sin(angle)])).T * np.sqrt(3.0)
    flat = FeatureMapPCA(feature_map=Polynomial(2, up_to=True)).fit(points + np.array([1.0, -2.0]))
    # The constant feature does not vary, so there are two directions without variance.
    assert np.all(flat.explained_variance_[-2:] < 1e-12 * flat.explained_variance_[0])
    found, constant = flat.equation()
    expected = {"x1^2": 1.0, "x1 x2": 0.2, "x1": -1.6, "x2^2": 0.25, "x2": 0.8}
    largest = max(expected.values(), key=abs)
    assert found == pytest.approx({name: value / largest for name, value in expected.items()}, abs=1e-7)
    assert constant == pytest.approx(1.4 / largest, abs=1e-7)


def test_the_equation_of_a_circle():
    angle = RNG.uniform(0, 2 * np.pi, 40)
    found, constant = FeatureMapPCA().fit(2.0 * np.column_stack([np.cos(angle), np.sin(angle)])).equation()
    assert found == pytest.approx({"x1^2": 1.0, "x1 x2": 0.0, "x2^2": 1.0}, abs=1e-9)
    assert constant == pytest.approx(4.0)


@pytest.mark.parametrize("name", list(INPUTS))
def test_every_input(name):
    given = INPUTS[name]
    rows = np.round(4 * X)
    model = FeatureMapPCA(2).fit(given.make(rows))
    np.testing.assert_allclose(
        to_numpy(model.explained_variance_), FeatureMapPCA(2).fit(rows).explained_variance_, rtol=1e-9
    )


def test_maps_of_all_kinds():
    square = FeatureMapPCA(2, feature_map=lambda block: np.hstack([block, block**2])).fit(X)
    np.testing.assert_allclose(square.transform(Y), PCA(2).fit(np.hstack([X, X**2])).transform(np.hstack([Y, Y**2])))
    for transformer in (PolynomialFeatures(2, include_bias=False), SplineTransformer(4)):
        model = FeatureMapPCA(2, feature_map=transformer).fit(X)
        features = transformer.fit(X)
        np.testing.assert_allclose(
            model.transform(Y), PCA(2).fit(features.transform(X)).transform(features.transform(Y)), atol=1e-9
        )
        assert not hasattr(transformer, "n_features_in_") or transformer is features


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("kind", [np.int64, np.int8, np.bool_, np.float16, object, "pandas", "csc"])
def test_features_of_any_type_are_read_as_rows_are(kind, dtype):
    """Whole numbers here, so that every type holds the same."""
    convert = {"pandas": lambda A: table("pandas", A), "csc": sparse.csc_array}.get(kind, lambda A: A.astype(kind))
    digits = (lambda block: block > 0) if kind is np.bool_ else np.round
    model = FeatureMapPCA(2, feature_map=lambda block: convert(digits(4 * block))).fit(X.astype(dtype))
    expected = PCA(2).fit(digits(4 * X).astype(float))
    assert model.components_.dtype == dtype
    np.testing.assert_allclose(model.explained_variance_, expected.explained_variance_, rtol=1e-5)
    scores, answer = model.transform(Y.astype(dtype)), expected.transform(digits(4 * Y).astype(float))
    np.testing.assert_allclose(scores, answer, atol=1e-5 * np.abs(answer).max())


@pytest.mark.parametrize("make", [np.array, np.asfortranarray, sparse.csr_array, lambda A: [A[:7], A[7:]]])
def test_a_map_that_works_in_place_leaves_the_rows_alone(make):
    def halved(block):
        block *= 0.5
        return block

    class Halved(BaseEstimator, TransformerMixin):
        def fit(self, rows, y=None):
            halved(rows)
            return self

        def transform(self, rows):
            return halved(rows)

    rows = make(X)
    maps = [halved] if isinstance(rows, list) else [halved, Halved()]
    for phi in maps:
        model = FeatureMapPCA(2, feature_map=phi).fit(rows)
        scores = model.transform(rows)
        given = np.vstack(rows) if isinstance(rows, list) else rows.toarray() if sparse.issparse(rows) else rows
        np.testing.assert_array_equal(given, X)
        np.testing.assert_allclose(scores, PCA(2).fit(X / 2).transform(X / 2), atol=1e-12)


def test_features_that_are_not_numbers_are_refused():
    for bad, message in (
        (lambda block: block.astype("U3"), "the features of X has dtype <U3, which is not numeric"),
        (lambda block: block + 1j, "Complex data not supported: the features of X has dtype complex128"),
        (lambda block: block[:, 0], r"the feature map gave shape \(1,\) for a block of 1 rows"),
    ):
        with pytest.raises(ValueError, match=message):
            FeatureMapPCA(1, feature_map=bad).fit(X)


def test_weights_are_repetitions():
    w = RNG.integers(0, 3, 30).astype(float)
    weighted, repeated = (
        FeatureMapPCA(2).fit(X, sample_weight=w),
        FeatureMapPCA(2).fit(np.repeat(X, w.astype(int), axis=0)),
    )
    np.testing.assert_allclose(weighted.transform(Y), repeated.transform(Y), atol=1e-9)


@pytest.mark.parametrize(
    ("feature_map", "error", "message"),
    [
        ("fourier", ValueError, "feature_map='fourier' is not one of 'polynomial'"),
        (3, TypeError, "feature_map must be a name, a function or a transformer, got int"),
        (lambda block: block[:1], ValueError, r"the feature map gave shape \(1, 3\) for a block of"),
        (lambda block: block[:, 0], ValueError, "the feature map gave shape"),
    ],
)
def test_what_is_refused(feature_map, error, message):
    with pytest.raises(error, match=message):
        FeatureMapPCA(1, feature_map=feature_map).fit(X)


def test_too_many_products_are_refused():
    with pytest.raises(MemoryError, match="163,011,640 features"):
        FeatureMapPCA(2, feature_map=Polynomial(9)).fit(np.ones((20, 30)))


def test_kernels_and_classes_are_no_maps():
    with pytest.raises(TypeError, match=r"is a kernel: pass it to KernelPCA"):
        FeatureMapPCA(feature_map=kernels.Polynomial(2)).fit(np.ones((20, 3)))
    with pytest.raises(TypeError, match=r"pass an instance: Polynomial\(\)"):
        FeatureMapPCA(feature_map=Polynomial).fit(np.ones((20, 3)))


def test_polynomials_that_make_no_sense():
    for options in ({"degree": 0}, {"degree": 1.5}, {"degree": True}, {"up_to": True, "coef0": 0.0}):
        with pytest.raises(ValueError, match="is needed"):
            Polynomial(**options)


def test_it_prints():
    assert "6 features of 3 columns" in str(FeatureMapPCA(2).fit(X))
    with pytest.raises(TypeError, match=r"equation\(\) needs products of entries"):
        FeatureMapPCA(1, feature_map=lambda block: block).fit(X).equation()


@pytest.mark.parametrize("name", ["C order", "csr_array", "pandas", "list of blocks"])
def test_bad_entries_are_named_in_the_rows(name):
    bad = np.round(4 * X)
    bad[17, 1] = np.nan
    with pytest.raises(ValueError, match=r"Input X contains NaN: column .*1.*, first in row 17"):
        FeatureMapPCA(1).fit(INPUTS[name].make(bad))
    with pytest.raises(ValueError, match="the features of X contain infinity"):
        FeatureMapPCA(1).fit(INPUTS[name].make(np.round(4 * X) * 1e160))


def test_the_plan_is_that_of_pca_of_the_features():
    """One row is mapped, and no other is read."""
    rows = np.vstack([X, np.full((1, 3), np.nan)])
    seen = []

    def squares(block):
        seen.append(block.shape[0])
        return np.hstack([block, block**2])

    model = FeatureMapPCA(2, feature_map=squares)
    planned = model.plan(rows)
    assert seen == [1]
    assert not hasattr(model, "feature_map_")
    assert planned.solver.name == PCA(2).plan(np.ones((31, 6))).solver.name
    fitted = FeatureMapPCA(2, feature_map=squares).fit(X)
    assert fitted.plan_ == fitted.pca_.plan_
    assert model.plan(X) == fitted.plan_


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 7}, "n_components=7"),
        ({"ddof": 2}, "ddof=2"),
        ({"scale": "yes"}, "scale='yes' must be True or False"),
        ({"solver": "magic"}, "solver='magic' is not one of"),
        ({"feature_map": "fourier"}, "feature_map='fourier' is not one of"),
    ],
)
def test_what_fit_refuses_the_plan_refuses(parameters, message):
    for method in ("fit", "plan"):
        with pytest.raises(ValueError, match=message):
            getattr(FeatureMapPCA(**parameters), method)(X)


def test_rows_of_weight_zero_may_be_anything():
    w, bad = np.ones(30), X.copy()
    w[5], bad[5] = 0.0, np.nan
    own = FeatureMapPCA(2).fit(bad, sample_weight=w)
    np.testing.assert_allclose(own.transform(Y), FeatureMapPCA(2).fit(np.delete(X, 5, axis=0)).transform(Y), atol=1e-9)


@pytest.mark.parametrize(
    ("feature_map", "width"),
    [
        ("polynomial", 10),
        (np.sin, 4),
        (PolynomialFeatures(2), 15),
        (SplineTransformer(4), 24),
        (Nystroem(n_components=20), 20),
    ],
)
def test_a_plan_knows_the_number_of_features_without_reading_a_row(feature_map, width):
    rows = np.random.default_rng(0).standard_normal((70, 4))
    model = FeatureMapPCA(2, feature_map=feature_map)
    planned = model.plan(Unreadable(rows))
    assert planned.n_bytes == plan((70, width), 2, traits=replace(open_source(rows).traits, by_feature=False)).n_bytes
    assert model.fit(rows).mean_.shape == (width,)
    assert model.plan_.n_bytes == planned.n_bytes
