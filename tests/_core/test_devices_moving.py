"""Objects whose arrays are moved to another library: small arrays travel together, and none holds another one."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from lowdim import PCA, PPCA, Moments
from lowdim._core.devices import moved_to_device, moved_to_host

strict = pytest.importorskip("array_api_strict")
ROWS = np.random.default_rng(0).standard_normal((60, 5))


def summary(xp):
    found = Moments(5)
    found.update(xp.asarray(ROWS))
    return found


@pytest.mark.parametrize("library", ["array_api_strict", "torch"])
def test_a_summary_and_back(library):
    xp = pytest.importorskip(library, reason=f"{library} is not installed")
    there = summary(xp)
    here = moved_to_host(there)
    for name in ("mean", "rest", "scatter"):
        assert isinstance(getattr(here, name), np.ndarray) and not isinstance(getattr(there, name), np.ndarray)
        again = getattr(moved_to_device(here, there.mean), name)
        assert type(again) is type(there.mean)
        np.testing.assert_array_equal(np.from_dlpack(again), getattr(here, name))
    np.testing.assert_allclose(here.scatter, summary(np).scatter, rtol=1e-12)


def test_dtypes_are_no_arrays():
    """Models of CuPy's arrays have NumPy's dtypes."""
    here = moved_to_host({"dtype": np.float32, "mean": strict.asarray([1.0, 2.0]), "rest": strict.asarray([3.0])})
    assert here["dtype"] is np.float32
    np.testing.assert_array_equal(here["mean"], [1.0, 2.0])
    there = moved_to_device(here, strict.asarray(1.0))
    assert there["dtype"] == strict.float32


def test_what_holds_no_array_is_the_same_object():
    class Other:
        __slots__ = ()

    for value in (Other(), {"a": 1, "b": Other()}, Moments(3)):
        assert moved_to_host(value) is value
        assert moved_to_device(value, strict.asarray(1.0)) is value


@pytest.mark.parametrize("model", [PCA(2), PPCA(2)], ids=["PCA", "PPCA"])
def test_attributes_of_a_model_do_not_hold_each_other(model):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    rows = torch.asarray(np.random.default_rng(1).standard_normal((400, 200)).astype(np.float32))
    model.fit(rows)
    for name, value in vars(model).items():
        if isinstance(value, torch.Tensor) and value is not rows:
            assert len(pickle.dumps(value)) < 8 * value.numel() + 2000, name
