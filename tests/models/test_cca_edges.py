"""CCA and GCCA at the edges: lost rank, small directions, offsets, units, few rows, warnings, names, near misses."""

import numpy as np
import pytest
from scipy import sparse

from examples import STREAMS
from lowdim import CCA, GCCA
from lowdim.errors import RankWarning, ResolutionWarning, SmallSampleWarning
from models.canonical_tables import COMMON, RNG, THIRD, WIDE_X, WIDE_Y, X, Y, each_solver

# ---- Edges


@each_solver
def test_correlations_of_exactly_one(solver):
    both = np.column_stack([Y[:, :2], X[:, 0] - X[:, 1]])
    cca = CCA(solver=solver).fit(X, both)
    np.testing.assert_allclose(cca.correlations_[0], 1.0, rtol=1e-12)
    assert cca.correlations_[0] <= 1.0
    T, U = cca.transform(X, both)
    np.testing.assert_allclose(T[:, 0], U[:, 0], atol=1e-6)


@each_solver
def test_tables_of_lost_rank(solver):
    deficient = np.column_stack([X, X[:, 0] + 2 * X[:, 1], np.full(80, 3.0)])
    with pytest.warns(RankWarning, match="only 4 of n_components=5 could be computed"):
        cca = CCA(5, solver=solver).fit(deficient, np.column_stack([Y, Y[:, 0]]))
    assert cca.rank_ == (5, 4)
    np.testing.assert_allclose(cca.correlations_, CCA().fit(X, Y).correlations_, rtol=1e-9)
    np.testing.assert_array_equal(cca.x_rotations_[-1], 0.0)
    np.testing.assert_array_equal(cca.x_structure_[-1], 0.0)


def test_small_directions_count_as_much_as_large_ones():
    """A column that is another plus 1e-7 of what y holds: a covariance loses it, and the rows are read again."""
    hidden = RNG.standard_normal(80)
    x = np.column_stack([X[:, 0], X[:, 0] + 1e-7 * hidden])
    y = hidden + 0.1 * RNG.standard_normal(80)
    cca = CCA().fit(x, y)
    assert cca.solver_ == "triangle"
    direct = np.column_stack([X[:, 0], hidden])
    np.testing.assert_allclose(cca.correlations_, CCA().fit(direct, y).correlations_, rtol=1e-6)


@pytest.mark.parametrize("offset", [1e6, 1e8])
@each_solver
def test_offsets_do_no_harm(solver, offset):
    rng = np.random.default_rng(3)
    x, y = np.round(100 * rng.standard_normal((40, 4))), np.round(100 * rng.standard_normal((40, 3)))
    near, far = CCA(solver=solver).fit(x, y), CCA(solver=solver).fit(x + offset, y - offset)
    np.testing.assert_allclose(far.correlations_, near.correlations_, rtol=1e-8)
    np.testing.assert_allclose(far.x_rotations_, near.x_rotations_, atol=1e-7)


@each_solver
def test_units_do_no_harm(solver):
    plain, moved = CCA(solver=solver).fit(X, Y), CCA(solver=solver).fit(np.ldexp(X, 500), np.ldexp(Y, -490))
    np.testing.assert_allclose(moved.correlations_, plain.correlations_, rtol=1e-10)
    units = 2.0 ** np.arange(-200, 200, 80)
    columns = CCA(scale=False, solver=solver).fit(X * units, Y)
    np.testing.assert_allclose(columns.correlations_, plain.correlations_, rtol=1e-10)


def test_too_few_rows_are_warned_about():
    with pytest.warns(SmallSampleWarning, match="only 12 rows: correlations of 1 can be found in any data"):
        cca = CCA().fit(WIDE_X, WIDE_Y)
    np.testing.assert_allclose(cca.correlations_, 1.0)
    assert cca.n_components_ == 11


def test_three_rows():
    x, y = np.array([[1.0], [2.0], [4.0]]), np.array([1.0, 3.0, 2.0])
    np.testing.assert_allclose(CCA().fit(x, y).correlations_, [abs(np.corrcoef(x[:, 0], y)[0, 1])])


@pytest.mark.parametrize("model", [CCA(), GCCA(), CCA(regularization=0.5)], ids=str)
def test_a_table_without_variance_is_refused(model):
    for x, y in ((X, np.ones(80)), (np.ones((80, 2)), Y)):
        with pytest.raises(ValueError, match="there is no variance, and this model needs some"):
            model.fit(x, y)


