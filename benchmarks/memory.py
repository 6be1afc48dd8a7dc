"""The resident memory of this process, on Linux."""

from __future__ import annotations

import ctypes
import gc


def trim():
    """Return freed pages to the system; a call could otherwise reuse them without a rise in resident memory."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)


def reset_peak():
    """Set the peak of the resident memory to its current value."""
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")


def status_bytes(field):
    """A field of /proc/self/status in bytes: VmRSS is the resident memory, VmHWM its peak, VmSize the address space."""
    with open("/proc/self/status") as file:
        for line in file:
            if line.startswith(field + ":"):
                return 1024 * int(line.split()[1])
    raise RuntimeError(f"/proc/self/status has no {field}: use --no-memory on this system")
