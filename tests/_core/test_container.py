"""A document and arrays in one file: read back bit by bit, by others too; damaged and foreign files are refused."""

import errno
import gzip
import hashlib
import json
import os
import pickle
import struct

import numpy as np
import pytest
import safetensors.numpy

from hostile import forge
from hostile.forge import BEGIN
from lowdim import __version__
from lowdim._core import container
from lowdim._core import container as file_format

DOCUMENT = {"class": "Thing", "values": [1, 2.5, 'ä\n"', None, {"x": True}], "0.1": 0.1}
ARRAYS = {
    "few": np.array([True, False, True]),
    "matrix": np.arange(6.0).reshape(2, 3) / 7,
    "single": np.array([np.nan, -0.0, 1e-45], dtype=np.float32),
    "number": np.array(2.5),
    "nothing": np.zeros((0, 4)),
    "whole": np.array([-(2**63), 2**63 - 1]),
    "large": np.array([2**64 - 1], dtype=np.uint64),
}


@pytest.fixture
def path(tmp_path):
    container.write(tmp_path / "file", DOCUMENT, ARRAYS)
    return tmp_path / "file"


def parts(path):
    """The header of a file as a dict, and the bytes behind it."""
    header, _, data = forge.parsed(path.read_bytes())
    return header, data


def signed(header, data):
    """The content of a file of this header, a dict or a text, with the right length and checksum."""
    return forge.signed(header if isinstance(header, bytes) else forge.dumped(header).encode(), data)


def refused(path, message, error=ValueError):
    with pytest.raises(error, match=message) as caught:
        container.read(path)
    assert str(path) in str(caught.value)


# ---- What is written can be read


def test_what_could_not_be_read_again_is_not_written(tmp_path):
    deep = {}
    for _ in range(100):
        deep = {"of": deep}
    for document, why in ((deep, "nested more than 64 deep"), ({"many": [[]] * 10**6}, "would take about")):
        with pytest.raises(ValueError, match=rf"file was not written, because it could not be loaded again: .*{why}"):
            container.write(tmp_path / "file", document, ARRAYS)
    assert os.listdir(tmp_path) == []


def test_a_full_disk_is_an_error_that_names_the_file(tmp_path, monkeypatch):
    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"cannot save '.*file': No space left on device") as caught:
        container.write(tmp_path / "file", DOCUMENT, ARRAYS)
    assert caught.value.errno == errno.ENOSPC
    assert os.listdir(tmp_path) == []


def test_a_limit_on_memory_is_an_error_that_names_the_file(path, monkeypatch):
    def none_left(*_):
        raise MemoryError("Unable to allocate 1 GiB")

    monkeypatch.setattr(np, "empty", none_left)
    refused(path, r"the arrays of .*file take \d+ bytes, and less memory is free", MemoryError)


@pytest.mark.parametrize("given", ["", ".", "models"])
def test_directories_are_not_replaced_by_files(given, tmp_path, monkeypatch):
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "thesis.tex").write_text("")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(IsADirectoryError, match="is a directory, which is not replaced"):
        container.write(given, DOCUMENT, ARRAYS)
    assert os.listdir(tmp_path) == ["models"] and os.listdir(tmp_path / "models") == ["thesis.tex"]


def test_everything_comes_back_with_every_bit(path):
    document, arrays = container.read(path)
    assert document == DOCUMENT | {"format": "lowdim", "version": "1.0", "lowdim": __version__}
    assert arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        found = arrays[name]
        assert (found.dtype, found.shape, found.tobytes()) == (array.dtype, array.shape, array.tobytes())
        assert found.flags.writeable and found.flags.c_contiguous
    assert container.header(path) == document


def test_other_readers_of_safetensors_read_it(path):
    found = safetensors.numpy.load_file(path)
    assert found.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert found[name].dtype == array.dtype
        assert found[name].tobytes() == array.tobytes()
    with safetensors.safe_open(path, "np") as file:
        assert json.loads(file.metadata()["document"])["class"] == "Thing"


