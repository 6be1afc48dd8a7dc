"""The way of arrays to a device and back: with `arrays`, the only module that names array libraries."""

from __future__ import annotations

import copy
import math
import os
import sys
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from types import CellType, FunctionType, MethodType
from typing import Any

import array_api_compat as compat
import numpy as np

from .arrays import (
    Array,
    Beside,
    asarray_like,
    device,
    dtype_like,
    has_columns_in_one_piece,
    is_array,
    namespace,
    numpy_dtype,
    to_device,
    to_host,
    to_numpy,
    wide_dtype,
)

# Rows on their way from main memory to a device: rows -> page-locked memory -> the device.
#
# Several threads copy a piece of a block into page-locked memory. From there a CUDA device fetches it in a stream of
# its own, while the next piece is copied, and while it computes in another stream. On all other devices, a block is
# copied by the array library.


#: The size of a piece, and how many there are in page-locked memory. Together they have to stay in the cache of a
#: processor, so that main memory is read once and not written: an H200 received 47 to 55 GB/s by way of three pieces of
#: 32 MiB, and half of that by way of eight. Smaller pieces cost more calls of Python.
_PIECE_BYTES, _PIECES = 32 << 20, 3
#: The largest number of threads that copy a piece, if the array library has none of its own. One alone reaches a
#: fraction of the speed at which a device fetches.
_MOST_THREADS = 8


@dataclass(frozen=True)
class Destination:
    """A device of an array library, to which rows are copied."""

    #: The name of the library, and of the device.
    library: str
    name: str
    #: An empty array on the device.
    like: Array = field(compare=False, repr=False)

    def __str__(self) -> str:
        return self.name

    def dtype(self, dtype: Any) -> Any:
        """The dtype of the library for rows of `dtype`: float32 stays float32, and float64 too where it exists."""
        if np.dtype(dtype) == np.float32:
            return namespace(self.like).float32
        return wide_dtype(self.like)

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Array:
        """An uninitialised array on the device."""
        return namespace(self.like).empty(shape, dtype=dtype, device=device(self.like))


def find_destination(name: Any) -> Destination:
    """The device of this name ("cuda", "cuda:1", "mps", "cpu"), of torch or, where torch is not installed, of CuPy; or
    a device object of any array library, such as `torch.device("cuda")`."""
    if isinstance(name, str):
        library, wanted = "torch", name
        if find_spec("torch") is None:
            library, (kind, _, number) = "cupy", name.partition(":")
            if find_spec("cupy") is None or kind != "cuda":
                raise ImportError(
                    f"on_device(X, {name!r}) needs torch or, for 'cuda', CuPy, and neither is installed; install one, "
                    "for example with pip install torch."
                )
    else:
        library, wanted = type(name).__module__.partition(".")[0], name
        if library in ("builtins", "numpy") or not hasattr(sys.modules.get(library), "empty"):
            raise TypeError(
                f"device must be a name such as 'cuda' or 'cuda:1', or a device of an array library, got {name!r} of "
                f"class {type(name).__name__}."
            )
    try:
        module = import_module(library)
        if library == "cupy" and isinstance(name, str):
            wanted = module.cuda.Device(int(number or 0))
        like = compat.array_namespace(module.empty(0)).empty(0, device=wanted)
    except Exception as error:  # Libraries raise errors of many kinds.
        text = " ".join(str(error).split())
        raise ValueError(
            f"device={name!r} cannot be used here ({type(error).__name__}{f': {text[:200]}' if text else ''}). Pass a "
            "device that this machine has, such as 'cuda', 'cuda:1', 'mps' or 'cpu', or pass the rows as they are."
        ) from error
    return Destination(library, name_of_device(like), like)


def name_of_device(x: Array) -> str:
    """The name of the device of an array, such as "cuda:0"; "the host" for NumPy arrays and SciPy sparse matrices."""
    where = device(x)
    if where is None:
        return "the host"
    # array-api-strict prints its devices with the class.
    return f"cuda:{where.id}" if compat.is_cupy_array(x) else str(getattr(where, "_device", where))


def free_device_bytes(like: Array) -> int | None:
    """Free bytes on the device of `like`; None if `like` is in host memory."""
    if compat.is_torch_array(like) and like.is_cuda:
        return int(namespace(like).cuda.mem_get_info(like.device)[0])
    if compat.is_cupy_array(like):
        return int(like.device.mem_info[0])
    return None


def in_main_memory(x: Array) -> bool:
    """Whether an array is in main memory, also if it is one of another library than NumPy."""
    return name_of_device(x) in ("the host", "cpu", "CPU_DEVICE")


