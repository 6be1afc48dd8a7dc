"""`scan`: what it knows before rows are read, other choices of columns, and where a scan can be used."""

from pathlib import Path

import numpy as np
import polars
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import pytest

import lowdim
from examples import close
from inputs import relation
from lowdim import PCA, PLSRegression, scan
from lowdim.reading import summarize
from lowdim.sinks import SINKS
from lowdim.sources import open_source
from lowdim.sources.scan import FILE_KINDS, kind_of, suffixes
from lowdim.summaries import Moments

X = np.random.default_rng(2).laplace(size=(90, 4)) @ np.random.default_rng(3).standard_normal((4, 4)) + 1.0
NAMES = ["a", "b", "c", "d"]


@pytest.fixture
def folder(tmp_path):
    columns = {name: X[:, j] for j, name in enumerate(NAMES)} | {"id": [f"r{i}" for i in range(90)]}
    for k in range(3):
        pa.parquet.write_table(pa.table(columns).slice(30 * k, 30), tmp_path / f"{k}.parquet")
    return tmp_path


def test_a_suffix_belongs_to_one_kind_of_file():
    assert len(set(suffixes())) == len(suffixes())
    for name, kind in FILE_KINDS.items():
        assert {kind_of(f"a{suffix}") for suffix in kind.suffixes} == {name}


@pytest.mark.parametrize("suffix", list(SINKS))
@pytest.mark.parametrize("change", [str.upper, str.title])
def test_suffixes_in_any_case(suffix, change, tmp_path):
    pca = PCA(2).fit(X)
    path = pca.transform_to(X, tmp_path / f"rows{change(suffix)}")
    np.testing.assert_array_equal(np.concatenate(list(open_source(path).blocks(7))), pca.transform(X))


def test_the_page_about_files_has_every_suffix():
    page = (Path(__file__).parents[2] / "docs" / "files.md").read_text(encoding="utf-8")
    assert not [suffix for suffix in suffixes() if f"`{suffix}`" not in page]
    assert not [suffix for suffix in SINKS if f"`scores{suffix}`" not in page]


def overwrite_rows(path):
    """Overwrite the rows of a Parquet file, and leave the metadata at its end as they are."""
    data = bytearray(path.read_bytes())
    rows = slice(4, len(data) - 8 - int.from_bytes(data[-8:-4], "little"))
    data[rows] = bytes(len(data[rows]))
    path.write_bytes(data)


def test_a_scan_knows_its_columns_and_reads_no_row(folder):
    for path in folder.iterdir():
        overwrite_rows(path)
    found = scan(folder, exclude="id")
    with pytest.raises(ValueError, match="cannot be read"):
        PCA(2).fit(found)
    assert found.columns == [*NAMES, "id"]
    assert found.numeric == found.chosen == NAMES
    assert open_source(found).shape == (90, 4)
    assert lowdim.plan(PCA(2), found).passes == lowdim.plan(PCA(2), X).passes


def test_other_choices_of_the_same_files(folder):
    found = scan(folder)
    assert found.select(["d", "a"]).chosen == ["d", "a"]
    assert found.select("numeric").without(["b"]).chosen == ["a", "c", "d"]
    assert found.without(["id", "c"]).chosen == ["a", "b", "d"]
    assert found.without(["id"]).found is found.found
    with pytest.raises(ValueError, match="not numbers: 'id'"):
        _ = found.chosen


def test_wrong_names_are_noticed_at_once(folder):
    with pytest.raises(ValueError, match=r"has no column 'e'; its columns are 'a', 'b', 'c', 'd', 'id'"):
        scan(folder, columns=["a", "e"])
    with pytest.raises(ValueError, match=r"has no column 'ids'.*Did you mean 'id'"):
        scan(folder, exclude="ids")


@pytest.fixture
def table(tmp_path):
    """A file with columns that are numbers, text and dates, and one whose name is a pattern."""
    number, path = pa.array([1.0]), tmp_path / "t.parquet"
    columns = {"id": ["a"], "temp_a": number, "temp_b": number, "day": pa.array([0], pa.date32()), "x[1]": number}
    pa.parquet.write_table(pa.table(columns), path)
    return path


@pytest.mark.parametrize(
    ("columns", "exclude", "expected"),
    [
        ("numeric", None, ["temp_a", "temp_b", "x[1]"]),
        ("numeric", [], ["temp_a", "temp_b", "x[1]"]),
        ("numeric", "temp_*", ["x[1]"]),
        ("temp_b", None, ["temp_b"]),
        (["x[1]", "temp_?"], None, ["x[1]", "temp_a", "temp_b"]),
        (["temp_b", "temp_*"], None, ["temp_b", "temp_a"]),
        ("temp_[ab]", ["temp_a"], ["temp_b"]),
        (None, ["id", "day"], ["temp_a", "temp_b", "x[1]"]),
    ],
)
def test_names_and_patterns_choose_columns(columns, exclude, expected, table):
    found = scan(table, columns=columns, exclude=exclude)
    assert found.chosen == open_source(found).names == expected


def test_columns_that_cannot_be_chosen(table, tmp_path):
    with pytest.raises(
        ValueError, match=r"t\.parquet has columns that are not numbers: 'id', 'day'; these are numbers: "
    ):
        open_source(table)
    with pytest.raises(ValueError, match=r"has no column 'temp_c'; its columns are .* Did you mean 'temp_b' or"):
        scan(table, columns=["temp_c"])
    with pytest.raises(ValueError, match=r"has no column 'nothing\*'"):
        scan(table, exclude="nothing*")
    with pytest.raises(ValueError, match=r"no column of .*t\.parquet is chosen: found 0 feature\(s\)"):
        open_source(scan(table, columns="numeric", exclude="*"))
    for bad in (3, [], [1, 2]):
        with pytest.raises(TypeError, match=r"columns=.* must be the name of a column"):
            scan(table, columns=bad)


