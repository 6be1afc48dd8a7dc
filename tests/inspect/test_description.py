"""What a component is about, and what sets groups of rows apart; against SciPy."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from lowdim import CA, FAMD, MCA, PCA, PLSRegression, inspect
from parity.test_factominer import table

# ---- What a component is about


def test_tests_of_a_component():
    X = table("poison")
    model = FAMD(2).fit(X)
    Z = model.transform(X)[:, 0]
    found = inspect.describe(model, "dim1", alpha=1.0 - 1e-12)
    r, p = stats.pearsonr(X["Time"], Z)
    assert found.row("Time")["correlation"] == pytest.approx(r)
    assert found.row("Time")["p_value"] == pytest.approx(p, rel=1e-6)
    parts = [Z[(X["Mayo"] == level).to_numpy()] for level in ("Mayo_n", "Mayo_y")]
    assert found.row("Mayo")["p_value"] == pytest.approx(stats.f_oneway(*parts).pvalue, rel=1e-6)
    v = found.row("Mayo=Mayo_y")["v_test"]
    assert found.row("Mayo=Mayo_y")["p_value"] == pytest.approx(2 * stats.norm.sf(abs(v)))
    assert found.row("Mayo=Mayo_y")["mean"] == pytest.approx(parts[1].mean() / Z.std())
    assert len(found) == 2 + 13 + 26


def test_order_and_what_is_left_out():
    X = table("poison")
    found = inspect.describe(FAMD(2).fit(X), 1)
    kinds = list(found["kind"])
    assert kinds == sorted(kinds, key=["number", "category", "level"].index)
    ratios = [value for value in found["eta2"] if value is not None]
    tests = [value for value in found["v_test"] if value is not None]
    assert ratios == sorted(ratios, reverse=True) and tests == sorted(tests, reverse=True)
    assert all(p <= 0.05 for p in found["p_value"])
    assert found.notes == ("16 of 41 columns and levels have p-values above 0.05",)


def test_with_further_columns():
    X = table("poison")
    model = MCA(2).fit(X.iloc[:, 4:])
    found = inspect.describe(model, 1, X)
    assert "Sick" in found.rows and "Sick=Sick_n" in found.rows
    assert found.notes[-1] == "supplementary: 'Age', 'Time', 'Sick', 'Sex'"
    pca = PCA(2, scale=True).fit(X[["Age", "Time"]])
    assert list(inspect.describe(pca, 1).rows) == ["Age", "Time"]
    assert "Sick" in inspect.describe(pca, 1, X, columns=["Sick"]).rows
    nothing = inspect.describe(pca, 2, alpha=1e-300)
    assert len(nothing) == 0 and "2 of 2" in str(nothing)


def test_refusals_of_describe():
    X = table("poison")
    model = FAMD(2).fit(X)
    with pytest.raises(ValueError, match="no component 3"):
        inspect.describe(model, 3)
    with pytest.raises(ValueError, match="alpha"):
        inspect.describe(model, 1, alpha=2.0)
    with pytest.raises(ValueError, match="belong to the rows X"):
        inspect.describe(model, 1, columns=["Age"])
    with pytest.raises(TypeError, match="CA has no describe"):
        inspect.describe(CA().fit(table("housetasks")), 1)


def test_columns_whose_variances_are_not_kept():
    """They are computed from the rows."""
    X = table("wine_sensory").iloc[:, 2:12]
    wide = PCA(2, solver="krylov").fit(X)
    with pytest.raises(ValueError, match="does not keep the variances"):
        inspect.describe(wide, 1)
    found = inspect.describe(wide, 1, X, alpha=1 - 1e-12)
    expected = inspect.correlations(wide, X)
    for name in found.rows:
        assert found.row(name)["correlation"] == pytest.approx(expected.row(name)["PC1"])
    pls = PLSRegression(2).fit(X, table("wine_sensory")["Typical"])
    assert "Label" in inspect.describe(pls, 1, table("wine_sensory"), columns=["Label"], alpha=1 - 1e-12).rows


# ---- What sets groups of rows apart


def test_numbers_and_levels_of_groups():
    X = table("poison")
    found = inspect.describe_groups(X, "Sick", alpha=1 - 1e-12)
    n, sick = len(X), (X["Sick"] == "Sick_y").to_numpy()
    for name, values in (("Age", X["Age"]), ("Mayo=Mayo_y", X["Mayo"] == "Mayo_y")):
        x = np.asarray(values, dtype=float)
        error = np.sqrt(x.var() / sick.sum() * (n - sick.sum()) / (n - 1))
        (entry,) = [
            {key: found[key][i] for key in found.columns}
            for i, label in enumerate(found.rows)
            if label == "Sick_y" and found["column"][i] == name
        ]
        assert entry["mean"] == pytest.approx(x[sick].mean())
        assert entry["overall"] == pytest.approx(x.mean())
        assert entry["v_test"] == pytest.approx((x[sick].mean() - x.mean()) / error)
        assert entry["p_value"] == pytest.approx(2 * stats.norm.sf(abs(entry["v_test"])))
    assert not any(name.startswith("Sick") for name in found["column"])


def test_order_and_notes_of_groups():
    X = table("poison")
    found = inspect.describe_groups(X, "Sick")
    assert found.rows == sorted(found.rows)
    ours = [v for v, label in zip(found["v_test"], found.rows, strict=True) if label == "Sick_n"]
    assert ours == sorted(ours, reverse=True)
    assert "comparisons have p-values above 0.05" in found.notes[0]
    weights = np.resize([1, 2], len(X))
    repeated = X.loc[np.repeat(X.index, weights)]
    same = inspect.describe_groups(repeated.reset_index(drop=True), "Sick")
    np.testing.assert_allclose(inspect.describe_groups(X, "Sick", sample_weight=weights)["v_test"], same["v_test"])
    assert len(inspect.describe_groups(X, "Sick", ["Age"], alpha=1e-300)) == 0


def test_refusals_of_groups():
    X = table("poison")
    with pytest.raises(ValueError, match="X has no column 'nothing'"):
        inspect.describe_groups(X, "nothing")
    with pytest.raises(ValueError, match="no column beside the groups"):
        inspect.describe_groups(X, "Sick", ["Sick"])
    with pytest.raises(ValueError, match="neither numbers nor categories"):
        inspect.describe_groups(X.assign(day=pd.Timestamp("2024-01-01")), "Sick")