class Sender:
    """Copies blocks of rows to a device.

    `send` starts a copy and returns a function; that function waits until the block can be used, and returns it. It has
    to be called in the thread that made the sender.
    """

    def __init__(self, to: Destination, dtype: Any) -> None:
        self._to, self._dtype = to, dtype

    def send(self, block: np.ndarray | Beside) -> Callable[[], Array]:
        """Start to copy a dense block."""
        copied = asarray_like(block.joined() if isinstance(block, Beside) else block, self._to.like, dtype=self._dtype)
        return lambda: copied

    def close(self) -> None:
        """Wait for all copies that were started."""


class PinnedSender(Sender):
    """Copies blocks to a CUDA device through page-locked memory.

    Notes
    -----
    One thread copies piece after piece, with the help of others. The memory of a block belongs to the stream that
    copies, and is used again when the computations with the block have ended. Copies never wait for computations that
    were started later than that. Three pieces of 32 MiB are in page-locked memory.
    """

    def __init__(self, to: Destination, dtype: Any) -> None:
        super().__init__(to, dtype)
        self._streams: Any = (_TorchStreams if to.library == "torch" else _CupyStreams)(to.like)
        self._host_dtype = np.dtype(np.float32 if dtype == namespace(to.like).float32 else np.float64)
        self._line = ThreadPoolExecutor(1, "lowdim-sender")
        self._n_threads = min(_MOST_THREADS, _cores())
        self._threads = ThreadPoolExecutor(self._n_threads, "lowdim-copies")
        #: Page-locked memory that may be filled once the event, if any, has occurred; what was used first comes first.
        self._rooms: deque[tuple[np.ndarray, Any]] = deque()
        self._n_rooms = 0

    def send(self, block: np.ndarray | Beside) -> Callable[[], Array]:
        if has_columns_in_one_piece(block) and isinstance(block, np.ndarray):
            transposed = self.send(block.T)
            return lambda: transposed().T
        target = self._streams.empty(block.shape, self._dtype)
        last = self._line.submit(self._send_pieces, target, block)

        def arrived() -> Array:
            self._streams.hand_over(target, last.result())
            return target

        return arrived

    def close(self) -> None:
        for threads in (self._line, self._threads):
            threads.shutdown(wait=True, cancel_futures=True)
        self._streams.finish()

    def _send_pieces(self, target: Array, block: np.ndarray | Beside) -> Any:
        """Send a block piece by piece; the event of the arrival of the last one, which is that of all."""
        n, p = block.shape
        itemsize = self._host_dtype.itemsize
        rows = max(1, _PIECE_BYTES // (p * itemsize))
        event, last = None, None
        with self._streams.copying():
            for i in range(0, n, rows):
                part = slice(i, min(i + rows, n))
                room = self._room(max(_PIECE_BYTES, p * itemsize))
                piece = room[: (part.stop - i) * p * itemsize].view(self._host_dtype).reshape(-1, p)
                copies = self._fill(piece, block[part, :])
                # The threads that copy the last piece finish while others begin with this one.
                event = event if last is None else last()
                last = partial(self._send_piece, room, piece, target[part, :], copies)
                if not copies:
                    event, last = last(), None
            return event if last is None else last()

    def _send_piece(self, room: np.ndarray, piece: np.ndarray, target: Array, copies: list[Future[None]]) -> Any:
        """Send a piece as soon as the copies into it have ended; the event of its arrival."""
        for each in copies:
            each.result()
        event = self._streams.send(target, piece)
        self._rooms.append((room, event))
        return event

    def _room(self, n_bytes: int) -> Any:
        """Page-locked memory for one piece: new one as long as there is little of it."""
        if self._n_rooms < _PIECES:
            self._n_rooms += 1
            return self._streams.page_locked(n_bytes)
        room, event = self._rooms.popleft()
        event.synchronize()
        return room if room.nbytes >= n_bytes else self._streams.page_locked(n_bytes)

    def _fill(self, piece: np.ndarray, rows: np.ndarray | Beside) -> list[Future[None]]:
        """Copy rows into a piece, in its dtype; the copies that threads make."""
        if isinstance(rows, np.ndarray) and self._streams.copied(piece, rows):
            return []
        step = -(-len(piece) // self._n_threads)
        parts = [slice(i, i + step) for i in range(0, len(piece), step)]
        return [self._threads.submit(_copy, piece[part], rows[part, :]) for part in parts]


def _copy(out: np.ndarray, rows: np.ndarray | Beside) -> None:
    """Copy rows, tables side by side one after the other. What is too large for the dtype becomes infinite."""
    with np.errstate(over="ignore", under="ignore"):
        for columns, table in rows.by_columns() if isinstance(rows, Beside) else [(slice(None), rows)]:
            np.copyto(out[:, columns], table)


class _TorchStreams:
    """A stream of torch that computes, and one that copies."""

    def __init__(self, like: Array) -> None:
        self._torch = import_module("torch")
        self._device = like.device
        self._compute = self._torch.cuda.current_stream(like.device)
        self._copy = self._torch.cuda.Stream(like.device)

    def page_locked(self, n_bytes: int) -> np.ndarray:
        return np.asarray(self._torch.empty(n_bytes, dtype=self._torch.uint8, pin_memory=True).numpy())

    def copied(self, piece: np.ndarray, rows: np.ndarray) -> bool:
        """Copy rows with the threads of torch, which start faster than those of Python, if there are several of them
        and if torch takes the rows as they are; whether it has been done."""
        torch = self._torch
        usable = rows.dtype == piece.dtype and rows.flags.c_contiguous and rows.flags.writeable
        if not usable or torch.get_num_threads() < _MOST_THREADS:
            return False
        torch.from_numpy(piece).copy_(torch.from_numpy(rows))
        return True

    def empty(self, shape: tuple[int, int], dtype: Any) -> Array:
        with self._torch.cuda.stream(self._copy):
            return self._torch.empty(shape, dtype=dtype, device=self._device)

    def copying(self) -> Any:
        """The context in which `send` is called."""
        return self._torch.cuda.stream(self._copy)

    def send(self, rows: Array, piece: np.ndarray) -> Any:
        rows.copy_(self._torch.from_numpy(piece), non_blocking=True)
        event = self._torch.cuda.Event()
        event.record(self._copy)
        return event

    def hand_over(self, block: Array, event: Any) -> None:
        """Let the computations wait for an event; torch uses the memory again when they have ended."""
        self._compute.wait_event(event)
        block.record_stream(self._compute)

    def finish(self) -> None:
        self._copy.synchronize()


class _CupyStreams:
    """A stream of CuPy that computes, and one that copies.

    CuPy uses the memory of a block again as soon as nobody holds the block, whatever is computed with it meanwhile. So
    the last two blocks are held, and copies into the memory of the one before wait for the computations with it.
    """

    def __init__(self, like: Array) -> None:
        self._cupy = import_module("cupy")
        self._device = like.device
        with self._device:
            self._compute = self._cupy.cuda.get_current_stream()
            self._copy = self._cupy.cuda.Stream(non_blocking=True)
        #: The last blocks that were handed over, each with an event: computations with the blocks before it have ended.
        self._held: deque[tuple[Array, Any]] = deque()

    def copied(self, piece: np.ndarray, rows: np.ndarray) -> bool:
        """CuPy has no threads that copy."""
        return False

    def page_locked(self, n_bytes: int) -> np.ndarray:
        return np.frombuffer(self._cupy.cuda.alloc_pinned_memory(n_bytes), np.uint8, n_bytes)

    def empty(self, shape: tuple[int, int], dtype: Any) -> Array:
        with self._device, self._copy:
            return self._cupy.empty(shape, dtype=dtype)

    def copying(self) -> Any:
        """The context in which `send` is called."""
        return self._cupy.cuda.Device(self._device.id)

    def send(self, rows: Array, piece: np.ndarray) -> Any:
        rows.set(piece, stream=self._copy)
        event = self._cupy.cuda.Event(block=True, disable_timing=True)
        event.record(self._copy)
        return event

    def hand_over(self, block: Array, event: Any) -> None:
        """Let the computations wait for an event, and copies for the computations with an earlier block."""
        with self._device:
            self._held.append((block, self._compute.record()))
            self._compute.wait_event(event)
            if len(self._held) > 2:
                self._held.popleft()
                self._copy.wait_event(self._held[0][1])

    def finish(self) -> None:
        self._copy.synchronize()
        self._compute.synchronize()
        self._held.clear()


def sender_to(to: Destination, dtype: Any) -> Sender:
    """The fastest way to a device."""
    return (PinnedSender if to.name.startswith("cuda") else Sender)(to, dtype)


def _cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


# Objects with their arrays somewhere else: summaries, functions of rows and fitted models on another device.
#
# The arrays of an object are found by going through its attributes, the items of lists and dictionaries, and what
# functions have taken from where they were defined. Only objects of lowdim's own classes are gone through. What holds
# no array stays the same object, and nothing is changed in place.


#: Arrays of at most so many numbers are moved together.
_SMALL = 1 << 18


def moved_to_device(value: Any, like: Array, kinds: str = "f") -> Any:
    """`value` with its arrays of floating-point numbers, or of these kinds of dtypes, on the device of `like`, and with
    the functions of its library in place of NumPy's. Other arrays, such as indices and names, are used by the host."""

    def move(array: Array) -> Array:
        return asarray_like(array, like) if isinstance(array, np.ndarray) and array.dtype.kind in kinds else array

    some = [] if isinstance(like, np.ndarray) else _small_arrays(value)
    some = [x for x in some if isinstance(x, np.ndarray) and x.dtype.kind == "f"]
    moved = zip(some, to_device(some, like), strict=True)
    return _Mover(move, lambda dtype: dtype_like(dtype, like), namespace(like), moved).of(value)


def moved_to_host(value: Any) -> Any:
    """`value` with NumPy arrays in place of all other arrays."""
    alike: dict[Any, list[Array]] = {}
    for x in _small_arrays(value):
        if not isinstance(x, np.ndarray):
            alike.setdefault((type(x), str(device(x)), str(x.dtype)), []).append(x)
    moved = (pair for arrays in alike.values() for pair in zip(arrays, to_host(arrays), strict=True))
    return _Mover(to_numpy, numpy_dtype, np, moved).of(value)


def _small_arrays(value: Any, depth: int = 2) -> list[Array]:
    """Small arrays among the items or attributes of an object, and of objects of lowdim's classes among these: they
    are moved together, since a device takes as long to begin a copy as to copy thousands of numbers."""
    found: dict[int, Array] = {}
    for item in (value if isinstance(value, dict) else getattr(value, "__dict__", {})).values():
        if is_array(item):
            if math.prod(item.shape) <= _SMALL:
                found[id(item)] = item
        elif depth > 1 and _is_own(item):
            found |= {id(x): x for x in _small_arrays(item, depth - 1)}
    return list(found.values())


def _is_own(value: Any) -> bool:
    """Whether `value` is an object of one of lowdim's classes, or of a class derived from one, with attributes."""
    classes = type(value).__mro__
    return any(cls.__module__.partition(".")[0] == "lowdim" for cls in classes) and hasattr(value, "__dict__")


class _Mover:
    """One object being moved; what occurs several times in it is moved once. Some arrays `moved` before."""

    def __init__(
        self,
        move: Callable[[Array], Array],
        dtype: Callable[[Any], Any],
        xp: Any,
        moved: Iterable[tuple[Array, Array]],
    ) -> None:
        self._move, self._dtype, self._xp = move, dtype, xp
        #: What became of each object, by its identity; the object is kept so that its identity is not used again.
        self._done: dict[int, tuple[Any, Any]] = {id(x): (x, there) for x, there in moved}

    def of(self, value: Any) -> Any:
        """`value`, with its arrays moved."""
        if value is None or isinstance(value, str | bytes | int | float):
            return value
        known = self._done.get(id(value))
        if known is None:
            # An object inside of itself is left as it is there.
            self._done[id(value)] = value, value
            known = self._done[id(value)] = value, self._moved(value)
        return known[1]

    def _moved(self, value: Any) -> Any:
        if value is np:
            return self._xp
        if _is_float_dtype(value):
            return self._dtype(value)
        if is_array(value):
            return self._move(value)
        if isinstance(value, dict):
            items = {key: self.of(item) for key, item in value.items()}
            return value if all(items[key] is item for key, item in value.items()) else items
        if isinstance(value, list | tuple):
            moved = [self.of(item) for item in value]
            if all(a is b for a, b in zip(moved, value, strict=True)):
                return value
            return type(value)(*moved) if hasattr(value, "_fields") else type(value)(moved)
        if isinstance(value, partial):
            return partial(self.of(value.func), *self.of(value.args), **self.of(value.keywords))
        if isinstance(value, MethodType):
            return MethodType(value.__func__, self.of(value.__self__))
        if isinstance(value, FunctionType):
            # What the function has taken from where it was defined.
            before = [cell.cell_contents for cell in value.__closure__ or ()]
            after = self._moved(before)
            if after is before:
                return value
            closure = tuple(map(CellType, after))
            new = FunctionType(value.__code__, value.__globals__, value.__name__, value.__defaults__, closure)
            new.__kwdefaults__, new.__dict__ = value.__kwdefaults__, dict(value.__dict__)
            return new
        if _is_own(value):
            attributes = self._moved(vars(value))
            if attributes is not vars(value):
                value = copy.copy(value)
                value.__dict__.update(attributes)
        return value


def _is_float_dtype(value: Any) -> bool:
    """Whether `value` is float32 or float64 of an array library, all of which print them so."""
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        return np.dtype(value).kind == "f"
    return "dtype" in type(value).__name__.lower() and str(value).rpartition(".")[2] in ("float32", "float64")