def test_columns_with_the_same_name(tmp_path):
    path = tmp_path / "twice.parquet"
    pa.parquet.write_table(pa.table([[1.0], [2.0], [3.0]], names=["a", "b", "a"]), path)
    with pytest.raises(ValueError, match="has several columns with the name 'a'"):
        open_source(path)
    assert scan(path, columns="b").chosen == ["b"]


def test_a_scan_prints_its_choice_of_columns(table):
    assert repr(scan(table)).endswith("; all columns of 5")
    assert repr(scan(table, columns="numeric", exclude=["id"])).endswith("; the numeric columns without 'id' of 5")
    assert repr(scan(table, columns=["day", "temp_*"])).endswith("; columns 'day', 'temp_*' of 5")


def test_paths_and_scans_are_rows(folder):
    expected = PCA(2).fit(X)
    for rows in (scan(folder, exclude="id"), scan(str(folder), columns=NAMES), scan(folder, columns="[a-d]")):
        model = PCA(2).fit(rows)
        close(model.components_, expected.components_)
        close(PCA(2).fit_transform(rows), expected.transform(X))
        close(summarize(rows, Moments).mean, X.mean(axis=0))
    # A fitted model finds its columns among others.
    close(model.transform(folder), expected.transform(X))
    close(model.transform(str(folder / "1.parquet")), expected.transform(X[30:60]))
    close(PCA(2).partial_fit(rows).mean_, X.mean(axis=0))
    with pytest.raises(ValueError, match="not numbers: 'id'"):
        PCA(2).fit(folder)


def test_a_response_in_the_same_files(folder):
    model = PLSRegression(2).fit(scan(folder, exclude="id"), y="d")
    expected = PLSRegression(2).fit(X[:, :3], X[:, 3])
    close(model.coef_, expected.coef_)
    close(model.predict(folder), expected.predict(X[:, :3]))


# ---- Objects that speak Arrow

ROWS = pa.table({name: X[:, j] for j, name in enumerate(NAMES)} | {"id": [f"r{i}" for i in range(90)]})


def spoken(kind):
    """The rows as an object that speaks Arrow."""
    makers = {
        "lazy frame": lambda: polars.from_arrow(ROWS).lazy(),
        "relation": lambda: relation(ROWS),
        "dataset": lambda: pa.dataset.dataset(ROWS),
        "reader": lambda: ROWS.to_reader(max_chunksize=20),
        "batch": lambda: ROWS.to_batches()[0],
        "table": lambda: ROWS,
        "polars": lambda: polars.from_arrow(ROWS),
        "pandas": lambda: ROWS.to_pandas().set_index("id"),
    }
    return makers[kind]()


each_kind = pytest.mark.parametrize(
    "kind", ["lazy frame", "relation", "dataset", "reader", "batch", "table", "polars", "pandas"]
)


@each_kind
def test_columns_of_an_object_are_chosen_as_those_of_files(kind):
    for options, chosen in (
        ({"columns": ["c", "a"]}, ["c", "a"]),
        ({"columns": "numeric"}, NAMES),
        ({"columns": "[bd]"}, ["b", "d"]),
        ({"exclude": ["id", "b"]}, ["a", "c", "d"]),
    ):
        found = scan(spoken(kind), **options)
        assert found.chosen == chosen
        expected = X[:, [NAMES.index(name) for name in chosen]]
        np.testing.assert_array_equal(np.concatenate(list(open_source(found).blocks(32))), expected)
    with pytest.raises(ValueError, match="has no column 'x'"):
        scan(spoken(kind), columns="x")


@each_kind
def test_a_scan_of_an_object_in_every_place(kind, tmp_path):
    pls = PLSRegression(1).fit(scan(spoken(kind), columns="numeric"), "d")
    close(pls.coef_, PLSRegression(1).fit(X[:, :3], X[:, 3]).coef_)
    # A fitted model takes its own columns.
    expected = pls.predict(ROWS.select(NAMES[:3]))
    close(pls.predict(scan(spoken(kind))), expected)
    path = pls.predict_to(scan(spoken(kind)), f"{tmp_path}/out.parquet", keep=["id", "d"])
    found = pa.parquet.read_table(path)
    assert found.column_names == ["id", "d", "d_predicted"]
    np.testing.assert_array_equal(found["d"].to_numpy(), X[:, 3])
    close(found["d_predicted"].to_numpy(), expected)
    assert lowdim.plan(PCA(2), scan(spoken(kind), columns="numeric")).passes == 1


def test_only_the_chosen_columns_are_asked_for(monkeypatch):
    frame = polars.from_arrow(ROWS).lazy().with_columns(polars.col("id").map_elements(fails, polars.String).alias("id"))
    close(PCA(2).fit(scan(frame, columns="numeric")).components_, PCA(2).fit(X).components_)
    asked = []
    dataset = pa.dataset.dataset(ROWS)

    class Recorded:
        schema = dataset.schema

        def scanner(self, **options):
            asked.append(options["columns"])
            return dataset.scanner(**options)

    Recorded.__module__ = "pyarrow.dataset"
    close(PCA(2).fit(scan(Recorded(), columns=["a", "c"])).mean_, X[:, [0, 2]].mean(axis=0))
    assert asked == [["a", "c"]]


def fails(text):
    raise AssertionError("a column was computed that nobody wanted")


def test_what_a_scan_of_an_object_prints_and_compares():
    frame = spoken("lazy frame")
    assert repr(scan(frame, columns=["a", "b"])) == "scan(LazyFrame): columns 'a', 'b' of 5"
    assert scan(frame) != scan(frame)
    with pytest.raises(TypeError, match="path"):
        scan(42)
