"""Coordinates, cos2, contributions, eta2 and v-tests of columns, levels and rows; rows and eta2 against FactoMineR."""

import numpy as np
import pandas as pd
import pytest

from lowdim import CA, FAMD, MCA, PCA, PPCA, inspect
from parity.reference import results
from parity.test_factominer import CA_CASES, FAMD_CASES, MCA_CASES, mca_case, same, table


def values(model, found):
    """The columns of the components."""
    return found.select(model.component_names_).values


@pytest.mark.parametrize(("name", "case", "rows", "aside"), CA_CASES)
def test_rows_of_counts(name, case, rows, aside):
    r, X = results(f"ca_{name}")[case], table(name).fillna(0)
    weights = np.resize([1, 2, 3], len(X)) if "weights" in case else None
    aside = [X.columns[-1]] if aside == "last" else aside
    model, used = CA(supplementary=aside).fit(X.iloc[:rows], sample_weight=weights), X.iloc[:rows]
    same(values(model, inspect.coordinates(model, used)), r["row"]["principal"])
    same(values(model, inspect.cos2(model, used)), r["row"]["cos2"])
    shares = inspect.contributions(model, used, sample_weight=weights)
    same(100 * values(model, shares), r["row"]["contrib_percent"])
    assert shares.rows == list(used.index)
    columns = inspect.coordinates(model)
    same(values(model, columns)[columns["active"]], r["column"]["principal"])
    np.testing.assert_allclose(columns["mass"][columns["active"]], r["column"]["mass"])
    if aside:
        same(values(model, inspect.cos2(model, X.iloc[rows:])), r["supplementary_row"]["cos2"])
        same(values(model, inspect.cos2(model))[~columns["active"]], r["supplementary_column"]["cos2"])
        assert not inspect.contributions(model)["active"].size - inspect.contributions(model)["active"].sum()


@pytest.mark.parametrize(("name", "case"), MCA_CASES)
def test_rows_and_ratios_of_mca(name, case):
    X, weights, model = mca_case(name, case)
    r = results(f"mca_{name}")[case]
    model.fit(X, sample_weight=weights)
    same(values(model, inspect.cos2(model, X)), r["rows"]["cos2"])
    same(100 * values(model, inspect.contributions(model, X, sample_weight=weights)), r["rows"]["contrib_percent"])
    ratios = inspect.eta2(model)
    same(values(model, ratios)[ratios["active"]], r["eta2"])
    if r.get("supplementary_category"):
        aside = [row not in ("age",) or name != "tea" for row in ratios.rows] & ~ratios["active"]
        same(values(model, ratios)[aside], r["supplementary_category"]["eta2"])
    if r.get("supplementary_rows"):
        new = table(name).iloc[len(X) :][list(X.columns)]
        same(values(model, inspect.cos2(model, new)), r["supplementary_rows"]["cos2"])


@pytest.mark.parametrize(("name", "case"), FAMD_CASES)
def test_rows_and_ratios_of_famd(name, case):
    r, X = results(f"famd_{name}")[case], table(name)
    rows = {"rows_66_to_75_supplementary": 65, "Time_Sick_Sex_and_rows_46_to_55_supplementary": 45}.get(case)
    aside = list(r["supplementary_variables"] or []) or None
    weights = np.resize([1, 2, 3], len(X)) if "weights" in case else None
    used = X.iloc[:rows]
    model = FAMD(supplementary=aside).fit(used, sample_weight=weights)
    same(values(model, inspect.cos2(model, used)), r["rows"]["cos2"])
    same(100 * values(model, inspect.contributions(model, used, sample_weight=weights)), r["rows"]["contrib_percent"])
    if rows:
        same(values(model, inspect.cos2(model, X.iloc[rows:])), r["supplementary_rows"]["cos2"])
    ratios = inspect.eta2(model)
    order = [ratios.rows.index(variable) for variable in r["squared_loadings"]["variables"]]
    same(values(model, ratios)[order], r["squared_loadings"]["coord"])
    # The sum over the active columns is the eigenvalue.
    np.testing.assert_allclose(values(model, ratios)[ratios["active"]].sum(axis=0), model.explained_variance_)


def test_tables_of_levels():
    X = table("poison")
    model = FAMD(2, supplementary=["Sex"]).fit(X)
    found = inspect.coordinates(model)
    assert found.columns == ["variable", "level", "active", "share", "dim1", "dim2"]
    assert found.rows[:3] == ["Age", "Time", "Sick=Sick_n"]
    assert found.row("Sex=F")["active"] is False and found.row("Sex=F")["variable"] == "Sex"
    assert found.row("Sex=F")["share"] == pytest.approx((X["Sex"] == "F").mean())
    means = model.transform(X)[(X["Sex"] == "F").to_numpy()].mean(axis=0)
    np.testing.assert_allclose([found.row("Sex=F")[name] for name in ("dim1", "dim2")], means, atol=1e-12)
    assert inspect.contributions(model).values[:, -2:].sum(axis=0) == pytest.approx([1.0, 1.0])
    assert "Sex=F" not in inspect.contributions(model).rows
    assert "Sex=F" in inspect.v_tests(model).rows and "Age" not in inspect.v_tests(model).rows


