"""One pass over the rows after training: the distribution of the scores, and the losses of two networks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._xp import Array, namespace, to_numpy
from ...summaries.moments import Moments
from ..base import RowsLike
from .network import Network


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Means over the rows, with their weights."""

    #: Mean (k,) and covariance (k, k) of the scores, divisor n, in units of the network.
    mean: np.ndarray
    covariance: np.ndarray
    #: Mean squared error of a row, in units of the network; and mean loss: the same, or minus the evidence bound.
    error: float
    loss: float
    #: The mean loss of the other network.
    other_loss: float


def evaluate(rows: RowsLike, network: Network, other: Network) -> Evaluation:
    """Scores and losses of all rows, in one pass."""
    k = network.k

    def results(block: Array) -> Array:
        xp = namespace(block)
        errors = network.errors_of_units(block)
        if network.log_noise is None:
            losses, others = errors, other.errors_of_units(block)
        else:
            losses, others = -network.bounds(block), -other.bounds(block)
        beside = [network.scores(block) / network.unit, *(each[:, None] for each in (errors, losses, others))]
        return xp.concat(beside, axis=1)

    moments = rows.mapped(results).summarize(Moments(k + 3, wide=True))
    mean, scatter = to_numpy(moments.mean).astype(np.float64), to_numpy(moments.scatter).astype(np.float64)
    return Evaluation(
        mean[:k],
        scatter[:k, :k] / moments.weight,
        *(float(value) for value in mean[k:]),
    )
