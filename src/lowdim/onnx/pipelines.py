"""Models of lowdim in pipelines of scikit-learn that skl2onnx converts.

skl2onnx asks a step that it does not know for a function that sets the shape of its result, and for one that adds its
nodes; the models of lowdim name those of this module. Estimators that skl2onnx takes apart by their classes do not ask:
for them there is `register`.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.base import is_regressor
from sklearn.utils.validation import check_is_fitted

from .. import models
from ..errors import missing_extra, wrong_onnx_inputs
from .converters import express
from .export import LOWEST_OPSET, add_result, check_opset
from .graph import Graph, Value

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
    skl2onnx = _require_skl2onnx()
    for name, cls in _classes():
        skl2onnx.update_registered_converter(cls, name, set_shape, convert)


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
    expression = express(operator.raw_operator, _method(operator))
    graph = Graph(np.float64, prefix=scope.get_unique_variable_name("lowdim") + "_")
    rows = _rows(graph, operator, expression.width)
    add_result(graph, operator.outputs[0].onnx_name, expression, rows, _dtype(operator), vectors=False)
    container.nodes.extend(graph.nodes)
    container.initializers.extend(graph.constants)
    # Later operators are the same.
    container.node_domain_version_pair_sets.add(("", LOWEST_OPSET))


def _rows(graph: Graph, operator: Any, width: int) -> Value:
    """The inputs of a step side by side, in float64; an error if they are not `width` columns of numbers."""
    kinds = import_module("skl2onnx.common.data_types")
    name = type(operator.raw_operator).__name__
    for given in operator.inputs:
        if isinstance(given.type, kinds.StringTensorType):
            raise wrong_onnx_inputs(name, width, f"the input {given.raw_name!r} is text")
    widths: list[Any] = [given.type.shape[1] if len(given.type.shape) > 1 else None for given in operator.inputs]
    if all(isinstance(found, int) for found in widths) and sum(widths) != width:
        raise wrong_onnx_inputs(name, width, f"its inputs have {sum(widths)}")
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


def _classes() -> Iterator[tuple[str, type]]:
    """The classes of models, with names that skl2onnx does not have yet."""
    for package in (models, import_module("..sklearn", __package__)):
        for name in package.__all__:
            cls = getattr(package, name)
            if isinstance(cls, type):
                yield f"{package.__name__.replace('.', '_')}_{name}", cls


def _require_skl2onnx() -> Any:
    """The package skl2onnx; an error that says how to install it if it is missing."""
    try:
        import skl2onnx
    except ImportError:
        raise missing_extra("the conversion of pipelines", "skl2onnx", "onnx") from None
    return skl2onnx
