"""A failure leaves the input, the fitted model and its summary as they were; bad numbers never become results."""

import copy
import warnings

import numpy as np
import pytest
from hypothesis import example, given, note, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import NotFittedError

from examples import FINDS_ALL, KEEPS_NOTHING, MODELS, SPECTRAL
from inputs import INPUTS, namespace
from lowdim import ICA, PCA, PPCA, AutoEncoder, FactorAnalysis, FeatureMapPCA, KernelPCA, Whitening
from lowdim.errors import LowdimWarning, MissingValues, NoVariance, UndeterminedCovariance
from lowdim.reading import summarize
from lowdim.selection import RULES
from lowdim.solvers import EM, SOLVERS
from lowdim.summaries import Moments

#: Errors that are meant for users.
OURS = (ValueError, MissingValues, NoVariance, UndeterminedCovariance)
X = np.round(8 * np.random.default_rng(0).standard_normal((12, 4)))


def state(model):
    """All attributes, summaries taken apart."""
    out = {}
    for name, value in vars(model).items():
        parts = (
            {f"{name}.{part}": getattr(value, part) for part in value.state}
            if hasattr(value, "state")
            else {name: value}
        )
        out |= copy.deepcopy(parts)
    return out


def unchanged(model, before):
    now = state(model)
    assert now.keys() == before.keys()
    for name, value in before.items():
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(now[name], value, err_msg=name)
        else:
            assert now[name] == value, name


def with_nan():
    bad = X.copy()
    bad[7, 2] = np.nan
    return bad


MAKERS = {
    "PCA": lambda: PCA(2),
    "PCA triangle": lambda: PCA(2, solver="triangle"),
    "Whitening": lambda: Whitening("zca"),
    "Whitening ledoit-wolf": lambda: Whitening(regularization="ledoit-wolf"),
}
BAD_ROWS = {
    "NaN": lambda: with_nan(),
    "infinity": lambda: np.where(X[3, 1] == X, np.inf, X),
    "overflow": lambda: np.where(X[3, 1] == X, 1e300, X),
    "other width": lambda: X[:, :3],
    "NaN and other width": lambda: with_nan()[:, 1:],
    "no rows": lambda: X[:0],
    "1-D": lambda: X[0],
    "complex": lambda: X * 1j,
    "text": lambda: X.astype(str) + np.array("x"),
    "ragged stream": lambda: [X[:3], X[3:, :2]],
    "stream with NaN in its last block": lambda: iter([X, with_nan()]),
}
each_maker = pytest.mark.parametrize("maker", list(MAKERS))
each_bad = pytest.mark.parametrize("bad", list(BAD_ROWS))


@each_bad
@each_maker
def test_partial_fit_of_a_bad_block_changes_nothing(maker, bad):
    model = MAKERS[maker]().partial_fit(X[:6]).partial_fit(X[6:])
    before = state(model)
    with pytest.raises(ValueError):
        model.partial_fit(BAD_ROWS[bad]())
    unchanged(model, before)


@each_bad
@each_maker
def test_a_bad_first_block_leaves_the_model_unfitted(maker, bad):
    if bad == "other width":
        return  # nothing to be other than
    model = MAKERS[maker]()
    with pytest.raises(ValueError):
        model.partial_fit(BAD_ROWS[bad]())
    with pytest.raises(NotFittedError):
        model.transform(X)
    assert not hasattr(model, "summary_")
    np.testing.assert_array_equal(model.partial_fit(X).mean_, MAKERS[maker]().partial_fit(X).mean_)


@pytest.mark.parametrize("start", ["fit", "partial_fit"])
@each_bad
@each_maker
def test_a_failed_fit_leaves_the_model_as_it_was(maker, bad, start):
    if bad == "other width":
        return  # a fit may have any width
    model = getattr(MAKERS[maker](), start)(X)
    before = state(model)
    with pytest.raises(ValueError):
        model.fit(BAD_ROWS[bad]())
    unchanged(model, before)


@pytest.mark.parametrize("weights", [-np.ones(12), np.zeros(12), np.ones(5)], ids=["negative", "zero", "short"])
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_bad_weights_leave_the_model_as_it_was(method, weights):
    model = PCA(2).partial_fit(X)
    before = state(model)
    with pytest.raises(ValueError, match="sample_weight"):
        getattr(model, method)(X, sample_weight=weights)
    unchanged(model, before)


def test_components_that_cannot_be_leave_the_summary_as_it_was():
    model = PCA(2).partial_fit(X)
    model.set_params(n_components=5)
    before = state(model)
    with pytest.raises(ValueError, match="n_components=5"):
        model.partial_fit(X)
    unchanged(model, before)


