"""The activations of hidden layers, and their table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..._xp import Array, namespace


@dataclass(frozen=True)
class Activation:
    """A function of each entry: as a formula for arrays of any library, and its name in `torch.nn.functional`."""

    name: str
    of: Callable[[Array], Array]
    in_torch: str


def _tanh(H: Array) -> Array:
    return namespace(H).tanh(H)


def _relu(H: Array) -> Array:
    xp = namespace(H)
    return xp.where(H > 0, H, xp.zeros_like(H))


def _silu(H: Array) -> Array:
    # h / (1 + exp(-h)), in a form that cannot overflow.
    return 0.5 * H * (1.0 + namespace(H).tanh(0.5 * H))


#: Activations by name.
ACTIVATIONS: dict[str, Activation] = {
    row.name: row
    for row in (Activation("silu", _silu, "silu"), Activation("tanh", _tanh, "tanh"), Activation("relu", _relu, "relu"))
}
