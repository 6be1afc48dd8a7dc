"""The memory of this machine, and numbers of bytes as text."""

from __future__ import annotations

import os
from pathlib import Path

#: Where Linux says how much memory there is, and how much of it the processes of this control group may have.
_MACHINE, _GROUP = Path("/proc/meminfo"), Path("/sys/fs/cgroup")


def memory_bytes() -> int:
    """Bytes of memory of this machine; 0 if unknown."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 0


def free_bytes() -> int:
    """Bytes of free memory. If they are unknown, all memory of the machine; 0 if that is unknown too."""
    found = []
    try:
        found.append(1024 * _number(_MACHINE, "MemAvailable:"))
        limit, used = (int((_GROUP / name).read_text()) for name in ("memory.max", "memory.current"))
        # What the system keeps of files that were read is given back when memory is needed.
        kept = sum(_number(_GROUP / "memory.stat", name) for name in ("active_file", "inactive_file"))
        found.append(max(0, limit - used + kept))
    except (OSError, ValueError):
        # Not Linux, or this control group has no memory limit.
        pass
    return min(found, default=memory_bytes())


def _number(path: Path, name: str) -> int:
    """The number behind this name in a file with a line for each name."""
    for line in path.read_text().splitlines():
        if line.split()[0] == name:
            return int(line.split()[1])
    raise ValueError(f"{path} has no line {name}")


def in_words(n_bytes: int) -> str:
    """A number of bytes as text, in bytes, MiB or GiB."""
    size = f"{n_bytes} bytes"
    for unit, factor in (("MiB", 2**20), ("GiB", 2**30)):
        size = f"{n_bytes / factor:.1f} {unit}" if n_bytes >= factor / 16 else size
    return size
