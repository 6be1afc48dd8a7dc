"""A pass that is interrupted goes on where it was, and ends with the same bits as one that was not."""

import os
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from threadpoolctl import threadpool_limits

from examples import MODELS, make, tables
from laws.summaries_drawn import CASES, ROW_WEIGHTED, empty, rows_of
from lowdim import PCA, PPCA, FeatureMapPCA, PLSRegression, scan
from lowdim._core import container
from lowdim.features import Fourier
from lowdim.reading import Checkpoint, summarize
from lowdim.reading import checkpoint as checkpoints
from lowdim.summaries import Columns, Labelled, Moments, Triangle

RNG = np.random.default_rng(0)
X = RNG.standard_normal((2000, 4)) @ RNG.standard_normal((4, 4)) + 3.0
WEIGHTS = RNG.integers(0, 3, len(X)).astype(float)


UPDATED = {Moments: Moments._updated}


class Interruption(Exception):
    """Ends a pass in the middle."""


def blocks(rows=X, stop=None, size=90):
    """An iterator over blocks of several lengths, which can be read once; it breaks off before block `stop`."""
    for number, (i, j) in enumerate(pairwise([*range(0, rows.shape[0], size), rows.shape[0]])):
        if number == stop:
            raise Interruption
        yield rows[i : j - number % 2 * (size // 3)]
        if number % 2:
            yield rows[j - size // 3 : j]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "pass.checkpoint"


def bits(summary):
    """What is saved of a summary."""
    with tempfile.TemporaryDirectory() as folder:
        summary.save(f"{folder}/summary")
        return Path(folder, "summary").read_bytes()


def small_blocks(monkeypatch, cls, rows=100):
    """Let a summary take blocks of so many rows."""
    monkeypatch.setattr(cls, "block_rows", lambda self, n_columns, itemsize, stored=1.0: rows)


def break_off(monkeypatch, cls, calls):
    """Let the n-th update of summaries of a class fail, or none. Returns a list that grows by the rows added."""
    monkeypatch.setattr(cls, "_updated", UPDATED[cls])
    added = []

    def updated(self, block, weights):
        if len(added) + 1 == calls:
            raise Interruption
        added.append(block.shape[0])
        return UPDATED[cls](self, block, weights)

    monkeypatch.setattr(cls, "_updated", updated)
    return added


def interrupted(rows, summary, path, **options):
    with pytest.raises(Interruption):
        summarize(rows, summary, checkpoint=Checkpoint(path, every_seconds=0), **options)
    assert path.exists()


# ---- The same bits


@pytest.mark.parametrize(("label", "n_threads"), [*((label, 2) for label in CASES), ("Moments", 1)])
def test_every_summary_of_a_stream_ends_with_the_same_bits(label, n_threads, path, monkeypatch):
    rows = rows_of(label, X)
    monkeypatch.setattr(type(empty(label)), "block_rows", lambda self, n_columns, itemsize, stored=1.0: 100)
    weights = {"weights": WEIGHTS} if label in ROW_WEIGHTED else {}
    with threadpool_limits(n_threads):
        expected = bits(summarize(blocks(rows), empty(label), **weights))
        for stop in (4, 11):
            interrupted(blocks(rows, stop), empty(label), path, **weights)
    with threadpool_limits(3 - n_threads):
        found = summarize(blocks(rows), empty(label), checkpoint=path, **weights)
    assert bits(found) == expected
    assert not path.exists()


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_parts_of_an_array_go_on_each_where_it_was(dtype, n_threads, path, monkeypatch):
    monkeypatch.setattr("lowdim.reading.summarizing._PARALLEL_BYTES", 1 << 10)
    monkeypatch.setattr("lowdim.reading.summarizing._PART_BYTES", 1 << 10)
    small_blocks(monkeypatch, Moments, rows=37)
    rows, kept = X.astype(dtype), []
    with threadpool_limits(n_threads):
        expected = summarize(rows, Moments, weights=WEIGHTS)
        for calls in (3, 17, 20):
            added = break_off(monkeypatch, Moments, calls)
            interrupted(rows, Moments, path, weights=WEIGHTS)
            kept.append(sum(each["state"]["n_rows"] for each in container.header(path)["summaries"]))
    assert 0 < kept[0] < kept[1] < kept[2] < np.count_nonzero(WEIGHTS)
    with threadpool_limits(3 - n_threads):
        added = break_off(monkeypatch, Moments, None)
        found = summarize(rows, Moments, weights=WEIGHTS, checkpoint=path)
    assert bits(found) == bits(expected)
    # No row is added twice, and none is read twice.
    assert kept[-1] + sum(added) == np.count_nonzero(WEIGHTS)


@pytest.mark.parametrize(
    "rows",
    [
        lambda: pd.DataFrame(X, columns=list("abcd")),
        lambda: sparse.csr_array(np.where(X > 3.0, X, 0.0)),
        lambda: lambda: blocks(X),
    ],
    ids=["table", "sparse", "function"],
)
def test_other_kinds_of_rows(rows, path, monkeypatch):
    small_blocks(monkeypatch, Moments)
    expected = summarize(rows(), Moments)
    break_off(monkeypatch, Moments, 9)
    interrupted(rows(), Moments, path)
    added = break_off(monkeypatch, Moments, None)
    assert bits(summarize(rows(), Moments, checkpoint=path)) == bits(expected)
    assert sum(added) < len(X)


def test_files_go_on_in_the_middle_of_a_file(tmp_path, path, monkeypatch):
    import pyarrow as pa
    from pyarrow import parquet

    small_blocks(monkeypatch, Moments)
    (tmp_path / "rows").mkdir()
    for i, part in enumerate(np.array_split(X, 3)):
        table = pa.table({f"x{j}": part[:, j] for j in range(4)})
        parquet.write_table(table, tmp_path / "rows" / f"{i}.parquet", row_group_size=70)
    rows = scan(tmp_path / "rows")
    expected = summarize(rows, Moments, weights=WEIGHTS)
    break_off(monkeypatch, Moments, 11)
    interrupted(rows, Moments, path, weights=WEIGHTS)
    added = break_off(monkeypatch, Moments, None)
    assert bits(summarize(rows, Moments, weights=WEIGHTS, checkpoint=path)) == bits(expected)
    assert len(added) == 20 - 10
    # A file that is written again is another one, even with the same rows.
    break_off(monkeypatch, Moments, 11)
    interrupted(rows, Moments, path, weights=WEIGHTS)
    os.utime(tmp_path / "rows" / "1.parquet", ns=(1, 1))
    with pytest.raises(ValueError, match=r"of another pass: rows, files 1: .*, \d+\] then, .*, 1\] now"):
        summarize(scan(tmp_path / "rows"), Moments, weights=WEIGHTS, checkpoint=path)


def test_a_response_in_the_same_file_is_read_with_the_rows(tmp_path, path, monkeypatch):
    small_blocks(monkeypatch, Moments)
    pd.DataFrame(X, columns=list("abcd")).to_parquet(tmp_path / "rows.parquet", row_group_size=70)
    rows = scan(tmp_path / "rows.parquet")
    expected = PLSRegression(1).fit(rows, y="d")
    break_off(monkeypatch, Moments, 11)
    with pytest.raises(Interruption):
        PLSRegression(1).fit(rows, y="d", checkpoint=path)
    added = break_off(monkeypatch, Moments, None)
    np.testing.assert_array_equal(PLSRegression(1).fit(rows, y="d", checkpoint=path).coef_, expected.coef_)
    assert len(added) == 20 - 10
    # Another response is another pass, although it is in the same file.
    break_off(monkeypatch, Moments, 11)
    with pytest.raises(Interruption):
        PLSRegression(1).fit(rows, y="d", checkpoint=path)
    with pytest.raises(ValueError, match=r"of another pass: rows, tables"):
        PLSRegression(1).fit(rows, y="a", checkpoint=path)


@pytest.mark.parametrize("second", [lambda Y: Y, blocks], ids=["array", "stream"])
def test_two_tables_go_on(second, path, monkeypatch):
    small_blocks(monkeypatch, Moments)
    A, B = X[:, :3], X[:, 3:]
    expected = PLSRegression(1).fit(A, second(B))
    break_off(monkeypatch, Moments, 9)
    with pytest.raises(Interruption):
        PLSRegression(1).fit(A, second(B), checkpoint=Checkpoint(path, every_seconds=0))
    added, before = break_off(monkeypatch, Moments, None), path.read_bytes()
    # Each of the tables tells one pass from another.
    for other in ((A + 1.0, B), (A, B + 1.0)):
        with pytest.raises(ValueError, match=r"of another pass: rows, tables"):
            PLSRegression(1).fit(other[0], second(other[1]), checkpoint=path)
        assert path.read_bytes() == before
    found = PLSRegression(1).fit(A, second(B), checkpoint=path)
    assert bits(found.summary_) == bits(expected.summary_)
    np.testing.assert_array_equal(found.coef_, expected.coef_)
    assert 0 < sum(added) < len(X)


def test_features_go_on_and_other_features_are_another_pass(path):
    maps = [Fourier(RNG.standard_normal((4, 3))) for _ in range(2)]
    expected = FeatureMapPCA(2, feature_map=maps[0]).fit(blocks())
    with pytest.raises(Interruption):
        FeatureMapPCA(2, feature_map=maps[0]).fit(blocks(stop=9), checkpoint=Checkpoint(path, every_seconds=0))
    before = path.read_bytes()
    for rows, feature_map in ((X, maps[1]), (X + 1.0, maps[0])):
        with pytest.raises(ValueError, match="of another pass: rows, "):
            FeatureMapPCA(2, feature_map=feature_map).fit(blocks(rows), checkpoint=path)
        assert path.read_bytes() == before
    found = FeatureMapPCA(2, feature_map=maps[0]).fit(blocks(), checkpoint=path)
    np.testing.assert_array_equal(found.components_, expected.components_)


def test_a_summary_that_holds_rows_already_goes_on(path):
    more = summarize(X[:50], Moments)
    expected = summarize(blocks(), more.snapshot())
    interrupted(blocks(stop=7), more.snapshot(), path)
    with pytest.raises(ValueError, match="summary, digest of what it held"):
        summarize(blocks(), Moments, checkpoint=path)
    assert bits(summarize(blocks(), more, checkpoint=path)) == bits(expected)


def test_the_summary_that_was_given_holds_the_sums(path):
    summary = Labelled(Moments(4), [2])
    labels = np.repeat([0.0, 1.0], 1000)[:, None]
    rows = np.hstack([X, labels])
    interrupted(blocks(rows, stop=9), Labelled(Moments(4), [2]), path)
    assert summarize(blocks(rows), summary, checkpoint=path) is summary
    assert [part.n_rows for part in summary.parts[0]] == [1000, 1000]


def test_children_that_are_killed_end_with_the_same_bits(tmp_path):
    script = Path(__file__).with_name("killed_passes.py")
    run = subprocess.run(
        [sys.executable, script, tmp_path, "1"],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "2"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.split("\n")[:3] == ["stream same", "array same", "parquet same"]


# ---- What is refused


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda path: summarize(blocks(X + 1), Moments, checkpoint=path), "of another pass: rows, rows: "),
        (lambda path: summarize(blocks(X[:, :3]), Moments, checkpoint=path), r"rows, shape: \[null, 4\] then, "),
        (lambda path: summarize(X, Moments, checkpoint=path), r"rows, shape: \[null, 4\] then, \[2000, 4\] now"),
        (lambda path: summarize(blocks(X.astype("f4")), Moments, checkpoint=path), "rows, bits: 64 then, 32 now"),
        (lambda path: summarize(blocks(), Moments, checkpoint=path, weights=WEIGHTS), "weights: null then, "),
        (lambda path: summarize(blocks(), Triangle, checkpoint=path), 'class: "Moments" then, "Triangle" now'),
        (lambda path: summarize(blocks(), Moments(4, widths=(1, 3)), checkpoint=path), r"widths: \[4\] then, \[1, 3\]"),
        (lambda path: PCA(2).fit(blocks(X + 1), checkpoint=path), "of another pass: rows, rows: "),
    ],
    ids=["rows", "columns", "kind", "dtype", "weights", "summary", "parameters", "fit"],
)
def test_another_pass_is_refused_with_the_difference(call, message, path):
    interrupted(blocks(stop=8), Moments, path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=message):
        call(path)
    assert path.read_bytes() == before


def test_a_stream_that_differs_later_is_refused(path, monkeypatch):
    small_blocks(monkeypatch, Moments)
    interrupted(blocks(stop=12), Moments, path)
    other = X.copy()
    other[180:260] += 1e-9
    with pytest.raises(ValueError, match="rows of the stream are not those that the checkpoint"):
        summarize(blocks(other), Moments, checkpoint=path)
    with pytest.raises(ValueError, match="rows of the stream are not those that the checkpoint"):
        summarize(blocks(X[:300]), Moments, checkpoint=path)


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[: len(content) // 2],
        lambda content: content[:-1] + bytes([content[-1] ^ 1]),
        lambda content: b"",
        lambda content: b"a text that somebody wrote",
    ],
    ids=["cut", "one bit", "empty", "text"],
)
def test_a_damaged_file_is_refused_and_left_alone(damage, path):
    interrupted(blocks(stop=8), Moments, path)
    path.write_bytes(damage(path.read_bytes()))
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"holds no checkpoint, or a damaged one: .* delete the file"):
        summarize(blocks(), Moments, checkpoint=path)
    assert path.read_bytes() == before


