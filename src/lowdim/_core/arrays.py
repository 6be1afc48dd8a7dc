"""Array namespaces, devices and dtypes: the only module that distinguishes between array libraries."""

from __future__ import annotations

import hashlib
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Any

import array_api_compat as compat
import numpy as np
from scipy import sparse

from ..errors import no_array_of_rows

# All other modules take the namespace from their input (`namespace(x)`), use the functions of the array-API standard,
# and return arrays of the same namespace on the same device. NumPy, which is itself a standard namespace, is tested
# first, so that small fits do not pay for the search.

Array = Any


def is_sparse(x: Any) -> bool:
    """True for SciPy sparse arrays and matrices."""
    return not isinstance(x, np.ndarray) and sparse.issparse(x)


def dense(block: Array) -> Array:
    """`block` as a dense array."""
    return block.toarray() if is_sparse(block) else block


def is_array(x: Any) -> bool:
    """True for arrays of any standard namespace (NumPy, CuPy, torch, array-api-strict, ...). NumPy's scalars, such as
    np.float64(2), are numbers and no arrays, and neither are their classes, such as np.float64."""
    return isinstance(x, np.ndarray) or (not isinstance(x, np.generic | type) and compat.is_array_api_obj(x))


def namespace(x: Array) -> Any:
    """The array-API namespace of `x`; NumPy for NumPy arrays and SciPy sparse matrices."""
    kind = type(x)
    if kind is np.ndarray:
        return np
    if issubclass(kind, Beside):
        return namespace(x.first)
    if kind not in _namespaces:
        _refuse_frames(x)
        is_numpy = isinstance(x, np.ndarray) or sparse.issparse(x)
        _namespaces[kind] = np if is_numpy else compat.array_namespace(x)
    return _namespaces[kind]


#: The namespaces of the classes of arrays that have been looked up: the search takes as long as a small operation.
_namespaces: dict[type, Any] = {}


def is_known_array(x: Any) -> bool:
    """True for NumPy arrays, and for arrays of a class whose namespace was asked for before: a quick answer, which may
    be False for an array."""
    kind = type(x)
    return kind is np.ndarray or kind in _namespaces


def device(x: Array) -> Any:
    """The device of `x`, or None for NumPy arrays and SciPy sparse matrices."""
    kind = type(x)
    if kind in _has_device:
        return x.device
    if isinstance(x, np.ndarray):
        return None
    if isinstance(x, Beside):
        return device(x.first)
    if compat.is_torch_array(x) or compat.is_cupy_array(x):
        _has_device.add(kind)
    return None if sparse.issparse(x) else compat.device(x)


#: The classes of arrays of torch and CuPy that have been looked up. Other libraries are asked in ways of their own.
_has_device: set[type] = set()


def working_dtype(x: Array) -> Any:
    """The dtype of results: float32 stays float32, every other real dtype becomes float64."""
    xp = namespace(x)
    if x.dtype == xp.float32:
        return xp.float32
    return np.float64 if xp is np else wide_dtype(x)


def wide_dtype(x: Array) -> Any:
    """The dtype of sums across blocks like `x`: float64, or float32 on devices without float64."""
    xp = namespace(x)
    return xp.float32 if getattr(device(x), "type", None) == "mps" else xp.float64


def dtype_like(dtype: Any, like: Array) -> Any:
    """The dtype of the same name in the namespace of `like`; `dtype` may be that of another library."""
    xp, name = namespace(like), numpy_dtype(dtype)
    return name if xp is np else getattr(xp, np.dtype(name).name)


def numpy_dtype(dtype: Any) -> Any:
    """The dtype of the same name in NumPy."""
    return dtype if isinstance(dtype, type | np.dtype) else np.dtype(str(dtype).rpartition(".")[2]).type


def is_complex(x: Array) -> bool:
    """True for arrays of complex numbers."""
    xp = namespace(x)
    return bool(x.dtype.kind == "c" if xp is np else xp.isdtype(x.dtype, "complex floating"))


def astype(x: Array, dtype: Any) -> Array:
    """`x` in `dtype`; the same object if it has that dtype already."""
    xp = namespace(x)
    return x.astype(dtype, copy=False) if xp is np else xp.astype(x, dtype, copy=False)


