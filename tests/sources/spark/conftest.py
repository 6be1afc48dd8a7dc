"""One session of Spark for all tests, and a table whose rows have an identifier, a weight and a fold."""

from __future__ import annotations

import numpy as np
import pytest

from partitions import SPARK_WARNINGS, spark_session

COLUMNS = list("abcde")


def pytest_collection_modifyitems(items):
    """What pyspark warns of is no error."""
    for item in items:
        for mark in SPARK_WARNINGS:
            item.add_marker(mark)


@pytest.fixture(scope="session")
def spark():
    return spark_session()


@pytest.fixture(scope="session")
def X():
    random = np.random.default_rng(1)
    return random.laplace(size=(240, 5)) @ random.normal(size=(5, 5)) + 100.0


@pytest.fixture(scope="session")
def along():
    """A weight and a fold for each row."""
    random = np.random.default_rng(2)
    return random.integers(0, 4, 240).astype(float), np.array([f"fold {i}" for i in random.integers(0, 3, 240)])


@pytest.fixture(scope="session")
def table(spark, X, along):
    """All columns, in three partitions that are kept in memory; models leave out text."""
    rows = [(f"r{i}", *map(float, x), float(along[0][i]), str(along[1][i])) for i, x in enumerate(X)]
    kinds = ", ".join(f"{name} double" for name in COLUMNS)
    frame = spark.createDataFrame(rows, f"id string, {kinds}, w double, fold string").coalesce(1).repartition(3).cache()
    frame.count()
    return frame


@pytest.fixture(scope="session")
def numbers(table):
    """The rows with their identifiers."""
    return table.select("id", *COLUMNS)