def test_a_file_that_holds_something_else_is_never_overwritten(path):
    summarize(X, Moments).save(path)
    with pytest.raises(ValueError, match="it holds 'summary'"):
        summarize(X, Moments, checkpoint=path)
    assert Moments.load(path).n_rows == 2000


@pytest.mark.parametrize("change", ["places", "summaries", "begin", "cut"])
def test_places_that_no_pass_has_are_refused(change, path):
    interrupted(blocks(stop=8), Moments, path)
    tree = container.rebuild(*container.read(path))
    for key in ("format", "version", "lowdim"):
        tree.pop(key, None)
    tree[change] = {
        "places": [{"piece": 1, "rows": -2}],
        "summaries": [],
        "begin": {"block": 1, "row": 1, "before": ""},
        "cut": {"rows": 0, "parts": 1, "summaries": 1},
    }[change]
    container.write(path, *container.flatten(tree))
    with pytest.raises(ValueError, match="holds no checkpoint, or a damaged one"):
        summarize(blocks(), Moments, checkpoint=path)


def test_what_is_no_checkpoint_is_refused(tmp_path):
    with pytest.raises(TypeError, match="must be a str, a path or a Checkpoint, got int"):
        summarize(X, Moments, checkpoint=3)
    for seconds in (-1, np.inf, np.nan, "often"):
        with pytest.raises(ValueError, match="must be a number of seconds"):
            Checkpoint(tmp_path / "c", every_seconds=seconds)


