"""Eigenpairs of the scatter matrix, by itself or by the R factor of the rows; and what all solvers of spectra share."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ... import summaries
from ..._core.arrays import Array, asarray_like, astype, count_true, eps, namespace, to_device, to_host, to_numpy
from ..._core.devices import moved_to_host
from ...features import affine
from ...linalg import (
    FLOAT64_EPS,
    NOISE,
    accuracy,
    divisor,
    eigh_descending,
    fix_signs,
    is_constant,
    most_components,
    numerical_rank,
    orthonormal_rows,
    quiet_blas,
    rank_cut,
    require_rows,
    require_size,
    resolution,
    svd_thin,
    with_complement,
    with_zeros,
)
from ...summaries.moments import Columns, Moments
from ..problem import EIGH_WORK, AnySolver, Cost, Job, Request, RowsLike, Spectrum, Status, Tail, leading_count


class Solver(AnySolver):
    """A solver that computes the eigenpairs of the covariance of rows.

    A solver that needs only one summary of the rows names the class of this summary as `starts_from`. It can then also
    solve from such a summary without the rows, and rows can be added to the summary.

    Examples
    --------
    >>> from lowdim.solvers import SOLVERS, Solver
    >>> [name for name, solver in SOLVERS.items() if issubclass(solver, Solver) and solver.finds_all]
    ['covariance', 'triangle', 'gram']
    """

    #: Whether it reads the table by columns, for tables with fewer rows than columns.
    reads_columns: ClassVar[bool] = False
    #: Whether it can find all eigenpairs, or only the leading ones.
    finds_all: ClassVar[bool] = True
    #: Whether the eigenvalues come from products of the rows, with errors of about eps lambda_1.
    squares: ClassVar[bool] = True

    @abstractmethod
    def solve(self, rows: RowsLike, request: Request) -> Spectrum:
        """The spectrum of `rows`."""

    def empty_summary(self, p: int) -> Any:
        """An empty summary for rows of p columns, to be used with `solve_summary`."""
        raise TypeError(f"solver={self.name!r} keeps no summary of the rows.")

    def solve_summary(self, summary: Any, request: Request) -> Spectrum:
        """The spectrum from a summary of the rows."""
        raise TypeError(f"solver={self.name!r} keeps no summary of the rows.")

    def _confirmed(self, found: Spectrum, rows: RowsLike, request: Request) -> Spectrum:
        """The spectrum without errors, if its unresolved eigenvalues are zero as far as the rows tell.

        One more pass projects the centred rows on the unresolved eigenvectors, which squares nothing: if the
        projections have lengths of at most p eps sqrt(lambda_1) in all, the R factor of the rows finds no variance in
        these directions either, however many rows there are. This is the usual case: columns that are sums of others,
        or that are empty. As after a solve by the R factor, the eigenvectors without variance are arbitrary orthonormal
        ones.
        """
        values, (k, p) = found.values, found.vectors.shape
        # After a direction without variance, no other one has any.
        possible = self.squares and found.status is Status.UNRESOLVED and found.tail.total <= p * found.rank_cut
        errors = np.zeros(k) if found.errors is None else found.errors
        lost = errors > accuracy(found.epsilon)
        if found.epsilon > FLOAT64_EPS or not (possible and lost.any()):
            return found
        first = int(lost.argmax())
        V = found.vectors[first:, :]
        A = V.T if found.scale is None else V.T / found.scale[:, None]
        # Sparse rows are centred after the product only if their mean is not far beside their deviations.
        near = 1e-3 * math.sqrt(float(values[0]) / found.weight)
        projected = rows.mapped(affine(A, found.mean, near)).summarize(Columns(k - first))
        squares = to_numpy(request.about(projected).squares)
        found = replace(found, passes=found.passes + 1)
        if not math.sqrt(float(squares.sum()) / float(values[0])) <= rank_cut(1.0, p, FLOAT64_EPS):
            return found
        return replace(
            found,
            values=np.concatenate([values[:first], np.sort(squares)[::-1]]),
            vectors=fix_signs(with_complement(found.vectors[:first, :], k)),
            errors=np.where(np.arange(k) < first, errors, 0.0),
        ).judged()

    def _finished(self, found: Spectrum, rows: RowsLike, request: Request) -> Spectrum:
        """The spectrum for users. If the variance beside the components has lost its digits beside large eigenvalues,
        one more pass finds it in what the components leave of dense rows."""
        found, (k, p) = found.accepted(), found.vectors.shape
        if found.status is Status.UNRESOLVED or not (self.squares and tail_is_lost(found, request)):
            return found
        if found.rank < k:
            # After a direction without variance, no other one has any.
            return replace(found, tail=Tail())
        if not rows.traits.rereadable or rows.traits.sparse:
            return with_tail_error(found, zero=not rows.traits.rereadable)
        left = rows.mapped(_Rest(found.vectors, found.mean, found.scale)).summarize(Columns(p))
        squares = to_numpy(request.about(left).squares)
        total, largest = float(squares.sum()), float(found.values[0])
        found = replace(found, passes=found.passes + 1)
        # Products in float32 see no more than the rounding of the entries, which has a variance of about eps^2 times
        # theirs.
        rounding = NOISE * found.epsilon**2 * found.total
        if total <= max(rounding, rank_cut(math.sqrt(largest), max(p, NOISE), FLOAT64_EPS) ** 2):
            return replace(found, tail=Tail())
        # The products that `product_errors` is about turn w_j by at most epsilon a_j b / lambda_j towards the others.
        W = to_numpy(found.vectors).astype(float)
        diagonal = squares + found.values @ W**2
        a = np.abs(W) @ np.sqrt(diagonal)
        b = (p - k) * float(diagonal @ np.clip(1.0 - np.sum(W**2, axis=0), 0.0, None))
        turned = found.epsilon**2 * b * float(np.sum(a**2 / found.values)) / total
        if found.residual > NOISE * found.epsilon:
            turned += found.residual**2 * largest / total * float(np.sum(largest / found.values))
        error = FLOAT64_EPS * math.sqrt(largest / total) + turned
        # It may be as large as that of an eigenvalue that products resolve.
        error = error if error > found.epsilon / resolution(found.epsilon) else 0.0
        return replace(found, tail=replace(found.tail, total=total), tail_error=error).judged()


@dataclass(frozen=True, eq=False)
class _Rest:
    """Maps rows to the centred and scaled rows minus their projections on orthonormal vectors."""

    vectors: Array
    mean: Array
    scale: Array | None

    def __call__(self, block: Array) -> Array:
        Z = astype(block, self.mean.dtype) - self.mean
        Z = Z if self.scale is None else Z / astype(self.scale, Z.dtype)
        W = astype(self.vectors, Z.dtype)
        return Z - (Z @ W.T) @ W


def scales(squares: Array, mean: Array, weight: float, ddof: int) -> Array:
    """The standard deviations to divide the columns by: one for those that are constant or vary only by rounding."""
    xp = namespace(squares)
    sd = xp.sqrt(squares / divisor(weight, ddof))
    return xp.where(is_constant(sd, astype(mean, sd.dtype)), xp.ones_like(sd), sd)


def column_scale(squares: Array, mean: Array, weight: float, request: Request) -> Array | None:
    """What the columns are divided by, of which these are the sums of squares and the means: standard deviations, over
    the square roots of the weights of the columns; None if they stay as they are."""
    sd = scales(squares, mean, weight, request.ddof) if request.scale else None
    if request.feature_weight is None:
        return sd
    root = np.sqrt(request.feature_weight)
    return asarray_like(1.0 / root, squares) if sd is None else sd / asarray_like(root, sd)


def wanted_pairs(values: Array, total: float, request: Request, most: int) -> int:
    """The number of leading eigenpairs that are requested, at most `most`, given all eigenvalues and their sum."""
    if request.k is not None:
        return request.k
    return most if request.share is None else min(leading_count(values, total, request.share) + 1, most)


def unresolved(values: np.ndarray, n_free: int, epsilon: float) -> slice:
    """Which of the descending eigenvalues, from products with rounding `epsilon`, may have lost their digits. Those
    after the first `n_free` are known to be zero, because of constant columns or fewer rows than columns."""
    last = min(len(values), n_free)
    return slice(count_true(values[:last] >= resolution(epsilon) * values[:1]), last)


def tail_is_lost(found: Spectrum, request: Request) -> bool:
    """Whether the variance beside the components, from products, has lost its digits beside the largest eigenvalue."""
    n_free = min(found.vectors.shape[1], request.free(found.n_rows)) if found.n_free is None else found.n_free
    possible = len(found.values) < n_free
    return possible and found.tail.total < resolution(found.epsilon) * found.values[0]


def with_tail_error(found: Spectrum, zero: bool) -> Spectrum:
    """The spectrum with the error of its tail, the difference of a trace and of eigenvalues, where no further look at
    the rows is possible. With `zero`, variances at or below the rank cut count as zero."""
    k, p = found.vectors.shape
    total, rounding = found.tail.total, found.epsilon * found.total
    if zero and total <= (p - k) * found.rank_cut:
        return replace(found, tail=Tail())
    return replace(found, tail_error=rounding / total if total > rounding else math.inf).judged()


def product_errors(S: Array, values: np.ndarray, vectors: Array, n_free: int, epsilon: float) -> np.ndarray | None:
    """Estimated relative errors of those eigenvalues of S that may have lost their digits, and zeros for the others.

    The entries of S, sums of products, have errors of about epsilon sqrt(S_ii S_jj), which change lambda_k by up to
    epsilon (sum_i |w_ki| sqrt(S_ii))^2. To this are added the distance of lambda_k to the Rayleigh quotient of w_k, and
    that of the quotient to the eigenvalue, about the square of the residual of w_k. If columns have very different
    scales, small eigenvalues may be far more accurate than epsilon lambda_1.
    """
    some = unresolved(values, n_free, epsilon)
    if some.start >= some.stop:
        return None
    xp, share = namespace(S), values[some] / values[0]
    V, S = vectors[some, :], S / float(values[0])
    R = V @ S - asarray_like(share, S)[:, None] * V
    rounding = epsilon * (xp.abs(V) @ xp.sqrt(xp.clip(xp.linalg.diagonal(S), 0.0, None))) ** 2
    rounding, quotients, squares = to_host([rounding, xp.sum(R * V, axis=1), xp.sum(R * R, axis=1)])
    errors = np.zeros(len(values))
    with np.errstate(divide="ignore", invalid="ignore"):
        found = (rounding + np.abs(quotients) + squares / share) / share
    # If not all eigenvalues are known, one at or below the rank cut may have taken the place of a larger one; and in
    # float64, the rank cut of float32 is not one.
    least = rank_cut(1.0, S.shape[0], epsilon) if some.stop < n_free or epsilon > FLOAT64_EPS else 0.0
    errors[some] = np.where(share > least, found, np.inf)
    return errors


def tail_and_residual(
    S: Array, values: np.ndarray, vectors: Array, rest: float, *, cubes: bool = True
) -> tuple[Tail, float]:
    """The sums over all eigenvalues of S but the first k, and max_j ||S w_j - lambda_j w_j|| / lambda_1 over these.

    `values` are the first eigenvalues, k or all of them, and `vectors` the first k vectors as rows. `rest` is the sum
    of the eigenvalues that were not computed. Sums of their squares and `cubes` are traces of powers of D = S - sum_j
    lambda_j w_j w_j^T. (Differences of traces of S would lose them beside large eigenvalues.) All numbers leave a
    device together.
    """
    xp, k = namespace(S), vectors.shape[0]
    scaled = asarray_like(values[:k], S)[:, None] * vectors
    R = vectors @ S - scaled
    asked = [xp.max(xp.sum(R * R, axis=1))]
    if rest > 0.0:
        D = S - vectors.T @ scaled
        asked += [xp.sum(D * D), xp.sum((D @ D) * D)] if cubes else [xp.sum(D * D)]
    worst, *traces = map(float, to_host(list(map(xp.asarray, asked))))
    residual = math.sqrt(worst) / (float(values[0]) or eps(S))
    tail = Tail()
    if traces:
        tail = Tail(rest, max(traces[0], 0.0) / rest**2, max(traces[1], 0.0) / rest**3 if cubes else None)
    return tail.plus(values[k:]), residual


#: Below this ratio lambda_K / lambda_1, the R factor of the rows has lost the digits of lambda_K: its singular values
#: have errors of about eps times the largest, so that about four digits are left.
_ROOT_RESOLUTION = 1e-21


def root_rank(s: Array, R: Array) -> int:
    """The number of singular values of R above the rounding errors of a QR of many rows."""
    return numerical_rank(s, max(*R.shape, NOISE))


def root_errors(R: Array, s: Array, vectors: Array, rank: int) -> np.ndarray:
    """Estimated relative errors of those squares of the singular values `s` of R that may have lost their digits, and
    zeros for the others; `vectors` are the right singular vectors as rows.

    The columns r_i of R have errors of about eps |r_i|, which change s_k by up to eps sum_i |w_ki| |r_i|. To this is
    added the distance of s_k^2 to |R w_k|^2. Values after the first `rank` count as zero.
    """
    found = to_numpy(s)
    errors = np.zeros(len(found))
    some = slice(count_true(found[:rank] ** 2 >= _ROOT_RESOLUTION * found[:1] ** 2), rank)
    if some.start >= rank:
        return errors
    xp, share = namespace(R), found[some] / found[0]
    A, V = R / float(found[0]), vectors[some, :]
    Y = V @ A.T
    rounding, lengths = to_host([xp.abs(V) @ xp.sqrt(xp.sum(A * A, axis=0)), xp.sum(Y * Y, axis=1)])
    errors[some] = 2 * FLOAT64_EPS * rounding / share + np.abs(lengths / share**2 - 1)
    return errors


@dataclass(frozen=True)
class Triangle(Solver):
    """R = U diag(s) W^T for the R factor of the centred rows: tall-skinny QR, then an SVD; lambda = s^2.

    Notes
    -----
    One pass over the rows, 2 n p^2 operations and p^2 numbers of memory. The rows are never squared, so eigenvalues
    down to about eps^2 lambda_1 have correct digits. It takes several times as long as `covariance`. With n < p, and if
    columns can be read, the R factor of the transposed rows is used instead.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lowdim import PCA
    >>> from lowdim.solvers import Triangle
    >>> PCA(2, solver=Triangle()).fit(load_iris().data).explained_variance_.round(4)
    array([4.2282, 0.2427])
    """

    name = "triangle"
    squares = False
    starts_from = summaries.Triangle

    def solve(self, rows: RowsLike, request: Request) -> Spectrum:
        n, p = rows.shape
        if n is not None and n < p and rows.traits.by_feature:
            from .gram import Gram  # it derives from `Solver` above

            return Gram(root=True).solve(rows, request)
        return self.solve_summary(rows.summarize(self.empty_summary(p)), request)

    def empty_summary(self, p: int) -> summaries.Triangle:
        return summaries.Triangle(p)

    def solve_summary(self, summary: summaries.Triangle, request: Request) -> Spectrum:
        require_rows(summary.n_rows, summary.weight, request.ddof, request.fixed_ddof)
        mean = summary.mean
        summary = request.about(summary)
        R = summary.root
        xp = namespace(R)
        squares = xp.sum(R * R, axis=0)
        require_size(squares, mean, summary.weight, each=request.scale)
        scale = column_scale(squares, summary.mean, summary.weight, request)
        if scale is not None:
            R = R / scale[None, :]
        unit = float(xp.max(xp.abs(R))) or 1.0
        R = R / unit
        _, s, Vt = svd_thin(R)
        most = most_components(summary.n_rows, summary.weight, summary.n_features)
        k = wanted_pairs(s * s, float(xp.sum(s * s)), request, most)
        values, vectors = with_zeros(s * s, max(0, k - s.shape[0])), Vt
        rank = root_rank(s, R)
        errors = with_zeros(root_errors(R, s, Vt, rank), values.shape[0] - s.shape[0])
        values = with_zeros(values[:rank], values.shape[0] - rank)
        if rank < k:
            # Rounding has chosen the other vectors: weights would not equal repeated rows.
            vectors = orthonormal_rows(Vt, rank, k)
        vectors = fix_signs(vectors)
        return Spectrum(
            values=to_numpy(values) * unit * unit,
            vectors=vectors,
            mean=summary.mean,
            scale=scale,
            tail=Tail(),
            weight=summary.weight,
            n_rows=summary.n_rows,
            status=Status.EXACT,
            residual=residual(R, values[: vectors.shape[0]], vectors),
            center=request.center,
            errors=errors,
        ).truncated(k)

    def cost(self, job: Job) -> Cost:
        n, p = job.rows, job.p
        why = "nothing is squared, so small eigenvalues keep their digits"
        short = min(n, p)
        return Cost(6 * n * p * short + 20 * short**3, 1, 8 * p * (6 * short + min(n, max(1024, 4 * p))), why)


def residual(R: Array, values: Array, vectors: Array) -> float:
    """max_k ||R^T R w - lambda w|| / lambda_1."""
    xp = namespace(R)
    D = (vectors @ R.T) @ R - values[:, None] * vectors
    return float(xp.sqrt(xp.max(xp.sum(D * D, axis=1)))) / (float(values[0]) or 1.0)


#: Up to this many columns, the scatter of rows on a device is brought to the host, which solves the eigenproblem as
#: fast: an H200 takes 2 ms for 256 columns, where sixteen cores take 5 ms, but as long as these for 128 columns.
_ON_HOST_UP_TO = 160
#: With more columns, the sum of the cubes of the eigenvalues that were not computed would take as long as the
#: eigenpairs that were.
_CUBES_UP_TO = 512


@dataclass(frozen=True)
class Covariance(Solver):
    """S w = lambda w for the scatter S of the rows.

    Parameters
    ----------
    wide : bool, default=False
        Multiply float32 blocks in float64.

    Notes
    -----
    One pass over the rows, n p^2 multiplications and p^2 numbers of memory, then a symmetric eigenproblem of size p.
    Eigenvalues have an error of about eps times lambda_1; those below 1e-10 lambda_1 are reported as unresolved.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lowdim import PCA
    >>> from lowdim.solvers import Covariance
    >>> PCA(2, solver=Covariance(wide=True)).fit(load_iris().data.astype("float32")).solver_
    'covariance'
    """

    name = "covariance"
    on_host = "the solve (for more than 160 columns, only a few vectors)"
    starts_from = Moments
    wide: bool = False

    def solve(self, rows: RowsLike, request: Request) -> Spectrum:
        # Columns that will be standardized may have any scale, so their squares could overflow in float32.
        wide = self.wide or request.scale
        return self.solve_summary(rows.summarize(Moments(rows.shape[1], wide=wide)), request)

    def empty_summary(self, p: int) -> Moments:
        return Moments(p, wide=self.wide)

    def solve_summary(self, summary: Moments, request: Request) -> Spectrum:
        """Leading eigenpairs of the scatter, in units of its largest diagonal entry."""
        with quiet_blas(summary.n_features):
            require_rows(summary.n_rows, summary.weight, request.ddof, request.fixed_ddof)
            there = summary.scatter
            if not isinstance(there, np.ndarray) and summary.n_features <= _ON_HOST_UP_TO:
                summary = moved_to_host(summary)
            sample_mean = summary.mean
            summary = request.about(summary)
            S, mean = summary.scatter, summary.mean
            xp = namespace(S)
            # Vectors are looked at on the host: a device would wait for each question.
            squares, sample_mean = to_host([xp.linalg.diagonal(S), sample_mean])
            require_size(squares, sample_mean, summary.weight, each=request.scale)
            origin = sample_mean if request.center else np.zeros_like(sample_mean)
            scale = column_scale(squares, origin, summary.weight, request)
            if scale is not None:
                scale = asarray_like(scale, S)
                S = S / scale[:, None] / scale[None, :]
                squares = to_numpy(xp.linalg.diagonal(S))
            unit = float(squares.max()) or 1.0
            S = S / unit
            found, vectors = eigh_descending(S, at_least=request.k, on_host=True)
            values = np.clip(found, 0.0, None)
            most = most_components(summary.n_rows, summary.weight, summary.n_features)
            total = float(squares.sum()) / unit
            k = wanted_pairs(values, total, request, most)
            vectors = asarray_like(fix_signs(vectors[:k, :]), S)
            rest = max(total - float(values.sum()), 0.0) if len(values) < S.shape[0] else 0.0
            tail, residual = tail_and_residual(S, values, vectors, rest, cubes=S.shape[0] <= _CUBES_UP_TO)
            values = values[:k]
            n_free = min(int(np.count_nonzero(squares > 0)), request.free(summary.n_rows))
            tail = tail if k < n_free else Tail()
            errors = product_errors(S, values, vectors, n_free, summary.product_eps)
            if isinstance(vectors, np.ndarray):
                vectors, mean, *scales_there = to_device(
                    [vectors, mean] if scale is None else [vectors, mean, scale], there
                )
                scale = scales_there[0] if scales_there else None
            return Spectrum(
                values=values * unit,
                vectors=vectors,
                mean=mean,
                scale=scale,
                tail=replace(tail, total=tail.total * unit),
                weight=summary.weight,
                n_rows=summary.n_rows,
                status=Status.EXACT,
                residual=residual,
                epsilon=summary.product_eps,
                center=request.center,
                errors=errors,
                n_free=n_free,
            ).judged()

    def cost(self, job: Job) -> Cost:
        n, p = job.rows, job.p
        why = (
            f"one product of the rows is cheapest for {p} columns"
            if job.traits.rereadable
            else "the stream can be read only once"
        )
        return Cost(job.product_work(n, p) + EIGH_WORK * p**3, 1, 8 * p * (4 * p + max(2048, 2 * p)), why)

    def finer(self, job: Job) -> Solver | None:
        if not self.wide and job.traits.itemsize < 8:
            return Covariance(wide=True)
        return Triangle()
