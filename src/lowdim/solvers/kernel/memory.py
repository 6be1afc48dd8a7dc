"""The memory that kernel PCA may use in addition to the rows."""

from __future__ import annotations

import math
import re
from numbers import Real
from typing import Any

from ..._memory import free_bytes

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


def memory_allowed(memory: Any) -> int:
    """The number of bytes that `memory` stands for: a number, a string such as "2 GiB", or None for half of the free
    memory."""
    if memory is None:
        return free_bytes() // 2 or 2**62
    number = memory
    if isinstance(memory, str):
        match = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*([kmgt]i?)?b?\s*", memory.lower())
        number = float(match[1]) * _UNITS[match[2] or ""] if match else 0
    if isinstance(number, Real) and not isinstance(number, bool) and 1 <= float(number) < math.inf:
        return int(float(number))
    raise ValueError(f"memory={memory!r} must be a positive number of bytes, words such as '2 GiB', or None.")
