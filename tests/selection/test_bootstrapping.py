"""Intervals by the bootstrap, against refits of drawn rows and against theory."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris

from lowdim import CCA, ICA, PCA, PCR, PPCA, FactorAnalysis, PLSRegression, bootstrap, models
from lowdim.errors import SmallSampleWarning
from lowdim.selection.bootstrapping import ALIGNMENTS, _align
from lowdim.solvers import Newton

IRIS = load_iris().data
DIABETES, PROGRESS = load_diabetes(return_X_y=True)
random = np.random.default_rng(0)
MODELS = {
    "PCA": (PCA(2), IRIS, None),
    "PCA scale": (PCA(2, scale=True), IRIS, None),
    "PPCA": (PPCA(2), IRIS, None),
    "FactorAnalysis": (FactorAnalysis(2, solver=Newton(n_init=0)), DIABETES, None),
    "PCR": (PCR(3), DIABETES, PROGRESS),
    "PLSRegression": (PLSRegression(2), DIABETES, PROGRESS),
    "CCA": (CCA(2), IRIS[:, :2], IRIS[:, 2:]),
}


def test_every_model_that_can_be_bootstrapped_is_here():
    able = {name for name in models.__all__ if hasattr(getattr(models, name)(), "bootstrap_axes")}
    # Tables with categories have tests of their own, in test_bootstrapping_categories.py.
    assert able - {"MCA", "FAMD", "MFA"} == {type(model).__name__ for model, _, _ in MODELS.values()}


def statistics(fit):
    """What a bootstrap looks at."""
    return {name: np.asarray(getattr(fit, f"{name}_"), dtype=float) for name in fit.bootstrap_axes}


@pytest.mark.parametrize("name", list(MODELS))
@pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")
def test_draws_are_fits_of_rows_counted_so_often(name):
    """The counts of a draw are frequency weights."""
    model, X, y = MODELS[name]
    draws = bootstrap(model, X, y, n_resamples=4, random_state=3)
    assert draws.kind == "row"
    n = len(X)
    counts = np.random.RandomState(3).multinomial(n, np.full(n, 1 / n), size=4)
    for b in range(4):
        fit = clone(model).fit(X, *([] if y is None else [y]), sample_weight=counts[b].astype(float))
        for statistic, found in statistics(fit).items():
            if not statistic.endswith(("loadings", "structure")):
                np.testing.assert_allclose(draws.replicates[statistic][b], found, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", list(MODELS))
def test_blocks_of_one_row_are_rows(name):
    model, X, y = MODELS[name]
    rows = bootstrap(model, X, y, n_resamples=5, random_state=1, kind="row")
    blocks = bootstrap(model, X, y, n_resamples=5, random_state=1, kind="block", n_blocks=len(X))
    for statistic in rows.estimates:
        np.testing.assert_allclose(blocks.replicates[statistic], rows.replicates[statistic], rtol=1e-6, atol=1e-8)


@pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")
def test_the_estimate_is_the_fit_to_all_rows():
    for model, X, y in MODELS.values():
        fit = clone(model).fit(X, *([] if y is None else [y]))
        found = bootstrap(model, X, y, n_resamples=2, kind="block", n_blocks=20)
        for statistic, value in statistics(fit).items():
            np.testing.assert_allclose(found.estimates[statistic], value, rtol=1e-6, atol=1e-9)


def test_standard_errors_of_eigenvalues():
    """Of Gaussian rows: lambda sqrt(2 / n), by rows and by blocks alike (Anderson 1963)."""
    X = random.standard_normal((4000, 3)) * [5.0, 3.0, 1.0]
    expected = np.array([25.0, 9.0, 1.0]) * np.sqrt(2 / len(X))
    for kind in ("row", "block"):
        draws = bootstrap(PCA(), X, n_resamples=400, kind=kind, random_state=0)
        np.testing.assert_allclose(draws.standard_error("explained_variance"), expected, rtol=0.2)
    low, high = draws.interval("explained_variance")
    assert np.all(low < draws.estimates["explained_variance"])
    assert np.all(draws.estimates["explained_variance"] < high)
    wider = draws.interval("explained_variance", confidence_level=0.99)
    assert np.all(wider[0] <= low)
    assert np.all(wider[1] >= high)


def test_groups_are_drawn_whole():
    """Ten copies of each row tell no more than one: errors are those of the groups."""
    X = random.standard_normal((60, 3)) * [3.0, 2.0, 1.0]
    copies, groups = np.repeat(X, 10, axis=0), np.repeat(np.arange(60), 10)
    by_group = bootstrap(PCA(ddof=0), copies, n_resamples=200, groups=groups, random_state=0)
    by_row = bootstrap(PCA(ddof=0), X, n_resamples=200, random_state=0)
    assert by_group.kind == "groups"
    assert by_group.n_blocks == 60
    np.testing.assert_allclose(
        by_group.standard_error("explained_variance"), by_row.standard_error("explained_variance"), rtol=1e-8
    )


def test_loadings_can_be_turned_to_those_of_all_rows():
    """Two directions of nearly the same variance change places from draw to draw; what they span does not."""
    X = random.standard_normal((300, 4)) * [2.0, 2.0, 0.5, 0.5]
    draws = bootstrap(PCA(2), X, n_resamples=100, align="procrustes", random_state=0)
    assert draws.standard_error("loadings").max() < 0.3
    np.testing.assert_allclose(draws.replicates["loadings"].mean(axis=0), draws.estimates["loadings"], atol=0.1)


@pytest.mark.parametrize("align", ["match", "procrustes"])
def test_alignment_undoes_what_says_nothing(align):
    """Signs and order, or any rotation."""
    reference = {"loadings": random.standard_normal((6, 3)), "y_structure": random.standard_normal((4, 3))}
    turn = np.eye(3)[:, [2, 0, 1]] * [1, -1, -1]
    if align == "procrustes":
        turn = np.linalg.qr(random.standard_normal((3, 3)))[0]
    found = _align({name: L @ turn for name, L in reference.items()}, reference, ALIGNMENTS[align])
    for name, L in reference.items():
        np.testing.assert_allclose(found[name], L, atol=1e-12)


def test_intervals_of_loadings_hold_the_truth():
    """Matched loadings do at about the level asked for, however many components are kept."""
    deviations, held = np.sqrt([8.0, 4.0, 2.0, 1.0]), []
    for seed in range(40):
        X = np.random.default_rng(seed).standard_normal((200, 4)) * deviations
        low, high = bootstrap(PCA(4), X, n_resamples=100, random_state=seed).interval("loadings")
        held.append((low <= np.diag(deviations)) & (np.diag(deviations) <= high))
    assert np.mean(held) > 0.85


def test_a_seed_gives_the_same_draws():
    one, other = (bootstrap(PCA(2), IRIS, n_resamples=5, random_state=4) for _ in range(2))
    np.testing.assert_array_equal(one.replicates["loadings"], other.replicates["loadings"])


def test_streams_are_read_once():
    draws = bootstrap(PCA(2), (b for b in (IRIS[:60], IRIS[60:])), n_resamples=20, groups=np.arange(150) // 5)
    assert draws.n_blocks == 30
    listed = bootstrap(PCA(2), [IRIS[:60], IRIS[60:]], n_resamples=5, kind="block")
    assert listed.n_blocks == 150


def test_tables():
    draws = bootstrap(PCA(2), IRIS, n_resamples=20, random_state=0)
    table = draws.table("loadings")
    assert list(table) == ["component", "estimate", "std. error", "low", "high"]
    assert table.rows == [f"x{j}" for j in (1, 2, 3, 4) for k in (1, 2)] and table.row_name == "column"
    assert list(table["component"]) == ["PC1", "PC2"] * 4
    np.testing.assert_array_equal(table["estimate"].reshape(4, 2), draws.estimates["loadings"])
    np.testing.assert_array_equal([table["low"], table["high"]], draws.interval("loadings").reshape(2, 8))
    assert draws.table("explained_variance").rows == ["PC1", "PC2"]
    assert draws.table("noise_variance").rows == ["noise_variance"]
    with pytest.raises(ValueError, match="name=None is not one of 'explained_variance'"):
        draws.table()
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    named = bootstrap(PLSRegression(1), pd.DataFrame(IRIS[:, :2], columns=["a", "b"]), IRIS[:, 2:], n_resamples=3)
    assert named.table("coef").rows == ["y1", "y1", "y2", "y2"] and list(named.table("coef")["column"]) == list("abab")
    assert "20 draws of 150 rows" in str(draws)
    assert "explained_variance" in repr(draws)
    assert draws.to_pandas("explained_variance").index.tolist() == ["PC1", "PC2"]
    assert draws.to_polars("loadings").columns[:2] == ["column", "component"]
    assert draws._repr_html_().count("<table>") == len(draws.estimates)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_resamples": 1}, "at least 2"),
        ({"n_resamples": 2.5}, "whole number"),
        ({"kind": "stationary"}, "'auto', 'row', 'block'"),
        ({"align": "signs"}, "'match', 'procrustes'"),
        ({"confidence_level": 95}, "between 0 and 1"),
        ({"confidence_level": "a"}, "between 0 and 1"),
        ({"kind": "row", "n_blocks": 5}, "pass only one of them"),
        ({"n_blocks": 1}, "between 2 and 150"),
        ({"n_blocks": 151}, "between 2 and 150"),
        ({"groups": np.zeros(150)}, "at least 2 blocks or groups"),
        ({"groups": np.zeros(3)}, "one entry for each of the 150 rows"),
        ({"groups": np.arange(150), "n_blocks": 3}, "leave out"),
    ],
)
def test_bad_input_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        bootstrap(PCA(2), IRIS, **options)


def test_other_refusals():
    with pytest.raises(TypeError, match="ICA cannot be bootstrapped"):
        bootstrap(ICA(), IRIS)
    with pytest.raises(ValueError, match="NaN"):
        bootstrap(PCA(), np.where(IRIS > 7, np.nan, IRIS))
    with pytest.raises(ValueError, match="complete rows"):
        bootstrap(PPCA(), np.where(IRIS > 7, np.nan, IRIS))
    with pytest.warns(SmallSampleWarning, match="3 blocks or groups are few"):
        bootstrap(PCA(1), IRIS, n_resamples=3, groups=np.arange(150) // 50)
    streamed = bootstrap(PCA(2), (b for b in (IRIS[:60], IRIS[60:])), n_resamples=5)
    np.testing.assert_array_equal(
        streamed.interval("loadings"), bootstrap(PCA(2), IRIS, n_resamples=5).interval("loadings")
    )
    draws = bootstrap(PCA(1), IRIS, n_resamples=3)
    with pytest.raises(ValueError, match="is not one of"):
        draws.interval("eigenvalues")
    with pytest.raises(ValueError, match="between 0 and 1"):
        draws.interval("loadings", confidence_level=95)
