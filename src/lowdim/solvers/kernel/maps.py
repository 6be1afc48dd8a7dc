"""Kernel PCA as a feature map followed by PCA.

It is exact if the kernel has explicit features, and approximate if landmarks or random frequencies are used. A solver
only constructs the map, from a sample of the rows. Rows are then mapped block by block as they are summarized, and the
spectrum is computed from the summary, as for any PCA. All of these solvers therefore work on streams.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ... import features
from ..._core.arrays import Array, asarray_like, is_sparse, to_numpy
from ...errors import choice, kernel_not_finite, no_positive_eigenvalue
from ...kernels import Kernel, Linear, no_frequencies
from ...linalg import eigh_descending, require_normal, require_rows
from ...summaries.moments import Moments
from ...summaries.sample import Sample
from ..problem import EIGH_WORK, Cost, Request, RowsLike, SpectraLike, Spectrum, check_whole
from .matrix import Components, KernelJob, KernelSolver, MapError, array_like, kernel_columns


@dataclass(frozen=True)
class KernelFeatureMap:
    """A feature map phi(x) = raw(x) R: scores are linear in raw(x), and moments of phi follow from those of raw."""

    #: The map raw.
    raw: Callable[[Array], Array]
    #: R, (m, r), or None for the identity.
    root: np.ndarray | None = None
    #: The landmarks, if raw(x) are the kernels with them; their indices in the sample; and the indices of those
    #: candidates that did not become landmarks.
    landmarks: Any = None
    chosen: Any = None
    rejected: Any = None
    #: Share of negative eigenvalues in the spectrum of the landmarks; they are left out.
    negative_mass: float = 0.0

    def features(self, rows: Any) -> np.ndarray:
        """phi of rows that are NumPy arrays or sparse matrices."""
        values = to_numpy(self.raw(rows)).astype(np.float64)
        return values if self.root is None else values @ self.root


# The choice of landmarks among candidate rows: one function per rule, and a table of the rules.


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

#: Directions of the landmarks with less than this share of the largest eigenvalue are left out, because they contain
#: only rounding; in float64 and in float32.
_CUT, _CUT_FLOAT32 = 1e-12, 1e-6
#: Number of candidates per landmark, for rules that compare candidates.
_CANDIDATES = 10
#: Number of rows of the sample that cannot become landmarks, for the estimate of the error.
_HELD_OUT = 500


class MapSolver(KernelSolver):
    """A solver that applies a feature map to the rows, followed by PCA."""

    on_host = "a sample of the rows"
    #: Whether phi(x) . phi(y) equals the kernel.
    exact: ClassVar[bool] = False
    #: The reason why "auto" chooses it, if it does.
    reason: ClassVar[str] = ""

    @abstractmethod
    def make(self, kernel: Kernel, sample: Any, weights: np.ndarray, seed: int) -> KernelFeatureMap:
        """The map, from a sample of the rows in host memory and the weights of these rows."""

    @abstractmethod
    def width(self, job: KernelJob) -> int:
        """The number of features."""

    @property
    def sample_size(self) -> int:
        """The number of rows that `make` and the estimate of the error need."""
        return _HELD_OUT

    def components(
        self, rows: RowsLike, job: KernelJob, sample: Sample | None, seed: int, spectra: SpectraLike
    ) -> Components:
        """Components by a feature map followed by PCA, for any rows that can be read in blocks.

        It takes one pass over the rows (for explicit features, those of PCA), and the memory of PCA with one column per
        feature.
        """
        kernel, like = job.kernel, rows.empty(0)
        assert kernel is not None, "refusal() rejects precomputed kernel matrices"
        # Without a sample, the map depends only on the number of columns.
        some = to_numpy(rows.empty(1, job.p)) if sample is None else sample.rows
        counts = np.ones(1) if sample is None else sample.weights
        phi = self.make(kernel, some, counts, seed)
        move = getattr(phi.raw, "on", None)
        raw = phi.raw if move is None or isinstance(like, np.ndarray) else move(like)
        mapped = rows.mapped(raw, widen=True)
        width = mapped.shape[1] if phi.root is None else phi.root.shape[1]
        request = Request(k=None if job.k is None else min(job.k, width), ddof=1, fixed_ddof=True, seed=seed)
        image, expansion = None, None
        if phi.root is None:
            spectrum, _ = spectra.solve(mapped, request, "auto")
            offset, projection = spectrum.mean, spectrum.vectors.T
        else:
            # R may be large in directions in which kernels hardly vary, where products in float32 would be noise.
            moments = mapped.summarize(Moments(phi.root.shape[0], wide=True))
            require_rows(moments.n_rows, moments.weight, 1, fixed=True)
            image = moments.image(phi.root)
            spectrum, _ = spectra.solve_summary(image, request)
            root = asarray_like(phi.root, moments.mean, dtype=moments.mean.dtype)
            offset, projection = moments.mean, root @ spectrum.vectors.T
            # The point mean + W^T z in the space of phi = R^T k(x) has the weights R (mean + W^T z) on the landmarks.
            R = asarray_like(phi.root, spectrum.mean, dtype=spectrum.mean.dtype)
            expansion = spectrum.vectors[: spectrum.rank, :] @ R.T, R @ spectrum.mean
        # If the kernel is not positive semidefinite, the largest eigenvalue may be negative.
        largest = math.sqrt(max(float(spectrum.values[0]), 0.0))
        require_normal(largest, like, "the features of the kernel", math.sqrt(spectrum.weight))
        error = MapError(0.0, 0.0, 0.0)
        total = spectrum.total
        if not self.exact:
            error = _error(phi, kernel, sample, spectrum, image)
            if image is not None and error.value < 1.0:
                # The total includes the variance that the landmarks leave out.
                total = total / (1.0 - error.value)
        kept = spectrum.rank
        return Components(
            phi=raw,
            projection=projection[:, :kept],
            offset=offset,
            values=spectrum.values[:kept],
            total=total,
            negative_mass=phi.negative_mass,
            status=spectrum.status,
            residual=spectrum.residual,
            passes=spectrum.passes + (image is not None),
            n_rows=spectrum.n_rows,
            weight=spectrum.weight,
            basis=array_like(phi.landmarks, like),
            expansion=expansion,
            error=error,
        )

    def cost(self, job: KernelJob) -> Cost:
        """Moments of m features and their eigenproblem."""
        m = self.width(job)
        work = float(job.rows) * m * m + EIGH_WORK * m**3
        # Moments, their image and its eigenvectors; and blocks of features that are being computed.
        n_bytes = 8 * (8 * m * m + 6 * min(max(2 * m * m, 2 << 20), job.rows * m))
        return Cost(work, passes=1, n_bytes=n_bytes, why=self.reason)

    def is_sensible(self, job: KernelJob) -> bool:
        """No: an approximation runs only if it is requested."""
        return False

    def memory_advice(self, job: KernelJob) -> str:
        return "Use fewer landmarks or features, or allow more memory."

    def refusal(self, job: KernelJob) -> Exception | None:
        if job.objects:
            return TypeError(f"solver={self.name!r} is for rows of numbers; use solver='krylov' or 'dense'.")
        return super().refusal(job)


@dataclass(frozen=True)
class Features(MapSolver):
    """PCA of the explicit features of a kernel that has few: linear, cosine, or polynomial of a small whole degree.

    Notes
    -----
    Exact. Passes and memory are those of PCA with one column per feature.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lowdim import KernelPCA
    >>> from lowdim.solvers import Features
    >>> KernelPCA(2, kernel="quadratic", solver=Features()).fit(load_iris().data).solver_
    'features'
    """

    name = "features"
    exact = True
    reason = "the features of this kernel can be written out, and there are few"

    def job_of(self, sources: Sequence[Any], k: int | None) -> KernelJob:
        """The job for the linear kernel, whose features are the columns."""
        return replace(super().job_of(sources, k), kernel=Linear())

    def make(self, kernel: Kernel, sample: Any, weights: np.ndarray, seed: int) -> KernelFeatureMap:
        found = kernel.explicit_features(int(sample.shape[1]))
        assert found is not None, "refusal() rejects kernels without explicit features"
        return KernelFeatureMap(found[0])

    def width(self, job: KernelJob) -> int:
        found = job.explicit_features
        return job.p if found is None else found[1]

    def refusal(self, job: KernelJob) -> Exception | None:
        if job.explicit_features is None:
            what = "a precomputed matrix" if job.kernel is None else str(job.kernel)
            return ValueError(
                f"solver='features' needs a kernel whose features can be written out (linear, cosine, polynomial of a "
                f"whole degree with coef0 >= 0), not {what}."
            )
        return super().refusal(job)

    def is_sensible(self, job: KernelJob) -> bool:
        return job.has_few_features

    def memory_advice(self, job: KernelJob) -> str:
        return "Lower the degree, or use another solver, which needs no explicit features."


@dataclass(frozen=True, eq=False)
class Nystrom(MapSolver):
    """Features phi(x) = L^(-1/2) U^T k(x), the projection of the exact features on those of m landmarks [1]_.

    Here k(x) are the kernels of x with the landmarks, and U L U^T is the kernel matrix of the landmarks.

    Parameters
    ----------
    landmarks : int or array of shape (m, n_features), default=1000
        Number of landmarks, or the landmarks themselves.
    choose : str, default="uniform"
        Rule for choosing the landmarks among the rows: "uniform", "k-means++" (far from one another), or "leverage" (by
        their influence on the kernel matrix).

    Notes
    -----
    The moments of the kernels k(x) are summed over the rows; those of phi follow by multiplying with U L^(-1/2) from
    both sides, so phi itself is not computed for each row. One pass for the sample and one for the moments: n m
    kernels, n m^2 multiplications and 8 m^2 numbers of memory.

    References
    ----------
    .. [1] Williams, Seeger (2001), Using the Nystrom method to speed up kernel machines.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lowdim import KernelPCA
    >>> from lowdim.solvers import Nystrom
    >>> X = load_iris().data
    >>> KernelPCA(2, kernel="rbf", gamma=0.5, solver=Nystrom(landmarks=50)).fit_transform(X).shape
    (150, 2)
    """

    name = "nystrom"
    reason = "rows come in blocks, so not all pairs can be formed, and landmarks are used instead"
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
        if self.given and self.choose != "uniform":
            raise ValueError(f"Nystrom(choose={self.choose!r}) is a rule for choosing landmarks, but they are given.")

    @property
    def given(self) -> bool:
        """Whether the landmarks themselves are given."""
        return getattr(self.landmarks, "ndim", 0) > 0

    @property
    def count(self) -> int:
        """The number of landmarks m."""
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

    def make(self, kernel: Kernel, sample: Any, weights: np.ndarray, seed: int) -> KernelFeatureMap:
        chosen = rejected = np.zeros(0, dtype=int)
        if self.given:
            rows = self._given_rows(sample)
        else:
            m = min(self.count, sample.shape[0])
            candidates = sample[: max(m, sample.shape[0] - _HELD_OUT)]
            random = np.random.default_rng(seed)
            chosen = LANDMARKS[self.choose](kernel, candidates, weights[: candidates.shape[0]], m, random)
            rejected = np.setdiff1d(np.arange(candidates.shape[0]), chosen)
            rows = candidates[chosen]
        # Without a sample, `sample` is a single row of which only the number of columns is meaningful.
        origin = None if sample.shape[0] == 1 or is_sparse(sample) else weights @ sample / weights.sum()
        raw = kernel_columns(kernel, rows, origin)
        K = np.asarray(raw(rows), dtype=np.float64)
        if not np.all(np.isfinite(K)):
            raise kernel_not_finite(kernel)
        values, vectors = eigh_descending(0.5 * (K + K.T))
        kept = values > (_CUT_FLOAT32 if rows.dtype.itemsize < 8 else _CUT) * max(float(values[0]), 0.0)
        if not np.any(kept):
            raise no_positive_eigenvalue(f"the kernel matrix of the {len(values)} landmarks")
        require_normal(float(values[0]), rows, "the features of the kernel", len(values))
        root = vectors[kept].T / np.sqrt(values[kept])
        negative_mass = 0.0
        if not kernel.semidefinite:
            # The share of negative eigenvalues in the spectrum of the centred kernel matrix of the landmarks.
            means = K.mean(axis=0)
            values = np.linalg.eigvalsh(K - means - means[:, None] + means.mean())
            negative_mass = float(np.abs(values[values < 0.0]).sum() / (np.abs(values).sum() or 1.0))
        return KernelFeatureMap(raw, root, rows, chosen, rejected, negative_mass)

    def _given_rows(self, sample: Any) -> Any:
        """The given landmarks, as an array or sparse matrix with the dtype of the sample."""
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
        return min(self.count, job.rows)

    @property
    def sample_size(self) -> int:
        if self.given:
            return _HELD_OUT
        return (self.count if self.choose == "uniform" else max(_CANDIDATES * self.count, 2000)) + _HELD_OUT

    def cost(self, job: KernelJob) -> Cost:
        sample = min(self.sample_size, job.rows)
        compared = {"leverage": 8 * SKETCH**2, "k-means++": 4 * sample}.get(self.choose, 0)
        # Copies of the sample while it is drawn and compared, and of the landmarks for computing kernels.
        rows = job.p * (8 * sample + 4 * self.width(job))
        cost = super().cost(job)
        return replace(cost, n_bytes=cost.n_bytes + 8 * (rows + compared + 2 * min(sample, PAIRS) ** 2))

    def refusal(self, job: KernelJob) -> Exception | None:
        if job.kernel is None:
            return ValueError(
                "solver='nystrom' computes kernels of rows with landmarks; with a precomputed matrix, pass the columns "
                "of the landmarks as rows of another fit, or use solver='krylov'."
            )
        return super().refusal(job)

    def is_sensible(self, job: KernelJob) -> bool:
        """If rows are not all in memory at once; this is the only approximation that "auto" chooses."""
        return not job.traits.whole and not job.has_few_features

    def unknowns(self, job: KernelJob) -> list[str]:
        landmarks = [] if self.given else ["landmarks as rows, Nystrom(landmarks=rows)"]
        return super().unknowns(job) + landmarks


@dataclass(frozen=True)
class FourierFeatures(MapSolver):
    """Features sqrt(2 / m) (cos w_j . x, sin w_j . x) with random frequencies w_j, for shift-invariant kernels [1]_.

    Parameters
    ----------
    features : int, default=1000
        The number of features m, sines and cosines together.

    Notes
    -----
    The expectation of phi(x) . phi(y) is the kernel, and the error is about sqrt(2 / m). One pass for a sample, if the
    rows can be read again, and one for the moments: n m p multiplications for the features, n m^2 for their moments.

    References
    ----------
    .. [1] Rahimi, Recht (2007), Random features for large-scale kernel machines.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lowdim import KernelPCA
    >>> from lowdim.solvers import FourierFeatures
    >>> X = load_iris().data
    >>> KernelPCA(2, kernel="rbf", gamma=0.5, solver=FourierFeatures(features=200)).fit_transform(X).shape
    (150, 2)
    """

    name = "fourier"
    features: int = 1000

    def __post_init__(self) -> None:
        check_whole(self, "features", 2)

    def make(self, kernel: Kernel, sample: Any, weights: np.ndarray, seed: int) -> KernelFeatureMap:
        p = int(sample.shape[1])
        w = kernel.frequencies(p, self.features // 2, np.random.default_rng(seed))
        amplitude = float(kernel(np.zeros((1, p)))[0, 0])
        return KernelFeatureMap(features.Fourier(w, amplitude))

    def width(self, job: KernelJob) -> int:
        return 2 * (self.features // 2)

    def refusal(self, job: KernelJob) -> Exception | None:
        if job.kernel is None or not job.kernel.shift_invariant:
            what = "a precomputed matrix" if job.kernel is None else str(job.kernel)
            return ValueError(
                f"solver='fourier' is for kernels that depend on x - y only (gaussian, laplacian, matern), not for "
                f"{what}; use solver='nystrom'."
            )
        if not job.kernel.has_frequencies:
            return no_frequencies(job.kernel)
        return super().refusal(job)


# The approximation error of a feature map of a kernel, estimated from rows that the map was not constructed from.


#: Number of rows whose pairs are used to estimate the error of a map, and that of Fourier features.
PAIRS, _FEW = 2000, 500
#: Half the width of the confidence interval in standard errors. Errors of rows are skewed, so 2.6 would give a coverage
#: of only 98 %.
_DEVIATIONS = 3.3


def _error(
    phi: KernelFeatureMap, kernel: Kernel, sample: Sample | None, spectrum: Spectrum, image: Moments | None
) -> MapError:
    """The error of the map; `image` are the moments of the features of Nystrom's method, None for other maps."""
    if sample is not None and image is not None:
        return _omitted_variance(phi, kernel, sample.rows, sample.weights, spectrum.total, spectrum.weight)
    if sample is not None:
        # Root mean square of phi(x) . phi(y) - k(x, y) over pairs of rows, relative to that of k(x, y).
        rows = sample.rows[:_FEW]
        phis, K = phi.features(rows), to_numpy(kernel(rows, rows)).astype(np.float64)
        error = float(np.sqrt(np.mean((phis @ phis.T - K) ** 2) / (np.mean(K * K) or 1.0)))
        return MapError(error, error, error)
    if image is None or not kernel.shift_invariant:
        return MapError(math.nan, math.nan, math.nan)
    # k(x, x) is the same for all rows, which gives an upper bound on the error: the variance left out is at most
    # sum_i k(x_i, x_i) - |phi(x_i)|^2; it is less if the features left out have a mean.
    diagonal = float(kernel(np.zeros((1, 1)))[0, 0])
    mean, variance = to_numpy(image.mean), float(np.trace(to_numpy(image.scatter)))
    left = max(0.0, image.weight * (diagonal - float(mean @ mean)) - variance)
    share = left / (variance + left) if variance + left > 0.0 else 0.0
    return MapError(share, 0.0, share)


