"""A graph of ONNX, written with the operators of Python: (x - mean) @ A adds two nodes and two constants."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any

import numpy as np

from .._core.arrays import dense, to_numpy
from ..errors import missing_extra

# The package onnx is imported only where nodes are made, so that `import lowdim` does not need it.


#: The dtypes of rows, results and computations.
FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
#: The most bytes of constants: messages of ONNX end at 2 GiB, and nodes and names take a little of it.
MOST_BYTES = 2**31 - 2**24


def require_onnx() -> Any:
    """The package onnx; an error that says how to install it if it is missing."""
    try:
        import onnx
    except ImportError:
        raise missing_extra("lowdim.to_onnx", "onnx", "onnx") from None
    return onnx


class Graph:
    """Nodes and constants, in the order in which they are added; names follow from that order alone.

    Parameters
    ----------
    arithmetic : dtype
        float64 or float32: the dtype in which the graph computes.
    prefix : str
        The beginning of all names, which tells those of a nested graph from those outside of it.
    """

    def __init__(self, arithmetic: Any, prefix: str = "") -> None:
        self.arithmetic = np.dtype(arithmetic)
        self.prefix = prefix
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._onnx = require_onnx()
        self._known: dict[tuple[Any, ...], Value] = {}
        self._n_bytes = 0

    def input(self, name: str, shape: Sequence[int | str], dtype: Any = None) -> Value:
        """An input of this dtype (default: that of the arithmetic), which is cast to that of the arithmetic."""
        self.inputs.append(self._onnx.helper.make_tensor_value_info(name, self._element(dtype), shape))
        value = Value(self, name, shape[-1] if isinstance(shape[-1], int) else 1)
        return value if dtype is None or dtype == self.arithmetic else self.cast(value, self.arithmetic)

    def output(self, name: str, value: Value, shape: Sequence[int | str], dtype: Any = None) -> None:
        """Make `value`, which is of this dtype, the output of this name."""
        node = self._onnx.helper.make_node("Identity", [value.name], [name], name=f"{self.prefix}n{len(self.nodes)}")
        self.nodes.append(node)
        self.outputs.append(self._onnx.helper.make_tensor_value_info(name, self._element(dtype), shape))

    def constant(self, array: Any) -> Value:
        """Numbers, in the dtype of the arithmetic; whole numbers stay what they are. Equal constants are stored once.

        Numbers that this dtype cannot hold raise an error.
        """
        given = np.asarray(to_numpy(dense(array)) if hasattr(array, "shape") else array)
        values: Any = given if given.dtype.kind == "i" else _in_range(given, self.arithmetic)
        # ascontiguousarray makes vectors of single numbers.
        values = np.ascontiguousarray(values).reshape(given.shape)
        n_bytes = self._n_bytes + values.nbytes
        if n_bytes > MOST_BYTES:
            raise ValueError(
                f"the graph would hold more than {n_bytes / 2**30:.3g} GiB of numbers, and ONNX allows "
                f"{MOST_BYTES / 2**30:.3g} GiB in one file. For kernels, use landmarks: "
                "solver=Nystrom(landmarks=1000). Otherwise keep fewer components, or pass arithmetic='float32'."
            )
        key = (values.dtype.str, values.shape, sha256(values).digest())
        if key not in self._known:
            self._n_bytes = n_bytes
            name = f"{self.prefix}c{len(self.constants)}"
            self.constants.append(self._onnx.numpy_helper.from_array(values, name))
            self._known[key] = Value(self, name, int(given.shape[-1]) if given.ndim else 1)
        return self._known[key]

    def add(self, kind: str, *inputs: Any, width: int | None = None, **attributes: Any) -> Value:
        """A node of this kind; numbers and arrays among the inputs become constants. `width` is the number of columns
        of its result; by default, that of the widest input."""
        values = [given if isinstance(given, Value) else self.constant(given) for given in inputs]
        name = f"{self.prefix}n{len(self.nodes)}"
        names = [value.name for value in values]
        self.nodes.append(self._onnx.helper.make_node(kind, names, [name], name=name, **attributes))
        return Value(self, name, max(value.width for value in values) if width is None else width)

    def cast(self, value: Value, dtype: Any) -> Value:
        """`value` in another dtype."""
        return self.add("Cast", value, to=self._element(dtype))

    def proto(self, name: str) -> Any:
        """The graph as onnx knows it."""
        return self._onnx.helper.make_graph(self.nodes, name, self.inputs, self.outputs, self.constants)

    def _element(self, dtype: Any) -> int:
        """The number that onnx has for a dtype; None is that of the arithmetic."""
        return int(self._onnx.helper.np_dtype_to_tensor_dtype(self.arithmetic if dtype is None else np.dtype(dtype)))


class Value:
    """A table that is computed in a graph: a row for each row of the input, and `width` columns."""

    # So that NumPy leaves `array - value` to this class.
    __array_ufunc__ = None

    def __init__(self, graph: Graph, name: str, width: int) -> None:
        self.graph, self.name, self.width = graph, name, width

    def __add__(self, other: Any) -> Value:
        return self.graph.add("Add", self, other)

    def __sub__(self, other: Any) -> Value:
        return self.graph.add("Sub", self, other)

    def __mul__(self, other: Any) -> Value:
        """Entry by entry, with a table, a row or a number.

        onnxruntime moves factors that are single numbers into matrix products beside them, as float32 numbers, and
        float64 results lose half of their digits. So numbers become rows, or for one column a matrix.
        """
        if isinstance(other, Value):
            return self.graph.add("Mul", self, other)
        factors = np.broadcast_to(np.asarray(other, dtype=np.float64), (self.width,))
        return self @ factors[:, None] if self.width == 1 else self.graph.add("Mul", self, factors)

    def __truediv__(self, other: Any) -> Value:
        return self.graph.add("Div", self, other) if isinstance(other, Value) else self * (1.0 / np.asarray(other))

    def __pow__(self, exponent: float) -> Value:
        return self.graph.add("Pow", self, exponent)

    def __matmul__(self, matrix: Any) -> Value:
        return self.graph.add("MatMul", self, matrix, width=int(matrix.shape[1]))

    def apply(self, kind: str) -> Value:
        """A function of each entry: "Exp", "Log", "Sqrt", "Abs", "Tanh", "Relu" or "Sin"."""
        return self.graph.add(kind, self)

    def take(self, columns: Any) -> Value:
        """Some columns, by their numbers."""
        index = np.asarray(to_numpy(columns), dtype=np.int64)
        return self.graph.add("Gather", self, index, axis=1, width=len(index))

    def beside(self, *others: Value) -> Value:
        """This table and others side by side."""
        width = self.width + sum(other.width for other in others)
        return self.graph.add("Concat", self, *others, axis=1, width=width)

    def sums(self) -> Value:
        """The sum of each row, a table of one column."""
        return self.graph.add("ReduceSum", self, np.array([1]), keepdims=1, width=1)

    def unless_zero(self, other: float) -> Value:
        """The entries, with `other` in place of zeros. NaN stays NaN."""
        is_zero = self.graph.add("Equal", self, 0.0)
        return self.graph.add("Where", is_zero, other, self, width=self.width)

    def minus(self, mean: Any) -> Value:
        """The rows minus `mean`, with all digits of the mean.

        In float32, a mean of float64 is subtracted in two parts: what float32 can hold, and the rest. The first
        difference is exact where rows are close to the mean, so nothing is lost if the mean is large.
        """
        mean = np.asarray(to_numpy(mean))
        if not np.any(mean):
            return self
        near = _in_range(mean, self.graph.arithmetic)
        rest = (mean - near).astype(self.graph.arithmetic)
        return self - near - rest if np.any(rest) else self - near

    def over_columns(self, rows: np.ndarray, distance: Callable[[Value], Value]) -> Value:
        """For each row x and each y of `rows`, the sum over the columns d of distance(x_d - y_d).

        The differences are those of one column at a time, so that a table of n m numbers is the largest.
        """
        graph, m = self.graph, int(rows.shape[0])
        step = Graph(graph.arithmetic, prefix=f"{graph.prefix}n{len(graph.nodes)}_")
        so_far = step.input(f"{step.prefix}sum", ["n", m])
        x, y = (step.input(f"{step.prefix}{name}", shape) for name, shape in (("x", ["n"]), ("y", [m])))
        apart = step.add("Unsqueeze", x, np.array([1]), width=1) - y
        step.output(f"{step.prefix}sums", so_far + distance(apart), ["n", m])
        n = graph.add("Gather", graph.add("Shape", self), np.array([0]), axis=0)
        shape = graph.add("Concat", n, np.array([m]), axis=0)
        zero = require_onnx().numpy_helper.from_array(np.zeros(1, dtype=graph.arithmetic))
        start = graph.add("ConstantOfShape", shape, value=zero, width=m)
        columns = graph.add("Transpose", self, perm=[1, 0])
        return graph.add("Scan", start, columns, rows.T, body=step.proto("step"), num_scan_inputs=2, width=m)


def _in_range(values: np.ndarray, dtype: Any) -> np.ndarray:
    """Floats in `dtype`; an error if some overflow, or all of them underflow."""
    with np.errstate(over="ignore", under="ignore"):
        found = values.astype(dtype)
    vanished = np.any(values) and np.abs(found).max() < np.finfo(dtype).smallest_normal
    if vanished or not np.all(np.isfinite(found)):
        raise ValueError(
            f"numbers of this model are out of the range of {np.dtype(dtype)}. Pass arithmetic='float64', or fit the "
            "model to rows in other units."
        )
    return found


def float64(array: Any) -> np.ndarray:
    """An array or sparse matrix of any library as a dense NumPy array of float64."""
    return np.asarray(to_numpy(dense(array)), dtype=np.float64)
