"""Supplementary columns: coordinates and tests of numbers and categories that did not take part in a fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from .._core.arrays import asarray_like, compute_lazy, to_numpy
from .._core.coded import NO_LEVEL, Categories
from .._core.types import VectorLike
from ..coding import MISSING, in_order
from ..errors import list_names, other_names
from ..linalg import divisor
from ..models.ca import Sums
from ..reading.rows import Rows
from ..reading.summarizing import check_weights
from ..sources.categories import CategorySource, category_table
from ..sources.opening import TableLike, by_name, open_source
from ..summaries.base import Changes, Summary
from ..table import Table, Tabular
from .geometry import (
    Geometry,
    eta2_table,
    has_orthonormal,
    has_points,
    is_mixed,
    is_of_counts,
    points_table,
    v_tests_table,
)
from .tables import has_scores, require

if TYPE_CHECKING:
    from ..models.base import Model

#: A category is taken for an identifier if it has at least so many levels, and more than this share of the rows.
_IDENTIFIER_FROM, _IDENTIFIER_SHARE = 20, 0.8


@dataclass(frozen=True, repr=False)
class SupplementaryColumns(Tabular):
    """Columns that did not take part in a fit, as points in the space of its components.

    Printing it shows the coordinates.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from lowdim import PCA, inspect
    >>> wine = load_wine(as_frame=True).data
    >>> pca = PCA(2, scale=True).fit(wine.iloc[:, 1:])
    >>> found = inspect.supplementary(pca, wine, "alcohol")
    >>> found.eta2["PC1"].round(3)
    array([0.053])
    """

    model: Model
    points: Geometry

    def table(self) -> Table:
        return self.coordinates

    @property
    def coordinates(self) -> Table:
        """Coordinates of the numbers and levels, as `lowdim.inspect.coordinates` defines them for columns."""
        return points_table(self.points, self.model, self.points.coordinates, "Coordinates of supplementary columns")

    @property
    def cos2(self) -> Table:
        """The parts of the squared distances of numbers and levels that lie along the components; NaN for levels if
        the components are not orthonormal."""
        return points_table(self.points, self.model, self.points.cos2, "cos2 of supplementary columns")

    @property
    def correlations(self) -> Table:
        """Correlations of the numbers with the components."""
        numbers = self.points.take(np.flatnonzero(~self.points.is_level))
        names, title = self.model.component_names_, "Correlations of supplementary columns"
        return Table.from_matrix(numbers.correlations, names, numbers.names, title=title, row_name="column")

    @property
    def eta2(self) -> Table:
        """The share of the variance of each component that each column explains."""
        return eta2_table(self.points, self.model)

    @property
    def v_tests(self) -> Table:
        """How far the mean of the rows of each level is from that of all rows, as standard normal values."""
        return v_tests_table(self.points, self.model)


def supplementary(
    model: Model,
    X: TableLike,
    columns: str | Sequence[str] | None = None,
    *,
    categorical_features: str | Sequence[str] | None = None,
    sample_weight: VectorLike | None = None,
) -> SupplementaryColumns:
    """Coordinates and tests of columns that did not take part in a fit; one pass over the rows.

    Parameters
    ----------
    model : fitted model with scores: PCA, PCR, PLS, CA, MCA, FAMD or MFA
    X : rows
        Those of the fit, or others, with the columns of the fit and further ones.
    columns : str or list of str, default=None
        The further columns: numbers and categories. None stands for all that did not take part in the fit. Of a table
        of counts, they are further columns of counts.
    categorical_features : str or list of str, default=None
        Columns of numbers or dates among them that are categories.
    sample_weight : array or str, default=None
        The weights of the rows.

    Returns
    -------
    SupplementaryColumns
        The tables `coordinates`, `correlations`, `cos2`, `eta2` and `v_tests`.

    Notes
    -----
    A category is where the means of the rows of its levels are; missing entries are a level of their own. A missing
    number counts as the mean of its column, so that it makes a correlation weaker, never stronger. Columns of a table
    without names are called x1, x2, ..., of which the first ones are those of the fit.

    Examples
    --------
    >>> import pandas as pd
    >>> from lowdim import PCA, inspect
    >>> X = pd.DataFrame({"a": [1.0, 2, 3, 4], "b": [1.0, 3, 2, 4], "kind": ["x", "x", "y", "y"]})
    >>> print(inspect.supplementary(PCA(1).fit(X[["a", "b"]]), X))
    Coordinates of supplementary columns
    column  variable  level  active   share      PC1
    kind=x  kind      x      no      0.5000  -1.0607
    kind=y  kind      y      no      0.5000   1.0607
    """
    require(model, "supplementary", has_scores)
    return SupplementaryColumns(model, points_of(model, X, columns, categorical_features, sample_weight))


def points_of(
    model: Any, X: Any, columns: Any, categorical: Any, sample_weight: Any, *, own_numbers: bool = False
) -> Geometry:
    """The points of supplementary columns, and with `own_numbers` those of the numbers of the fit before them."""
    X, _, sample_weight = by_name(X, of_any_kind=True, sample_weight=sample_weight)
    source, own, numbers, categories = _open(model, X, columns, categorical, further=not own_numbers)
    weights = None if sample_weight is None else check_weights(sample_weight, source)
    first = 0 if own_numbers else own[0]
    reader = (_CountsReader if is_of_counts(model) else _Reader)(model, own, first)
    found = Rows(source, weights).summarize(
        Means(reader, [*(source.names or ())[first : own[0]], *numbers], categories)
    )
    if found.n_rows < 2:
        raise ValueError(f"X has {found.n_rows} rows of positive weight; at least 2 are needed.")
    return _of_counts(model, found) if is_of_counts(model) else _points(model, found)


def _open(
    model: Any, X: Any, columns: Any, categorical: Any, *, further: bool
) -> tuple[CategorySource, tuple[int, int], list[str], list[str]]:
    """The rows with the columns of the fit and the supplementary ones; how many numbers and categories of the fit come
    first in them; and the names of the supplementary numbers and categories, of which there must be some if `further`.
    """
    table, _ = category_table(X)
    names = [str(name) for name in (table.names if table.chosen is None else table.chosen) if name not in table.index]
    if is_mixed(model):
        own_numbers, own_categories = model.coding_.numbers, model.coding_.categories
    else:
        own_numbers, own_categories = model._column_names(), []
    own = {*own_numbers, *own_categories}
    if own - set(names):
        raise other_names(None, names, [*own_numbers, *own_categories], "X")
    known = own | (set(model.supplementary_coding_.columns) if is_mixed(model) else set())
    given = [columns] if isinstance(columns, str) else columns
    wanted = [name for name in names if name not in known] if given is None else [str(name) for name in given]
    if not wanted and further:
        raise ValueError("X has no column that did not take part in the fit; pass a table with further columns.")
    if unknown := [name for name in wanted if name not in names]:
        raise ValueError(f"columns: X has no column {list_names(unknown)}; its columns are {list_names(names, 20)}.")
    if inside := [name for name in wanted if name in own]:
        raise ValueError(f"columns: {list_names(inside)} took part in the fit; inspect.coordinates(model) has it.")
    asked = [categorical] if isinstance(categorical, str) else list(categorical or [])
    if unknown := [name for name in asked if name not in wanted]:
        raise ValueError(f"categorical_features: {list_names(unknown)} is not among the supplementary columns.")
    kinds = {name: "category" if name in asked else table.kind_of(name) for name in wanted}
    if other := [name for name, kind in kinds.items() if kind not in ("number", "category")]:
        raise ValueError(
            f"column {list_names(other)} holds neither numbers nor categories. Name the columns that are meant in "
            "columns=, or name it in categorical_features=."
        )
    categories = [name for name in wanted if kinds[name] == "category"]
    if categories and is_of_counts(model):
        raise ValueError(f"column {list_names(categories)} holds no counts, as supplementary columns of a CA do.")
    numbers = [name for name in wanted if kinds[name] == "number"]
    every = [*own_categories, *categories]
    rows = table.keeping([*own_numbers, *numbers], every)
    return CategorySource(rows, every, table.blanks), (len(own_numbers), len(own_categories)), numbers, categories


# The pass over the rows.


class _Reader:
    """Makes of a block its scores, its rows in the metric of the model, and what is supplementary."""

    def __init__(self, model: Any, own: tuple[int, int], first: int) -> None:
        self._model, self._own, self._first = model, own, first

    def __call__(self, block: Categories) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[Any]]:
        a, b = self._own
        own, model = np.asarray(block.numbers[:, :a]), self._model
        beside = list(zip(block.codes[b:], block.labels[b:], block.ordered[b:], strict=True))
        if is_mixed(model):
            coded = model.coding_(Categories(own, block.codes[:b], block.labels[:b], block.ordered[:b]))
            rows = (coded.joined() - model.mean_) / model.scale_
        elif has_orthonormal(model):
            mean, scale = (getattr(model, name, getattr(model, f"x_{name}", None)) for name in ("mean_", "scale_"))
            rows = own - to_numpy(mean).astype(float)
            rows = rows if scale is None else rows / to_numpy(scale).astype(float)
        else:
            named = open_source(asarray_like(own, model._centre()))
            named.names = model._wanted()
            scores = to_numpy(compute_lazy(model.scores(named))).astype(float)
            return scores, np.empty((len(scores), 0)), block.numbers[:, self._first :], beside
        return rows @ to_numpy(model.components_).astype(float).T, rows, block.numbers[:, self._first :], beside


class _CountsReader:
    """Makes of a block of counts the scores of its rows, and the sums of their counts in place of their rows."""

    def __init__(self, model: Any, own: tuple[int, int], first: int) -> None:
        self._model, self._own, self._first = model, own, first

    def __call__(self, block: Categories) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[Any]]:
        counts, a, model = np.asarray(block.numbers), self._own[0], self._model
        sums = Sums(model._active)(counts[:, :a])[:, None]
        Sums(np.arange(a, counts.shape[1]))(counts)  # refuses counts below zero
        return model._scoring()(counts[:, :a]), sums, counts[:, a:], []


class Means(Summary):
    """What is remembered of rows for supplementary columns: sums of squares about means, and sums by levels.

    Parameters
    ----------
    reader : callable
        Makes of a block its scores, its rows in the metric of a model, the supplementary numbers and categories.
    numbers, categories : lists of str
        The names of the supplementary numbers and categories.

    Notes
    -----
    One pass. For each number, the weight, the means of it and of the scores over the rows in which it is known, and the
    sums of squares and products about these means; for each level the weight, and the sums of the scores and rows.
    """

    parameters = ("reader", "numbers", "categories")
    state = dict(n_rows="", weight="", parts="-", sums="-", ordered="-")
    nonnegative = ("weight",)
    n_rows, weight = 0, 0.0

    def __init__(self, reader: Any, numbers: list[str], categories: list[str]) -> None:
        self.reader, self.numbers, self.categories = reader, list(numbers), list(categories)
        #: For all rows, and then for each number: the weight, the mean of x and of the scores, sums of x x, x z and z z
        #: about these means, of x, and of x^2 over the first entry of a row (for counts).
        self.parts: list[Any] = [None for _ in range(1 + len(self.numbers))]
        #: For each category: weight, scores and rows, by level.
        self.sums: list[dict[str, np.ndarray]] = [{} for _ in self.categories]
        self.ordered = [False for _ in self.categories]

    def update(self, block: Any, weights: Any = None) -> None:
        """Add the rows of a block."""
        w = np.ones(block.shape[0]) if weights is None else to_numpy(weights).astype(np.float64)
        Z, rows, numbers, categories = self.reader(block)
        there = w > 0
        if not np.isfinite(Z[there]).all():
            raise ValueError("X has missing or infinite entries in columns of the fit, so that rows have no scores.")
        one = self._empty()
        one.n_rows, one.weight = int(np.count_nonzero(there)), float(w.sum())
        one.parts = [_part(np.zeros(len(w)), Z, rows, np.where(there, w, 0.0))]
        one.parts += [_part(x, Z, rows, np.where(np.isnan(x), 0.0, w)) for x in numbers.T]
        for j, (codes, labels, ordered) in enumerate(categories):
            names = [*labels, MISSING]
            places = np.where(codes == NO_LEVEL, len(labels), codes)
            of_levels = sparse.csr_array((w, (places, np.arange(len(w)))), shape=(len(names), len(w)))
            found = of_levels @ np.hstack([np.ones((len(w), 1)), Z, rows])
            seen = found[:, 0] > 0
            one.sums[j] = {name: found[i] for i, name in enumerate(names) if seen[i] or (ordered and name != MISSING)}
            one.ordered[j] = bool(ordered)
        self._change(self._merged(one))

    def _updated(self, block: Any, weights: Any) -> Changes:
        raise NotImplementedError  # `update` takes blocks of `Categories`

    def _merged(self, other: Means) -> Changes:
        sums = []
        for mine, others in zip(self.sums, other.sums, strict=True):
            both = dict(mine)
            for label, found in others.items():
                both[label] = both[label] + found if label in both else found
            sums.append(both)
        return {
            "n_rows": self.n_rows + other.n_rows,
            "weight": self.weight + other.weight,
            "parts": [_joined(*pair) for pair in zip(self.parts, other.parts, strict=True)],
            "sums": sums,
            "ordered": [a or b for a, b in zip(self.ordered, other.ordered, strict=True)],
        }

    def block_rows(self, n_columns: int, itemsize: int, stored: float = 1.0) -> int:
        return 1 << 14

    def _sizes(self) -> dict[str, int]:
        return {}

    @property
    def threaded_blas(self) -> bool:
        return False


def _part(x: np.ndarray, Z: np.ndarray, rows: np.ndarray, w: np.ndarray) -> dict[str, Any] | None:
    """The weight, the means of x and of the scores, and the sums about them, over the rows of positive weight."""
    kept = w > 0
    if not kept.any():
        return None
    x, Z, rows, w = x[kept], Z[kept], rows[kept], w[kept]
    if not np.isfinite(x).all():
        raise ValueError("a supplementary column has infinite entries.")
    mean, scores = np.average(x, weights=w), np.average(Z, axis=0, weights=w)
    dx, dz = (x - mean) * w, Z - scores
    first = rows[:, 0] if rows.shape[1] else np.ones(len(x))
    squares = np.where(first > 0, x * x / np.where(first > 0, first, 1.0), 0.0)
    return {
        "weight": w.sum(),
        "mean": mean,
        "scores": scores,
        "xx": dx @ (x - mean),
        "xz": dx @ dz,
        "zz": w @ (dz * dz),
        "raw": (w * x) @ Z,
        "counts": w @ squares,
        "totals": w @ first,
    }


def _joined(a: Any, b: Any) -> Any:
    """The parts of two sets of rows in one, by Chan's formula for sums about means."""
    if a is None or b is None:
        return b if a is None else a
    weight = a["weight"] + b["weight"]
    share, both = b["weight"] / weight, a["weight"] * b["weight"] / weight
    dx, dz = b["mean"] - a["mean"], b["scores"] - a["scores"]
    return {
        "weight": weight,
        "mean": a["mean"] + dx * share,
        "scores": a["scores"] + dz * share,
        "xx": a["xx"] + b["xx"] + dx * dx * both,
        "xz": a["xz"] + b["xz"] + dx * dz * both,
        "zz": a["zz"] + b["zz"] + dz * dz * both,
        **{name: a[name] + b[name] for name in ("raw", "counts", "totals")},
    }


