"""Dask collections: each partition is read by a task, where it lies, and only summaries travel."""

from __future__ import annotations

import threading
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import examples
from examples import MODELS, make, tables
from lowdim import (
    CCA,
    ICA,
    PCA,
    PPCA,
    FactorAnalysis,
    FeatureMapPCA,
    KernelPCA,
    PLSRegression,
    Whitening,
)
from lowdim.inspect import correlations, diagnose
from lowdim.reading import summarize
from lowdim.sources import open_source
from lowdim.summaries import Moments

dask = pytest.importorskip("dask", reason="Dask is not installed")
da = pytest.importorskip("dask.array", reason="Dask is not installed")
dd = pytest.importorskip("dask.dataframe", reason="Dask is not installed")
cloudpickle = pytest.importorskip("cloudpickle", reason="Dask is not installed")
pd = pytest.importorskip("pandas", reason="pandas is not installed")

get_sync = dask.local.get_sync
rng = np.random.default_rng(3)
X = rng.laplace(size=(400, 5)) @ rng.normal(size=(5, 5)) + 3.0
Y = X[:, :2] @ rng.normal(size=(2, 2)) + rng.normal(size=(400, 2))
INCOMPLETE = np.where(rng.random(X.shape) < 0.1, np.nan, X)


def counted(X, rows):
    """A Dask array, and a list that grows with each partition that is read."""
    read = []

    def block(i):
        read.append(i)
        return X[i : i + rows]

    starts = range(0, len(X), rows)
    shapes = [(min(rows, len(X) - i), X.shape[1]) for i in starts]
    parts = [da.from_delayed(dask.delayed(block)(i), s, X.dtype) for i, s in zip(starts, shapes, strict=True)]
    return da.concatenate(parts), read


def test_a_pass_reads_each_partition_once():
    D, read = counted(X, 130)
    with dask.config.set(scheduler="synchronous"):
        model = PCA(2).fit(D)
    assert sorted(read) == [0, 130, 260, 390]
    np.testing.assert_allclose(model.components_, PCA(2).fit(X).components_, atol=1e-12)


def test_transform_reads_nothing_before_it_is_computed():
    D, read = counted(X, 130)
    model = PCA(2).fit(X)
    scores = model.transform(D)
    back = model.inverse_transform(scores)
    assert read == []
    assert isinstance(scores, da.Array)
    assert scores.chunks == ((130, 130, 130, 10), (2,))
    np.testing.assert_allclose(np.asarray(scores), model.transform(X), atol=1e-12)
    np.testing.assert_allclose(np.asarray(back), model.inverse_transform(model.transform(X)), atol=1e-12)


