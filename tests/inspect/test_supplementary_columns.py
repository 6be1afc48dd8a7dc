"""Supplementary columns of a second pass, and what a component is about; against the fit, FactoMineR and SciPy."""

import numpy as np
import pandas as pd
import pytest

from lowdim import CA, FAMD, MCA, MFA, PCA, PPCA, PLSRegression, inspect
from lowdim.inspect.geometry import geometry
from parity.reference import results
from parity.test_factominer import POISON, groups, same, table

#: Ten numbers, and a category at the end.
GEOMORPHOLOGY = table("geomorphology")[[name for name in table("geomorphology") if name != "Drift"] + ["Drift"]]

FIELDS = ("coordinates", "cos2", "correlations", "means", "v_tests", "share")


def poison_models():
    X = table("poison")
    named, aside = groups(POISON, X.columns), ["Time", "Sick", "Sex"]
    return {
        "MCA": (MCA(3, supplementary=["Age", *aside]), MCA(3)),
        "FAMD": (FAMD(3, supplementary=aside), FAMD(3)),
        "MFA": (
            MFA(3, groups=named, supplementary=["desc", "desc2"]),
            MFA(3, groups={name: named[name] for name in ("symptom", "eat")}),
        ),
    }


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", ["MCA", "FAMD", "MFA"])
def test_the_same_as_in_the_fit(name, weighted):
    X = table("poison")
    weights = np.resize([1.0, 2.0, 0.0], len(X)) if weighted else None
    with_them, without = poison_models()[name]
    with_them.fit(X, sample_weight=weights)
    kept = [column for column in X.columns if column not in with_them.supplementary_coding_.columns]
    without.fit(X[kept], sample_weight=weights)
    expected = geometry(with_them)
    expected = expected.take(np.flatnonzero(~expected.active))
    found = inspect.supplementary(without, X, sample_weight=weights).points
    order = [found.names.index(point) for point in expected.names]
    for field in FIELDS:
        ours, theirs = getattr(found, field)[order], getattr(expected, field)
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-10)


def test_columns_of_counts():
    X = table("children").fillna(0).iloc[:14]
    names = ["thirty", "fifty", "more_fifty"]
    found = inspect.supplementary(CA().fit(X.drop(columns=names)), X)
    expected = results("ca_children")["with_supplementary"]["supplementary_column"]
    ca = CA().fit(X.drop(columns=names))
    same(found.coordinates.select(ca.component_names_).values, expected["principal"])
    same(found.cos2.select(ca.component_names_).values, expected["cos2"])
    with pytest.raises(ValueError, match="holds no counts"):
        inspect.supplementary(ca, X.assign(kind="a"), "kind")


def test_missing_numbers_count_as_the_mean():
    """As FactoMineR fills them; Pulse of the survey has missing entries."""
    X = table("survey")
    active = ["Sex", "W.Hnd", "Fold", "Clap", "Exer", "Smoke", "M.I"]
    r = results("mca_survey")["missing_as_category"]
    found = inspect.supplementary(MCA(5).fit(X[active]), X, ["Age", "Pulse"])
    same(found.correlations.values, r["supplementary_quantitative"])


def test_of_pca_and_pls():
    X = GEOMORPHOLOGY.copy()
    numbers, drift = X.iloc[:, 2:10], X["Drift"]
    for model in (PCA(3, scale=True).fit(numbers), PCA(3, ddof=0).fit(numbers)):
        found, Z = inspect.supplementary(model, X), model.scores(numbers)
        assert found.coordinates.rows[:2] == list(X.columns[:2])
        expected = inspect.correlations(model, numbers, X.iloc[:, :2])
        np.testing.assert_allclose(found.correlations.values, expected.values, atol=1e-12)
        means = pd.DataFrame(Z).groupby(drift.to_numpy()).mean()
        np.testing.assert_allclose(found.coordinates.select(model.component_names_).values[2:], means, atol=1e-10)
        # eta^2 is the share of the variance between groups.
        between = ((means.loc[drift].to_numpy() - Z.mean(axis=0)) ** 2).sum(axis=0) / ((Z - Z.mean(axis=0)) ** 2).sum(
            axis=0
        )
        ratios = found.eta2.select(model.component_names_).values
        np.testing.assert_allclose(ratios[found.eta2.rows.index("Drift")], between, atol=1e-12)
        whole = PCA(scale=model.scale).fit(numbers)
        shares = inspect.supplementary(whole, X, "Drift").cos2.select(whole.component_names_).values
        np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    # In the units of the column where the model keeps units.
    plain = PCA(1).fit(numbers)
    column = inspect.supplementary(plain, X.assign(copy=numbers.iloc[:, 0]), "copy").coordinates["PC1"]
    np.testing.assert_allclose(column, inspect.loadings(plain).values[0], rtol=1e-10)
    pls = PLSRegression(2).fit(numbers, X.iloc[:, 0])
    found = inspect.supplementary(pls, X, "Drift")
    np.testing.assert_allclose(
        found.coordinates.select(pls.component_names_).values,
        pd.DataFrame(pls.scores(numbers)).groupby(drift.to_numpy()).mean(),
    )
    assert np.isnan(found.cos2.select(pls.component_names_).values).all()


