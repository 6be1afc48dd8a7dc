"""ICA's plan, its solvers as objects with their own options, and what every solver finds."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from lowdim import ICA, PCA, plan
from lowdim.errors import ConvergenceWarning, RankWarning
from lowdim.solvers import (
    ICA_SOLVERS,
    FixedPointICA,
    IcaSolver,
    Krylov,
    Plan,
    QuasiNewtonICA,
    Status,
)
from models.ica_mixes import gradient, mix
from recorder import heard, passes_of

X, _ = mix("both", 2000)
MANY, _ = mix("both", 48_000)


# ---- Solver objects


@pytest.mark.parametrize(
    ("by_name", "by_object"),
    [
        ({}, QuasiNewtonICA()),
        ({"ortho": True, "tol": 1e-9}, QuasiNewtonICA(tol=1e-9, ortho=True)),
        ({"max_iter": 400}, QuasiNewtonICA(max_iter=400)),
        ({"solver": "fixed-point", "tol": 1e-8}, FixedPointICA(tol=1e-8)),
        ({"solver": "fixed-point", "ortho": True}, FixedPointICA()),
    ],
)
def test_an_object_is_its_name_with_options(by_name, by_object):
    one, other = ICA(**by_name).fit(X), ICA(solver=by_object).fit(X)
    np.testing.assert_array_equal(one.components_, other.components_)
    assert one.loglike_ == other.loglike_
    assert one.plan_ == other.plan_
    assert other.plan_.solver == by_object
    assert one.solver_ == other.solver_ == by_object.name
    assert np.abs(gradient(other, X)).max() <= 1.01 * by_object.tol


def test_all_options_of_an_object_count():
    with pytest.warns(ConvergenceWarning, match=r"stopped after 3 steps .* above tol=1e-08\. Raise max_iter"):
        model = ICA(solver=QuasiNewtonICA(tol=1e-8, max_iter=3)).fit(X)
    assert model.n_iter_ == 3
    with pytest.warns(ConvergenceWarning, match="use solver='quasi-newton'"):
        ICA(solver=FixedPointICA(max_iter=2)).fit(X)
    # Without memory the iteration is another one, with the same end.
    forgetful = ICA(solver=QuasiNewtonICA(memory=0, tol=1e-8), w_init=np.eye(5)).fit(X)
    model = ICA(tol=1e-8, w_init=np.eye(5)).fit(X)
    assert forgetful.n_iter_ != model.n_iter_
    np.testing.assert_allclose(forgetful.components_, model.components_, atol=1e-6)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: QuasiNewtonICA(tol=-1), r"QuasiNewtonICA\(tol=-1\): a positive number is needed\."),
        (lambda: QuasiNewtonICA(tol="small"), r"QuasiNewtonICA\(tol='small'\): a positive number is needed\."),
        (lambda: QuasiNewtonICA(tol=np.inf), r"QuasiNewtonICA\(tol=inf\): a positive number is needed\."),
        (lambda: QuasiNewtonICA(tol=True), r"QuasiNewtonICA\(tol=True\): a positive number is needed\."),
        (lambda: FixedPointICA(tol=0.0), r"FixedPointICA\(tol=0\.0\): a positive number is needed\."),
        (lambda: QuasiNewtonICA(max_iter=-1), r"\(max_iter=-1\): a whole number of at least 0 is needed\."),
        (lambda: FixedPointICA(max_iter=1.5), r"\(max_iter=1\.5\): a whole number of at least 0 is needed\."),
        (lambda: QuasiNewtonICA(ortho=None), r"\(ortho=None\): True or False is needed\."),
        (lambda: QuasiNewtonICA(memory=-1), r"\(memory=-1\): a whole number of at least 0 is needed\."),
        (lambda: QuasiNewtonICA(memory=True), r"\(memory=True\): a whole number of at least 0 is needed\."),
    ],
)
def test_objects_check_their_options(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"solver": QuasiNewtonICA(), "tol": 1e-8},
            r"tol=1e-08 goes with a solver by name, .* pass solver=QuasiNewtonICA\(tol=1e-08\)\.",
        ),
        ({"solver": FixedPointICA(), "max_iter": 5}, r"pass solver=FixedPointICA\(max_iter=5\)\."),
        ({"solver": QuasiNewtonICA(), "ortho": True}, r"pass solver=QuasiNewtonICA\(ortho=True\)\."),
        ({"solver": QuasiNewtonICA(ortho=True), "ortho": False}, r"pass solver=QuasiNewtonICA\(ortho=False\)\."),
        ({"solver": FixedPointICA(), "ortho": True}, "ortho=True .* FixedPointICA has no such option"),
        ({"solver": "auto"}, "solver='auto' is not one of 'quasi-newton', 'fixed-point'"),
    ],
)
def test_no_option_is_ignored(options, message):
    for method in ("fit", "plan"):
        with pytest.raises(ValueError, match=message):
            getattr(ICA(**options), method)(X)


@pytest.mark.parametrize(
    ("solver", "message"),
    [
        (QuasiNewtonICA, r"solver must be a name or .*, got ABCMeta; make one: QuasiNewtonICA\(\)\."),
        (5, "solver must be a name or .*, got int"),
        (Krylov(), "solver must be a name or .*, got Krylov"),
    ],
)
def test_what_is_no_solver(solver, message):
    for method in ("fit", "plan"):
        with pytest.raises(TypeError, match=message):
            getattr(ICA(solver=solver), method)(X)


def test_scikit_learn_takes_objects():
    model = ICA(solver=QuasiNewtonICA(1e-5, ortho=True))
    again = clone(model)
    assert again.get_params()["solver"] == model.solver == QuasiNewtonICA(1e-5, ortho=True)
    assert repr(again) == repr(model)
    assert FixedPointICA() != FixedPointICA(1e-5)
    assert len({FixedPointICA(), FixedPointICA(), QuasiNewtonICA()}) == 2
    fitted = pickle.loads(pickle.dumps(model.fit(X)))
    assert fitted.plan_ == model.plan_
    np.testing.assert_array_equal(fitted.score_samples(X), model.score_samples(X))
    search = GridSearchCV(ICA(), {"solver": [QuasiNewtonICA(), QuasiNewtonICA(ortho=True), FixedPointICA()]}, cv=2)
    assert search.fit(X).best_params_["solver"] in search.param_grid["solver"]


def test_the_table_names_its_solvers():
    assert list(ICA_SOLVERS) == ["quasi-newton", "fixed-point"]
    for name, cls in ICA_SOLVERS.items():
        assert (cls.name, cls.one_pass) == (name, False)
        assert issubclass(cls, IcaSolver)
    assert QuasiNewtonICA.options() == ["tol", "max_iter", "ortho", "memory"]
    assert FixedPointICA.options() == ["tol", "max_iter"]
    assert repr(FixedPointICA()) == "FixedPointICA(tol=1e-06, max_iter=1000)"


# ---- Plans


@pytest.mark.parametrize("solver", list(ICA_SOLVERS))
@pytest.mark.parametrize("k", [None, 3, 0.9, 1])
@pytest.mark.parametrize("rows", [X, MANY], ids=["few", "many"])
def test_a_plan_is_what_runs(solver, k, rows):
    model = ICA(k, solver=solver)
    planned = model.plan(rows)
    assert isinstance(planned, Plan)
    assert not hasattr(model, "n_features_in_"), "the model is left as it is"
    model.fit(rows)
    assert planned.solver == model.plan_.solver
    starts = "1 start" if k == 1 else "5 starts"
    assert planned.why == model.plan_.why == f"as requested, from {starts}, after whitening by covariance"
    assert 0 < planned.passes <= model.plan_.passes == model.n_passes_
    if k != 0.9:
        assert planned.n_bytes == model.plan_.n_bytes > 0
    assert str(model.plan_).startswith(f"{solver}: {model.n_passes_} passes over the rows")


@pytest.mark.parametrize(
    ("options", "n", "said"),
    [
        ({}, 1_000_000, "from 5 starts, after"),
        ({}, 1_000_001, "from 1 start, as the fit is large, after"),
        ({"n_init": 1}, 1_000_001, "from 1 start, after"),
        ({"n_init": 3}, 1_000_001, "from 3 starts, after"),
        ({"w_init": np.eye(2)}, 1_000_001, "from 1 start, after"),
        ({"extended": False}, 1_000_001, "from 1 start, after"),
    ],
)
def test_a_plan_says_how_many_starts_there_are(options, n, said):
    assert said in str(plan(ICA(2, **options), (n, 2)))


def test_a_large_fit_says_that_it_has_one_start(monkeypatch):
    assert "from 5 starts" in str(ICA(3).fit(X).plan_)
    monkeypatch.setattr("lowdim.solvers.ica.objective._SEVERAL_STARTS_UP_TO", 9 * len(X) - 1)
    assert "from 1 start, as the fit is large" in str(ICA(3).fit(X).plan_)


def test_a_plan_of_whitening_and_unmixing():
    whitening, planned = PCA(3, ddof=0).plan(X), ICA(3, n_init=4).plan(X)
    once = ICA(3, n_init=1).plan(X)
    assert planned.passes - whitening.passes == 4 * (once.passes - whitening.passes)
    # Starts are tried one after the other.
    assert planned.n_bytes == once.n_bytes > whitening.n_bytes


def test_a_sample_and_white_rows_take_memory():
    def n_bytes(rows, **options):
        """Beyond those of the whitening."""
        return ICA(3, **options).plan(rows).n_bytes - PCA(3, ddof=0).plan(rows).n_bytes

    # A start that is given needs no sample.
    assert n_bytes(MANY) > 8 * 5000 * 5 + n_bytes(MANY, w_init=np.eye(3))
    wide = np.random.default_rng(0).standard_normal((3000, 13))
    white = 8 * 3000 * 3
    assert n_bytes(wide) == white + n_bytes(wide[:, :12])
    assert n_bytes(sparse.csr_array(wide[:, :12])) == white + n_bytes(wide[:, :12])
    # Of a stream they are not kept.
    assert n_bytes([wide[:1000], wide[1000:]]) == n_bytes(wide[:, :12])


@pytest.mark.parametrize("solver", ["quasi-newton", "fixed-point", QuasiNewtonICA(), FixedPointICA()], ids=str)
def test_plan_and_fit_refuse_the_same(solver):
    for make, k, message in (
        (lambda: X[:1], None, "n_samples=1: independent component analysis needs at least 2 rows"),
        (lambda: X, 6, "n_components=6 must be a whole number between 1 and 5"),
        (lambda: X, 1.5, "n_components=1.5 must be"),
        (lambda: X, "nonsense", "n_components='nonsense' is not one of"),
    ):
        for method in ("fit", "plan"):
            with pytest.raises(ValueError, match=message):
                getattr(ICA(k, solver=solver), method)(make())


def test_the_plan_of_a_stream_reads_its_first_block_at_most():
    taken = []

    def blocks():
        for block in (X[:1000], X[1000:]):
            taken.append(len(block))
            yield block

    assert "the rows are first gathered in memory" in ICA().plan(blocks()).why
    assert sum(taken) <= 1000, "opening looks at the first block"


# ---- Whitening


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("k", [None, 5, 3, 0.9, "kaiser", "cv"])
def test_whitening_is_that_of_pca(k, dtype):
    rows = X.astype(dtype)
    everything = k in (None, 5)
    pca = PCA(k, whiten=True, scale=everything, ddof=0).fit(rows)
    model = ICA(k).fit(rows)
    expected = pca.components_ / np.sqrt(pca.explained_variance_)[:, None]
    expected = expected / (pca.scale_ if everything else 1.0)
    # In float32 it is made better by the covariance that it leads to.
    np.testing.assert_allclose(model.whitening_, expected, rtol=1e-14, atol=0.0 if dtype == "float64" else 1e-6)
    assert model.whitening_.dtype == rows.dtype
    assert model.n_components_ == pca.n_components_
    assert model.noise_variance_ == pca.noise_variance_
    np.testing.assert_array_equal(model.mean_, pca.mean_)


def test_the_warnings_of_pca():
    twice = np.column_stack([X, X])
    with pytest.warns(RankWarning) as ours:
        model = ICA().fit(twice)
    with pytest.warns(RankWarning) as theirs:
        pca = PCA(whiten=True, scale=True, ddof=0).fit(twice)
    assert [str(w.message) for w in ours] == [str(w.message) for w in theirs]
    with pytest.warns(RankWarning, match="5 of 10 directions have no variance and were left out") as ours:
        model.score(twice)
    with pytest.warns(RankWarning) as theirs:
        pca.score(twice)
    assert [str(w.message) for w in ours] == [str(w.message) for w in theirs]


def test_weights_that_are_too_few():
    with pytest.raises(ValueError, match="n_samples=1: independent component analysis needs at least 2 rows"):
        ICA().fit(X[:2], sample_weight=[0.0, 1.0])


# ---- Results


@pytest.mark.parametrize("solver", list(ICA_SOLVERS))
def test_sources_are_in_order(solver):
    model = ICA(4, n_init=3, random_state=1, solver=solver)
    made = passes_of(model.fit, X)
    # One pass for the whitening.
    assert model.plan_.passes == model.n_passes_ == len(made)
    assert model.status_ is Status.CONVERGED
    assert np.all(np.diff(model.explained_variance_) <= 0)
    np.testing.assert_allclose(model.components_, model.unmixing_ @ model.whitening_, atol=1e-12)
    np.testing.assert_allclose(model.components_ @ model.mixing_, np.eye(4), atol=1e-10)
    assert model.stability_.shape == (4,)
    Z = (X - model.mean_) @ model.whitening_.T
    np.testing.assert_allclose(Z.T @ Z / len(X), np.eye(4), atol=1e-8)


def test_progress_is_told_of_all_passes():
    wide = np.column_stack([X, X @ np.random.default_rng(0).standard_normal((5, 20))])
    for data in (X, wide):
        model = ICA(3)
        made = passes_of(model.fit, data)
        assert made.count("ScoreMoments") + made.count("Sample") == model.n_passes_ - 1
        assert made[0] == "Moments"


def test_callbacks_are_told_of_the_passes_over_all_rows_and_not_of_those_over_a_sample():
    pytest.importorskip("sklearn.callback", reason="callbacks need scikit-learn 1.9 or newer")
    model = ICA(3)
    told = heard(model, MANY).passes
    assert told.count("ScoreMoments") + told.count("Sample") == model.n_passes_ - 1
    assert told[:2] == ["Moments", "Sample"]
