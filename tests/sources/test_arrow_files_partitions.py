"""Keys in the names of directories are columns of the files below them, as pyarrow.dataset and polars have it."""

import numpy as np
import polars
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet
import pytest

import lowdim
from lowdim import PCA, PLSRegression, cross_validate, scan
from lowdim.reading import summarize
from lowdim.sources import open_source
from lowdim.summaries import Columns

WRITERS = {
    "parquet": lambda table, path: pa.parquet.write_table(table, path, row_group_size=7),
    "arrow": pa.feather.write_feather,
    "csv": pa.csv.write_csv,
}


def write(folder, kind, n=20):
    """Files in year=.../city=..., each with an id and two columns of numbers."""
    random = np.random.default_rng(0)
    for year in (2023, 2024):
        for city in ("Bern", "New%20York"):
            place = folder / f"year={year}" / f"city={city}"
            place.mkdir(parents=True)
            ids = [f"{year} {city} {i}" for i in range(n)]
            table = pa.table({"id": ids, "a": random.standard_normal(n), "b": random.standard_normal(n) * year})
            WRITERS[kind](table, place / f"part-0.{kind}")
    return folder


def rows_of(X):
    return np.concatenate(list(open_source(X).blocks(11)))


@pytest.mark.parametrize("kind", list(WRITERS))
def test_keys_are_columns_as_in_pyarrow(kind, tmp_path):
    folder = write(tmp_path, kind)
    expected = pa.dataset.dataset(folder, format=kind, partitioning="hive").to_table().sort_by("id")
    found = scan(folder, columns="numeric")
    assert scan(folder).columns == ["id", "a", "b", "year", "city"] == expected.column_names
    assert found.chosen == ["a", "b", "year"]
    order = np.argsort(scan(folder).contents.column("id").astype(str))
    for j, name in enumerate(found.chosen):
        np.testing.assert_allclose(rows_of(found)[order, j], expected[name].to_numpy(), rtol=1e-15)
    cities = scan(folder).contents.column("city")[order]
    assert cities.tolist() == expected["city"].to_pylist()
    assert set(cities) == {"Bern", "New York"}


def test_keys_are_those_of_polars(tmp_path):
    folder = write(tmp_path, "parquet")
    frame = polars.scan_parquet(folder, hive_partitioning=True).select("a", "b", "year").collect()
    np.testing.assert_array_equal(rows_of(scan(folder, columns=["a", "b", "year"])), frame.to_numpy())


@pytest.mark.parametrize("kind", list(WRITERS))
def test_keys_as_responses_labels_weights_and_kept_columns(kind, tmp_path):
    folder = write(tmp_path / "rows", kind)
    rows = rows_of(scan(folder, columns=["a", "b", "year"]))
    numbers = scan(folder, columns=["a", "b"])
    model = PLSRegression(1).fit(scan(folder, columns=["a", "b", "year"]), "year")
    np.testing.assert_allclose(model.coef_, PLSRegression(1).fit(rows[:, :2], rows[:, 2]).coef_, rtol=1e-10)
    by_city = cross_validate(PCA(), numbers, cv="city")
    labels = scan(folder).contents.column("city")
    np.testing.assert_allclose(by_city.per_split, cross_validate(PCA(), rows[:, :2], cv=labels).per_split, rtol=1e-10)
    weighted = PCA(1).fit(numbers, sample_weight="year")
    np.testing.assert_allclose(weighted.mean_, np.average(rows[:, :2], axis=0, weights=rows[:, 2]), rtol=1e-12)
    path = PCA(1).fit(numbers).transform_to(folder, f"{tmp_path}/out.parquet", keep=["city", "year"])
    found = pa.parquet.read_table(path)
    assert found.column_names == ["city", "year", "PC1"]
    np.testing.assert_array_equal(found["year"].to_numpy(), rows[:, 2])


