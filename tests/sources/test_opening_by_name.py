"""by_name: what is replaced, what is left alone, and how the columns are read."""

import numpy as np
import pytest

from lowdim import PLSRegression, open_source
from lowdim.sources.base import Source
from lowdim.sources.opening import by_name

pa = pytest.importorskip("pyarrow")
pandas = pytest.importorskip("pandas")
FRAME = pandas.DataFrame(np.arange(20.0).reshape(5, 4), columns=["a", "b", "y", "w"])
TABLE = pa.Table.from_pandas(FRAME, preserve_index=False)


def rows_of(X):
    return np.concatenate(list(open_source(X).blocks(3)))


def test_nothing_is_opened_without_names():
    for X in (FRAME, FRAME.to_numpy(), "no such file", None, (5, 4)):
        y, weights = np.ones(5), np.ones(5)
        found = by_name(X, y, sample_weight=weights, cv=5, groups=None)
        assert found[0] is X
        assert found[1] is y
        assert found[2] is weights
        assert found[3:] == (5, None)


def test_columns_in_place_of_names():
    X, y, weights, labels = by_name(FRAME, "y", sample_weight="w", cv=None)
    assert list(X.columns) == ["a", "b"]
    assert (y.vector, y.names) == (True, ["y"])
    np.testing.assert_array_equal(rows_of(y)[:, 0], FRAME["y"])
    np.testing.assert_array_equal(weights, FRAME["w"])
    assert labels is None
    X, y = by_name(FRAME, ["w", "y"])
    assert list(X.columns) == ["a", "b"]
    assert list(y.columns) == ["w", "y"]


def test_what_a_fitted_model_wants_is_taken():
    X, y = by_name(FRAME, "y", wanted=["b"])
    assert list(X.columns) == ["b"]
    assert y.names == ["y"]


def test_a_response_that_is_held():
    for X in (FRAME, TABLE, TABLE.to_batches()[0], lambda: iter([FRAME[:2], FRAME[2:]])):
        _, y = by_name(X, "y", hold=True)
        np.testing.assert_array_equal(y, FRAME["y"])
        _, y = by_name(X, ["y", "w"], hold=True)
        np.testing.assert_array_equal(y, FRAME[["y", "w"]])


def test_columns_of_a_stream_that_can_be_read_once():
    X, y = by_name(TABLE.to_reader(max_chunksize=2), "y")
    assert X.parent is y.parent
    assert X.names == ["a", "b", "w"]
    found = PLSRegression(1).fit(TABLE.to_reader(max_chunksize=2), "y")
    np.testing.assert_allclose(found.coef_, PLSRegression(1).fit(FRAME[["a", "b", "w"]], FRAME["y"]).coef_)
    for X in (TABLE.to_reader(), iter([FRAME])):
        with pytest.raises(ValueError, match="for the column 'w', which is read before the rows"):
            by_name(X, "y", sample_weight="w")


def test_a_source_with_names_is_a_table():
    X, y = by_name(open_source(FRAME), "y")
    assert isinstance(X, Source)
    np.testing.assert_array_equal(rows_of(X), FRAME[["a", "b", "w"]])
    np.testing.assert_array_equal(rows_of(y), FRAME[["y"]])


def test_names_of_columns_that_are_no_strings():
    X, y = by_name(FRAME.rename(columns={"a": 1, "y": 2}), "2")
    assert list(X.columns) == [1, "b", "w"]
    np.testing.assert_array_equal(rows_of(y)[:, 0], FRAME["y"])


def test_a_column_may_be_the_name_of_a_file():
    _, y = by_name(FRAME.rename(columns={"y": "y.csv"}), "y.csv")
    assert y.names == ["y.csv"]
    assert by_name(FRAME, "responses.npy")[1] == "responses.npy"
    with pytest.raises(ValueError, match="X has no column 'responses'"):
        by_name(FRAME, "responses")


def test_a_response_that_is_named_twice(tmp_path):
    FRAME.to_csv(tmp_path / "rows.csv", index=False)
    for X in (FRAME, TABLE, tmp_path / "rows.csv"):
        with pytest.raises(ValueError, match="y names 'y' more than once"):
            PLSRegression(1).fit(X, y=["y", "y"])


def test_responses_that_are_text(tmp_path):
    """The advice is for responses, not for rows."""
    advice = r"Encode classes as numbers first, .*0 and 1 for each class"
    frame = FRAME.assign(city=list("klmno"))
    table = pa.Table.from_pandas(frame, preserve_index=False)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    for X in (frame, table, table.to_batches()[0], tmp_path / "rows.csv"):
        for y in ("city", ["a", "city"]):
            with pytest.raises(
                ValueError, match=rf"y: 'city' of .* cannot be a response, .*{advice}.*numbers: 'a', 'b'"
            ):
                PLSRegression(1).fit(X, y)
    for y in (frame["city"], frame["city"].to_numpy(), list(frame["city"]), table["city"], np.array(list("klmno"))):
        with pytest.raises(ValueError, match=rf"y holds text, such as 'k' .*{advice}"):
            PLSRegression(1).fit(FRAME, y)
    frame[["city"]].to_csv(tmp_path / "y.csv", index=False)
    with pytest.raises(ValueError, match=r"y\.csv has columns that are not numbers: 'city'; .*Encode them as numbers"):
        PLSRegression(1).fit(FRAME, tmp_path / "y.csv")
