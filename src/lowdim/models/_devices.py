"""Models whose rows were on a device, and whose attributes are to be NumPy arrays."""

from __future__ import annotations

from typing import Any

from .._placing import placed_on_host


def bring_to_host(model: Any) -> None:
    """Replace the arrays of a model that was fitted on a device by NumPy arrays."""
    parameters = model.get_params(deep=False)
    fitted = {name: value for name, value in model.__dict__.items() if name not in parameters}
    model.__dict__.update(placed_on_host(fitted))
