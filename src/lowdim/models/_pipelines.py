"""What skl2onnx asks of a step of a pipeline that it converts to ONNX."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

#: The module that knows the answers. It belongs to a layer above the models and is imported when skl2onnx asks.
_PLACE = "lowdim.onnx.pipelines"


class ConvertibleStep:
    """Mixin with the two methods that skl2onnx looks for; users do not call them."""

    def onnx_shape_calculator(self) -> Callable[..., Any]:
        """The function with which skl2onnx sets the shape of the result of this step."""
        found: Callable[..., Any] = import_module(_PLACE).set_shape
        return found

    def onnx_converter(self) -> Callable[..., Any]:
        """The function with which skl2onnx adds this step to a graph of ONNX."""
        found: Callable[..., Any] = import_module(_PLACE).convert
        return found