def test_a_file_that_cannot_be_written_is_an_error_before_rows_are_added(tmp_path, monkeypatch):
    break_off(monkeypatch, Moments, 1)
    with pytest.raises(OSError, match="nowhere"):
        summarize(X, Moments, checkpoint=tmp_path / "nowhere" / "c")


def test_rows_on_other_machines_are_refused(path):
    import dask.array as da

    with pytest.raises(TypeError, match=r"held by Dask, which .* Summarize groups of partitions"):
        summarize(da.from_array(X, chunks=(500, 4)), Moments, checkpoint=path)
    assert not path.exists()


# ---- Fits


@pytest.mark.parametrize("name", list(MODELS))
@pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")
def test_a_fit_goes_on_or_is_refused_before_a_row_is_read(name, path, monkeypatch):
    n_read = [0]
    rows = make(name)._open_tables(*tables(name), *((None,) if len(tables(name)) == 1 else ())).members[0]
    read = type(rows).blocks

    def counted(self, rows):
        for block in read(self, rows):
            n_read[0] += 1
            yield block

    monkeypatch.setattr(type(rows), "blocks", counted)
    wrote = []
    monkeypatch.setattr(checkpoints, "write_state", lambda path, described, state: wrote.append(state))
    try:
        make(name).fit(*tables(name), checkpoint=path)
    except ValueError as error:
        assert f"this fit of {name} needs more than that. Its plan is: " in str(error)
        assert (n_read[0], wrote) == (0, [])
    else:
        assert wrote[0].begin.row == 0
        assert not wrote[-1].places


