"""The memory of this machine, and numbers of bytes as text."""

from __future__ import annotations

import os


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
        with open("/proc/meminfo") as file:
            found += [1024 * int(line.split()[1]) for line in file if line.startswith("MemAvailable:")]
        with open("/sys/fs/cgroup/memory.max") as limit, open("/sys/fs/cgroup/memory.current") as used:
            found.append(max(0, int(limit.read()) - int(used.read())))
    except (OSError, ValueError):
        # Not Linux, or this control group has no memory limit.
        pass
    return min(found, default=memory_bytes())


def in_words(n_bytes: int) -> str:
    """A number of bytes as text, in bytes, MiB or GiB."""
    size = f"{n_bytes} bytes"
    for unit, factor in (("MiB", 2**20), ("GiB", 2**30)):
        size = f"{n_bytes / factor:.1f} {unit}" if n_bytes >= factor / 16 else size
    return size
