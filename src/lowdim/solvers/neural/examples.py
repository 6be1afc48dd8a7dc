"""Rows for training as tensors: standardised, with their weights, and taken in batches."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._xp import Array, is_sparse, namespace, to_numpy
from .network import Network
from .optional_torch import Tensor, torch
from .torch_modules import as_tensor


class Examples:
    """Rows of a window. Dense rows are kept as tensors; sparse ones become dense batch by batch."""

    def __init__(self, network: Network, X: Array, weights: Array | None, keep: np.ndarray, like: Tensor) -> None:
        if weights is not None:
            keep = keep & (to_numpy(weights) > 0)
        index = np.flatnonzero(keep)
        self._network, self._like, self._sparse = network, like, is_sparse(X)
        self.length = len(index)
        self.weights = None if weights is None else as_tensor(to_numpy(weights)[index], like)
        rows = X if len(index) == X.shape[0] else _taken(X, index)
        self._rows: Any = rows if self._sparse else self._tensors(rows)

    @property
    def total(self) -> float:
        """The sum of the weights."""
        return float(self.length) if self.weights is None else float(self.weights.sum())

    @property
    def repeated(self) -> float:
        """The number of rows, each repeated as often as its weight says."""
        return max(float(self.length), self.total)

    def in_order(self, order: np.ndarray) -> Any:
        """Indices of the rows, of which parts can be taken; those of dense rows are on the device of the rows."""
        return order if self._sparse else torch.from_numpy(order).to(self._like.device)

    def take(self, at: Any) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """v, which entries are known (None: all), and the weights (None: one) of these rows: a part of what `in_order`
        returns, or a slice."""
        weights = None if self.weights is None else self.weights[at]
        if self._sparse:
            return (*self._tensors(self._rows[at]), weights)
        V, known = self._rows
        return V[at], None if known is None else known[at], weights

    def _tensors(self, X: Array) -> tuple[Tensor, Tensor | None]:
        V, known = self._network.standardized(X)
        return as_tensor(V, self._like), None if known is None else as_tensor(known).to(self._like)


def _taken(X: Array, index: np.ndarray) -> Array:
    """Some rows of a dense or sparse array."""
    if is_sparse(X) or isinstance(X, np.ndarray):
        return X[index]
    xp = namespace(X)
    return xp.take(X, xp.asarray(index, device=X.device), axis=0)
