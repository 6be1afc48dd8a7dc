"""Kernel PCA as a feature map followed by PCA: exact where the features can be written out, approximate where random
rows or random frequencies stand in for them.

A solver here makes the map from a sample of the rows. What follows is none of its business: rows are mapped block by
block on their way into a summary, and the spectrum of that summary is solved, as for any PCA. So all of these stream.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import features
from .._xp import Array, astype, is_sparse, namespace, to_numpy
from ..errors import choice, kernel_not_finite
from ..kernels import Cosine, Kernel, Linear, Polynomial
from ..linalg import eigh_descending
from .kernel_base import KernelJob, KernelSolver
from .landmarks import LANDMARKS

#: Directions of the landmarks with less than this share of the largest eigenvalue are left out: beyond it the products
#: of kernels hold rounding only. In float64 and in float32.
_CUT, _CUT_FLOAT32 = 1e-12, 1e-7
#: Candidates for each landmark, where these are chosen by a rule that compares them.
_CANDIDATES = 10
#: Rows that the error is estimated from.
_HELD_OUT = 500
#: Half the interval of the error, in standard errors: rows have skewed errors, and 2.6 would hold 98 times in 100 only.
_DEVIATIONS = 3.3
#: Features up to which an explicit map is chosen by itself.
_EXPLICIT_UP_TO = 1000


@dataclass(frozen=True)
class MadeMap:
    """A feature map phi(x) = raw(x) R: scores are linear in raw(x), and moments of phi follow from those of raw."""

    #: Of arrays of the kind that it was made for.
    raw: Callable[[Array], Array]
    #: R, (m, r), or None for the identity.
    root: np.ndarray | None = None
    #: The landmarks, if raw(x) are kernels with them; which rows of the sample are none of them.
    landmarks: Any = None
    others: np.ndarray | None = None
    #: Share of the spectrum of the landmarks that is negative and was left out.
    negative_mass: float = 0.0

    def on(self, like: Array) -> MadeMap:
        """The same map for arrays of the kind of `like`."""
        move = getattr(self.raw, "on", None)
        return self if move is None or isinstance(like, np.ndarray) else replace(self, raw=move(like))

    def of(self, rows: Any) -> np.ndarray:
        """phi of rows on the host."""
        values = to_numpy(self.raw(rows)).astype(np.float64)
        return values if self.root is None else values @ self.root


class MapSolver(KernelSolver):
    """A feature map of the rows, then PCA."""

    #: Whether phi(x) . phi(y) is the kernel itself.
    exact = False

    @abstractmethod
    def make(self, kernel: Kernel, sample: Any, weights: np.ndarray, seed: int) -> MadeMap:
        """The map, from a sample of the rows (on the host) and how often each occurs."""

    @abstractmethod
    def width(self, job: KernelJob) -> int:
        """Features."""

    @property
    def sample_size(self) -> int:
        """Rows that `make` and the estimate of the error want."""
        return _HELD_OUT

    def n_bytes(self, job: KernelJob) -> int:
        m = self.width(job)
        return 8 * m * (6 * m + max(2048, 2 * m))


@dataclass(frozen=True)
class Explicit(MapSolver):
    """The features of a kernel that has few: linear, cosine, or polynomial of a small whole degree.

    Notes
    -----
    Exact. The passes and the memory of PCA on so many columns.
    """

    name = "features"
    exact = True

    def make(self, kernel: Kernel, sample: Any, weights: np.ndarray, seed: int) -> MadeMap:
        found = explicit_map(kernel, int(sample.shape[1]))
        assert found is not None, "refusal() has seen to it"
        return MadeMap(found[0])

    def width(self, job: KernelJob) -> int:
        found = explicit_map(job.kernel, job.p)
        return job.p if found is None else found[1]

    def refusal(self, job: KernelJob) -> Exception | None:
        if explicit_map(job.kernel, job.p) is None:
            what = "a matrix that is given" if job.kernel is None else str(job.kernel)
            return ValueError(
                f"solver='features' needs a kernel whose features can be written out (linear, cosine, polynomial of a "
                f"whole degree with coef0 >= 0), not {what}."
            )
        return super().refusal(job)

    def is_sensible(self, job: KernelJob) -> bool:
        """Whether `auto` should choose it: few features, many rows."""
        if self.refusal(job) is not None:
            return False
        width = self.width(job)
        return width <= _EXPLICIT_UP_TO and (not job.whole or job.n > max(1000, 4 * width))


@dataclass(frozen=True)
class Nystrom(MapSolver):
    """Features phi(x) = L^(-1/2) U^T k(x), with k(x) the kernels of x with m landmarks and U L U^T those of the
    landmarks with one another: the projection of the exact features on those of the landmarks [1]_.

    Parameters
    ----------
    landmarks : int or array of shape (m, n_features)
        How many, or the landmarks themselves.
    choose : str
        How landmarks are chosen among the rows: "uniform", "k-means++" (far from one another), or "leverage" (by how
        much each matters to the kernel matrix).

    Notes
    -----
    Moments of the kernels k(x) are summed, and those of phi are U L^(-1/2) from both sides of them, so that the map
    costs nothing a row. One pass for the sample, one for the moments: n m kernels, n m^2 multiplications and 8 m^2
    numbers.

    References
    ----------
    .. [1] Williams, Seeger (2001), Using the Nystrom method to speed up kernel machines.
    """

    name = "nystrom"
    landmarks: Any = 1000
    choose: str = "uniform"

    def __post_init__(self) -> None:
        if self.choose not in LANDMARKS:
            raise choice("choose", self.choose, list(LANDMARKS))
        if not hasattr(self.landmarks, "shape") and (
            isinstance(self.landmarks, bool) or not isinstance(self.landmarks, int | np.integer) or self.landmarks < 1
        ):
            raise ValueError(
                f"Nystrom(landmarks={self.landmarks!r}): a whole number of at least 1, or an array of rows, is needed."
            )

    @property
    def count(self) -> int:
        """m."""
        return int(self.landmarks.shape[0]) if hasattr(self.landmarks, "shape") else int(self.landmarks)

    def make(self, kernel: Kernel, sample: Any, weights: np.ndarray, seed: int) -> MadeMap:
        others = None
        if hasattr(self.landmarks, "shape"):
            rows = to_numpy(self.landmarks)
        else:
            m = min(self.count, sample.shape[0])
            candidates = sample[: max(m, sample.shape[0] - _HELD_OUT)]
            random = np.random.default_rng(seed)
            chosen = LANDMARKS[self.choose](kernel, candidates, weights[: candidates.shape[0]], m, random)
            rows = candidates[chosen]
            others = np.setdiff1d(np.arange(sample.shape[0]), chosen)
        raw = kernel_columns(kernel, rows)
        K = np.asarray(raw(rows), dtype=np.float64)
        if not np.all(np.isfinite(K)):
            raise kernel_not_finite(kernel)
        values, vectors = eigh_descending(0.5 * (K + K.T))
        narrow = rows.dtype.itemsize < 8
        cut = (_CUT_FLOAT32 if narrow else _CUT) * max(float(values[0]), 0.0)
        kept = values > cut
        if not np.any(kept):
            raise ValueError(f"{kernel} has no positive eigenvalue on the {len(values)} landmarks.")
        return MadeMap(
            raw,
            vectors[kept].T / np.sqrt(values[kept]),
            rows,
            others,
            0.0 if kernel.semidefinite else _negative_mass(K),
        )

    def width(self, job: KernelJob) -> int:
        return min(self.count, job.n)

    @property
    def sample_size(self) -> int:
        if hasattr(self.landmarks, "shape"):
            return _HELD_OUT
        return (self.count if self.choose == "uniform" else max(_CANDIDATES * self.count, 2000)) + _HELD_OUT

    def refusal(self, job: KernelJob) -> Exception | None:
        if job.kernel is None:
            return ValueError(
                "solver='nystrom' computes kernels of rows with landmarks; of a matrix that is given, pass the columns "
                "of the landmarks as rows of another fit, or use solver='krylov'."
            )
        return super().refusal(job)


def _negative_mass(K: np.ndarray) -> float:
    """The negative share of the spectrum of the centred kernels of landmarks with one another."""
    means = K.mean(axis=0)
    values = np.linalg.eigvalsh(K - means - means[:, None] + means.mean())
    return float(np.abs(values[values < 0.0]).sum() / (np.abs(values).sum() or 1.0))


@dataclass(frozen=True)
class FourierFeatures(MapSolver):
    """Features sqrt(2 / m) (cos w_j . x, sin w_j . x) with random frequencies w_j, for shift-invariant kernels [1]_.

    Parameters
    ----------
    features : int
        How many, m: sines and cosines together.

    Notes
    -----
    phi(x) . phi(y) is the kernel on average, and within about sqrt(2 / m) of it. One pass where the width of the kernel
    is known, otherwise one more for a sample: n m p multiplications for the features, n m^2 for their moments.

    References
    ----------
    .. [1] Rahimi, Recht (2007), Random features for large-scale kernel machines.
    """

    name = "fourier"
    features: int = 1000

    def __post_init__(self) -> None:
        if isinstance(self.features, bool) or not isinstance(self.features, int | np.integer) or self.features < 2:
            raise ValueError(f"FourierFeatures(features={self.features!r}): a whole number of at least 2 is needed.")

    def make(self, kernel: Kernel, sample: Any, weights: np.ndarray, seed: int) -> MadeMap:
        p = int(sample.shape[1])
        w = kernel.frequencies(p, self.features // 2, np.random.default_rng(seed))
        amplitude = float(kernel(np.zeros((1, p)))[0, 0])
        return MadeMap(features.Fourier(w, amplitude))

    def width(self, job: KernelJob) -> int:
        return 2 * (self.features // 2)

    def refusal(self, job: KernelJob) -> Exception | None:
        if job.kernel is None or not job.kernel.shift_invariant:
            what = "a matrix that is given" if job.kernel is None else str(job.kernel)
            return ValueError(
                f"solver='fourier' is for kernels of x - y alone (gaussian, laplacian, matern), not for {what}; use "
                "solver='nystrom'."
            )
        return super().refusal(job)


def kernel_columns(kernel: Kernel, rows: Array, weights: Array | None = None) -> Any:
    """x -> kernels of x with `rows`. Where a shift of all rows is harmless after centring, and the kernel does not see
    to it itself, they are measured from the mean of `rows`: far from zero products would lose their digits."""
    if is_sparse(rows) or kernel.shift_invariant or not kernel.shift_free:
        return features.KernelColumns(kernel, rows)
    xp = namespace(rows)
    w = xp.ones_like(rows[:, 0]) if weights is None else astype(weights, rows.dtype)
    shift = w @ rows / xp.sum(w)
    return features.Scaled(features.KernelColumns(kernel, rows - shift), shift=shift)


def explicit_map(kernel: Kernel | None, p: int) -> tuple[Callable[[Array], Array], int] | None:
    """The feature map for p columns of a kernel that has one, and its width."""
    if isinstance(kernel, Linear):
        return features.Same(), p
    if isinstance(kernel, Cosine):
        return features.UnitLength(), p
    if isinstance(kernel, Polynomial) and kernel.semidefinite:
        up_to = {"up_to": True, "coef0": kernel.coef0} if kernel.coef0 > 0.0 else {}
        phi = features.Polynomial(int(kernel.degree), **up_to)  # type: ignore[arg-type] # a flag and a number
        return features.Scaled(phi, math.sqrt(kernel.gamma or 1.0 / p)), phi.width(p)
    return None


@dataclass(frozen=True)
class MapError:
    """How far a map is from its kernel: an estimate, and an interval that should hold the error of all rows 99 times in
    100."""

    value: float
    low: float
    high: float


def left_out(made: MadeMap, kernel: Kernel, sample: Any, weights: np.ndarray, total: float, n: float) -> MapError:
    """The variance that the map leaves out, as a share of all there is in the feature space, from rows that are no
    landmarks.

    With r(x, y) = k(x, y) - phi(x) . phi(y), which is zero for landmarks, it is
    sum_i r(x_i, x_i) - sum_ij r(x_i, x_j) / n over all `n` rows; `total` is the variance of phi, summed over them.
    """
    others = np.arange(sample.shape[0]) if made.others is None else made.others
    if len(others) == 0:
        return MapError(0.0, 0.0, 0.0)
    rows, w = sample[others], weights[others]
    shift = getattr(made.raw, "shift", None)
    phi = made.of(rows)
    rest = to_numpy(kernel(rows if shift is None else rows - shift)).astype(np.float64) - phi @ phi.T
    own = np.abs(np.diagonal(rest))
    known = float(w.sum())
    chosen = float(weights.sum()) - known if made.others is not None else 0.0
    scale = max(0.0, n - chosen) / known
    mean = float(w @ own) / known
    # Pairs of one row with itself are as many as such rows, others as many as the square of it.
    same = float((w * w) @ own)
    together = (scale * same + scale * scale * (float(w @ rest @ w) - same)) / n
    spread = _DEVIATIONS * math.sqrt(float((w * w) @ (own - mean) ** 2) * max(0.0, 1.0 - 1.0 / max(scale, 1.0)))
    sums = [max(0.0, scale * s - together) for s in (known * mean, known * mean - spread, known * mean + spread)]
    return MapError(*(s / (total + s) if total + s > 0.0 else 0.0 for s in sums))


def kernel_difference(made: MadeMap, kernel: Kernel, sample: Any) -> MapError:
    """Root mean square of phi(x) . phi(y) - k(x, y) over pairs of rows, beside that of k(x, y)."""
    phi = made.of(sample)
    K = to_numpy(kernel(sample, sample)).astype(np.float64)
    error = float(np.sqrt(np.mean((phi @ phi.T - K) ** 2) / (np.mean(K * K) or 1.0)))
    return MapError(error, error, error)
