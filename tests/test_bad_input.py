"""Bad values and bad shapes get an error that says what, got, allowed, do this."""

import re

import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import threadpool_limits

from examples import FINDS_ALL, SPECTRAL
from inputs import FLOAT_INPUTS, INPUTS, table, to_numpy
from lowdim import PCA, Whitening
from lowdim.solvers import SOLVERS

X = np.round(8 * np.random.default_rng(0).standard_normal((12, 4)))
MODELS = {
    "PCA": PCA,
    **{f"PCA {s}": (lambda s=s: PCA(None if s in FINDS_ALL else 2, solver=s)) for s in SPECTRAL},
    "Whitening": Whitening,
    "Whitening ledoit-wolf": lambda: Whitening("zca", regularization="ledoit-wolf"),
}
each_model = pytest.mark.parametrize("model", list(MODELS))


def runs_on(model, kind):
    solver = SOLVERS.get(model.removeprefix("PCA "))
    return solver is None or not (
        (solver.reads_columns and not kind.by_column) or (not solver.one_pass and not kind.again)
    )


# ---- NaN and infinity: the column and the first row are named

BAD = {"NaN": np.nan, "infinity": np.inf, "-infinity": -np.inf}
# "untidy csr" holds sums of two entries, and the difference of two infinities is NaN.
BAD_INPUTS = [name for name in FLOAT_INPUTS if name != "untidy csr"]


def with_bad(value):
    """Bad in column 2 from row 9 on."""
    bad = X.copy()
    bad[9:, 2] = value
    return bad


def first_in(kind, row):
    """A pattern for the row; files name their own rows too, and CSV files lines."""
    if not kind.stored:
        return rf"first in row {row}\."
    alone, among = rf"row {row} of [^ ]+( \(line \d+\))?", rf"row \d+ of [^ ]+ \(row {row} of all\)"
    return rf"first in ({alone}|{among})\."


def named(kind, column):
    return f"column 'col{column}' (number {column})" if kind.named else f"column {column}"


@pytest.mark.parametrize("value", list(BAD))
@each_model
@pytest.mark.parametrize("name", BAD_INPUTS)
def test_nan_and_infinity_are_named(name, model, value):
    kind = INPUTS[name]
    if not runs_on(model, kind):
        return
    start = re.escape(f"Input X contains {value.strip('-')}: {named(kind, 2)}, ")
    end = "Complete rows of finite numbers are needed: drop" if value == "NaN" else "Finite numbers are needed: drop"
    with pytest.raises(ValueError, match=f"{start}{first_in(kind, 9)} {end}"):
        MODELS[model]().fit(kind.make(with_bad(BAD[value])))


@pytest.mark.parametrize("method", ["transform", "score_samples", "reconstruction_error"])
@pytest.mark.parametrize("name", BAD_INPUTS)
def test_nan_at_transform_is_named(name, method):
    kind = INPUTS[name]
    pca = PCA(2).fit(kind.make(X))
    message = re.escape(f"Input X contains NaN: {named(kind, 2)}, ") + first_in(kind, 9)
    with pytest.raises(ValueError, match=message):
        to_numpy(getattr(pca, method)(kind.make(with_bad(np.nan))))


@pytest.mark.parametrize("solver", [*SPECTRAL, "auto"])
@pytest.mark.parametrize(
    "name", ["C order", "csr_array", "pandas", "polars", "array_api_strict", "Parquet", "NPY", "NPY directory", "HDF5"]
)
def test_rows_are_named_where_columns_are_read(name, solver):
    """With n < p the rows of what is read are the columns of the table."""
    rows = np.random.default_rng(1).standard_normal((5, 30))
    rows[3, 17] = np.nan
    kind = INPUTS[name]
    message = re.escape(f"contains NaN: {named(kind, 17)}, ") + first_in(kind, 3)
    with pytest.raises(ValueError, match=message):
        PCA(2, solver=solver).fit(kind.make(rows))


@pytest.mark.parametrize("row", [0, 2999, 3000, 5999])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_rows_are_counted_over_the_parts_of_threads(kind, row):
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((6000, 200))
    rows[row, 150] = np.nan
    rows[5999, 1] = np.nan if row != 5999 else 0.0
    given_rows = rows if kind == "dense" else sparse.csr_array(rows)
    with threadpool_limits(2, user_api="blas"), pytest.raises(ValueError, match=f"column 150, first in row {row}[.]"):
        PCA(2, solver="covariance").fit(given_rows)


def test_rows_are_counted_over_blocks_of_a_stream():
    blocks = [np.ones((3000, 2)) * np.arange(3000)[:, None] for _ in range(3)]
    blocks[2][5, 1] = np.inf
    with pytest.raises(ValueError, match=r"infinity: column 1, first in row 6005\."):
        PCA().fit(block for block in blocks)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_missing_entries_of_a_table_are_named(library):
    with_none = {"col0": [1.0, 2.0, 3.0], "col1": [4, None, 6], "col2": [1.0, 0.0, 1.0]}
    module = pytest.importorskip(library)
    frame = module.table(with_none) if library == "pyarrow" else module.DataFrame(with_none)
    with pytest.raises(ValueError, match=r"NaN: column 'col1' \(number 1\), first in row 1\."):
        PCA().fit(frame)