@pytest.mark.parametrize(
    "name", ["C order", "memmap", "csr_array", "csc_matrix", "pandas", "polars", "array_api_strict"]
)
def test_a_failure_leaves_the_rows_as_they_were(name):
    make = INPUTS[name].make
    rows, before = make(with_nan()), make(with_nan())
    for model in (PCA(2), *(PCA(2, solver=solver) for solver in SPECTRAL), Whitening()):
        with pytest.raises(ValueError, match="NaN"):
            model.fit(rows)
    dense = [np.asarray(r.toarray() if sparse.issparse(r) else r) for r in (rows, before)]
    np.testing.assert_array_equal(*dense)


# ---- Blocks that are fine alone and overflow together


@pytest.mark.parametrize("solver", ["auto", *(s for s in SPECTRAL if not SOLVERS[s].reads_columns)])
@pytest.mark.parametrize("way", ["stream", "partial_fit", "summary"])
def test_blocks_too_far_apart(solver, way):
    low, high = X[:, :2] * 1e145 - 1e160, X[:, :2] * 1e145 + 1e160
    model = PCA(1, solver=solver)
    if way != "stream" and solver in KEEPS_NOTHING:
        return
    with pytest.raises(ValueError, match="too large for their squares"):
        if way == "stream":
            model.fit([low, high])
        elif way == "partial_fit":
            model.partial_fit(low).partial_fit(high)
        else:
            kind = Moments if solver == "auto" else SOLVERS[solver].starts_from
            both = summarize(low, kind)
            both.merge(summarize(high, kind))
            PCA(1).fit_summary(both)


# ---- Never NaN


@st.composite
def nasty(draw):
    """Small tables of everything: NaN, infinity, huge, tiny, constant and repeated columns, repeated rows, zeros."""
    n, p = draw(st.integers(1, 6)), draw(st.integers(1, 5))
    scale = draw(st.sampled_from([1.0, 1e-320, 1e-200, 1e-155, 1e-8, 1e8, 1e100, 1e152, 1e154, 1e160, 1e300]))
    entries = st.integers(-9, 9).map(lambda v: v * scale)
    if draw(st.booleans()):
        entries = entries | st.sampled_from(
            [0.0, -0.0, 1.0, 1e-310, 1e-160, 1e5, 1e150, 1.3e154, 1e200, np.inf, np.nan]
        )
    rows = np.array(draw(st.lists(st.lists(entries, min_size=p, max_size=p), min_size=n, max_size=n)))
    change = draw(
        st.sampled_from(["none", "constant column", "constant row", "repeated columns", "repeated rows", "offset"])
    )
    if change == "constant column":
        rows[:, 0] = rows[0, 0]
    elif change == "constant row":
        rows[:] = rows[0]
    elif change == "repeated columns":
        rows = np.concatenate([rows, rows], axis=1)
    elif change == "repeated rows":
        rows = np.concatenate([rows, rows])
    elif change == "offset":
        rows = rows + 1e8
    return rows


KINDS = ("pca", "zca", "cholesky", "pca-cor", "zca-cor")
ESTIMATORS = {
    "AutoEncoder": lambda: AutoEncoder(1, hidden=()),
    "AutoEncoder variational": lambda: AutoEncoder(1, hidden=(), variational=True),
    "FeatureMapPCA": lambda: FeatureMapPCA(),
    "ICA": lambda: ICA(max_iter=50),
    "ICA ortho": lambda: ICA(1, ortho=True, density="student", max_iter=50),
    "ICA fixed-point": lambda: ICA(solver="fixed-point", max_iter=50),
    "KernelPCA": lambda: KernelPCA(kernel="rbf"),
    "KernelPCA krylov": lambda: KernelPCA(1, kernel="poly", solver="krylov"),
    "KernelPCA nystrom": lambda: KernelPCA(1, kernel="laplacian", solver="nystrom"),
    **{f"PCA {s}": (lambda s=s: PCA(solver=s)) for s in ("auto", *FINDS_ALL)},
    **{f"PCA {s}": (lambda s=s: PCA(1, solver=s)) for s in SPECTRAL if s not in FINDS_ALL},
    "PCA whiten": lambda: PCA(whiten=True),
    "PCA 0.9": lambda: PCA(0.9),
    **{f"PCA {rule}": (lambda rule=rule: PCA(rule)) for rule in RULES},
    "PPCA bic": lambda: PPCA("bic"),
    "FactorAnalysis map": lambda: FactorAnalysis("map", solver=EM(max_iter=50)),
    "PCA scale": lambda: PCA(1, scale=True),
    "PCA scale triangle": lambda: PCA(scale=True, solver="triangle"),
    "PCA ddof 0": lambda: PCA(ddof=0),
    **{f"Whitening {kind}": (lambda kind=kind: Whitening(kind)) for kind in KINDS},
    "Whitening oas": lambda: Whitening("zca", regularization="oas"),
    "Whitening ledoit-wolf": lambda: Whitening("zca-cor", regularization="ledoit-wolf"),
    "Whitening absolute": lambda: Whitening("cholesky", regularization=0.1),
    "PPCA": lambda: PPCA(1),
    "PPCA all": lambda: PPCA(),
    "PPCA em": lambda: PPCA(1, solver=EM(max_iter=50)),
    "PPCA vb": lambda: PPCA(1, prior="vb", solver=EM(max_iter=50)),
    "PPCA unstored": lambda: PPCA(1, missing="unstored", solver=EM(max_iter=50)),
    "FactorAnalysis": lambda: FactorAnalysis(1, solver=EM(max_iter=50)),
    "FactorAnalysis unstored": lambda: FactorAnalysis(1, missing="unstored", solver=EM(max_iter=50)),
    "FactorAnalysis newton": lambda: FactorAnalysis(1, rotation="varimax", scores="bartlett"),
    "Whitening relative": lambda: Whitening("pca", regularization=0.1, relative=True),
}  # fmt: skip