def test_gcca_takes_and_gives_lists():
    gcca = GCCA(2).fit([X, Y], THIRD)
    assert [v.shape for v in gcca.transform([X, Y, THIRD])] == [(80, 2)] * 3
    assert len(gcca.fit_transform([X, Y], THIRD)) == 3
    assert gcca.transform(X).shape == (80, 2)
    assert [b.shape for b in gcca.inverse_transform(gcca.transform([X, Y, THIRD]))] == [(80, 5), (80, 4), (80, 3)]
    np.testing.assert_allclose(
        gcca.pair_correlations_[0, 0, 1], np.corrcoef(*[v[:, 0] for v in gcca.transform([X, Y, THIRD])[:2]])[0, 1]
    )
    assert "3 tables of 5, 4, 3 columns" in str(gcca)
    with pytest.raises(ValueError, match="X has 4 tables, the model was fitted on 3"):
        gcca.transform([X, Y, THIRD, X])
    with pytest.raises(ValueError, match="X has 2 tables, the model was fitted on 3"):
        gcca.transform([X, Y])
    with pytest.raises(ValueError, match="table 1 has 3 columns, the model was fitted on 4"):
        gcca.transform([X, THIRD, Y])
    with pytest.raises(ValueError, match="GCCA needs two or more tables"):
        GCCA().fit([X])


# ---- Found by trying to break it


def test_a_stream_that_loses_directions_says_so():
    """With n_components=None too; the rows are gone and cannot be read again."""
    rng = np.random.default_rng(0)
    Z, hidden = rng.standard_normal((100, 3)), rng.standard_normal((100, 1))
    x, y = np.hstack([Z, Z[:, :1] + 1e-8 * hidden]), np.hstack([hidden, rng.standard_normal((100, 1))])
    message = "cannot distinguish the smallest directions of the tables from rounding"
    with pytest.warns(ResolutionWarning, match=message):
        CCA().fit((x[i : i + 10] for i in range(0, 100, 10)), (y[i : i + 10] for i in range(0, 100, 10)))
    np.testing.assert_allclose(CCA().fit(x, y).correlations_[0], 1.0, rtol=1e-6)


def test_dropped_directions_are_counted():
    with pytest.warns(RankWarning, match="1 of 6 directions of X have no variance and were left out"):
        CCA().fit(np.column_stack([X, X[:, 0]]), Y)
    with pytest.warns(RankWarning, match="1 of 4 directions of table 1 have no variance"):
        GCCA(2).fit([X, np.column_stack([THIRD, np.ones(80)])])


def test_three_tables_are_not_two():
    """Ranks count for each two tables: three small ones have no correlations of 1."""
    rng = np.random.default_rng(0)
    gcca = GCCA(1).fit([rng.standard_normal((12, 4)) for _ in range(3)])
    assert gcca.pair_correlations_[0, 0, 1] < 1.0


@pytest.mark.filterwarnings("ignore::lowdim.errors.SmallSampleWarning")
@pytest.mark.parametrize("model", [CCA(1), GCCA(1)], ids=str)
def test_rows_that_are_all_the_same_may_come_first(model):
    model.partial_fit(X[:5], np.zeros((5, 4)))
    assert not hasattr(model, "n_components_")
    model.partial_fit(X[5:], Y[5:])
    whole = CCA(1).fit(X, np.vstack([np.zeros((5, 4)), Y[5:]]))
    np.testing.assert_allclose(model.correlations_, whole.correlations_, rtol=1e-10)


def test_which_table_has_no_variance():
    with pytest.raises(ValueError, match="all rows of y are the same"):
        CCA().fit(X, np.ones((80, 2)))
    with pytest.raises(ValueError, match="all rows of table 1 are the same"):
        GCCA(1).fit([X, np.ones((80, 2)), Y])


def test_tables_at_transform_belong_together():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(Y, columns=list("abcd"))
    cca = CCA(2).fit(X, frame)
    with pytest.raises(ValueError, match="X has 80, y has 78 rows"):
        cca.transform(X, frame[:78])
    with pytest.raises(ValueError, match="y has columns 'b', 'a', 'c', 'd', expected 'a', 'b', 'c', 'd'"):
        cca.transform(X, frame[list("bacd")])
    with pytest.raises(ValueError, match="table 0 has 80, table 1 has 5 rows"):
        GCCA(1).fit([X, Y]).transform([X, Y[:5]])


def test_significance_is_of_the_fit():
    cca = CCA(regularization=0.5).fit(X, Y).set_params(regularization=0.0)
    with pytest.raises(ValueError, match="tests are for correlations without regularization"):
        cca.significance()


