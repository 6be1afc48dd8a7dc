"""Whitening: the covariance of what comes out is the identity, and each kind is the one its definition says."""

import numpy as np
import pytest
from scipy import linalg
from sklearn.covariance import ledoit_wolf_shrinkage

from examples import FINDS_ALL
from inputs import INPUTS, to_numpy
from lowdim import PCA, Whitening
from lowdim.errors import RankWarning
from lowdim.reading import summarize
from lowdim.solvers import Krylov
from lowdim.summaries import FourthMoments, Moments, Triangle
from oracles import signed, tolerance

KINDS = ["pca", "zca", "cholesky", "pca-cor", "zca-cor"]
SQUARE = ["zca", "cholesky", "zca-cor"]
rng = np.random.default_rng(4)
X = rng.standard_normal((50, 4)) @ (rng.standard_normal((4, 4)) + 2 * np.eye(4)) * [5.0, 1, 0.2, 2] + [100, 0, -3, 1e4]
WIDE = rng.standard_normal((6, 15)) + 10
S = np.cov(X.T)
V = np.diag(S)
P = S / np.sqrt(np.outer(V, V))
each_kind = pytest.mark.parametrize("kind", KINDS)


def power(A, exponent):
    """A symmetric matrix to a power, by its eigenvalues."""
    values, vectors = np.linalg.eigh(A)
    return (vectors * values**exponent) @ vectors.T


def condition(A=S):
    return np.linalg.cond(A)


def assert_close(a, b, cond=None):
    """Equal to rounding, given what the condition of the covariance makes of it."""
    a, b = np.asarray(a), np.asarray(b)
    allowed = tolerance(condition=condition() if cond is None else cond) * max(np.abs(b).max(), 1e-300)
    np.testing.assert_allclose(a, b, rtol=0, atol=allowed)


# ---- The identity


@pytest.mark.parametrize("solver", ["auto", *FINDS_ALL])
@each_kind
def test_covariance_of_the_output_is_the_identity(kind, solver):
    Z = Whitening(kind, solver=solver).fit_transform(X)
    assert_close(np.cov(Z.T), np.eye(4))
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=tolerance(condition=1e4 / np.sqrt(V.min())))


@each_kind
def test_with_divisor_n(kind):
    assert_close(np.cov(Whitening(kind, ddof=0).fit_transform(X).T, ddof=0), np.eye(4))


@each_kind
def test_with_weights(kind):
    w = rng.integers(0, 4, 50)
    Z = Whitening(kind).fit(X, sample_weight=w).transform(X)
    assert_close(np.cov(Z.T, fweights=w), np.eye(4))


@each_kind
def test_float32(kind):
    rows = (X - X.mean(axis=0)).astype("float32")
    model = Whitening(kind).fit(rows)
    Z = model.transform(rows)
    assert Z.dtype == model.components_.dtype == np.float32
    np.testing.assert_allclose(np.cov(Z.T), np.eye(4), atol=tolerance(np.float32, condition()))


@each_kind
def test_inverse_goes_back(kind):
    model = Whitening(kind).fit(X)
    assert_close(model.inverse_transform(model.transform(X)), X)
    assert_close(model.components_ @ model.inverse_, np.eye(4))


@pytest.mark.parametrize(
    "name", ["F order", "csr_array", "polars", "pandas", "list of blocks", "generator", "array_api_strict", "torch"]
)
@each_kind
def test_every_input(kind, name):
    rows = np.round(8 * X)
    source = INPUTS[name]
    model, expected = Whitening(kind).fit(source.make(rows)), Whitening(kind).fit(rows)
    assert_close(to_numpy(model.components_), expected.components_)
    assert_close(to_numpy(model.inverse_), expected.inverse_)
    Z = model.transform(source.make(rows))
    assert type(Z).__module__.split(".")[0] == source.xp
    assert_close(to_numpy(Z), expected.transform(rows))
    back = model.inverse_transform(Z)
    assert_close(to_numpy(back), rows)


# ---- The definitions


