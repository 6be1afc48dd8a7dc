"""PCA: every solver on every kind of input, in every dtype and namespace, gives one answer; solvers by name; rank loss.

The answer is that of plain NumPy in float64. The rows are whole numbers, so every kind of input holds the same ones.
"""

from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

import lowdim
from examples import FINDS_ALL, SPECTRAL
from inputs import INPUTS, to_numpy
from lowdim import PCA
from lowdim.errors import RankWarning
from lowdim.solvers import SOLVERS as TABLE
from oracles import gaussian_log_density, ppca_covariance, signed, tolerance, vector_condition

SOLVERS = [*SPECTRAL, "auto"]
SHAPES = {"tall": (60, 7), "wide": (7, 30)}
SETTINGS = {
    "plain": {},
    "scale": {"scale": True},
    "weights": {"weighted": True},
}
K = 3
#: For files: a solver of one pass, one that reads again and again, and one that reads by columns.
FEW_CELLS = [("auto", "float64"), ("auto", "float32"), ("krylov", "float64"), ("gram", "float64")]


@cache
def rows(shape):
    """Whole numbers with distinct eigenvalues, a mean and some zeros."""
    n, p = SHAPES[shape]
    rng = np.random.default_rng(n)
    scores = rng.standard_normal((n, 5)) * [12, 8, 5, 2, 1]
    X = np.round(scores @ np.linalg.qr(rng.standard_normal((p, 5)))[0].T * 4 + rng.standard_normal((n, p)))
    X += rng.integers(-20, 20, p)
    X[rng.random((n, p)) < 0.1] = 0
    return X


@cache
def weights(shape):
    return np.random.default_rng(1).integers(0, 4, SHAPES[shape][0]).astype(float)


@cache
def reference(shape, setting):
    """What PCA is, in a few lines."""
    X, options = rows(shape), SETTINGS[setting]
    w = weights(shape) if options.get("weighted") else np.ones(len(X))
    mean = w @ X / w.sum()
    Z = X - mean
    S = (Z * w[:, None]).T @ Z / (w.sum() - 1)
    sd = np.sqrt(np.diag(S)) if options.get("scale") else np.ones(X.shape[1])
    values, vectors = np.linalg.eigh(S / np.outer(sd, sd))
    values, vectors = values[::-1].clip(0), signed(vectors.T[::-1])
    C = ppca_covariance(values, vectors, K) * np.outer(sd, sd)
    return SimpleNamespace(
        mean=mean,
        values=values,
        vectors=vectors[:K],
        noise=values[K:].sum() / (X.shape[1] - K),
        scores=Z / sd @ vectors[:K].T,
        log_density=gaussian_log_density(X, mean, C),
        condition=vector_condition(values, K).max(),
    )


def cells():
    """The cells of the grid that exist."""
    for name, kind in INPUTS.items():
        for solver in SOLVERS:
            way = TABLE.get(solver)  # None for "auto", which takes one that can
            if way and ((way.reads_columns and not kind.by_column) or not (way.one_pass or kind.again)):
                continue
            for dtype in kind.dtypes:
                if (kind.stored or kind.queried) and (solver, dtype) not in FEW_CELLS:
                    continue
                yield pytest.param(name, solver, dtype, id=f"{name}-{solver}-{dtype}")


def fitted(name, solver, dtype, shape, setting):
    kind, options = INPUTS[name], dict(SETTINGS[setting])
    weighted = options.pop("weighted", False)
    X = rows(shape).astype(dtype if dtype in ("float64", "float32") else "float64")
    w = kind.weights(weights(shape)) if weighted else None
    return PCA(K, solver=solver, **options).fit(kind.make(X), sample_weight=w), lambda: kind.make(X)


def assert_close(got, expected, dtype, condition=1.0, size=None):
    """Equal to the tolerance for this conditioning, relative to the largest entry expected (or `size`)."""
    got = to_numpy(got)
    assert got.shape == np.shape(expected)
    eps_of = np.float32 if dtype == "float32" else np.float64
    size = np.abs(expected).max() if size is None else size
    np.testing.assert_allclose(got, expected, rtol=0, atol=tolerance(eps_of, condition) * size)


