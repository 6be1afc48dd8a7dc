"""Two tables that cannot be used: the message says what, where and what to do, and nothing is changed."""

import copy
import warnings

import numpy as np
import pytest
from hypothesis import example, given, note, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.exceptions import NotFittedError

from examples import REDUCED, make
from inputs import table
from lowdim import CCA, GCCA, PCR, PLSSVD, KernelCCA, PLSCanonical, PLSRegression
from lowdim.errors import LowdimWarning, MissingValues, NoVariance
from lowdim.solvers import REDUCTIONS

#: Errors that are meant for users.
OURS = (ValueError, MissingValues, NoVariance)
RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((20, 4)), RNG.standard_normal((20, 3))
each_model = pytest.mark.parametrize("kind", REDUCED)


def with_bad(A, value, row=7, column=2):
    A = A.copy()
    A[row, column] = value
    return A


@pytest.mark.parametrize("solver", list(REDUCTIONS))
@pytest.mark.parametrize("value", [np.nan, np.inf])
@each_model
def test_bad_entries_are_named_with_their_table(kind, value, solver):
    what = "NaN" if np.isnan(value) else "infinity"
    for x, y, name in ((with_bad(X, value), Y, "X"), (X, with_bad(Y, value), "y")):
        message = (
            rf"Input {name} contains {what}: column 2, first in row 7. (Complete rows of f|F)inite numbers are needed"
        )
        with pytest.raises(ValueError, match=message):
            make(kind, n_components=1, solver=solver).fit(x, y)


def test_missing_values_name_what_can_impute():
    with pytest.raises(MissingValues, match=r"PPCA\(k, scale=True\)\.fit\(A\)\.impute\(A\) for A = all tables"):
        PLSRegression(1).fit(X, with_bad(Y, np.nan))
    with pytest.raises(ValueError, match="NaN"):
        KernelCCA(1).fit(with_bad(X, np.nan), Y)


def test_named_columns_are_named():
    with pytest.raises(ValueError, match=r"Input y contains NaN: column 'col2' \(number 2\), first in row 7"):
        CCA(1).fit(table("pandas", X), table("pandas", with_bad(Y, np.nan)))


@pytest.mark.parametrize("value", [1e200, -1e300])
@each_model
def test_entries_too_large_for_squares(kind, value):
    for x, y, name in ((with_bad(X, value), Y, "X"), (X, with_bad(Y, value), "y")):
        with pytest.raises(ValueError, match=f"Input {name} holds values too large for their squares"):
            make(kind, n_components=1).fit(x, y)


@each_model
def test_tables_of_different_lengths(kind):
    with pytest.raises(ValueError, match="inconsistent numbers of samples: X has 20, y has 19 rows"):
        make(kind, n_components=1).fit(X, Y[:19])
    for x, y in (([X[:10], X[10:]], iter([Y[:4], Y[4:15]])), (iter([X[:10]]), iter([Y]))):
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            make(kind, n_components=1).fit(x, y)


@each_model
def test_y_is_needed(kind):
    with pytest.raises(ValueError, match="requires y to be passed, but the target y is None"):
        make(kind, n_components=1).fit(X)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.array(["a", "b"] * 10), "y holds text, such as 'a' .*Encode classes"),
        (Y.astype(complex), "y: Complex data not supported"),
        (Y[:, :0], r"y: Found array with 0 feature\(s\)"),
        (Y[None], "y: Expected 2D array, got 3D array"),
        (3.0, "y: Expected 2D array, got scalar"),
    ],
)
def test_a_y_that_is_no_table(y, message):
    with pytest.raises(ValueError, match=message):
        PLSRegression(1).fit(X, y)


DIGITS = ["1", "2"] * 10
#: Classes that are named by digits, in every kind of container that could be a response.
NAMES_OF_CLASSES = {
    "array": lambda: np.array(DIGITS),
    "bytes": lambda: np.array(DIGITS, dtype="S"),
    "objects": lambda: np.array(DIGITS, dtype=object),
    "numbers and text": lambda: np.array([1, "2"] * 10, dtype=object),
    "list": lambda: DIGITS,
    "two axes": lambda: np.array(DIGITS, dtype=object)[:, None],
    "list of rows": lambda: [[name] for name in DIGITS],
    "stream": lambda: lambda: iter([np.array(DIGITS, dtype=object)]),
    "Series": lambda: pandas().Series(DIGITS),
    "Series of objects": lambda: pandas().Series(DIGITS, dtype=object),
    "Series of strings": lambda: pandas().Series(DIGITS, dtype="string"),
    "Series of categories": lambda: pandas().Series(DIGITS, dtype="category"),
    "Categorical": lambda: pandas().Categorical(DIGITS),
    "DataFrame": lambda: pandas().DataFrame({"class": DIGITS}),
    "DataFrame of categories": lambda: pandas().DataFrame({"class": DIGITS}, dtype="category"),
    "polars": lambda: polars().Series(DIGITS),
    "polars categories": lambda: polars().Series(DIGITS, dtype=polars().Categorical),
    "polars enum": lambda: polars().Series(DIGITS, dtype=polars().Enum(["1", "2"])),
    "polars frame": lambda: polars().DataFrame({"class": DIGITS}),
    "Arrow": lambda: pyarrow().array(DIGITS),
    "Arrow chunks": lambda: pyarrow().chunked_array([DIGITS]),
    "Arrow dictionary": lambda: pyarrow().array(DIGITS).dictionary_encode(),
    "Arrow table": lambda: pyarrow().table({"class": DIGITS}),
    "Dask": lambda: pytest.importorskip("dask.array").from_array(np.array(DIGITS, dtype=object), chunks=10),
}
CLASSES_ADVICE = r"OneHotEncoder\)?\. Numbers that are stored as text have to be converted first"


