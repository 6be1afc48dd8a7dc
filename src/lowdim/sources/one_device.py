"""Tables side by side are in main memory, or on one device."""

from __future__ import annotations

from collections.abc import Sequence

from .._devices import in_main_memory, name_of_device
from .._xp import device, namespace
from ..errors import several_devices
from .base import Source


def require_one_device(sources: Sequence[Source]) -> None:
    """Raise an error if tables that are read together are on different devices. Those in main memory are copied to the
    device of the first one, and no table is copied from a device to main memory."""
    if all(source.traits.host for source in sources):
        return
    likes = [source.empty(0) for source in sources]
    first = likes[0]
    for like in likes[1:]:
        elsewhere = namespace(like) is not namespace(first) or device(like) != device(first)
        if elsewhere and not in_main_memory(like):
            raise several_devices([source.table for source in sources], [name_of_device(each) for each in likes])
