import gzip

import pytest


@pytest.fixture
def csv(tmp_path):
    """Writes a file and returns its path."""

    def write(text, name="rows.csv", encoding="utf-8"):
        data = text if isinstance(text, bytes) else text.encode(encoding)
        path = tmp_path / name
        path.write_bytes(gzip.compress(data) if name.lower().endswith(".gz") else data)
        return path

    return write
