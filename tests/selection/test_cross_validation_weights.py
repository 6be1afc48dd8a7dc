"""Frequency weights in all functions of `selection`: the answers are those of repeated rows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import KFold

from lowdim import (
    CCA,
    PCA,
    PCR,
    PPCA,
    FactorAnalysis,
    PLSRegression,
    bootstrap,
    choose_n_components,
    cross_validate,
    permutation_test,
)
from lowdim.errors import SmallSampleWarning
from lowdim.selection import RULES
from lowdim.solvers import Newton

random = np.random.default_rng(4)
X = random.standard_normal((40, 2)) @ random.standard_normal((2, 6)) * 2 + random.standard_normal((40, 6))
Y = X[:, :2] @ random.standard_normal((2, 3)) + random.standard_normal((40, 3))
#: Some rows count several times, and some not at all.
W = random.integers(0, 4, 40)
LABELS = np.arange(40) % 4
MODELS = {
    "PCA": (PCA(2), X, None),
    "PCA scale": (PCA(2, scale=True), X, None),
    "PPCA": (PPCA(2), X, None),
    "FactorAnalysis": (FactorAnalysis(2, solver=Newton(n_init=0)), X, None),
    "PCR": (PCR(2), X, Y),
    "PLSRegression": (PLSRegression(2), X, Y),
    "CCA": (CCA(2), X, Y),
    "CCA regularization": (CCA(2, regularization=0.3), X, Y),
}
each_model = pytest.mark.parametrize("name", MODELS)


def repeated(*tables):
    """Each row as often as its weight says."""
    return [None if table is None else np.repeat(table, W, axis=0) for table in tables]


def same(found, expected, **options):
    np.testing.assert_allclose(found, expected, **{"rtol": 1e-7, "atol": 1e-9, **options})


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("ddof", [0, 1])
def test_every_rule(scale, ddof):
    options = {"scale": scale, "ddof": ddof}
    weighted = choose_n_components(X, cv=LABELS, sample_weight=W, **options)
    plain = choose_n_components(repeated(X)[0], cv=repeated(LABELS)[0], **options)
    assert list(weighted) == list(RULES)
    assert weighted.eigenvalues.n == W.sum()
    for rule in RULES:
        assert weighted[rule].k == plain[rule].k
        same(weighted[rule].curve, plain[rule].curve)


def test_rules_for_few_rows_that_stand_for_many():
    few, counts = X[:6, :3], np.array([5, 1, 3, 2, 4, 6])
    weighted = choose_n_components(few, cv=[0, 0, 1, 1, 2, 2], sample_weight=counts)
    plain = choose_n_components(np.repeat(few, counts, axis=0), cv=np.repeat([0, 0, 1, 1, 2, 2], counts))
    for rule in RULES:
        assert weighted[rule].k == plain[rule].k, rule
        same(weighted[rule].curve, plain[rule].curve)


@each_model
def test_cross_validation(name):
    model, x, y = MODELS[name]
    model, options = clone(model).set_params(n_components=None), {"n_components": [1, 2]}
    weighted = cross_validate(model, x, y, cv=LABELS, sample_weight=W, **options)
    plain = cross_validate(model, *repeated(x, y), cv=repeated(LABELS)[0], **options)
    for attribute in ("per_split", "weights", "mean", "standard_error"):
        same(getattr(weighted, attribute), getattr(plain, attribute), rtol=1e-6)
    assert weighted.best == plain.best


@pytest.mark.parametrize("name", ["PCR", "PLSRegression"])
def test_jackknife(name):
    model, x, y = MODELS[name]
    parts = [np.flatnonzero(label == LABELS) for label in range(4)]
    weighted = model.fit(x, y, sample_weight=W).jackknife(
        x, y, cv=[(np.setdiff1d(np.arange(40), part), part) for part in parts], sample_weight=W
    )
    copies = repeated(LABELS)[0]
    parts = [np.flatnonzero(copies == label) for label in range(4)]
    x, y = repeated(x, y)
    plain = model.fit(x, y).jackknife(x, y, cv=[(np.setdiff1d(np.arange(len(copies)), part), part) for part in parts])
    for attribute in ("coef", "replicates", "standard_error", "t", "p"):
        same(getattr(weighted, attribute), getattr(plain, attribute))


@pytest.mark.parametrize("name", ["PCA", "PCA scale", "CCA", "CCA regularization"])
def test_permutations(name):
    """The same shuffles of the same rows."""
    model, x, y = MODELS[name]
    options = {"n_resamples": 20, "random_state": 1}
    weighted = permutation_test(model, x, y, sample_weight=W, **options)
    plain = permutation_test(model, *repeated(x, y), **options)
    same(weighted.statistic, plain.statistic)
    same(weighted.null, plain.null)
    with pytest.raises(ValueError, match=r"whole numbers where single rows are drawn: got 0.5 in row 0"):
        permutation_test(model, x, y, sample_weight=np.full(40, 0.5))


@each_model
def test_bootstrap_of_groups(name):
    """The same groups are drawn."""
    model, x, y = MODELS[name]
    groups = np.arange(40) % 25
    assert not np.all(np.bincount(groups, W) > 0)
    options = {"n_resamples": 3, "random_state": 1}
    weighted = bootstrap(model, x, y, groups=groups, sample_weight=W, **options)
    plain = bootstrap(model, *repeated(x, y), groups=repeated(groups)[0], **options)
    for statistic in plain.estimates:
        same(weighted.estimates[statistic], plain.estimates[statistic], rtol=1e-6)
        same(weighted.replicates[statistic], plain.replicates[statistic], rtol=1e-6)


@each_model
def test_bootstrap_of_rows(name):
    """The estimates are the same. The draws are others, of the same distribution: a row of weight w is drawn as often
    as w rows are."""
    model, x, y = MODELS[name]
    weighted = bootstrap(model, x, y, n_resamples=2, sample_weight=W)
    plain = bootstrap(model, *repeated(x, y), n_resamples=2)
    assert (weighted.kind, weighted.n_blocks) == ("row", W.sum()) == (plain.kind, plain.n_blocks)
    for statistic in plain.estimates:
        same(weighted.estimates[statistic], plain.estimates[statistic], rtol=1e-6)


def test_bootstrap_of_rows_has_the_same_distribution():
    weighted = bootstrap(PCA(2), X, n_resamples=800, sample_weight=W, random_state=0)
    plain = bootstrap(PCA(2), *repeated(X), n_resamples=800, random_state=1)
    error = plain.standard_error("explained_variance")
    # The standard error of a standard deviation of 800 draws is 2.5 percent of it, that of a mean 3.5 percent.
    same(weighted.standard_error("explained_variance"), error, rtol=0.13)
    same(weighted.bias("explained_variance"), plain.bias("explained_variance"), rtol=0, atol=0.18 * error.max())


def test_bootstrap_with_shares_as_weights():
    """Single rows cannot be drawn; blocks keep the weights of their rows."""
    shares = W * 1.25
    found = bootstrap(PCA(2), X, n_resamples=5, sample_weight=shares)
    assert (found.kind, found.n_blocks) == ("block", np.count_nonzero(W))
    same(found.estimates["explained_variance"], PCA(2).fit(X, sample_weight=shares).explained_variance_)
    with pytest.raises(ValueError, match="whole numbers where single rows are drawn"):
        bootstrap(PCA(2), X, sample_weight=shares, kind="row")
    with pytest.warns(SmallSampleWarning):
        half = bootstrap(PCA(2), X, n_resamples=5, sample_weight=shares, kind="block", n_blocks=10)
    same(half.estimates["explained_variance"], found.estimates["explained_variance"])
    with pytest.raises(ValueError, match="at least 2 rows of positive weight, got 1"):
        bootstrap(PCA(1), X, sample_weight=np.eye(40)[3] * 5)


def test_rows_without_weight_may_hold_anything():
    spoilt = np.where((W == 0)[:, None], np.nan, X)
    options = {"n_resamples": 20, "random_state": 1, "sample_weight": W}
    same(permutation_test(PCA(), spoilt, **options).null, permutation_test(PCA(), X, **options).null)
    same(
        bootstrap(PCA(2), spoilt, n_resamples=2, sample_weight=W).replicates["loadings"],
        bootstrap(PCA(2), X, n_resamples=2, sample_weight=W).replicates["loadings"],
    )


# ---- Rows of weight zero are as if they were absent


SOME = np.random.default_rng(5)
SPARSE_WEIGHTS = np.zeros(40)
SPARSE_WEIGHTS[np.sort(SOME.permutation(40)[:14])] = SOME.integers(1, 4, 14)
ROWS = SOME.standard_normal((40, 4)) * 0.3 + 3.0 * SOME.standard_normal((40, 1))
TARGETS = ROWS[:, :2] + SOME.standard_normal((40, 2))
USED = SPARSE_WEIGHTS > 0


@pytest.mark.parametrize("cv", [None, 3, KFold(4, shuffle=True, random_state=0)], ids=["None", "3", "KFold"])
@pytest.mark.parametrize("model", [PCA(), PLSRegression(), CCA()], ids=lambda m: type(m).__name__)
def test_cross_validation_without_rows_of_weight_zero(model, cv):
    tables = (ROWS,) if isinstance(model, PCA) else (ROWS, TARGETS)
    with_zeros = cross_validate(model, *tables, cv=cv, sample_weight=SPARSE_WEIGHTS)
    without = cross_validate(model, *(t[USED] for t in tables), cv=cv, sample_weight=SPARSE_WEIGHTS[USED])
    np.testing.assert_allclose(with_zeros.mean, without.mean, rtol=1e-9)


def test_rules_and_jackknife_without_rows_of_weight_zero():
    every, used = (choose_n_components(ROWS[i], sample_weight=SPARSE_WEIGHTS[i]) for i in (slice(None), USED))
    assert {rule: every[rule].k for rule in every} == {rule: used[rule].k for rule in used}
    few = np.where(np.arange(40) < 6, 2.0, 0.0)
    assert choose_n_components(ROWS, sample_weight=few)["cv"].k is None
    every, used = (PCA("cv").fit(ROWS[i], sample_weight=SPARSE_WEIGHTS[i]) for i in (slice(None), USED))
    np.testing.assert_allclose(every.choice_.curve, used.choice_.curve, rtol=1e-9)
    errors = []
    for i in (slice(None), USED):
        model = PLSRegression(2).fit(ROWS[i], TARGETS[i], sample_weight=SPARSE_WEIGHTS[i])
        errors.append(model.jackknife(ROWS[i], TARGETS[i], cv=5, sample_weight=SPARSE_WEIGHTS[i]).standard_error)
    np.testing.assert_allclose(errors[0], errors[1], rtol=1e-9)


def test_explicit_splits_name_the_rows_as_they_are():
    pairs = [(np.arange(20, 40), np.arange(20)), (np.arange(20), np.arange(20, 40))]
    by_pairs = cross_validate(PCA(), ROWS, cv=pairs, sample_weight=SPARSE_WEIGHTS)
    by_labels = cross_validate(PCA(), ROWS, cv=np.repeat([0, 1], 20), sample_weight=SPARSE_WEIGHTS)
    np.testing.assert_allclose(by_pairs.mean, by_labels.mean, rtol=1e-12)


@pytest.mark.filterwarnings("ignore::lowdim.errors.SmallSampleWarning")
def test_few_groups_are_drawn_alone_too():
    """With two groups every second draw is one of them alone, whose variances are its own."""
    rows, labels = ROWS[:20], np.repeat([0, 1], 10)
    rows = rows * np.where(labels == 0, 1.0, 3.0)[:, None]
    found = bootstrap(PCA(1), rows, groups=labels, n_resamples=2000, random_state=0).replicates["explained_variance"][
        :, 0
    ]
    alone = [np.linalg.eigvalsh(np.cov(np.tile(rows[labels == g], (2, 1)).T))[-1] for g in (0, 1)]
    both = np.linalg.eigvalsh(np.cov(rows.T))[-1]
    for value, share in ((alone[0], 0.25), (alone[1], 0.25), (both, 0.5)):
        assert np.mean(np.abs(found - value) < 1e-9) == pytest.approx(share, abs=0.05)