def test_gcca_gives_frames():
    pandas = pytest.importorskip("pandas")
    first, second = GCCA(1).set_output(transform="pandas").fit([X, Y]).transform([X, Y])
    assert isinstance(first, pandas.DataFrame)
    np.testing.assert_allclose(
        first.to_numpy().ravel() @ np.asarray(second).ravel() / 79, CCA(1).fit(X, Y).correlations_[0]
    )


def test_gcca_of_vectors_lists_and_generators():
    expected = GCCA(1).fit([X[:, :1], Y]).correlations_
    for tables in ([X[:, 0], Y], [X[:, :1].tolist(), Y.tolist()], [iter([X[:50, :1], X[50:, :1]]), iter([Y])]):
        np.testing.assert_allclose(GCCA(1).fit(tables).correlations_, expected, rtol=1e-10)


def test_variates_of_wide_tables_with_small_directions():
    rng = np.random.default_rng(0)
    U, V = np.linalg.qr(rng.standard_normal((14, 13)))[0], np.linalg.qr(rng.standard_normal((40, 13)))[0]
    x = (U * np.logspace(0, -8, 13)) @ V.T
    y = x[:, :5] + 1e-3 * rng.standard_normal((14, 5))
    with pytest.warns(SmallSampleWarning):
        cca = CCA(3, scale=False).fit(x, y)
    T, u = cca.transform(x, y)
    np.testing.assert_allclose(T.std(axis=0, ddof=1), 1.0, rtol=1e-5)
    np.testing.assert_allclose(
        [np.corrcoef(a, b)[0, 1] for a, b in zip(T.T, u.T, strict=True)], cca.correlations_, atol=1e-5
    )


def test_gcca_has_no_more_components_than_ranks():
    thin = np.column_stack([X[:, 0], 2 * X[:, 0], -X[:, 0]])
    with pytest.warns(RankWarning, match="2 of 3 directions of table 0 have no variance"):
        gcca = GCCA().fit([thin, X, Y])
    assert gcca.n_components_ == 1


def test_a_table_that_has_nothing_in_common():
    """Its variate is zero, not rounding blown up."""
    rows = np.linalg.qr(np.column_stack([np.ones(80), COMMON, RNG.standard_normal((80, 4))]))[0][:, 1:]
    a, b, c = rows[:, :2], rows[:, :2] + 0.5 * rows[:, 4:6], rows[:, 2:4]
    for solver in STREAMS:
        gcca = GCCA(1, solver=solver).fit([a, b, c])
        np.testing.assert_array_equal(gcca.rotations_[2], 0.0)
        np.testing.assert_allclose(gcca.pair_correlations_[0, 0, 1], np.sqrt(0.8), rtol=1e-9)


def test_scores_of_held_out_rows():
    gcca = GCCA(1, regularization=0.1).fit([X[:60], Y[:60], THIRD[:60]])
    held = gcca.transform([X[60:], Y[60:], THIRD[60:]])
    pairs = [np.corrcoef(held[i][:, 0], held[j][:, 0])[0, 1] for i, j in ((0, 1), (0, 2), (1, 2))]
    np.testing.assert_allclose(gcca.score([X[60:], Y[60:], THIRD[60:]]), np.mean(pairs), rtol=1e-12)
    np.testing.assert_allclose(GCCA(1).fit(X, Y).score(X, Y), CCA(1).fit(X, Y).correlations_[0], rtol=1e-10)


def test_calls_that_are_nearly_right():
    with pytest.raises(ValueError, match=r"Pass all tables as one list: fit\(\[A, B, C\]\)"):
        GCCA().fit(X, Y, THIRD)
    with pytest.raises(TypeError, match=r"got a dict: pass list\(X.values\(\)\)"):
        GCCA().fit({"a": X, "b": Y})
    with pytest.raises(ValueError, match="Pass two streams, one for each table"):
        CCA().fit(row for row in [(X, Y)])


def test_torch_beside_other_kinds():
    torch, pandas = pytest.importorskip("torch", reason="torch is not installed"), pytest.importorskip("pandas")
    tall, wide = (X, Y), (WIDE_X, WIDE_Y)
    for x, y in (tall, wide):
        expected = CCA(2, regularization=0.1).fit(x, y)
        for other in (y, pandas.DataFrame(y), sparse.csr_array(y)):
            found = CCA(2, regularization=0.1).fit(torch.asarray(x), other)
            np.testing.assert_allclose(np.asarray(found.correlations_), expected.correlations_, rtol=1e-9)
            u = found.transform(torch.asarray(x), other)[1]
            np.testing.assert_allclose(np.asarray(u), expected.transform(x, y)[1], atol=1e-8)