def test_only_keys_are_read(tmp_path):
    folder = write(tmp_path, "parquet")
    assert PCA(1).fit(scan(folder, columns="year")).mean_ == pytest.approx(2023.5)


def test_parts_and_pieces_have_the_keys_of_their_files(tmp_path):
    source = open_source(scan(write(tmp_path, "parquet"), columns=["year", "a"]))
    whole = np.concatenate(list(source.blocks(9)))
    parts = source.parts(5)
    assert len(parts) > 1
    np.testing.assert_array_equal(np.concatenate([block for part in parts for block in part.blocks(9)]), whole)
    np.testing.assert_array_equal(np.concatenate(list(source.after(33).blocks(9))), whole[33:])


@pytest.mark.parametrize(
    ("pattern", "keys"),
    [
        ("", ["year", "city"]),
        ("year=2024", ["city"]),
        ("year=2024/city=Bern", []),
        ("year=2024/city=Bern/part-0.parquet", []),
        ("*/*/*.parquet", ["year", "city"]),
        ("**/*.parquet", ["year", "city"]),
        ("year=2024/*/*.parquet", ["city"]),
        ("year=*", ["year", "city"]),
    ],
)
def test_keys_below_what_was_given(pattern, keys, tmp_path):
    folder = write(tmp_path, "parquet")
    assert scan(folder / pattern).columns == ["id", "a", "b", *keys]


def one_file(folder, name, **columns):
    (folder / name).mkdir(parents=True)
    pa.parquet.write_table(pa.table(columns or {"a": [1.0, 2.0]}), folder / name / "x.parquet")


@pytest.mark.parametrize(
    "names", [("a=b", "other"), ("x=1/y=2", "y=2/x=1"), ("x=1", "x=1/y=2"), ("x=1/x=2", "x=1/x=3"), ("=1", "=2")]
)
def test_keys_that_are_not_those_of_all_files_are_no_columns(names, tmp_path):
    for name in names:
        one_file(tmp_path, name)
    assert scan(tmp_path).columns == ["a"]
    assert summarize(tmp_path, Columns).n_rows == 4


def test_a_column_of_the_files_is_read_from_them(tmp_path):
    for key in (1, 2):
        one_file(tmp_path, f"year={key}", year=[10.0 * key, 20.0 * key])
    assert scan(tmp_path).columns == ["year"]
    np.testing.assert_array_equal(rows_of(tmp_path)[:, 0], [10, 20, 20, 40])


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["1", "-2"], [1, -2]),
        (["1", "0.5", "-2e3"], [1, 0.5, -2000]),
        (["007", "12"], [7, 12]),
        (["1", "__HIVE_DEFAULT_PARTITION__"], [1, np.nan]),
    ],
)
def test_numbers_are_numbers(values, expected, tmp_path):
    for value in values:
        one_file(tmp_path, f"key={value}", a=[0.0])
    assert sorted(rows_of(scan(tmp_path, columns="key"))[:, 0], key=str) == pytest.approx(
        sorted(map(float, expected), key=str), nan_ok=True
    )


@pytest.mark.parametrize("values", [["1", "x"], ["nan", "1"], ["1_000", "2"], ["2024-01-01", "2024-02-01"], [""]])
def test_other_values_are_text(values, tmp_path):
    for value in values:
        one_file(tmp_path, f"key={value}")
    assert scan(tmp_path).numeric == ["a"]
    with pytest.raises(ValueError, match="has columns that are not numbers: 'key'; these are numbers: 'a'"):
        PCA(1).fit(tmp_path)


def test_a_missing_value_among_the_keys_is_named(tmp_path):
    for value in ("1", "__HIVE_DEFAULT_PARTITION__"):
        one_file(tmp_path, f"key={value}")
    with pytest.raises(lowdim.errors.MissingValues, match=r"column 'key' \(number 1\), first in row 0 of key=__HIVE"):
        PCA(1).fit(tmp_path)
