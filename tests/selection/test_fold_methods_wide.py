"""Tables with fewer rows than columns: folds and bootstrap samples from inner products of rows, against refits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import KFold, LeaveOneOut, StratifiedKFold

import lowdim
from inputs import INPUTS, with_missing
from lowdim import CCA, PCA, PCR, PPCA, FactorAnalysis, PLSRegression, bootstrap, cross_validate, permutation_test
from lowdim.errors import SmallSampleWarning
from lowdim.selection import choose_n_components
from selection.test_cross_validation import MODELS, SPLITTERS, slow

random = np.random.default_rng(11)
N, P, Q = 40, 90, 2
X = random.standard_normal((N, 4)) @ random.standard_normal((4, P)) * 2 + random.standard_normal((N, P)) + 50.0
Y = X[:, :3] @ random.standard_normal((3, Q)) + random.standard_normal((N, Q))
#: A second table with fewer rows than columns.
Z = X[:, :5] @ random.standard_normal((5, 70)) + random.standard_normal((N, 70))
GROUPS = random.integers(0, 5, N)

#: Models whose scores depend on the rows only through their inner products. CCA needs a penalty here, as there are
#: fewer rows than columns; EM stops before it is as accurate as a closed form.
WIDE = {
    "PCA": (PCA(), None),
    "PCA scale": (PCA(scale=True), None),
    "PCA ddof=0": (PCA(ddof=0), None),
    "PPCA": (PPCA(), None),
    "PPCA scale": (PPCA(scale=True), None),
    "PCR": (PCR(), Y),
    "PCR relevance scale": (PCR(select="relevance", scale=True), Y),
    "PLSRegression": (PLSRegression(), Y),
    "PLSRegression scale of y": (PLSRegression(scale=(False, True)), Y),
    "PLSRegression simpls": (PLSRegression(algorithm="simpls", scale=False), Y),
    "CCA": (CCA(regularization=0.3), Y),
    "CCA of two wide tables": (CCA(regularization=0.3), Z),
    "CCA of two wide tables, not scaled": (CCA(regularization=0.3, scale=False), Z),
}
COUNTS = [1, 2]


def test_every_model_with_summaries_of_folds_is_here():
    by_rows = {type(model) for model, _ in WIDE.values()}
    assert {type(model) for model in MODELS.values()} - by_rows == {FactorAnalysis}


@pytest.mark.parametrize("cv", list(SPLITTERS))
@pytest.mark.parametrize("name", list(WIDE))
def test_one_pass_over_the_columns_agrees_with_refitting_on_rows(name, cv):
    (model, y), splitter = WIDE[name], SPLITTERS[cv]
    groups = GROUPS if "Group" in cv else None
    found = cross_validate(model, X, y, cv=splitter, groups=groups, n_components=COUNTS)
    expected = slow(model, X, y, splitter.split(X, groups=groups), COUNTS)
    assert (found.plan.solver.name, found.n_passes) == ("gram", 1)
    np.testing.assert_allclose(found.per_split[:, 0], expected, rtol=1e-8)


@pytest.mark.parametrize("name", list(WIDE))
def test_weights_are_repetitions(name):
    (model, y), weights = WIDE[name], random.integers(0, 4, N).astype(float)
    found = cross_validate(model, X, y, cv=KFold(4), n_components=COUNTS, sample_weight=weights)
    rows = np.flatnonzero(weights > 0)
    pairs = [(rows[r], rows[t]) for r, t in KFold(4).split(rows)]
    assert found.plan.solver.name == "gram"
    np.testing.assert_allclose(found.per_split[:, 0], slow(model, X, y, pairs, COUNTS, weights), rtol=1e-8)


@pytest.mark.parametrize("offset", [0.0, 1e8])
@pytest.mark.parametrize("scale", [1e-120, 1.0, 1e120])
@pytest.mark.parametrize("name", ["PCA", "PCA scale", "PLSRegression", "PLSRegression simpls", "CCA"])
def test_offsets_and_scales_do_no_harm(name, scale, offset):
    """The log-likelihood moves by ln scale a column, errors and correlations not at all."""
    model, y = WIDE[name]
    if name == "CCA":
        model = CCA(regularization=0.3, scale=True)
    whole = np.round(X * 2**20) / 2**20
    plain = cross_validate(model, whole, y, n_components=COUNTS).mean
    moved = cross_validate(model, (whole + offset) * scale, y, n_components=COUNTS).mean
    if y is None:
        moved = moved + P * np.log(scale)
    np.testing.assert_allclose(moved, plain, rtol=1e-8 if offset == 0.0 else 1e-5)


def test_small_noise_is_seen_by_a_second_look_without_squares():
    fine = random.standard_normal((N, 1)) @ random.standard_normal((1, P)) + 1e-5 * random.standard_normal((N, P))
    found = cross_validate(PCA(), fine, cv=KFold(5), n_components=COUNTS)
    assert (found.plan.solver.name, found.n_passes) == ("gram", 2)
    expected = slow(PCA(solver="triangle"), fine, None, KFold(5).split(fine), COUNTS)
    np.testing.assert_allclose(found.per_split[:, 0], expected, rtol=1e-8)
    y = fine @ np.ones(P) + 1e-6 * random.standard_normal(N)
    for model in (PLSRegression(scale=False), PLSRegression()):
        found = cross_validate(model, fine, y, cv=KFold(5), n_components=COUNTS)
        assert (found.plan.solver.name, found.n_passes) == ("gram", 2)
        expected = slow(clone(model).set_params(solver="triangle"), fine, y, KFold(5).split(fine), COUNTS)
        np.testing.assert_allclose(found.per_split[:, 0], expected, rtol=1e-7)


@pytest.mark.parametrize("cv", [LeaveOneOut(), StratifiedKFold(3), np.arange(N) % 3], ids=str)
def test_other_folds(cv):
    y = np.arange(N) % 2 + 0.0
    pairs = list(KFold(N).split(X)) if isinstance(cv, LeaveOneOut) else None
    if isinstance(cv, StratifiedKFold):
        pairs = list(cv.split(X, y))
    pairs = pairs or [(np.flatnonzero(cv != label), np.flatnonzero(cv == label)) for label in range(3)]
    for model in (PLSRegression(), PLSRegression(scale=False)):
        found = cross_validate(model, X, y, cv=cv, n_components=COUNTS)
        np.testing.assert_allclose(found.per_split[:, 0], slow(model, X, y, pairs, COUNTS), rtol=1e-8)


def test_settings_that_scale_and_settings_that_do_not():
    settings = {"scale": [True, False, (False, True)]}
    found = cross_validate(PLSRegression(), X, Y, cv=KFold(5), n_components=COUNTS, param_grid=settings)
    for i, setting in enumerate(found.settings):
        expected = slow(PLSRegression(**setting), X, Y, KFold(5).split(X), COUNTS)
        np.testing.assert_allclose(found.per_split[:, i], expected, rtol=1e-8)


@pytest.mark.parametrize("name", [name for name in INPUTS if INPUTS[name].by_column])
def test_every_input_that_can_be_read_by_columns(name):
    kind, whole = INPUTS[name], np.round(X)
    for model, y in ((PCA(), None), (PLSRegression(), Y[:, 0]), (PLSRegression(scale=False), Y[:, 0])):
        found = cross_validate(model, kind.make(whole), None if y is None else kind.weights(y), n_components=COUNTS)
        expected = cross_validate(model, whole, y, n_components=COUNTS)
        assert found.plan.solver.name == "gram"
        np.testing.assert_allclose(found.per_split, expected.per_split, rtol=1e-4)


def test_a_stream_of_known_length_is_gathered():
    blocks = [X[:15], X[15:]]
    for model, y in ((PCA(), None), (PLSRegression(), Y)):
        found, expected = (cross_validate(model, A, y, n_components=COUNTS) for A in (blocks, X))
        assert found.plan.solver.name == "gram"
        np.testing.assert_allclose(found.per_split, expected.per_split, rtol=1e-12)
    assert PCA("cv").fit(blocks).n_components_ == PCA("cv").fit(X).n_components_
    for model, y in ((PCA(2), None), (PLSRegression(2), Y)):
        found, expected = (bootstrap(model, A, y, n_resamples=3, random_state=0) for A in (blocks, X))
        np.testing.assert_allclose(
            found.replicates["explained_variance"], expected.replicates["explained_variance"], rtol=1e-12
        )


def test_more_components_than_the_rank_of_the_rows():
    """Three distinct rows, repeated, have rank 2: further components change nothing."""
    few = np.repeat(X[:3], 8, axis=0)
    y = np.repeat(Y[:3, 0], 8) + 0.1 * random.standard_normal(24)
    found = cross_validate(PLSRegression(scale=False), few, y, cv=KFold(4, shuffle=True, random_state=0))
    assert found.n_components[-1] > 2
    np.testing.assert_allclose(
        found.per_split[:, 0, 2:], found.per_split[:, 0, 1:2] * np.ones(len(found.n_components) - 2)
    )


def test_constant_columns_and_columns_that_are_constant_in_training_rows():
    A = X.copy()
    A[:, 0] = 3.0
    A[8:, 1] = 7.0
    # A column that is constant in all rows is left out.
    varying = A[:, 1:]
    for model, y in ((PCA(scale=True), None), (PLSRegression(), Y)):
        found = cross_validate(model, A, y, cv=KFold(5), n_components=COUNTS)
        assert found.plan.solver.name == "gram"
        np.testing.assert_allclose(found.per_split[:, 0], slow(model, varying, y, KFold(5).split(A), COUNTS), rtol=1e-8)


def test_missing_values_are_refused_or_fitted_as_in_tall_tables():
    incomplete = with_missing(X, 0.05)
    with pytest.raises(ValueError, match="NaN"):
        cross_validate(PCA(), incomplete)
    with pytest.raises(ValueError, match="NaN"):
        cross_validate(PLSRegression(), incomplete, Y)
    found = cross_validate(PPCA(), incomplete, cv=3, n_components=[1])
    assert found.plan.solver.name == "refit"
    assert "missing" in found.plan.why


def test_the_plan_can_be_asked():
    plan = lowdim.plan(PLSRegression(), (60, 5_000), (60, 1), cv=5)
    assert plan.solver.name == "gram"
    assert "60 rows" in plan.why
    assert lowdim.plan(PCA(), (5_000, 60), cv=5).solver.name == "summaries"
    assert PCA().plan(X, cv=5).solver.name == cross_validate(PCA(), X).plan.solver.name == "gram"
    assert PLSRegression("cv").plan(X, Y).solver.name == PLSRegression("cv").fit(X, Y).solver_ == "gram"


@pytest.mark.parametrize("model", [PCA("cv"), PCA("cv", scale=True), PPCA("cv"), PCR("cv"), PLSRegression("cv")])
def test_the_rule_cv_fits_what_it_chose(model):
    y = None if isinstance(model, PCA | PPCA) else Y
    fitted = clone(model).fit(X, y)
    again = clone(model).set_params(n_components=fitted.n_components_).fit(X, y)
    np.testing.assert_allclose(fitted.explained_variance_, again.explained_variance_, rtol=1e-10)
    assert fitted.choice_.cross_validation.plan.solver.name == "gram"
    assert fitted.plan_.passes == again.plan_.passes + fitted.choice_.cross_validation.n_passes


def test_all_rules_are_available_for_a_wide_table():
    choices = choose_n_components(X, ["cv", "parallel"])
    assert choices["cv"].k == PCA("cv").fit(X).choice_.k == 4


#: Models that are bootstrapped; those that scale need new products for each sample.
BOOTSTRAPPED = {name: case for name, case in WIDE.items() if "ddof" not in name and "simpls" not in name}


@pytest.mark.parametrize("name", list(BOOTSTRAPPED))
def test_bootstrap_samples_agree_with_weighted_fits(name):
    model, y = BOOTSTRAPPED[name]
    model = clone(model).set_params(n_components=2)
    found = bootstrap(model, X, y, n_resamples=4, random_state=0)
    counts = np.random.RandomState(0).multinomial(N, np.full(N, 1 / N), size=4)
    for b, c in enumerate(counts):
        rows = np.repeat(np.arange(N), c)
        fit = clone(model).fit(X[rows], None if y is None else y[rows])
        for statistic in ("explained_variance", "noise_variance", "correlations", "coef"):
            if statistic in found.replicates:
                expected = getattr(fit, f"{statistic}_")
                np.testing.assert_allclose(found.replicates[statistic][b], expected, rtol=1e-7, atol=1e-12)
        for loadings in ("loadings", "x_structure", "y_structure"):
            if loadings in found.replicates:
                # Components may be in another order, and have other signs.
                each, expected = (A @ A.T for A in (found.replicates[loadings][b], getattr(fit, f"{loadings}_")))
                np.testing.assert_allclose(each, expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("options", [{"n_blocks": 10}, {"groups": GROUPS}], ids=["blocks", "groups"])
def test_blocks_and_groups_of_wide_tables(options):
    """A sample contains all rows of a block or group as often as it was drawn."""
    # Some rows have no weight, but no block is without any.
    weights = np.random.default_rng(1).integers(0, 3, N).astype(float)
    with pytest.warns(SmallSampleWarning):
        found = bootstrap(PCA(2), X, n_resamples=3, random_state=0, sample_weight=weights, **options)
    labels = GROUPS if "groups" in options else np.repeat(np.arange(10), 4)
    count = len(np.unique(labels))
    assert found.n_blocks == count
    counts = np.random.RandomState(0).multinomial(count, np.full(count, 1 / count), size=3)
    for b, c in enumerate(counts):
        fit = PCA(2).fit(X, sample_weight=c[labels] * weights)
        np.testing.assert_allclose(found.replicates["explained_variance"][b], fit.explained_variance_, rtol=1e-8)


def test_weights_of_a_wide_bootstrap_are_repetitions():
    weights = random.integers(0, 3, N).astype(float)
    rows = np.repeat(np.arange(N), weights.astype(int))
    a = bootstrap(PCA(2), X, n_resamples=400, random_state=0, sample_weight=weights)
    b = bootstrap(PCA(2), X[rows], n_resamples=400, random_state=1)
    assert a.n_blocks == b.n_blocks == len(rows)
    np.testing.assert_allclose(a.estimates["explained_variance"], b.estimates["explained_variance"])
    np.testing.assert_allclose(a.standard_error("explained_variance"), b.standard_error("explained_variance"), rtol=0.2)
    with pytest.raises(ValueError, match="whole numbers"):
        bootstrap(PCA(2), X, kind="row", n_resamples=4, sample_weight=weights + 0.5)


def test_a_wide_bootstrap_refuses_missing_values():
    with pytest.raises(ValueError, match="impute"):
        bootstrap(PPCA(2), with_missing(X, 0.05), n_resamples=3)
    with pytest.raises(ValueError, match="NaN"):
        bootstrap(PLSRegression(2), with_missing(X, 0.05), Y, n_resamples=3)


@pytest.mark.parametrize("model", [PLSRegression(2), PLSRegression(2, scale=False), PCR(2)], ids=str)
def test_the_jackknife_of_a_wide_table(model):
    model.fit(X, Y)
    found = model.jackknife(X, Y, cv=KFold(5))
    for part, (kept, _) in zip(found.replicates, KFold(5).split(X), strict=True):
        np.testing.assert_allclose(part, clone(model).fit(X[kept], Y[kept]).coef_, rtol=1e-7, atol=1e-10)


def test_sparse_tables():
    S = sparse.random_array((N, 400), density=0.05, rng=0, format="csr")
    y = S[:, :3].toarray().sum(axis=1) + 0.01 * random.standard_normal(N)
    for model, target in ((PCA(), None), (PLSRegression(), y), (PLSRegression(scale=False), y)):
        found = cross_validate(model, S, target, n_components=COUNTS)
        expected = cross_validate(model, S.toarray(), target, n_components=COUNTS)
        np.testing.assert_allclose(found.per_split, expected.per_split, rtol=1e-8)
    # So many responses are fitted again for each fold.
    R = sparse.random_array((N, 300), density=0.05, rng=1, format="csr")
    for model in (PLSRegression(), PCR()):
        found = cross_validate(model, S, R, cv=KFold(5), n_components=COUNTS)
        pairs = KFold(5).split(S.toarray())
        expected = slow(model, S.toarray(), R.toarray(), pairs, COUNTS)
        np.testing.assert_allclose(found.per_split[:, 0], expected, rtol=1e-8)
    a, b = (bootstrap(PCA(2), A, n_resamples=3, random_state=0) for A in (S, S.toarray()))
    np.testing.assert_allclose(a.replicates["explained_variance"], b.replicates["explained_variance"], rtol=1e-8)


@pytest.mark.parametrize("weights", [None, random.integers(0, 3, N).astype(float)], ids=["", "weights"])
@pytest.mark.parametrize("model", [CCA(regularization=0.3), CCA(regularization=0.6, scale=False)], ids=str)
def test_permutation_test_of_wide_tables(model, weights):
    """The same statistics as from the rows in any other orthonormal basis, in which they have no more columns than
    rows; scaled columns are scaled before."""
    rows = np.arange(N) if weights is None else np.repeat(np.arange(N), weights.astype(int))
    found = permutation_test(model, X, Z, n_resamples=19, random_state=0, sample_weight=weights)
    turned = []
    for A in (X[rows], Z[rows]):
        A = (A - A.mean(axis=0)) / (A.std(axis=0, ddof=1) if model.scale else 1.0)
        U, s, _ = np.linalg.svd(A, full_matrices=False)
        rank = int(np.sum(s > 1e-10 * s[0]))
        turned.append((U * s)[:, :rank])
    expected = permutation_test(clone(model).set_params(scale=False), *turned, n_resamples=19, random_state=0)
    k = len(expected.statistic)
    np.testing.assert_allclose(found.statistic[:k], expected.statistic, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(found.null[:, 0], expected.null[:, 0], rtol=1e-8)


@pytest.mark.parametrize("name", ["PCA", "PCA scale", "PLSRegression", "PLSRegression simpls", "CCA"])
def test_held_out_rows_far_away_do_not_blur_the_training_rows(name):
    """Inner products about the mean of all rows would lose nine of the digits of the training rows."""
    model, y = WIDE[name]
    far = X.copy()
    far[:8] += 1e6
    found = cross_validate(model, far, y, cv=KFold(5), n_components=COUNTS)
    first = list(KFold(5).split(far))[:1]
    expected = slow(clone(model).set_params(solver="triangle"), far, y, first, COUNTS)
    np.testing.assert_allclose(found.per_split[:1, 0], expected, rtol=1e-8)


def test_rows_far_away_do_not_blur_bootstrap_samples_without_them():
    far = X.copy()
    far[0] += 1e8
    found = bootstrap(PCA(2), far, n_resamples=6, random_state=0)
    counts = np.random.RandomState(0).multinomial(N, np.full(N, 1 / N), size=6)
    without = np.flatnonzero(counts[:, 0] == 0)
    assert len(without)
    for b in without:
        expected = PCA(2).fit(np.repeat(far, counts[b], axis=0)).explained_variance_
        np.testing.assert_allclose(found.replicates["explained_variance"][b], expected, rtol=1e-8)