def _omitted_variance(
    phi: KernelFeatureMap, kernel: Kernel, sample: Any, weights: np.ndarray, total: float, n: float
) -> MapError:
    """The variance that the map leaves out, as a share of the total variance in the feature space.

    With r(x, y) = k(x, y) - phi(x) . phi(y), which is zero for landmarks, it is
    sum_i r(x_i, x_i) - sum_ij r(x_i, x_j) / n over all `n` rows; `total` is the variance of phi, summed over them. For
    the candidates that did not become landmarks r is computed. They are not random rows, so for all other rows r is
    estimated from those rows of the sample that were not candidates.
    """
    rejected = phi.rejected
    held_out = np.setdiff1d(np.arange(sample.shape[0]), np.concatenate([phi.chosen, rejected]))
    if len(rejected) + len(held_out) == 0:
        return MapError(0.0, 0.0, 0.0)
    shift = getattr(phi.raw, "shift", None)
    residual = np.zeros(sample.shape[0])
    for start in range(0, sample.shape[0], 256):
        rows = sample[start : start + 256]
        exact = np.diagonal(to_numpy(kernel(rows if shift is None else rows - shift))).astype(np.float64)
        residual[start : start + 256] = np.abs(exact - (phi.features(rows) ** 2).sum(axis=1))
    w = weights[held_out]
    known, observed = float(weights[rejected].sum()), float(w.sum())
    rest = max(0.0, n - float(weights[phi.chosen].sum()) - known)
    scale = rest / observed if observed else 0.0
    mean = float(w @ residual[held_out]) / observed if observed else 0.0
    unseen = max(0.0, 1.0 - 1.0 / max(scale, 1.0))
    spread = _DEVIATIONS * scale * math.sqrt(unseen * float((w * w) @ (residual[held_out] - mean) ** 2))
    diagonal = float(weights[rejected] @ residual[rejected]) + rest * mean
    # The number of rows that each row of the sample represents.
    some = np.concatenate([held_out, rejected])[:PAIRS]
    times = np.concatenate([scale * w, weights[rejected]])[:PAIRS]
    times = times * ((rest + known) / (float(times.sum()) or 1.0))
    # The sum of r(x_i, x_j) over all pairs of rows: there are times * weights pairs of equal rows, and the product
    # times * times would count more.
    rows, values = sample[some], phi.features(sample[some])
    rest_of_pairs = to_numpy(kernel(rows if shift is None else rows - shift)).astype(np.float64) - values @ values.T
    same = float((times * times - times * weights[some]) @ np.diagonal(rest_of_pairs))
    pairs = (float(times @ rest_of_pairs @ times) - same) / n
    sums = [max(0.0, s - pairs) for s in (diagonal, diagonal - spread, diagonal + spread)]
    return MapError(*(s / (total + s) if total + s > 0.0 else 0.0 for s in sums))
