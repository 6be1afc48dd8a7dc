"""Windows of rows: all rows once, with their weights, and in pieces from several places."""

import numpy as np
import pytest
from scipy import sparse

from lowdim import open_source
from lowdim.reading.rows import Rows
from recorder import RecordedProgress

X = np.arange(3000.0).reshape(1000, 3)
W = np.arange(1000.0)


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
    incomplete = X.copy()
    incomplete[700, 1] = np.nan
    assert np.isnan(np.concatenate([window.X for window in read(incomplete, 300)])).sum() == 1
    incomplete[700, 1] = np.inf
    with pytest.raises(ValueError, match=r"(?=.*row 700)(?=.*column 1)"):
        read(incomplete, 300)
    with pytest.raises(ValueError, match=r"(?=.*row 700)(?=.*column 1)"):
        read(incomplete, 300, random=np.random.default_rng(0))


def test_weights_of_another_length_are_refused():
    with pytest.raises(ValueError, match="one entry per row"):
        read(iter([X]), 300, W[:-1])


def test_each_window_is_a_pass_of_its_own():
    progress = RecordedProgress()
    windows = Rows(open_source(X), None, progress).windows(300)
    next(windows)
    assert progress.ended == len(progress.passes) == 1
    assert len(list(windows)) + 1 == progress.ended == len(progress.passes)