def test_a_fit_that_was_interrupted_is_the_same(path):
    expected = PCA(2).fit(blocks(), sample_weight=WEIGHTS)
    with pytest.raises(Interruption):
        PCA(2).fit(blocks(stop=9), sample_weight=WEIGHTS, checkpoint=path)
    found = PCA(2).fit(blocks(), sample_weight=WEIGHTS, checkpoint=path)
    np.testing.assert_array_equal(found.components_, expected.components_)
    np.testing.assert_array_equal(found.explained_variance_, expected.explained_variance_)
    assert not path.exists()


def test_two_tables_and_feature_maps(path):
    expected = PLSRegression(1).fit(X[:, :3], X[:, 3])
    found = PLSRegression(1).fit(X[:, :3], X[:, 3], checkpoint=path)
    np.testing.assert_array_equal(found.coef_, expected.coef_)
    FeatureMapPCA(2).fit(X, checkpoint=path)
    assert not path.exists()


def test_the_sums_outlive_an_error_after_the_pass(path, monkeypatch):
    """The rows need not be read again, not even with another number of components."""
    monkeypatch.setattr(PCA, "_unpack", lambda *arguments: exec("raise Interruption", globals()))
    with pytest.raises(Interruption):
        PCA(2).fit(blocks(), checkpoint=path)
    monkeypatch.undo()
    found = PCA(3).fit(blocks(stop=1, size=90), checkpoint=path)
    np.testing.assert_array_equal(found.explained_variance_, PCA(3).fit(blocks()).explained_variance_)
    assert not path.exists()