def test_the_checksum_is_that_of_the_file_with_zeros_in_its_place(path):
    content = path.read_bytes()
    assert content[8:].startswith(BEGIN)
    zeroed = content[: 8 + len(BEGIN)] + b"0" * 64 + content[8 + len(BEGIN) + 64 :]
    assert content[8 + len(BEGIN) :][:64] == hashlib.sha256(zeroed).hexdigest().encode()


def test_arrays_are_aligned(path):
    header, _ = parts(path)
    start = path.stat().st_size - sum(array.nbytes for array in ARRAYS.values())
    assert start % 8 == 0
    for name, array in ARRAYS.items():
        assert header[name]["data_offsets"][0] % array.itemsize == 0


def test_other_orders_of_entries_and_bytes(tmp_path):
    matrix = np.arange(12.0).reshape(3, 4)
    given = {"columns": np.asfortranarray(matrix), "some": matrix[::2, ::3], "big": matrix.astype(">f8")}
    container.write(tmp_path / "file", {}, given)
    _, found = container.read(tmp_path / "file")
    for name, array in given.items():
        np.testing.assert_array_equal(found[name], array)


@pytest.mark.parametrize("array", [np.array([1j]), np.array([b"bytes"]), np.array([None]), np.zeros(2, np.longdouble)])
def test_other_dtypes_are_refused_before_a_file_is_made(array, tmp_path):
    with pytest.raises(TypeError, match=r"a has dtype .* F64"):
        container.write(tmp_path / "file", {}, {"a": array})
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["format", "version", "lowdim"])
def test_entries_that_are_added_cannot_be_given(name, tmp_path):
    with pytest.raises(ValueError, match=name):
        container.write(tmp_path / "file", {name: 1}, {})


def test_a_directory_that_is_missing_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"cannot write '.*file': there is no directory '.*nowhere'; make it"):
        container.write(tmp_path / "nowhere" / "file", DOCUMENT, ARRAYS)


def test_a_name_that_the_format_needs_is_refused(tmp_path):
    with pytest.raises(ValueError, match="__metadata__"):
        container.write(tmp_path / "file", {}, {"__metadata__": np.zeros(2)})


def test_a_header_that_nobody_would_read_is_not_written(tmp_path, monkeypatch):
    monkeypatch.setattr("lowdim._core.container.LONGEST_HEADER", 1000)
    with pytest.raises(ValueError, match="1000 are allowed"):
        container.write(tmp_path / "file", {"names": ["x"] * 1000}, {})


def test_the_check_sees_the_layout_before_an_array_is_read(path, monkeypatch):
    def check(document, layout):
        assert document["class"] == "Thing"
        assert layout == {name: (array.shape, array.dtype) for name, array in ARRAYS.items()}
        raise ValueError("not this one")

    monkeypatch.setattr(np, "empty", lambda *a, **k: pytest.fail("an array was allocated"))
    with pytest.raises(ValueError, match=r"^not this one$"):
        container.read(path, check)


# ---- Versions


def with_document(path, **changes):
    header, data = parts(path)
    document = json.loads(header["__metadata__"]["document"]) | changes
    header["__metadata__"]["document"] = json.dumps({k: v for k, v in document.items() if v is not None})
    path.write_bytes(signed(header, data))


def test_a_newer_major_version_is_refused(path):
    with_document(path, version="2.0", lowdim="9.1")
    refused(path, r"written by lowdim 9\.1, in version 2\.0 .*Install")
    with pytest.raises(ValueError, match="Install"):
        container.header(path)


@pytest.mark.parametrize(("version", "newer"), [("1.0", False), ("1.7", True), ("0.9", False)])
def test_other_minor_versions_open(path, version, newer):
    with_document(path, version=version, more={"unknown": 1})
    document, arrays = container.read(path)
    assert document["more"] == {"unknown": 1}
    assert arrays.keys() == ARRAYS.keys()
    assert container.is_newer(document) is newer