def test_cos2_of_all_components_adds_up_to_one():
    X = table("poison")
    for model in (FAMD().fit(X), MCA().fit(X.iloc[:, 2:])):
        for found in (inspect.cos2(model), inspect.cos2(model, X)):
            np.testing.assert_allclose(values(model, found).sum(axis=1), 1.0)
    counts = table("housetasks")
    ca = CA().fit(counts)
    np.testing.assert_allclose(inspect.cos2(ca, counts).values.sum(axis=1), 1.0)


def test_weights_by_name_in_a_file(tmp_path):
    X = table("poison")
    X.to_csv(tmp_path / "rows.csv", index=False)
    model = MCA(2).fit(X.iloc[:, 2:], sample_weight=X["Age"])
    found = inspect.contributions(model, tmp_path / "rows.csv", sample_weight="Age")
    np.testing.assert_allclose(found.values.sum(axis=0), 1.0)


def test_a_new_level_is_passive_in_cos2():
    rows = [["tea", "a"], ["tea", "b"], ["coffee", "a"], ["coffee", "b"], ["tea", "a"]]
    model = MCA().fit(rows)
    assert inspect.cos2(model, [["cocoa", "a"], ["tea", "a"]]).values.sum(axis=1) == pytest.approx([1.0, 1.0])


def test_columns_of_pca():
    X = table("geomorphology").drop(columns="Drift")
    whole, few, unscaled = PCA(scale=True).fit(X), PCA(3, scale=True).fit(X), PCA(3).fit(X)
    np.testing.assert_allclose(inspect.coordinates(few).values, inspect.loadings(few).values)
    np.testing.assert_allclose(inspect.cos2(whole).values.sum(axis=1), 1.0)
    for model in (few, unscaled):
        np.testing.assert_allclose(inspect.cos2(model).values, inspect.correlations(model, X).values ** 2, atol=1e-12)
    forgotten = PCA(3, solver="krylov").fit(X)
    with pytest.raises(ValueError, match=r"does not keep the variances of its columns.*inspect\.correlations"):
        inspect.cos2(forgotten)
    assert inspect.contributions(few).columns == few.component_names_


def test_weights_of_columns():
    """Coordinates are those of the columns themselves, and contributions count the weights."""
    X = table("geomorphology").drop(columns="Drift")
    q = np.arange(1.0, 11.0)
    for scale in (True, False):
        whole, few = (PCA(k, scale=scale, feature_weight=q).fit(X) for k in (None, 3))
        G = inspect.coordinates(few).values
        np.testing.assert_allclose(
            q[:, None] * G**2 / few.explained_variance_, inspect.contributions(few).values, atol=1e-12
        )
        np.testing.assert_allclose(inspect.cos2(few).values, inspect.correlations(few, X).values ** 2, atol=1e-10)
        np.testing.assert_allclose(inspect.cos2(whole).values.sum(axis=1), 1.0)
        column = inspect.supplementary(few, X.assign(copy=X["Altitude"]), "copy").coordinates
        np.testing.assert_allclose(
            column.select(few.component_names_).values[0], G[list(X).index("Altitude")], atol=1e-9
        )


def test_loadings_of_coded_columns():
    X = table("poison")
    model = FAMD(2).fit(X)
    found = inspect.loadings(model)
    assert found.rows == model.coding_.names
    np.testing.assert_allclose(found.row("Age")["dim1"], inspect.coordinates(model).row("Age")["dim1"])
    other = FAMD(2).fit(X, sample_weight=np.resize([1, 2], len(X)))
    assert inspect.congruence(model, other)["congruence"].min() > 0.8


def test_other_models_are_refused():
    with pytest.raises(TypeError, match="PPCA has no coordinates"):
        inspect.coordinates(PPCA(1).fit(np.random.default_rng(0).standard_normal((20, 4))))
    pca = PCA(1).fit(np.random.default_rng(0).standard_normal((20, 4)))
    for function in (inspect.eta2, inspect.v_tests):
        with pytest.raises(TypeError, match=f"PCA has no {function.__name__}"):
            function(pca)
    assert {"coordinates", "contributions", "cos2", "eta2", "v_tests"} <= set(dir(FAMD().fit(table("poison")).tables))
    assert not {"diagnose", "correlations", "q_contributions"} & set(dir(FAMD().fit(table("poison")).tables))
    with pytest.raises(TypeError, match="diagnose needs a fitted PCA"):
        inspect.diagnose(CA().fit(table("housetasks")), table("housetasks"))


def test_rows_of_an_iterator_are_read_once():
    X = pd.DataFrame(np.random.default_rng(0).integers(1, 9, (12, 4)))
    model = CA().fit(X.to_numpy())
    blocks = (X.to_numpy()[i : i + 3] for i in range(0, 12, 3))
    found = inspect.contributions(model, blocks)
    np.testing.assert_allclose(found.values, inspect.contributions(model, X.to_numpy()).values)
    np.testing.assert_allclose(found.values.sum(axis=0), 1.0)
