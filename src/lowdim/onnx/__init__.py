"""Models as graphs of ONNX, which other programs run: `to_onnx`, and what skl2onnx asks of a step."""

from __future__ import annotations

import json
import numbers
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from sklearn.base import is_regressor
from sklearn.utils.validation import check_is_fitted

from .. import models
from .._core import __version__
from ..errors import choice, missing_extra
from .converters import CONVERTERS, converter_of, input_names
from .graph import FLOATS, Graph, Value, require_onnx

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from onnx import ModelProto

    from ..models.base import Model

__all__ = ["CONVERTERS", "register", "to_onnx"]


# to_onnx: a method of a fitted model as a model of ONNX.


#: The oldest operators that the graphs use, and those that they are written for by default.
LOWEST_OPSET, DEFAULT_OPSET = 13, 17
#: The name of the number of rows, which is free.
ROWS = "n"
#: The methods that can be graphs.
Output: TypeAlias = Literal["transform", "predict", "inverse_transform"]


def to_onnx(
    model: Model,
    *,
    output: Output | Sequence[Output] = "transform",
    table: int = 0,
    dtype: Literal["float64", "float32"] | DTypeLike = "float64",
    arithmetic: Literal["float64", "float32"] | DTypeLike = "float64",
    opset: int | None = None,
) -> ModelProto:
    """A method of a fitted model as a model of ONNX, which runs without lowdim and without Python.

    Parameters
    ----------
    model : fitted model of lowdim or lowdim.sklearn
    output : {"transform", "predict", "inverse_transform"} or a sequence of them, default="transform"
        The method. Several methods that take the same rows, ("transform", "predict"), become several outputs of one
        graph.
    table : int, default=0
        For models of several tables: the number of the table whose rows or scores the graph takes. Of two tables, 0 is
        X and 1 is y.
    dtype : {"float64", "float32"}, default="float64"
        The dtype of the rows that the graph takes, and of its results.
    arithmetic : {"float64", "float32"}, default="float64"
        The dtype in which the graph computes. float32 is for runtimes without float64, such as many accelerators and
        browsers; it costs digits.
    opset : int, default=None
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

    A graph of MCA, FAMD or MFA takes coded columns, whose names are `model.coding_.names`: the numbers, and for each
    level of each category a column with 1 in the rows that have it and 0 in the others. For an entry whose level is not
    known, pass the shares of the levels, which are in `model.mean_`, and for a missing number its estimate. A graph of
    CA takes counts.

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
    methods: list[Any] = [output] if isinstance(output, str) else list(output)
    if not methods or len(set(methods)) < len(methods):
        raise ValueError(f"output={methods!r} must name each method once: 'transform', or ('transform', 'predict').")
    if len(methods) > 1 and "inverse_transform" in methods:
        raise ValueError("inverse_transform takes scores, and the other methods take rows; make a graph for each.")
    opset = check_opset(opset)
    outer = _check_float("dtype", dtype)
    converters = {method: converter_of(model, method, table) for method in methods}
    graph = Graph(_check_float("arithmetic", arithmetic))
    backwards = methods[0] == "inverse_transform"
    name, width = ("scores", model.n_components_) if backwards else ("X", len(input_names(model, table)))
    rows = graph.input(name, [ROWS, int(width)], outer)
    for method, converter in converters.items():
        is_vector = method == "predict" and getattr(model, "_one_dimensional", False)
        _add_result(graph, method, converter(model, rows, table), outer, is_vector)
    kind, operators = type(model).__name__, [onnx.helper.make_opsetid("", opset)]
    found = onnx.helper.make_model(
        graph.proto(kind),
        producer_name="lowdim",
        producer_version=__version__,
        doc_string=f"{' and '.join(methods)} of {kind}",
        opset_imports=operators,
        # The oldest version that knows these operators, so that older runtimes read it.
        ir_version=onnx.helper.find_min_ir_version_for(operators),
    )
    onnx.helper.set_model_props(found, _properties(model, methods, table))
    onnx.checker.check_model(found)
    return found


def _add_result(graph: Graph, name: str, result: Value, dtype: Any, is_vector: bool = False) -> None:
    """Make a table, or its only column as a vector, the output of this name."""
    if np.dtype(dtype) != graph.arithmetic:
        result = graph.cast(result, dtype)
    shape: list[int | str] = [ROWS, result.width]
    if is_vector:
        result, shape = graph.add("Reshape", result, np.array([-1])), [ROWS]
    graph.output(name, result, shape, dtype)


def _check_float(name: str, dtype: Any) -> Any:
    """The dtype for this parameter, which is float64 or float32."""
    with suppress(TypeError):
        # np.dtype(None) is float64.
        if dtype is not None and np.dtype(dtype) in FLOATS:
            return np.dtype(dtype)
    raise choice(name, dtype, [str(known) for known in FLOATS])


def check_opset(opset: Any) -> int:
    """The version of the operators; None is the default."""
    if opset is None:
        return DEFAULT_OPSET
    highest = int(require_onnx().defs.onnx_opset_version())
    whole = isinstance(opset, numbers.Integral) and not isinstance(opset, bool)
    if not whole or not LOWEST_OPSET <= int(opset) <= highest:
        raise ValueError(
            f"opset={opset!r} must be a whole number from {LOWEST_OPSET} to {highest}, the versions that the graphs of "
            "lowdim and the installed onnx know."
        )
    return int(opset)


def _properties(model: Any, methods: list[str], table: int) -> dict[str, str]:
    """What the graph says about itself, as text; lists of names of columns are JSON."""
    columns, components = input_names(model, table), [str(name) for name in model.get_feature_names_out()]
    names = {"input_columns": components if methods[0] == "inverse_transform" else columns}
    for method in methods:
        if method == "transform":
            names["transform_columns"] = components
        elif method == "predict":
            names["predict_columns"] = list(model._column_names(1))
        else:
            # The rows that FeatureMapPCA returns to are features.
            names["inverse_transform_columns"] = columns if table else list(model._row_names())
    return {
        "model": type(model).__name__,
        "lowdim": __version__,
        **{key: json.dumps(found) for key, found in names.items()},
    }


# Models of lowdim in pipelines of scikit-learn that skl2onnx converts.
#
# skl2onnx asks a step that it does not know for a function that sets the shape of its result, and for one that adds its
# nodes; the models of lowdim name those of this module. Estimators that skl2onnx takes apart by their classes do not
# ask: for them there is `register`.


#: The kinds of operators with which skl2onnx gives names and types to the results of a pipeline.
_NAMES_RESULTS = ("SklearnIdentity", "SklearnCast")


def register() -> None:
    """Register the models of lowdim and lowdim.sklearn with skl2onnx.

    Pipelines, column transformers and unions of features do not need it. It is for estimators that look up the
    converters of their members by class: `GridSearchCV`, `StackingRegressor`, `VotingRegressor` and the like, with a
    model of lowdim as direct member. Call it once, before the conversion.

    Examples
    --------
    >>> from lowdim import onnx
    >>> onnx.register()
    """
    try:
        import skl2onnx
    except ImportError:
        raise missing_extra("the conversion of pipelines", "skl2onnx", "onnx") from None
    for package in (models, import_module("..sklearn", __package__)):
        for name in package.__all__:
            cls = getattr(package, name)
            if isinstance(cls, type):
                # A name that skl2onnx does not have yet.
                known = f"{package.__name__.replace('.', '_')}_{name}"
                skl2onnx.update_registered_converter(cls, known, set_shape, convert)


def set_shape(operator: Any) -> None:
    """Set the type and the number of columns of the result of a step, which skl2onnx calls an operator."""
    kinds = import_module("skl2onnx.common.data_types")
    model = operator.raw_operator
    check_is_fitted(model)
    width = model._widths()[1] if _method(operator) == "predict" else model.n_components_
    kind = kinds.DoubleTensorType if _dtype(operator) == np.float64 else kinds.FloatTensorType
    operator.outputs[0].type = kind([None, int(width)])


def convert(scope: Any, operator: Any, container: Any) -> None:
    """Add the nodes of a step to the graph of the pipeline. It computes in float64, whatever the dtype of the rows."""
    check_opset(container.target_opset)
    model = operator.raw_operator
    converter = converter_of(model, _method(operator))
    graph = Graph(np.float64, prefix=scope.get_unique_variable_name("lowdim") + "_")
    result = converter(model, _rows(graph, operator, len(input_names(model, 0))), 0)
    _add_result(graph, operator.outputs[0].onnx_name, result, _dtype(operator))
    container.nodes.extend(graph.nodes)
    container.initializers.extend(graph.constants)
    # Later operators are the same.
    container.node_domain_version_pair_sets.add(("", LOWEST_OPSET))


def _rows(graph: Graph, operator: Any, width: int) -> Value:
    """The inputs of a step side by side, in float64; an error if they are not `width` columns of numbers."""
    kinds = import_module("skl2onnx.common.data_types")
    text = next((given for given in operator.inputs if isinstance(given.type, kinds.StringTensorType)), None)
    widths: list[Any] = [given.type.shape[1] if len(given.type.shape) > 1 else None for given in operator.inputs]
    wrong = all(isinstance(found, int) for found in widths) and sum(widths) != width
    if text is not None or wrong:
        got = f"its inputs have {sum(widths)}" if text is None else f"the input {text.raw_name!r} is text"
        raise ValueError(
            f"{type(operator.raw_operator).__name__} takes {width} columns of numbers, and {got}. Give skl2onnx the "
            f"types of the rows of the fit, such as FloatTensorType([None, {width}]) if it is the first step."
        )
    parts = [graph.cast(Value(graph, given.onnx_name, width), np.float64) for given in operator.inputs]
    return parts[0] if len(parts) == 1 else graph.add("Concat", *parts, axis=1, width=width)


def _method(operator: Any) -> str:
    """What scikit-learn would call: `transform` of a step before others, and `predict` of a regression at the end."""
    found = operator.outputs[0]
    others = [other for other in operator.scope_inst.operators.values() if other.type not in _NAMES_RESULTS]
    is_before_others = any(found is given for other in others for given in other.inputs)
    return "predict" if is_regressor(operator.raw_operator) and not is_before_others else "transform"


def _dtype(operator: Any) -> Any:
    """The dtype of the result: float64 for rows of float64, and float32 for all others, as everywhere in skl2onnx."""
    kinds = import_module("skl2onnx.common.data_types")
    wide = all(isinstance(given.type, kinds.DoubleTensorType) for given in operator.inputs)
    return np.dtype(np.float64 if wide else np.float32)
