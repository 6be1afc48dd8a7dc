"""Small partitions that Spark keeps in memory: one task reads several of them."""

from __future__ import annotations

import re

import numpy as np
import pytest

from lowdim import ICA, PCA, cross_validate
from lowdim.errors import MissingValues
from lowdim.reading import summarize
from lowdim.sources import open_source
from lowdim.summaries import Moments

from .conftest import COLUMNS

#: The number of partitions, and of the tasks that read them: one for each of the two cores of the session.
PARTITIONS, TASKS = 12, 2


@pytest.fixture(scope="module")
def small(table):
    """All columns in small partitions, with the place of each row: its partition times 2^33, and its number there."""
    from pyspark.sql import functions

    placed = table.repartition(PARTITIONS).withColumn("place", functions.monotonically_increasing_id().cast("string"))
    frame = placed.cache()
    frame.count()
    yield frame
    frame.unpersist()


@pytest.fixture(scope="module")
def rows(small):
    return small.select(*COLUMNS, "place").cache()


def test_tasks_are_fewer_than_partitions(rows):
    source = open_source(rows)
    assert (source.counts.n_partitions, source.n_tasks) == (PARTITIONS, TASKS)


def test_partitions_that_are_computed_are_left_to_spark(small):
    """Nothing is known of the time that it takes to compute them."""
    assert open_source(small.select(*COLUMNS)).n_tasks == PARTITIONS


def test_tasks_have_enough_to_read(rows, monkeypatch):
    from lowdim.sources import spark as module

    monkeypatch.setattr(module, "_TASK_BYTES", 240 * 5 * 8 // 9)
    assert open_source(rows).n_tasks == 10
    monkeypatch.setattr(module, "_TASK_BYTES", 100)
    assert open_source(rows).n_tasks == PARTITIONS


def test_no_row_is_lost_or_counted_twice(rows, small, along, X):
    found, expected = summarize(rows, Moments), summarize(X, Moments)
    assert found.n_rows == expected.n_rows
    np.testing.assert_allclose(found.scatter, expected.scatter, rtol=1e-13)
    weighted = PCA(2).fit(small.select(*COLUMNS, "w").cache(), sample_weight="w")
    np.testing.assert_allclose(weighted.components_, PCA(2).fit(X, sample_weight=along[0]).components_, atol=1e-12)
    by_fold = cross_validate(PCA(), small.select(*COLUMNS, "fold").cache(), cv="fold")
    np.testing.assert_allclose(by_fold.mean, cross_validate(PCA(), X, cv=along[1]).mean, rtol=1e-10)


def test_the_same_fit_gives_the_same_bits(rows):
    first, second = (ICA(2, random_state=0).fit(rows).components_ for _ in range(2))
    assert first.tobytes() == second.tobytes()


@pytest.mark.parametrize("form", ["numbers", "integers", "array"])
@pytest.mark.parametrize("what", ["null", "infinity"])
def test_an_entry_is_named_by_its_partition(small, form, what):
    """The bad row is in the middle of its partition, and other partitions are read before it."""
    from pyspark.sql import functions

    places = [int(row["place"]) for row in small.select("place").collect()]
    of_rows = [(place >> 33, place & (2**33 - 1)) for place in places]
    part, number = next((part, number) for part, number in of_rows if part == 7 and number == 11)
    bad = functions.lit(None if what == "null" else np.inf).cast("double")
    is_there = functions.col("place") == str((part << 33) + number)
    columns = [
        functions.when(is_there & (name == "c"), bad).otherwise(functions.col(name)).alias(name) for name in "abcde"
    ]
    if form == "array":
        columns = [functions.array(*columns).alias("x")]
    elif form == "integers":
        # Columns of whole numbers of 64 bits are sent as they are.
        columns.append(functions.lit(3).cast("bigint").alias("key"))
    frame = small.select(*columns).cache()
    frame.count()
    assert open_source(frame).n_tasks == TASKS
    column = "column 2" if form == "array" else "'c'"
    kind = MissingValues if what == "null" else ValueError
    with pytest.raises(kind, match=rf"{column}.*first in row {number} of partition {part}\b"):
        PCA(1).fit(frame)


def test_errors_without_a_row_name_partitions(small):
    from pyspark.sql import functions

    row = functions.when(functions.col("place") == str(5 << 33), functions.array("a")).otherwise(
        functions.array("a", "b")
    )
    frame = small.select(row.alias("x")).cache()
    frame.count()
    with pytest.raises(ValueError, match=r"must have \d numbers in each row.* in or near one of") as caught:
        PCA(1).fit(frame)
    first, last = re.search(r"the partitions (\d+) to (\d+)\.", str(caught.value)).groups()
    assert int(first) <= 5 <= int(last)