# ---- Values whose squares overflow


@pytest.mark.parametrize("solver", [*SPECTRAL, "auto"])
@pytest.mark.parametrize("kind", ["dense", "sparse", "pandas", "wide", "stream"])
def test_squares_that_overflow(kind, solver):
    rows = np.random.default_rng(2).standard_normal((3, 12) if kind == "wide" else (12, 3))
    rows[2, 1] = 1e200
    given_rows = {
        "dense": lambda: rows,
        "wide": lambda: rows,
        "sparse": lambda: sparse.csr_array(rows),
        "pandas": lambda: table("pandas", rows),
        "stream": lambda: [rows[:5], rows[5:]],
    }[kind]()
    if kind == "stream" and solver != "auto" and SOLVERS[solver].reads_columns:
        return
    message = r"too large for their squares to be represented: 1e\+200 in column .*row 2\. Rescale the column"
    with pytest.raises(ValueError, match=message):
        PCA(1, solver=solver).fit(given_rows)


def test_large_but_harmless_values_are_taken():
    """1e150 squared is still a number."""
    pca = PCA(2).fit(X * 1e150)
    np.testing.assert_allclose(pca.components_, PCA(2).fit(X).components_, atol=1e-9)
    assert np.all(np.isfinite(pca.explained_variance_))


# ---- Shapes


@pytest.mark.parametrize("model", [PCA(), Whitening()], ids=["PCA", "Whitening"])
@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (np.ones(5), r"Expected 2D array, got 1D array instead, of shape \(5,\).*reshape\(-1, 1\)"),
        ([1.0, 2.0], r"Expected 2D array, got 1D array instead, of shape \(2,\)"),
        (np.ones((2, 2, 2)), r"got 3D array instead, of shape \(2, 2, 2\).*X\.reshape\(len\(X\), -1\)"),
        (3.0, r"Expected 2D array, got scalar array instead"),
        (np.float64(3.0), r"Expected 2D array, got scalar array instead"),
        (np.ones((0, 3)), r"Found array with 0 sample\(s\) \(shape=\(0, 3\)\) while a minimum of 1 is required"),
        (np.ones((3, 0)), r"Found array with 0 feature\(s\) \(shape=\(3, 0\)\) while a minimum of 1 is required"),
        ([], r"Expected 2D array|0 sample"),
        ([[], []], r"0 feature\(s\)"),
        (sparse.csr_array((0, 3)), r"0 sample\(s\)"),
        (sparse.csr_array((3, 0)), r"0 feature\(s\)"),
    ],
    ids=[
        "1-D",
        "list",
        "3-D",
        "number",
        "NumPy number",
        "no rows",
        "no columns",
        "[]",
        "[[], []]",
        "sparse",
        "sparse 0",
    ],
)
def test_shapes_that_are_no_table(model, rows, message):
    with pytest.raises(ValueError, match=message):
        model.fit(rows)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_tables_without_rows_and_single_columns(library):
    module = pytest.importorskip(library)
    with pytest.raises(ValueError, match=r"0 sample\(s\) \(shape=\(0, 4\)\)"):
        PCA().fit(table(library, X[:0]))
    column = module.chunked_array([[1.0, 2.0]]) if library == "pyarrow" else module.Series([1.0, 2.0])
    with pytest.raises(ValueError, match="Expected 2D array, got 1D"):
        PCA().fit(column)


@pytest.mark.parametrize("rows", [None, b"rows", {"a": [1.0]}, object()], ids=lambda rows: type(rows).__name__)
def test_what_holds_no_rows(rows):
    with pytest.raises(TypeError, match=r"cannot read rows from \w+; pass a 2-D array, a sparse matrix, a data frame"):
        PCA().fit(rows)


@pytest.mark.parametrize("name", list(INPUTS))
@each_model
def test_one_row_has_no_variance(name, model):
    kind = INPUTS[name]
    if not runs_on(model, kind):
        return
    if "krylov" in model:
        model, make = "PCA krylov", lambda: PCA(1, solver="krylov")
    else:
        make = MODELS[model]
    message = r"n_samples=1 \(total weight 1\) is too few for a covariance with ddof=1: more than 1 is needed.*ddof=0"
    with pytest.raises(ValueError, match=message):
        make().fit(kind.make(X[:1]))


def test_one_row_and_ddof_0():
    pca = PCA(1, ddof=0).fit(X[:1])
    np.testing.assert_array_equal(pca.explained_variance_, [0.0])
    np.testing.assert_array_equal(pca.mean_, X[0])
    np.testing.assert_allclose(np.linalg.norm(pca.components_), 1.0)
