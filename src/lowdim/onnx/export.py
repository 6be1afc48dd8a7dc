"""to_onnx: a method of a fitted model as a model of ONNX."""

from __future__ import annotations

import json
import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._version import __version__
from ..errors import bad_opset, choice
from .column_names import names_after, names_before
from .converters import express
from .expression import Expression
from .graph import FLOATS, Graph, Value, require_onnx

#: The oldest operators that the graphs use, and those that they are written for by default.
LOWEST_OPSET, DEFAULT_OPSET = 13, 17
#: The name of the number of rows, which is free.
ROWS = "n"


def to_onnx(
    model: Any,
    *,
    output: str | Sequence[str] = "transform",
    table: int = 0,
    dtype: Any = "float64",
    arithmetic: Any = "float64",
    opset: int | None = None,
) -> Any:
    """A method of a fitted model as a model of ONNX, which runs without lowdim and without Python.

    Parameters
    ----------
    model : fitted model of lowdim or lowdim.sklearn
    output : {"transform", "predict", "inverse_transform"} or a sequence of them
        The method. Several methods that take the same rows, ("transform", "predict"), become several outputs of one
        graph.
    table : int
        For models of several tables: the number of the table whose rows or scores the graph takes. Of two tables, 0 is
        X and 1 is y.
    dtype : {"float64", "float32"}
        The dtype of the rows that the graph takes, and of its results.
    arithmetic : {"float64", "float32"}
        The dtype in which the graph computes. float32 is for runtimes without float64, such as many accelerators and
        browsers; it costs digits.
    opset : int, optional
        The version of the operators of ONNX; the default is 17.

    Returns
    -------
    onnx.ModelProto
        The input is called "X", or "scores" for "inverse_transform"; each output has the name of its method. Names of
        columns and versions are in `metadata_props`.

    Notes
    -----
    The graph takes any number of rows. It subtracts the mean before it multiplies, so that columns far from zero lose
    nothing. Rows must be complete: a row with NaN has a result of NaN, for PPCA and FactorAnalysis too. The same model
    always gives the same bytes. Functions of your own, such as kernels and feature maps, cannot be expressed, and
    neither can iterations; the error says what to do.

    A graph of KernelPCA or KernelCCA holds rows of the fit. `SerializeToString()` are the bytes of a file.

    Examples
    --------
    >>> import numpy as np, lowdim
    >>> X = np.random.default_rng(0).standard_normal((50, 4)) + 100.0
    >>> pca = lowdim.PCA(2).fit(X)
    >>> graph = lowdim.to_onnx(pca)
    >>> import onnxruntime
    >>> session = onnxruntime.InferenceSession(graph.SerializeToString())
    >>> (scores,) = session.run(["transform"], {"X": X})
    >>> bool(np.allclose(scores, pca.transform(X), rtol=0, atol=1e-10))
    True
    """
    onnx = require_onnx()
    methods = [output] if isinstance(output, str) else list(output)
    _check_methods(methods)
    opset = check_opset(opset)
    outer = check_float("dtype", dtype)
    expressions = {method: express(model, method, table) for method in methods}
    graph = Graph(check_float("arithmetic", arithmetic))
    name = "scores" if methods[0] == "inverse_transform" else "X"
    element = onnx.helper.np_dtype_to_tensor_dtype(outer)
    rows = graph.input(name, [ROWS, expressions[methods[0]].width], element)
    if outer != graph.arithmetic:
        rows = graph.cast(rows, graph.arithmetic)
    for method, expression in expressions.items():
        add_result(graph, method, expression, rows, outer)
    kind = type(model).__name__
    found = onnx.helper.make_model(
        graph.proto(kind),
        producer_name="lowdim",
        producer_version=__version__,
        doc_string=f"{' and '.join(methods)} of {kind}",
        opset_imports=[onnx.helper.make_opsetid("", opset)],
        # The oldest version that knows these operators, so that older runtimes read it.
        ir_version=onnx.helper.find_min_ir_version_for([onnx.helper.make_opsetid("", opset)]),
    )
    onnx.helper.set_model_props(found, _properties(model, methods, table))
    onnx.checker.check_model(found)
    return found


def add_result(
    graph: Graph, name: str, expression: Expression, rows: Value, dtype: Any, *, vectors: bool = True
) -> None:
    """Add the nodes of an expression, and its result as the output of this name. With `vectors`, what the method
    returns as a vector is one in the graph too, and otherwise a table of one column."""
    result = expression.build(rows)
    if np.dtype(dtype) != graph.arithmetic:
        result = graph.cast(result, dtype)
    shape: list[int | str] = [ROWS, result.width]
    if expression.vector and vectors:
        result, shape = graph.add("Reshape", result, np.array([-1])), [ROWS]
    element = require_onnx().helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    graph.output(name, result, shape, element)


def check_float(name: str, dtype: Any) -> Any:
    """The dtype for this parameter, which is float64 or float32."""
    try:
        found = np.dtype(dtype)
    except TypeError:
        found = None
    # np.dtype(None) is float64.
    if dtype is None or found is None or found not in FLOATS:
        raise choice(name, dtype, [str(known) for known in FLOATS])
    return found


def check_opset(opset: Any) -> int:
    """The version of the operators; None is the default."""
    if opset is None:
        return DEFAULT_OPSET
    highest = int(require_onnx().defs.onnx_opset_version())
    whole = isinstance(opset, numbers.Integral) and not isinstance(opset, bool)
    if not whole or not LOWEST_OPSET <= int(opset) <= highest:
        raise bad_opset(opset, LOWEST_OPSET, highest)
    return int(opset)


def _check_methods(methods: list[str]) -> None:
    """Refuse no method, the same one twice, and methods that take different inputs."""
    if not methods or len(set(methods)) < len(methods):
        raise ValueError(f"output={methods!r} must name each method once: 'transform', or ('transform', 'predict').")
    if len(methods) > 1 and "inverse_transform" in methods:
        raise ValueError("inverse_transform takes scores, and the other methods take rows; make a graph for each.")


def _properties(model: Any, methods: list[str], table: int) -> dict[str, str]:
    """What the graph says about itself, as text; lists of names are JSON."""
    columns = {"input_columns": names_before(model, methods[0], table)}
    columns |= {f"{method}_columns": names_after(model, method, table) for method in methods}
    return {
        "model": type(model).__name__,
        "lowdim": __version__,
        **{key: json.dumps(names) for key, names in columns.items()},
    }
