"""What a solve of independent component analysis returns: the likeliest answer, its sources ordered and signed."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...linalg import signs
from ..results import Status, Unmixing


@dataclass(frozen=True)
class IcaFit:
    """The answer of the highest likelihood among those from all starts."""

    best: Unmixing
    #: How well each source was found from the other starts, (k,); None after a single one.
    stability: np.ndarray | None
    #: Passes over the rows, of all starts together.
    passes: int
    #: What each source contributes to a row, a_i, as rows, (k, p).
    mixing: np.ndarray
    #: Standard deviation that each source has in the rows, ||a_i|| sd(u_i), descending, (k,).
    sizes: np.ndarray

    @property
    def status(self) -> Status:
        """How the iteration ended."""
        return self.best.status


def sort_sources(best: Unmixing, stability: np.ndarray | None, passes: int, lift: np.ndarray) -> IcaFit:
    """The answer with its sources in order of their variance in the rows, which are mean + z `lift`.

    A = W^{-1} lift; the entry of largest magnitude in each of its rows is made positive. Sources are compared by
    deviations, not by variances, whose squares may leave the range of numbers.
    """
    W = best.W
    mixing = np.linalg.solve(W, np.eye(len(W))).T @ lift
    sizes = np.linalg.norm(mixing, axis=1) * np.sqrt(np.einsum("ij,ij->i", W, W))
    order = np.argsort(-sizes, kind="stable")
    sign = signs(mixing[order])[:, None]
    ordered = replace(
        best,
        W=sign * W[order],
        flipped=best.flipped[order],
        stability=best.stability[order],
        kurtosis=best.kurtosis[order],
    )
    return IcaFit(
        best=ordered,
        stability=None if stability is None else stability[order],
        passes=passes,
        mixing=sign * mixing[order],
        sizes=sizes[order],
    )