def test_missing_values_are_refused(path):
    rows = X.copy()
    rows[0, 1] = np.nan
    with pytest.raises(ValueError, match=r"missing values in the first rows\. Rows with missing values are "):
        PPCA(2).fit(rows, checkpoint=path)
    rows = X.copy()
    rows[1990, 1] = np.nan
    with pytest.raises(ValueError, match=r"row 1990.*a checkpoint keeps the state of one: fit without"):
        PPCA(2).fit(lambda: blocks(rows), checkpoint=path)
    # Models that take no missing values say so, as without a checkpoint.
    path.unlink()
    with pytest.raises(ValueError, match="row 1990") as error:
        PCA(2).fit(rows, checkpoint=path)
    assert "checkpoint" not in str(error.value)


def test_cross_validation_is_refused(path):
    with pytest.raises(ValueError, match="Its plan is: cross-validation, with sums of the folds"):
        PCA("cv").fit(X, checkpoint=path)


def test_the_time_between_two_files_grows_with_the_time_that_one_takes(path, monkeypatch):
    """On a clock that stands still except while a file is written, which takes 3 seconds."""
    now, written = [0.0], []
    write = checkpoints.write_state

    def slow(*arguments):
        now[0] += 3.0
        written.append(now[0])
        write(*arguments)

    monkeypatch.setattr(checkpoints, "write_state", slow)
    monkeypatch.setattr(checkpoints.time, "monotonic", lambda: now[0])
    update = Columns.update
    monkeypatch.setattr(Columns, "update", lambda self, *a: (now.__setitem__(0, now[0] + 7.0), update(self, *a)))
    small_blocks(monkeypatch, Columns, rows=50)
    with threadpool_limits(1):
        summarize(X, Columns, checkpoint=Checkpoint(path, every_seconds=1))
    # Forty blocks take 280 seconds.
    assert np.diff(written).min() >= 60
    assert len(written) == 1 + 4
