"""What is no row of numbers, no stream of blocks, no number of components and no weight; and what a failure leaves."""

import datetime
import re

import numpy as np
import pytest
from scipy import sparse

from examples import SPECTRAL, SUMMARIZES
from inputs import INPUTS, blocks, names, namespace, table
from lowdim import PCA, Whitening

X = np.round(8 * np.random.default_rng(0).standard_normal((12, 4)))

# ---- Kinds of numbers

COMPLEX = {
    "array": lambda: X + 1j,
    "sparse": lambda: sparse.csr_array(X + 1j),
    "list": lambda: (X + 1j).tolist(),
    "objects": lambda: (X + 1j).astype(object),
    "pandas": lambda: table("pandas", X + 1j),
    "array_api_strict": lambda: namespace("array_api_strict").asarray(X + 1j),
    "torch": lambda: namespace("torch").asarray(X + 1j),
    "stream": lambda: [X + 1j],
}


@pytest.mark.parametrize("kind", list(COMPLEX))
def test_complex_numbers(kind):
    with pytest.raises(ValueError, match=r"Complex data not supported: .*Pass X\.real and X\.imag"):
        PCA().fit(COMPLEX[kind]())


NOT_NUMBERS = {
    "text": lambda: np.array([["a", "b"], ["c", "d"]]),
    "bytes": lambda: np.array([[b"a", b"b"], [b"c", b"d"]]),
    "dates": lambda: np.array([["2020-01-01"], ["2020-01-02"]], dtype="datetime64[D]"),
    "digits": lambda: X.astype(int).astype(str),
    "list of text": lambda: [["a", "b"], ["c", "d"]],
    "stream of text": lambda: [np.array([["a", "b"], ["c", "d"]])],
}


@pytest.mark.parametrize("kind", list(NOT_NUMBERS))
def test_text_and_dates(kind):
    message = r"X has dtype .*, which is not numeric .*Drop the column or encode it as numbers first"
    with pytest.raises(ValueError, match=message):
        PCA().fit(NOT_NUMBERS[kind]())


def test_dates_in_a_table_are_called_dates():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1.0, 2.0], "day": pandas.to_datetime(["2020-01-01", "2020-01-02"])})
    with pytest.raises(ValueError, match=r"column 'day' \(number 1\) .* \(dates and times; subtract a start"):
        PCA().fit(frame)


def test_a_lazy_table_of_another_library_has_to_be_collected():
    class Query:
        def collect(self):
            return X

    with pytest.raises(TypeError, match=r"cannot read rows from Query.*X\.collect\(\)"):
        PCA().fit(Query())


def test_objects_that_are_no_numbers_are_named_by_column():
    mixed = X.astype(object)
    mixed[3, 2] = "seven"
    with pytest.raises(ValueError, match="column 2 has dtype object, which is not numeric"):
        PCA().fit(mixed)
    # NumPy would convert this one, but text may be the name of a class.
    mixed[3, 2] = "7"
    with pytest.raises(ValueError, match=r"column 2 .* such as '7'.*Numbers that are stored as text"):
        PCA().fit(mixed)
    mixed[3, 2] = {"a": 1}
    with pytest.raises(TypeError, match="column 2 has dtype object, which is not numeric"):
        PCA().fit(mixed)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("value", ["text", datetime.datetime(2020, 1, 1), datetime.timedelta(1)], ids=repr)
def test_columns_of_tables_that_are_no_numbers_are_named(library, value):
    module = pytest.importorskip(library)
    columns = {"height": [1.0, 2.0, 3.0], "label": [value] * 3}
    frame = module.table(columns) if library == "pyarrow" else module.DataFrame(columns)
    message = r"column 'label' \(number 1\) has dtype \w+.*not numeric.*Drop the column or encode it as numbers first"
    with pytest.raises(ValueError, match=message):
        PCA().fit(frame)


def test_categories_are_no_numbers():
    import pandas as pd

    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": pd.Categorical(["x", "y", "x"])})
    with pytest.raises(ValueError, match=r"column 'b' \(number 1\) has dtype (category|Categorical)"):
        PCA().fit(frame)


def test_masked_entries():
    with pytest.raises(ValueError, match=r"masked array with masked entries; fill or drop them first"):
        PCA().fit(np.ma.masked_equal(X, X[3, 1]))
    np.testing.assert_array_equal(PCA(2).fit(np.ma.asarray(X)).components_, PCA(2).fit(X).components_)


@pytest.mark.parametrize("dtype", ["bool", "uint8"])
def test_bool_and_unsigned_are_numbers(dtype):
    rows = (X > 0).astype(dtype)
    np.testing.assert_allclose(PCA(2).fit(rows).components_, PCA(2).fit(rows.astype(float)).components_)


# ---- Streams


