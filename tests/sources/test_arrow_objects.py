"""Objects that speak Arrow: the same rows from all, read once or again, and what is refused."""

import numpy as np
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import pytest

from examples import close
from lowdim import ICA, PCA, PPCA, FeatureMapPCA, PLSRegression
from lowdim.sources import open_source

polars = pytest.importorskip("polars")
duckdb = pytest.importorskip("duckdb")

X = np.random.default_rng(5).laplace(size=(400, 4)) @ np.random.default_rng(6).standard_normal((4, 4)) + 2.0
NAMES = ["a", "b c", 'd"e', "f"]
TABLE = pa.table({name: X[:, j] for j, name in enumerate(NAMES)} | {"id": [f"r{i}" for i in range(400)]})
NUMBERS = TABLE.select(NAMES)


class Exported:
    """What exports a stream and nothing else."""

    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


class Measured(Exported):
    """A table in memory that exports itself and has a length."""

    def __len__(self):
        return self._table.num_rows


class Array:
    """What exports an array of structs, or another array, and nothing else."""

    def __init__(self, array):
        self._array = array

    def __arrow_c_array__(self, requested_schema=None):
        return self._array.__arrow_c_array__(requested_schema)


def batch(table):
    return pa.record_batch({name: table[name].combine_chunks() for name in table.column_names})


#: A relation ends with its connection.
CONNECTIONS = []


def relation(table):
    CONNECTIONS.append(duckdb.connect())
    CONNECTIONS[-1].register("rows", table)
    return CONNECTIONS[-1].sql("select * from rows")


#: How an object is made of a table, and whether it can be read again.
OBJECTS = {
    "reader": (lambda table: table.to_reader(max_chunksize=90), False),
    "stream": (Exported, False),
    "generator of batches": (lambda table: (b for b in table.to_batches(max_chunksize=90)), False),
    "table with a length": (Measured, True),
    "batch": (batch, True),
    "array": (lambda table: Array(batch(table)), True),
    "list of batches": (lambda table: table.to_batches(max_chunksize=90), True),
    "dataset": (lambda table: pa.dataset.dataset(table), True),
    "lazy frame": (lambda table: polars.from_arrow(table).lazy(), True),
    "relation": (relation, True),
}
each_object = pytest.mark.parametrize("name", list(OBJECTS))


def made(name, table=NUMBERS):
    return OBJECTS[name][0](table)


@each_object
def test_the_same_rows_from_all(name):
    source = open_source(made(name))
    assert source.traits.rereadable == OBJECTS[name][1]
    assert source.names == NAMES
    for _ in range(1 + source.traits.rereadable):
        np.testing.assert_array_equal(np.concatenate(list(source.blocks(64))), X)
    if not source.traits.rereadable:
        with pytest.raises(ValueError, match="on the second reading"):
            list(source.blocks(64))


@each_object
def test_models_take_them(name):
    expected = PCA(2).fit(X)
    found = PCA(2).fit(made(name))
    close(found.components_, expected.components_)
    close(found.transform(made(name)), expected.transform(X))
    assert list(found.feature_names_in_) == NAMES
    # Features are counted from the first rows, which must not be lost.
    close(FeatureMapPCA(2).fit(made(name)).mean_, FeatureMapPCA(2).fit(X).mean_)
    close(np.abs(ICA(2).fit(made(name)).transform(made(name))), np.abs(ICA(2).fit(X).transform(X)), 1e-6)
    response = X[:, 0] + X[:, 1]
    close(PLSRegression(1).fit(made(name), response).coef_, PLSRegression(1).fit(X, response).coef_)
    close(PLSRegression(1).fit(X, made(name)).coef_, PLSRegression(1).fit(X, X).coef_)


def test_a_relation_that_was_read_in_part_can_be_read_again():
    source = open_source(relation(pa.concat_tables([NUMBERS] * 2000)))
    for _ in range(3):
        next(source.blocks(10))
    assert sum(len(block) for block in source.blocks(5000)) == 800_000


