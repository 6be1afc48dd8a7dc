"""The choice of landmarks among candidate rows: one function a rule, and the table of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...kernels import Kernel
from ...linalg import eigh_descending

#: Rows that leverage scores are estimated from, at most.
SKETCH = 1500
#: Rows whose kernels with these are formed at a time.
_ROWS = 1024


def uniform(kernel: Kernel, rows: Any, weights: np.ndarray, m: int, random: np.random.Generator) -> np.ndarray:
    """The first m candidates, which are in random order: each different row is as likely as any other."""
    return np.arange(m)


def kmeans_plus_plus(kernel: Kernel, rows: Any, weights: np.ndarray, m: int, random: np.random.Generator) -> np.ndarray:
    """Each landmark is drawn in proportion to the squared distance, in the feature space, to the nearest one before it
    [1], [2].

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
            # All others have the features of one that is there already, or the kernel knows no distances.
            chosen += np.setdiff1d(np.arange(n), chosen)[: m - len(chosen)].tolist()
            break
        chosen.append(int(random.choice(n, p=mass / mass.sum())))
    return np.array(chosen)


def leverage(kernel: Kernel, rows: Any, weights: np.ndarray, m: int, random: np.random.Generator) -> np.ndarray:
    """Drawn in proportion to the ridge leverage scores l_i = [K (K + r I)^(-1)]_ii, estimated from some of the rows;
    r is the mean of the eigenvalues beyond the m-th [1], [2].

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
    # Eigenvalues of all candidates are about n / s those of the s rows looked at.
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
    """k(x, x) of each row."""
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
