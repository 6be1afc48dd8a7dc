"""Settings of reports that tests need."""

import pytest

from lowdim.reporting import columns


@pytest.fixture
def not_held(monkeypatch):
    """No table is small enough to be held in memory: all are read block by block."""
    monkeypatch.setattr(columns, "_HELD_BYTES", 0)


@pytest.fixture(params=[True, False], ids=["held", "not held"])
def held(request):
    """Whether tables are held in memory."""
    if not request.param:
        request.getfixturevalue("not_held")
    return request.param