@pytest.mark.parametrize("setting", list(SETTINGS))
@pytest.mark.parametrize("shape", list(SHAPES))
@pytest.mark.parametrize(("name", "solver", "dtype"), list(cells()))
def test_one_answer(name, solver, dtype, shape, setting):
    pca, again = fitted(name, solver, dtype, shape, setting)
    expected = reference(shape, setting)
    vectors = expected.condition
    assert_close(pca.mean_, expected.mean, dtype)
    assert_close(pca.explained_variance_, expected.values[:K], dtype)
    assert_close(pca.explained_variance_ratio_, expected.values[:K] / expected.values.sum(), dtype)
    assert_close(pca.components_, expected.vectors, dtype, vectors)
    assert_close(pca.noise_variance_, expected.noise, dtype, size=expected.values[0])
    assert_close(pca.transform(again()), expected.scores, dtype, vectors)
    # Squared distances in units of the noise: lambda_1 / noise times as sensitive as the rows.
    density = vectors * expected.values[0] / expected.noise
    assert_close(pca.score_samples(again()), expected.log_density, dtype, density)


@pytest.mark.parametrize(("name", "solver", "dtype"), list(cells()))
def test_results_are_arrays_of_the_kind_and_dtype_of_the_rows(name, solver, dtype):
    pca, again = fitted(name, solver, dtype, "tall", "scale")
    results = {
        attribute: getattr(pca, attribute)
        for attribute in (
            "components_", "explained_variance_", "explained_variance_ratio_", "singular_values_", "mean_", "scale_",
            "loadings_",
        )
    }  # fmt: skip
    scores = pca.transform(again())
    results |= {
        "transform": scores,
        "inverse_transform": pca.inverse_transform(scores),
        "score_samples": pca.score_samples(again()),
        "reconstruction_error": pca.reconstruction_error(again()),
        "get_covariance": pca.get_covariance(),
        "get_precision": pca.get_precision(),
    }
    kind = INPUTS[name]
    for what, array in results.items():
        answered_by_row = what in ("transform", "inverse_transform", "score_samples", "reconstruction_error")
        expected = "dask" if kind.lazy and answered_by_row else kind.xp
        assert type(array).__module__.split(".")[0] == expected, what
        assert array.dtype == kind.result_dtype(dtype), what
    assert isinstance(pca.noise_variance_, float)
    assert isinstance(pca.score(again()), float)


@pytest.mark.parametrize("name", [name for name, kind in INPUTS.items() if kind.again])
@pytest.mark.parametrize("shape", list(SHAPES))
def test_fit_transform_is_fit_then_transform(name, shape):
    kind = INPUTS[name]
    X = rows(shape)
    scores = PCA(K).fit_transform(kind.make(X))
    assert_close(scores, reference(shape, "plain").scores, "float64", reference(shape, "plain").condition)


@pytest.mark.parametrize("solver", FINDS_ALL)
@pytest.mark.parametrize("shape", list(SHAPES))
@pytest.mark.parametrize("name", ["csr_array", "csc_array", "untidy csr", "csr_matrix", "C order", "pandas", "memmap"])
def test_input_is_left_as_it_was(name, shape, solver):
    X = INPUTS[name].make(rows(shape))
    before = {a: getattr(X, a).copy() for a in ("data", "indices", "indptr") if hasattr(X, "indptr")}
    PCA(K, solver=solver).fit(X).transform(X)
    for a, value in before.items():
        np.testing.assert_array_equal(getattr(X, a), value)
    np.testing.assert_array_equal(X.toarray() if before else np.asarray(X), rows(shape))


@pytest.mark.parametrize("name", [name for name, kind in INPUTS.items() if kind.named])
def test_names_are_kept(name):
    pca = PCA(K).fit(INPUTS[name].make(rows("tall")))
    assert list(pca.feature_names_in_) == [f"col{j}" for j in range(7)]


# ---- Sparse rows that stay sparse