def test_pca_is_whitened_scores():
    model, pca = Whitening("pca").fit(X), PCA(whiten=True).fit(X)
    assert_close(model.transform(X), pca.transform(X))
    assert_close(model.components_, pca.components_ / np.sqrt(pca.explained_variance_)[:, None])
    assert_close(model.explained_variance_, pca.explained_variance_)


def test_zca_is_the_symmetric_root():
    M = Whitening("zca").fit(X).components_
    assert_close(M, M.T)
    assert_close(M, power(S, -0.5))
    assert np.all(np.linalg.eigvalsh(M) > 0)


def test_cholesky_is_upper_triangular():
    M = Whitening("cholesky").fit(X).components_
    np.testing.assert_allclose(np.tril(M, -1), 0, atol=tolerance(condition=10) * np.abs(M).max())
    assert np.all(np.diag(M) > 0)
    assert_close(M.T @ M, np.linalg.inv(S))
    assert_close(M, linalg.cholesky(np.linalg.inv(S)))


def test_pca_cor():
    values, vectors = np.linalg.eigh(P)
    G = signed(vectors.T[::-1])
    assert_close(Whitening("pca-cor").fit(X).components_, G / np.sqrt(values[::-1])[:, None] / np.sqrt(V))


def test_zca_cor():
    assert_close(Whitening("zca-cor").fit(X).components_, power(P, -0.5) / np.sqrt(V))


def rotations(n=200):
    """Whitening matrices of S: random rotations of one, some of them small."""
    draw = np.random.default_rng(0)
    for size in np.geomspace(1e-3, 10, n):
        A = size * draw.standard_normal((4, 4))
        yield linalg.expm(A - A.T)


def test_zca_cor_maximises_the_sum_of_correlations():
    def correlations(M):
        Z = (X - X.mean(axis=0)) @ M.T
        return sum(np.corrcoef(Z[:, j], X[:, j])[0, 1] for j in range(4))

    M = Whitening("zca-cor").fit(X).components_
    best = correlations(M)
    assert all(correlations(Q @ M) <= best + 1e-12 for Q in rotations())
    assert all(correlations(Whitening(kind).fit(X).components_) <= best + 1e-12 for kind in KINDS)


def test_zca_is_nearest_to_the_rows():
    def distance(M):
        Z = (X - X.mean(axis=0)) @ M.T
        return np.sum((Z - (X - X.mean(axis=0))) ** 2)

    M = Whitening("zca").fit(X).components_
    least = distance(M)
    assert all(distance(Q @ M) >= least - 1e-9 * least for Q in rotations())


@pytest.mark.parametrize("kind", ["pca", "pca-cor"])
def test_fewer_components_are_the_first_rows(kind):
    whole, two = Whitening(kind).fit(X), Whitening(kind, n_components=2).fit(X)
    assert_close(two.components_, whole.components_[:2])
    assert two.transform(X).shape == (50, 2)
    assert_close(np.cov(two.transform(X).T), np.eye(2))
    assert_close(two.transform(two.inverse_transform(two.transform(X))), two.transform(X))


@pytest.mark.parametrize("kind", ["pca", "pca-cor"])
@pytest.mark.parametrize("fraction", [0.5, 0.9, 0.999])
def test_fraction_of_variance(kind, fraction):
    share = np.cumsum(np.linalg.eigvalsh(S if kind == "pca" else P)[::-1])
    model = Whitening(kind, n_components=fraction).fit(X)
    assert model.n_components_ == 1 + np.sum(share / share[-1] < fraction)


def test_krylov_serves_a_few_components():
    model = Whitening("pca", n_components=2, solver=Krylov(tol=1e-9)).fit(X)
    assert_close(model.components_, Whitening("pca", n_components=2).fit(X).components_, cond=1e6)


# ---- Regularisation


def regularised(kind, r):
    return (P if kind.endswith("cor") else S) + r * np.eye(4)


