"""Files of summaries are checked when they are read: damaged ones are refused, for every summary."""

import io
import zipfile

import numpy as np
import pytest
from scipy import sparse

from laws.summaries_drawn import WIDTH, assert_same_state, each, empty, filled, state
from lowdim.summaries import SUMMARIES, Labelled, Moments, Sample, Summary

X = np.round(16 * np.random.default_rng(6).standard_normal((6, WIDTH))) / 8


def saved(label, tmp_path):
    """A file of a filled summary, its class, and the arrays in the file."""
    path = tmp_path / "summary.npz"
    summary = filled(label, (X, None))
    summary.save(path)
    with np.load(path) as file:
        return path, type(summary), dict(file)


def refused(path, cls, arrays, match=r"is damaged, or not a file"):
    np.savez(path, **arrays)
    with pytest.raises(ValueError, match=match):
        cls.load(path)


def floats(arrays):
    """Names of the arrays of a file that hold sums or parameters with a fraction; in empty parts these may be zero or
    missing."""
    names = [name for name, value in arrays.items() if value.dtype.kind == "f"]
    return [name for name in names if is_filled(name, arrays)]


def is_filled(name, arrays):
    *part, _ = name.split(".")
    return not part or ".".join([*part, "mean"]) in arrays


@each
def test_every_value_has_a_layout_or_is_a_summary_or_text(label):
    summary = filled(label, (X, None))
    rest = set(summary.state) - set(summary._layout())
    values = [getattr(summary, name) for name in rest]
    assert all(value is None or isinstance(value, Summary | str | list) for value in values)


@pytest.mark.parametrize("value", [np.nan, np.inf])
@each
def test_numbers_that_are_not_finite_are_refused(label, value, tmp_path):
    path, cls, arrays = saved(label, tmp_path)
    for name in floats(arrays):
        bad = arrays[name].copy()
        bad.flat[-1] = value
        refused(path, cls, arrays | {name: bad}, "NaN or infinity" if not isinstance(empty(label), Sample) else None)


@each
def test_other_shapes_are_refused(label, tmp_path):
    path, cls, arrays = saved(label, tmp_path)
    for name in floats(arrays):
        value = arrays[name]
        if name == "loadings":
            continue  # any number of latent variables is possible
        for wrong in (np.append(value, 1.0) if value.ndim < 2 else np.vstack([value, value]).T, value[None]):
            refused(path, cls, arrays | {name: wrong})


@each
def test_text_and_complex_numbers_are_refused(label, tmp_path):
    path, cls, arrays = saved(label, tmp_path)
    for name in floats(arrays):
        refused(path, cls, arrays | {name: arrays[name].astype(str)})
        refused(path, cls, arrays | {name: arrays[name].astype(complex)})


@each
def test_missing_values_are_refused(label, tmp_path):
    path, cls, arrays = saved(label, tmp_path)
    for name in arrays.keys() - {"__names__"}:
        refused(path, cls, {key: value for key, value in arrays.items() if key != name})


@each
def test_values_that_are_missing_from_early_files_are_refused(label, tmp_path):
    """Early files have no list of their entries."""
    path, cls, arrays = saved(label, tmp_path)
    del arrays["__names__"]
    # What has a default, and the only sum of a summary, which may also be empty.
    optional = {"spread", "sample_weight"} | ({"product"} if "V" in arrays else set())
    counts = [name for name in arrays if name.split(".")[-1] in ("n_rows", "weight")]
    for name in {*floats(arrays), *counts}:
        if name.split(".")[-1] not in optional:
            refused(path, cls, {key: value for key, value in arrays.items() if key != name})


@each
def test_values_that_were_not_saved_are_refused(label, tmp_path):
    path, cls, arrays = saved(label, tmp_path)
    refused(path, cls, arrays | {"more": np.zeros(3)}, "more, which was not saved")


