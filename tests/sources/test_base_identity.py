"""What tells one table from another, and the rows after a given one, for every kind of input."""

import json

import numpy as np
import pytest
from scipy import sparse

from inputs import INPUTS, to_numpy
from lowdim.sources import open_source

X = np.round(8 * np.random.default_rng(0).standard_normal((60, 5)))
each = pytest.mark.parametrize("name", list(INPUTS))


def changed(i, j):
    other = X.copy()
    other[i, j] += 1
    return other


@each
def test_the_same_rows_have_the_same_identity_and_others_another(name):
    make = INPUTS[name].make
    identity = open_source(make(X)).identity()
    assert json.loads(json.dumps(identity)) == open_source(make(X.copy())).identity()
    for other in (changed(0, 0), X[:, :4]):
        assert open_source(make(other)).identity() != identity


@each
def test_identity_consumes_nothing(name):
    source = open_source(INPUTS[name].make(X))
    source.identity()
    assert sum(block.shape[0] for block in source.blocks(7)) == 60


def rows_of(source, rows=7):
    return [block.toarray() if sparse.issparse(block) else to_numpy(block) for block in source.blocks(rows)]


@each
def test_the_rows_after_a_row_come_in_the_same_blocks(name):
    make = INPUTS[name].make
    source = open_source(make(X))
    if not source.can_skip or source.traits.remote:
        # A pass that goes on reads the earlier rows again and drops them; for rows on other machines there is none.
        return
    expected = rows_of(open_source(make(X)))
    found = rows_of(open_source(make(X)).after(21))
    assert [len(block) for block in found] == [len(block) for block in expected[3:]]
    np.testing.assert_array_equal(np.concatenate(found), X[21:])


def test_rows_that_differ_late_are_told_apart_where_rows_can_be_cut():
    assert open_source(X).identity() != open_source(changed(59, 4)).identity()