def pandas():
    return pytest.importorskip("pandas")


def polars():
    return pytest.importorskip("polars")


def pyarrow():
    return pytest.importorskip("pyarrow")


@pytest.mark.parametrize("container", list(NAMES_OF_CLASSES))
def test_names_of_classes_are_no_numbers_even_if_they_are_digits(container):
    rows = [X] if container == "stream" else X
    with pytest.raises(ValueError, match=CLASSES_ADVICE):
        PLSRegression(1).fit(rows, NAMES_OF_CLASSES[container]())
    if container != "stream":
        with pytest.raises(ValueError, match=CLASSES_ADVICE):
            PLSRegression(1).fit(X, Y[:, 0]).score(X, NAMES_OF_CLASSES[container]())


@pytest.mark.parametrize("kind", [*REDUCED, "KernelCCA"])
def test_all_models_refuse_names_of_classes(kind):
    model = make(kind, n_components=1)
    with pytest.raises(ValueError, match=CLASSES_ADVICE):
        model.fit(X, np.array(DIGITS, dtype=object))
    with pytest.raises(ValueError, match=CLASSES_ADVICE):
        model.fit(X.round().astype(str).astype(object), Y)


def test_weights_that_are_text_are_refused():
    with pytest.raises(ValueError, match=r"sample_weight must hold numbers .*such as '1'"):
        PLSRegression(1).fit(X, Y, np.array(DIGITS, dtype=object))


def test_flags_are_zeros_and_ones():
    flags = Y[:, 0] > 0
    expected = PLSRegression(1).fit(X, flags.astype(float)).coef_
    for y in (flags, flags.astype(object), flags.tolist(), pandas().Series(flags, dtype="boolean")):
        np.testing.assert_array_equal(PLSRegression(1).fit(X, y).coef_, expected)


@pytest.mark.parametrize("k", [0, -1, 1.5, 0.9, True, "a", 5])
@each_model
def test_n_components_out_of_range(kind, k):
    with pytest.raises(
        ValueError, match=r"n_components=.* (must be a whole number between 1 and [34], or None|is not one of 'cv')"
    ):
        make(kind, n_components=k).fit(X, Y)


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("PCR", {"select": "best"}, "select='best' is not one of 'variance', 'relevance'"),
        ("PLSRegression", {"algorithm": "nipals"}, "algorithm='nipals' is not one of 'kernel', 'simpls'"),
        ("PLSRegression", {"scale": "yes"}, "scale='yes' must be True or False, or one of them for each of 2 tables"),
        ("PLSRegression", {"scale": (True, True, False)}, "one of them for each of 2 tables"),
        ("CCA", {"regularization": 1.5}, r"regularization=1.5 must be a number from 0 \(none\) to 1 \(full\)"),
        ("CCA", {"regularization": (0.1,)}, "one for each of 2 tables"),
        ("CCA", {"regularization": True}, "regularization=True must be a number"),
        ("GCCA", {"regularization": (0.1, 0.2, 0.3)}, "one for each of 2 tables"),
        ("CCA", {"solver": "svd"}, "solver='svd' is not one of 'auto', 'covariance', 'triangle', 'gram'"),
        ("PLSSVD", {"solver": None}, "solver=None is not one of 'auto'"),
    ],
)
def test_options_that_make_no_sense(kind, options, message):
    with pytest.raises(ValueError, match=message):
        make(kind, n_components=1, **options).fit(X, Y)


def test_streams_that_cannot_be_read_by_columns_or_again_are_gathered():
    expected = PLSRegression(1, solver="gram").fit(X, Y)
    for streams in ((iter([X]), iter([Y])), ([X], [Y])):
        np.testing.assert_array_equal(PLSRegression(1, solver="gram").fit(*streams).coef_, expected.coef_)
    with pytest.raises(AttributeError) as caught:
        PLSRegression(1, solver="gram").partial_fit(X, Y)
    assert "solver='gram' keeps no summary" in str(caught.value.__cause__)
    model = PLSRegression(1).fit(X, Y)
    errors = model.jackknife(X, Y).standard_error
    for streams in ((iter([X]), iter([Y])), (lambda: iter([X]), lambda: iter([Y]))):
        np.testing.assert_array_equal(model.jackknife(*streams).standard_error, errors)