@cache
def truly_sparse():
    """400 x 40, two hundredths filled, below what is multiplied as dense; some columns stronger than others."""
    X = sparse.random_array((400, 40), density=0.02, rng=np.random.default_rng(5), format="csr")
    X = X @ sparse.diags_array(np.linspace(8.0, 1.0, 40) ** 2)
    return sparse.csr_array(np.round(64 * X.toarray()))


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weights"])
@pytest.mark.parametrize("scale", [False, True], ids=["", "scale"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_sparse_rows_give_what_dense_rows_give(solver, dtype, scale, weighted):
    X = truly_sparse().astype(dtype)
    assert X.nnz < 0.03 * X.shape[0] * X.shape[1]
    w = np.random.default_rng(0).integers(0, 3, 400).astype(float) if weighted else None
    dense = PCA(4, solver="triangle", scale=scale).fit(X.toarray().astype(float), sample_weight=w)
    ours = PCA(4, solver=solver, scale=scale).fit(X, sample_weight=w)
    values = PCA(5, scale=scale).fit(X.toarray().astype(float), sample_weight=w).explained_variance_
    condition = vector_condition(values, 4).max()
    vectors = condition
    assert_close(ours.mean_, dense.mean_, dtype)
    assert_close(ours.explained_variance_, dense.explained_variance_, dtype)
    assert_close(ours.noise_variance_, dense.noise_variance_, dtype, size=values[0])
    assert_close(ours.components_, dense.components_, dtype, vectors)
    assert_close(ours.transform(X), dense.transform(X.toarray().astype(float)), dtype, vectors)


# ---- Solvers by name

SMALL = np.round(8 * np.random.default_rng(0).standard_normal((20, 4)) @ np.diag([4.0, 3, 2, 1]))


@pytest.mark.parametrize("name", SOLVERS)
def test_solver_by_name_and_by_object(name):
    pca = PCA(2, solver=name).fit(SMALL)
    assert name in ("auto", pca.solver_)
    assert pca.plan_.solver.name == pca.solver_
    if name != "auto":
        np.testing.assert_array_equal(PCA(2, solver=TABLE[name]()).fit(SMALL).components_, pca.components_)


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("auto", "auto"),
        ("full", "triangle"),
        ("covariance_eigh", "covariance"),
        ("arpack", "krylov"),
        ("randomized", "krylov"),
    ],
)
def test_solvers_of_scikit_learn(theirs, ours):
    assert lowdim.sklearn.PCA(2, svd_solver=theirs).fit(SMALL).solver_ == PCA(2, solver=ours).fit(SMALL).solver_


# ---- Rank loss


@pytest.mark.parametrize("solver", SOLVERS)
def test_whitening_scores_of_lost_rank(solver):
    rows = np.column_stack([SMALL[:, :2], SMALL[:, 0] + SMALL[:, 1], np.full(20, 7.0)])
    with pytest.warns(RankWarning, match="1 of 3 components have no variance and were dropped, .* 2 are left"):
        pca = PCA(3, whiten=True, solver=solver).fit(rows)
    scores = pca.transform(rows)
    assert scores.shape == (20, 2)
    np.testing.assert_allclose(np.cov(scores.T), np.eye(2), atol=tolerance(condition=100))
    np.testing.assert_allclose(pca.inverse_transform(scores), rows, atol=1e-10)


def test_rank_loss_without_whitening_is_no_matter():
    rows = np.column_stack([SMALL[:, :2], SMALL[:, 0] + SMALL[:, 1]])
    pca = PCA(3).fit(rows)
    np.testing.assert_allclose(pca.explained_variance_[2], 0.0, atol=1e-10)
    np.testing.assert_allclose(pca.components_ @ pca.components_.T, np.eye(3), atol=1e-12)
    with pytest.warns(RankWarning, match="1 of 3 directions have no variance and were left out of the density"):
        density = pca.score_samples(rows)
    with pytest.warns(RankWarning, match="1 of 3 directions"):
        precision = pca.get_precision()
    # The density of a degenerate Gaussian on its support, by the pseudo-inverse and the pseudo-determinant.
    Z = rows - rows.mean(axis=0)
    inverse = np.linalg.pinv(np.cov(rows.T), hermitian=True)
    values = np.linalg.eigvalsh(np.cov(rows.T))[1:]
    expected = -0.5 * (2 * np.log(2 * np.pi) + np.log(values).sum() + np.einsum("ij,jk,ik->i", Z, inverse, Z))
    np.testing.assert_allclose(density, expected, rtol=tolerance(condition=1e3))
    np.testing.assert_allclose(precision, inverse, atol=tolerance(condition=1e3))


def test_rows_that_are_all_the_same_have_no_density():
    with pytest.raises(ValueError, match="there is no variance, and a density needs some"):
        PCA(1).fit(np.ones((4, 3))).score_samples(np.ones((4, 3)))
