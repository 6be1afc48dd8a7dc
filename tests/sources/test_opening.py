"""open_source: which row of SOURCES opens what, what every source says of itself, and how it is cut and read."""

from pathlib import Path

import h5py
import numpy as np
import pytest
import zarr

from inputs import INPUTS
from lowdim import PLSRegression
from lowdim.sources import open_source

X = np.round(8 * np.random.default_rng(0).standard_normal((40, 4)))
each_input = pytest.mark.parametrize("name", list(INPUTS))


def whole(source):
    """All rows as one NumPy array."""
    blocks = [b.toarray() if hasattr(b, "toarray") else np.asarray(b) for b in source.blocks(7)]
    return np.concatenate(blocks)


@each_input
def test_every_input_is_opened_as_it_says(name):
    kind = INPUTS[name]
    source = open_source(kind.make(X))
    assert open_source(source) is source
    assert source.shape[1] == 4
    assert source.shape[0] in (40, None)
    assert source.traits.rereadable == kind.again
    assert source.traits.by_feature == kind.by_column
    assert source.traits.remote == kind.lazy
    assert (source.names is not None) == kind.named
    assert source.kind and source.table == "X"
    assert source.members == [source]
    assert source.widths == (4,)
    np.testing.assert_array_equal(whole(source), X)
    if kind.again:
        np.testing.assert_array_equal(whole(source), X)


@each_input
def test_parts_are_the_rows_in_order(name):
    source = open_source(INPUTS[name].make(X))
    parts = source.parts(3)
    assert len(parts) <= max(3, 6 if INPUTS[name].lazy else 3)
    np.testing.assert_array_equal(np.concatenate([whole(part) for part in parts]), X)


@each_input
def test_what_can_be_cut_is_cut_anywhere(name):
    source = open_source(INPUTS[name].make(X))
    if source.can_be_cut:
        np.testing.assert_array_equal(whole(source.between(3, 29)), X[3:29])
        assert source.between(3, 29).shape == (26, 4)
    else:
        with pytest.raises(TypeError, match="cannot be cut between two rows"):
            source.between(3, 29)


@each_input
def test_features_are_the_columns(name):
    source = open_source(INPUTS[name].make(X))
    if source.traits.by_feature:
        features = source.features()
        assert features.transposed
        assert features.shape == (4, 40)
        np.testing.assert_array_equal(whole(features), X.T)
    else:
        with pytest.raises(TypeError, match="cannot be read feature by feature"):
            source.features()


@each_input
def test_whole_means_all_rows_in_one_block(name):
    source = open_source(INPUTS[name].make(X))
    if source.traits.whole:
        assert next(source.blocks(40)).shape == (40, 4)


@each_input
def test_an_empty_array_is_of_their_kind(name):
    kind = INPUTS[name]
    source = open_source(kind.make(X))
    empty = source.empty(2, 3)
    assert empty.shape == (2, 3)
    assert empty.dtype == source.dtype == kind.result_dtype("float64")
    assert type(empty).__module__.partition(".")[0] == kind.xp


def test_a_vector_is_a_target_and_no_table():
    found = PLSRegression(1).fit(X, X[:, 0])
    assert (found.y_mean_.shape, found.predict(X).shape) == ((1,), (40,))
    with pytest.raises(ValueError, match="y contains NaN: column 0, first in row 7"):
        PLSRegression(1).fit(X, np.where(np.arange(40) == 7, np.nan, X[:, 0]))
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
        open_source(X[:, 0])


def test_what_has_keys_is_no_stream_of_blocks(tmp_path):
    np.savez(tmp_path / "a.npz", rows=np.eye(3), labels=np.arange(3))
    with h5py.File(tmp_path / "a.h5", "w") as file, np.load(tmp_path / "a.npz") as archive:
        file["rows"], file["labels"] = np.eye(3), np.arange(3)
        group = zarr.open_group(tmp_path / "a.zarr", mode="w")
        for name in ("rows", "labels"):
            rows = file[name][:]
            group.create_array(name, shape=rows.shape, dtype=rows.dtype)[:] = rows
        for X in (file, archive, group, {"labels": 1, "rows": 2}):
            with pytest.raises(TypeError, match=r"cannot read rows from \w+; .* It holds .*'labels'.*X\[name\]"):
                open_source(X)


@pytest.mark.parametrize("make", [str, Path])
def test_a_list_of_paths_is_not_taken_for_rows(make):
    with pytest.raises(ValueError, match=r"list of text, such as 'a\.csv', .* pass lowdim\.scan\(X\)"):
        open_source([make("a.csv"), make("b.csv")])
    with pytest.raises(ValueError, match="Expected 2D array"):
        open_source(["a", "b"])


def test_what_has_no_rows_is_refused():
    """Each kind of input is asked whether it fits, and none of these questions fails."""
    for thing in (None, b"bytes", {}, {"a": 1}, object(), Ellipsis):
        with pytest.raises(TypeError, match="cannot read rows from"):
            open_source(thing)
    for thing in (print, int):
        with pytest.raises(TypeError, match="that was given as rows returned"):
            open_source(thing)
    for thing in (3, 2.5, [], ()):
        with pytest.raises(ValueError, match=r"Expected 2D array|sample\(s\)"):
            open_source(thing)
    with pytest.raises(FileNotFoundError, match="there is no file text"):
        open_source("text")
