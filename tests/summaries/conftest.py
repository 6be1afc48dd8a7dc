"""What tests of summaries on devices share: array libraries other than NumPy, and slices of two sizes."""

from __future__ import annotations

import pytest

from lowdim.summaries import device as device_products


@pytest.fixture(params=["array_api_strict", "torch"])
def library(request):
    return pytest.importorskip(request.param, reason=f"{request.param} is not installed")


@pytest.fixture(params=[1 << 30, 1 << 14], ids=["one slice", "many slices"])
def slices(request, monkeypatch):
    monkeypatch.setattr(device_products, "_SLICE_BYTES", request.param)
