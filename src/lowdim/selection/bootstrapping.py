"""Bootstrap intervals from pieces of rows that are drawn with replacement, and the jackknife."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import product
from typing import Any, Literal

import numpy as np
from scipy import special
from scipy.optimize import linear_sum_assignment
from sklearn.base import clone

from .._core.arrays import to_numpy
from .._core.schema import Anything, Entries, ListOf, Numbers, Real, Sometimes, Text, TupleOf, Whole
from .._core.threads import memory_bytes
from .._core.types import Estimator, RandomState, VectorLike
from ..errors import (
    LowdimWarning,
    MissingValues,
    SmallSampleWarning,
    bad_weights,
    choice,
    no_order,
    unknown_length,
    warn_user,
    what_instead,
    with_present_names,
    without_warnings,
)
from ..reading.summarizing import check_weights, summarize
from ..sources.base import Source, cut
from ..sources.derived import in_order, with_known_length
from ..sources.opening import TableLike, by_name
from ..summaries.moments import Columns, Moments
from ..table import Table, Tabular, numbered
from .fold_methods import started_copy, with_known_products
from .folds import Folds, cells_without_order, check_whole, is_whole, is_wide, rows_and_counts, split_rows
from .parallel_analysis import check_count, check_probability, seed_of
from .scorers import has_unstored_missing

_KINDS = ("auto", "row", "block")
#: The largest number of entries of a statistic that are printed.
_SHOWN = 12
#: What was drawn, in words.
_WORDS = {"row": "rows", "block": "blocks of rows", "groups": "groups of rows"}
#: What the labels of an axis are, for tables.
_AXES = {"components": "component", "features": "column", "coded columns": "column", "targets": "response"}


@dataclass(frozen=True, repr=False, eq=False)
class Bootstrap(Tabular):
    """Statistics of a model that was fitted to bootstrap samples of the rows, with a table for each statistic.

    Attributes
    ----------
    estimates : dict of arrays
        Statistics of the model fitted to all rows.
    replicates : dict of arrays
        The same statistics for each bootstrap sample (first axis). Loadings are aligned with those of all rows. What a
        sample does not have, such as the coordinates of a level that none of its rows has, is NaN; standard errors and
        intervals are those of the other samples.
    kind : "row", "block" or "groups"
        What was resampled.
    n_blocks : int
        The number of rows, blocks or groups that were resampled.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lowdim import PCA, bootstrap
    >>> found = bootstrap(PCA(2), load_iris().data, n_resamples=200, random_state=0)
    >>> type(found).__name__, sorted(found.estimates)
    ('Bootstrap', ['explained_variance', 'explained_variance_ratio', 'loadings', 'noise_variance'])
    >>> found.standard_error("explained_variance").round(2)
    array([0.28, 0.03])
    """

    estimator: str
    estimates: dict[str, np.ndarray] = field(metadata={"kind": Entries(Numbers("...", host=True, finite=False))})
    replicates: dict[str, np.ndarray] = field(metadata={"kind": Entries(Numbers("...", host=True, finite=False))})
    kind: str = field(metadata={"kind": Text(("row", "block", "groups"))})
    n_blocks: int = field(metadata={"kind": Whole(1)})
    confidence_level: float = field(metadata={"kind": Real("positive", most=1.0)})
    #: Labels of the entries of each statistic, one list for each axis.
    labels: dict[str, tuple[list[str], ...]] = field(metadata={"kind": Entries(TupleOf(ListOf(Text())))})
    #: What the labels of each axis are: "components", "features" or "targets".
    axes: dict[str, tuple[str, ...]] = field(
        default_factory=dict, metadata={"kind": Sometimes(Entries(TupleOf(Text())))}
    )

    def standard_error(self, name: str) -> np.ndarray:
        """Standard deviation of the replicates."""
        return self._over(name, lambda drawn: np.asarray(np.std(drawn, axis=0, ddof=1)))

    def bias(self, name: str) -> np.ndarray:
        """Mean of the replicates minus the estimate.

        Sample estimates of the leading eigenvalues are biased upwards, and those of bootstrap samples once more.
        """
        return self._over(name, lambda drawn: np.asarray(np.mean(drawn, axis=0))) - self.estimates[name]

    def interval(self, name: str, confidence_level: float | None = None) -> np.ndarray:
        """Percentile interval that contains the fraction `confidence_level` of the replicates, shape (2, ...)."""
        confidence_level = (
            self.confidence_level
            if confidence_level is None
            else check_probability("confidence_level", confidence_level)
        )
        edges = [(1 - confidence_level) / 2, (1 + confidence_level) / 2]
        return self._over(name, lambda drawn: np.quantile(drawn, edges, axis=0))

    def table(self, name: str | None = None) -> Table:
        """The estimate, standard error and interval of every entry of a statistic.

        Rows are labelled by the first axis of the statistic, and a column names the entry of the second: those of
        "loadings" by the column, with the component beside it.

        Parameters
        ----------
        name : str, default=None
            The statistic, one of `estimates`; it may be left out if there is only one.
        """
        if name is None and len(self.estimates) == 1:
            name = next(iter(self.estimates))
        if name not in self.estimates:
            raise choice("name", name, list(self.estimates))
        # A statistic without axes has a single entry, which is labelled by its name.
        labels = self.labels[name] or ([name],)
        kinds = [_AXES.get(kind, kind) for kind in self.axes.get(name, ())] or ["entry"] * len(labels)
        rows, *others = [list(axis) for axis in zip(*product(*labels), strict=True)]
        low, high = self.interval(name)
        columns: dict[str, Any] = dict(zip(kinds[1:], others, strict=True))
        columns |= {
            "estimate": self.estimates[name].ravel(),
            "std. error": self.standard_error(name).ravel(),
            "low": low.ravel(),
            "high": high.ravel(),
        }
        return Table(columns, rows, title=name, row_name=kinds[0])

    def to_pandas(self, name: str | None = None) -> Any:
        """The table of a statistic as a pandas data frame."""
        return self.table(name).to_pandas()

    def to_polars(self, name: str | None = None) -> Any:
        """The table of a statistic as a polars data frame."""
        return self.table(name).to_polars()

    def _of(self, name: str) -> np.ndarray:
        if name not in self.replicates:
            raise choice("name", name, list(self.replicates))
        return self.replicates[name]

    def _over(self, name: str, summed_up: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """`summed_up(replicates)` over the first axis; for each entry, over the samples in which it is not NaN."""
        drawn = self._of(name)
        flat = drawn.reshape(len(drawn), -1)
        without = np.isnan(flat)
        if not without.any():
            return summed_up(drawn)
        found = summed_up(np.where(without, 0.0, flat))
        for j in np.flatnonzero(without.any(axis=0)):
            there = flat[~without[:, j], j]
            found[..., j] = summed_up(there) if len(there) > 1 else np.nan
        return found.reshape(*found.shape[:-1], *drawn.shape[1:])

    @property
    def _drawn(self) -> str:
        n = len(next(iter(self.replicates.values())))
        return f"{n} draws of {self.n_blocks} {_WORDS[self.kind]}"

    def __repr__(self) -> str:
        return f"Bootstrap({self.estimator}, {self._drawn}: {', '.join(self.estimates)})"

    def __str__(self) -> str:
        return "\n".join([self._headline(), *(self.table(name).text(max_rows=_SHOWN) for name in self.estimates)])

    def _repr_html_(self) -> str:
        tables = (self.table(name)._repr_html_() for name in self.estimates)
        return "".join([f"<p>{escape(self._headline())}</p>", *tables])

    def _headline(self) -> str:
        return f"{self.estimator}: {self._drawn}; {self.confidence_level:.0%} intervals"


@with_present_names
def bootstrap(
    estimator: Estimator,
    X: TableLike,
    y: TableLike | None = None,
    *,
    n_resamples: int = 1000,
    kind: Literal["auto", "row", "block"] = "auto",
    n_blocks: int | None = None,
    groups: VectorLike | None = None,
    align: Literal["match", "procrustes"] = "match",
    confidence_level: float = 0.95,
    sample_weight: VectorLike | None = None,
    random_state: RandomState = None,
) -> Bootstrap:
    """Standard errors and intervals of fitted parameters, from rows resampled with replacement.

    Parameters
    ----------
    estimator : PCA, PPCA, FactorAnalysis, MCA, FAMD, MFA, PCR, PLSRegression or CCA
        It is not changed. If its number of components is not fixed, that of the fit to all rows is used.
    X : rows
    y : rows, default=None
    n_resamples : int, default=1000
        Number of bootstrap samples.
    kind : "auto", "row" or "block", default="auto"
        Resample single rows (exact, but all rows have to fit into memory), or blocks of consecutive rows, whose
        summaries are computed in one pass. "auto" resamples rows if that takes little time.
    n_blocks : int, default=None
        Number of blocks; by default 200, or as many as fit into memory. If neighbouring rows depend on each other, as
        in a time series, blocks should be longer than the range of that dependence.
    groups : vector, or str, default=None
        The group of each row, or the name of a column of X that holds it. Whole groups of rows are then resampled, for
        example patients with several rows each.
    align : "match" or "procrustes", default="match"
        How the loadings of a bootstrap sample are made comparable with those of all rows. "match" permutes components
        and changes their signs to be as similar as possible (Procrustes over signed permutations); "procrustes" rotates
        all of them together (Procrustes over rotations). A rotation hides part of the variation of single directions,
        more so the more components there are. It is meant for the subspace of the K components, when eigenvalues are
        close to each other.
    confidence_level : float, default=0.95
        The fraction of the replicates that intervals contain.
    sample_weight : array of shape (n_samples,), or str, default=None
        Frequencies, or the name of a column of X that holds them. When single rows are drawn, weights are whole
        numbers, and a row of weight 2 counts as two rows. Blocks and groups contain whole rows with all their weight;
        "auto" makes blocks if weights are not whole.
    random_state : int, RandomState or None, default=None

    Notes
    -----
    If a bootstrap sample contains block i c_i times, its weight, mean and scatter are

        W = sum c_i w_i,   m = sum c_i w_i m_i / W,   S = sum c_i S_i + sum c_i w_i (m_i - m)(m_i - m)^T

    from the summaries of the blocks [1]_. The model is solved from these, so one pass over the rows is enough for any
    number of samples. Many blocks of equal size give nearly the same intervals as single rows.

    If there are fewer rows than columns, the model is fitted to the rows of each sample, weighted by how often they
    were drawn. The inner products of all rows are computed once, and those of a sample are a choice of them. If columns
    are divided by their standard deviations, each sample has its own products.

    Tables with categories are coded first, in a pass that finds their levels, and summed up as rows of zeros and ones.
    Loadings and coordinates are turned alike. A level that no row of a sample has is left out in this sample.

    References
    ----------
    .. [1] Kunsch (1989), The jackknife and the bootstrap for general stationary observations.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lowdim import PCA, bootstrap
    >>> draws = bootstrap(PCA(2), load_iris().data, n_resamples=200, random_state=0)
    >>> draws.interval("explained_variance").shape
    (2, 2)
    """
    if not all(hasattr(estimator, name) for name in ("open_rows", "fit_summary", "bootstrap_axes")):
        raise TypeError(
            f"{type(estimator).__name__} cannot be bootstrapped here; PCA, PPCA, FactorAnalysis, MCA, FAMD, MFA, PCR, "
            f"PLSRegression and CCA can.{what_instead(estimator, 'bootstrap')}"
        )
    n_resamples = check_count("n_resamples", n_resamples, least=2)
    if kind not in _KINDS:
        raise choice("kind", kind, _KINDS)
    if align not in ALIGNMENTS:
        raise choice("align", align, list(ALIGNMENTS))
    check_probability("confidence_level", confidence_level)
    random = np.random.RandomState(seed_of(random_state))
    model = clone(estimator)
    coded = hasattr(model, "coded_rows")
    X, y, groups, sample_weight = by_name(X, y, of_any_kind=coded, groups=groups, sample_weight=sample_weight)
    source = model.open_rows(X, y)
    if coded:
        source = model.coded_rows(source, sample_weight)
    if groups is None:
        source = with_known_length(source, "for the bootstrap")
    if has_unstored_missing(model, source):
        raise ValueError("the bootstrap needs complete rows: fill in the entries that are not stored first.")
    try:
        pieces = find_pieces(model, source, kind, n_blocks, groups, n_resamples, sample_weight)
    except MissingValues as error:
        if not hasattr(model, "impute"):
            raise
        raise ValueError("the bootstrap needs complete rows, without NaN: fill them in with `impute` first.") from error
    return bootstrap_pieces(model, pieces, n_resamples, random, align, confidence_level)


def bootstrap_pieces(
    model: Any,
    pieces: Pieces,
    n_resamples: int,
    random: np.random.RandomState,
    align: str = "match",
    confidence_level: float = 0.95,
) -> Bootstrap:
    """The bootstrap of an unfitted model, from pieces of the rows that are drawn with replacement; see `bootstrap`."""
    # The same warning for each bootstrap sample would not be helpful.
    with without_warnings(LowdimWarning), np.errstate(all="ignore"):
        whole = next(pieces.fits(model, pieces.copies[None, :], None))
        fixed = clone(model)
        if hasattr(model, "coded_rows"):
            # A sample may have fewer components, since a level may be missing; those beyond are left out below.
            fixed.set_params(n_components=None)
        elif hasattr(whole, "n_components_"):
            fixed.set_params(n_components=int(whole.n_components_))
        estimates = _statistics(whole, whole)
        draws = [
            _align(_statistics(drawn, whole), estimates, ALIGNMENTS[align])
            for counts in pieces.draw(n_resamples, random)
            for drawn in pieces.fits(fixed, counts, whole)
        ]
    replicates = {name: np.stack([draw[name] for draw in draws]) for name in estimates}
    labels = {name: _labels(model, whole, name, value) for name, value in estimates.items()}
    axes = {name: tuple(model.bootstrap_axes[name][: value.ndim]) for name, value in estimates.items()}
    return Bootstrap(
        type(model).__name__, estimates, replicates, pieces.kind, pieces.n_pieces, confidence_level, labels, axes
    )


def _statistics(model: Any, whole: Any) -> dict[str, np.ndarray]:
    """The statistics of a fitted model as float64 NumPy arrays. Coded columns are in the places that they have in the
    fit to all rows, `whole`; those that the model does not have are NaN."""
    found = {name: np.asarray(to_numpy(getattr(model, f"{name}_")), dtype=np.float64) for name in model.bootstrap_axes}
    if model is whole or not hasattr(model, "coding_"):
        return found
    places = {name: i for i, name in enumerate(_coded_names(whole))}
    rows = [places[name] for name in _coded_names(model)]
    for name, value in found.items():
        if model.bootstrap_axes[name][0] == "coded columns":
            n = len(getattr(whole, f"{name}_"))
            found[name] = np.full((n, value.shape[1]), np.nan)
            found[name][rows[: len(value)]] = value
    return found


def _coded_names(model: Any) -> list[str]:
    """The names of coded columns of a fitted model: active ones, then supplementary ones."""
    return [*model.coding_.names, *model.supplementary_coding_.names]


def _align(
    draw: dict[str, np.ndarray], estimates: dict[str, np.ndarray], align: Callable[[np.ndarray], np.ndarray]
) -> dict[str, np.ndarray]:
    """Statistics of a bootstrap sample, with its loadings aligned with those of all rows.

    Components that the sample does not have are NaN. Loadings of x and y are aligned by the same matrix.
    """
    out = {}
    for name, reference in estimates.items():
        out[name] = np.full(reference.shape, np.nan)
        drawn = draw[name][tuple(slice(s) for s in reference.shape)]
        out[name][tuple(slice(s) for s in drawn.shape)] = drawn
    loadings = [name for name in estimates if name.endswith(("loadings", "structure"))]
    if loadings:
        found = {name: np.where(np.isnan(out[name]), 0.0, out[name]) for name in loadings}
        unit = max(float(np.abs(estimates[name]).max()) for name in loadings) or 1.0
        products = [(found[name] / unit).T @ (estimates[name] / unit) for name in loadings]
        turn = align(np.sum(products, axis=0))
        for name in estimates:
            if name in loadings or name == "coordinates":
                gone = np.isnan(out[name]).all(axis=1, keepdims=True)
                out[name] = np.where(gone, np.nan, np.where(np.isnan(out[name]), 0.0, out[name]) @ turn)
    return out


def _rotation(products: np.ndarray) -> np.ndarray:
    """The orthogonal matrix Q that maximises tr(Q^T A^T B), so that A Q is as close as possible to B."""
    U, _, Vt = np.linalg.svd(products)
    return np.asarray(U @ Vt)


def _signed_permutation(products: np.ndarray) -> np.ndarray:
    """The same among matrices with exactly one 1 or -1 in each row and column."""
    rows, columns = linear_sum_assignment(-np.abs(products))
    Q = np.zeros_like(products)
    Q[rows, columns] = np.where(products[rows, columns] < 0, -1.0, 1.0)
    return Q


#: The methods that align loadings.
ALIGNMENTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {"match": _signed_permutation, "procrustes": _rotation}


def _labels(model: Any, whole: Any, name: str, value: np.ndarray) -> tuple[list[str], ...]:
    """Labels of the axes of a statistic of the fit to all rows, `whole`; `model` knows the names of the columns."""
    # A user's own model need not know any names.
    known = getattr(model, "_known_names", lambda table: None)
    names: dict[str, Any] = {
        "components": getattr(whole, "component_names_", None),
        "features": known(0),
        "coded columns": _coded_names(whole)[: len(value)] if hasattr(whole, "coding_") else None,
        "targets": known(1),
    }
    stems = {"components": "component", "features": "x", "targets": "y"}
    axes = zip(model.bootstrap_axes[name], value.shape, strict=False)
    return tuple(numbered(stems[axis], size) if names[axis] is None else names[axis] for axis, size in axes)


# The pieces of a table that the bootstrap draws with replacement: rows, blocks of rows, or groups of rows.


#: Limits for resampling single rows, above which blocks are used: rows times draws, and multiplications.
_ROW_DRAWS, _ROW_WORK = 1e7, 3e10
#: The default number of blocks, and the number below which there is a warning.
_BLOCKS = 200
_FEWEST = 20
#: Replicates are computed in groups whose scatter matrices have at most this many entries.
_CHUNK = 1 << 22


@dataclass(frozen=True)
class Pieces:
    """The pieces that are drawn, and how a model is fitted to a sample of them."""

    #: "row", "block" or "groups".
    kind: str
    #: How often each piece occurs among those that are drawn.
    copies: np.ndarray
    #: The number of rows of each piece.
    rows: np.ndarray
    #: How many numbers one sample takes.
    numbers_each: int
    #: (model, counts, near) -> copies of the model fitted to samples; each row of `counts` says how often the sample
    #: contains each piece. Iterations start at the fitted model `near`, if it is not None.
    fits: Callable[[Any, np.ndarray, Any], Iterator[Any]]

    @property
    def n_pieces(self) -> int:
        """The number of pieces, with their copies."""
        return int(self.copies.sum())

    def draw(self, n_resamples: int, random: Any) -> Iterator[np.ndarray]:
        """The counts of `n_resamples` samples, some samples at a time."""
        n, shares = self.n_pieces, self.copies / self.n_pieces
        chunk = max(1, min(n_resamples, _CHUNK // max(self.numbers_each, len(shares))))
        for start in range(0, n_resamples, chunk):
            size = min(chunk, n_resamples - start)
            counts = random.multinomial(n, shares, size=size)
            # A sample that consists of copies of a single row has no variance; draw again.
            while np.any(alone := (counts > 0) @ self.rows < 2):
                counts[alone] = random.multinomial(n, shares, size=int(alone.sum()))
            yield counts


def _pieces_of_sums(
    kind: str,
    like: Moments,
    copies: np.ndarray,
    rows: np.ndarray,
    weights: np.ndarray,
    means: np.ndarray,
    scatters: np.ndarray | None = None,
) -> Pieces:
    """Pieces of which the weight (of one copy), mean and scatter are known. For single rows, `means` are the rows
    themselves, and there are no scatters."""
    p = means.shape[1]

    def fits(model: Any, counts: np.ndarray, near: Any) -> Iterator[Any]:
        centre = np.average(means, axis=0, weights=weights)
        D = means - centre
        within = None if scatters is None else counts.astype(np.float64) @ scatters
        for b, c in enumerate(counts):
            w = c * weights
            total = float(w.sum())
            d = (w @ D) / total
            E = (D - d) * np.sqrt(w)[:, None]
            S = E[c > 0].T @ E[c > 0]
            if within is not None:
                S = S + within[b].reshape(p, p)
            moments = like.fresh()
            moments.n_rows, moments.weight = int(c @ rows), total
            moments.mean, moments.rest = centre + d, np.zeros(p)
            moments.scatter = 0.5 * (S + S.T)
            yield started_copy(model, near, near=True).fit_summary(moments)

    return Pieces(kind, copies, rows, p * p, fits)


def _weighted_pieces(
    kind: str, model: Any, source: Source, copies: np.ndarray, rows: np.ndarray, labels: np.ndarray, weights: np.ndarray
) -> Pieces:
    """Pieces of a table with fewer rows than columns: a model is fitted to the rows, weighted by their counts. `labels`
    are the pieces of the rows, and `weights` those of the rows in one copy of them."""
    tables = with_known_products(model, source)

    def fits(model: Any, counts: np.ndarray, near: Any) -> Iterator[Any]:
        for c in counts:
            yield started_copy(model, near, near=True).fit(*tables, sample_weight=c[labels] * weights)

    return Pieces(kind, copies, rows, len(labels), fits)


def find_pieces(
    model: Any, source: Source, kind: str, n_blocks: int | None, groups: Any, n_resamples: int, sample_weight: Any
) -> Pieces:
    """The pieces that are drawn: rows, or blocks or groups of rows."""
    n, p = source.shape
    coded = hasattr(model, "coded_rows")
    if n is None and groups is None:
        raise unknown_length("the bootstrap", ", or groups with the label of each row")
    if kind == "row" and n_blocks is not None:
        raise ValueError("n_blocks is a number of blocks, but kind='row' resamples rows; pass only one of them.")
    weights = None if sample_weight is None else check_weights(sample_weight, source)
    ordered = in_order(source)
    # Coded columns are few, and a model is fitted to their moments.
    wide = is_wide(source) and ordered and not coded
    like = Moments(p, widths=source.widths, wide=True)
    if coded:
        like.names = source.names
    if groups is None and n_blocks is None and kind != "block":
        here = source.traits.host and not source.traits.remote
        few = n is not None and float(n_resamples) * n <= _ROW_DRAWS and float(n_resamples) * n * p * p <= _ROW_WORK
        whole = weights is None or is_whole(weights)
        if kind == "row" and not ordered:
            raise ValueError(
                "kind='row' draws single rows, which are on the executors of Spark; leave it out, so that blocks of "
                "rows are drawn, which are made by a hash of the rows."
            )
        if wide and (kind == "row" or whole):
            _require_two_rows(summarize(source, Columns(p), weights=sample_weight).n_rows)
            ones = np.ones(int(n or 0), dtype=np.int64)
            copies = ones if sample_weight is None else check_whole(sample_weight)
            return _weighted_pieces("row", model, source, copies, ones, np.arange(len(ones)), ones.astype(float))
        if kind == "row" or (here and few and whole):
            rows, copies = rows_and_counts(source, sample_weight)
            _require_two_rows(len(rows))
            ones = np.ones(len(rows), dtype=np.int64)
            return _pieces_of_sums("row", like, copies, ones, ones.astype(float), rows)
    cells = _cells(source, kind, n_blocks, groups, weights, wide)
    count = int(np.count_nonzero(cells.weights_of_cells(weights)[0]))
    if count < 2:
        raise ValueError("the bootstrap needs at least 2 blocks or groups, got 1.")
    if count < _FEWEST:
        warn_user(
            f"{count} blocks or groups are few for a bootstrap: standard errors are accurate only to about "
            f"{1 / math.sqrt(2 * count):.0%}, and the ends of intervals are coarse. Use at least {_FEWEST}.",
            SmallSampleWarning,
        )
    name = "block" if groups is None else "groups"
    if not wide:
        (parts,) = cells.summarize(source, like, weights)
        return summed_pieces(name, parts, like)
    summarize(source, Columns(p), weights=weights)
    labels = cells.labels[:, 0]
    each = np.ones(len(labels)) if weights is None else to_numpy(weights).astype(np.float64)
    numbers = np.bincount(labels, each > 0).astype(np.int64)
    return _weighted_pieces(name, model, source, (numbers > 0).astype(np.int64), numbers, labels, each)


def summed_pieces(kind: str, moments: Sequence[Moments], like: Moments) -> Pieces:
    """Pieces of rows of which the moments are known; those without rows are left out."""
    parts = [m for m in moments if m.weight > 0]
    copies, rows = np.ones(len(parts), dtype=np.int64), np.array([m.n_rows for m in parts])
    weights, means = np.array([m.weight for m in parts]), np.stack([to_numpy(m.mean) for m in parts])
    scatters = np.stack([to_numpy(m.scatter).reshape(-1) for m in parts])
    return _pieces_of_sums(kind, like, copies, rows, weights, means, scatters)


def _require_two_rows(n: int) -> None:
    if n < 2:
        raise ValueError(f"the bootstrap needs at least 2 rows of positive weight, got {n}.")


def _cells(source: Source, kind: str, n_blocks: int | None, groups: Any, weights: Any, wide: bool) -> Folds:
    """The blocks of consecutive rows, of nearly equal lengths, or the groups, as cells of rows. They are summed up,
    unless the table is `wide`."""
    n, p = source.shape
    if groups is not None and (kind == "row" or n_blocks is not None):
        raise ValueError("with groups, whole groups are resampled: leave out kind='row' and n_blocks.")
    k = _number_of_blocks(int(n or 0), p, n_blocks, wide) if groups is None else 0
    if not in_order(source):
        return cells_without_order(source, k, groups, weights)
    if groups is None:
        labels = np.repeat(np.arange(k), [j - i for i, j in cut(int(n or 0), k)])
    else:
        labels = np.unique(to_numpy(groups), return_inverse=True)[1].reshape(-1)
        if n is not None and len(labels) != n:
            raise ValueError(f"groups must have one entry for each of the {n} rows, got {len(labels)}.")
    return Folds(labels[:, None], (int(labels.max()) + 1,), ())


def _number_of_blocks(n: int, p: int, n_blocks: int | None, wide: bool) -> int:
    """The number of blocks, which is checked if it is given."""
    have = memory_bytes()
    # The moments of a block have p x p numbers; wide tables are not summed up.
    most = n if wide or not have else int(0.25 * have / (8 * p * p))
    if n_blocks is None:
        n_blocks = min(n, _BLOCKS, max(most, 1))
        if n_blocks < min(n, _FEWEST):
            raise ValueError(
                f"the summaries of {_FEWEST} blocks of {p} columns do not fit into memory; use fewer columns, or set "
                "n_blocks."
            )
    if isinstance(n_blocks, bool) or not isinstance(n_blocks, int | np.integer) or not 2 <= n_blocks <= n:
        raise ValueError(f"n_blocks={n_blocks!r} must be a whole number between 2 and {n}, the number of rows.")
    return int(n_blocks)


# Jackknife standard errors of regression coefficients, from fits that leave out parts of the rows.


#: The largest number of coefficients that are printed.
_JACKKNIFE_SHOWN = 20


@dataclass(frozen=True, repr=False)
class Jackknife(Tabular):
    """Regression coefficients with their standard errors, and a test of each against zero.

    Attributes
    ----------
    coef, standard_error, t, p : arrays of shape (n_targets, n_features)
        Coefficients of the fit to all rows, their standard errors, t statistics and two-sided p-values.
    replicates : array of shape (n_parts, n_targets, n_features)
        Coefficients of the fits without each part of the rows.
    dof : int
        Degrees of freedom of the tests: the number of parts minus one.
    features, targets : lists
        Names of the columns of X and y; x1, x2, ... and y1, y2, ... if they have none.
    """

    coef: np.ndarray = field(metadata={"kind": Numbers("q", "p", host=True)})
    replicates: np.ndarray = field(metadata={"kind": Numbers("*", "q", "p", host=True)})
    #: sqrt((g - 1) / g sum_i (b_i - b)^2) for g parts, where b is the mean of the replicates b_i.
    standard_error: np.ndarray = field(metadata={"kind": Numbers("q", "p", host=True, sign="nonnegative")})
    features: list[Any] = field(metadata={"kind": ListOf(Anything(), length="p")})
    targets: list[Any] = field(metadata={"kind": ListOf(Anything(), length="q")})

    @property
    def dof(self) -> int:
        """Degrees of freedom of the tests: the number of parts minus one."""
        return len(self.replicates) - 1

    @property
    def t(self) -> np.ndarray:
        """coef / standard_error (zero if both are zero)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.where(self.standard_error > 0, self.coef / self.standard_error, np.copysign(np.inf, self.coef))
        return np.where((self.coef == 0) & (self.standard_error == 0), 0.0, t)

    @property
    def p(self) -> np.ndarray:
        """Two-sided p-values from Student's t distribution. They are approximate, as replicates share most rows."""
        return 2.0 * special.stdtr(self.dof, -np.abs(self.t))

    def table(self) -> Table:
        """A row for each coefficient, labelled by the column of X."""
        q, p = self.coef.shape
        columns = {
            "response": [name for name in self.targets for _ in range(p)],
            "coefficient": self.coef.ravel(),
            "std. error": self.standard_error.ravel(),
            "t": self.t.ravel(),
            "p": self.p.ravel(),
        }
        return Table(columns, list(self.features) * q, title=f"{len(self.replicates)} parts", row_name="column")

    def __repr__(self) -> str:
        q, p = self.coef.shape
        return f"Jackknife({len(self.replicates)} parts, {q} x {p} coefficients)"

    def __str__(self) -> str:
        table = self.table()
        if len(table) > _JACKKNIFE_SHOWN:
            table = table.sort("p", descending=False)
            table.title += f"; the {_JACKKNIFE_SHOWN} smallest p of {len(table)}"
        return table.text(max_rows=_JACKKNIFE_SHOWN)