# The points of supplementary columns, from what is remembered of the rows.


def _points(model: Any, found: Means) -> Geometry:
    """The points of supplementary numbers and categories."""
    of_all, n, k = found.parts[0], found.weight, model.n_components_
    spread, centre = np.sqrt(of_all["zz"] / n), of_all["scores"]
    spread = np.where(spread > 0, spread, 1.0)
    if empty := [name for name, part in zip(found.numbers, found.parts[1:], strict=True) if part is None]:
        raise ValueError(f"column {list_names(empty)} has no entry: all are missing. Leave it out.")
    # A missing entry counts as the mean, so that it adds nothing to these sums.
    variance = np.array([part["xx"] / n for part in found.parts[1:]])
    root = np.sqrt(np.where(variance > 0, variance, 1.0))[:, None]
    correlations = np.array([part["xz"] for part in found.parts[1:]]).reshape(-1, k) / n / root / spread
    keeps_units = has_points(model) and not is_mixed(model) and not model.scale
    unit = root * np.sqrt(n / divisor(n, model.ddof)) if keeps_units else 1.0
    names, variables, levels, sums = list(found.numbers), list(found.numbers), [""] * len(found.numbers), []
    for j, name in enumerate(found.categories):
        own = _levels_in_order(name, found, j)
        names += [f"{name}={level}" for level in own]
        variables += [name] * len(own)
        levels += own
        sums += [found.sums[j][level] for level in own]
    a, b = len(found.numbers), len(sums)
    held = np.array(sums).reshape(b, -1) if b else np.zeros((0, 1 + k))
    weights = held[:, :1]
    scores = held[:, 1 : 1 + k] / weights
    means = (scores - centre) / spread
    share = np.concatenate([np.full(a, np.nan), weights[:, 0] / n])
    if is_mixed(model) and model.levels_have_unit_axes:
        values = model.explained_variance_
        places = scores / np.sqrt(np.where(values > 0, values, 1.0))
        distances = n / weights[:, 0] - 1.0
    else:
        # The squared lengths of the mean rows; not known unless the components are orthonormal.
        rows = held[:, 1 + k :] / weights
        places, distances = scores, (rows**2).sum(axis=1) if rows.shape[1] else np.full(b, np.nan)
    of_levels = places**2 / np.where(distances == 0, np.inf, distances)[:, None]
    return Geometry(
        names,
        variables,
        levels,
        np.zeros(a + b, dtype=bool),
        share,
        np.vstack([correlations * unit, places]),
        np.vstack([correlations**2, of_levels]),
        np.full((a + b, k), np.nan),
        np.vstack([correlations, np.full((b, k), np.nan)]),
        np.vstack([np.full((a, k), np.nan), means]),
        n,
    )


