"""Data frames of Spark with categories: levels and sums are found on the executors."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

from lowdim import CA, FAMD, MCA, MFA, scan


@pytest.fixture(scope="module")
def local():
    random, n = np.random.default_rng(0), 300
    table = pd.DataFrame(
        {
            "id": np.arange(n),
            "age": random.normal(40, 10, n),
            "in.come": random.lognormal(3, 1, n),
            "sex": random.choice(["f", "m"], n),
            "hot drink": random.choice(["tea", "coffee", 'né"<b>'], n),
            "smokes": random.random(n) < 0.3,
            "class": random.integers(1, 4, n),
            "w": random.integers(0, 4, n).astype(float),
        }
    )
    table.loc[::50, "hot drink"] = None
    return table


@pytest.fixture(scope="module")
def frame(spark, local):
    kinds = (
        "id long, age double, `in.come` double, sex string, `hot drink` string, smokes boolean, class long, w double"
    )
    rows = local.astype(object).where(local.notna(), None)
    found = spark.createDataFrame(list(rows.itertuples(index=False, name=None)), kinds).repartition(3).cache()
    found.count()
    return found


def quoted(*names):
    return [f"`{name}`" for name in names]


MODELS = {
    "MCA": (MCA(2), ["sex", "hot drink", "smokes"]),
    "MCA-supplementary": (MCA(2, supplementary=["age"]), ["sex", "hot drink", "smokes", "age"]),
    "FAMD": (FAMD(2), ["age", "in.come", "sex", "hot drink", "smokes"]),
    "FAMD-class": (FAMD(2, categorical_features=["class"]), ["age", "class", "sex"]),
    "MFA": (
        MFA(2, groups={"a": ["age", "sex"], "b": ["hot drink", "in.come"]}),
        ["age", "in.come", "sex", "hot drink"],
    ),
}


@pytest.mark.parametrize("name", list(MODELS))
def test_models(frame, local, name):
    model, columns = MODELS[name]
    here = clone(model).fit(local[columns])
    there = clone(model).fit(frame.select(*quoted(*columns)))
    assert there.levels_ == here.levels_
    assert_allclose(there.explained_variance_, here.explained_variance_, rtol=1e-12)
    assert_allclose(np.abs(there.components_), np.abs(here.components_), atol=1e-10)
    # All other columns are kept beside the results.
    found = here.transform(frame).toArrow().to_pandas().sort_values("id")
    assert list(found.columns) == [*local.columns, "dim1", "dim2"]
    assert_allclose(found[["dim1", "dim2"]].to_numpy(), here.transform(local[columns]), atol=1e-10)


def test_weights_and_chosen_columns(frame, local):
    columns = ["age", "sex", "smokes"]
    here = FAMD(2).fit(local[columns], sample_weight=local["w"])
    for table in (frame.select(*quoted(*columns, "w")), scan(frame, [*columns, "w"])):
        there = FAMD(2).fit(table, sample_weight="w")
        assert_allclose(there.explained_variance_, here.explained_variance_, rtol=1e-12)
        assert there.coding_.names == here.coding_.names
    assert MCA(2).fit(scan(frame, ["sex", "smokes"])).coding_.names == ["sex=f", "sex=m", "smokes=False", "smokes=True"]


def test_missing_numbers(spark, frame, local):
    from pyspark.sql import functions

    columns = ["age", "in.come", "sex"]
    held = local[columns].assign(age=local["age"].where(local["id"] % 7 > 0))
    some = frame.withColumn("age", functions.when(functions.col("id") % 7 > 0, functions.col("age")))
    here, there = (FAMD(2, missing="em").fit(table) for table in (held, some.select(*quoted(*columns))))
    assert_allclose(there.explained_variance_, here.explained_variance_, rtol=1e-6)
    with pytest.raises(ValueError, match=r"'age' holds numbers, and has missing entries.*\"em\""):
        FAMD(2).fit(some.select(*quoted(*columns)))
    found = here.transform(some).toArrow().to_pandas().sort_values("id")[["dim1", "dim2"]]
    assert_allclose(found.to_numpy(), here.transform(held), atol=1e-10)


def test_partial_fit_and_two_columns(frame, local):
    columns = ["sex", "smokes"]
    here = MCA(1).fit(local[columns])
    there = MCA(1).fit(frame.select(*columns)).partial_fit(frame.select(*columns))
    assert_allclose(there.explained_variance_, here.explained_variance_, rtol=1e-12)
    assert there.n_samples_ == 600
    counts = CA().fit(frame.select("sex", "class").withColumn("class", frame["class"].cast("string")))
    assert_allclose(counts.counts_, pd.crosstab(local["sex"], local["class"]).to_numpy())


def test_what_is_no_category_is_refused(frame):
    from pyspark.sql import functions

    dated = frame.select("age", "sex").withColumn("day", functions.current_date())
    with pytest.raises(ValueError, match="'day' holds dates"):
        FAMD(2).fit(dated)
    assert FAMD(2, categorical_features=["day"]).fit(dated).coding_.categories == ["sex", "day"]
    lists = frame.select("sex").withColumn("lists", functions.array(functions.lit("a")))
    with pytest.raises(ValueError, match="'lists'"):
        MCA(2).fit(lists)
    texts = frame.select("sex", functions.col("id").cast("string").alias("id"))
    with pytest.raises(ValueError, match="'id' looks like an identifier"):
        MCA(2).fit(texts)
