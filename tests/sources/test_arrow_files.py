"""Parquet and Arrow files as one table: rows, columns, and files that change."""

import os
import sys
import weakref
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from threadpoolctl import threadpool_limits

from lowdim import PCA, PPCA, PLSRegression, cross_validate, plan, scan
from lowdim.reading import summarize
from lowdim.sources import arrow as blocks
from lowdim.sources import arrow_files as formats
from lowdim.sources import base, open_source
from lowdim.summaries import Moments

X = np.random.default_rng(0).standard_normal((500, 4))
NAMES = ["a", "b.c", "d", "e"]
CUTS = [0, 120, 120, 121, 333, 500]


def table(rows, names=NAMES, **others):
    return pa.table({name: rows[:, j] for j, name in enumerate(names)} | others)


def write(kind, path, rows, batch=50):
    if kind == "parquet":
        pa.parquet.write_table(rows, path, row_group_size=batch)
    else:
        pa.feather.write_feather(rows, str(path), chunksize=batch)


KINDS = ["parquet", "feather"]
each_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture(params=KINDS)
def folder(request, tmp_path):
    """Five files, one of them without rows, of several row groups each."""
    for k, (i, j) in enumerate(pairwise(CUTS)):
        write(request.param, tmp_path / f"part-{k}.{request.param}", table(X[i:j], id=[f"r{n}" for n in range(i, j)]))
    return tmp_path


def whole(source, rows=70):
    return np.concatenate(list(source.blocks(rows)))


# ---- Rows


