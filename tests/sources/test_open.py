"""open_source: which row of SOURCES opens what, what every source says of itself, and how it is cut and read."""

import numpy as np
import pytest

from inputs import INPUTS
from lowdim import open_source
from lowdim.sources import SOURCES, ShapedSource, Source, Traits, open_target

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
    assert isinstance(source, Source)
    assert source.shape[1] == 4
    assert source.shape[0] in (40, None)
    assert source.traits.rereadable == kind.again
    assert source.traits.by_feature == kind.by_column
    assert source.traits.remote == kind.lazy
    assert (source.names is not None) == kind.named
    assert source.kind and source.table == "X"
    assert source.members == [source]
    assert source.groups == (4,)
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


def test_a_source_is_its_own_source_and_a_vector_is_a_target():
    source = open_source(X)
    assert open_source(source) is source
    target = open_target(X[:, 0])
    assert (target.shape, target.vector, target.table) == ((40, 1), True, "y")


def test_a_shape_has_no_rows():
    shape = ShapedSource((10, 3), Traits(sparse=True))
    assert (shape.shape, shape.traits.sparse) == ((10, 3), True)
    with pytest.raises(TypeError, match=r"is a shape, \(10, 3\), and has no rows to read"):
        shape.blocks(2)


def test_tests_of_the_table_do_not_fail_on_anything():
    for thing in (None, 3, 2.5, "text", b"bytes", {}, {"a": 1}, [], (), object(), Ellipsis, print, int):
        for fits, _ in SOURCES:
            assert fits(thing) in (True, False)
