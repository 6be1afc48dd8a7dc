"""How rows are cut into blocks and parts, before they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import accumulate, pairwise

from .. import _blas
from .._xp import Array
from ..sources import Source
from ..summaries.base import Summary

#: Tables of fewer bytes than this are read by a single thread.
_PARALLEL_BYTES = 8 << 20
#: Each of several threads gets up to this many parts of larger tables, but none that is smaller than _PART_BYTES.
_PARTS_PER_THREAD, _PART_BYTES = 8, 8 << 20
#: Size of the blocks of `map_rows`: they stay in the cache of a core between centring and product. If each column is in
#: one piece, blocks are larger, since short columns are read at half of the speed.
_MAP_BYTES, _MAP_COLUMNS_BYTES = 1 << 20, 2 << 20
#: Blocks that have to be computed, for example by a feature map, have at most this size or 2 p rows, whichever is more.
_MADE_BYTES = 16 << 20
#: Blocks on a device have at least this size: there is no cache to fit, and each block costs kernel launches.
_DEVICE_BYTES = 128 << 20
#: Blocks that are summed up in slices are larger, since the host waits for the device at the end of each: first the
#: size of parts of an array that is there, then of blocks that have to be made.
_SLICED_VIEWS_BYTES, _SLICED_BYTES = 4 << 30, 1 << 30


def rows_to_map(source: Source, function: Callable[[Array], Array] | None = None) -> int:
    """The number of rows of a block for `map_rows`; blocks are larger for functions that keep sparse blocks sparse, and
    on a device for those that say so."""
    stored = source.traits.stored if getattr(function, "keeps_sparse", False) else 1.0
    on_device = _DEVICE_BYTES if source.traits.host else getattr(function, "device_bytes", _DEVICE_BYTES)
    if not source.traits.views:
        on_device = min(on_device, _SLICED_BYTES)
    entries = max(1.0, source.shape[1] * stored)
    n_bytes = _MAP_COLUMNS_BYTES if source.traits.column_blocks else _MAP_BYTES
    return block_rows(source, max(64, int(n_bytes / (entries * source.traits.itemsize))), on_device)


def rows_to_sum(source: Source, summary: Summary, weighted: bool = False) -> int:
    """The number of rows of a block for `summarize`. Those that are weighted may have to be copied, without rows of
    weight zero."""
    p, traits = source.shape[1], source.traits
    sliced = _SLICED_VIEWS_BYTES if traits.views and not weighted else _SLICED_BYTES
    on_device = sliced if summary.slices_on_device and not traits.costly else _DEVICE_BYTES
    return block_rows(source, summary.block_rows(p, traits.itemsize, traits.stored), on_device)


def block_rows(source: Source, wanted: int, on_device: int = _DEVICE_BYTES) -> int:
    """The number of rows of a block. In main memory this is `wanted`, limited according to `_MADE_BYTES` if blocks have
    to be computed; on a device they have at least the size `on_device`."""
    p = source.shape[1]
    if source.traits.host:
        return min(wanted, max(2 * p, _MADE_BYTES // (p * source.traits.itemsize))) if source.traits.costly else wanted
    return max(wanted, on_device // (p * source.traits.itemsize))


def parts_of(source: Source, threaded_blas: bool) -> list[Source]:
    """The source cut into `n_parts` parts."""
    return cut_into(source, n_parts(source, threaded_blas))


def n_parts(source: Source, threaded_blas: bool) -> int:
    """How many parts a source should be cut into: several for each thread that should read it, so that no thread has to
    wait long for another one that is slower."""
    traits = source.traits
    n_bytes = max(traits.n_bytes, traits.part_bytes)
    if n_bytes < _PARALLEL_BYTES or not traits.host or (threaded_blas and not traits.sparse and not traits.costly):
        return 1
    n_threads = _blas.available()
    at_most = max(1, n_bytes // (n_threads * _PART_BYTES))
    return 1 if n_threads == 1 else n_threads * min(at_most, _PARTS_PER_THREAD)


def cut_into(source: Source, k: int) -> list[Source]:
    """The source cut into at most `k` parts."""
    return [source] if k == 1 else source.parts(k)


def edges(parts: list[Source]) -> Iterator[tuple[int, int]]:
    """The first row of each part, and the first row after it."""
    return pairwise(accumulate((int(part.shape[0] or 0) for part in parts), initial=0))


def count_blocks(parts: list[Source], rows: int) -> int | None:
    """The number of blocks of `rows` rows in all parts, or None if it is unknown.

    It is unknown if rows come in blocks of any size, as those of a list of blocks and of the partitions of a Dask
    collection do, even if their number is known.
    """
    members = [member for part in parts for member in part.members]
    if any(m.shape[0] is None or not m.traits.whole or m.traits.remote for m in members):
        return None
    return sum(-(-int(part.shape[0] or 0) // rows) for part in parts)
