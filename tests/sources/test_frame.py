"""Columns of data frames: objects that are numbers, and sparse columns of pandas."""

import decimal
import fractions

import numpy as np
import pytest
from scipy import sparse

from lowdim import PCA, PPCA, PLSRegression
from lowdim.reading import summarize
from lowdim.sources import open_source
from lowdim.summaries import Columns, Moments

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

rng = np.random.default_rng(0)
X = np.round(8 * rng.standard_normal((40, 3))) / 8
NAMES = ["a", "b", "c"]


def rows_of(source, rows=7):
    blocks = list(source.blocks(rows))
    return np.concatenate([block.toarray() if sparse.issparse(block) else block for block in blocks])


def as_objects(X):
    """A table in which one column holds objects."""
    return pd.DataFrame(X, columns=NAMES).astype({"b": object})


# ---- Objects that are numbers


@pytest.mark.parametrize(
    "frame",
    [
        lambda: pd.DataFrame(X.astype(object), columns=NAMES),
        lambda: as_objects(X),
        lambda: as_objects(X).set_index(np.arange(100, 140)),
        lambda: pd.DataFrame({n: [decimal.Decimal(v) for v in x] for n, x in zip(NAMES, X.T, strict=True)}),
        lambda: pd.DataFrame({n: [fractions.Fraction(v) for v in x] for n, x in zip(NAMES, X.T, strict=True)}),
        lambda: pl.DataFrame({n: pl.Series(list(x), dtype=pl.Object) for n, x in zip(NAMES, X.T, strict=True)}),
    ],
    ids=["all columns", "one column", "another index", "decimals", "fractions", "polars"],
)
def test_objects_that_are_numbers_are_read(frame):
    source = open_source(frame())
    assert (source.kind, source.names) == ("table", NAMES)
    np.testing.assert_array_equal(rows_of(source), X)
    np.testing.assert_array_equal(np.concatenate([rows_of(part) for part in source.parts(3)]), X)
    np.testing.assert_array_equal(rows_of(source.features()), X.T)


def test_a_frame_gives_what_the_array_gives():
    objects = as_objects(X)
    expected, pca = PCA(2).fit(X.astype(object)), PCA(2).fit(objects)
    np.testing.assert_array_equal(pca.components_, expected.components_)
    np.testing.assert_array_equal(pca.transform(objects), expected.transform(X.astype(object)))
    np.testing.assert_array_equal(
        PLSRegression(1).fit(X, objects[["b"]]).coef_, PLSRegression(1).fit(X, X[:, [1]]).coef_
    )


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT], ids=repr)
def test_missing_objects_are_nan(missing):
    frame = as_objects(X)
    frame.loc[3, "b"] = missing
    incomplete = X.copy()
    incomplete[3, 1] = np.nan
    np.testing.assert_array_equal(rows_of(open_source(frame)), incomplete)
    np.testing.assert_allclose(PPCA(1).fit(frame).mean_, PPCA(1).fit(incomplete).mean_, rtol=1e-12)
    with pytest.raises(ValueError, match=r"contains NaN: column 'b' \(number 1\), first in row 3"):
        PCA().fit(frame)


@pytest.mark.parametrize(("bad", "error"), [("seven", ValueError), ({"a": 1}, TypeError)])
def test_other_objects_are_named_by_column(bad, error):
    frame = as_objects(X)
    frame.at[3, "b"] = bad
    with pytest.raises(error, match=r"column 'b' \(number 1\) has dtype object, which is not numeric"):
        PCA().fit(frame)


def test_whole_numbers_beyond_the_range_are_named_by_column():
    frame = as_objects(X)
    frame.at[3, "b"] = 10**400
    rows = frame.to_numpy(dtype=object)
    for table, column in ((frame, r"column 'b' \(number 1\)"), (rows, "column 1"), (rows.tolist(), "column 1")):
        with pytest.raises(
            ValueError, match=f"{column} has dtype object and holds a whole number too large for float64"
        ):
            PCA().fit(table)


def test_complex_objects_are_refused():
    frame = as_objects(X)
    frame.at[3, "b"] = 1j
    with pytest.raises(ValueError, match="Complex data not supported"):
        PCA().fit(frame)


def test_a_frame_is_left_alone():
    frame = as_objects(X)
    before = frame.copy(deep=True)
    PCA(2).fit(frame)
    pd.testing.assert_frame_equal(frame, before)


# ---- Sparse columns

S = np.where(rng.random(X.shape) < 0.3, X, 0.0)


def sparse_frame(X, fill=0.0, dtype=float):
    return pd.DataFrame(
        {n: pd.arrays.SparseArray(x.astype(dtype), fill_value=dtype(fill)) for n, x in zip(NAMES, X.T, strict=True)}
    )