@pytest.mark.parametrize("n_parts", [1, 2, 9, 70])
def test_the_tree_merges_in_order_and_loses_nothing(n_parts):
    moments = summarize(da.from_array(X, chunks=(-(-len(X) // n_parts), 5)), Moments)
    assert moments.n_rows == len(X)
    np.testing.assert_allclose(moments.mean, X.mean(axis=0), rtol=1e-14)
    np.testing.assert_allclose(moments.covariance(), np.cov(X.T), rtol=1e-13)


def by_post(graph, keys, **options):
    """A scheduler that sends all it is given, and all it answers, through a pickle, as one with other machines does."""
    sent = cloudpickle.loads(cloudpickle.dumps(graph))
    return cloudpickle.loads(cloudpickle.dumps(get_sync(sent, keys, **options)))


def test_tasks_can_be_sent_to_other_machines():
    """With all that they are handed: summaries, maps, weights and kinds of sources."""
    D, E = da.from_array(X, chunks=(150, 2)), da.from_array(Y, chunks=(90, 2))
    weights = rng.integers(0, 3, len(X)).astype(float)
    with dask.config.set(scheduler=by_post):
        ica = ICA(random_state=0).fit(D)
        pls = PLSRegression(2).fit(D, E)
        predicted = np.asarray(pls.predict(D))
        found = PPCA(2).fit(da.from_array(INCOMPLETE, chunks=(150, 5)), sample_weight=weights)
        kernel = KernelPCA(2, solver="nystrom", random_state=0).fit(D)
        scores = np.asarray(kernel.transform(D))
    np.testing.assert_allclose(ica.components_, ICA(random_state=0).fit(X).components_, atol=1e-6)
    np.testing.assert_allclose(predicted, PLSRegression(2).fit(X, Y).predict(X), atol=1e-10)
    np.testing.assert_allclose(found.loadings_, PPCA(2).fit(INCOMPLETE, sample_weight=weights).loadings_, atol=1e-8)
    here = KernelPCA(2, solver="nystrom", random_state=0).fit(X)
    np.testing.assert_allclose(scores, here.transform(X), atol=1e-8)


@pytest.mark.parametrize("partner", ["array", "other chunks", "series", "frame", "list", "stream"])
def test_the_other_table_may_be_stored_otherwise(partner):
    """Rows are cut where the partitions of one table end, whatever those of the other do."""
    y = Y[:, 0]
    made = {
        "array": y,
        "other chunks": da.from_array(y, chunks=37),
        "series": dd.from_pandas(pd.Series(y, name="answer"), npartitions=3),
        "frame": dd.from_pandas(pd.DataFrame({"answer": y}), npartitions=7),
        "list": y.tolist(),
        "stream": lambda: iter([y[:11, None], y[11:, None]]),
    }[partner]
    expected = PLSRegression(2).fit(X, y).coef_
    D = da.from_array(X, chunks=(150, 2))
    np.testing.assert_allclose(PLSRegression(2).fit(D, made).coef_, expected, atol=1e-12)
    if partner != "stream":
        np.testing.assert_allclose(PLSRegression(2).fit(X, made).coef_, expected, atol=1e-12)


def test_weights_may_be_in_dask_too():
    weights = rng.integers(0, 3, len(X)).astype(float)
    found = PCA(2).fit(da.from_array(X, chunks=100), sample_weight=da.from_array(weights, chunks=70))
    np.testing.assert_allclose(found.components_, PCA(2).fit(X, sample_weight=weights).components_, atol=1e-12)


def test_columns_of_a_frame_keep_their_names():
    frame = pd.DataFrame(X, columns=list("abcde"))
    lazy = dd.from_pandas(frame, npartitions=4)
    few = lazy[lazy["a"] > 0]
    model = PCA(2).fit(few)
    assert list(model.feature_names_in_) == list("abcde")
    np.testing.assert_allclose(model.components_, PCA(2).fit(frame[frame["a"] > 0]).components_, atol=1e-12)
    with pytest.raises(ValueError, match="names"):
        model.transform(lazy.rename(columns={"a": "z"}))


def test_fewer_rows_than_columns_are_read_by_columns():
    wide = rng.normal(size=(20, 90))
    model = PCA(3).fit(da.from_array(wide, chunks=(7, 40)))
    assert model.plan_.solver.name == "gram"
    np.testing.assert_allclose(model.components_, PCA(3).fit(wide).components_, atol=1e-10)
    weights = np.arange(20.0) % 3
    weighted = PCA(3).fit(da.from_array(wide, chunks=(7, 40)), sample_weight=weights)
    np.testing.assert_allclose(weighted.components_, PCA(3).fit(wide, sample_weight=weights).components_, atol=1e-10)


#: Those of KernelPCA are tried with their own kernels, in the tests of that model.
SOLVERS = [(name, solver) for name, row in MODELS.items() for solver in row.solvers if name != "KernelPCA"]


@pytest.mark.parametrize("shape", ["tall", "wide"])
@pytest.mark.parametrize(("name", "solver"), SOLVERS)
@pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")
def test_every_solver_of_every_model_reads_partitions(name, solver, shape):
    """Those that read columns too: what they compute of each column is in memory before they go on."""
    x, y = (examples.X, examples.Y) if shape == "tall" else (examples.WIDE, examples.WIDE_Y)
    options = {"solver": solver} | (MODELS[name].wide_options if shape == "wide" else {})
    lazy = [da.from_array(table, chunks=(17, 20)) for table in tables(name, x, y)]
    expected = MODELS[name].compared(make(name, **options).fit(*tables(name, x, y)))
    for what, found in MODELS[name].compared(make(name, **options).fit(*lazy)).items():
        atol = (1e-4 if name == "ICA" else 1e-7) * np.abs(expected[what]).max()
        np.testing.assert_allclose(found, expected[what], rtol=0, atol=atol, err_msg=what)


@pytest.mark.parametrize("kind", ["pca", "zca", "cholesky", "pca-cor", "zca-cor"])
def test_every_kind_of_whitening_reads_fewer_rows_than_columns(kind):
    model = Whitening(kind, regularization=0.1)
    D = da.from_array(examples.WIDE, chunks=(17, 20))
    expected = clone(model).fit(examples.WIDE).transform(examples.WIDE)
    np.testing.assert_allclose(np.asarray(model.fit(D).transform(D)), expected, atol=1e-8 * np.abs(expected).max())


def test_all_components_of_fewer_rows_than_columns():
    model = PCA().fit(da.from_array(examples.WIDE, chunks=(17, 20)))
    expected = PCA().fit(examples.WIDE)
    assert isinstance(model.components_, np.ndarray)
    np.testing.assert_allclose(model.explained_variance_, expected.explained_variance_, atol=1e-10)
    # The last direction has no variance, so that any unit vector orthogonal to the others will do.
    np.testing.assert_allclose(model.components_[:-1], expected.components_[:-1], atol=1e-8)


def test_diagnostics_of_rows_in_partitions():
    D, model = da.from_array(X, chunks=(150, 2)), PCA(2).fit(X)
    np.testing.assert_allclose(correlations(model, D), correlations(model, X), atol=1e-12)
    assert str(diagnose(model, D)) == str(diagnose(model, X))


@pytest.mark.parametrize("model", [KernelPCA(2), FeatureMapPCA(3), FactorAnalysis(2), CCA(2)], ids=str)
@pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")
def test_models_that_map_rows_or_need_them_all(model):
    D = da.from_array(X, chunks=(150, 2))
    y = (Y,) if isinstance(model, CCA) else ()
    expected = model.fit(X, *y).transform(X)
    np.testing.assert_allclose(np.asarray(model.fit(D, *y).transform(D)), expected, atol=1e-8)


def test_chunks_may_be_sparse_and_their_number_unknown():
    S = sparse.random_array((300, 6), density=0.3, rng=0, format="csr")
    D = da.from_array(S.toarray(), chunks=(100, 6)).map_blocks(sparse.csr_array)
    np.testing.assert_allclose(PCA(2).fit(D).components_, PCA(2).fit(S).components_, atol=1e-12)
    U = da.from_array(X, chunks=(150, 5))
    U = U[U[:, 0] > 3]
    assert np.isnan(U.shape[0])
    np.testing.assert_allclose(PCA(2).fit(U).mean_, X[X[:, 0] > 3].mean(axis=0), rtol=1e-12)
    wide = da.from_array(rng.normal(size=(20, 60)), chunks=(7, 60))
    wide = wide[wide[:, 0] > 0]
    np.testing.assert_allclose(PCA(2).fit(wide).components_, PCA(2).fit(wide.compute()).components_, atol=1e-10)


def test_refusals_say_what_to_do():
    with pytest.raises(ValueError, match="Expected 2D array, got 1D"):
        open_source(da.ones(5))
    with pytest.raises(ValueError, match="Expected 2D array, got 1D"):
        open_source(dd.from_pandas(pd.Series([1.0, 2.0]), npartitions=1))
    with pytest.raises(ValueError, match="0 sample"):
        open_source(da.ones((0, 3)))
    with pytest.raises(ValueError, match="0 feature"):
        open_source(da.ones((3, 0)))
    with pytest.raises(ValueError, match="complex"):
        open_source(da.ones((3, 2), dtype=complex))
    with pytest.raises(ValueError, match="'word'"):
        open_source(dd.from_pandas(pd.DataFrame({"a": [1.0, 2.0], "word": ["x", "y"]}), npartitions=1))
    for delayed in (dask.delayed(X), [dask.delayed(X)]):
        with pytest.raises(TypeError, match="cannot read rows from Delayed"):
            open_source(delayed)
    with pytest.raises(ValueError, match="one entry per row"):
        PCA(2).fit(da.from_array(X, chunks=100), sample_weight=np.ones(3))
    with pytest.raises(ValueError, match=r"400.*300|300.*400"):
        PLSRegression(1).fit(da.from_array(X, chunks=100), da.from_array(Y[:300], chunks=100))


def test_a_bad_entry_is_named_wherever_it_lies():
    bad = X.copy()
    bad[321, 3] = np.inf
    D = da.from_array(bad, chunks=(100, 2))
    with pytest.raises(ValueError, match="column 3, first in row 321"):
        PCA(2).fit(D)
    scores = PCA(2).fit(X).transform(D)
    with pytest.raises(ValueError, match="column 3, first in row 321"):
        scores.compute()
    np.testing.assert_allclose(scores[:300].compute(), PCA(2).fit(X).transform(X[:300]), atol=1e-12)


def test_the_first_of_several_bad_partitions_is_named():
    """Whichever task fails first: the task of the first bad partition waits until a later one has failed."""
    failed = threading.Event()

    def block(i):
        if i == 1:
            failed.wait(60)
        elif i == 3:
            failed.set()
        return np.full((100, 5), np.nan) if i in (1, 3) else X[:100]

    blocks = [da.from_delayed(dask.delayed(block)(i), (100, 5), X.dtype) for i in range(6)]
    with dask.config.set(scheduler="threads", num_workers=4), pytest.raises(ValueError, match="first in row 100"):
        PCA(2).fit(da.concatenate(blocks))


@pytest.mark.parametrize("block", [X[:, :3], X[:300], np.vstack([X, X])], ids=["columns", "fewer rows", "more rows"])
def test_partitions_of_another_shape_than_declared_are_refused(block):
    declared = da.from_delayed(dask.delayed(lambda: block)(), X.shape, dtype=float)
    message = rf"has {block.shape[0]} rows and {block.shape[1]} columns, and 400 rows and 5 columns were declared"
    with pytest.raises(ValueError, match=message):
        summarize(declared, Moments)
    with pytest.raises(ValueError, match=message):
        PCA(2).fit(X).transform(declared).compute(scheduler="sync")


@pytest.mark.parametrize("lengths", [(1,) * 30, (1, 0, 2) * 10, (200, 1, 1, 1, 150, 3, 0, 40)])
def test_small_partitions_are_read_together(lengths):
    n = sum(lengths)
    D = da.from_array(X[:n], chunks=(lengths, 5))
    source = open_source(D)
    for least in (1, 7, 100, 10**6):
        parts = source.parts(1, least)
        sizes = [part.shape[0] for part in parts]
        assert sum(sizes) == n
        assert all(a >= least or b >= least for a, b in pairwise(sizes))
        np.testing.assert_array_equal(np.vstack([b for part in parts for b in part.blocks(1000)]), X[:n])
    assert len(source.parts(1)) == sum(length > 0 for length in lengths)
    w = np.arange(n) % 3 + 1.0
    found, expected = (summarize(rows, Moments, weights=w) for rows in (D, X[:n]))
    np.testing.assert_allclose(found.scatter, expected.scatter, rtol=0, atol=1e-12 * expected.scatter.max())
    # Results have the partitions of the rows.
    assert PCA(2).fit(X).transform(D).chunks[0] == tuple(length for length in lengths if length)
    bad = X[:n].copy()
    bad[n - 2, 3] = np.nan
    with pytest.raises(ValueError, match=f"column 3, first in row {n - 2}"):
        PCA(2).fit(da.from_array(bad, chunks=(lengths, 5)))


def test_two_tables_of_small_partitions():
    D, E = (da.from_array(T, chunks=(20, T.shape[1])) for T in (X, Y))
    expected = PLSRegression(2).fit(X, Y).coef_
    np.testing.assert_allclose(PLSRegression(2).fit(D, E).coef_, expected, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(PLSRegression(2).fit(D, Y).coef_, expected, rtol=1e-8, atol=1e-12)