def test_every_model_of_one_table_is_here():
    one_table = {name for name, row in MODELS.items() if not row.two_tables}
    assert {type(make()).__name__ for make in ESTIMATORS.values()} == one_table


@pytest.mark.parametrize("kind", ["float64", "float32", "sparse"])
@settings(max_examples=30, deadline=None)
@given(rows=nasty())
@example(rows=np.array([[0, 0], [0, 0], [1.3e154, 1.3e154]]))  # the squares are numbers, their sum is not
@example(rows=np.array([[0.0], [1e100]]))  # nor is the fourth power
@example(rows=np.array([[0, 0, 0], [0, 0, 1e150]]))
# The squares of each fold are numbers, those of all folds are not; there are fewer rows than columns.
@example(rows=1e152 * np.array([[0, 0, 3, 8, 0], [0, 8, -2, -6, 0], [0, 0, 3, 8, 0], [0, 8, -2, -6, 0]]))
def test_a_clear_error_or_finite_results(kind, rows):
    """All models are given the same tables, since to draw one takes longer than to fit a model to it."""
    with np.errstate(over="ignore"):
        given_rows = rows.astype("float32") if kind == "float32" else rows
    if kind == "sparse":
        given_rows = sparse.csr_array(rows)
    for name, make in ESTIMATORS.items():
        note(name)
        assert_a_clear_error_or_finite_results(make(), given_rows)


def assert_a_clear_error_or_finite_results(model, given_rows):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LowdimWarning)  # anything else is an error
        try:
            model.fit(given_rows)
        except ValueError as error:
            assert type(error) in (ValueError, MissingValues, NoVariance, UndeterminedCovariance), (
                f"{type(error).__name__} from the depths: {error}"
            )
            return
        results = {name: value for name, value in vars(model).items() if isinstance(value, np.ndarray | float)}
        results["transform"] = model.transform(given_rows)
        if hasattr(model, "posterior"):
            results["filled"], results["deviations"] = model.impute(given_rows, return_std=True)
            results["score"] = model.score_samples(given_rows)
        elif hasattr(model, "impute"):
            results["filled"], results["score"] = model.impute(given_rows), model.score(given_rows)
    for what, value in results.items():
        assert np.all(np.isfinite(value)), f"{what} = {value}"


@pytest.mark.parametrize("xp", ["array_api_strict", "torch"])
@settings(max_examples=30, deadline=None)
@given(rows=nasty())
@example(rows=np.array([[0, 0], [0, 0], [1.3e154, 1.3e154]]))
@example(rows=np.zeros((2, 3)))
def test_the_same_in_other_namespaces(xp, rows):
    rows = namespace(xp).asarray(rows)
    for model in (PCA(), PCA(solver="triangle"), Whitening("zca", regularization=0.5)):
        try:
            model.fit(rows)
        except ValueError as error:
            assert type(error) in (ValueError, MissingValues, NoVariance, UndeterminedCovariance), (
                f"{type(error).__name__} from the depths: {error}"
            )
            continue
        assert np.all(np.isfinite(np.asarray(model.components_)))
        assert np.all(np.isfinite(np.asarray(model.explained_variance_)))
