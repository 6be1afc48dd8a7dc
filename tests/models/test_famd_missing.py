"""FAMD of numbers with missing entries: EM, conditional means, and supplementary numbers filled by their means."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import lowdim
from lowdim import FAMD, MCA, MFA, PPCA
from lowdim.errors import ConvergenceWarning
from lowdim.inspect.geometry import geometry

SHARED = Path(__file__).parents[2].parent / "shared"


def mixed(n: int = 300, seed: int = 0, p: int = 4) -> pd.DataFrame:
    """Numbers of very different sizes, and two categories, that depend on two latent variables."""
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((n, 2))
    numbers = z @ rng.standard_normal((2, p)) + 0.5 * rng.standard_normal((n, p))
    X = pd.DataFrame(numbers * 10.0 ** np.arange(p) + 100.0, columns=[f"x{j}" for j in range(p)])
    X["answer"] = np.where(z[:, 0] + 0.3 * rng.standard_normal(n) > 0, "yes", "no")
    X["size"] = np.array(["s", "m", "l"])[np.digitize(z[:, 1] + 0.3 * rng.standard_normal(n), [-0.5, 0.5])]
    return X


def holed(X: pd.DataFrame, share: float = 0.1, seed: int = 1) -> pd.DataFrame:
    """The same with missing numbers."""
    p = sum(name.startswith("x") for name in X.columns)
    found = X.copy()
    found.iloc[:, :p] = found.iloc[:, :p].mask(np.random.default_rng(seed).random((len(X), p)) < share)
    return found


def contrasts(X: pd.DataFrame) -> np.ndarray:
    """Numbers, and uncorrelated columns for each category, made in another way: from a singular value decomposition."""
    parts = [X.filter(like="x").to_numpy()]
    for name in ("answer", "size"):
        E = pd.get_dummies(X[name]).to_numpy(dtype=float)
        U = np.linalg.svd(E - E.mean(axis=0), full_matrices=False)[0]
        parts.append(U[:, :-1] * np.sqrt(len(X)))
    return np.hstack(parts)


def test_without_missing_numbers_em_is_famd_exactly():
    X = mixed()
    plain, em = FAMD(2).fit(X), FAMD(2, missing="em").fit(X)
    for name in ("explained_variance_", "components_", "mean_", "scale_"):
        assert np.array_equal(getattr(plain, name), getattr(em, name))
    assert np.array_equal(plain.transform(X), em.transform(X))
    assert em.plan_.passes == 2


@pytest.mark.parametrize("k", [1, 2, 3, None])
def test_em_is_that_of_ppca(k):
    """The conditional means are those of PPCA of uncorrelated columns, whichever basis they are in."""
    X = holed(mixed())
    em = FAMD(k, missing="em").fit(X)
    C = contrasts(X)
    ppca = PPCA(C.shape[1] - 1 if k is None else k, scale=True).fit(C)
    filled = ppca.impute(C)
    block = em.coding_(lowdim.models.mixed.CategorySource.blocks(em._open(X, reset=False), 1000).__next__())
    sd = np.nanstd(C, axis=0)[:4]
    assert_allclose(block.numbers / sd, filled[:, :4] / sd, rtol=0, atol=2e-3)
    assert np.array_equal(block.numbers[~np.isnan(C[:, :4])], C[:, :4][~np.isnan(C[:, :4])])


def test_expected_products_have_the_conditional_covariances():
    """The moments against those of each row, computed one by one from the model."""
    X = holed(mixed(120, p=3), 0.3)
    em = FAMD(2, missing="em").fit(X)
    coding, S = em.coding_, em.coding_.covariance
    numbers = X.filter(like="x").to_numpy()
    block = coding(next(em._open(X, reset=False).blocks(1000)))
    rows = np.hstack([block.numbers, block.zeros_and_ones(slice(None), float)])
    extra = np.zeros((3, 3))
    for row in np.isnan(numbers):
        m, o = np.flatnonzero(row), np.flatnonzero(~row)
        more = S[np.ix_(m, m)]
        if len(o):
            more = more - S[np.ix_(m, o)] @ np.linalg.solve(S[np.ix_(o, o)], S[np.ix_(o, m)])
        extra[np.ix_(m, m)] += more
    expected = (rows - rows.mean(axis=0)).T @ (rows - rows.mean(axis=0))
    expected[:3, :3] += extra
    unit = np.sqrt(np.diagonal(expected))
    assert_allclose(em.summary_.scatter / unit / unit[:, None], expected / unit / unit[:, None], rtol=0, atol=1e-10)
    assert_allclose(em.mean_[:3], block.numbers.mean(axis=0), rtol=1e-12)
    # The first eigenvalue is the sum of the squared correlations with these variances.
    assert_allclose(em.scale_[:3], np.sqrt(np.diagonal(expected)[:3] / len(X)), rtol=1e-12)


def test_few_missing_numbers_change_little():
    X = mixed(1000)
    full, em = FAMD(2).fit(X), FAMD(2, missing="em").fit(holed(X, 0.02))
    assert_allclose(em.explained_variance_, full.explained_variance_, rtol=0.02)
    scores, found = full.transform(X), em.transform(holed(X, 0.02))
    assert np.min([abs(np.corrcoef(a, b)[0, 1]) for a, b in zip(scores.T, found.T, strict=True)]) > 0.995


def test_em_beats_the_mean():
    X, Y = mixed(500), holed(mixed(500), 0.3)
    em = FAMD(2, missing="em").fit(Y)
    filled = em.coding_(next(em._open(Y, reset=False).blocks(1000))).numbers
    true, by_mean = X.filter(like="x"), Y.filter(like="x").fillna(Y.filter(like="x").mean())
    sd = true.std().to_numpy()
    assert np.mean(((filled - true) / sd).to_numpy() ** 2) < 0.6 * np.mean(((by_mean - true) / sd).to_numpy() ** 2)


def test_rows_with_any_pattern_are_mapped(tmp_path):
    X = mixed()
    em = FAMD(2, missing="em").fit(holed(X))
    new = X.head(5).copy()
    new.loc[0, "x0"] = np.nan
    new.loc[1, ["x0", "x1", "x2", "x3"]] = np.nan
    new.loc[2, "answer"] = None
    scores = em.transform(new)
    assert np.all(np.isfinite(scores))
    lowdim.save(em, tmp_path / "famd.lowdim")
    assert np.array_equal(lowdim.load(tmp_path / "famd.lowdim").transform(new), scores)
    # Also a model that saw no missing number: the conditional means are those of its closed form.
    complete = FAMD(2, missing="em").fit(X)
    one = complete.transform(new)
    assert np.all(np.isfinite(one))
    assert np.linalg.norm(one[0] - complete.transform(X.head(1))[0]) < 0.5


def test_weights_are_repetitions():
    X = holed(mixed(150))
    w = np.random.default_rng(0).integers(0, 4, len(X))
    by_weight = FAMD(2, missing="em").fit(X, sample_weight=w)
    repeated = FAMD(2, missing="em").fit(X.loc[np.repeat(X.index, w)].reset_index(drop=True))
    assert_allclose(by_weight.explained_variance_, repeated.explained_variance_, rtol=1e-6)
    assert_allclose(np.abs(by_weight.components_), np.abs(repeated.components_), atol=1e-4)


def test_other_settings_name_the_column():
    X = mixed()
    X.loc[[3, 5], "x1"] = np.nan
    for missing in ("level", "passive", "error"):
        with pytest.raises(ValueError, match=r"'x1' holds numbers, and has missing entries.* in 2 of 300.*\"em\""):
            FAMD(2, missing=missing).fit(X)
    with pytest.raises(ValueError, match="'x1' holds numbers"):
        MFA(2, groups={"a": ["x0", "x1"], "b": ["answer"]}).fit(X)
    # Rows of weight zero do not count.
    w = np.ones(len(X))
    w[[3, 5]] = 0.0
    assert FAMD(2).fit(X, sample_weight=w).n_samples_ == 298


def test_new_rows_with_missing_numbers_are_refused_without_em():
    X = mixed()
    model = FAMD(2).fit(X)
    new = X.copy()
    new.loc[7, "x2"] = np.nan
    with pytest.raises(ValueError, match="row 7"):
        model.transform(new)


@pytest.mark.parametrize("name", ["x0", "x1"])
def test_a_number_without_entries_is_refused(name):
    X = mixed()
    X[name] = np.nan
    for model in (FAMD(2, missing="em"), FAMD(2), FAMD(2, supplementary=[name])):
        with pytest.raises(ValueError, match=f"column '{name}' has no entry"):
            model.fit(X)


@pytest.mark.parametrize("value", [5.0, 0.1, 0.0])
def test_a_constant_number_stays_constant(value):
    X = holed(mixed())
    X["x1"] = value
    X.loc[[0, 4, 9], "x1"] = np.nan
    em = FAMD(2, missing="em").fit(X)
    without = FAMD(2, missing="em").fit(X.drop(columns="x1"))
    assert em.coding_.means[1] == value
    assert em._variance[1] == 0.0
    assert_allclose(em.explained_variance_, without.explained_variance_, rtol=1e-3)
    assert np.all(np.isfinite(em.transform(X)))


def test_one_number_with_missing_entries():
    X = mixed()[["x0", "answer"]]
    X.loc[::7, "x0"] = np.nan
    em = FAMD(2, missing="em").fit(X)
    assert_allclose(em.total_inertia_, 2.0)
    alone = X[["x0"]].assign(x1=np.random.default_rng(0).standard_normal(len(X)))
    assert_allclose(FAMD(2, missing="em").fit(alone).total_inertia_, 2.0)


@pytest.mark.parametrize("factor", [1e-150, 1e-100, 1e100, 1e150])
def test_scales_of_any_size(factor):
    X = holed(mixed())
    Y = X.copy()
    Y["x1"] = (Y["x1"] - 100.0) * factor
    assert_allclose(
        FAMD(2, missing="em").fit(Y).explained_variance_, FAMD(2, missing="em").fit(X).explained_variance_, rtol=1e-5
    )


def test_a_large_offset_costs_few_digits():
    X = holed(mixed())
    Y = X.copy()
    Y["x0"] += 1e8
    assert_allclose(
        FAMD(2, missing="em").fit(Y).explained_variance_, FAMD(2, missing="em").fit(X).explained_variance_, rtol=1e-5
    )


def test_supplementary_numbers_are_filled_by_their_means():
    X = mixed()
    Y = X.copy()
    Y.loc[::5, "x3"] = np.nan
    by_hand = Y.assign(x3=Y["x3"].fillna(Y["x3"].mean()))
    for missing in ("level", "em"):
        found, expected = (FAMD(2, missing=missing, supplementary=["x3"]).fit(table) for table in (Y, by_hand))
        assert_allclose(geometry(found).correlations, geometry(expected).correlations, atol=1e-12)
    # Also when the rows come in blocks, and in any order.
    blocks = [Y.iloc[i : i + 70] for i in range(0, len(Y), 70)]
    for some in (blocks, blocks[::-1]):
        found = FAMD(2, supplementary=["x3"]).fit(some)
        assert_allclose(geometry(found).correlations, geometry(expected).correlations, atol=1e-12)


@pytest.mark.skipif(not SHARED.exists(), reason="the reference results are beside the repository")
def test_supplementary_numbers_as_in_factominer():
    reference = json.loads((SHARED / "reference" / "mca_survey.json").read_text())["results"]["missing_as_category"]
    table = pd.read_csv(SHARED / "data" / "survey.csv", keep_default_na=False, na_values=["NA", ""])
    aside = reference["supplementary_quantitative_variables"]
    found = geometry(MCA(5, supplementary=aside).fit(table[[*reference["active_variables"], *aside]]))
    correlations = np.asarray(found.correlations)[~np.asarray(found.active)]
    expected = np.array(reference["supplementary_quantitative"])
    signs = np.sign(np.sum(correlations * expected, axis=0))
    assert_allclose(correlations * signs, expected, rtol=0, atol=1e-12)


def test_what_is_undetermined_is_said():
    X = holed(mixed(12, p=8), 0.5, seed=3)
    X = X[X.filter(like="x").notna().any(axis=1)].reset_index(drop=True)
    with pytest.warns(ConvergenceWarning, match="missing='em'"):
        FAMD(missing="em").fit(X)


def test_partial_fit_refuses_missing_numbers():
    X = holed(mixed())
    em = FAMD(2, missing="em").fit(X)
    with pytest.raises(ValueError, match="missing"):
        em.partial_fit(X)
    before = em.n_samples_
    em.partial_fit(mixed(50, seed=5))
    assert em.n_samples_ == before + 50


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(0.0, 0.6), st.sampled_from([1, 2, None, 0.8]))
@pytest.mark.filterwarnings("ignore::lowdim.errors.ConvergenceWarning")
def test_any_missing_numbers(seed, share, k):
    """Each number that varies has the inertia 1 and each category m - 1, whatever is missing."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(4, 60)), int(rng.integers(1, 6))
    X = pd.DataFrame(
        rng.standard_normal((n, p)) @ rng.standard_normal((p, p)) * 10.0 ** rng.integers(-5, 6, p),
        columns=[f"x{j}" for j in range(p)],
    )
    X = X.mask(rng.random(X.shape) < share)
    X["answer"] = rng.choice(["yes", "no"], n)
    X["x again"] = 2.0 * X["x0"]
    weights = rng.integers(0, 3, n)
    weights[:2] = 1
    X.loc[:1, "answer"] = ["yes", "no"]
    counted = X[weights > 0]
    try:
        em = FAMD(k, missing="em").fit(X, sample_weight=weights)
    except ValueError as error:
        empty = not counted.notna().any().all()
        assert ("has no entry" in str(error)) if empty else ("n_components" in str(error)), error
        return
    varying = (counted.drop(columns="answer").nunique() > 1).sum()
    assert_allclose(em.total_inertia_, varying + 1, rtol=1e-8)
    assert np.all(np.isfinite(em.transform(X)))
    assert np.all(em._inertias >= 0)


def test_fit_transform_with_supplementary_columns():
    X = holed(mixed())
    em = FAMD(2, missing="em", supplementary=["x3", "size"])
    assert np.array_equal(em.fit_transform(X), em.transform(X))


def test_numbers_of_any_source(tmp_path):
    X = holed(mixed(200))
    expected = FAMD(2, missing="em").fit(X)
    X.to_parquet(tmp_path / "rows.parquet", row_group_size=50)
    X.to_csv(tmp_path / "rows.csv", index=False)
    blocks = [X[:70], X[70:]]
    for rows in (tmp_path / "rows.parquet", tmp_path / "rows.csv", blocks, X.astype(object), X.to_numpy(dtype=object)):
        found = FAMD(2, missing="em").fit(rows)
        assert_allclose(found.explained_variance_, expected.explained_variance_, rtol=1e-9)
        assert_allclose(found.transform(rows), expected.transform(X), atol=1e-7)