def jackknife(model: Any, X: Any, y: Any, cv: Any, sample_weight: Any) -> Jackknife:
    """Refit `model` without each part of the rows.

    Rows are left out by giving them weight zero, so that every kind of source can be used and nothing is copied. There
    is one fit for each part [1]_.

    References
    ----------
    .. [1] Martens, Martens (2000), Modified jack-knife estimation of parameter uncertainty in bilinear modelling.
    """
    X, y, cv, sample_weight = by_name(X, y, cv=cv, sample_weight=sample_weight)
    source = with_known_length(model.open_rows(X, y, fitted=True), "for the jackknife")
    if not in_order(source):
        raise no_order("the parts that a jackknife leaves out")
    if source.shape[0] is None:
        raise unknown_length("the jackknife")
    n, fitted = int(source.shape[0]), (model.n_features_in_, model.y_mean_.shape[0])
    if source.widths != fitted:
        raise ValueError(
            f"X and y have {source.widths[0]} and {source.widths[1]} columns, the model was fitted on {fitted[0]} and "
            f"{fitted[1]}: pass the rows of the fit."
        )
    weights = np.ones(n) if sample_weight is None else to_numpy(sample_weight).astype(float)
    if weights.shape != (n,):
        raise bad_weights("must have one entry per row", f"shape {weights.shape} for {n} rows")
    # Parts in which all rows have weight zero are skipped.
    parts = [test for _, test in split_rows(cv, n, weights=weights) if np.any(weights[test] > 0)]
    everything, held = np.concatenate([*parts, np.zeros(0, int)]), np.zeros(n, dtype=bool)
    held[everything] = True
    if not np.array_equal(np.sort(everything), np.flatnonzero(held)):
        raise ValueError(f"the jackknife needs parts that do not overlap, but those of cv={cv!r} do.")
    if np.any(weights[~held] > 0):
        raise ValueError(f"the jackknife needs parts that cover all rows, but those of cv={cv!r} do not.")
    n_rows = int(np.count_nonzero(weights))
    if n_rows != model.n_samples_:
        raise ValueError(
            f"{n_rows} rows have a positive weight, but the model was fitted on {model.n_samples_}: pass the rows and "
            "weights of the fit."
        )
    g = len(parts)
    if g < 2:
        raise ValueError(f"the jackknife needs at least 2 parts with rows, cv={cv!r} gives {g}.")
    replicates = []
    tables = with_known_products(model, source)
    for left_out in parts:
        kept = weights.copy()
        kept[left_out] = 0.0
        fit = clone(model).fit(*tables, sample_weight=kept)
        replicates.append(to_numpy(fit.coef_).astype(float))
    coef, stack = to_numpy(model.coef_).astype(float), np.stack(replicates)
    deviations = np.sqrt((g - 1) * stack.var(axis=0))
    return Jackknife(coef, stack, deviations, model._column_names(0), model._column_names(1))
