"""Messages about rows that are sent to a device, and about rows on several devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def no_such_device(device: Any, reason: BaseException) -> ValueError:
    """A device that the array library does not know, or that this machine does not have."""
    text = " ".join(str(reason).split())
    cause = f": {text[:200]}" if text else ""
    return ValueError(
        f"device={device!r} cannot be used here ({type(reason).__name__}{cause}). Pass a device that this machine has, "
        "such as 'cuda', 'cuda:1', 'mps' or 'cpu', or pass the rows as they are."
    )


def no_device_library(device: Any) -> ImportError:
    """Neither of the libraries that can send rows to a device by its name is installed."""
    return ImportError(
        f"on_device(X, {device!r}) needs torch or, for 'cuda', CuPy, and neither is installed; install one, for "
        "example with pip install torch."
    )


def not_a_device(device: Any) -> TypeError:
    """An object that is no device."""
    return TypeError(
        f"device must be a name such as 'cuda' or 'cuda:1', or a device of an array library, got {device!r} of class "
        f"{type(device).__name__}."
    )


def sparse_rows_on_device(table: str) -> TypeError:
    """Sparse rows that should be sent to a device."""
    return TypeError(
        f"{table} is sparse, and on_device sends dense rows. Pass it without on_device, since solvers on the host skip "
        f"the zeros, or pass on_device({table}.toarray(), ...) if the dense table fits into memory."
    )


def remote_rows_on_device(table: str, engine: str) -> TypeError:
    """Rows of an engine that should be sent to a device."""
    return TypeError(
        f"the rows of {table} are held by the workers of {engine}, and on_device reads rows in this process. Pass "
        f"{table} without on_device, or files of the same rows with on_device(lowdim.scan(path), ...)."
    )


def rows_already_on_device(table: str, where: str) -> TypeError:
    """Rows on a device that should be sent to one."""
    return TypeError(
        f"{table} is on the device {where} already, and on_device sends rows that are in main memory or in files; "
        f"pass {table} as it is, or move it to another device with its own library."
    )


def objects_on_device(table: str) -> TypeError:
    """Rows of objects that should be sent to a device."""
    return TypeError(f"the rows of {table} are objects and no numbers, so they cannot be sent to a device.")


def several_devices(tables: Sequence[str], places: Sequence[str]) -> ValueError:
    """Tables side by side that are on different devices."""
    where = ", ".join(f"{table} is on {place}" for table, place in zip(tables, places, strict=True))
    return ValueError(
        f"tables that are read together must be on one device: {where}. Move them to the same device, or pass those "
        "that are in main memory as NumPy arrays."
    )