def in_range(x: Array, dtype: Any) -> Array:
    """`x` in `dtype`, or unchanged if values would overflow or underflow there (such as squares of float32 numbers)."""
    if x.dtype == dtype:
        return x
    if not isinstance(x, np.ndarray) and math.prod(x.shape) <= _LOOKED_AT_ON_HOST:
        there = to_numpy(x)
        return astype(x, dtype) if in_range(there, numpy_dtype(dtype)) is not there else x
    xp = namespace(x)
    with np.errstate(over="ignore", under="ignore"):
        cast = astype(x, dtype)
    size, least = xp.abs(cast), xp.finfo(dtype).smallest_normal
    fits = xp.isfinite(cast) & ((size >= least) | (x == 0))
    return cast if bool(xp.all(fits)) else x


#: Arrays of a device with so few numbers are looked at on the host, where operations begin at once.
_LOOKED_AT_ON_HOST = 1 << 14


def count_true(x: Array) -> int:
    """The number of true entries. `count_nonzero` is part of the standard only since 2024."""
    xp = namespace(x)
    return int(np.count_nonzero(x)) if xp is np else int(xp.sum(xp.astype(x, xp.int64)))


def cumulative_sum(x: Array) -> Array:
    """Cumulative sums along the first axis. NumPy has the function of the standard only from version 2.1 on."""
    xp = namespace(x)
    return np.cumsum(x, axis=0) if xp is np else xp.cumulative_sum(x, axis=0)


def asarray_like(x: Any, like: Array, dtype: Any = None) -> Array:
    """`x` (a NumPy array, or one from the namespace of `like`) in the namespace and on the device of `like`; float64
    numbers become float32 on devices without float64."""
    if isinstance(like, np.ndarray) or sparse.issparse(like):
        return np.asarray(x if isinstance(x, np.ndarray) else to_numpy(x), dtype=dtype)
    xp = namespace(like)
    if is_array(x) and not isinstance(x, np.ndarray) and namespace(x) is xp:
        x = compat.to_device(x, device(like))
        return x if dtype is None else xp.astype(x, dtype, copy=False)
    host = to_numpy(x)
    if dtype is None and host.dtype == np.float64:
        dtype = wide_dtype(like)
    if dtype is not None and host.dtype == np.float64 and numpy_dtype(dtype) is np.float32:
        with np.errstate(over="ignore", under="ignore"):
            host = host.astype(np.float32)
    # Some libraries share memory with NumPy and warn about read-only arrays.
    copied = xp.asarray(host if host.flags.writeable else host.copy(), device=device(like))
    # A shorter dtype is copied as it is, and widened on the device.
    return copied if dtype is None else xp.astype(copied, dtype, copy=False)


def to_numpy(x: Any) -> np.ndarray:
    """`x` as a NumPy array, in host memory; Dask arrays are computed."""
    if isinstance(x, np.ndarray):
        return x
    if compat.is_dask_array(x):
        return to_numpy(x.compute())
    if compat.is_torch_array(x):
        return x.detach().cpu().numpy()
    if compat.is_cupy_array(x):
        return x.get()
    if is_array(x):
        try:
            return np.array(np.from_dlpack(x))
        except BufferError:
            # NumPy before 2.1 does not lend read-only memory.
            return np.array(np.from_dlpack(namespace(x).asarray(x, copy=True)))
    _refuse_frames(x)
    return np.asarray(x)


def copy_to_numpy(x: Array, out: np.ndarray) -> None:
    """Copy `x` into a contiguous NumPy array of the same shape and dtype, from a device without a copy in between."""
    if compat.is_torch_array(x):
        namespace(x).from_numpy(out).copy_(x)
    elif compat.is_cupy_array(x):
        x.get(out=out)
    else:
        out[...] = to_numpy(x)


def to_host(arrays: Sequence[Array]) -> list[Any]:
    """Small arrays of one library and dtype as NumPy arrays. They leave a device together, since it takes as long to
    begin a copy as to copy thousands of numbers."""
    if isinstance(arrays[0], np.ndarray):
        return list(arrays)
    xp = namespace(arrays[0])
    flat = to_numpy(xp.concat([xp.reshape(x, (-1,)) for x in arrays]))
    edges = accumulate((math.prod(x.shape) for x in arrays), initial=0)
    return [flat[i:j].reshape(x.shape) for (i, j), x in zip(pairwise(edges), arrays, strict=True)]