def _levels_in_order(name: str, found: Means, j: int) -> list[str]:
    """The levels of a supplementary category in their order, missing entries last; an error for an identifier."""
    labels = [label for label, sums in found.sums[j].items() if label != MISSING and sums[0] > 0]
    if len(labels) >= _IDENTIFIER_FROM and len(labels) > _IDENTIFIER_SHARE * found.n_rows:
        raise ValueError(
            f"column {name!r} looks like an identifier: {len(labels)} different entries in {found.n_rows} rows. Name "
            "the columns that are meant in columns=, without it."
        )
    ordered = labels if found.ordered[j] else in_order(labels)
    return [*ordered, *([MISSING] if MISSING in found.sums[j] else [])]


def _of_counts(model: Any, found: Means) -> Geometry:
    """The points of supplementary columns of counts: sum_i n_ij F_ik / (n_j sqrt(lambda_k))."""
    names, parts, values = found.numbers, found.parts[1:], model.explained_variance_
    if missing := [name for name, part in zip(names, parts, strict=True) if part is None]:
        raise ValueError(f"column {list_names(missing)} has no entry: all are missing. Leave it out.")
    totals = np.array([part["weight"] * part["mean"] for part in parts])
    known = np.where(totals > 0, totals, 1.0)[:, None]
    places = np.array([part["raw"] for part in parts]) / known / np.sqrt(np.where(values > 0, values, 1.0))
    n = found.parts[0]["totals"]
    squares = n * np.array([part["counts"] for part in parts]) / known[:, 0] ** 2 - 1.0
    of_columns = places**2 / np.where(squares > 0, squares, np.inf)[:, None]
    nothing, inactive = np.full(places.shape, np.nan), np.zeros(len(names), dtype=bool)
    levels = [""] * len(names)
    return Geometry(names, names, levels, inactive, totals / n, places, of_columns, nothing, nothing, nothing, n)