@each_model
def test_other_columns_than_those_of_the_fit(kind):
    model = make(kind, n_components=1).fit(X, Y)
    with pytest.raises(ValueError, match=r"X has 3 features, but .* is expecting 4 features"):
        model.transform(X[:, :3])
    if kind != "GCCA":
        with pytest.raises(ValueError, match="y has 2 columns, the model was fitted on 3"):
            model.transform(X, Y[:, :2])
        with pytest.raises(ValueError, match="X has 2 columns, but 1 are needed"):
            model.inverse_transform(X[:, :2])
    with pytest.raises(ValueError, match=r"columns"):
        model.partial_fit(X, Y).partial_fit(X, Y[:, :2])


@each_model
def test_unfitted(kind):
    with pytest.raises(NotFittedError):
        make(kind, n_components=1).transform(X)


@each_model
@pytest.mark.parametrize("bad", ["NaN in y", "short y", "no variance", "text"])
def test_a_failed_fit_leaves_the_model_as_it_was(kind, bad):
    model = make(kind, n_components=1).fit(X, Y)
    before = copy.deepcopy(vars(model))
    args = {
        "NaN in y": (X, with_bad(Y, np.nan)),
        "short y": (X, Y[:5]),
        "no variance": (X[:1], Y[:1]),
        "text": (X.astype(str), Y),
    }[bad]
    with pytest.raises(ValueError):
        model.fit(*args)
    assert vars(model).keys() == before.keys()
    np.testing.assert_array_equal(model.transform(X), make(kind, n_components=1).fit(X, Y).transform(X))


@each_model
def test_inputs_are_left_alone(kind):
    x, y, w = X.copy(), Y.copy(), np.ones(20)
    for A in (x, y, w):
        A.setflags(write=False)
    for solver in REDUCTIONS:
        model = make(kind, n_components=1, solver=solver).fit(x, y, sample_weight=w)
        model.transform(x)
    np.testing.assert_array_equal(x, X)


# ---- Numbers of all sizes


ENTRIES = st.one_of(
    st.floats(-5, 5),
    st.sampled_from([0.0, 1.0, 1e8, 1e8 + 1, 1e-160, 1e150, -1e153, 1e200, np.nan, np.inf]),
)


@st.composite
def pairs(draw):
    """Two small tables of nasty numbers."""
    n, p, q = draw(st.integers(1, 6)), draw(st.integers(1, 4)), draw(st.integers(1, 3))
    kind = draw(st.sampled_from(["mild", "nasty"]))
    entries = st.floats(-5, 5).map(lambda v: round(v, 1)) if kind == "mild" else ENTRIES
    return draw(hnp.arrays(float, (n, p), elements=entries)), draw(hnp.arrays(float, (n, q), elements=entries))


MAKERS = {
    "PCR": lambda **o: PCR(None, **o),
    "PCR relevance": lambda **o: PCR(1, select="relevance", scale=True, **o),
    "PLS": lambda **o: PLSRegression(None, **o),
    "simpls": lambda **o: PLSRegression(1, scale=False, algorithm="simpls", **o),
    "PLSCanonical": lambda **o: PLSCanonical(**o),
    "PLSSVD": lambda **o: PLSSVD(**o),
    "CCA": lambda **o: CCA(**o),
    "CCA ridge": lambda **o: CCA(1, regularization=0.3, scale=False, **o),
    "GCCA": lambda **o: GCCA(1, **o),
}


@pytest.mark.parametrize("solver", ["auto", *REDUCTIONS])
@settings(max_examples=60, deadline=None)
@given(tables=pairs())
@example(tables=(np.array([[0.0], [1e150]]), np.array([[1e-160], [0.0]])))
@example(tables=(np.array([[1e-160], [0.0]]), np.array([[1e150], [0.0]])))  # coefficients are no numbers
@example(tables=(np.zeros((3, 2)), np.zeros((3, 1))))
@example(tables=(np.array([[1e8], [1e8 + 1], [1e8]]), np.array([[0.0], [1.0], [0.0]])))
def test_a_clear_error_or_finite_results(solver, tables):
    """All models are given the same tables, since to draw some takes longer than to fit a model to them."""
    for name, maker in MAKERS.items():
        note(name)
        assert_a_clear_error_or_finite_results(maker(solver=solver), *tables)


def assert_a_clear_error_or_finite_results(model, x, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LowdimWarning)  # anything else is an error
        try:
            model.fit(x, y)
        except ValueError as error:
            assert type(error) in (ValueError, MissingValues, NoVariance), (
                f"{type(error).__name__} from the depths: {error}"
            )
            return
        results = {name: value for name, value in vars(model).items() if isinstance(value, np.ndarray | float)}
        results["transform"] = model.transform(x)
        if hasattr(model, "predict"):
            results["predict"] = model.predict(x)
    for what, value in results.items():
        assert np.all(np.isfinite(value)), f"{what} = {value}"


def test_more_memory_than_there_is_is_refused_with_numbers(memory):
    memory(2**16)
    x, y = RNG.standard_normal((60, 50)), RNG.standard_normal((60, 50))
    with pytest.raises(MemoryError, match=r"solver='covariance' on tables of 100 columns would need .* GiB"):
        PLSRegression(1).fit(x, y)
    assert PLSRegression(1).fit(x[:12], y[:12]).solver_ == "gram"
