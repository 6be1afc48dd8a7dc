"""`on_device`: rows that are in main memory or in files, and are copied to a device block by block.

There are two views of such rows. `ToDeviceSource` is what models open: blocks are NumPy arrays, and its trait
`to_device` says where the work is to be done. `source_on_device` gives the `DeviceSource`, whose blocks are on the
device.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.arrays import Array, dense, is_array, to_numpy
from .._core.devices import Destination, find_destination, in_main_memory, moved_to_device, name_of_device, sender_to
from .base import Source, ViewSource, read_ahead
from .derived import MappedSource

if TYPE_CHECKING:
    from .opening import TableLike


@dataclass(frozen=True)
class OnDevice:
    """Rows, and the device to which they are copied when a model reads them, as `on_device` returns them."""

    rows: Any
    to: Destination

    def __repr__(self) -> str:
        return f"on_device({type(self.rows).__name__}, {self.to.name!r})"


def on_device(X: TableLike, device: Any) -> OnDevice:
    """Rows that are read on the host and worked on by a device, to which they are copied block by block.

    Parameters
    ----------
    X : anything that `fit` takes
        A NumPy array or memory map, a data frame, files (`lowdim.scan`), an iterable of blocks. It may be larger than
        the memory of the device. Sparse matrices and the collections of Dask and Spark are refused.
    device : str, or a device of an array library
        "cuda", "cuda:1", "mps", "xpu" or "cpu" for torch; "cuda" for CuPy if torch is not installed; or an object such
        as `torch.device("cuda")`.

    Returns
    -------
    OnDevice
        Models take it as rows: `PCA(10).fit(on_device(X, "cuda"))`. Fitted attributes and the results of `transform`
        are NumPy arrays.

    Notes
    -----
    Each pass over the rows copies all of them once. On a CUDA device, threads copy pieces of the next block into
    page-locked memory, from where the device fetches them while it computes with the block before. The device holds
    about four blocks of at most 1 GiB, and the host up to 256 MiB of page-locked memory. A model that needs all rows
    at once, such as an exact kernel PCA, has them all on the device.

    Examples
    --------
    >>> import lowdim, numpy as np
    >>> X = np.array([[1.0, 2.0], [3.0, 3.0], [3.0, 5.0], [5.0, 6.0]])
    >>> lowdim.PCA(1).fit(lowdim.on_device(X, "cpu")).mean_  # doctest: +SKIP
    array([3., 4.])
    """
    if isinstance(X, OnDevice):
        X = X.rows
    return OnDevice(X, find_destination(device))


def open_to_device(source: Source, to: Destination) -> Source:
    """The rows of an opened source, which are copied to a device; an error if they cannot be."""
    table, traits = source.table, source.traits
    if traits.engine is not None:
        raise TypeError(
            f"the rows of {table} are held by the workers of {traits.engine.name}, and on_device reads rows in this "
            f"process. Pass {table} without on_device, or files of the same rows with on_device(lowdim.scan(path), "
            "...)."
        )
    if traits.sparse:
        raise TypeError(
            f"{table} is sparse, and on_device copies dense rows. Pass it without on_device, since solvers on the host "
            f"skip the zeros, or pass on_device({table}.toarray(), ...) if the dense table fits into memory."
        )
    if not traits.host:
        raise TypeError(
            f"{table} is on the device {name_of_device(source.empty(0))} already, and on_device copies rows that are "
            f"in main memory or in files; pass {table} as it is, or move it to another device with its own library."
        )
    if source.kind == "objects":
        raise TypeError(f"the rows of {table} are objects and no numbers, so they cannot be copied to a device.")
    return ToDeviceSource(source, to)


def rows_in_main_memory(X: Any) -> Any:
    """An array of another library that is in main memory as a NumPy array; anything else as it is."""
    lazy = hasattr(X, "__dask_graph__")
    return to_numpy(X) if is_array(X) and not lazy and in_main_memory(X) else X


def source_on_device(source: Source) -> Source:
    """The source with its blocks on the device to which they are copied; the same source if they are not copied.
    Features of rows are computed there."""
    to = source.traits.to_device
    if to is None:
        return source
    return (
        source.moved(source_on_device, moved_to_device)
        if isinstance(source, MappedSource)
        else DeviceSource(source, to)
    )


class ToDeviceSource(ViewSource):
    """The rows of another source, which summaries and maps are to work on in a device; its blocks are on the host."""

    def __init__(self, parent: Source, to: Destination) -> None:
        super().__init__(parent, to, to_device=to)

    def narrowed(self) -> Source | None:
        narrow = self.parent.narrowed()
        return None if narrow is None else self.of_other(narrow)


class DeviceSource(ViewSource):
    """The rows of another source, one table or several side by side, on a device.

    The next block is read and copied while the last one is in use. At most two blocks are ahead of it.
    """

    def __init__(self, parent: Source, to: Destination) -> None:
        dtype = to.dtype(parent.dtype)
        itemsize = 4 if dtype == to.dtype(np.float32) else 8
        super().__init__(
            parent,
            to,
            to_device=None,
            host=False,
            views=False,
            column_blocks=False,
            known_products=False,
            part_bytes=0,
            n_bytes=parent.traits.n_bytes * itemsize // parent.traits.itemsize,
            itemsize=itemsize,
        )
        self._to, self.dtype, self.joins_tables = to, dtype, parent.joins_tables
        self.kind = f"{parent.kind} on {to}"

    @property
    def members(self) -> list[Source]:
        members = self.parent.members
        return [self] if len(members) == 1 else [DeviceSource(member, self._to) for member in members]

    def blocks_keeping(self, rows: int, names: Sequence[str]) -> Iterator[tuple[Array, Any]]:
        # The thread that reads ahead ends before the sender does.
        with ExitStack() as stack:
            sender = stack.enter_context(closing(sender_to(self._to, self.dtype)))
            for arrived, kept in stack.enter_context(closing(read_ahead(self._copies(sender, rows, names)))):
                yield arrived(), kept

    def _copies(self, sender: Any, rows: int, names: Sequence[str]) -> Generator[tuple[Any, Any], None, None]:
        for block, kept in self.parent.blocks_keeping(rows, names):
            yield sender.send(dense(block)), kept

    def parts(self, k: int, least: int = 1) -> list[Source]:
        return [self]

    def empty(self, *shape: int) -> Array:
        return self._to.empty(shape, self.dtype)

    def place(self, column: int) -> tuple[str, int, Sequence[str] | None]:
        return super().place(column) if len(self.parent.members) == 1 else self.parent.place(column)