@pytest.mark.parametrize("rows", [1, 7, 50, 64, 499, 500, 1000])
def test_blocks_have_exactly_as_many_rows_as_asked_for(folder, rows):
    source = open_source(scan(folder, exclude="id"))
    assert source.shape == (500, 4)
    cut = list(source.blocks(rows))
    assert [len(block) for block in cut] == [rows] * (500 // rows) + [500 % rows] * (500 % rows > 0)
    np.testing.assert_array_equal(np.concatenate(cut), X)
    np.testing.assert_array_equal(whole(source), X)


def test_columns_come_in_the_order_asked_for(folder):
    source = open_source(scan(folder, columns=["e", "b.c"]))
    assert source.names == ["e", "b.c"]
    np.testing.assert_array_equal(whole(source), X[:, [3, 1]])


def test_only_the_columns_asked_for_are_read(tmp_path):
    # Text that is not read takes nearly all of the file.
    wide = table(X, text=[os.urandom(2000).hex() for _ in X])
    pa.parquet.write_table(wide, tmp_path / "x.parquet", compression="none")
    before = bytes_read()
    whole(open_source(scan(tmp_path, columns=["a"])))
    assert bytes_read() - before < 0.2 * (tmp_path / "x.parquet").stat().st_size


def bytes_read():
    """How many bytes this process has read, as the system counts them."""
    with open("/proc/self/io") as file:
        return int(file.readline().split()[1])


def test_a_row_group_is_not_held_in_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(formats, "_BATCH_BYTES", 1 << 18)
    monkeypatch.setattr(blocks, "_BUFFER_BYTES", 1 << 18)
    many = table(np.random.default_rng(1).standard_normal((500_000, 4)))
    pa.parquet.write_table(many, tmp_path / "x.parquet", row_group_size=500_000)
    del many
    before = pa.total_allocated_bytes()
    held = [pa.total_allocated_bytes() - before for _ in open_source(tmp_path).blocks(5000)]
    # All rows take 16 MB; pages of one megabyte are decompressed for each column.
    assert max(held) < 10e6


@pytest.mark.parametrize("part", [False, True], ids=["all rows", "part"])
def test_a_batch_is_forgotten_before_the_next_one_is_decoded(tmp_path, monkeypatch, part):
    write("parquet", tmp_path / "x.parquet", pa.table({"a": np.zeros(10_000)}))
    source = open_source(tmp_path)
    made = []

    def batches(*arguments, **options):
        for _ in range(10):
            assert not any(numbers() is not None for numbers in made)
            numbers = np.zeros(1000)
            # Arrow reads this array in place, and holds it as long as the batch exists.
            batch = pa.record_batch({"a": numbers})
            made.append(weakref.ref(numbers))
            del numbers
            assert made[-1]() is not None
            yield batch
            del batch

    monkeypatch.setattr(pa.parquet.ParquetFile, "iter_batches", batches)
    rows = source.between(0, 10_000) if part else source
    assert sum(len(block) for block in rows.blocks(300)) == 10_000
    assert len(made) == 10


def test_a_batch_holds_so_many_bytes_of_each_column(tmp_path, monkeypatch):
    lengths = []
    iterate = pa.parquet.ParquetFile.iter_batches

    def watched(file, rows, *arguments, **options):
        lengths.append(rows)
        return iterate(file, rows, *arguments, **options)

    monkeypatch.setattr(pa.parquet.ParquetFile, "iter_batches", watched)
    monkeypatch.setattr(formats, "_BATCH_BYTES", 1 << 20)
    for p, dtype in ((1, np.float64), (1, np.float32), (100, np.float64), (1000, np.float32)):
        path = tmp_path / f"{p}_{np.dtype(dtype)}.parquet"
        write("parquet", path, pa.table({str(j): np.ones(2, dtype) for j in range(p)}))
        whole(open_source(path))
    assert lengths == [(1 << 18) // 8, (1 << 18) // 4, (1 << 20) // 800, 262]


@pytest.mark.parametrize("i", [0, 1, 49, 50, 119, 120, 121, 250, 499, 500])
def test_rows_after_a_row(folder, i):
    source = open_source(scan(folder, exclude="id"))
    assert source.after(i).shape == (500 - i, 4)
    np.testing.assert_array_equal(np.concatenate([np.empty((0, 4)), *source.after(i).blocks(33)]), X[i:])
    np.testing.assert_array_equal(whole(source), X)


@pytest.fixture
def decoded(tmp_path, monkeypatch):
    """The row groups that are read of each file, and whether pyarrow may use threads; the files are in `tmp_path`."""
    for k, (i, j) in enumerate(pairwise(CUTS)):
        write("parquet", tmp_path / f"part-{k}.parquet", table(X[i:j]))
    seen = []
    iterate = pa.parquet.ParquetFile.iter_batches

    def noted(file, rows, groups, names, use_threads):
        seen.append((list(groups), use_threads))
        return iterate(file, rows, groups, names, use_threads=use_threads)

    monkeypatch.setattr(pa.parquet.ParquetFile, "iter_batches", noted)
    return seen


def test_row_groups_before_a_row_are_not_read(decoded, tmp_path):
    np.testing.assert_array_equal(whole(open_source(tmp_path).after(121 + 104)), X[225:])
    assert decoded == [([2, 3, 4], True), ([0, 1, 2, 3], True)]


def test_rows_between_two_rows(folder):
    source = open_source(scan(folder, exclude="id"))
    for i, j in ((0, 500), (0, 1), (119, 122), (130, 131), (333, 500), (499, 500), (60, 400)):
        part = source.between(i, j)
        assert part.shape == (j - i, 4)
        np.testing.assert_array_equal(whole(part), X[i:j])
        np.testing.assert_array_equal(whole(part.between(0, 1)), X[i : i + 1])
        if j - i > 1:
            np.testing.assert_array_equal(whole(part.after(1)), X[i + 1 : j])


@pytest.mark.parametrize("k", [1, 2, 3, 5, 100])
def test_parts_begin_where_row_groups_begin(k, decoded, tmp_path):
    source = open_source(tmp_path)
    groups = [start for i, j in pairwise(CUTS) for start in range(i, j, 50)]
    assert source.traits.part_bytes == 500 * 4 * 8
    parts = source.parts(k)
    ends = np.cumsum([part.shape[0] for part in parts]).tolist()
    assert ends[-1] == 500
    assert set(ends[:-1]) <= set(groups)
    assert len(parts) == {1: 1, 100: len(groups)}.get(k, len(parts)) <= k
    np.testing.assert_array_equal(np.concatenate([whole(part) for part in parts]), X)
    # A part is read by one thread.
    assert all(threads == (k == 1) for _, threads in decoded)


def test_parts_of_one_row_group_and_of_arrow_files_are_the_whole(tmp_path):
    write("parquet", tmp_path / "one.parquet", table(X), batch=500)
    write("feather", tmp_path / "many.feather", table(X))
    for name in ("one.parquet", "many.feather"):
        source = open_source(tmp_path / name)
        assert source.parts(4) == [source]
        assert source.traits.part_bytes == 0


@pytest.mark.parametrize("beside", ["nothing", "weights", "labels", "a column"])
def test_threads_that_read_parts_give_the_sums_of_all_rows(beside, decoded, tmp_path, monkeypatch):
    for name in ("_PARALLEL_BYTES", "_PART_BYTES"):
        monkeypatch.setattr(sys.modules["lowdim.reading.summarizing"], name, 1)
    random = np.random.default_rng(1)
    labels, w = random.integers(0, 3, 500), random.integers(0, 3, 500).astype(float)
    with threadpool_limits(2, user_api="blas"):
        if beside == "labels":
            # Labels are cut where the row groups are.
            splits = [(np.flatnonzero(labels != k), np.flatnonzero(labels == k)) for k in range(3)]
            found, expected = (cross_validate(PCA(), given, cv=splits).mean for given in (tmp_path, X))
        elif beside == "a column":
            found = PLSRegression(2).fit(tmp_path, y="d").coef_
            expected = PLSRegression(2).fit(X[:, [0, 1, 3]], X[:, 2]).coef_
        else:
            weights = w if beside == "weights" else None
            found, expected = (summarize(given, Moments, weights=weights).scatter for given in (tmp_path, X))
            np.testing.assert_array_equal(summarize(tmp_path, Moments, weights=weights).scatter, found)
    assert any(not threads for _, threads in decoded)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12 * np.abs(expected).max())


def test_a_bad_entry_in_a_part_is_named(tmp_path, monkeypatch):
    for name in ("_PARALLEL_BYTES", "_PART_BYTES"):
        monkeypatch.setattr(sys.modules["lowdim.reading.summarizing"], name, 1)
    rows = X.copy()
    rows[345, 1] = np.nan
    for k, (i, j) in enumerate(pairwise(CUTS)):
        write("parquet", tmp_path / f"part-{k}.parquet", table(rows[i:j]))
    with (
        threadpool_limits(2, user_api="blas"),
        pytest.raises(ValueError, match=r"'b\.c'.* first in row 12 of part-4\.parquet \(row 345 of all\)"),
    ):
        PCA(1).fit(tmp_path)


def written(model, rows, keep, folder):
    """The table of kept columns, and the scores, that a model writes to a file."""
    path = model.transform_to(rows, folder / "scores.parquet", keep=keep, overwrite=True)
    found = pa.parquet.read_table(path)
    return found.select(found.column_names[: len(keep)]), np.column_stack(found.columns[len(keep) :])


def test_columns_that_are_kept(folder, tmp_path_factory):
    out = tmp_path_factory.mktemp("out")
    model = PCA(4).fit(table(X))
    for rows in (scan(folder), folder):
        kept, scores = written(model, rows, ["id"], out)
        assert kept.to_pydict() == {"id": [f"r{n}" for n in range(500)]}
        np.testing.assert_allclose(scores, model.transform(table(X)), atol=1e-12)
    # A column that is kept is none of the rows, unless the model was fitted to it.
    for names in (NAMES[:3], NAMES):
        model = PCA(2).fit(table(X).select(names))
        kept, scores = written(model, folder, ["e", "id"], out)
        assert kept.column_names == ["e", "id"]
        np.testing.assert_array_equal(kept["e"], X[:, 3])
        np.testing.assert_allclose(scores, model.transform(table(X).select(names)), atol=1e-12)
    with pytest.raises(ValueError, match=r"has no column 'idd'; .* Did you mean 'id'"):
        written(model, folder, ["idd"], out)


def test_an_index_of_pandas_is_no_column(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=NAMES, index=pandas.Index(np.arange(500) * 2.0, name="number"))
    frame.to_parquet(tmp_path / "named.parquet")
    frame.rename_axis(None).to_parquet(tmp_path / "plain.parquet")
    frame.reset_index(drop=True).to_parquet(tmp_path / "range.parquet")
    for name in ("named", "plain", "range"):
        for columns in (None, "numeric", "*"):
            assert scan(tmp_path / f"{name}.parquet", columns=columns).chosen == NAMES
    assert scan(tmp_path / "named.parquet", columns=["number", "a"]).chosen == ["number", "a"]
    kept, _ = written(PCA(1).fit(table(X)), tmp_path / "named.parquet", ["number"], tmp_path)
    np.testing.assert_array_equal(kept["number"], frame.index)


def test_columns_that_a_model_wants(folder):
    assert open_source(folder, wanted=["d", "a"]).names == ["d", "a"]
    assert open_source(scan(folder), wanted=["d", "a"]).names == ["d", "a"]
    assert open_source(scan(folder, columns="e"), wanted=["d"]).names == ["e"]
    with pytest.raises(ValueError, match="has no column 'z'"):
        open_source(folder, wanted=["z"])


def test_identity_tells_files_apart(folder):
    found = scan(folder, exclude="id")
    identity = open_source(found).identity()
    assert identity == open_source(scan(folder, exclude="id")).identity()
    assert identity != open_source(scan(folder, columns=["a"])).identity()
    last = sorted(folder.iterdir())[-1]
    os.utime(last, ns=(0, last.stat().st_mtime_ns + 1))
    assert identity != open_source(scan(folder, exclude="id")).identity()


def test_a_scan_prints_itself(folder):
    text = repr(scan(folder, columns=["a", "d"]))
    assert text.startswith(f"scan('{folder}'): 5 ")
    assert text.endswith("columns 'a', 'd' of 5")


def test_paths_from_here(folder, monkeypatch):
    monkeypatch.chdir(folder)
    np.testing.assert_array_equal(whole(open_source(scan(".", exclude="id"))), X)
    first = sorted(folder.iterdir())[0].name
    np.testing.assert_array_equal(whole(open_source(scan(f"./{first}", exclude="id"))), X[:120])


def test_without_pyarrow_an_error_says_what_to_install(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(
        ImportError, match=r"reading (parquet|arrow) files needs pyarrow, .* pip install 'lowdim\[files\]'"
    ):
        PCA(1).fit(folder)


def test_integers_after_a_row_are_named_by_their_place_in_the_file(tmp_path):
    numbers = np.arange(100)
    numbers[77] = 2**53 + 1
    write("parquet", tmp_path / "a.parquet", pa.table({"a": numbers}))
    with pytest.raises(ValueError, match=r"9007199254740993 in row 77 of a\.parquet,"):
        whole(open_source(tmp_path).after(60))


# ---- Dtypes


@each_kind
def test_float32_stays_float32_and_other_types_are_promoted(kind, tmp_path):
    write(kind, tmp_path / f"a.{kind}", table(X.astype("f4")))
    source = open_source(tmp_path)
    assert source.dtype == np.float32
    assert next(source.blocks(9)).dtype == np.float32
    whole_numbers = np.arange(40).reshape(10, 4)
    write(kind, tmp_path / f"b.{kind}", table(whole_numbers))
    source = open_source(tmp_path)
    assert source.dtype == np.float64
    np.testing.assert_array_equal(whole(source), np.concatenate([X.astype("f4").astype("f8"), whole_numbers]))


@each_kind
def test_kept_columns_have_the_type_of_the_first_file(kind, tmp_path, tmp_path_factory):
    write(kind, tmp_path / f"a.{kind}", table(X[:3], number=pa.array([1, 2, 3], type=pa.int64())))
    write(kind, tmp_path / f"b.{kind}", table(X[3:5], number=pa.array([4, 5], type=pa.int32())))
    kept, _ = written(PCA(1).fit(table(X)), tmp_path, ["number"], tmp_path_factory.mktemp("out"))
    assert kept["number"].type == pa.int64()
    assert kept["number"].to_pylist() == [1, 2, 3, 4, 5]


@each_kind
def test_integers_that_are_not_exact_are_named(kind, tmp_path):
    write(kind, tmp_path / f"a.{kind}", table(X[:60]))
    numbers = [2**53, 2**60, 2**53 + 1]
    write(kind, tmp_path / f"b.{kind}", pa.table({name: numbers for name in NAMES}))
    with pytest.raises(
        ValueError,
        match=rf"column 'a' \(number 0\) holds the integer 9007199254740993 in row 2 of b\.{kind} \(row 62 of",
    ):
        whole(open_source(tmp_path), rows=7)


@each_kind
def test_nulls_are_missing_or_named(kind, tmp_path):
    incomplete = X.copy()
    incomplete[[203, 300], [1, 2]] = np.nan
    for k, (i, j) in enumerate(pairwise([0, 200, 500])):
        columns = {name: pa.array(incomplete[i:j, c], from_pandas=True) for c, name in enumerate(NAMES)}
        write(kind, tmp_path / f"part-{k}.{kind}", pa.table(columns))
    np.testing.assert_array_equal(whole(open_source(tmp_path)), incomplete)
    np.testing.assert_allclose(
        PPCA(1).fit(tmp_path).noise_variance_, PPCA(1).fit(incomplete).noise_variance_, rtol=1e-9
    )
    with pytest.raises(
        ValueError, match=rf"NaN: column 'b\.c' \(number 1\), first in row 3 of part-1\.{kind} \(row 203 of all\)"
    ):
        PCA(2).fit(tmp_path)
    with pytest.raises(ValueError, match=rf"first in row 3 of part-1\.{kind} \(row 203 of all\)"):
        PCA(2).fit(X).transform(tmp_path)


# ---- Files that do not fit together


@each_kind
def test_a_file_with_another_column_or_type(kind, tmp_path):
    write(kind, tmp_path / f"a.{kind}", table(X))
    write(kind, tmp_path / f"b.{kind}", table(X, ["a", "b.c", "D", "e"]))
    with pytest.raises(ValueError, match=rf"b\.{kind} has no column 'd', which is needed .*'a', 'b\.c', 'D', 'e'"):
        PCA(1).fit(tmp_path)
    np.testing.assert_array_equal(whole(open_source(scan(tmp_path, columns=["e", "a"]))), np.tile(X[:, [3, 0]], (2, 1)))
    text = {name: [str(value) for value in X[:5, j]] if name == "d" else X[:5, j] for j, name in enumerate(NAMES)}
    write(kind, tmp_path / f"b.{kind}", pa.table(text))
    with pytest.raises(ValueError, match=rf"b\.{kind} has columns that are not numbers: 'd'; these are numbers: 'a'"):
        PCA(1).fit(tmp_path)


@each_kind
def test_only_files_without_rows(kind, tmp_path):
    for name in "ab":
        write(kind, tmp_path / f"{name}.{kind}", table(X[:0]))
    with pytest.raises(ValueError, match=r"found 0 sample\(s\) in .*: none of the files has a row"):
        PCA(1).fit(tmp_path)


def test_several_columns_of_one_name(tmp_path):
    both = pa.Table.from_arrays([pa.array(X[:, 0]), pa.array(X[:, 1]), pa.array(X[:, 2])], names=["a", "b", "a"])
    pa.parquet.write_table(both, tmp_path / "x.parquet")
    with pytest.raises(ValueError, match="has several columns with the name 'a'"):
        PCA(1).fit(tmp_path)
    np.testing.assert_array_equal(whole(open_source(scan(tmp_path, columns="b"))), X[:, [1]])


# ---- Files that change


def test_a_file_that_changes_between_two_passes_is_refused(folder):
    source = open_source(scan(folder, exclude="id"))
    summarize(source, Moments)
    last = sorted(folder.iterdir())[-1]
    write(last.suffix[1:], last, table(X[333:499], id=["x"] * 166))
    with pytest.raises(ValueError, match=rf"{last.name} has changed since it was scanned"):
        summarize(source, Moments)
    again = open_source(scan(folder, exclude="id"))
    last.unlink()
    with pytest.raises(FileNotFoundError, match=rf"{last.name} was there when it was scanned, and is gone now"):
        summarize(again, Moments)


def test_a_file_that_changes_during_a_pass_is_refused(folder, monkeypatch):
    # One block is read ahead at a time, so the end of the pass has not come when the first block is there.
    monkeypatch.setattr(blocks, "_BUFFER_BYTES", 1)
    first = sorted(folder.iterdir())[0]
    with pytest.raises(ValueError, match=rf"{first.name} has changed"):
        for _ in open_source(scan(folder, exclude="id")).blocks(10):
            os.utime(first, ns=(0, 1))


def test_a_scan_is_of_the_files_as_they_were(folder):
    found = scan(folder, exclude="id")
    os.utime(sorted(folder.iterdir())[2], ns=(0, 1))
    with pytest.raises(ValueError, match="has changed since it was scanned"):
        PCA(1).fit(found)


@each_kind
def test_a_name_that_occurs_twice_in_another_file(kind, tmp_path):
    write(kind, tmp_path / f"0.{kind}", table(X))
    twice = pa.Table.from_arrays([pa.array(X[:, 0])] * 5, names=[*NAMES, "d"])
    write(kind, tmp_path / f"1.{kind}", twice)
    with pytest.raises(ValueError, match=rf"1\.{kind} has several columns with the name 'd'"):
        PCA(1).fit(tmp_path)
    assert PCA(1).fit(scan(tmp_path, columns=["a", "e"])).n_samples_ == 1000


# ---- Memory


def wide_file(path, **options):
    """Columns of which each has a dictionary of a megabyte, unless `options` say otherwise."""
    rows = np.random.default_rng(0).standard_normal((131_072, 12))
    pa.parquet.write_table(table(rows, [f"c{j}" for j in range(12)]), path, row_group_size=131_072, **options)
    return scan(path)


def test_a_plan_says_what_reading_takes(tmp_path):
    with_dictionaries = plan(PCA(2), wide_file(tmp_path / "a.parquet")).n_bytes
    without = plan(PCA(2), wide_file(tmp_path / "b.parquet", use_dictionary=False)).n_bytes
    few = plan(PCA(2), scan(tmp_path / "a.parquet", columns=["c0", "c1"])).n_bytes
    # Twelve dictionaries of a megabyte, as they are stored and decoded.
    assert with_dictionaries > without + 2 * 12 * 1_000_000
    assert few < with_dictionaries - 2 * 10 * 1_000_000
    assert without > plan(PCA(2), (131_072, 12)).n_bytes + 12 * 1_000_000
    feather = tmp_path / "c.feather"
    write("feather", feather, table(X), batch=500)
    assert plan(PCA(2), scan(feather)).n_bytes >= plan(PCA(2), X).n_bytes + X.nbytes


def test_fewer_threads_read_if_memory_is_short(tmp_path, monkeypatch):
    pa.parquet.write_table(table(X), tmp_path / "x.parquet", row_group_size=100)
    traits = open_source(scan(tmp_path / "x.parquet")).traits
    with threadpool_limits(2, user_api="blas"):
        for free, n_readers in ((100 * traits.reading_bytes, 2), (3 * traits.reading_bytes, 1), (1000, 1), (0, 2)):
            monkeypatch.setattr(base, "free_bytes", lambda free=free: free)
            assert traits.n_readers == n_readers


def test_too_little_memory_is_an_error_that_says_what_to_do(tmp_path, monkeypatch):
    def fails(*arguments, **options):
        raise pa.ArrowMemoryError("malloc of size 1050176 failed")

    rows = wide_file(tmp_path / "x.parquet")
    monkeypatch.setattr(pa.parquet.ParquetFile, "iter_batches", fails)
    with pytest.raises(
        MemoryError, match=r"reading 12 columns of .*x\.parquet took more memory than there is"
    ) as error:
        PCA(2).fit(rows)
    assert "Choose fewer columns with lowdim.scan(..., columns=...)" in str(error.value)
    assert "use_dictionary=False" in str(error.value)
