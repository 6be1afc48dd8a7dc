"""Base class of the solvers of spectra, which compute a `Spectrum` from rows or from a summary."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from ..._core.arrays import Array, asarray_like, astype, eps, namespace, to_host
from ...linalg import divisor, is_constant, resolution
from ..problem import AnySolver, Request, RowsLike, Spectrum, Tail, leading_count


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

    @abstractmethod
    def solve(self, rows: RowsLike, request: Request) -> Spectrum:
        """The spectrum of `rows`."""

    def empty_summary(self, p: int) -> Any:
        """An empty summary for rows of p columns, to be used with `solve_summary`."""
        raise TypeError(f"solver={self.name!r} keeps no summary of the rows.")

    def solve_summary(self, summary: Any, request: Request) -> Spectrum:
        """The spectrum from a summary of the rows."""
        raise TypeError(f"solver={self.name!r} keeps no summary of the rows.")


def scales(squares: Array, mean: Array, weight: float, request: Request) -> Array | None:
    """The standard deviations to divide the columns by, or None if they are not standardized.

    They are one for columns that are constant or vary only by rounding.
    """
    if not request.standardize:
        return None
    xp = namespace(squares)
    sd = xp.sqrt(squares / divisor(weight, request.ddof))
    return xp.where(is_constant(sd, astype(mean, sd.dtype)), xp.ones_like(sd), sd)


def wanted_pairs(values: Array, total: float, request: Request, most: int) -> int:
    """The number of leading eigenpairs that are requested, at most `most`, given all eigenvalues and their sum."""
    if request.k is not None:
        return request.k
    return most if request.share is None else min(leading_count(values, total, request.share) + 1, most)


def is_resolved(values: Array, n_free: int, product_eps: float) -> bool:
    """Whether the first `n_free` of `values`, from products with rounding error `product_eps`, are more than rounding.

    The others are known to be zero, because of constant columns or fewer rows than columns.
    """
    last = min(values.shape[0], n_free)
    if last <= 0:
        return True
    return float(values[last - 1]) >= resolution(product_eps) * float(values[0])


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
    worst, *traces = map(float, to_host([xp.asarray(number) for number in asked]))
    residual = math.sqrt(worst) / (float(values[0]) or eps(S))
    powers = [max(trace, 0.0) / rest**i for i, trace in enumerate(traces, 2)]
    tail = Tail(rest, powers[0], powers[1] if cubes else None) if powers else Tail()
    return tail.plus(values[k:]), residual


# Shrinkage intensities of a covariance matrix.
#
# Both functions compute the intensity `a`, between 0 and 1, with which the covariance S (divisor n) is shrunk towards
# its average eigenvalue: (1 - a) S + a (tr S / p) I.


def ledoit_wolf(spectrum: Spectrum, p: int, fourth: float | None) -> float:
    """min(b, d) / d with d = |S - mu I|^2 / p and b = (fourth / n - |S|^2) / (n p), mu = tr S / p [1]_.

    `fourth` is sum_i |x_i - mean|^4, as computed by FourthMoments. The computation is in units of tr S.

    References
    ----------
    .. [1] Ledoit, Wolf (2004), A well-conditioned estimator for large-dimensional covariance matrices, lemmas 3.2-3.4.
    """
    assert fourth is not None
    n, trace = spectrum.weight, spectrum.total / spectrum.weight
    squares = _squares(spectrum)
    distance = squares - 1 / p
    spread = (fourth / n / trace / trace - squares) / n if trace > 0.0 else 0.0
    return 0.0 if distance <= 0.0 else min(max(spread, 0.0), distance) / distance


def oas(spectrum: Spectrum, p: int, fourth: float | None) -> float:
    """The oracle-approximating intensity [1]_, eq. 23.

    References
    ----------
    .. [1] Chen, Wiesel, Eldar, Hero (2010), Shrinkage algorithms for MMSE covariance estimation.
    """
    n = spectrum.weight
    squares = _squares(spectrum)
    number = (1.0 - 2.0 / p) * squares + 1.0
    denominator = (n + 1.0 - 2.0 / p) * (squares - 1 / p)
    return 1.0 if denominator <= 0.0 else min(number / denominator, 1.0)


def _squares(spectrum: Spectrum) -> float:
    """tr S^2 / (tr S)^2, which is all that the formulas need, and cannot overflow."""
    everything = spectrum.tail.plus(spectrum.values)
    assert everything.squares is not None, "Whitening requests all eigenvalues"
    return everything.squares


#: Shrinkages by name.
SHRINKAGE: dict[str, Any] = {"ledoit-wolf": ledoit_wolf, "oas": oas}
