"""The result of independent component analysis: the solution of highest likelihood, with ordered and signed sources."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...linalg import signs
from ..results import Status, Unmixing


@dataclass(frozen=True)
class IcaFit:
    """The result of highest likelihood from all starts."""

    best: Unmixing
    #: How well each source was found again from the other starts, (k,); None if there was a single start.
    stability: np.ndarray | None
    #: Passes over the rows, for all starts together.
    passes: int
    #: The contribution a_i of each source to a row, as rows, (k, p).
    mixing: np.ndarray
    #: Standard deviation of the contribution of each source, ||a_i|| sd(u_i), descending, (k,).
    sizes: np.ndarray

    @property
    def status(self) -> Status:
        """How the iteration ended."""
        return self.best.status


def sort_sources(best: Unmixing, stability: np.ndarray | None, passes: int, lift: np.ndarray) -> IcaFit:
    """The result with its sources in order of their variance in the rows, which are mean + z `lift`.

    A = W^{-1} lift; the entry of largest magnitude in each of its rows is made positive. Sources are compared by their
    standard deviations, since variances may overflow.
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