def test_the_first_block_of_a_stream_is_free():
    source = open_source(made("reader"))
    assert source.first_block.shape == (90, 4)
    np.testing.assert_array_equal(next(source.first_block.blocks(100)), X[:90])
    np.testing.assert_array_equal(np.concatenate(list(source.blocks(64))), X)


@pytest.mark.parametrize("name", [name for name in OBJECTS if "batches" not in name])
def test_columns_are_kept(name, tmp_path):
    model = PCA(2).fit(NUMBERS)
    found = pa.parquet.read_table(model.transform_to(made(name, TABLE), tmp_path / "scores.parquet", keep=["id"]))
    assert found.column_names == ["id", "PC1", "PC2"]
    assert found["id"].to_pylist() == TABLE["id"].to_pylist()
    close(np.column_stack([found["PC1"], found["PC2"]]), model.transform(NUMBERS))
    with pytest.raises(ValueError, match="has no column 'nothing'"):
        model.transform_to(made(name, TABLE), tmp_path / "other.parquet", keep=["nothing"])


@pytest.mark.parametrize("name", [name for name in OBJECTS if "batches" not in name])
def test_columns_that_are_not_numbers(name):
    with pytest.raises(
        ValueError, match=r"not numbers: 'id'; these are numbers: 'a', .*\. Take only those with lowdim.scan"
    ):
        PCA(1).fit(made(name, TABLE))


@pytest.mark.parametrize("name", [name for name in OBJECTS if name != "list of batches"])
def test_no_rows(name):
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        PCA(1).fit(made(name, NUMBERS.slice(0, 0)))


def test_a_reader_that_was_read_before():
    reader = NUMBERS.to_reader()
    PCA(1).fit(reader)
    with pytest.raises(ValueError, match=r"0 sample\(s\) .* can be read once only; pass a new one"):
        PCA(1).fit(reader)


@each_object
def test_nulls_are_missing_values(name):
    incomplete = X.copy()
    incomplete[[3, 200], [1, 2]] = np.nan
    table = pa.table({n: pa.array(incomplete[:, j], from_pandas=True) for j, n in enumerate(NAMES)})
    if OBJECTS[name][1]:
        close(PPCA(1).fit(made(name, table)).mean_, PPCA(1).fit(incomplete).mean_, 1e-6)
    with pytest.raises(ValueError, match=r"NaN: column 'b c' \(number 1\), first in row 3\."):
        PCA(1).fit(made(name, table))


def test_a_query_that_gives_other_rows_the_second_time_is_refused():
    connection = duckdb.connect()
    connection.execute("create table t as select range::double as a, range * 2.0 as b from range(50)")
    source = open_source(connection.sql("select * from t"))
    list(source.blocks(10))
    connection.execute("insert into t values (1.0, 2.0)")
    with pytest.raises(ValueError, match=r"gave 51 rows, and 50 rows when it was read before"):
        list(source.blocks(10))


def test_one_column_is_no_table_but_a_target():
    column = pa.array(X[:, 0])
    with pytest.raises(ValueError, match="Expected 2D array, got 1D"):
        PCA(1).fit(column)
    with pytest.raises(ValueError, match="Expected 2D array, got 1D"):
        PCA(1).fit(Array(column))
    model = PLSRegression(1).fit(X, column)
    assert model.predict(X).shape == (400,)
    np.testing.assert_array_equal(model.coef_, PLSRegression(1).fit(X, X[:, 0]).coef_)


def test_integers_and_decimals_of_a_query():
    connection = duckdb.connect()
    query = connection.sql(
        "select (range / 10)::decimal(9, 1) as d, range::hugeint as h, range % 2 = 0 as e from range(9)"
    )
    expected = [[i / 10, i, i % 2 == 0] for i in range(9)]
    np.testing.assert_array_equal(next(open_source(query).blocks(9)), expected)
    query = connection.sql("select range + 9007199254740990 as big from range(9)")
    with pytest.raises(ValueError, match=r"column 'big' \(number 0\) holds the integer 9007199254740993 in row 3,"):
        list(open_source(query).blocks(4))
