"""Auto-encoders: linear maps plus hidden layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import not_in_onnx
from ..solvers.neural import Path
from .expression import Expression, float64
from .graph import Value


def encoded(model: Any, table: int = 0) -> Expression:
    """The scores of an auto-encoder, for complete rows."""
    network, k = model._network, model.n_components_

    def build(x: Value) -> Value:
        u = _of_path(network.encoder, x.minus(float64(network.mean)) * (1.0 / network.unit), "encoder")
        kept = u if u.width == k else u.take(range(k))
        return kept * float64(network.widths)[:k]

    return Expression(int(model.n_features_in_), build)


def decoded(model: Any, table: int = 0) -> Expression:
    """Rows from the scores of an auto-encoder."""
    network = model._network

    def build(z: Value) -> Value:
        v = _of_path(network.decoder, z * (1.0 / float64(network.widths)), "decoder")
        return v * network.unit + float64(network.mean)

    return Expression(int(network.k), build)


def _of_path(path: Any, v: Value, name: str) -> Value:
    """v A + a, plus the hidden layers."""
    if not isinstance(path, Path):
        raise not_in_onnx(
            f"the {name} of this AutoEncoder",
            "it is a module of your own, and what it computes is not known",
            f"Export it with torch.onnx.export(model.{name}_, ...), or use hidden=(...) in place of a module.",
        )
    found = v @ float64(path.matrix) + float64(path.offset)
    if not path.weights:
        return found
    act, h = _ACTIVATIONS[path.activation], v
    for W, b in zip(path.weights[:-1], path.biases, strict=True):
        h = act(h @ float64(W) + float64(b))
    return found + h @ float64(path.weights[-1])


#: Activations as nodes, by their names in `ACTIVATIONS`.
_ACTIVATIONS: dict[str, Callable[[Value], Value]] = {
    "silu": lambda h: (h * ((h * 0.5).apply("Tanh") + 1.0)) * 0.5,
    "tanh": lambda h: h.apply("Tanh"),
    "relu": lambda h: h.apply("Relu"),
}