def to_device(arrays: Sequence[np.ndarray], like: Array) -> list[Array]:
    """Small NumPy arrays on the device of `like`, which may be the host. Those of one dtype are copied at once, and
    split there: it takes as long to begin a copy as to copy thousands of numbers."""
    if isinstance(like, np.ndarray) or not arrays:
        return list(arrays)
    dtypes = {x.dtype for x in arrays}
    if len(dtypes) > 1:
        moved = {dtype: iter(to_device([x for x in arrays if x.dtype == dtype], like)) for dtype in dtypes}
        return [next(moved[x.dtype]) for x in arrays]
    edges = accumulate((x.size for x in arrays), initial=0)
    xp, copied = namespace(like), asarray_like(np.concatenate([x.ravel() for x in arrays]), like)
    parts = (xp.reshape(copied[i:j], x.shape) for (i, j), x in zip(pairwise(edges), arrays, strict=True))
    # Copies, since a part of a larger array would be written to files as the whole.
    return [xp.asarray(part, copy=True) for part in parts]


def read_only(x: Array) -> Array:
    """A view of a NumPy array that cannot be written to; arrays of other libraries unchanged."""
    if isinstance(x, np.ndarray):
        x = x.view()
        x.flags.writeable = False
    return x


def compute_lazy(x: Array) -> Array:
    """`x` itself, or its value if it is a Dask array."""
    _refuse_frames(x)
    return x.compute() if compat.is_dask_array(x) else x


def _refuse_frames(x: Any) -> None:
    """Raise an error for a data frame of Spark, whose rows have no order that an array could have."""
    if type(x).__module__.startswith("pyspark."):
        raise no_array_of_rows()


def eps(x: Array) -> float:
    """The spacing of numbers next to 1 in the dtype of `x`."""
    return float(namespace(x).finfo(x.dtype).eps)


def smallest_normal(x: Array, weight: float = 1.0) -> float:
    """The smallest number with all its digits in the dtype of `x`; with a `weight`, the smallest sum over rows of this
    total weight that has all its digits, as has the mean."""
    return (2.0**-126 if x.dtype == namespace(x).float32 else 2.0**-1022) * max(weight, 1.0)


def all_finite(x: Array) -> bool:
    """Whether no entry of a dense array, and no stored entry of a sparse one, is NaN or infinite.

    The sum is tested first because it needs no temporary array. It may overflow even if all entries are finite: NumPy's
    warnings of that are for the caller to silence.
    """
    values = x.data if is_sparse(x) else x
    xp = namespace(values)
    return bool(xp.isfinite(xp.sum(values))) or bool(xp.all(xp.isfinite(values)))


def float_bits(x: Array) -> Any:
    """The bits of float64 numbers as integers, or None where the library cannot give them."""
    if compat.is_torch_array(x):
        return x.contiguous().view(namespace(x).int64)
    if isinstance(x, np.ndarray) or compat.is_cupy_array(x):
        return namespace(x).ascontiguousarray(x).view(np.int64)
    return None


def concat_rows(pieces: list[Array]) -> Array:
    """Blocks of rows, dense or sparse, one below the other."""
    if len(pieces) == 1:
        return pieces[0]
    if is_sparse(pieces[0]):
        return sparse.vstack(pieces, format="csr")
    return namespace(pieces[0]).concat(pieces, axis=0)


class Beside:
    """Arrays of one library side by side, which are joined only if a single array is needed.

    It provides what summaries that work on the pieces need: shape, dtype, single rows and slices of rows.
    """

    ndim = 2

    def __init__(self, pieces: list[Array]) -> None:
        self.pieces = pieces
        self.shape = (pieces[0].shape[0], sum(piece.shape[1] for piece in pieces))
        self.dtype = pieces[0].dtype

    @property
    def first(self) -> Array:
        """The first of the pieces."""
        return self.pieces[0]

    @property
    def itemsize(self) -> int:
        """Bytes of a number."""
        return int(self.first.itemsize)

    def __getitem__(self, key: tuple[Any, slice]) -> Any:
        rows, columns = key
        if columns != slice(None):
            raise IndexError("only whole rows can be taken")
        if isinstance(rows, slice | np.ndarray):
            return Beside([piece[rows, :] for piece in self.pieces])
        return namespace(self).concat([piece[rows, :] for piece in self.pieces])

    def astype(self, dtype: Any, copy: bool = False) -> Beside:
        """All pieces in `dtype`."""
        return Beside([piece.astype(dtype, copy=copy) for piece in self.pieces])

    def joined(self, dtype: Any = None) -> Array:
        """The pieces as one array, of another `dtype` if one is given."""
        xp = namespace(self)
        if dtype is None or dtype == self.dtype:
            return xp.concat([p.joined() if isinstance(p, Beside) else p for p in self.pieces], axis=1)
        # Each piece is converted where it is written.
        out = xp.empty(self.shape, dtype=dtype, device=device(self))
        for columns, piece in self.by_columns():
            out[:, columns] = piece
        return out

    def by_columns(self) -> Iterator[tuple[slice, Array]]:
        """The pieces, each with the columns that it takes."""
        stop = 0
        for piece in self.pieces:
            start, stop = stop, stop + piece.shape[1]
            yield slice(start, stop), piece


