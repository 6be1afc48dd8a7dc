"""Facts of columns, against NumPy, SciPy and pandas, and on columns made to be of each kind."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from lowdim import PCA
from reporting.tables import listings, prose, report_of, section_of

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


def _columns(section):
    """The table of the columns that are analysed."""
    return next(table for table in listings(section) if table.title == "The columns that are analysed")


def _left_out(section):
    """The sentences about columns that are not analysed, by their names."""
    sentences = re.split(r"\n|(?<=\.) (?=[\w ]+ is not analysed: )", prose(section))
    parts = (sentence.partition(" is not analysed: ") for sentence in sentences)
    return {name: why for name, said, why in parts if said}


def test_kinds(held):
    expected = {
        "decimal": "decimal",
        "grades": "few whole numbers",
        "counts": "whole numbers",
        "whole": "whole numbers",
        "switch": "0 or 1",
        "huge": "decimal",
    }
    section = section_of(TABLE, "data")
    table = _columns(section)
    assert dict(zip(table.rows, table["kind"], strict=True)) == expected
    assert _left_out(section) == {"same": "all its entries are 3.5.", "nothing": "all its entries are missing."}


def test_kinds_of_columns_that_a_model_was_fitted_to():
    """A model may have columns that are constant or empty in this table."""
    random = np.random.default_rng(0)
    model = PCA(2).fit(pd.DataFrame(random.normal(size=(50, 4)), columns=["decimal", "grades", "same", "switch"]))
    table = _columns(section_of(TABLE, "data", model=model))
    assert dict(zip(table.rows, table["kind"], strict=True)) == {
        "decimal": "decimal",
        "grades": "few whole numbers",
        "same": "constant",
        "switch": "0 or 1",
    }


@pytest.mark.parametrize("factor", [1.0, 1e150, 1e-150])
def test_skewness_is_the_third_standardized_moment(factor):
    X = np.column_stack([RANDOM.normal(size=N), RANDOM.gamma(1.0, size=N), -RANDOM.lognormal(size=N)])
    X[RANDOM.random(X.shape) < 0.1] = np.nan
    found = _columns(section_of(X * factor, "data"))["skewness"]
    np.testing.assert_allclose(found, stats.skew(X, axis=0, nan_policy="omit"), rtol=1e-9)


def test_a_logarithm_is_proposed_where_it_removes_the_skewness():
    X = pd.DataFrame(
        {
            "incomes": RANDOM.lognormal(10, 1.2, N),
            "with zeros": np.floor(RANDOM.lognormal(2, 1.5, N)),
            "normal": RANDOM.normal(50, 5, N),
            "of both signs": RANDOM.lognormal(0, 1.2, N) - 1.0,
            "one outlier": np.r_[RANDOM.uniform(100, 101, N - 1), 500.0],
            # Logarithms make it less skewed, but only because they bring the wrong entry nearer.
            "one wrong entry": np.r_[RANDOM.normal(50, 10, N - 1), 250.0],
        }
    )
    assert (X["with zeros"] == 0).any() and (X["of both signs"] < 0).any()
    assert stats.skew(X["one outlier"]) > 2
    skewness = stats.skew(X["one wrong entry"])
    assert skewness > 2 and abs(stats.skew(np.log(X["one wrong entry"]))) < skewness / 2
    text = prose(section_of(X, "data"))
    (said,) = (line for line in text.splitlines() if "strongly skewed" in line)
    assert said.startswith(("incomes and with zeros are never", "with zeros and incomes are never"))
    assert "take logarithms (of 1 + x in columns with zeros)" in said


def test_columns_that_identify_rows(held):
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
    section = section_of(X, "data")
    left_out = _left_out(section)
    assert set(left_out) == {"first", "from zero", "patient_id"}
    assert "it identifies the rows" in left_out["patient_id"]
    text = prose(section)
    assert "steps holds different whole numbers that grow from row to row" in text
    assert "year grows by one from row to row" in text
    assert _columns(section).rows == ["steps", "year", "humid", "value"]


def test_columns_that_may_identify_rows_are_told_at_the_top_of_the_page(held):
    # As ID of MASS's biopsy: large whole numbers, of which a few occur twice.
    identity = RANDOM.permutation(N) ** 2 + 60_000
    identity[:10] = identity[10:20]
    X = pd.DataFrame({"ID": identity, "steps": np.cumsum(RANDOM.integers(1, 4, N)), "value": RANDOM.normal(size=N)})
    section = section_of(X, "data")
    assert "ID and steps may just identify the rows: if they do, leave them out." in section.summary
    assert "ID and steps hold whole numbers that nearly all differ, and may just identify the rows." in prose(section)
    assert "steps may just identify the rows: if it does, leave it out." in section_of(X, "data", exclude="ID").summary
    # No logarithm of a column that should be left out.
    X["ID"] = np.round(RANDOM.lognormal(10, 1.2, N))
    assert "ID may" in section_of(X[["ID", "value"]], "data").summary
    assert "logarithm" not in section_of(X, "data").summary
    assert "income" in section_of(X.rename(columns={"ID": "income"}), "data").summary
    # As PID of ggplot2's midwest.
    named = pd.DataFrame({"PID": np.cumsum(RANDOM.integers(1, 4, N)), "a": X["value"], "b": RANDOM.normal(size=N)})
    assert list(_left_out(section_of(named, "data"))) == ["PID"]


def test_a_count_within_groups_identifies_rows_if_its_name_says_so():
    count = np.tile(np.arange(50) + 1, 8)
    X = pd.DataFrame({"index": count, "day": count, "case": RANDOM.integers(0, 2, N), "value": RANDOM.normal(size=N)})
    section = section_of(X, "data")
    assert _columns(section).rows == ["day", "case", "value"]
    why = "by its name and its entries, it counts the rows of each group, from 1 to 50."
    assert _left_out(section) == {"index": why}


def test_a_column_named_row_that_grows_by_one_identifies_few_rows():
    X = pd.DataFrame({"row": np.arange(16) + 1947, "year": np.arange(16) + 1947, "value": RANDOM.normal(size=16)})
    assert _left_out(section_of(X, "data")) == {"row": "it just counts the rows, from 1947 to 1962."}


def test_columns_that_a_fitted_model_does_not_use():
    X = pd.DataFrame(RANDOM.normal(size=(N, 3)), columns=["a", "b", "c"])
    section = section_of(X, "data", model=PCA(1).fit(X[["a", "b"]]))
    assert _left_out(section) == {"c": "the model does not use it."}


def test_a_table_of_nothing_but_a_count_is_analysed_all_the_same():
    X = pd.DataFrame({"id": np.arange(50), "index": np.arange(50) + 1, "same": np.ones(50)})
    assert list(report_of(X).model.feature_names_in_) == ["id", "index"]


def test_equal_rows_are_those_that_pandas_finds():
    X = RANDOM.integers(0, 3, (500, 4)).astype(float)
    X[RANDOM.random(X.shape) < 0.1] = np.nan
    X[3, 0], X[4] = -0.0, X[3]
    X[4, 0] = 0.0
    expected = int(pd.DataFrame(X).duplicated().sum())
    assert 0 < expected < 500
    assert f"{expected} rows ({expected / 5:.1f}%) are equal to an earlier row" in prose(section_of(X, "data"))
    assert "equal to an earlier row" not in prose(section_of(RANDOM.normal(size=(300, 3)), "data"))


def test_columns_that_vary_only_in_rows_without_weight_are_left_out():
    X = np.random.default_rng(0).normal(size=(20, 3))
    X[:10, 1] = 5.0
    section = section_of(X, "data", sample_weight=np.arange(20) < 10)
    assert _columns(section).rows == ["x1", "x3"]
    (why,) = _left_out(section).values()
    assert why.startswith("it does not vary among the rows that have a weight")
