"""Rows, what a solver is handed: features, missing entries that are shown, and windows."""

import numpy as np
import pytest
from scipy import sparse

from inputs import FLOAT_INPUTS, INPUTS, blocks
from lowdim.reading import summarize
from lowdim.reading.rows import Rows
from lowdim.sources import open_source
from lowdim.sources.beside import BesideSource
from lowdim.summaries import Observed
from recorder import RecordedProgress

X = np.arange(3000.0).reshape(1000, 3)
W = np.arange(1000.0)


# ---- Windows: all rows once, with their weights, and in pieces from several places


def read(given, size, weights=None, random=None, progress=None):
    return list(Rows(open_source(given), weights, progress).windows(size, random))


@pytest.mark.parametrize("given", [X, sparse.csr_array(X), iter([X[:300], X[300:]]), [X[:1], X[1:990], X[990:]]])
def test_windows_hold_all_rows_in_order(given):
    found = read(given, 300, W)
    rows = [window.X.toarray() if sparse.issparse(window.X) else window.X for window in found]
    np.testing.assert_array_equal(np.concatenate(rows), X)
    np.testing.assert_array_equal(np.concatenate([window.weights for window in found]), W)
    assert len(found) >= 2 and all(window.X.shape[0] >= 300 for window in found[:-1])


def test_pieces_come_from_random_places_with_their_weights():
    found = read(X, 160, W, np.random.default_rng(0))
    for window in found:
        np.testing.assert_array_equal(window.X[:, 0], 3 * window.weights)
    np.testing.assert_array_equal(np.sort(np.concatenate([window.weights for window in found])), W)
    assert np.ptp(found[0].weights) > 500
    whole = read(X, 1000, W, np.random.default_rng(0))
    np.testing.assert_array_equal(whole[0].X, X)


def test_missing_values_are_allowed_and_infinity_is_named():
    incomplete_rows = X.copy()
    incomplete_rows[700, 1] = np.nan
    assert np.isnan(np.concatenate([window.X for window in read(incomplete_rows, 300)])).sum() == 1
    incomplete_rows[700, 1] = np.inf
    with pytest.raises(ValueError, match=r"(?=.*row 700)(?=.*column 1)"):
        read(incomplete_rows, 300)
    with pytest.raises(ValueError, match=r"(?=.*row 700)(?=.*column 1)"):
        read(incomplete_rows, 300, random=np.random.default_rng(0))


def test_weights_of_another_length_are_refused():
    with pytest.raises(ValueError, match="one entry per row"):
        read(iter([X]), 300, W[:-1])


def test_each_window_is_a_pass_of_its_own():
    progress = RecordedProgress()
    windows = Rows(open_source(X), None, progress).windows(300)
    next(windows)
    assert progress.ended == len(progress.passes) == 1
    assert len(list(windows)) + 1 == progress.ended == len(progress.passes)


# ---- Features

SMALL = np.arange(24.0).reshape(8, 3) ** 1.5


def test_rows_know_their_features():
    rows = Rows(open_source(SMALL))
    assert rows.shape == (8, 3)
    np.testing.assert_array_equal(rows.map_features(lambda block: block[:, :2]), SMALL.T[:, :2])
    assert rows.empty(2, 5).shape == (2, 5)


def test_streams_have_no_features():
    rows = Rows(open_source(blocks(SMALL)))
    with pytest.raises(TypeError, match="cannot be read feature by feature"):
        rows.map_features(lambda block: block)


# ---- Holes


def incomplete(row):
    rows = np.round(SMALL)
    rows[row, 1] = np.nan
    return rows


@pytest.mark.parametrize("name", FLOAT_INPUTS)
@pytest.mark.parametrize("row", [None, 0])
def test_missing_entries_of_the_first_block_are_shown(name, row):
    """Of every input but those whose rows lie elsewhere, or need a query; nothing is taken from a stream."""
    given = incomplete(row) if row is not None else np.round(SMALL)
    kind = INPUTS[name]
    rows = Rows(open_source(kind.make(given)))
    assert rows.shows_missing() == (row is not None and not kind.lazy and not (kind.queried and kind.again))
    assert rows.shows_missing() == rows.shows_missing()
    seen = rows.summarize(Observed(3))
    assert seen.n_rows == 8
    assert float(np.asarray(seen.count).sum()) == 24 - (row is not None)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, lambda rows: iter([rows[:5], rows[5:]])])
def test_missing_entries_in_rows_of_weight_zero_are_not_there(kind):
    weights = np.ones(8)
    assert Rows(open_source(kind(incomplete(2))), weights).shows_missing()
    weights[2] = 0
    assert not Rows(open_source(kind(incomplete(2))), weights).shows_missing()
    assert not Rows(open_source(kind(np.where(np.isnan(incomplete(2)), np.inf, SMALL))), np.ones(8)).shows_missing()


def test_one_block_is_looked_at_for_missing_entries():
    """Holes further down are for the reading to find. Blocks of so many columns have 64 rows."""
    rows = np.zeros((200, 4096))
    rows[64, 0] = np.nan
    assert not Rows(open_source(rows)).shows_missing()
    rows[63, 0] = np.nan
    assert Rows(open_source(rows)).shows_missing()


def test_integers_have_no_missing_entries():
    assert not Rows(open_source(np.ones((3, 2), dtype=int))).shows_missing()


def test_missing_entries_of_tables_side_by_side_and_of_what_has_to_be_computed():
    stream = open_source(iter([incomplete(1)[:4], incomplete(1)[4:]]))
    pair = BesideSource([open_source(np.ones((8, 2))), stream])
    assert Rows(pair).shows_missing()
    assert summarize(pair, Observed(5)).n_rows == 8
    rows = Rows(open_source(incomplete(0)))
    assert not rows.mapped(lambda block: block + 1).shows_missing()
    assert not rows.filled(np.zeros(3), np.ones(3), False).shows_missing()
