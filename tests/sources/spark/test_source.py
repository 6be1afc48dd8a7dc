"""What models return for data frames of Spark, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest

from lowdim import CCA, PCA, PPCA, PLSRegression, inspect, plan, scan
from lowdim.errors import MissingValues

from .conftest import COLUMNS


def by_id(frame, names):
    """Columns of a data frame, in the order of the identifiers r0, r1, ..."""
    rows = sorted(frame.select("id", *names).collect(), key=lambda row: int(row["id"][1:]))
    return np.array([tuple(row)[1:] for row in rows])


@pytest.fixture(scope="module")
def fitted(X):
    model = PCA(2).fit(X)
    model.feature_names_in_ = np.array(COLUMNS, dtype=object)
    return model


def test_results_are_columns_beside_the_rows(numbers, X, fitted):
    found = fitted.transform(numbers)
    assert found.columns == ["id", *COLUMNS, "PC1", "PC2"]
    np.testing.assert_allclose(by_id(found, ["PC1", "PC2"]), PCA(2).fit(X).transform(X), atol=1e-11)
    back = fitted.inverse_transform(found.select("id", "PC1", "PC2"))
    np.testing.assert_allclose(by_id(back, COLUMNS), PCA(2).fit(X).inverse_transform(PCA(2).fit_transform(X)))
    both = fitted.reconstruction_error(fitted.score_samples(numbers))
    expected = PCA(2).fit(X)
    np.testing.assert_allclose(by_id(both, ["score_samples"])[:, 0], expected.score_samples(X), rtol=1e-12)
    np.testing.assert_allclose(by_id(both, ["reconstruction_error"])[:, 0], expected.reconstruction_error(X), atol=1e-9)


def test_no_job_runs_before_the_results_are_computed(spark, numbers, fitted):
    context, group = spark.sparkContext, "a test of lazy maps"
    context.setJobGroup(group, "")
    try:
        found = fitted.score_samples(fitted.transform(numbers))
        assert not context.statusTracker().getJobIdsForGroup(group)
        found.count()
        assert context.statusTracker().getJobIdsForGroup(group)
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)


def test_fit_transform_keeps_the_columns(numbers, X):
    found = PCA(2).fit_transform(numbers)
    np.testing.assert_allclose(by_id(found, ["PC1", "PC2"]), PCA(2).fit_transform(X), atol=1e-11)


def test_columns_of_any_type_are_kept(numbers, fitted):
    from pyspark.sql import functions

    more = {
        "map": functions.create_map(functions.lit("k"), "a"),
        "struct": functions.struct("a", "id"),
        "day": functions.to_date(functions.lit("2024-02-29")),
        "list": functions.array("id"),
    }
    rich = numbers.select("*", *(column.alias(name) for name, column in more.items()), numbers["id"])
    found = fitted.transform(rich)
    assert found.columns == [*rich.columns, "PC1", "PC2"]
    row = found.select("map", "struct", "day", "list", "a", "PC1").first()
    assert row["map"] == {"k": row["a"]}
    assert row["struct"]["a"] == row["a"]
    assert str(row["day"]) == "2024-02-29"


def test_sums_over_all_rows(numbers, X, fitted):
    np.testing.assert_allclose(fitted.score(numbers), PCA(2).fit(X).score(X), rtol=1e-13)
    regression, expected = PLSRegression(2).fit(numbers, ["d", "e"]), PLSRegression(2).fit(X[:, :3], X[:, 3:])
    np.testing.assert_allclose(regression.score(numbers, ["d", "e"]), expected.score(X[:, :3], X[:, 3:]), rtol=1e-10)


def test_imputed_columns_take_the_place_of_theirs(spark, X):
    incomplete = np.where(np.random.default_rng(5).random(X.shape) < 0.1, np.nan, X)
    rows = [(f"r{i}", *(None if np.isnan(x) else float(x) for x in row)) for i, row in enumerate(incomplete)]
    frame = spark.createDataFrame(rows, "id string, " + ", ".join(f"{name} double" for name in COLUMNS))
    model = PPCA(2).fit(incomplete)
    model.feature_names_in_ = np.array(COLUMNS, dtype=object)
    found = model.impute(frame, return_std=True)
    assert found.columns == ["id", *COLUMNS, *(f"{name}_std" for name in COLUMNS)]
    values, deviations = PPCA(2).fit(incomplete).impute(incomplete, return_std=True)
    np.testing.assert_allclose(by_id(found, COLUMNS), values, rtol=1e-12)
    np.testing.assert_allclose(by_id(found, [f"{name}_std" for name in COLUMNS]), deviations, atol=1e-12)
    np.testing.assert_allclose(model.bic(frame), PPCA(2).fit(incomplete).bic(incomplete), rtol=1e-13)
    with pytest.raises(MissingValues, match=r"column '[a-e]' .* partition \d"):
        PCA(2).fit(frame)


def test_scores_of_two_tables_are_columns_of_one_frame(numbers, X):
    model, expected = CCA(1).fit(numbers, ["d", "e"]), CCA(1).fit(X[:, :3], X[:, 3:])
    found = by_id(model.transform(numbers, ["d", "e"]), ["X_pair1", "y_pair1"])
    np.testing.assert_allclose(found, np.hstack(expected.transform(X[:, :3], X[:, 3:])), atol=1e-9)


def test_rows_in_few_of_many_partitions(numbers, X):
    some = numbers.limit(7).repartition(12)
    assert PCA(1).fit(some).n_samples_ == 7
    with pytest.raises(ValueError, match="0 sample"):
        PCA(1).fit(numbers.limit(0))
    with pytest.raises(ValueError, match="n_samples=1"):
        PCA(1).fit(numbers.limit(1))
    assert PCA(1).fit(numbers).transform(numbers.limit(0)).count() == 0


def test_plans_say_how_rows_are_kept(numbers):
    many = plan(PCA(2, solver="krylov"), numbers)
    assert many.passes > 1
    assert "df.cache()" in many.why
    assert "cache" not in plan(PCA(2), numbers).why
    assert "df.cache()" in PCA(2, solver="krylov").fit(numbers).plan_.why


def test_names_that_are_taken(numbers, fitted):
    from pyspark.sql import functions

    with pytest.raises(ValueError, match="names of the results, 'PC1'; drop or rename"):
        fitted.transform(numbers.withColumn("PC1", functions.lit(0.0)))
    with pytest.raises(ValueError, match="several columns with the name 'a'"):
        PCA(1).fit(numbers.select("a", "b", functions.col("c").alias("a")))


def test_columns_of_the_fit_are_chosen(numbers):
    model = PCA(1).fit(scan(numbers, columns=["b", "a"]))
    assert list(model.feature_names_in_) == ["b", "a"]
    assert model.transform(numbers).columns == [*numbers.columns, "PC1"]
    with pytest.raises(ValueError, match="missing: 'a'"):
        model.transform(numbers.drop("a"))


def test_what_needs_an_order_says_so(numbers, fitted, X, tmp_path):
    refused = {
        "array with a row": [
            lambda: fitted.tables.scores(numbers),
            lambda: inspect.diagnose(fitted, numbers),
            lambda: PPCA(2).fit(X).posterior(numbers),
        ],
        "no order": [lambda: CCA(1).fit(numbers.select("a", "b"), numbers.select("c"))],
        "Spark writes": [lambda: fitted.transform_to(numbers, tmp_path / "scores.parquet")],
        "held by Spark": [lambda: PCA(1).fit(numbers, checkpoint=tmp_path / "state")],
    }
    for words, calls in refused.items():
        for call in calls:
            with pytest.raises(TypeError, match=words):
                call()
