"""Every model on every engine, compared with an array of the same rows."""

from __future__ import annotations

from functools import cache

import pytest

from engine_parity import CASES, as_arrays, as_dask, differences, fit_all
from engine_tolerances import TABLE, TOLERANCES
from engine_ways import WAYS
from examples import OF_NUMBERS
from lowdim.sources import derived as gathered

expected = cache(lambda: fit_all(as_arrays))


def test_every_model_has_a_case():
    assert {case.model for case in CASES.values()} == set(OF_NUMBERS)
    assert list(TOLERANCES) == list(CASES)


@pytest.mark.parametrize("way", WAYS)
def test_every_model_gives_the_result_of_an_array(way):
    """One test for all models, so that a cluster or a session is started once."""
    found = differences(WAYS[way](), expected())
    too_large = {name: difference for name, difference in found.items() if not difference <= TOLERANCES[name]}
    assert not too_large


def test_the_page_has_these_tolerances():
    """And what was measured is within them."""
    rows = TABLE.cells()
    assert [(name, float(allowed)) for name, _, allowed, *_ in rows] == list(TOLERANCES.items())
    assert [name for name, where, *_ in rows if where == "brought to your process"] == [
        name for name, case in CASES.items() if case.gathers
    ]
    for name, _, allowed, *measured in rows:
        assert len(measured) == len(WAYS), name
        assert all(float(difference) <= float(allowed) for difference in measured), name


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.gathers])
def test_rows_that_do_not_fit_into_this_process_are_refused(name, monkeypatch):
    pytest.importorskip("dask", reason="Dask is not installed")
    monkeypatch.setattr(gathered, "free_bytes", lambda: 1000)
    with pytest.raises(MemoryError, match=r"all rows of X, of shape \(240, 5\), are needed in memory for Kernel"):
        CASES[name].make().fit(*as_dask(CASES[name]))