def summary_in_one_wrong_bit(path, content, bit, cls):
    """The summary in a file of which one bit is wrong, or None if the file is refused as damaged."""
    wrong = bytearray(content)
    wrong[bit // 8] ^= 1 << bit % 8
    path.write_bytes(wrong)
    try:
        return cls.load(path)
    except ValueError as error:
        assert "is damaged, or not a file" in str(error)
        return None


@each
def test_one_wrong_bit_is_found_or_harmless(label, tmp_path):
    path, cls, _ = saved(label, tmp_path)
    before, content = state(filled(label, (X, None))), path.read_bytes()
    with zipfile.ZipFile(path) as file:
        directory = 8 * file.start_dir
    random = np.random.default_rng(8)
    # Entries have a checksum, the directory at the end of the file has none.
    bits = [*random.integers(directory, 8 * len(content), 90), *random.integers(0, directory, 30)]
    for bit in bits:
        summary = summary_in_one_wrong_bit(path, content, int(bit), cls)
        if summary is not None:
            assert_same_state(summary, before)


@pytest.mark.parametrize("label", ["Moments", "FourthMoments", "Triangle"])
def test_a_length_in_the_directory_that_hides_later_entries_is_found(label, tmp_path):
    path, cls, _ = saved(label, tmp_path)
    content = path.read_bytes()
    with zipfile.ZipFile(path) as file:
        place, entries = file.start_dir, file.infolist()
    for entry in entries[:-1]:
        # Lengths of the extra field and of the comment, which follow the 46 bytes and the name of an entry.
        for field in (30, 32):
            for bit in range(8 * (place + field), 8 * (place + field + 2)):
                assert summary_in_one_wrong_bit(path, content, bit, cls) is None
        place += 46 + len(entry.filename) + len(entry.extra) + len(entry.comment)


@each
def test_counts_that_contradict_the_sums_are_refused(label, tmp_path):
    path, cls, arrays = saved(label, tmp_path)
    for name in arrays:
        if name.split(".")[-1] in ("n_rows", "weight") and is_filled(name, arrays):
            for wrong in (0, -1):
                refused(path, cls, arrays | {name: np.asarray(wrong)})
        if name.split(".")[-1] == "n_rows" and is_filled(name, arrays):
            refused(path, cls, arrays | {name: np.asarray(2.5)}, "whole number")


@each
def test_sums_of_squares_that_are_negative_are_refused(label, tmp_path):
    path, cls, arrays = saved(label, tmp_path)
    for name in set(cls.nonnegative) & set(arrays):
        refused(path, cls, arrays | {name: -1 - np.abs(arrays[name])})
    for name in set(cls.symmetric) & set(arrays):
        refused(path, cls, arrays | {name: -arrays[name]}, "negative diagonal")
        refused(path, cls, arrays | {name: np.triu(arrays[name]) + np.eye(WIDTH)}, "not symmetric")


def test_matrices_that_should_be_symmetric_are_named():
    assert {name for name, cls in SUMMARIES.items() if cls.symmetric} == {
        "Moments",
        "FourthMoments",
        "Gram",
        "Completed",
    }


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x03\x04 broken off"])
def test_what_is_no_archive_is_refused(content, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="is damaged, or not a file"):
        Moments.load(path)


@pytest.mark.parametrize("keep", [0.2, 0.6, 0.95])
def test_a_file_that_was_cut_off_is_refused(keep, tmp_path):
    path, cls, _ = saved("Moments", tmp_path)
    content = path.read_bytes()
    path.write_bytes(content[: int(keep * len(content))])
    with pytest.raises(ValueError, match="is damaged, or not a file"):
        cls.load(path)


def test_a_bit_that_flipped_is_refused(tmp_path):
    path, cls, arrays = saved("Moments", tmp_path)
    content = bytearray(path.read_bytes())
    content[content.index(arrays["scatter"].tobytes()) + 3] ^= 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match="CRC"):
        cls.load(path)