@pytest.mark.parametrize(
    "stream", [iter([]), lambda: iter([]), (b for b in [X[:0]])], ids=["none", "callable", "empty"]
)
def test_a_stream_without_rows(stream):
    message = r"the iterator of blocks gave no block: found array with 0 sample\(s\).*pass a new one, a list of blocks"
    with pytest.raises(ValueError, match=message):
        PCA().fit(stream)


def test_a_generator_is_read_once():
    stream = (b for b in blocks(X))
    PCA().fit(stream)
    with pytest.raises(ValueError, match="A generator can be read once"):
        PCA().fit(stream)
    np.testing.assert_array_equal(PCA().fit_transform(b for b in blocks(X)), PCA().fit_transform(X))


def test_a_callable_that_has_nothing_the_second_time():
    generator = (b for b in blocks(X))
    with pytest.raises(ValueError, match="on the second reading"):
        PCA(2, solver="krylov").fit(lambda: generator)


@pytest.mark.parametrize("solver", SUMMARIZES)
@pytest.mark.parametrize("again", [True, False], ids=["list", "generator"])
def test_ragged_blocks(again, solver):
    ragged = [X[:4], X[4:8], X[8:, :3]]
    message = r"block 2 of the stream has 3 columns, the blocks before it had 4\. All blocks must have the same columns"
    with pytest.raises(ValueError, match=message):
        PCA(solver=solver).fit(ragged if again else iter(ragged))


def test_blocks_are_counted_as_given():
    with pytest.raises(ValueError, match="block 2 of the stream has 3 columns"):
        PCA().fit([X[:4], X[4:4], X[4:, :3]])


def test_blocks_of_different_dtypes():
    message = r"block 1 of the stream is numpy float32, the blocks before it were numpy float64: .* one dtype.* Convert"
    with pytest.raises(ValueError, match=message):
        PCA().fit([X[:4], X[4:].astype("float32")])


def test_dense_and_sparse_blocks():
    """The dtype is the same, so the message must not be about it."""
    with pytest.raises(ValueError, match=r"block 1 of the stream .*sparse"):
        PCA().fit([X[:4], sparse.csr_array(X[4:])])


def test_blocks_of_different_array_libraries():
    xp = namespace("array_api_strict")
    with pytest.raises(ValueError, match=r"block 1 of the stream"):
        PCA().fit([X[:4], xp.asarray(X[4:])])


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_blocks_with_other_column_names(library):
    """Reordered columns would be added up crosswise."""
    first = table(library, X[:4])
    second = first.select(names(4)[::-1]) if library != "pandas" else first[names(4)[::-1]]
    with pytest.raises(ValueError, match=r"block 1 of the stream"):
        PCA().fit([first, second])


@pytest.mark.parametrize(
    ("block", "message"),
    [
        (np.ones(4), "block 1 of the stream: Expected 2D array, got 1D"),
        (X[:2] + 1j, "block 1 of the stream: Complex data"),
        (np.array([["a", "b", "c", "d"]]), "block 1 of the stream: X has dtype"),
    ],
    ids=["1-D", "complex", "text"],
)
def test_a_bad_block_is_named(block, message):
    with pytest.raises(ValueError, match=message):
        PCA().fit([X, block])


# ---- Other columns at transform

OTHER_WIDTH = [
    "C order",
    "csr_array",
    "list of lists",
    "pandas",
    "polars",
    "pyarrow",
    "list of blocks",
    "array_api_strict",
]


@pytest.mark.parametrize("method", ["transform", "score_samples", "reconstruction_error", "partial_fit"])
@pytest.mark.parametrize("name", OTHER_WIDTH)
def test_another_number_of_columns(name, method):
    make = INPUTS[name].make
    pca = PCA(2).partial_fit(make(X))
    with pytest.raises(ValueError, match=r"(has|have) 3 (features|columns).* 4|feature names should match"):
        getattr(pca, method)(make(X[:, :3]))


@pytest.mark.parametrize("method", ["transform", "score_samples", "reconstruction_error", "partial_fit"])
@pytest.mark.parametrize("wrap", [lambda t: t, lambda t: [t]], ids=["table", "stream"])
@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_other_column_names(library, wrap, method):
    frame = table(library, X)
    other = frame.select(names(4)[::-1]) if library != "pandas" else frame[names(4)[::-1]]
    pca = PCA(2).partial_fit(wrap(frame))
    with pytest.raises(ValueError, match="feature names should match those that were passed during fit"):
        getattr(pca, method)(wrap(other))


@pytest.mark.parametrize("model", [PCA(2), Whitening(n_components=2)], ids=["PCA", "Whitening"])
def test_another_number_of_scores(model):
    with pytest.raises(ValueError, match=r"X has 3 columns, but 2 .* needed"):
        model.fit(X).inverse_transform(X[:, :3])


@pytest.mark.parametrize("method", ["transform", "score_samples", "inverse_transform"])
def test_another_array_library(method):
    xp = namespace("array_api_strict")
    fitted = PCA(2).fit(X)
    rows = X[:, :2] if method == "inverse_transform" else X
    with pytest.raises(
        ValueError, match=r"must use the same namespace and device as those passed to fit\(\).*Convert X"
    ):
        getattr(fitted, method)(xp.asarray(rows))


