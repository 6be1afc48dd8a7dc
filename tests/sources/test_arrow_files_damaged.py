"""Damaged files: the error names the file and the place in it, and nothing is made of the rest."""

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from lowdim import PCA, scan
from lowdim.sources import open_source

X = np.random.default_rng(0).standard_normal((500, 4))
TABLE = pa.table({name: X[:, j] for j, name in enumerate("abde")})
each_kind = pytest.mark.parametrize("kind", ["parquet", "feather"])


def write(kind, path):
    """Ten row groups or record batches."""
    if kind == "parquet":
        pa.parquet.write_table(TABLE, path, row_group_size=50)
    else:
        pa.feather.write_feather(TABLE, str(path), chunksize=50)


@each_kind
@pytest.mark.parametrize("share", [0.0, 0.5, 0.99])
def test_a_truncated_file_is_named(kind, share, tmp_path):
    write(kind, tmp_path / f"a.{kind}")
    path = tmp_path / f"b.{kind}"
    write(kind, path)
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    with pytest.raises(ValueError, match=rf"b\.{kind} cannot be read: .* write it again, or leave it out"):
        PCA(1).fit(tmp_path)


def test_a_corrupt_row_group_is_named(tmp_path):
    for name in "ab":
        write("parquet", tmp_path / f"{name}.parquet")
    path = tmp_path / "b.parquet"
    chunk = pa.parquet.ParquetFile(path).metadata.row_group(3).column(2)
    start = chunk.dictionary_page_offset or chunk.data_page_offset
    data = bytearray(path.read_bytes())
    data[start : start + 40] = bytes(40)
    path.write_bytes(data)
    with pytest.raises(ValueError, match=r"b\.parquet cannot be read in row group 3: "):
        PCA(1).fit(tmp_path)
    # The column is not read, so it does no harm.
    (whole,) = open_source(scan(tmp_path, columns="a")).blocks(1000)
    np.testing.assert_array_equal(whole[:, 0], np.tile(X[:, 0], 2))


def test_a_page_whose_checksum_is_wrong_is_named(tmp_path):
    path = tmp_path / "a.parquet"
    options = {"compression": "none", "use_dictionary": False, "write_page_checksum": True}
    pa.parquet.write_table(TABLE, path, row_group_size=50, **options)
    chunk = pa.parquet.ParquetFile(path).metadata.row_group(1).column(0)
    data = bytearray(path.read_bytes())
    data[chunk.data_page_offset + chunk.total_compressed_size - 3] ^= 1
    path.write_bytes(data)
    with pytest.raises(ValueError, match=r"a\.parquet cannot be read in row group 1: .*CRC"):
        PCA(1).fit(tmp_path)


def test_a_corrupt_record_batch_is_named(tmp_path):
    path = tmp_path / "a.feather"
    pa.feather.write_feather(TABLE, str(path), chunksize=100, compression="zstd")
    data = bytearray(path.read_bytes())
    place = data.rindex(b"\x28\xb5\x2f\xfd")  # where the last column begins, compressed
    data[place : place + 16] = bytes(16)
    path.write_bytes(data)
    with pytest.raises(ValueError, match=r"a\.feather cannot be read in record batch 4: "):
        PCA(1).fit(path)


def test_a_file_that_is_not_what_its_name_says(tmp_path):
    (tmp_path / "a.parquet").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match=r"a\.parquet cannot be read: .*not what its name says"):
        scan(tmp_path)
    (tmp_path / "b.arrow").write_bytes(b"ARROW1 and so on")
    with pytest.raises(ValueError, match=r"b\.arrow cannot be read"):
        scan(tmp_path / "b.arrow")