@pytest.mark.parametrize(
    "arrays",
    [
        {"a": np.zeros(3)},
        {"kind": np.asarray("Nothing")},
        {"kind": np.asarray("ScatterSummary"), "groups": np.asarray([2])},
        {"kind": np.asarray("Moments"), "n_features": np.asarray("two")},
        {"kind": np.asarray("Moments"), "kind.of": np.zeros(3)},
        {"kind": np.asarray("Moments"), ".".join("x" * 5000): np.zeros(3)},
        {"kind": np.asarray("Moments"), "groups": np.asarray([2]), "mean.7": np.zeros(3)},
        {"kind": np.asarray("Moments"), "groups": np.asarray([{}], dtype=object)},
    ],
)
def test_other_archives_are_refused(arrays, tmp_path):
    np.savez(tmp_path / "other.npz", **arrays)
    with pytest.raises(ValueError, match=r"is damaged, or not a file|holds a ScatterSummary"):
        Moments.load(tmp_path / "other.npz")


def test_sparse_rows_with_columns_that_do_not_exist_are_refused(tmp_path):
    summary = filled("Sample", (sparse.csr_array(X), None))
    summary.save(tmp_path / "summary.npz")
    with np.load(tmp_path / "summary.npz") as file:
        arrays = dict(file)
    arrays["rows.indices"][0] = WIDTH + 5
    refused(tmp_path / "summary.npz", Sample, arrays)


def test_parts_of_another_number_or_kind_are_refused(tmp_path):
    path, _, arrays = saved("Labelled", tmp_path)
    refused(path, Labelled, arrays | {"counts": np.asarray([2, 3])}, "one for each label")
    refused(path, Labelled, arrays | {"counts": np.asarray([2, 10**12])}, "one for each label")
    refused(path, Labelled, arrays | {"like.groups": np.asarray([1, WIDTH - 1])}, "different things")


# ---- Files that take more memory than they are large


def compressed(path, arrays):
    np.savez_compressed(path, **arrays)
    return path.stat().st_size


def test_a_small_file_that_expands_is_refused_before_it_is_read(tmp_path, monkeypatch):
    p = 3100
    summary = Moments(p)
    summary.n_rows, summary.weight = 3, 3.0
    summary.mean, summary.rest, summary.scatter = np.zeros(p), np.zeros(p), np.zeros((p, p))
    arrays = {"kind": np.asarray("Moments")} | {name: np.asarray(getattr(summary, name)) for name in Moments.state}
    path = tmp_path / "small.npz"
    assert compressed(path, arrays) < 1 << 20
    with monkeypatch.context() as patch:
        patch.setattr(np, "load", lambda *a, **k: pytest.fail("arrays were read"))
        with pytest.raises(MemoryError, match=r"would take 769\d+ bytes.*pass max_bytes=769\d+"):
            Moments.load(path)
    assert_same_state(Moments.load(path, max_bytes=1 << 30), state(summary))


def test_a_summary_that_was_compressed_by_hand_can_be_read(tmp_path):
    path, cls, arrays = saved("Moments", tmp_path)
    compressed(path, arrays)
    assert_same_state(cls.load(path), state(filled("Moments", (X, None))))


def test_an_array_that_claims_to_be_larger_than_it_is_is_refused(tmp_path):
    """Otherwise its memory would be allocated before the end of the file is noticed."""
    path, cls, arrays = saved("Moments", tmp_path)
    with zipfile.ZipFile(path, "w") as file:
        for name, value in arrays.items():
            stream = io.BytesIO()
            if name == "scatter":
                header = {"descr": "<f8", "fortran_order": False, "shape": (10**6, 10**6)}
                np.lib.format.write_array_header_1_0(stream, header)
                stream.write(value.tobytes())
            else:
                np.save(stream, value)
            file.writestr(f"{name}.npy", stream.getvalue())
    with pytest.raises(ValueError, match="does not hold the array"):
        cls.load(path)


def test_the_limit_can_be_lowered(tmp_path):
    path, cls, _ = saved("Moments", tmp_path)
    with pytest.raises(MemoryError, match="max_bytes"):
        cls.load(path, max_bytes=10)