# ---- The number of components

OUT_OF_RANGE = [0, -1, 5, 0.0, 1.0, 1.5, -0.5, True, float("nan"), float("inf"), np.int64(13), [2]]


@pytest.mark.parametrize("solver", [*SPECTRAL, "auto"])
@pytest.mark.parametrize("k", OUT_OF_RANGE, ids=repr)
def test_components_out_of_range(k, solver):
    message = (
        f"n_components={k!r} must be a whole number between 1 and 4 = min(n_samples, n_features) for X of shape "
        "(12, 4), a fraction of variance strictly between 0 and 1, or None to keep all."
    )
    with pytest.raises(ValueError, match=re.escape(message)):
        PCA(k, solver=solver).fit(X)


@pytest.mark.parametrize("model", [PCA(4), Whitening(n_components=4)], ids=["PCA", "Whitening"])
def test_no_more_components_than_rows(model):
    with pytest.raises(
        ValueError, match=r"n_components=4 must be a whole number between 1 and 3 = min\(n_samples, n_features\)"
    ):
        model.fit(X[:3])
    with pytest.raises(
        ValueError, match=r"n_components=4 must be a whole number between 1 and 3 = min\(n_samples, n_features\)"
    ):
        model.fit(b for b in [X[:2], X[2:3]])
    with pytest.raises(
        ValueError, match=r"n_components=4 must be a whole number between 1 and 3 = min\(n_samples, n_features\)"
    ):
        model.fit(X, sample_weight=[1, 1, 1] + [0] * 9)


def test_more_components_than_columns_are_refused_at_the_first_block():
    with pytest.raises(ValueError, match="n_components=5 must be a whole number between 1 and 4"):
        PCA(5).partial_fit(X[:3])


@pytest.mark.parametrize("kind", ["zca", "cholesky", "zca-cor"])
def test_components_of_a_square_whitening(kind):
    with pytest.raises(ValueError, match=r"n_components=2 is only for kind='pca' and 'pca-cor'"):
        Whitening(kind, n_components=2).fit(X)


# ---- Weights


@pytest.mark.parametrize("name", ["C order", "csr_array", "polars", "list of blocks", "generator", "array_api_strict"])
@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (-np.ones(12), "must not be negative: got -1 in row 0"),
        (np.zeros(12), "must not be all zero: got 12 zeros"),
        (np.full(12, np.nan), "must be finite: got nan in row 0"),
        (np.ones(11), "must have one entry per row: got"),
    ],
    ids=["negative", "zero", "NaN", "short"],
)
def test_weights_through_fit_and_partial_fit(name, weights, message):
    for method in ("fit", "partial_fit"):
        with pytest.raises(ValueError, match=f"sample_weight {message}.*Weights are frequencies"):
            getattr(PCA(2), method)(INPUTS[name].make(X), sample_weight=INPUTS[name].weights(weights))


def test_weight_too_small_for_the_divisor():
    with pytest.raises(ValueError, match=r"total weight 0.6\) is too few for a covariance with ddof=1"):
        PCA(1).fit(X, sample_weight=np.full(12, 0.05))


# ---- Parameters


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (PCA(ddof=2), "ddof=2 must be 0 .* or 1"),
        (PCA(ddof=True), "ddof=True must be 0 .* or 1"),
        (PCA(whiten="yes"), "whiten='yes' must be True or False"),
        (PCA(scale=1), "scale=1 must be True or False"),
        (PCA(solver="svd"), "solver=('svd' is not one of )?'auto', 'covariance',? .*'triangle'"),
        (Whitening("ZCA"), "kind='ZCA' is not one of 'pca', 'zca', 'cholesky', 'pca-cor', 'zca-cor'"),
        (Whitening(regularization=-1.0), "regularization=-1.0 must be a number of at least 0, 'ledoit-wolf' or 'oas'"),
        (Whitening(regularization=float("nan")), "regularization=nan must be a number of at least 0"),
        (Whitening(regularization="lw"), "regularization='lw' is not one of 'ledoit-wolf', 'oas'"),
        (Whitening(regularization="oas", relative=True), "relative=True goes with a number, not with"),
        (Whitening(relative="yes", regularization=1.0), "relative='yes' must be True or False"),
        (Whitening(solver="svd"), "solver=('svd' is not one of )?'auto', 'covariance',? .*'triangle'"),
    ],
    ids=lambda v: str(v) if isinstance(v, str) else repr(v),
)
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_parameters_out_of_range(model, message, method):
    with pytest.raises(ValueError, match=message):
        getattr(model, method)(X)


def test_a_solver_must_be_a_name_or_a_solver():
    with pytest.raises(TypeError, match="solver must be a name or a solver object, got int"):
        PCA(solver=3).fit(X)
