"""Facts of columns, against NumPy, SciPy and pandas, and on columns made to be of each kind."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from lowdim import PCA
from lowdim.reporting import columns as report_columns
from lowdim.reporting.data import equal_rows
from reporting.tables import analysis

RANDOM = np.random.default_rng(5)
N = 400
TABLE = pd.DataFrame(
    {
        "decimal": RANDOM.normal(size=N),
        "grades": RANDOM.integers(1, 7, N),
        "counts": RANDOM.poisson(40, N) * (RANDOM.random(N) < 0.9),
        "whole": RANDOM.integers(-50, 50, N),
        "switch": RANDOM.integers(0, 2, N),
        "same": np.full(N, 3.5),
        "nothing": np.full(N, np.nan),
        "huge": RANDOM.normal(size=N) * 1e30,
    }
)


def _kinds(a):
    return dict(zip(a.opened.names, a.columns.kinds, strict=True))


def test_kinds():
    expected = {
        "decimal": "decimal",
        "grades": "few",
        "counts": "counts",
        "whole": "whole",
        "switch": "0/1",
        "same": "constant",
        "nothing": "empty",
        "huge": "decimal",
    }
    a = analysis(TABLE)
    assert _kinds(a) == expected
    assert set(a.names) == set(TABLE.columns) - {"same", "nothing"}
    assert a.left_out == {"same": "all its entries are 3.5", "nothing": "all its entries are missing"}


def test_kinds_of_rows_that_are_not_in_memory(monkeypatch):
    expected = _kinds(analysis(TABLE))
    monkeypatch.setattr(report_columns, "_HELD_BYTES", 0)
    a = analysis(TABLE)
    assert not a.opened.held
    assert _kinds(a) == expected


@pytest.mark.parametrize("factor", [1.0, 1e150, 1e-150])
def test_skewness_is_the_third_standardized_moment(factor):
    X = np.column_stack([RANDOM.normal(size=N), RANDOM.gamma(1.0, size=N), -RANDOM.lognormal(size=N)])
    X[RANDOM.random(X.shape) < 0.1] = np.nan
    found = analysis(X * factor).columns.skewness
    np.testing.assert_allclose(found, stats.skew(X, axis=0, nan_policy="omit"), rtol=1e-9)


def test_a_logarithm_is_proposed_where_it_removes_the_skewness():
    X = pd.DataFrame(
        {
            "incomes": RANDOM.lognormal(10, 1.2, N),
            "with zeros": np.floor(RANDOM.lognormal(2, 1.5, N)),
            "normal": RANDOM.normal(50, 5, N),
            "of both signs": RANDOM.lognormal(0, 1.2, N) - 1.0,
            "one outlier": np.r_[RANDOM.uniform(100, 101, N - 1), 500.0],
        }
    )
    assert (X["with zeros"] == 0).any() and (X["of both signs"] < 0).any()
    assert stats.skew(X["one outlier"]) > 2
    a = analysis(X)
    assert [a.opened.names[j] for j in np.flatnonzero(a.columns.for_logarithm)] == ["incomes", "with zeros"]


@pytest.mark.parametrize("limit", [1 << 30, 0])
def test_columns_that_identify_rows(monkeypatch, limit):
    monkeypatch.setattr(report_columns, "_HELD_BYTES", limit)
    grows = np.cumsum(RANDOM.integers(1, 4, N))
    X = pd.DataFrame(
        {
            "first": np.arange(N) + 1,
            "from zero": np.arange(N),
            "patient_id": grows,
            "steps": grows + 7,
            "year": np.arange(N) + 1500,
            "humid": RANDOM.permutation(N),
            "value": RANDOM.normal(size=N),
        }
    )
    a = analysis(X)
    assert set(a.left_out) == {"first", "from zero", "patient_id"}
    assert "it identifies the rows" in a.left_out["patient_id"]
    names = np.array(a.opened.names)
    assert names[a.columns.suspects].tolist() == ["steps"]
    assert names[a.columns.sequences].tolist() == ["year"]
    assert a.names == ["steps", "year", "humid", "value"]


def test_a_count_within_groups_identifies_rows_if_its_name_says_so():
    count = np.tile(np.arange(50) + 1, 8)
    X = pd.DataFrame({"index": count, "day": count, "case": RANDOM.integers(0, 2, N), "value": RANDOM.normal(size=N)})
    a = analysis(X)
    assert a.names == ["day", "case", "value"]
    (why,) = a.left_out.values()
    assert why == "by its name and its entries, it counts the rows of each group, from 1 to 50"


def test_a_column_named_row_that_grows_by_one_identifies_few_rows():
    X = pd.DataFrame({"row": np.arange(16) + 1947, "year": np.arange(16) + 1947, "value": RANDOM.normal(size=16)})
    assert analysis(X).left_out == {"row": "it just counts the rows, from 1947 to 1962"}


def test_columns_that_a_fitted_model_does_not_use():
    X = pd.DataFrame(RANDOM.normal(size=(N, 3)), columns=["a", "b", "c"])
    a = analysis(X, model=PCA(1).fit(X[["a", "b"]]))
    assert a.left_out == {"c": "the model does not use it"}


def test_a_table_of_nothing_but_a_count_is_analysed_all_the_same():
    assert analysis(pd.DataFrame({"id": np.arange(50), "same": np.ones(50)})).names == ["id"]


def test_equal_rows_are_those_that_pandas_finds():
    X = RANDOM.integers(0, 3, (500, 4)).astype(float)
    X[RANDOM.random(X.shape) < 0.1] = np.nan
    X[3, 0], X[4] = -0.0, X[3]
    X[4, 0] = 0.0
    expected = int(pd.DataFrame(X).duplicated().sum())
    assert 0 < expected < 500
    assert equal_rows(X) == expected
    assert equal_rows(RANDOM.normal(size=(300, 3))) == 0


def test_columns_that_vary_only_in_rows_without_weight_are_left_out():
    X = np.random.default_rng(0).normal(size=(20, 3))
    X[:10, 1] = 5.0
    a = analysis(X, sample_weight=np.arange(20) < 10)
    assert a.names == ["x1", "x3"]
    (why,) = a.left_out.values()
    assert why.startswith("it does not vary among the rows that have a weight")
