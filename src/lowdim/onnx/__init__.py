"""Models as graphs of ONNX, which other programs run. Pipelines of scikit-learn are converted by skl2onnx, which finds
the converters of lowdim by itself."""

from .converters import CONVERTERS
from .export import to_onnx

__all__ = ["CONVERTERS", "to_onnx"]
