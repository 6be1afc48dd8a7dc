"""Every kind of Dask collection goes into every model and every function that takes rows."""

from __future__ import annotations

import numpy as np
import pytest

from examples import MODELS, X, Y, close, make, tables
from lowdim import (
    PCA,
    PPCA,
    FactorAnalysis,
    PLSRegression,
    choose_n_components,
    cross_validate,
)
from partitions import ENGINES, separate_parts

dask = pytest.importorskip("dask", reason="Dask is not installed")
da = pytest.importorskip("dask.array", reason="Dask is not installed")
dd = pytest.importorskip("dask.dataframe", reason="Dask is not installed")
pd = pytest.importorskip("pandas", reason="pandas is not installed")

INCOMPLETE = np.where(np.random.default_rng(9).random(X.shape) < 0.1, np.nan, X)


def unknown(table):
    """The lengths of the chunks are not known before they are computed."""
    rows = da.from_array(np.vstack([table, table[:7]]), chunks=(17, -1))
    return rows[da.from_array(np.arange(len(table) + 7) < len(table), chunks=17)]


def with_empty(table):
    return da.from_array(table, chunks=((0, 40, 0, 0, len(table) - 43, 3, 0), -1))


def column_chunks(table):
    return da.from_array(table, chunks=(31, 1))


def persisted(table):
    return da.from_array(table, chunks=(31, -1)).persist()


def delayed(table):
    starts = range(0, len(table), 30)
    parts = [dask.delayed(lambda i: table[i : i + 30])(i) for i in starts]
    shapes = [(min(30, len(table) - i), table.shape[1]) for i in starts]
    return da.concatenate([da.from_delayed(part, shape, float) for part, shape in zip(parts, shapes, strict=True)])


def frame(table):
    return dd.from_pandas(pd.DataFrame(table, columns=[f"c{i}" for i in range(table.shape[1])]), npartitions=4)


def frame_with_empty(table):
    """A data frame some of whose partitions lose all their rows."""
    rows = pd.DataFrame(table, columns=[f"c{i}" for i in range(table.shape[1])])
    padded = pd.concat([rows, rows]).reset_index(drop=True).assign(number=np.arange(2 * len(rows)))
    lazy = dd.from_pandas(padded, npartitions=6)
    return lazy[lazy["number"] < len(rows)].drop(columns="number")


@pytest.fixture(autouse=True)
def small_partitions():
    with separate_parts(ENGINES["Dask"]):
        yield


COLLECTIONS = [unknown, with_empty, column_chunks, persisted, delayed, frame, frame_with_empty]
of_each_kind = pytest.mark.parametrize("collection", COLLECTIONS, ids=lambda kind: kind.__name__)


def same(found, expected, tol=1e-9):
    """Two results, or tuples of results, one of which may be lazy."""
    if isinstance(expected, tuple):
        for each in zip(found, expected, strict=True):
            same(*each, tol)
        return
    close(np.asarray(found.compute() if hasattr(found, "compute") else found), np.asarray(expected), tol)


@of_each_kind
@pytest.mark.parametrize("name", list(MODELS))
@pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")
def test_models(name, collection):
    expected = make(name).fit(*tables(name))
    lazy = tables(name, collection(X), collection(Y))
    found = make(name).fit(*lazy)
    tol = 1e-6 if name == "ICA" else 1e-8
    for what, value in MODELS[name].compared(expected).items():
        same(MODELS[name].compared(found)[what], value, tol)
    for method in ("transform", "score_samples", "reconstruction_error", "predict"):
        if hasattr(expected, method):
            rows = (list(lazy), [X, Y]) if name == "GCCA" else (lazy[0], X)
            same(getattr(expected, method)(rows[0]), getattr(expected, method)(rows[1]))
    if hasattr(expected, "score") and name != "GCCA":
        same(expected.score(*lazy), expected.score(*tables(name)))


@of_each_kind
def test_rows_with_missing_entries(collection):
    expected = PPCA(2).fit(INCOMPLETE)
    same(PPCA(2).fit(collection(INCOMPLETE)).loadings_, expected.loadings_, 1e-6)
    same(expected.impute(collection(INCOMPLETE)), expected.impute(INCOMPLETE))


@of_each_kind
def test_validation_and_choice(collection):
    D, E = collection(X), collection(Y)
    for model in (PCA(), FactorAnalysis(1)):
        same(cross_validate(model, D, cv=5).per_split, cross_validate(model, X, cv=5).per_split, 1e-7)
    same(cross_validate(PLSRegression(), D, E).per_split, cross_validate(PLSRegression(), X, Y).per_split, 1e-7)
    choices, expected = choose_n_components(D), choose_n_components(X)
    assert choices["parallel"].k == expected["parallel"].k
