"""Kernel PCA as a feature map followed by PCA: exact where the features can be written out, approximate where random
rows or random frequencies stand in for them.

A solver here makes the map from a sample of the rows. What follows is none of its business: rows are mapped block by
block on their way into a summary, and the spectrum of that summary is solved, as for any PCA. So all of these stream.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ... import features
from ..._xp import Array, astype, is_sparse, to_numpy
from ...errors import choice, kernel_not_finite, no_positive_eigenvalue
from ...kernels import Cosine, Kernel, Linear, Polynomial
from ...linalg import eigh_descending
from .job import PAIRS, KernelJob, KernelSolver
from .landmarks import LANDMARKS, SKETCH

#: Directions of the landmarks with less than this share of the largest eigenvalue are left out: beyond it the products
#: of kernels hold rounding only. In float64 and in float32.
_CUT, _CUT_FLOAT32 = 1e-12, 1e-6
#: Candidates for each landmark, where these are chosen by a rule that compares them.
_CANDIDATES = 10
#: Rows that are kept from being landmarks, for the estimate of the error.
_HELD_OUT = 500
#: Features up to which an explicit map is chosen by itself.
_EXPLICIT_UP_TO = 1000


@dataclass(frozen=True)
class MadeMap:
    """A feature map phi(x) = raw(x) R: scores are linear in raw(x), and moments of phi follow from those of raw."""

    #: Of arrays of the kind that it was made for.
    raw: Callable[[Array], Array]
    #: R, (m, r), or None for the identity.
    root: np.ndarray | None = None
    #: The landmarks, if raw(x) are kernels with them, and which rows of the sample they are; which others were
    #: candidates.
    landmarks: Any = None
    chosen: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=int))
    passed_over: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=int))
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
        # Moments, their image and its eigenvectors; and blocks of features in the making.
        return 8 * (8 * m * m + 6 * min(max(2 * m * m, 2 << 20), job.n * m))


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


@dataclass(frozen=True, eq=False)
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
        if isinstance(self.landmarks, list | tuple):
            object.__setattr__(self, "landmarks", np.asarray(self.landmarks))
        number = isinstance(self.landmarks, int | np.integer) and not isinstance(self.landmarks, bool)
        if not self.given and not (number and self.landmarks >= 1):
            raise ValueError(
                f"Nystrom(landmarks={self.landmarks!r}): a whole number of at least 1, or an array of rows, is needed."
            )

    @property
    def given(self) -> bool:
        """Whether landmarks are rows."""
        return getattr(self.landmarks, "ndim", 0) > 0

    @property
    def count(self) -> int:
        """m."""
        return int(self.landmarks.shape[0]) if self.given else int(self.landmarks)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Nystrom) or self.choose != other.choose or self.given != other.given:
            return False
        if not self.given:
            return bool(self.landmarks == other.landmarks)
        a, b = (n.landmarks.toarray() if is_sparse(n.landmarks) else to_numpy(n.landmarks) for n in (self, other))
        return np.array_equal(a, b)

    def __hash__(self) -> int:
        return hash((self.choose, self.count))

    def make(self, kernel: Kernel, sample: Any, weights: np.ndarray, seed: int) -> MadeMap:
        chosen = passed_over = np.zeros(0, dtype=int)
        if self.given:
            rows = self._given_rows(sample)
        else:
            m = min(self.count, sample.shape[0])
            candidates = sample[: max(m, sample.shape[0] - _HELD_OUT)]
            random = np.random.default_rng(seed)
            chosen = LANDMARKS[self.choose](kernel, candidates, weights[: candidates.shape[0]], m, random)
            passed_over = np.setdiff1d(np.arange(candidates.shape[0]), chosen)
            rows = candidates[chosen]
        # Without a sample there is but a row of which only the width matters.
        origin = None if sample.shape[0] == 1 or is_sparse(sample) else weights @ sample / weights.sum()
        raw = kernel_columns(kernel, rows, origin)
        K = np.asarray(raw(rows), dtype=np.float64)
        if not np.all(np.isfinite(K)):
            raise kernel_not_finite(kernel)
        values, vectors = eigh_descending(0.5 * (K + K.T))
        kept = values > (_CUT_FLOAT32 if rows.dtype.itemsize < 8 else _CUT) * max(float(values[0]), 0.0)
        if not np.any(kept):
            raise no_positive_eigenvalue(f"the kernel matrix of the {len(values)} landmarks")
        root = vectors[kept].T / np.sqrt(values[kept])
        return MadeMap(raw, root, rows, chosen, passed_over, 0.0 if kernel.semidefinite else _negative_mass(K))

    def _given_rows(self, sample: Any) -> Any:
        """The landmarks that were given, as rows like those of the sample."""
        rows = self.landmarks
        if is_sparse(rows):
            rows = rows.tocsr().astype(sample.dtype)
        else:
            try:
                rows = np.asarray(to_numpy(rows), dtype=sample.dtype)
            except (TypeError, ValueError):
                raise ValueError("Nystrom(landmarks=...): rows of numbers are needed.") from None
        if rows.ndim != 2 or rows.shape[0] < 1 or rows.shape[1] != sample.shape[1]:
            raise ValueError(
                f"Nystrom(landmarks=...) has shape {tuple(rows.shape)}; rows of {sample.shape[1]} columns are needed, "
                "as X has them."
            )
        if not np.all(np.isfinite(rows.data if is_sparse(rows) else rows)):
            raise ValueError("Nystrom(landmarks=...) contains NaN or infinity.")
        return rows

    def width(self, job: KernelJob) -> int:
        return min(self.count, job.n)

    @property
    def sample_size(self) -> int:
        if self.given:
            return _HELD_OUT
        return (self.count if self.choose == "uniform" else max(_CANDIDATES * self.count, 2000)) + _HELD_OUT

    def n_bytes(self, job: KernelJob) -> int:
        sample = min(self.sample_size, job.n)
        compared = {"leverage": 8 * SKETCH**2, "k-means++": 4 * sample}.get(self.choose, 0)
        # Copies of the sample while it grows and is compared, and of the landmarks for kernels to be taken with.
        rows = job.p * (8 * sample + 4 * self.width(job))
        return super().n_bytes(job) + 8 * (rows + compared + 2 * min(sample, PAIRS) ** 2)

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


def kernel_columns(kernel: Kernel, rows: Array, origin: Array | None) -> Any:
    """x -> kernels of x with `rows`. Where a shift of all rows is harmless after centring, and the kernel does not see
    to it itself, they are measured from `origin`: far from zero products would lose their digits."""
    if origin is None or is_sparse(rows) or kernel.shift_invariant or not kernel.shift_free:
        return features.KernelColumns(kernel, rows)
    shift = astype(origin, rows.dtype)
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
