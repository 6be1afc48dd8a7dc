"""The numbers of a row in columns of any type, in arrays, and in vectors."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest

from lowdim import PCA, cross_validate, scan
from lowdim.errors import MissingValues
from lowdim.reading import summarize
from lowdim.sources import open_source
from lowdim.summaries import Moments

SPARSE = np.random.default_rng(3).normal(size=(40, 6)) * (np.random.default_rng(4).random((40, 6)) < 0.4)
#: Which of the rows are sparse vectors.
KINDS = {"dense": [False] * 40, "sparse": [True] * 40, "mixed": [i % 2 == 0 for i in range(40)]}


def vectors(spark, kinds):
    from pyspark.ml.linalg import Vectors, VectorUDT
    from pyspark.sql.types import StringType, StructField, StructType

    def vector(row, in_sparse):
        entries = [(i, float(x)) for i, x in enumerate(row) if x]
        return Vectors.sparse(6, entries) if in_sparse else Vectors.dense(list(map(float, row)))

    rows = [(vector(row, kind), str(i % 3)) for i, (row, kind) in enumerate(zip(SPARSE, kinds, strict=True))]
    kind = StructType([StructField("features", VectorUDT()), StructField("fold", StringType())])
    return spark.createDataFrame(rows, kind).repartition(2)


@pytest.mark.parametrize("kinds", KINDS.values(), ids=KINDS)
def test_vectors(spark, kinds):
    frame = vectors(spark, kinds)
    expected, found = summarize(SPARSE, Moments), summarize(frame, Moments)
    np.testing.assert_allclose(found.scatter, expected.scatter, atol=1e-13)
    model = PCA(2).fit(SPARSE)
    scores = sorted(row["PC1"] for row in model.transform(frame).collect())
    np.testing.assert_allclose(scores, np.sort(model.transform(SPARSE)[:, 0]), atol=1e-13)


@pytest.mark.parametrize("kinds", KINDS.values(), ids=KINDS)
def test_vectors_that_are_kept_in_memory(spark, kinds):
    """If all of them are dense, which is counted, they are sent without indices."""
    frame = vectors(spark, kinds).cache()
    source = open_source(frame)
    assert source.sent.of_vectors == (not any(kinds))
    np.testing.assert_allclose(summarize(source, Moments).scatter, summarize(SPARSE, Moments).scatter, atol=1e-13)
    by_fold = cross_validate(PCA(), frame, cv="fold").per_split
    order = [str(i % 3) for i in range(40)]
    np.testing.assert_allclose(by_fold, cross_validate(PCA(), SPARSE, cv=order).per_split, rtol=1e-10)


def test_a_vector_that_is_missing_is_refused(spark):
    frame = vectors(spark, KINDS["dense"]).select("features")
    incomplete = frame.limit(30).union(spark.createDataFrame([(None,)], frame.schema)).coalesce(1).cache()
    assert open_source(incomplete).sent.of_vectors
    with pytest.raises(ValueError, match=r"column 'features' must have 6 numbers in each row.* partition 0"):
        PCA(1).fit(incomplete)


def test_arrays_in_single_precision(spark):
    frame = spark.createDataFrame([(list(map(float, row)),) for row in SPARSE], "x array<float>")
    model = PCA(2).fit(frame)
    assert model.components_.dtype == np.float32
    np.testing.assert_allclose(model.mean_, SPARSE.astype(np.float32).mean(axis=0), atol=1e-6)


def test_numbers_that_arrays_miss_are_missing_values(spark):
    frame = spark.createDataFrame([([1.0, None, 3.0],), ([1.0, 2.0, 5.0],)], "x array<double>")
    with pytest.raises(MissingValues, match=r"column 1, first in row 0.* partition 0"):
        PCA(1).fit(frame.coalesce(1))


@pytest.mark.parametrize("bad", [[1.0, 2.0], None])
def test_arrays_of_another_length_are_refused(spark, bad):
    frame = spark.createDataFrame([([1.0, 2.0, 3.0],), (bad,)], "x array<double>").coalesce(1)
    with pytest.raises(ValueError, match=r"column 'x' must have 3 numbers in each row.*dropna.* partition 0"):
        PCA(1).fit(frame)


def test_types_and_names(spark):
    """Booleans, decimals and integers, in columns whose names mean something else to Spark."""
    rows = [(True, Decimal("1.5"), 1), (False, Decimal("2.5"), 3), (True, Decimal("0.25"), 2)]
    frame = spark.createDataFrame(rows, "`a.b` boolean, `c d` decimal(10,2), `e``f` bigint")
    model = PCA(1).fit(frame)
    np.testing.assert_allclose(model.mean_, [2 / 3, 4.25 / 3, 2.0])
    assert model.transform(frame).columns == ["a.b", "c d", "e`f", "PC1"]
    assert list(model.feature_names_in_) == ["a.b", "c d", "e`f"]
    np.testing.assert_allclose(PCA(1).fit(scan(frame, columns=["e`f", "a.b"])).mean_, [2.0, 2 / 3])


def test_integers_that_are_not_exact_are_named(spark):
    frame = spark.createDataFrame([(2**53 + 1, 1.0), (1, 2.0)], "key bigint, x double").coalesce(1)
    with pytest.raises(ValueError, match=r"'key' .* holds the integer 9007199254740993 in row 0.* partition 0"):
        PCA(1).fit(frame)


def test_columns_that_are_not_rows(spark):
    with pytest.raises(ValueError, match="these are numbers: none"):
        PCA(1).fit(spark.createDataFrame([("a",), ("b",)], "name string"))
    two = spark.createDataFrame([([1.0], [2.0])], "x array<double>, y array<double>")
    with pytest.raises(ValueError, match="the one column of arrays of numbers or of vectors"):
        PCA(1).fit(two)
