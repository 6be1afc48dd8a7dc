import pytest

from sources.stores.stored_arrays import KINDS


@pytest.fixture(params=list(KINDS))
def kind(request):
    """How files of one kind are written, and what their names end with."""
    return KINDS[request.param]