def test_rows_with_missing_numbers_of_the_fit():
    """They are estimated in new rows as in those of the fit."""
    X = table("poison")
    X["Time"] = X["Time"].astype(float)
    X.loc[X.index[:6], "Time"] = np.nan
    kept = X.drop(columns=["Sick", "Age"])
    model, with_them = FAMD(missing="em").fit(kept), FAMD(missing="em", supplementary=["Sick", "Age"]).fit(X)
    np.testing.assert_allclose(inspect.cos2(model, kept).select(model.component_names_).values.sum(axis=1), 1.0)
    expected = geometry(with_them)
    expected = expected.take(np.flatnonzero(~expected.active))
    found = inspect.supplementary(model, X).points
    order = [found.names.index(point) for point in expected.names]
    # The rows are at their conditional means, whose variances are a little smaller than those of the fit.
    np.testing.assert_allclose(found.coordinates[order][:, :2], expected.coordinates[:, :2], atol=0.02)


def test_of_files_and_of_arrays(tmp_path):
    X = GEOMORPHOLOGY.copy()
    X.to_csv(tmp_path / "rows.csv", index=False)
    model = PCA(2, scale=True).fit(X.iloc[:, 2:10])
    from_file = inspect.supplementary(model, tmp_path / "rows.csv")
    expected = inspect.supplementary(model, X)
    assert from_file.coordinates.rows == expected.coordinates.rows
    np.testing.assert_allclose(from_file.coordinates.values, expected.coordinates.values)
    rows = X.iloc[:, 2:8].to_numpy()
    found = inspect.supplementary(PCA(2).fit(rows[:, :4]), rows)
    assert found.coordinates.rows == ["x5", "x6"]


def test_missing_entries_of_a_category_are_a_level():
    X = GEOMORPHOLOGY.copy()
    X.loc[X.index[:5], "Drift"] = None
    found = inspect.supplementary(PCA(2).fit(X.iloc[:, :10]), X)
    assert found.coordinates.rows[-1] == "Drift=(missing)"
    assert found.coordinates.row("Drift=(missing)")["share"] == pytest.approx(5 / 75)


def test_refusals():
    X = GEOMORPHOLOGY.copy()
    model = PCA(2).fit(X.iloc[:, :8])
    with pytest.raises(ValueError, match="X has no column 'nothing'; its columns are"):
        inspect.supplementary(model, X, "nothing")
    with pytest.raises(ValueError, match="took part in the fit"):
        inspect.supplementary(model, X, X.columns[0])
    with pytest.raises(ValueError, match="no column that did not take part"):
        inspect.supplementary(model, X.iloc[:, :8])
    with pytest.raises(ValueError, match="looks like an identifier: 75 different entries in 75 rows"):
        inspect.supplementary(model, X.assign(name=[f"row {i}" for i in range(75)]))
    with pytest.raises(ValueError, match="holds neither numbers nor categories"):
        inspect.supplementary(model, X.assign(day=pd.Timestamp("2024-01-01")), "day")
    with pytest.raises(ValueError, match="'other' is not among the supplementary columns"):
        inspect.supplementary(model, X, categorical_features="other")
    with pytest.raises(ValueError, match="missing or infinite entries in columns of the fit"):
        inspect.supplementary(model, X.mask(X.iloc[0, 0] == X))
    with pytest.raises(ValueError, match="all are missing"):
        inspect.supplementary(model, X.assign(empty=np.nan), "empty")
    with pytest.raises(ValueError, match="feature names"):
        inspect.supplementary(model, X.iloc[:, 2:])
    with pytest.raises(TypeError, match="PPCA has no supplementary"):
        inspect.supplementary(PPCA(1).fit(X.iloc[:, :8]), X)


def test_codes_that_are_numbers():
    X = table("wg93")
    model = MCA(2).fit(X[["A", "B", "C", "D"]].astype(str))
    rows = X[["A", "B", "C", "D"]].astype(str).join(X[["sex", "age", "edu"]])
    found = inspect.supplementary(model, rows, categorical_features=["sex", "age", "edu"])
    r = results("mca_wg93")["FactoMineR"]["supplementary_category"]
    same(found.coordinates.select(model.component_names_).values, np.array(r["coord"])[:, :2])
    same(found.v_tests.select(model.component_names_).values, np.array(r["v_test"])[:, :2])
    same(found.eta2.select(model.component_names_).values, np.array(r["eta2"])[:, :2])
    assert inspect.supplementary(model, rows, "age").correlations.rows == ["age"]