@pytest.mark.parametrize("relative", [False, True], ids=["absolute", "relative"])
@each_kind
def test_a_number_is_added_to_the_eigenvalues(kind, relative):
    model = Whitening(kind, regularization=0.3, relative=relative).fit(X)
    matrix = P if kind.endswith("cor") else S
    A = matrix + 0.3 * (np.trace(matrix) / 4 if relative else 1.0) * np.eye(4)
    M = model.components_ * (np.sqrt(V) if kind.endswith("cor") else 1.0)
    assert_close(M @ A @ M.T, np.eye(4))
    assert_close(model.explained_variance_, np.linalg.eigvalsh(A)[::-1])
    assert_close(model.components_ @ model.inverse_, np.eye(4))
    assert model.shrinkage_ == 0.0


def shrunk(matrix, a):
    return (1 - a) * matrix + a * np.trace(matrix) / len(matrix) * np.eye(len(matrix))


def oas(matrix, n):
    """Chen et al. (2010), eq. 23, for a covariance with divisor n."""
    p = len(matrix)
    trace, square = np.trace(matrix), np.trace(matrix @ matrix)
    return min(1.0, ((1 - 2 / p) * square + trace**2) / ((n + 1 - 2 / p) * (square - trace**2 / p)))


@each_kind
def test_oas_shrinkage(kind):
    model = Whitening(kind, regularization="oas").fit(X)
    matrix = P if kind.endswith("cor") else S
    a = oas(matrix * 49 / 50, 50)
    assert 0 < a < 1
    assert_close(model.shrinkage_, a)
    M = model.components_ * (np.sqrt(V) if kind.endswith("cor") else 1.0)
    assert_close(M @ shrunk(matrix, a) @ M.T, np.eye(4))


@pytest.mark.parametrize("kind", ["pca", "zca", "cholesky"])
def test_ledoit_wolf_shrinkage(kind):
    model = Whitening(kind, regularization="ledoit-wolf").fit(X)
    a = ledoit_wolf_shrinkage(X)
    assert 0 < a < 1
    assert_close(model.shrinkage_, a)
    M = model.components_
    assert_close(M @ shrunk(S, a) @ M.T, np.eye(4))


@pytest.mark.parametrize("kind", ["pca-cor", "zca-cor"])
def test_ledoit_wolf_is_not_for_correlations(kind):
    """Its fourth moments are those of the rows as they are, not of standardized ones."""
    with pytest.raises(ValueError, match=r"goes with regularization='oas' or a number"):
        Whitening(kind, regularization="ledoit-wolf").fit(X)


@pytest.mark.parametrize("name", ["ledoit-wolf", "oas"])
@pytest.mark.parametrize("kind", ["pca", "zca", "cholesky"])
def test_shrinkage_with_fewer_rows_than_columns(kind, name):
    model = Whitening(kind, regularization=name).fit(WIDE)
    matrix = np.cov(WIDE.T)
    a = ledoit_wolf_shrinkage(WIDE) if name == "ledoit-wolf" else oas(matrix * 5 / 6, 6)
    assert_close(model.shrinkage_, a, cond=100)
    M = model.components_
    assert_close(M @ shrunk(matrix, a) @ M.T, np.eye(len(M)), cond=1000)
    assert_close(M @ model.inverse_, np.eye(len(M)), cond=1000)


def test_shrinkage_counts_weights_as_rows():
    w = rng.integers(1, 4, 50)
    a = Whitening(regularization="ledoit-wolf").fit(X, sample_weight=w)
    assert_close(a.shrinkage_, ledoit_wolf_shrinkage(np.repeat(X, w, axis=0)))


def test_shrinkage_of_a_few_components_is_that_of_all():
    """The spectrum that is not kept still counts."""
    for name in ("oas", "ledoit-wolf"):
        few = Whitening(n_components=1, regularization=name).fit(X)
        assert_close(few.shrinkage_, Whitening(regularization=name).fit(X).shrinkage_)
        assert_close(few.components_, Whitening(regularization=name).fit(X).components_[:1])


def test_shrinkage_of_a_few_components_by_krylov():
    """Without the rest of the spectrum there is no shrinkage to compute: right, or refused."""
    rows = rng.standard_normal((80, 30)) * np.linspace(3, 1, 30)
    try:
        few = Whitening(n_components=2, regularization="oas", solver="krylov").fit(rows)
    except ValueError as error:
        assert "oas" in str(error)
        return
    assert_close(few.shrinkage_, oas(np.cov(rows.T, ddof=0), 80), cond=100)


