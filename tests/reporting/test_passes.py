"""The first pass: what it finds in memory, from files and from Dask, and that its pieces add up to all rows; rows that
are drawn at random; and numbers for the page."""

import numpy as np
import pytest

from lowdim.reading import summarize
from lowdim.reporting.passes import Ranges, compact, first_pass, moments_of, sampled_rows
from lowdim.sources import open_source
from lowdim.summaries import Moments
from lowdim.summaries.base import union

RANDOM = np.random.default_rng(3)
X = RANDOM.normal(size=(700, 5)) * [1, 10, 1e-3, 1e3, 1] + [0, 1e8, 0, 5, -2]
INCOMPLETE = np.where(RANDOM.random(X.shape) < 0.1, np.nan, X)
INCOMPLETE[:, 4] = np.nan


def _facts(found):
    return (found.observed, found.mean, found.deviation, found.low, found.high)


@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:Degrees of freedom", "ignore:All-NaN")
def _expected(table):
    known = np.count_nonzero(~np.isnan(table), axis=0)
    empty = known == 0
    filled = np.where(empty, 0.0, table)
    facts = (np.nanmean(filled, axis=0), np.nanstd(filled, axis=0, ddof=1), np.nanmin(filled, axis=0))
    return (known, *(np.where(empty, np.nan, f) for f in (*facts, np.nanmax(filled, axis=0))))


@pytest.mark.parametrize("held", [True, False])
@pytest.mark.parametrize("table", [X, INCOMPLETE], ids=["complete", "incomplete"])
def test_facts_of_columns(table, held):
    found = first_pass(open_source(table), held, None, 0)
    for got, expected in zip(_facts(found), _expected(table), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-9)
    assert found.n == 700
    np.testing.assert_array_equal(found.missing, 700 - found.observed)


def test_facts_of_dask_and_of_rows_whose_number_is_not_known():
    dask = pytest.importorskip("dask.array")
    for rows, passes in ((dask.from_array(X, chunks=(150, 5)), 1), (lambda: iter(np.array_split(X, 9)), 2)):
        found = first_pass(open_source(rows), False, None, 0)
        assert found.n == 700 and found.passes == passes
        for got, expected in zip(_facts(found), _expected(X), strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-9)


def test_pieces_are_the_moments_of_all_rows():
    pieces = first_pass(open_source(X), False, None, 0).pieces
    assert len(pieces) > 90
    total, expected = union(pieces), summarize(X, Moments(5))
    assert total.n_rows == 700
    np.testing.assert_allclose(total.scatter, expected.scatter, rtol=1e-9, atol=1e-6)
    few = moments_of(total, np.array([3, 1]), ["d", "b"])
    np.testing.assert_array_equal(few.scatter, total.scatter[np.ix_([3, 1], [3, 1])])
    assert list(few.names) == ["d", "b"]


def test_pieces_follow_the_seed_and_not_the_blocks():
    dask = pytest.importorskip("dask.array")
    one = first_pass(open_source(X), False, None, 5).pieces
    other = first_pass(open_source(dask.from_array(X, chunks=(64, 5))), False, None, 5).pieces
    assert [piece.n_rows for piece in one] == [piece.n_rows for piece in other]
    np.testing.assert_allclose(one[7].mean, other[7].mean, rtol=1e-12)