@pytest.mark.parametrize("version", ["1", "one", "1.0.0", 1.0, "-1.0", "1.9999999999", ""])
def test_a_version_that_is_none_is_refused(path, version):
    with_document(path, version=version)
    refused(path, "version")


@pytest.mark.parametrize("changes", [{"format": None}, {"format": "other"}, {"lowdim": None}, {"lowdim": 3}])
def test_a_document_of_another_format_is_refused(path, changes):
    with_document(path, **changes)
    refused(path, "does not say")


# ---- Files of other kinds


@pytest.mark.parametrize(
    ("content", "looks"),
    [
        (b"", "an empty file"),
        (pickle.dumps(DOCUMENT), "a pickle; lowdim opens none"),
        (pickle.dumps(DOCUMENT, protocol=2), "a pickle"),
        (pickle.dumps({"a": 1}, protocol=0), "a pickle"),
        (b"PK\x03\x04 and so on", "a zip archive, for example an .npz"),
        (b"\x93NUMPY\x01\x00v\x00{'descr'", "an .npy file"),
        (gzip.compress(b"text", mtime=0), "a file that gzip compressed"),
        (b"PAR1....", "a Parquet file"),
        (b"ARROW1\0\0", "an Arrow file"),
        (b"\x89HDF\r\n\x1a\n\0\0", "an HDF5 file"),
        (b"a,b\n1,2\n", "a text"),
        ('{"größe": 1}'.encode(), "a text"),
        (safetensors.numpy.save({"a": np.zeros(3)}), "a safetensors file of another program"),
        (bytes(range(40)), "a file of another kind"),
        (bytes(5), "a file of another kind"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_file_of_another_kind_is_named(content, looks, tmp_path):
    (tmp_path / "file").write_bytes(content)
    refused(tmp_path / "file", f"it looks like {looks}")


def test_what_is_no_file_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    refused(tmp_path / "pipe", "a device, a socket or a pipe")
    refused(tmp_path, "a directory")
    refused("/dev/zero", "a device")
    refused(tmp_path / "missing", "No such file", FileNotFoundError)


# ---- Damage


def test_every_wrong_bit_is_found(path):
    content = path.read_bytes()
    for bit in range(0, 8 * len(content), 5):
        wrong = bytearray(content)
        wrong[bit // 8] ^= 1 << bit % 8
        path.write_bytes(wrong)
        refused(path, "is damaged|is not a file that lowdim saved|checksum")


def test_every_file_that_was_cut_off_is_refused(path):
    content = path.read_bytes()
    for length in range(0, len(content), 7):
        path.write_bytes(content[:length])
        refused(path, "is damaged|is not a file that lowdim saved")
    path.write_bytes(content + b"\0")
    refused(path, "bytes follow the header")


def test_a_file_that_gets_shorter_while_it_is_read_is_refused(tmp_path):
    path = tmp_path / "file"
    container.write(path, {}, {"numbers": np.zeros(300_000)})
    with pytest.raises(ValueError, match="ends too early"):
        container.read(path, lambda document, layout: os.truncate(path, path.stat().st_size - 9))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dtype": "F32"}, "must take"),
        ({"dtype": "BF16"}, "must have one of F64"),
        ({"dtype": ["F64"]}, "must have one of F64"),
        ({"dtype": None}, "must have one of F64"),
        ({"shape": [2, 4]}, "must take 64 bytes"),
        ({"shape": [2**40, 2**40]}, "must take"),
        ({"shape": [-2, -3]}, "whole numbers"),
        ({"shape": [2.0, 3]}, "whole numbers"),
        ({"shape": [True] * 6}, "whole numbers"),
        ({"shape": [6] + [1] * 40}, "whole numbers"),
        ({"shape": 6}, "whole numbers"),
        ({"shape": [2**64, 0]}, "whole numbers"),
        ({"data_offsets": [8, 56]}, "place is"),
        ({"data_offsets": [0, 2**50]}, "place is"),
        ({"data_offsets": [0]}, "whole numbers"),
        ({"data_offsets": None}, "whole numbers"),
        ({"more": 1}, "is not described by"),
    ],
)
def test_headers_that_lie_are_refused(path, change, message):
    header, data = parts(path)
    header["matrix"] |= change
    path.write_bytes(signed(header, data))
    refused(path, message)


def test_a_length_of_zero_does_not_hide_another(path):
    header, data = parts(path)
    header["nothing"]["shape"] = [0, 2**62, 2**62]
    path.write_bytes(signed(header, data))
    refused(path, "is damaged")


def test_arrays_may_not_overlap_leave_gaps_or_end_early(path):
    header, data = parts(path)
    del header["single"]
    path.write_bytes(signed(header, data))
    refused(path, "place is|bytes follow")
    header, data = parts(path)
    header["again"] = header["few"]
    path.write_bytes(signed(header, data))
    refused(path, "place is|bytes follow")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b'%s0","document":"{}","a":1,"a":2}}', "occurs twice"),
        (b'%s0","document":"{\\"a\\":1,\\"a\\":2}"}}', "occurs twice"),
        (b'%s0","document":"{\\"a\\":NaN}"}}', "NaN is not JSON"),
        (b'%s0","document":"{\\"a\\":-Infinity}"}}', "not JSON"),
        (b'%s0","document":"{\\"a\\":1e999}"}}', "out of range"),
        (b'%s0","document":"{\\"a\\":' + b"1" * 5000 + b'}"}}', "digits"),
        (b'%s0","document":"' + b"[" * 100 + b"]" * 100 + b'"}}', "nested more than 64 deep"),
        (b'%s0","document":"{}","a":' + b"[" * 50_000 + b"]" * 50_000 + b"}}", "nested"),
        (b'%s0","document":"{"}}', "damaged"),
        (b'%s0","document":"\xff"}}', "utf-8"),
        (b'%s0","document":"\\ud800"}}', "surrogates"),
        (b'%s0","document":7}}', "no document"),
        (b'%s0"}}', "no document"),
        (b'%s0","document":"[1]"}}', "does not say that lowdim"),
        (b'%s0","document":"{}"}} and more', "damaged"),
        (b'%s0","document":"{}"', "damaged"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_headers_that_are_no_good_json_are_refused(path, text, message):
    path.write_bytes(signed(text.replace(b"%s0", BEGIN + b"0" * 64), b""))
    refused(path, message)


def test_a_header_that_would_take_much_memory_is_refused(path):
    many = b"[]," * 1_000_000
    path.write_bytes(signed(BEGIN + b"0" * 64 + b'","document":"{}","a":[' + many + b"0]}}", b""))
    refused(path, "cannot be read: the values of its header would take", MemoryError)


def test_a_header_that_is_too_long_is_refused_before_it_is_read(path):
    content = path.read_bytes()
    for length in (2**63, 2**64 - 1, 100_000_001, len(content) - 7):
        path.write_bytes(struct.pack("<Q", length) + content[8:])
        refused(path, f"its header has {length} bytes")
    with open(path, "r+b") as file:
        file.truncate(2**33)  # has no blocks on the disk
        file.write(struct.pack("<Q", 2**32))
    refused(path, "more than is allowed")


def test_arrays_that_do_not_fit_into_memory_are_refused(path, monkeypatch):
    monkeypatch.setattr("lowdim._core.container.free_bytes", lambda: 50)
    refused(path, "50 bytes of memory are free", MemoryError)


def test_booleans_are_true_or_false(path):
    header, data = parts(path)
    data = data[:-1] + b"\x02"
    assert header["few"]["data_offsets"][1] == len(data)
    path.write_bytes(signed(header, data))
    refused(path, "neither true nor false")


def test_many_names_may_be_stored(tmp_path):
    """A table of many columns, of which only their names and a few numbers are kept."""
    names = [f"column {i}" for i in range(200_000)]
    container.write(tmp_path / "file", {"names": names}, {"mean": np.zeros(len(names))})
    assert container.header(tmp_path / "file")["names"] == names


def test_the_constants_of_these_tests():
    assert (file_format.BEGIN, file_format.VERSION) == (BEGIN, (1, 0))