def has_columns_in_one_piece(block: Any) -> bool:
    """Whether the numbers of each column of a dense block, or of arrays side by side, lie one after another in memory.
    Only NumPy arrays are looked at."""
    for piece in block.pieces if isinstance(block, Beside) else [block]:
        if not (isinstance(piece, np.ndarray) and piece.strides[0] == piece.itemsize < abs(piece.strides[1])):
            return False
    return True


def empty_columns(n: int, p: int, dtype: Any, empty: Callable[..., np.ndarray] = np.empty) -> np.ndarray:
    """Uninitialised memory for n rows of p columns, one column after the other; `empty(shape, dtype)` provides it.

    There is a gap behind each column. Without it, columns of 4096 numbers, say, would compete for the same few lines of
    the cache.
    """
    gap = _GAP_BYTES // np.dtype(dtype).itemsize
    return empty((p, n + gap), dtype)[:, :n].T


#: The bytes between one column and the next, one line of the cache.
_GAP_BYTES = 64


def column_sums(Z: Array, weights: Array | None = None) -> Array:
    """Weighted sums of the columns of a dense block, as one matrix product."""
    if weights is None:
        xp, n = namespace(Z), Z.shape[0]
        weights = _ones(n, Z.dtype) if xp is np else xp.ones(n, dtype=Z.dtype, device=Z.device)
    return weights @ Z


@lru_cache(maxsize=8)
def _ones(n: int, dtype: Any) -> np.ndarray:
    """A vector of ones. It is cached, since most blocks have the same length and each is summed several times."""
    return np.ones(n, dtype)


def multiplies_parts(x: Array) -> bool:
    """Whether the library of `x` multiplies some of its columns as they are. CuPy copies them first."""
    return not compat.is_cupy_array(x)


def affine_product(X: Array, A: Array, c: Array) -> Array:
    """X A + c for a row c, in one operation where the library has one."""
    return namespace(X).addmm(c, X, A) if compat.is_torch_array(X) else X @ A + c


def subtract_product(A: Array, x: Array, y: Array) -> Array:
    """A - x y, entry by entry, in the memory of A where that is possible, and in one operation where the library has
    one."""
    if compat.is_torch_array(A):
        return A.addcmul_(x, y, value=-1)
    A -= x * y
    return A


def constant_minus_square(c: float, X: Array) -> Array:
    """c - X^2, entry by entry, in one operation where the library has one, so that a device reads X once."""
    if not compat.is_torch_array(X):
        return c - X * X
    xp = namespace(X)
    return xp.addcmul(xp.full((), c, dtype=X.dtype, device=X.device), X, X, value=-1)


# What all entries of an array have in common, found piece by piece, so that it takes no memory beside the array.


#: About how many entries are looked at together.
_PIECE = 1 << 16


