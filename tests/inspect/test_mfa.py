"""Tables of the groups of MFA, partial points and partial axes, against FactoMineR."""

import numpy as np
import pytest

from lowdim import MFA, PCA, inspect
from parity.reference import results
from parity.test_factominer import MFA_CASES, POISON, WINE, groups, same, table


def fitted(name, case):
    """The model of a case, its rows and weights, and the results of R."""
    r, X = results(f"mfa_{name}")[case], table(name)
    named = groups(WINE if name == "wine_sensory" else POISON, X.columns)
    aside = [list(named)[int(i)] for i in np.atleast_1d(r["supplementary_groups_zero_based"])]
    weights = np.resize([1, 2], len(X)) if "weights" in case else None
    used = X.drop(X.index[[2, 8, 14]]) if "rows_3" in case else X
    model = MFA(5, groups=named, supplementary=aside, scale="centred" not in case)
    return model.fit(used, sample_weight=weights), used, weights, r


def values(model, found, rows=slice(None)):
    return found.select(model.component_names_).values[rows]


@pytest.mark.parametrize(("name", "case"), MFA_CASES)
def test_tables_of_groups(name, case):
    model, used, weights, r = fitted(name, case)
    found, expected = inspect.groups(model), r["group"]
    order = [model.group_names_.index(group) for group in expected["active_order"]]
    same(values(model, found.coordinates, order), expected["coord"])
    same(100 * values(model, found.contributions, order), expected["contrib_percent"])
    same(values(model, found.cos2, order), expected["cos2"])
    same(values(model, found.correlations, order), expected["correlation"])
    same(found.inertia_ratio.values, [r["inertia_ratio_between_over_total"]])
    aside = expected["supplementary"]
    order = [model.group_names_.index(group) for group in np.atleast_1d(aside["names"])]
    for table_of, key in ((found.coordinates, "coord"), (found.cos2, "cos2")):
        same(values(model, table_of, order), np.reshape(aside[key], (len(order), -1)))
    assert not found.coordinates["active"][order].any()
    np.testing.assert_array_equal(found.lg.values, model.lg_)
    np.testing.assert_array_equal(found.rv.values, model.rv_)
    assert str(found) == str(found.coordinates)
    same(values(model, inspect.cos2(model, used)), r["rows"]["cos2"])
    same(100 * values(model, inspect.contributions(model, used, sample_weight=weights)), r["rows"]["contrib_percent"])


@pytest.mark.parametrize(("name", "case"), MFA_CASES)
def test_partial_points(name, case):
    model, used, _, r = fitted(name, case)
    m, k = model.n_active_groups_, model.n_components_
    order = [model.group_names_.index(group) for group in r["group"]["active_order"]]
    levels = inspect.partial_coordinates(model)
    assert list(levels["group"][:m]) == model.group_names_[:m]
    points = values(model, levels).reshape(-1, m, k)
    stored = [r[key]["partial_coord_interleaved"] for key in ("category", "supplementary_category") if r.get(key)]
    if "centred" not in case:
        # FactoMineR does not centre these, so that their mean is not the level itself.
        same(points[:, order].reshape(-1, k), np.vstack(stored))
    whole = inspect.coordinates(model)
    np.testing.assert_allclose(points.mean(axis=1), values(model, whole)[whole["level"] != ""], atol=1e-12)
    rows = inspect.partial_coordinates(model, used)
    assert rows.rows[:m] == [used.index[0]] * m
    np.testing.assert_allclose(values(model, rows).reshape(-1, m, k).mean(axis=1), model.transform(used), atol=1e-12)


@pytest.mark.parametrize(("name", "case"), MFA_CASES)
def test_partial_axes(name, case):
    model, _, _, r = fitted(name, case)
    found, expected = inspect.partial_axes(model), r["partial_axes"]
    assert len(found) == len(expected["names"])
    names = [axis.split(".", 1) for axis in expected["names"]]
    order = [found.rows.index(f"{group}.dim{axis[3:]}") for axis, group in names]
    # The signs of both sides are arbitrary, and so are the axes of equal eigenvalues.
    np.testing.assert_allclose(np.abs(values(model, found, order)), np.abs(expected["cor"]), rtol=0, atol=1e-9)


def test_refusals():
    X = table("wine_sensory")
    numbers = MFA(2, groups={"odor": list(X.columns[2:7]), "visual": list(X.columns[7:10])}).fit(X)
    with pytest.raises(ValueError, match="no categories; pass rows"):
        inspect.partial_coordinates(numbers)
    assert {"groups", "partial_coordinates", "partial_axes"} <= set(dir(numbers.tables))
    with pytest.raises(TypeError, match="PCA has no groups"):
        inspect.groups(PCA(1).fit(X.iloc[:, 2:7]))
    del numbers.summary_
    with pytest.raises(ValueError, match="summary_, which this model does not have"):
        inspect.groups(numbers)
