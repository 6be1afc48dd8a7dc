"""Models as graphs of ONNX, which other programs run: `to_onnx`. Pipelines of scikit-learn are converted by skl2onnx,
which asks the models of lowdim in them for their converters; see `pipelines`."""

from .converters import CONVERTERS
from .export import to_onnx
from .pipelines import register

__all__ = ["CONVERTERS", "register", "to_onnx"]
