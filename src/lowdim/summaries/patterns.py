"""Rows with missing entries, grouped by which of their entries are missing: all that a Gaussian needs of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Self

import numpy as np
from scipy import sparse

from .._core import threads
from .._core.arrays import Array, to_numpy
from ..errors import NonFiniteBlock
from .base import Changes, Names, Summary, row_weights
from .latent import Completed, Latent, LatentGaussian, Observed, observed_entries
from .moments import Moments

#: A batch of patterns takes tables of about this many numbers.
_BATCH = 1 << 20
#: Operations on small matrices take about this many times as long as those of large products, which matters if there
#: are more than so many of them.
_SMALL, _FEW = 20.0, 2e6


class Patterns(Summary):
    """The moments of the complete rows, and all other rows as they are, for the E steps of Gaussian models.

    Parameters
    ----------
    n_features : int

    Attributes
    ----------
    complete : Moments
        Of the rows without a missing entry.
    rows, known : arrays of shape (m, p)
        The other rows, with zero for missing entries, and which of their entries are observed (1 or 0).
    weights : array of shape (m,)

    Notes
    -----
    One pass. The memory is at most that of the rows, in float64, and little if few of them have missing entries. After
    the pass, a step of EM (`completed`) does not depend on the number of complete rows.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim.reading import summarize
    >>> from lowdim.summaries import Patterns
    >>> found = summarize(np.array([[1.0, np.nan], [3.0, 4.0], [5.0, 6.0]]), Patterns)
    >>> found.complete.mean, found.rows
    (array([4., 5.]), array([[1., 0.]]))
    """

    parameters = ("n_features",)
    state = dict(n_features="", complete="-", rows="mp", known="mp", weights="m")
    kinds = {"known": "u"}
    nonnegative = ("weights",)
    takes_nan = True

    def __init__(self, n_features: int) -> None:
        self.n_features = int(n_features)
        self.complete = Moments(self.n_features, wide=True)
        #: Incomplete rows: entries, which are observed, and weights, for each block.
        self._parts: tuple[tuple[np.ndarray, np.ndarray, np.ndarray], ...] = ()

    @property
    def rows(self) -> np.ndarray:
        return self._joined[0]

    @property
    def known(self) -> np.ndarray:
        return self._joined[1]

    @property
    def weights(self) -> np.ndarray:
        return self._joined[2]

    @property
    def _joined(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        if len(self._parts) != 1:
            p = self.n_features
            none = np.zeros((0, p)), np.zeros((0, p), np.uint8), np.zeros(0)
            values, known, weights = (np.concatenate(each) for each in zip(none, *self._parts, strict=True))
            self._parts = ((values, known, weights),)
        return self._parts[0]

    @property
    def n_samples(self) -> int:
        """The number of all rows."""
        return int(self.complete.n_rows) + len(self.weights)

    @property
    def total_weight(self) -> float:
        """The total weight of all rows."""
        return float(self.complete.weight) + float(self.weights.sum())

    def _updated(self, block: Array, weights: Array | None) -> Changes:
        entries = observed_entries(block, False)
        values, known = to_numpy(entries.values()), to_numpy(entries.known())
        # The squares of the rest are summed up, and checked, with the complete rows.
        if not np.all(np.isfinite(np.einsum("ij,ij->j", values, values))):
            raise NonFiniteBlock
        whole = np.all(known, axis=1)
        w = None if weights is None else to_numpy(row_weights(values[:, 0], weights))
        changes: Changes = {}
        if np.any(whole):
            changes["complete"] = self.complete._changes_from(values[whole], None if w is None else w[whole])
        if not np.all(whole):
            rest = ~whole
            part = values[rest], known[rest].astype(np.uint8), np.ones(int(rest.sum())) if w is None else w[rest]
            changes["_parts"] = (*self._parts, part)
        return changes

    def _merged(self, other: Self) -> Changes:
        return {"complete": self.complete._merged(other.complete), "_parts": (*self._parts, *other._parts)}

    def _change(self, changes: Changes) -> None:
        # What was computed from the rows so far.
        self.__dict__.pop("groups", None)
        self.complete._change(changes.pop("complete", {}))
        super()._change(changes)

    def snapshot(self) -> Self:
        twin = super().snapshot()
        twin.complete = self.complete.snapshot()
        return twin

    def _set_names(self, names: Names) -> None:
        super()._set_names(names)
        self.complete._set_names(names)

    def _sizes(self) -> dict[str, int]:
        return {"p": self.n_features, "m": len(self._joined[2])}

    @classmethod
    def _made_from(cls, stored: dict[str, Any]) -> Self:
        if not isinstance(stored["complete"], Moments) or stored["complete"].n_features != stored["n_features"]:
            raise ValueError("complete is not the Moments of rows of as many columns")
        return super()._made_from(stored)

    def _restore(self, stored: dict[str, Any]) -> None:
        self.complete = stored["complete"]
        self._parts = ((stored["rows"], stored["known"], stored["weights"]),)

    # ---- What solvers ask for

    def observed(self, components: int | None = None) -> Observed:
        """Counts, means and squares of the observed entries of each column, as a pass for `Observed` finds them."""
        found = Observed(self.n_features, components=components)
        moments = self.complete
        if moments.n_rows:
            found.n_rows, found.weight = moments.n_rows, moments.weight
            found.count = np.full(self.n_features, moments.weight)
            found.mean, found.rest = moments.mean, moments.rest
            found.squares = np.diagonal(moments.scatter).copy()
            found.surplus = None if components is None else moments.weight * (self.n_features - components)
        if len(self.weights):
            found.update(np.where(self.known > 0, self.rows, np.nan), self.weights)
        found.names = self.names
        return found

    def filled(self, mean: np.ndarray, scale: np.ndarray) -> Moments:
        """The moments of the rows (x - mean) / scale with zero for missing entries."""
        found, moments = Moments(self.n_features, wide=True), self.complete
        if moments.n_rows:
            found.n_rows, found.weight = moments.n_rows, moments.weight
            found.mean, found.rest = (moments.mean - mean) / scale, moments.rest / scale
            found.scatter = moments.scatter / scale / scale[:, None]
        if len(self.weights):
            # The products of few columns are too small for a threaded BLAS.
            with threads.single_threaded_blas():
                found.update((self.rows - mean) / scale * self.known, self.weights)
        return found

    def latent(self, model: LatentGaussian, informed: bool) -> Latent:
        """The summary `Latent` of the rows; that of the complete rows follows from their moments."""
        found = Latent(model, informed=informed)
        if self.complete.n_rows:
            found = Latent.from_moments(self.complete, model)
            found.informed, found.covariances = informed, found.covariances if informed else None
        step = found.block_rows(self.n_features, 8)

        def of_block(first: int, tick: Callable[[], None]) -> Latent:
            tick()
            some, part = slice(first, first + step), Latent(model, informed=informed)
            part.update(np.where(self.known[some] > 0, self.rows[some], np.nan), self.weights[some])
            return part

        # Threads compute blocks, which are added in their order. One more than there are threads are under way.
        tasks = (partial(of_block, first) for first in range(0, len(self.weights), step))
        n_threads = threads.available() if len(self.weights) > step else 1
        if n_threads == 1:
            parts: Iterable[Latent] = (task(threads.check_stop) for task in tasks)
        else:
            parts = threads.run_in_parallel(tasks, n_threads=n_threads, at_most=n_threads + 1)
        for part in parts:
            found.merge(part)
        return found

    @property
    def work(self) -> float:
        """About the number of operations of `completed`, at most, and of an eigendecomposition of p columns."""
        p = self.n_features
        q = p - np.sum(self.known, axis=1, dtype=np.float64)
        small = float(np.sum(q**3 + q**2 * p + q * p))
        return max(small, _SMALL * (small - _FEW)) + 10.0 * p**3

    @cached_property
    def groups(self) -> PatternGroups:
        """The rows by pattern."""
        return PatternGroups.of(self)

    def completed(self, model: LatentGaussian) -> Completed:
        """The E step of the Gaussian with the mean and covariance of `model`: see `Completed`."""
        return self.groups.completed(model)


@dataclass(frozen=True)
class _Batch:
    """Patterns with the same number q of missing entries, b of them: their rows about the mean of each pattern."""

    #: The columns of the missing entries, (b, q), the total weight of each pattern, (b,), and the mean of its rows,
    #: (b, p), zero where missing.
    missing: np.ndarray
    weights: np.ndarray
    means: np.ndarray
    #: R with R^T R the scatter of the rows of each pattern about their mean, (b, r, p).
    roots: np.ndarray
    #: 1 where a column is observed, (b, p), and the matrix that adds missing entries to their columns, (p, b q).
    known: np.ndarray
    gather: sparse.csr_array

    def completed(self, P: np.ndarray, shift: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        """For the model N(shift, P^{-1}), sums over the rows: of completed rows less the mean, of their outer products
        (without the observed entries within patterns), of the covariances of missing entries, and of ln |P_mm|."""
        p, missing = len(shift), self.missing
        C = np.linalg.inv(P[missing[:, :, None], missing[:, None, :]])
        B = -(C @ P[missing]) * self.known[:, None, :]
        D = (self.means - shift) * self.known
        last = np.sqrt(self.weights)[:, None] * D
        Z = np.concatenate([self.roots, last[:, None, :]], axis=1)
        # The missing entries of the rows of Z.
        Y = Z @ B.swapaxes(1, 2)
        across = self.gather @ (Y.swapaxes(1, 2) @ Z).reshape(-1, p)
        places = (missing[:, :, None] * p + missing[:, None, :]).ravel()
        own = np.bincount(places, (Y.swapaxes(1, 2) @ Y).ravel(), p * p).reshape(p, p)
        spread = np.bincount(places, (self.weights[:, None, None] * C).ravel(), p * p).reshape(p, p)
        total = self.weights @ D + self.gather @ (np.sqrt(self.weights)[:, None] * Y[:, -1]).ravel()
        log_determinants = -float(self.weights @ np.linalg.slogdet(C)[1])
        return total, last.T @ last + across + across.T + own, spread, log_determinants


@dataclass(frozen=True)
class PatternGroups:
    """The moments of rows by pattern of missing entries, in units of (x - centre) / unit.

    Notes
    -----
    Let the model be N(mean, S), and P the inverse of S. A row with observed entries o and missing entries m has

        E[x_m | x_o] = mean_m - P_mm^{-1} P_mo (x_o - mean_o),  cov(x_m | x_o) = P_mm^{-1},
        ln |S_oo| = ln |S| + ln |P_mm|,  (x_o - mean_o)^T S_oo^{-1} (x_o - mean_o) = d^T P d

    where d is the completed row less the mean. The regressions are the same for all rows of a pattern, so that its
    weight n, mean and scatter R^T R are all that is needed: the rows of R and sqrt(n) (mean of the pattern - mean) are
    completed in place of the rows. Patterns with q missing entries take q^3 + q^2 p + q r p operations each, with r at
    most the number of rows and of observed entries, and are computed in batches; S is inverted once.
    """

    centre: np.ndarray
    unit: np.ndarray
    #: The weight of the observed entries of each column, and the sum over the patterns, and the complete rows, of
    #: their scatter matrices.
    count: np.ndarray
    scatter: np.ndarray
    #: The weight and the mean of the complete rows.
    whole: tuple[float, np.ndarray]
    batches: list[_Batch]

    @classmethod
    def of(cls, patterns: Patterns) -> Self:
        """From the rows of a summary; rows without any observed entry are left out, since they say nothing."""
        observed, p = patterns.observed(), patterns.n_features
        centre = np.asarray(observed.mean)
        variance = np.where(observed.count > 0, observed.squares, 0.0) / np.maximum(observed.count, 1e-300)
        typical = float(np.mean(variance)) or 1.0
        unit = np.sqrt(np.where(variance > 0, variance, typical))
        moments, scatter = patterns.complete, np.zeros((p, p))
        whole = 0.0, np.zeros(p)
        if moments.n_rows:
            scatter = moments.scatter / unit / unit[:, None]
            whole = moments.weight, ((moments.mean - centre) + moments.rest) / unit
        seen = np.any(patterns.known > 0, axis=1)
        known, weights = patterns.known[seen], patterns.weights[seen]
        Z = (patterns.rows[seen] - centre) / unit * known
        bits = np.ascontiguousarray(np.packbits(known, axis=1))
        keys = bits.view(np.dtype((np.void, bits.shape[1])))[:, 0]
        _, of = np.unique(keys, return_inverse=True)
        order = np.argsort(of, kind="stable")
        rows = np.split(order, np.flatnonzero(np.diff(of[order])) + 1) if len(order) else []
        found: dict[tuple[int, int], list[tuple[np.ndarray, float, np.ndarray, np.ndarray]]] = {}
        for some in rows:
            mask, w = known[some[0]] > 0, weights[some]
            mean = w @ Z[some] / w.sum()
            root = (Z[some] - mean) * np.sqrt(w)[:, None] if len(some) > 1 else np.zeros((0, p))
            if len(root) > np.count_nonzero(mask):
                short = np.linalg.qr(root[:, mask], mode="r")
                root = np.zeros((len(short), p))
                root[:, mask] = short
            scatter = scatter + root.T @ root
            missing = np.flatnonzero(~mask)
            # Roots of one batch are padded with zeros to the same length, which is a power of two.
            found.setdefault((len(missing), _length(len(root))), []).append((missing, float(w.sum()), mean, root))
        batches = [batch for (q, r), each in sorted(found.items()) for batch in _batches(each, q, r, p)]
        return cls(centre, unit, np.asarray(observed.count), scatter, whole, batches)

    def completed(self, model: LatentGaussian) -> Completed:
        """The expected sums of all rows under a model."""
        p, ratio = len(self.unit), model.scale / self.unit
        W = model.loadings * ratio
        S = W.T @ W
        S[np.diag_indices(p)] += model.noise * ratio**2
        shift = (model.mean - self.centre) / self.unit
        L = np.linalg.cholesky(S)
        root = np.linalg.inv(L)
        P = root.T @ root
        weight, mean = self.whole
        d = mean - shift
        total, second, spread = weight * d, self.scatter + weight * d[:, None] * d, np.zeros((p, p))
        log_determinants = 0.0
        # Products and inverses of the patterns are small, and a threaded BLAS would mostly wait for its threads.
        with threads.single_threaded_blas():
            for batch in self.batches:
                more = batch.completed(P, shift)
                total, second, spread = total + more[0], second + more[1], spread + more[2]
                weight, log_determinants = weight + float(batch.weights.sum()), log_determinants + more[3]
        log_determinants += 2.0 * weight * float(np.sum(np.log(np.diagonal(L))))
        constant = float(self.count @ (math.log(2 * math.pi) + 2.0 * np.log(self.unit)))
        found = Completed(model)
        found.loglike = -0.5 * (constant + log_determinants + float(np.sum(P * second)))
        found.weight, found.total = weight, total / ratio
        found.second = (second + spread) / ratio / ratio[:, None]
        return found


def _length(n: int) -> int:
    """The smallest power of two that is at least n; 0 for 0."""
    return 1 << (n - 1).bit_length() if n else 0


def _batches(each: list[tuple[np.ndarray, float, np.ndarray, np.ndarray]], q: int, r: int, p: int) -> Iterator[_Batch]:
    """Patterns with q missing entries and roots of up to r rows, in batches."""
    step = max(1, _BATCH // (p * (q + r + 1)))
    for some in (each[i : i + step] for i in range(0, len(each), step)):
        b = len(some)
        missing = np.array([pattern[0] for pattern in some], dtype=np.intp).reshape(b, q)
        known, roots = np.ones((b, p)), np.zeros((b, r, p))
        np.put_along_axis(known, missing, 0.0, axis=1)
        for i, pattern in enumerate(some):
            roots[i, : len(pattern[3])] = pattern[3]
        ones = np.ones(b * q), (missing.ravel(), np.arange(b * q))
        weights, means = np.array([pattern[1] for pattern in some]), np.array([pattern[2] for pattern in some])
        yield _Batch(missing, weights, means, roots, known, sparse.csr_array(ones, shape=(p, b * q)))