def all_finite_by_pieces(a: np.ndarray) -> bool:
    """Whether no entry is NaN or infinite."""
    a = np.atleast_1d(a)
    step = max(1, _PIECE // max(1, a[:1].size))
    return all(bool(np.isfinite(a[i : i + step]).all()) for i in range(0, len(a), step))


def largest_magnitude(a: np.ndarray) -> float:
    """The largest magnitude of an entry; NaN if there is one, and 0 if there are no entries."""
    return float(np.maximum(a.max(), -a.min())) if a.size else 0.0


def asymmetry(a: np.ndarray) -> float:
    """The largest magnitude of an entry of a - a^T, for a square matrix."""
    return _largest_by_pieces(a, lambda i, j: a[i:j, :j] - a[:j, i:j].T)


def distance_from_orthonormal(a: np.ndarray) -> float:
    """The largest magnitude of an entry of a a^T - I: zero if the rows of a matrix are orthonormal, NaN if products
    overflow."""

    def piece(i: int, j: int) -> np.ndarray:
        products = a[i:j] @ a.T
        products[:, i:][np.diag_indices(len(products))] -= 1
        return products

    return _largest_by_pieces(a, piece)


def _largest_by_pieces(a: np.ndarray, piece: Callable[[int, int], np.ndarray]) -> float:
    """The largest magnitude of an entry of `piece(i, j)`, which is that of some rows of `a`."""
    largest, step = 0.0, max(1, _PIECE // max(1, len(a)))
    with np.errstate(over="ignore", invalid="ignore"):
        for i in range(0, len(a), step):
            largest = float(np.maximum(largest, largest_magnitude(piece(i, i + step))))
    return largest


# Memory that blocks of rows use one after the other.


#: For tables with fewer than _NARROW columns, a difference is computed for _FOLD rows at a time.
_NARROW, _FOLD = 64, 8


class Scratch:
    """Memory for one block, which the next block reuses, since allocating it anew would cost more than the arithmetic.

    Each thread needs its own object. Copies and pickles start empty.
    """

    _room: np.ndarray | None = None

    def difference(self, a: Array, b: Array) -> Array:
        """`a - b`. For NumPy arrays the result is overwritten by the next call of a method."""
        if not isinstance(a, np.ndarray | Beside):
            return a - b
        out = self._like(a)
        if isinstance(a, np.ndarray):
            in_rows = a.flags.c_contiguous and out.flags.c_contiguous
            if b.shape == a.shape[1:] and a.shape[1] < _NARROW and a.shape[0] % _FOLD == 0 and in_rows:
                # Treat several short rows as one long row: loops over few columns cost more than the arithmetic.
                long = (a.shape[0] // _FOLD, a.shape[1] * _FOLD)
                np.subtract(a.reshape(long), np.tile(b, _FOLD), out=out.reshape(long))
                return out
            return np.subtract(a, b, out=out)
        for columns, piece in a.by_columns():
            np.subtract(piece, b[columns], out=out[:, columns])
        return out

    def product(self, a: Array, b: Array) -> Array:
        """`a * b`, entry by entry; `a` may be the result of another call, which is then overwritten. For NumPy arrays
        the result is overwritten by the next call of a method."""
        return np.multiply(a, b, out=self._like(a)) if isinstance(a, np.ndarray) else a * b

    def _like(self, a: np.ndarray | Beside) -> np.ndarray:
        """Memory for an array of the shape and dtype of `a`."""
        room = self._room
        if room is None or room.shape[0] < a.shape[0] or room.shape[1:] != a.shape[1:] or room.dtype != a.dtype:
            # Uninitialised memory in the order of `a`, by columns or by rows.
            if a.ndim == 2 and has_columns_in_one_piece(a):
                room = empty_columns(a.shape[0], a.shape[1], a.dtype)
            elif isinstance(a, np.ndarray):
                room = np.empty_like(a, order="K", subok=False)
            else:
                room = np.empty(a.shape, a.dtype)
            self._room = room
        return room[: a.shape[0]]

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), ()


class SharedScratch(Scratch, threading.local):
    """Memory for one block of each thread, for objects that several threads use."""


def digest(value: Any) -> str:
    """The digest of a tree of dicts, lists, tuples, numbers, texts and arrays (dense or sparse, of any library)."""
    state = hashlib.blake2b(digest_size=16)
    _add(state, value)
    return state.hexdigest()


def _add(state: Any, value: Any) -> None:
    """Add a value and what it is to the state of a digest."""
    if isinstance(value, dict):
        state.update(b"{%d" % len(value))
        for key in sorted(value):
            _add(state, key)
            _add(state, value[key])
    elif isinstance(value, list | tuple):
        state.update(b"[%d" % len(value))
        for item in value:
            _add(state, item)
    elif is_sparse(value):
        rows = value.tocsr()
        _add(state, ["csr", *rows.shape, rows.data, rows.indices, rows.indptr])
    elif isinstance(value, Beside) or is_array(value):
        array = to_numpy(value.joined() if isinstance(value, Beside) else value)
        _add(state, [str(array.dtype), *array.shape])
        state.update(np.ascontiguousarray(array).data)
    else:
        text = repr(value).encode()
        state.update(b"%d:" % len(text) + text)
