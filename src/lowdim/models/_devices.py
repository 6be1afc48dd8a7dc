"""Models whose rows are on a device: which work runs where, and attributes that return to the host, or are sent from
there to the device."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from .._devices import name_of_device
from .._placing import placed_like, placed_on_host
from .._xp import Array, numpy_dtype
from ..solvers import Plan
from ..solvers.base import ON_HOST
from ..sources import Source, resident


def with_place(plan: Plan, source: Source) -> Plan:
    """The plan, with which work of it runs where."""
    return replace(plan, where=_place(plan.solver.on_host, source))


def _place(on_host: str, source: Source) -> str:
    if source.traits.engine is not None:
        return f"sums on the workers of {source.traits.engine.name}, the solve here"
    rows = resident(source)
    if rows.traits.host:
        return ON_HOST
    device = name_of_device(rows.empty(0))
    sent = "" if rows is source else f"rows sent to {device} block by block, "
    return f"{sent}sums and solve on {device}" if not on_host else f"{sent}sums on {device}, {on_host} on the host"


def bring_to_host(model: Any) -> None:
    """Replace the arrays of a model that was fitted on a device by NumPy arrays."""
    parameters = model.get_params(deep=False)
    fitted = {name: value for name, value in model.__dict__.items() if name not in parameters}
    model.__dict__.update(placed_on_host(fitted))


def unpack_to(there: Array | None, model: Any, unpack: Callable[[Any], None], dtypes: Any) -> None:
    """Let `unpack(dtypes)` set attributes of a model; if `there` is on a device, to NumPy arrays, which are sent to it.

    Attributes are many small arrays. A device would need longer to begin with each operation on one of them than the
    host needs for all. `dtypes` is one dtype, or a tuple of them.
    """
    if there is None or isinstance(there, np.ndarray):
        unpack(dtypes)
        return
    before = dict(model.__dict__)
    unpack(tuple(map(numpy_dtype, dtypes)) if isinstance(dtypes, tuple) else numpy_dtype(dtypes))
    found = {name: value for name, value in model.__dict__.items() if before.get(name) is not value}
    model.__dict__.update(placed_like(found, there, kinds="fb"))