def test_a_table_of_sparse_columns_is_a_sparse_matrix():
    source = open_source(sparse_frame(S))
    assert source.traits.sparse
    assert all(sparse.issparse(block) for block in source.blocks(7))
    assert source.names == NAMES
    np.testing.assert_array_equal(rows_of(source), S)
    assert source.traits.stored == np.count_nonzero(S) / S.size


@pytest.mark.parametrize("dtype", [float, np.float32, int, bool])
def test_sparse_columns_of_every_dtype(dtype):
    rows = S.astype(dtype)
    source = open_source(sparse_frame(rows, dtype(0), dtype))
    assert source.dtype == (np.float32 if dtype is np.float32 else np.float64)
    np.testing.assert_array_equal(rows_of(source), rows)


@pytest.mark.parametrize(
    "frame",
    [
        lambda: sparse_frame(S, np.nan),
        lambda: sparse_frame(S, 1.0),
        lambda: sparse_frame(S).assign(b=S[:, 1]),
        lambda: sparse_frame(S).assign(b=sparse_frame(S, np.nan)["b"]),
        lambda: sparse_frame(S).assign(b=S[:, 1].astype(object)),
    ],
    ids=["NaN left out", "ones left out", "one dense column", "different fill values", "one column of objects"],
)
def test_other_sparse_columns_are_read_too(frame):
    source = open_source(frame())
    assert source.kind == "table"
    assert not source.traits.sparse
    np.testing.assert_array_equal(rows_of(source), S)


def test_float32_stays_float32():
    frame = sparse_frame(S.astype(np.float32), np.nan, np.float32)
    assert open_source(frame).dtype == np.float32
    assert PCA(1).fit(frame).components_.dtype == np.float32


def test_sparse_columns_give_what_the_matrix_gives():
    frame, matrix = sparse_frame(S), sparse.csr_array(S)
    ours, expected = PCA(2).fit(frame), PCA(2).fit(matrix)
    np.testing.assert_array_equal(ours.components_, expected.components_)
    assert list(ours.feature_names_in_) == NAMES
    np.testing.assert_array_equal(ours.transform(frame), expected.transform(matrix))
    np.testing.assert_array_equal(summarize(frame, Columns).squares, summarize(matrix, Columns).squares)


def test_sparse_columns_that_are_no_numbers_are_named():
    frame = pd.DataFrame({"a": X[:2, 0], "b": pd.arrays.SparseArray(["x", "y"], dtype=pd.SparseDtype(object, "x"))})
    with pytest.raises(ValueError, match=r"column 'b' \(number 1\) has dtype Sparse\[object"):
        PCA().fit(frame)


def test_blocks_of_a_stream_may_have_sparse_columns():
    frame = sparse_frame(S)
    moments = summarize([frame.iloc[:11], frame.iloc[11:]], Moments)
    np.testing.assert_allclose(moments.mean, S.mean(axis=0), rtol=1e-14)


# ---- Categories


@pytest.mark.parametrize("library", ["pandas", "pyarrow"])
@pytest.mark.parametrize("values", [[3, 1, 2], [0.5, -1.0, 2.0], [True, False, True], [7, None, 2]])
@pytest.mark.parametrize("ordered", [False, True])
def test_categories_that_are_numbers_are_these_numbers(values, library, ordered):
    """As dictionary-encoded numbers in files."""
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "category": pd.Categorical(values, ordered=ordered)})
    rows = frame if library == "pandas" else pytest.importorskip("pyarrow").Table.from_pandas(frame)
    expected = [np.nan if value is None else float(value) for value in values]
    np.testing.assert_array_equal(rows_of(open_source(rows))[:, 1], expected)
    np.testing.assert_array_equal(rows_of(open_source(rows).between(1, 3))[:, 1], expected[1:])


@pytest.mark.parametrize("values", [["x", "y", "z"], ["1", "2", "3"], list(pd.date_range("2024", periods=3))])
def test_other_categories_are_not_numbers(values):
    with pytest.raises(ValueError, match=r"column 'category' \(number 0\) .*not numeric"):
        open_source(pd.DataFrame({"category": pd.Categorical(values)}))
    with pytest.raises(ValueError, match=r"column 'a' \(number 0\) has dtype Categorical.*, which is not numeric"):
        open_source(pl.DataFrame({"a": ["1", "2"]}, schema={"a": pl.Categorical}))


def test_columns_of_one_name_are_named():
    frame = pd.DataFrame(X, columns=["a", "b", "a"])
    with pytest.raises(ValueError, match=r"the table has several columns with the name 'a'.*rename them"):
        PCA(1).fit(frame)
    with pytest.raises(ValueError, match="block 0 of the stream: the table has several columns"):
        PCA(1).fit([frame])
    table = pytest.importorskip("pyarrow").table(list(X.T), names=["a", "a", "a"])
    with pytest.raises(ValueError, match="the table has several columns with the name 'a'"):
        open_source(table)