@pytest.mark.parametrize("held", [True, False])
def test_weights_count_rows(held):
    weights = RANDOM.integers(0, 3, len(X))
    found = first_pass(open_source(X), held, weights.astype(float), 0)
    repeated = np.repeat(X, weights, axis=0)
    np.testing.assert_allclose(found.mean, repeated.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(found.deviation, repeated.std(axis=0, ddof=1), rtol=1e-9)


def test_ranges_merge():
    rows = np.column_stack([INCOMPLETE, np.arange(len(INCOMPLETE))])
    both, first, second = Ranges(5), Ranges(5), Ranges(5)
    both.update(rows)
    first.update(rows[:100])
    second.update(rows[100:])
    first.merge(second)
    for name in ("low", "high", "count", "whole", "least", "most"):
        np.testing.assert_array_equal(getattr(both, name), getattr(first, name))


@pytest.mark.parametrize("held", [True, False])
def test_infinity_is_an_error_that_names_the_place(held):
    table = X.copy()
    table[5, 2] = np.inf
    with pytest.raises(ValueError, match="row 5"):
        first_pass(open_source(table), held, None, 0)


@pytest.mark.parametrize("held", [True, False])
def test_whole_numbers_and_columns_that_count_the_rows(held):
    n = 3000
    columns = {
        "from 1": np.arange(1, n + 1),
        "from 1947": np.arange(1947, 1947 + n),
        "with a missing entry": np.where(np.arange(n) == 7, np.nan, np.arange(n)),
        "by halves": np.arange(n) / 2,
        "whole": RANDOM.integers(0, 9, n),
        "whole but one": np.where(np.arange(n) == n - 1, 0.5, 3),
        "decimal": RANDOM.normal(size=n),
    }
    table = np.column_stack(list(columns.values())).astype(float)
    found = first_pass(open_source(table), held, None, 0)
    names = np.array(list(columns))
    assert set(names[found.whole]) == {"from 1", "from 1947", "with a missing entry", "whole"}
    assert set(names[found.numbering]) == {"from 1", "from 1947"}


def test_the_sample_has_rows_of_the_table_in_their_order(monkeypatch):
    monkeypatch.setattr("lowdim.reporting.passes._SAMPLED", 100)
    monkeypatch.setattr("lowdim.reporting.passes._FEWEST_SAMPLED", 1)
    for table in (X, INCOMPLETE):
        sample = first_pass(open_source(table), False, None, 0).sample
        assert sample.shape == (100, 5)
        places = [
            int(np.flatnonzero(np.isclose(table, row, rtol=0, atol=0, equal_nan=True).all(axis=1))[0]) for row in sample
        ]
        assert places == sorted(set(places))
    np.testing.assert_array_equal(first_pass(open_source(X), True, None, 0).sample, X)


def test_entries_whose_squares_overflow_are_named():
    table = X.copy()
    table[17, 2] = 1e200
    with pytest.raises(ValueError, match=r"too large .* 1e\+200 in column 2, row 17"):
        first_pass(open_source(table), True, None, 0)


# Rows drawn at random from one or more tables, in memory or not.


DRAWN = np.random.default_rng(0)
FIRST, SECOND = DRAWN.standard_normal((500, 3)), DRAWN.standard_normal((500, 2))
SECOND[::7, 1] = np.nan


def in_blocks(rows):
    return open_source([rows[:120], rows[120:121], rows[121:]])


@pytest.mark.parametrize("most", [40, 500, 900])
def test_rows_of_several_tables_stay_together(most):
    numbers, (x, y) = sampled_rows([open_source(FIRST), open_source(SECOND)], 500, most, 0)
    assert len(numbers) == min(most, 500) and np.all(np.diff(numbers) > 0)
    assert np.array_equal(x, FIRST[numbers]) and np.array_equal(y, SECOND[numbers], equal_nan=True)


def test_blocks_give_the_same_rows_as_an_array():
    expected = sampled_rows([open_source(FIRST), open_source(SECOND)], 500, 60, 3)
    numbers, tables = sampled_rows([in_blocks(FIRST), in_blocks(SECOND)], 500, 60, 3)
    assert np.array_equal(numbers, expected[0])
    for found, wanted in zip(tables, expected[1], strict=True):
        assert np.array_equal(found, wanted, equal_nan=True)


def test_every_row_is_as_likely():
    counts = sum(
        np.bincount(sampled_rows([open_source(FIRST)], 500, 50, seed)[0], minlength=500) for seed in range(200)
    )
    # Of 200 draws of a tenth, each row is in 20 +- 4.2.
    assert counts.sum() == 200 * 50 and counts.min() > 3 and counts.max() < 42


# Numbers for the page: half the space where that loses nothing that is shown.


VALUES = np.random.default_rng(0).normal(size=(50, 3))


def test_most_values_take_half_the_space():
    incomplete = np.append(VALUES, [[np.nan, np.inf, 0.1]], axis=0)
    found = compact(incomplete)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, incomplete, rtol=1e-6)


@pytest.mark.parametrize("values", [np.full((4, 2), 0.1), np.zeros((3, 2)), np.empty((0, 2)), np.full((3, 2), np.nan)])
def test_so_do_columns_without_variation(values):
    assert compact(values).dtype == np.float32


@pytest.mark.parametrize(("scale", "offset"), [(1e150, 0.0), (1e-150, 0.0), (1.0, 1e8), ([1.0, 1.0, 1e60], 0.0)])
def test_no_digit_that_is_shown_is_lost(scale, offset):
    values = VALUES * scale + offset
    assert compact(values) is values
