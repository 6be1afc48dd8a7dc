"""torch, as far as it is installed: the only file of the problem that imports it.

It is read only when a network is trained, or when a module of the user is applied.
"""

from __future__ import annotations

from typing import Any

from ...errors import missing_extra

try:
    import torch
except ImportError:
    torch = None

__all__ = ["Module", "Tensor", "require_torch", "torch"]

#: Tensors, which have no types here, and the base class of modules.
Tensor = Any
Module: Any = object if torch is None else torch.nn.Module


def require_torch() -> None:
    """Raise an error that says how to install torch, if it is missing."""
    if torch is None:
        raise missing_extra("an AutoEncoder with hidden layers", "torch", "torch")
