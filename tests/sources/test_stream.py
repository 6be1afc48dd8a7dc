"""Streams that are read more than once must give the same number of rows each time."""

import numpy as np
import pytest

from lowdim import CCA, ICA, PCA, open_source

X = np.random.default_rng(0).standard_normal((60, 5)) * [5.0, 4, 3, 2, 1]


def growing(*lengths):
    """A function that gives so many rows on its first calls, in blocks of 20; further calls are as the last one."""
    calls = iter(lengths)
    last = lengths[-1]

    def blocks():
        n = next(calls, last)
        return (X[i : min(i + 20, n)] for i in range(0, n, 20))

    return blocks


@pytest.mark.parametrize(("later", "message"), [(50, "gave 50 rows, and 60"), (20, "gave 20 rows, and 60")])
@pytest.mark.parametrize("model", [PCA(2, solver="krylov"), ICA(2)], ids=lambda m: type(m).__name__)
def test_fewer_rows_on_a_later_pass_are_refused(model, later, message):
    with pytest.raises(ValueError, match=f"the stream {message} rows when it was read before"):
        model.fit(growing(60, later))


def test_other_columns_on_a_later_pass_are_refused():
    passes = iter([X, X[:, :3]])
    with pytest.raises(
        ValueError, match="block 0 of the stream has 3 columns, when the stream was read before, it had 5"
    ):
        PCA(2, solver="krylov").fit(lambda: [next(passes)])


def test_another_dtype_on_a_later_pass_is_refused():
    passes = iter([X, X.astype(np.float32)])
    with pytest.raises(
        ValueError, match=r"block 0 of the stream is .*float32, when the stream was read before, it was"
    ):
        PCA(2, solver="krylov").fit(lambda: [next(passes)])


@pytest.mark.parametrize("got", [None, 5])
def test_a_function_that_returns_no_iterator_is_refused(got):
    with pytest.raises(TypeError, match=rf"returned {type(got).__name__}; it must return an iterator over blocks"):
        open_source(lambda: got)


def test_more_rows_on_a_later_pass_are_refused():
    with pytest.raises(ValueError, match="gave 60 rows, and 40 rows when it was read before"):
        PCA(2, solver="krylov").fit(growing(40, 60))


def test_rows_that_are_lost_between_fit_and_transform_are_refused():
    with pytest.raises(ValueError, match="gave 40 rows, and 60 rows when it was read before"):
        PCA(2).fit_transform(growing(60, 40))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        CCA(1).fit(growing(60), growing(40))


def test_a_pass_that_was_not_finished_counts_for_nothing():
    source = open_source(growing(60))
    next(source.blocks(5))
    for _ in range(2):
        assert sum(len(block) for block in source.blocks(25)) == 60


def test_the_same_rows_again_are_fine():
    model = PCA(2, solver="krylov").fit(growing(60))
    np.testing.assert_allclose(model.explained_variance_, PCA(2).fit(X).explained_variance_, rtol=1e-6)
