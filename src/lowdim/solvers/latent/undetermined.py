"""Rows with so few observed entries that the noise of a latent Gaussian model is not determined.

K components fit o_i observed entries of a row exactly if o_i <= K, and otherwise leave o_i - K numbers over. A plane of
K dimensions has (K + 1) (p - K) parameters. If sum_i max(o_i - K, 0) is no larger than that, there are planes that
leave nothing over at all: the noise tends to zero, and the likelihood has no maximum (or, if no row has more than K
entries, the noise is not needed at all).
"""

from __future__ import annotations

from ..._xp import namespace
from ...summaries.observed import Observed

#: At most so many steps are taken, or more as long as they take no more than so many operations in all.
_STEPS, _WORK = 60, 1e9


def is_undetermined(observed: Observed, k: int) -> bool:
    """Whether k components can fit the observed entries without noise. `observed` knows their surplus over k."""
    # Both are whole numbers, but for the rounding of weights.
    return _surplus(observed) < _n_parameters(observed, k) + 0.5


def few_steps(observed: Observed, k: int) -> int:
    """The maximal number of steps if the likelihood has no maximum."""
    return max(_STEPS, int(_WORK / (k * k * observed.n_features * observed.n_rows)))


def too_few_entries(observed: Observed, k: int) -> str:
    """The reason why an iteration cannot converge, and what to do."""
    entries = float(namespace(observed.count).sum(observed.count)) / observed.weight
    return (
        f"Rows have {entries:.3g} observed entries on average, too few for {k} components: they can be fitted without "
        f"noise ({_surplus(observed):.6g} entries beyond the first {k} of each row, {_n_parameters(observed, k)} "
        "parameters), so that the likelihood has no maximum. Ask for fewer components, or with PPCA use prior='vb'."
    )


def _surplus(observed: Observed) -> float:
    """sum_i max(o_i - K, 0) over the rows, each of which counts once: a row of weight 2 is fitted exactly by the same
    planes as a row of weight 1. (If weights differ, this is the number of rows times the weighted mean.)"""
    assert observed.surplus is not None, "summed up only with components=k"
    return observed.surplus * observed.n_rows / observed.weight


def _n_parameters(observed: Observed, k: int) -> int:
    """The number of parameters of a plane of k dimensions."""
    return (k + 1) * (observed.n_features - k)
