"""Bootstrap intervals: single rows are resampled for small tables, and blocks of rows, in one pass, for all others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape
from itertools import product
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.base import clone

from .._xp import to_numpy
from ..errors import LowdimWarning, MissingValues, choice, without_warnings
from ..sources import by_name, with_known_length
from ..tabular import Table, Tabular, numbered
from .pieces import Pieces, find_pieces
from .protocol import CanBeBootstrapped
from .resampling import check_level, seed_of
from .scorers import has_unstored_holes

_KINDS = ("auto", "row", "block")
#: The largest number of entries of a statistic that are printed.
_SHOWN = 12
#: What the labels of an axis are, for tables.
_AXES = {"components": "component", "features": "column", "targets": "response"}


@dataclass(frozen=True, repr=False, eq=False)
class Bootstrap(Tabular):
    """Statistics of a model that was fitted to bootstrap samples of the rows, with a table for each statistic.

    Attributes
    ----------
    estimates : dict of arrays
        Statistics of the model fitted to all rows.
    replicates : dict of arrays
        The same statistics for each bootstrap sample (first axis). Loadings are aligned with those of all rows.
    kind : "row", "block" or "groups"
        What was resampled.
    n_blocks : int
        The number of rows, blocks or groups that were resampled.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lowdim import PCA, bootstrap
    >>> found = bootstrap(PCA(2), load_iris().data, n_boot=200, random_state=0)
    >>> type(found).__name__, sorted(found.estimates)
    ('Bootstrap', ['explained_variance', 'explained_variance_ratio', 'loadings', 'noise_variance'])
    >>> found.standard_error("explained_variance").round(2)
    array([0.28, 0.03])
    """

    estimator: str
    estimates: dict[str, np.ndarray]
    replicates: dict[str, np.ndarray]
    kind: str
    n_blocks: int
    level: float
    #: Labels of the entries of each statistic, one list for each axis.
    labels: dict[str, tuple[list[str], ...]]
    #: What the labels of each axis are: "components", "features" or "targets".
    axes: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def standard_error(self, name: str) -> np.ndarray:
        """Standard deviation of the replicates."""
        return np.asarray(np.std(self._of(name), axis=0, ddof=1))

    def bias(self, name: str) -> np.ndarray:
        """Mean of the replicates minus the estimate.

        Sample estimates of the leading eigenvalues are biased upwards, and those of bootstrap samples once more.
        """
        return np.asarray(np.mean(self._of(name), axis=0) - self.estimates[name])

    def interval(self, name: str, level: float | None = None) -> np.ndarray:
        """Percentile interval that contains the fraction `level` of the replicates, shape (2, ...)."""
        level = self.level if level is None else check_level(level)
        return np.quantile(self._of(name), [(1 - level) / 2, (1 + level) / 2], axis=0)

    def table(self, name: str | None = None) -> Table:
        """The estimate, standard error and interval of every entry of a statistic.

        Rows are labelled by the first axis of the statistic, and a column names the entry of the second: those of
        "loadings" by the column, with the component beside it.

        Parameters
        ----------
        name : str
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

    def __repr__(self) -> str:
        n, names = len(next(iter(self.replicates.values()))), ", ".join(self.estimates)
        return f"Bootstrap({self.estimator}, {n} draws of {self.n_blocks} {_words(self.kind)}: {names})"

    def __str__(self) -> str:
        return "\n".join([self._headline(), *(self.table(name).text(max_rows=_SHOWN) for name in self.estimates)])

    def _repr_html_(self) -> str:
        tables = (self.table(name)._repr_html_() for name in self.estimates)
        return "".join([f"<p>{escape(self._headline())}</p>", *tables])

    def _headline(self) -> str:
        n = len(next(iter(self.replicates.values())))
        return f"{self.estimator}: {n} draws of {self.n_blocks} {_words(self.kind)}; {self.level:.0%} intervals"