# ---- Rank loss


@pytest.mark.parametrize("regularization", [0.1, "oas"])
@each_kind
def test_regularised_nothing_is_lost(kind, regularization):
    rows = np.column_stack([X[:, :3], X[:, 0] - X[:, 1]])
    model = Whitening(kind, regularization=regularization).fit(rows)
    assert model.n_components_ == 4
    assert_close(model.inverse_transform(model.transform(rows)), rows, cond=1e6)


def lost(kind):
    """Rank 3 of 4."""
    return np.column_stack([X[:, :3], X[:, 0] - X[:, 1]])


@pytest.mark.parametrize("kind", ["pca", "pca-cor", "zca", "zca-cor"])
def test_lost_directions_are_dropped_and_said(kind):
    rows = lost(kind)
    with pytest.warns(
        RankWarning, match="1 of 4 directions have no variance and cannot be whitened; they were (dropped|left out)"
    ):
        model = Whitening(kind).fit(rows)
    Z = model.transform(rows)
    assert np.all(np.isfinite(Z))
    assert Z.shape == (50, 3 if kind.startswith("pca") else 4)
    values = np.linalg.eigvalsh(np.cov(Z.T))
    assert_close(values[-3:], np.ones(3), cond=1e4)
    np.testing.assert_allclose(values[:-3], 0, atol=1e-9)
    assert_close(model.inverse_transform(Z), rows, cond=1e4)


def test_cholesky_refuses_lost_rank():
    message = r"kind='cholesky' needs a covariance of full rank, but its rank is 3 of 4\. Pass .*regularization"
    with pytest.raises(ValueError, match=message):
        Whitening("cholesky").fit(lost("cholesky"))


@pytest.mark.parametrize("kind", ["pca", "zca", "pca-cor", "zca-cor"])
def test_fewer_rows_than_columns(kind):
    with pytest.warns(RankWarning, match=r"\d+ of \d+ directions have no variance"):
        model = Whitening(kind).fit(WIDE)
    Z = model.transform(WIDE)
    values = np.linalg.eigvalsh(np.cov(Z.T))
    assert_close(values[-5:], np.ones(5), cond=1000)
    np.testing.assert_allclose(values[:-5], 0, atol=1e-10)
    assert_close(model.inverse_transform(Z), WIDE, cond=1000)
    assert model.n_components_ == (5 if kind.startswith("pca") else 15)


@pytest.mark.parametrize("kind", ["pca-cor", "zca-cor"])
def test_constant_columns_add_nothing(kind):
    rows = np.column_stack([X, np.full(50, 0.1)])
    with pytest.warns(RankWarning, match="1 of 5 directions"):
        model = Whitening(kind).fit(rows)
    assert_close(model.transform(rows)[:, :4], Whitening(kind).fit_transform(X))
    np.testing.assert_allclose(model.components_[:, 4], 0, atol=1e-10)
    assert_close(model.inverse_transform(model.transform(rows)), rows)


# ---- Summaries


@pytest.mark.parametrize("summary", [Moments, Triangle, FourthMoments])
@each_kind
def test_from_summaries(kind, summary):
    model = Whitening(kind, regularization="oas").fit_summary(summarize(X, summary))
    expected = Whitening(kind, regularization="oas").fit(X)
    assert_close(model.components_, expected.components_)
    assert_close(model.shrinkage_, expected.shrinkage_)


def test_ledoit_wolf_from_fourth_moments_merged():
    whole = summarize(X[:20], FourthMoments)
    whole.merge(summarize(X[20:], FourthMoments))
    model = Whitening("zca", regularization="ledoit-wolf").fit_summary(whole)
    assert_close(model.shrinkage_, ledoit_wolf_shrinkage(X))


def test_ledoit_wolf_of_a_saved_summary(tmp_path):
    summarize(X, FourthMoments).save(tmp_path / "fourth")
    model = Whitening("zca", regularization="ledoit-wolf").fit_summary(FourthMoments.load(tmp_path / "fourth"))
    assert_close(model.shrinkage_, ledoit_wolf_shrinkage(X))
