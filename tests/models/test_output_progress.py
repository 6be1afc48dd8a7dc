"""Fits tell scikit-learn's callbacks of each pass over the rows and each block in it."""

import numpy as np
import pytest
from sklearn import decomposition
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from inputs import INPUTS
from lowdim import PCA, PPCA, FactorAnalysis, Whitening
from lowdim.solvers import SOLVERS
from recorder import Recorder, heard

callback = pytest.importorskip("sklearn.callback", reason="callbacks need scikit-learn 1.9 or newer")

rng = np.random.default_rng(0)
X = np.round(8 * rng.standard_normal((5000, 6)) @ np.diag([6.0, 5, 4, 3, 2, 1]))


@pytest.mark.parametrize(
    ("solver", "passes"),
    [("covariance", ["Moments"]), ("triangle", ["Triangle"]), ("gram", ["Gram"]), ("krylov", ["Columns", "Sketch"])],
)
def test_each_pass_is_reported(solver, passes):
    recorder = heard(PCA(2, solver=solver), X[:500])
    assert recorder.passes[: len(passes)] == passes
    assert set(recorder.passes) == set(passes)


@pytest.mark.parametrize(
    "model", [Whitening("zca"), Whitening(regularization="ledoit-wolf")], ids=["zca", "ledoit-wolf"]
)
def test_whitening_too(model):
    assert len(heard(model, X).passes) == 1


def test_each_block_is_told_and_their_number_beforehand():
    recorder = heard(PCA(2, solver="triangle"), X)
    (n_blocks,) = [n for name, n in recorder.begun if name == "Triangle"]
    assert n_blocks == sum(name == "block" for name, _ in recorder.begun)
    assert n_blocks >= 2


def test_a_stream_has_an_unknown_number_of_blocks():
    recorder = heard(PCA(2), (X[i : i + 1000] for i in range(0, 5000, 1000)))
    assert ("Moments", None) in recorder.begun


@pytest.mark.parametrize("solver", ["covariance", "triangle"])
def test_a_list_of_blocks_too(solver):
    """Of more and smaller blocks than those that an array would be cut into."""
    recorder = heard(PCA(2, solver=solver), [X[i : i + 700] for i in range(0, 5000, 700)])
    assert len(recorder.passes) == 1


def test_a_second_solve_is_a_second_pass():
    """`auto` reads the rows again where the covariance has lost the digits asked for: first to see whether there is any
    variance in these directions (`Columns` of the rows projected on them), and then, as there is, for the R factor."""
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((6, 6)))[0]
    rows = X @ np.diag([1, 1, 1, 1, 1, 1e-9]) @ turn
    assert heard(PCA(), rows).passes == ["Moments", "Columns", "Triangle"]


def test_threads_tell_each_block():
    rows = np.tile(X, (40, 1))
    with threadpool_limits(2, user_api="blas"):
        recorder = heard(PCA(2, solver="covariance"), rows)
    (n_blocks,) = [n for name, n in recorder.begun if name == "Moments"]
    assert n_blocks == sum(name == "block" for name, _ in recorder.begun)


def test_a_failed_fit_is_torn_down():
    bad = X.copy()
    bad[-1, 0] = np.nan
    recorder = Recorder()
    with pytest.raises(ValueError, match="NaN"):
        PCA(2).set_callbacks(recorder).fit(bad)
    assert (recorder.set_up, recorder.torn_down) == (1, 1)
    assert [name for name, _ in recorder.ended if name != "block"] == ["Moments"]


def test_a_pass_that_finds_missing_entries_ends_as_others_do():
    rows = np.tile(X, (40, 1))
    rows[-1, 0] = np.nan
    assert heard(PPCA(2), rows).passes[:2] == ["Moments", "Patterns"]


@pytest.mark.parametrize("model", [PPCA(1), FactorAnalysis(1)], ids=["ppca", "factors"])
def test_steps_of_em_are_told_also_if_they_read_no_row(model):
    rows = X[:300] + X[300:600, :1]
    rows[::7, 0] = np.nan
    recorder = heard(model, rows)
    assert recorder.passes == ["Patterns", "EM"]
    n_steps = [name for name, _ in recorder.begun].count("block") - 1
    assert model.n_passes_ == 1 and n_steps > model.n_iter_ >= 1


def test_fit_transform_is_told_too():
    recorder = Recorder()
    PCA(2).set_callbacks(recorder).fit_transform(X)
    assert recorder.passes == ["Moments"]


def test_results_on_their_way_to_a_file_are_told_too(tmp_path):
    recorder, model, rows = Recorder(), PCA(2).fit(X), np.tile(X, (20, 1))
    model.set_callbacks(recorder).transform_to(rows, tmp_path / "out.csv")
    assert recorder.passes == ["transform_to", "rows"]
    (n_blocks,) = [n for name, n in recorder.begun if name == "rows"]
    assert n_blocks == sum(name == "block" for name, _ in recorder.begun) >= 2
    assert sorted(map(str, recorder.begun)) == sorted(map(str, recorder.ended))
    with pytest.raises(FileExistsError):
        model.transform_to(rows, tmp_path / "out.csv")
    rows[-1, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model.transform_to(rows, tmp_path / "more.csv")
    assert recorder.set_up == recorder.torn_down


# ---- sklearn.callback.ProgressBar


@pytest.fixture
def bar():
    pytest.importorskip("rich", reason="rich is not installed")
    return callback.ProgressBar(max_propagation_depth=None)


@pytest.mark.parametrize("solver", [*SOLVERS, "auto"])
def test_a_progress_bar_of_every_solver(solver, bar, capsys):
    expected = PCA(2, solver=solver).fit(X[:300])
    pca = PCA(2, solver=solver).set_callbacks(bar).fit(X[:300])
    np.testing.assert_array_equal(pca.components_, expected.components_)
    assert "PCA" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["csr_array", "polars", "generator", "list of blocks", "array_api_strict", "torch"])
def test_a_progress_bar_of_every_input(name, bar, capsys):
    PCA(2).set_callbacks(bar).fit(INPUTS[name].make(X[:300]))
    assert "PCA" in capsys.readouterr().out


def test_a_progress_bar_over_threads(bar, capsys):
    rows = np.tile(X, (40, 1))
    with threadpool_limits(2, user_api="blas"):
        PCA(2, solver="covariance").set_callbacks(bar).fit(rows)
        Whitening().set_callbacks(bar).fit(rows)
    assert "Whitening" in capsys.readouterr().out


def test_the_bar_of_a_search_reaches_the_fits_inside(bar, capsys):
    grid = {"pca__n_components": [1, 2]}
    search = GridSearchCV(make_pipeline(StandardScaler(), PCA()), grid, cv=2)
    search.set_callbacks(bar).fit(X[:100])
    assert "GridSearchCV" in capsys.readouterr().out


def test_without_callbacks_nothing_is_built(monkeypatch):
    """A small fit should not pay for a listener that is not there."""
    monkeypatch.setattr("lowdim.models.output.CallbackProgress.__init__", lambda *a: pytest.fail("built"))
    np.testing.assert_allclose(
        PCA(2).fit(X).explained_variance_, decomposition.PCA(2, svd_solver="full").fit(X).explained_variance_
    )
