"""The labelled tables of fitted models: what they hold, by independent formulas, and for which models they are."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_linnerud, load_wine
from sklearn.exceptions import NotFittedError

from examples import MODELS, X, Y, make, tables
from lowdim import CCA, GCCA, ICA, PCA, PCR, PPCA, FactorAnalysis, PLSRegression, Table, inspect
from lowdim.errors import LowdimWarning, without_warnings
from lowdim.table import Tabular

WINE = load_wine(as_frame=True).data
EXERCISE, BODY = load_linnerud(return_X_y=True, as_frame=True)
#: The tables of each model, by name; those that need rows are called with them.
TABLES = {
    "PCA": "importance loadings scores contributions cos2 correlations diagnose t2_contributions q_contributions",
    "Whitening": "importance scores",
    "PPCA": "importance loadings scores diagnose",
    "FactorAnalysis": "importance loadings pattern structure communalities factor_correlations determinacy scores "
    "diagnose",
    "FeatureMapPCA": "importance scores",
    "KernelPCA": "importance scores",
    "AutoEncoder": "importance scores",
    "ICA": "importance loadings scores",
    "PCR": "importance loadings coefficients vip scores contributions cos2 correlations diagnose t2_contributions "
    "q_contributions",
    "PLSRegression": "importance loadings coefficients vip scores correlations diagnose t2_contributions "
    "q_contributions",
    "PLSCanonical": "importance loadings coefficients vip scores correlations diagnose t2_contributions "
    "q_contributions",
    "PLSSVD": "importance loadings scores",
    "CCA": "importance loadings structure coefficients canonical_tests scores",
    "GCCA": "importance loadings structure pair_correlations scores",
    "KernelCCA": "importance scores",
}
OF_ROWS = ("scores", "cos2", "correlations", "diagnose", "t2_contributions", "q_contributions")
LABELS = pd.Index([f"row {i}" for i in range(len(X))], name="sample")
FRAME = pd.DataFrame(X, index=LABELS, columns=list("abcde"))
RESPONSES = pd.DataFrame(Y, index=LABELS, columns=list("stu"))


def fitted(name):
    with without_warnings(LowdimWarning):
        return make(name).fit(*tables(name, FRAME, RESPONSES))


@pytest.mark.parametrize("name", MODELS)
def test_every_model_has_its_tables(name):
    model = fitted(name)
    assert set(dir(model.tables)) >= set(TABLES[name].split())
    for table in TABLES[name].split():
        given = (FRAME,) if table in OF_ROWS else ()
        found = getattr(model.tables, table)(*given)
        same = getattr(inspect, table)(model, *given)
        assert str(found) == str(same)
        assert isinstance(found, Table | Tabular)
        assert isinstance(found.to_pandas(), pd.DataFrame) and isinstance(found.to_polars(), pl.DataFrame)
        assert "<table>" in found._repr_html_()
        if table in ("scores", "cos2", "diagnose"):
            assert found.to_pandas().index.equals(LABELS) and found.to_pandas().index.name == "sample"
        if table in ("loadings", "pattern", "structure", "communalities", "coefficients", "vip", "correlations"):
            assert found.rows == list("abcde")
        if table in ("loadings", "pattern", "structure", "contributions", "cos2", "correlations", "scores"):
            assert found.columns == model.component_names_
    assert all(table in repr(model.tables) for table in TABLES[name].split())


@pytest.mark.parametrize("name", MODELS)
def test_other_tables_are_refused(name):
    model = fitted(name)
    for table in {table for names in TABLES.values() for table in names.split()} - set(TABLES[name].split()):
        with pytest.raises(AttributeError, match=f"{name} has no table '{table}'; it has importance, "):
            getattr(model.tables, table)
        with pytest.raises(
            TypeError, match=rf"{name} has no {table}|needs (a fitted|orthonormal)|is for a fitted FactorAnalysis"
        ):
            getattr(inspect, table)(model, *((FRAME,) if table in OF_ROWS else ()))


def test_nothing_before_the_fit():
    assert "not fitted yet" in repr(PCA().tables) and dir(PCA().tables) == []
    with pytest.raises(NotFittedError):
        PCA().tables.loadings()
    for name in ("importance", "loadings", "communalities", "vip", "canonical_tests", "column_names"):
        with pytest.raises(NotFittedError):
            getattr(inspect, name)(PCA())


def test_importance_has_all_components():
    pca = PCA(scale=True).fit(WINE)
    table = pca.tables.importance()
    assert len(table) == 13 and table.row_name == "component"
    values = np.linalg.eigvalsh(np.corrcoef(WINE.T))[::-1]
    np.testing.assert_allclose(table["variance"], values, rtol=1e-9)
    np.testing.assert_allclose(table["proportion"], values / 13, rtol=1e-9)
    np.testing.assert_allclose(table["cumulative"], np.cumsum(values) / 13, rtol=1e-9)
    np.testing.assert_allclose(table["std. deviation"] ** 2, values, rtol=1e-9)
    assert "... 3 more rows" in str(pca) and "more rows" not in str(table)


def test_loadings_of_a_correlation_matrix_are_correlations():
    pca = PCA(3, scale=True).fit(WINE)
    scores = pca.transform(WINE)
    expected = np.corrcoef(WINE.T, scores.T)[:13, 13:]
    np.testing.assert_allclose(pca.tables.loadings(), expected, atol=1e-12)
    np.testing.assert_allclose(pca.tables.correlations(WINE), expected, atol=1e-12)


@pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")
def test_loadings_give_the_covariance_back():
    for model in (PPCA(2).fit(X), FactorAnalysis(2).fit(X)):
        L = model.tables.loadings().values
        outside = np.diag(np.broadcast_to(model.noise_variance_, 5))
        np.testing.assert_allclose(L @ L.T + outside, model.get_covariance(), rtol=1e-9)


def test_loadings_of_sources_are_those_of_sources_of_unit_variance():
    with without_warnings(LowdimWarning):
        ica = ICA(random_state=0).fit(X)
    sources = ica.transform(X)
    rows = sources / sources.std(axis=0) @ ica.tables.loadings().values.T + X.mean(axis=0)
    np.testing.assert_allclose(rows, X, atol=1e-9)


@pytest.mark.parametrize("rotation", [None, "varimax", "oblimin"])
@pytest.mark.parametrize("scale", [True, False])
def test_tables_of_factor_analysis(rotation, scale):
    fa = FactorAnalysis(2, rotation=rotation, scale=scale).fit(WINE)
    phi = fa.tables.factor_correlations().values
    L, S = fa.tables.pattern().values, fa.tables.structure().values
    np.testing.assert_allclose(fa.tables.loadings(), L)
    table = fa.tables.communalities()
    total = table["communality"] + table["uniqueness"]
    np.testing.assert_allclose(table["communality"], np.diag(L @ phi @ L.T), rtol=1e-9)
    np.testing.assert_allclose(S * np.sqrt(total)[:, None], L @ phi, atol=1e-9)
    np.testing.assert_allclose(table["proportion"], table["communality"] / total)
    if scale:
        np.testing.assert_allclose(total, 1.0, rtol=1e-6)
    if rotation != "oblimin":
        np.testing.assert_allclose(phi, np.eye(2), atol=1e-9)
    assert np.all((table["complexity"] >= 1.0 - 1e-12) & (table["complexity"] <= 2.0 + 1e-12))


@pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")
def test_complexity_counts_the_factors_of_a_column():
    fa = FactorAnalysis(2).fit(X)
    fa.components_ = np.array([[3.0, 0.0, 1.0, 2.0, 0.0], [0.0, -2.0, 1.0, -2.0, 0.0]])
    np.testing.assert_allclose(fa.tables.communalities()["complexity"], [1, 1, 2, 2, 0])


def test_heywood_columns_are_marked():
    rng = np.random.default_rng(1)
    factor = rng.standard_normal(200)
    rows = np.column_stack([factor, *(factor + rng.standard_normal(200) for _ in range(3))])
    with without_warnings(LowdimWarning):
        fa = FactorAnalysis(1, scale=True).fit(pd.DataFrame(rows, columns=list("abcd")))
    table = fa.tables.communalities()
    np.testing.assert_array_equal(table["Heywood"], fa.heywood_)
    assert table["Heywood"][0] and any("lower bound: a" in note for note in table.notes)


def test_scores_are_what_transform_returns():
    pca = PCA(2).fit(FRAME)
    table = pca.tables.scores(FRAME)
    np.testing.assert_array_equal(table, pca.transform(FRAME))
    whitened = PCA(2, whiten=True).set_output(transform="polars").fit(FRAME)
    np.testing.assert_allclose(whitened.tables.scores(FRAME), table, atol=1e-10)
    gcca = GCCA(1).fit([FRAME, RESPONSES])
    both = gcca.tables.scores([FRAME, RESPONSES])
    assert both.columns == ["table0_comp1", "table1_comp1"] and both.to_pandas().index.equals(LABELS)
    np.testing.assert_array_equal(both, np.hstack(gcca.transform([FRAME, RESPONSES])))


@pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")
def test_structure_and_tests_of_cca():
    cca = CCA().fit(EXERCISE, BODY)
    T, U = cca.transform(EXERCISE, BODY)
    for table, cross, rows, variates in (
        ("X", False, EXERCISE, T),
        ("y", False, BODY, U),
        ("X", True, EXERCISE, U),
        ("y", True, BODY, T),
    ):
        found = cca.tables.structure(table, cross=cross)
        assert found.rows == list(rows.columns)
        np.testing.assert_allclose(found, np.corrcoef(rows.T, variates.T)[:3, 3:], atol=1e-10)
    assert cca.tables.structure("X", cross=True).title == "Correlations with the variates of y: columns of X"
    assert cca.tables.structure("y", cross=True).title == "Correlations with the variates of X: columns of y"
    tests = cca.tables.canonical_tests()
    np.testing.assert_allclose(tests["r"], cca.correlations_)
    np.testing.assert_allclose(tests["Wilks"], np.cumprod((1 - cca.correlations_**2)[::-1])[::-1])
    assert str(cca.significance()) == str(tests)
    assert tests.rows == ["from 1", "from 2", "from 3"]
    with pytest.raises(ValueError, match="cross=True is for the two tables of CCA"):
        FactorAnalysis(1).fit(X).tables.structure(cross=True)


def test_structure_of_several_tables():
    parts = [WINE.iloc[:, :4], WINE.iloc[:, 4:8], WINE.iloc[:, 8:]]
    gcca = GCCA(2).fit(parts)
    Z = gcca.transform(parts)
    for i, part in enumerate(parts):
        p = part.shape[1]
        np.testing.assert_allclose(gcca.tables.structure(i), np.corrcoef(part.T, Z[i].T)[:p, p:], atol=1e-10)
        assert gcca.tables.loadings(i).rows == list(part.columns)
    pairs = gcca.tables.pair_correlations()
    assert pairs.columns == ["tables 0, 1", "tables 0, 2", "tables 1, 2"]
    for k in range(2):
        expected = np.corrcoef([each[:, k] for each in Z])
        np.testing.assert_allclose(pairs.values[k], expected[np.triu_indices(3, 1)], atol=1e-10)


@pytest.mark.parametrize("kind", [PLSRegression, PCR, CCA])
def test_coefficients_in_both_units(kind):
    model = kind(2, scale=True).fit(EXERCISE, BODY)
    table = model.tables.coefficients()
    assert table.rows == list(EXERCISE.columns) and table.columns == list(BODY.columns)
    predicted = EXERCISE.to_numpy() @ table.values + model.intercept_
    np.testing.assert_allclose(predicted, model.predict(EXERCISE), rtol=1e-9)
    standard = model.tables.coefficients(standardized=True).values
    Z = (EXERCISE - EXERCISE.mean()) / EXERCISE.std()
    predicted = Z.to_numpy() @ standard * BODY.std().to_numpy() + BODY.mean().to_numpy()
    np.testing.assert_allclose(predicted, model.predict(EXERCISE), rtol=1e-9)
    with pytest.raises(ValueError, match=r"with scale=False .* fit it with scale=True"):
        kind(2, scale=False).fit(EXERCISE, BODY).tables.coefficients(standardized=True)


def test_sorted_loadings_with_blanks():
    """Columns follow the component they load on most, the largest first; what is blank stays a number."""
    pca = PCA(3, scale=True).fit(WINE)
    plain, found = pca.tables.loadings(), pca.tables.loadings(sort=True, blank=0.3)
    rows = {name: plain.values[plain.rows.index(name)] for name in found.rows}
    keys = [(int(np.abs(row).argmax()), -float(np.abs(row).max())) for row in rows.values()]
    assert sorted(keys) == keys and sorted(rows) == sorted(plain.rows)
    pd.testing.assert_frame_equal(found.to_pandas(), plain.to_pandas().loc[found.rows])
    text = str(found).splitlines()
    assert text[-1] == "loadings below 0.3 in magnitude are blank"
    for line, values in zip(text[2:-1], rows.values(), strict=True):
        assert len(line.split()) - 1 == np.sum(np.abs(values) >= 0.3)
    assert str(pca.tables.loadings(blank=0.0)) == str(plain)
    for blank in (-1, True, np.nan, "0.3"):
        with pytest.raises(ValueError, match="must be a number that is not negative"):
            pca.tables.loadings(blank=blank)


@pytest.mark.parametrize("rotation", [None, "oblimin"])
def test_congruence_finds_order_and_signs(rotation):
    fa = FactorAnalysis(3, scale=True, rotation=rotation).fit(WINE)
    found = fa.tables.congruence(fa)
    assert found["partner"].tolist() == fa.component_names_ and np.allclose(found["congruence"], 1.0)
    one, two = (PCA(k).fit(WINE[half::2] / WINE.std()) for k, half in ((2, 0), (4, 1)))
    found = one.tables.congruence(two)
    L, M = one.loadings_, two.loadings_
    for i, (name, size, sign) in enumerate(zip(*(found[name] for name in found.columns), strict=True)):
        m = M[:, two.component_names_.index(name)] * sign
        assert size == pytest.approx(L[:, i] @ m / np.linalg.norm(L[:, i]) / np.linalg.norm(m))
    flipped = PCA(3).fit(WINE)
    flipped.components_ = -flipped.components_[[2, 0, 1]]
    flipped.explained_variance_ = flipped.explained_variance_[[2, 0, 1]]
    found = PCA(3).fit(WINE).tables.congruence(flipped)
    assert found["partner"].tolist() == ["PC2", "PC3", "PC1"] and found["sign"].tolist() == [-1, -1, -1]
    np.testing.assert_allclose(found["congruence"], 1.0)
    with pytest.raises(ValueError, match="other columns"):
        one.tables.congruence(PCA(2).fit(WINE.iloc[:, 1:]))


@pytest.mark.parametrize("name", ["PCA", "PCR", "PLSRegression", "PLSCanonical"])
def test_parts_of_the_columns_add_up_to_t2_and_q(name):
    model = fitted(name)
    np.testing.assert_allclose(
        model.tables.t2_contributions(FRAME).values.sum(axis=1), inspect.hotelling_t2(model, FRAME), rtol=1e-9
    )
    found = model.tables.q_contributions(FRAME)
    np.testing.assert_allclose(found.values.sum(axis=1), inspect.q_residuals(model, FRAME), rtol=1e-9, atol=1e-12)
    assert found.values.min() >= 0.0 and found.columns == list("abcde") and found.rows == list(LABELS)


def test_the_part_of_a_wrong_entry_is_the_largest():
    pca = PCA(3, scale=True).fit(WINE)
    wrong = WINE.iloc[:1].copy()
    wrong["flavanoids"] += 8 * WINE["flavanoids"].std()
    assert pca.tables.q_contributions(wrong).to_pandas().iloc[0].idxmax() == "flavanoids"
    residual = (wrong - pca.inverse_transform(pca.transform(wrong))) / pca.scale_
    np.testing.assert_allclose(pca.tables.q_contributions(wrong), residual**2, rtol=1e-9)


def test_importance_beside_coefficients():
    pls = PLSRegression(2).fit(EXERCISE, BODY)
    found = pls.tables.vip(coefficients=True)
    assert found.columns == ["VIP", *(f"{name} (coef. x sd)" for name in BODY.columns)]
    raised = pd.DataFrame(EXERCISE.mean().to_numpy() + np.diag(EXERCISE.std()), columns=EXERCISE.columns)
    changed = pls.predict(raised) - BODY.mean().to_numpy()
    np.testing.assert_allclose(found.values[:, 1:], changed, rtol=1e-9)
    unscaled = PLSRegression(2, scale=False).fit(EXERCISE, BODY)
    with pytest.raises(ValueError, match=r"scale=False the model does not keep them"):
        unscaled.tables.vip(coefficients=True)


def test_importance_of_columns_in_projection():
    table = PLSRegression(2).fit(EXERCISE, BODY).tables.vip()
    assert table.columns == ["VIP"] and np.mean(table["VIP"] ** 2) == pytest.approx(1.0)


def test_supplementary_columns_have_their_names():
    pca = PCA(2).fit(FRAME)
    assert pca.tables.correlations(FRAME, RESPONSES).rows == list("stu")
    assert pca.tables.correlations(FRAME, RESPONSES["t"]).rows == ["t"]
    assert pca.tables.correlations(FRAME, Y[:, 0]).rows == ["y1"]


def test_rows_beyond_a_limit_are_known_by_their_labels():
    rows = FRAME.copy()
    rows.loc["row 7"] += [80.0, -80.0, 0.0, 50.0, 10.0]
    found = PCA(2).fit(FRAME).tables.diagnose(rows, new_rows=True)
    beyond = found.outlier_table()
    assert beyond.rows[0] == "row 7" and "row 7" in str(found) and "row 7" in found._repr_html_()
    assert list(beyond.rows) == list(LABELS[[int(label.split()[1]) for label in beyond.rows]])
    table = found.table()
    np.testing.assert_array_equal(table["T2 beyond"], table["T2"] > found.t2_limit)
    np.testing.assert_array_equal(table["Q beyond"], table["Q"] > found.q_limit)
    flagged = table["T2 beyond"] | table["Q beyond"]
    assert set(beyond.rows) == set(LABELS[flagged]) and len(table) == len(X)
    excess = np.maximum(beyond["T2"] / found.t2_limit, beyond["Q"] / found.q_limit)
    assert np.all(np.diff(excess) <= 0)
    assert "limit of T2: " in str(found) and "limit of Q: " in str(found)


def test_correlations_of_rows_in_a_file(tmp_path):
    frame = pd.DataFrame(np.random.default_rng(0).standard_normal((50, 3)), columns=["a", "b", "c"])
    frame.assign(name="x").to_csv(tmp_path / "rows.csv", index=False)
    pca = PCA(2).fit(frame)
    expected = inspect.correlations(pca, frame)
    found = inspect.correlations(pca, tmp_path / "rows.csv")
    assert found.rows == ["a", "b", "c"]
    np.testing.assert_allclose(found.values, expected.values, rtol=1e-12)


def test_supplementary_columns_with_the_labels_in_another_order_are_refused():
    labels = [f"row {i}" for i in range(10)]
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(10, 3)), index=labels, columns=["a", "b", "c"])
    pca = PCA(2).fit(X)
    with pytest.raises(ValueError, match="same row labels in another order"):
        pca.tables.correlations(X, X[["a"]].iloc[::-1])