def bootstrap(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    n_boot: int = 1000,
    kind: str = "auto",
    n_blocks: int | None = None,
    groups: Any = None,
    align: str = "match",
    level: float = 0.95,
    sample_weight: Any = None,
    random_state: Any = None,
) -> Bootstrap:
    """Standard errors and intervals of fitted parameters, from rows resampled with replacement.

    Parameters
    ----------
    estimator : PCA, PPCA, FactorAnalysis, PCR, PLSRegression or CCA
        It is not changed. If its number of components is not fixed, that of the fit to all rows is used.
    X, y : rows
    n_boot : int
        Number of bootstrap samples.
    kind : "auto", "row" or "block"
        Resample single rows (exact, but all rows have to fit into memory), or blocks of consecutive rows, whose
        summaries are computed in one pass. "auto" resamples rows if that takes little time.
    n_blocks : int, optional
        Number of blocks; by default 200, or as many as fit into memory. If neighbouring rows depend on each other, as
        in a time series, blocks should be longer than the range of that dependence.
    groups : vector, or str, optional
        The group of each row, or the name of a column of X that holds it. Whole groups of rows are then resampled, for
        example patients with several rows each.
    align : "match" or "procrustes"
        How the loadings of a bootstrap sample are made comparable with those of all rows. "match" permutes components
        and changes their signs to be as similar as possible (Procrustes over signed permutations); "procrustes" rotates
        all of them together (Procrustes over rotations). A rotation hides part of the variation of single directions,
        more so the more components there are. It is meant for the subspace of the K components, when eigenvalues are
        close to each other.
    level : float
        The fraction of the replicates that intervals contain.
    sample_weight : array of shape (n_samples,), or str, optional
        Frequencies, or the name of a column of X that holds them. When single rows are drawn, weights are whole
        numbers, and a row of weight 2 counts as two rows. Blocks and groups contain whole rows with all their weight;
        "auto" makes blocks if weights are not whole.
    random_state : int, RandomState or None

    Notes
    -----
    If a bootstrap sample contains block i c_i times, its weight, mean and scatter are

        W = sum c_i w_i,   m = sum c_i w_i m_i / W,   S = sum c_i S_i + sum c_i w_i (m_i - m)(m_i - m)^T

    from the summaries of the blocks [1]_. The model is solved from these, so one pass over the rows is enough for any
    number of samples. Many blocks of equal size give nearly the same intervals as single rows.

    If there are fewer rows than columns, the model is fitted to the rows of each sample, weighted by how often they
    were drawn. The inner products of all rows are computed once, and those of a sample are a choice of them. If columns
    are divided by their standard deviations, each sample has its own products.

    References
    ----------
    .. [1] Kunsch (1989), The jackknife and the bootstrap for general stationary observations.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lowdim import PCA, bootstrap
    >>> draws = bootstrap(PCA(2), load_iris().data, n_boot=200, random_state=0)
    >>> draws.interval("explained_variance").shape
    (2, 2)
    """
    if not isinstance(estimator, CanBeBootstrapped):
        raise TypeError(
            f"{type(estimator).__name__} cannot be bootstrapped here; PCA, PPCA, FactorAnalysis, PCR, PLSRegression "
            "and CCA can."
        )
    if isinstance(n_boot, bool) or not isinstance(n_boot, int | np.integer) or n_boot < 2:
        raise ValueError(f"n_boot={n_boot!r} must be a whole number of at least 2.")
    if kind not in _KINDS:
        raise choice("kind", kind, _KINDS)
    if align not in ALIGNMENTS:
        raise choice("align", align, list(ALIGNMENTS))
    check_level(level)
    random = np.random.RandomState(seed_of(random_state))
    model = clone(estimator)
    X, y, groups, sample_weight = by_name(X, y, groups=groups, sample_weight=sample_weight)
    source = model.open_rows(X, y)
    if groups is None:
        source = with_known_length(source, "for the bootstrap")
    if has_unstored_holes(model, source):
        raise ValueError("the bootstrap needs complete rows: fill in the entries that are not stored first.")
    try:
        pieces = find_pieces(model, source, kind, n_blocks, groups, int(n_boot), sample_weight)
    except MissingValues as error:
        if not hasattr(model, "impute"):
            raise
        raise ValueError("the bootstrap needs complete rows, without NaN: fill them in with `impute` first.") from error
    return bootstrap_pieces(model, pieces, int(n_boot), random, align, level)


def bootstrap_pieces(
    model: Any, pieces: Pieces, n_boot: int, random: np.random.RandomState, align: str = "match", level: float = 0.95
) -> Bootstrap:
    """The bootstrap of an unfitted model, from pieces of the rows that are drawn with replacement; see `bootstrap`."""
    # The same warning for each bootstrap sample would not be helpful.
    with without_warnings(LowdimWarning), np.errstate(all="ignore"):
        whole = pieces.fit_all(model)
        fixed = clone(model)
        if hasattr(whole, "n_components_"):
            fixed.set_params(n_components=int(whole.n_components_))
        estimates = _statistics(whole)
        draws = [
            _align(_statistics(drawn), estimates, ALIGNMENTS[align])
            for counts in pieces.draw(n_boot, random)
            for drawn in pieces.fits(fixed, counts, near=whole)
        ]
    replicates = {name: np.stack([draw[name] for draw in draws]) for name in estimates}
    labels = {name: _labels(model, whole, name, value) for name, value in estimates.items()}
    axes = {name: tuple(model.bootstrap_axes[name][: value.ndim]) for name, value in estimates.items()}
    return Bootstrap(type(model).__name__, estimates, replicates, pieces.kind, pieces.n_pieces, level, labels, axes)


def _statistics(model: Any) -> dict[str, np.ndarray]:
    """The statistics of a fitted model as float64 NumPy arrays."""
    return {name: np.asarray(to_numpy(getattr(model, f"{name}_")), dtype=np.float64) for name in model.bootstrap_axes}


def _align(
    draw: dict[str, np.ndarray], estimates: dict[str, np.ndarray], align: Callable[[np.ndarray], np.ndarray]
) -> dict[str, np.ndarray]:
    """Statistics of a bootstrap sample, with its loadings aligned with those of all rows.

    Components that the sample does not have are NaN. Loadings of x and y are aligned by the same matrix.
    """
    out = {}
    for name, reference in estimates.items():
        out[name] = np.full(reference.shape, np.nan)
        out[name][tuple(slice(s) for s in draw[name].shape)] = draw[name]
    loadings = [name for name in estimates if name.endswith(("loadings", "structure"))]
    if loadings:
        found = {name: np.where(np.isnan(out[name]), 0.0, out[name]) for name in loadings}
        unit = max(float(np.abs(estimates[name]).max()) for name in loadings) or 1.0
        products = [(found[name] / unit).T @ (estimates[name] / unit) for name in loadings]
        turn = align(np.sum(products, axis=0))
        out |= {name: found[name] @ turn for name in loadings}
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
    names: dict[str, Any] = {
        "components": getattr(whole, "component_names_", None),
        "features": getattr(model, "feature_names_in_", None),
        "targets": getattr(model, "target_names_in_", None),
    }
    stems = {"components": "component", "features": "x", "targets": "y"}
    axes = zip(model.bootstrap_axes[name], value.shape, strict=False)
    return tuple(
        numbered(stems[axis], size) if names[axis] is None else [str(label) for label in names[axis]]
        for axis, size in axes
    )


def _words(kind: str) -> str:
    return {"row": "rows", "block": "blocks of rows", "groups": "groups of rows"}[kind]
