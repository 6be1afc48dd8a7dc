"""CA, MCA, FAMD and MFA against FactoMineR, ca and MASS on real tables: every number of the stored results that these
models have. R is exact there, so all are compared to 1e-9 of the largest."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from lowdim import CA, FAMD, MCA, MFA
from lowdim.inspect.geometry import geometry
from parity.reference import DATA, results

TOLERANCE = 1e-9
SURVEY = ["Sex", "W.Hnd", "Fold", "Clap", "Exer", "Smoke", "M.I"]
WINE = {"origin": 2, "odor": 5, "visual": 3, "odor.after.shaking": 10, "taste": 9, "overall": 2}
POISON = {"desc": 2, "desc2": 2, "symptom": 5, "eat": 6}
LABELLED = ("children", "smoke", "housetasks", "farms", "poison", "geomorphology", "wine_sensory")


def table(name):
    """A data set as a data frame; NA is missing, and None is a category."""
    index = 0 if name in LABELLED else None
    return pd.read_csv(DATA / f"{name}.csv", keep_default_na=False, na_values=["NA"], index_col=index)


def groups(sizes, columns):
    """The names of the columns of each group."""
    edges = np.cumsum([0, *sizes.values()])
    return {name: list(columns[i:j]) for name, i, j in zip(sizes, edges[:-1], edges[1:], strict=True)}


def same(found, expected):
    """Equal up to the sign of each column; R stores the first rows and columns only."""
    expected = np.asarray(expected, dtype=float)
    found = np.asarray(found, dtype=float)[: len(expected), : expected.shape[1]]
    keep = ~np.isnan(expected)
    assert keep.any()
    scale = np.abs(expected[keep]).max()
    signs = np.sign(np.nansum(found * np.nan_to_num(expected), axis=0))
    signs[signs == 0] = 1
    np.testing.assert_allclose((found * signs)[keep], expected[keep], rtol=0, atol=TOLERANCE * scale)


def same_values(found, expected):
    """Equal eigenvalues; those that R rounds to zero are left out here."""
    n = min(len(found), len(expected))
    np.testing.assert_allclose(found[:n], expected[:n], rtol=0, atol=TOLERANCE * expected[0])
    assert np.all(np.abs(expected[n:]) < 1e-12)


def same_points(model, r):
    """Coordinates, cos2, contributions and tests of columns and levels."""
    g = geometry(model)
    level, active = g.is_level, g.active
    for key, which in (("numeric", active & ~level), ("supplementary_numeric", ~active & ~level)):
        if r.get(key) is not None:
            same(g.coordinates[which], r[key]["coord"])
            same(g.cos2[which], r[key]["cos2"])
    if "category_level" in r:
        # R sorts missing entries, NA, among the levels.
        pairs = zip(r["category_variable"], r["category_level"], strict=True)
        names = [f"{variable}={'(missing)' if level == 'NA' else level}" for variable, level in pairs]
        order = np.array([g.names.index(name) if name in g.names else -1 for name in names])
        order = order if (order >= 0).all() else np.flatnonzero(active & level)
    else:
        order = np.flatnonzero(active & level)
    for key, which in (("category", order), ("supplementary_category", ~active & level)):
        if r.get(key) is not None:
            same(g.coordinates[which], r[key]["coord"])
            same(g.cos2[which], r[key]["cos2"])
            same(g.v_tests[which], r[key]["v_test"])
    for key, which in (("numeric", active & ~level), ("category", order)):
        if r.get(key) is not None and "contrib_percent" in r[key]:
            same(100 * g.contributions[which], r[key]["contrib_percent"])


# ---- Correspondence analysis

CA_CASES = [
    ("children", "with_supplementary", 14, ["thirty", "fifty", "more_fifty"]),
    ("smoke", "plain", None, None),
    ("smoke", "last_row_and_column_supplementary", 4, "last"),
    ("housetasks", "plain", None, None),
    ("housetasks", "row_weights_1_2_3_repeated", None, None),
]


@pytest.mark.parametrize(("name", "case", "rows", "aside"), CA_CASES)
def test_ca(name, case, rows, aside):
    r, X = results(f"ca_{name}")[case], table(name).fillna(0)
    weights = np.resize([1, 2, 3], len(X)) if "weights" in case else None
    aside = [X.columns[-1]] if aside == "last" else aside
    model = CA(supplementary=aside).fit(X.iloc[:rows], sample_weight=weights)
    same_values(model.explained_variance_, r["eigenvalues"])
    assert model.total_inertia_ == pytest.approx(r["total_inertia"], rel=TOLERANCE)
    assert model.chi_square_ == pytest.approx(r["chi_square"], rel=TOLERANCE)
    assert model.dof_ == r["dof"]
    assert model.p_value_ == pytest.approx(r["p_value"], rel=1e-6)
    same(model.transform(X.iloc[:rows]), r["row"]["principal"])
    g = geometry(model)
    same(g.coordinates[g.active], r["column"]["principal"])
    same(g.cos2[g.active], r["column"]["cos2"])
    same(100 * g.contributions[g.active], r["column"]["contrib_percent"])
    np.testing.assert_allclose(model.mean_, r["column"]["mass"], rtol=TOLERANCE)
    if aside:
        same(g.coordinates[~g.active], r["supplementary_column"]["principal"])
        same(g.cos2[~g.active], r["supplementary_column"]["cos2"])
        same(model.transform(X.iloc[rows:]), r["supplementary_row"]["principal"])


# ---- Multiple correspondence analysis


def mca_case(name, case):
    """The table, the weights and the model of a case."""
    X, weights, options = table(name), None, {}
    if name == "tea":
        if case == "supplementary_variables":
            options["supplementary"] = list(X.columns[18:])
        else:
            X = X.iloc[:, :18]
        weights = np.resize([1, 2, 3], len(X)) if "weights" in case else None
        X = X.iloc[:280] if "281" in case else X
    elif name == "wg93":
        options["supplementary"] = ["sex", "age", "edu"]
        X = X.astype(str)
    elif name == "survey":
        X = X[SURVEY]
        options["missing"] = "passive" if case == "missing_as_average" else "level"
        X = X.dropna() if case == "complete_rows_only" else X
    elif "18" in case:
        X = X.iloc[:17]
    return X, weights, MCA(**options)


MCA_CASES = [
    ("tea", "supplementary_variables"),
    ("tea", "rows_281_to_300_supplementary"),
    ("tea", "row_weights_1_2_3_repeated"),
    ("wg93", "FactoMineR"),
    ("farms", "FactoMineR"),
    ("farms", "FactoMineR_rows_18_to_20_supplementary"),
    ("survey", "missing_as_category"),
    ("survey", "missing_as_average"),
    ("survey", "complete_rows_only"),
]


@pytest.mark.parametrize(("name", "case"), MCA_CASES)
def test_mca(name, case):
    X, weights, model = mca_case(name, case)
    r = results(f"mca_{name}")[case]
    model.fit(X, sample_weight=weights)
    same_values(model.explained_variance_, r["eigenvalues"])
    assert model.total_inertia_ == pytest.approx(r["total_inertia"], rel=TOLERANCE)
    same(model.transform(X), r["rows"]["coord"])
    same_points(model, r)
    n = len(r["benzecri"]["percent"])
    np.testing.assert_allclose(model.adjusted_inertia_[:n], r["benzecri"]["adjusted_inertia"], rtol=0, atol=TOLERANCE)
    np.testing.assert_allclose(100 * model.benzecri_ratio_[:n], r["benzecri"]["percent"], rtol=0, atol=1e-7)
    np.testing.assert_allclose(100 * model.greenacre_ratio_[:n], r["greenacre"]["percent"], rtol=0, atol=1e-7)
    if r.get("supplementary_rows"):
        new = table(name).iloc[len(X) :]
        same(model.transform(new[list(X.columns)]), r["supplementary_rows"]["coord"])


def test_numbers_beside_mca():
    """Age is a supplementary number of the questions about tea."""
    X, _, model = mca_case("tea", "supplementary_variables")
    g = geometry(model.fit(X))
    r = results("mca_tea")["supplementary_variables"]["supplementary_quantitative"]
    same(g.correlations[~g.active & ~g.is_level], r)


def test_mca_as_the_burt_table():
    """The eigenvalues of the Burt table are squares, and the coordinates of levels have one more root of them."""
    r, model = results("mca_tea")["burt"], MCA().fit(table("tea").iloc[:, :18])
    same_values(model.explained_variance_**2, r["eigenvalues"])
    same(geometry(model).coordinates * model.singular_values_, r["category"]["coord"])


def test_mca_of_mass():
    r, X = results("mca_farms")["MASS"], table("farms")
    model = MCA(5).fit(X)
    np.testing.assert_allclose(model.singular_values_, r["singular_values"], rtol=TOLERANCE)
    same(model.transform(X) / (4 * np.sqrt(20)), r["rs_rows"])


# ---- Mixed data

FAMD_CASES = [
    ("geomorphology", "plain"),
    ("geomorphology", "rows_66_to_75_supplementary"),
    ("geomorphology", "Altitude_and_Latitude_supplementary"),
    ("geomorphology", "row_weights_1_2_3_repeated"),
    ("poison", "plain"),
    ("poison", "Time_Sick_Sex_and_rows_46_to_55_supplementary"),
    ("wine_sensory", "plain"),
]


@pytest.mark.parametrize(("name", "case"), FAMD_CASES)
def test_famd(name, case):
    r, X = results(f"famd_{name}")[case], table(name)
    rows = {"rows_66_to_75_supplementary": 65, "Time_Sick_Sex_and_rows_46_to_55_supplementary": 45}.get(case)
    aside = r["supplementary_variables"] or None
    weights = np.resize([1, 2, 3], len(X)) if "weights" in case else None
    model = FAMD(supplementary=list(aside) if aside else None).fit(X.iloc[:rows], sample_weight=weights)
    same_values(model.explained_variance_, r["eigenvalues"])
    a = len(model.coding_.numbers)
    np.testing.assert_allclose(model.mean_[:a], r["centre"], rtol=TOLERANCE)
    np.testing.assert_allclose(model.scale_[:a], r["scale_divisor_n"], rtol=TOLERANCE)
    same(model.transform(X.iloc[:rows]), r["rows"]["coord"])
    same_points(model, r)
    if rows:
        same(model.transform(X.iloc[rows:]), r["supplementary_rows"]["coord"])


# ---- Groups of columns

MFA_CASES = [
    ("wine_sensory", "standardised"),
    ("wine_sensory", "centred_only"),
    ("wine_sensory", "origin_active"),
    ("wine_sensory", "rows_3_9_15_supplementary"),
    ("poison", "categorical"),
    ("poison", "numbers_active_too"),
    ("poison", "numbers_active_row_weights_1_2_repeated"),
]


@pytest.mark.parametrize(("name", "case"), MFA_CASES)
def test_mfa(name, case):
    r, X = results(f"mfa_{name}")[case], table(name)
    named = groups(WINE if name == "wine_sensory" else POISON, X.columns)
    aside = [list(named)[int(i)] for i in np.atleast_1d(r["supplementary_groups_zero_based"])]
    weights = np.resize([1, 2], len(X)) if "weights" in case else None
    new = X.iloc[[2, 8, 14]] if "rows_3" in case else None
    used = X if new is None else X.drop(new.index)
    model = MFA(groups=named, supplementary=aside, scale="centred" not in case).fit(used, sample_weight=weights)
    same_values(model.explained_variance_, r["eigenvalues"])
    same(model.transform(used), r["rows"]["coord"])
    same_points(model, r)
    for group, expected in r["separate_analyses"].items():
        same_values(model.group_inertias_[group], np.atleast_1d(expected["eigenvalues"]))
    order = [[*model.group_names_, "MFA"].index(name) for name in r["group"]["Lg_RV_order"]]
    same(model.lg_[np.ix_(order, order)], r["group"]["Lg"])
    same(model.rv_[np.ix_(order, order)], r["group"]["RV"])
    active = [model.group_names_.index(name) for name in r["group"]["active_order"]]
    same(model.group_coordinates_[active], r["group"]["coord"])
    partial, signs = model.partial_coordinates(used), model.transform(used)
    for group, expected in r["partial_coord"].items():
        same(partial[group], expected)
    np.testing.assert_allclose(sum(partial.values()) / len(partial), signs, rtol=0, atol=1e-12 * np.abs(signs).max())
    if new is not None:
        same(model.transform(new), r["supplementary_rows"]["coord"])


def test_mfa_of_mixed_groups():
    r, X = results("mfa_poison")["not_by_a_peer_mixed_groups"], table("poison")
    illness = ["Time", "Sick", "Nausea", "Vomiting", "Abdominals", "Fever", "Diarrhae"]
    model = MFA(groups={"person": ["Age", "Sex"], "illness": illness, "eat": list(X.columns[9:])}).fit(X)
    same_values(model.explained_variance_, r["eigenvalues"])
    same(model.transform(X), r["rows_coord"])
    same(model.lg_[:-1, :-1], r["Lg"])
    same(model.rv_[:-1, :-1], r["RV"])
    same(model.group_coordinates_, r["group_coord"])
