"""The choice of landmarks among candidate rows: one function per rule, and a table of the rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...kernels import Kernel
from ...linalg import eigh_descending

#: Maximal number of rows from which leverage scores are estimated.
SKETCH = 1500
#: Number of rows whose kernels with these are computed at a time.
_ROWS = 1024


def uniform(kernel: Kernel, rows: Any, weights: np.ndarray, m: int, random: np.random.Generator) -> np.ndarray:
    """The first m candidates. These are in random order, so all distinct rows are equally likely."""
    return np.arange(m)


def kmeans_plus_plus(kernel: Kernel, rows: Any, weights: np.ndarray, m: int, random: np.random.Generator) -> np.ndarray:
    """Landmarks by k-means++ in the feature space [1], [2].

    Each landmark is drawn with probability proportional to its squared distance from the nearest earlier one.

    References
    ----------
    [1] Arthur, Vassilvitskii (2007), k-means++: the advantages of careful seeding.
    [2] Oglic, Gartner (2017), Nystrom method with kernel k-means++ samples as landmarks.
    """
    n = rows.shape[0]
    norms = _diagonal(kernel, rows)
    chosen = [int(random.choice(n, p=weights / weights.sum()))]
    nearest = np.full(n, np.inf)
    while len(chosen) < m:
        last = chosen[-1]
        to_last = norms - 2.0 * kernel(rows, rows[last : last + 1])[:, 0] + norms[last]
        nearest = np.minimum(nearest, np.clip(to_last, 0.0, None))
        nearest[chosen] = 0.0
        mass = nearest * weights
        if mass.sum() <= 0.0:
            # All other rows have the features of a landmark, or the kernel defines no distances.
            chosen += np.setdiff1d(np.arange(n), chosen)[: m - len(chosen)].tolist()
            break
        chosen.append(int(random.choice(n, p=mass / mass.sum())))
    return np.array(chosen)


def leverage(kernel: Kernel, rows: Any, weights: np.ndarray, m: int, random: np.random.Generator) -> np.ndarray:
    """Landmarks drawn with probabilities proportional to their ridge leverage scores [1], [2].

    The scores l_i = [K (K + r I)^(-1)]_ii are estimated from some of the rows; r is the sum of the eigenvalues beyond
    the m-th, divided by m.

    References
    ----------
    [1] Alaoui, Mahoney (2015), Fast randomized kernel ridge regression with statistical guarantees.
    [2] Musco, Musco (2017), Recursive sampling for the Nystrom method.
    """
    n = rows.shape[0]
    some = slice(0, min(n, SKETCH))
    K = np.asarray(kernel(rows[some]), dtype=np.float64)
    values, vectors = eigh_descending(0.5 * (K + K.T))
    values = np.clip(values, 0.0, None)
    # The eigenvalues for all n candidates are about n / s times those for the s rows used here.
    rank = min(max(1, m * len(K) // n), len(K) - 1)
    ridge = max(values[rank:].sum() / m, values[0] * 1e-12)
    scores = _diagonal(kernel, rows)
    for start in range(0, n, _ROWS):
        part = slice(start, start + _ROWS)
        cross = np.asarray(kernel(rows[part], rows[some]), dtype=np.float64) @ vectors.T
        scores[part] -= (cross * cross) @ (1.0 / (values + ridge))
    chance = np.clip(scores, 1e-12, None) * weights
    return random.choice(n, m, replace=False, p=chance / chance.sum())


def _diagonal(kernel: Kernel, rows: Any) -> np.ndarray:
    """k(x, x) for each row x."""
    return np.concatenate(
        [
            np.diagonal(kernel(rows[i : i + 256], rows[i : i + 256])).astype(np.float64)
            for i in range(0, rows.shape[0], 256)
        ]
    )


#: Rules by name.
LANDMARKS: dict[str, Callable[..., np.ndarray]] = {
    "uniform": uniform,
    "k-means++": kmeans_plus_plus,
    "leverage": leverage,
}
