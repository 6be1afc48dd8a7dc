"""The table of a report: columns of every kind of input, labels, ids, and what is refused."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from lowdim import scan
from lowdim.reporting import columns as report_columns
from lowdim.reporting.columns import OpenedTable

N = 12
NUMBERS = {"a": np.arange(N) * 1.5, "b": np.cos(np.arange(N)), "c": np.arange(N) % 5}
TEXT = {"kind": ["x", "y", "z"] * (N // 3), "who": [f"person {i}" for i in range(N)], "note": ["same"] * N}


@pytest.fixture
def csv(tmp_path):
    path = tmp_path / "people.csv"
    pd.DataFrame({**TEXT, **NUMBERS}).to_csv(path, index=False)
    return path


def _array(source):
    return np.concatenate([np.asarray(block) for block in source.blocks(5)])


def _inputs(csv):
    columns = {**TEXT, **NUMBERS}
    return {"csv": csv, "text path": str(csv), "pandas": pd.DataFrame(columns), "polars": pl.DataFrame(columns)}


@pytest.mark.parametrize("kind", ["csv", "text path", "pandas", "polars"])
def test_numbers_are_rows_and_text_names_or_colours_them(csv, kind):
    opened = OpenedTable(_inputs(csv)[kind])
    assert opened.names == list(NUMBERS) and opened.n_columns == 6 and opened.held
    np.testing.assert_allclose(_array(opened.rows), np.column_stack(list(NUMBERS.values())), rtol=1e-15)
    assert list(opened.groups) == ["kind"] and opened.groups["kind"].tolist() == TEXT["kind"]
    assert opened.ids.tolist() == TEXT["who"]
    assert list(opened.left_out) == list(TEXT)


def test_dask(csv):
    dask = pytest.importorskip("dask.dataframe")
    frame = dask.from_pandas(pd.DataFrame({**TEXT, **NUMBERS}), npartitions=3)
    opened = OpenedTable(frame, labels="kind")
    assert opened.names == list(NUMBERS) and opened.groups["kind"].tolist() == TEXT["kind"]
    np.testing.assert_allclose(_array(opened.rows), np.column_stack(list(NUMBERS.values())))


def test_an_array_has_numbered_columns_and_vectors_for_labels():
    X = np.random.default_rng(0).normal(size=(N, 3)).astype(np.float32)
    opened = OpenedTable(X, labels=TEXT["kind"], ids=TEXT["who"], sample_weight=np.arange(N))
    assert opened.names == ["x1", "x2", "x3"] and opened.label == "a table"
    assert opened.groups["label"].tolist() == TEXT["kind"] and opened.ids.tolist() == TEXT["who"]
    np.testing.assert_array_equal(opened.weights, np.arange(N))
    np.testing.assert_array_equal(_array(opened.rows), X.astype(float))


def test_columns_that_are_named_for_a_purpose_are_no_rows(csv):
    opened = OpenedTable(csv, labels=["kind", "c"], ids="note", sample_weight="a")
    assert opened.names == ["b"] and list(opened.groups) == ["kind", "c"]
    assert opened.ids.tolist() == TEXT["note"]
    np.testing.assert_allclose(opened.weights, NUMBERS["a"])


def test_a_response_and_another_table_are_read_from_columns_or_files(csv, tmp_path):
    opened = OpenedTable(csv, response=["b", "c"], other=np.ones((N, 2)))
    assert opened.names == ["a"] and opened.response.names == ["b", "c"]
    np.testing.assert_allclose(_array(opened.response)[:, 0], NUMBERS["b"])
    assert opened.other.shape == (N, 2)


def test_the_choice_of_a_scan_is_kept(csv):
    opened = OpenedTable(scan(csv, columns=["b", "kind", "a"]))
    assert opened.names == ["b", "a"] and list(opened.groups) == ["kind"]
    assert opened.label == "people.csv"


def test_columns_that_are_nearly_numbers_say_why(tmp_path):
    path = tmp_path / "t.csv"
    lines = [f"{i},{i * 2}" for i in range(40)]
    lines[30] = "30,?"
    path.write_text("\n".join(["a,b", *lines]))
    opened = OpenedTable(path)
    assert opened.names == ["a"]
    assert list(opened.left_out) == ["b"] and "?" in opened.left_out["b"]


def test_the_index_of_a_frame_names_the_rows():
    frame = pd.DataFrame(NUMBERS, index=TEXT["who"])
    assert OpenedTable(frame).ids.tolist() == TEXT["who"]


def test_a_stream_is_held_and_a_large_file_is_not(csv, monkeypatch):
    blocks = np.random.default_rng(0).normal(size=(4, 6, 3))
    opened = OpenedTable(iter(blocks))
    assert opened.held
    np.testing.assert_array_equal(_array(opened.rows), blocks.reshape(24, 3))
    monkeypatch.setattr(report_columns, "_HELD_BYTES", 10)
    assert not OpenedTable(csv).held
    assert not OpenedTable(np.ones((N, 3))).held


def test_supplementary_rows_are_found_by_name(csv):
    more = pd.DataFrame({"c": [1.0, 2.0], "a": [3.0, 4.0], "b": [5.0, 6.0], "further": [0, 0]})
    opened = OpenedTable(csv, supplementary=more)
    np.testing.assert_array_equal(_array(opened.supplementary), [[3, 5, 1], [4, 6, 2]])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"labels": "sort"}, "sort"),
        ({"ids": "sort"}, "sort"),
        ({"response": "sort"}, "sort"),
        ({"labels": ["x"] * 3}, "labels"),
        ({"ids": ["x"] * 3}, "ids"),
        ({"sample_weight": np.ones(3)}, "sample_weight"),
        ({"supplementary": pd.DataFrame({"a": [1.0]})}, "'b'"),
        ({"supplementary": np.ones((2, 5))}, "5 columns"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_name(csv, options, said):
    with pytest.raises(ValueError, match=said):
        OpenedTable(csv, **options)


@pytest.mark.parametrize("argument", ["labels", "ids", "response", "other"])
def test_names_without_columns_are_refused(argument):
    with pytest.raises(ValueError, match=f"{argument}='kind' names a column, and the columns of X have no names"):
        OpenedTable(np.ones((3, 2)), **{argument: "kind"})


def test_a_table_without_numbers_is_refused():
    with pytest.raises(ValueError, match="kind"):
        OpenedTable(pd.DataFrame(TEXT))


def test_labels_that_are_called_like_columns_are_still_labels():
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [4.0, 5.0, 7.0]})
    opened = OpenedTable(frame, labels=["a", "b", "a"])
    assert opened.names == ["a", "b"] and opened.groups["label"].tolist() == ["a", "b", "a"]


@pytest.mark.parametrize(
    ("labels", "error", "message"),
    [
        (np.ones((3, 2)), ValueError, r"must be a vector, with one entry for each row; got shape \(3, 2\)"),
        ([[1], [2], [3]], TypeError, "must hold text or numbers; entry 0 is of type list"),
    ],
)
def test_labels_must_be_a_vector_of_categories(labels, error, message):
    for name in ("labels", "ids"):
        with pytest.raises(error, match=f"{name} {message}"):
            OpenedTable(np.eye(3), **{name: labels})


def test_rows_without_a_name_are_called_by_their_numbers():
    opened = OpenedTable(np.eye(4), ids=["a", None, np.nan, pd.NA])
    assert opened.ids.tolist() == ["a", "row 1", "row 2", "row 3"]


def test_columns_of_lists_are_left_out():
    frame = pd.DataFrame(np.eye(4), columns=list("abcd")).assign(e=[[1]] * 4)
    opened = OpenedTable(frame)
    assert list(opened.left_out) == ["e"] and not opened.groups and opened.ids is None


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, 1, -1], "not be negative"),
        ([1, np.nan, 1], "nan in row 1"),
        ([0, 0, 0], "all zero"),
        (list("abc"), "numbers"),
    ],
)
def test_weights_must_be_frequencies(weights, message):
    with pytest.raises(ValueError, match=f"sample_weight must .*{message}"):
        OpenedTable(np.eye(3), sample_weight=weights)


@pytest.mark.parametrize("names", [["a", "b", "a"], [1, "b", "1"]])
def test_columns_of_the_same_name_are_refused(names):
    frame = pd.DataFrame(np.eye(3), columns=names)
    with pytest.raises(ValueError, match=r"X has several columns with the name '[a1]'"):
        OpenedTable(frame)
    with pytest.raises(ValueError, match="other has several columns"):
        OpenedTable(np.eye(3), other=frame)
