"""Descriptions by tests: what a component is about, and what sets groups of rows apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from .._core.types import VectorLike
from ..coding import coding_of
from ..errors import list_names
from ..reading.rows import Rows
from ..reading.summarizing import check_weights
from ..selection.parallel_analysis import check_probability
from ..sources.categories import CategorySource, CodedSource, category_table
from ..sources.opening import TableLike, by_name
from ..summaries.levels import Levels
from ..summaries.moments import Moments
from ..table import Table
from .geometry import Geometry, geometry, has_points, is_mixed, is_of_counts, known_correlations
from .supplementary_columns import points_of
from .tables import chosen_component, has_scores, require

if TYPE_CHECKING:
    from ..models.base import Model

# What a component is about.


def describe(
    model: Model,
    component: int | str = 1,
    X: TableLike | None = None,
    *,
    columns: str | Sequence[str] | None = None,
    categorical_features: str | Sequence[str] | None = None,
    alpha: float = 0.05,
    sample_weight: VectorLike | None = None,
) -> Table:
    """What a component is about: the numbers, categories and levels that have to do with it, with tests.

    Parameters
    ----------
    model : fitted PCA, MCA, FAMD or MFA
    component : int or str, default=1
        Its number from 1, or its name.
    X : rows, default=None
        The rows of the fit with further columns, which are described too; see `supplementary`.
    columns, categorical_features : str or list of str, default=None
        Which further columns, and which of them are categories though they hold numbers.
    alpha : float, default=0.05
        Columns and levels with a larger p-value are left out.
    sample_weight : array or str, default=None
        The weights of the rows of `X`.

    Returns
    -------
    Table
        First the numbers, by their correlations; then the categories, by eta2; then the levels, by their v-tests. A
        note says how many were left out.

    Notes
    -----
    The p-value of a correlation is that of Student's t with n - 2 degrees of freedom, that of a category of the F test
    of an analysis of variance, and that of a level of its v-test under the normal distribution. Columns that took part
    in the fit made the component: for them, p-values order and select, and are no proof. They are for one comparison
    each.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.datasets import load_wine
    >>> from lowdim import PCA, inspect
    >>> wine = load_wine(as_frame=True)
    >>> X = wine.data[["alcohol", "ash", "hue"]].assign(cultivar=pd.Series(list("abc"))[wine.target].to_numpy())
    >>> pca = PCA(2, scale=True).fit(X[["alcohol", "ash", "hue"]])
    >>> print(inspect.describe(pca, 1, X).select(["kind", "correlation", "eta2", "mean"]))
    What PC1 is about
                kind      correlation    eta2     mean
    ash         number         0.7344       -        -
    alcohol     number         0.7318       -        -
    hue         number        -0.4230       -        -
    cultivar    category            -  0.5720        -
    cultivar=c  level               -       -   0.6681
    cultivar=a  level               -       -   0.5724
    cultivar=b  level               -       -  -0.9274
    supplementary: 'cultivar'
    """
    require(model, "describe", has_tests)
    check_probability("alpha", alpha)
    k, alpha = chosen_component(model, component), float(alpha)
    known = geometry(model) if has_points(model) else None
    own_numbers = known is not None and not is_mixed(model) and bool(np.isnan(known.correlations).any())
    if own_numbers and X is None:
        known_correlations(model, known)
    parts = [] if known is None or own_numbers else [known]
    if X is not None:
        parts.append(points_of(model, X, columns, categorical_features, sample_weight, own_numbers=own_numbers))
        if own_numbers:
            parts[-1].active[: len(model._column_names())] = True
    elif columns is not None or categorical_features is not None or sample_weight is not None:
        raise ValueError("columns, categorical_features and sample_weight belong to the rows X; pass these too.")
    found = [entry for g in parts for entry in _described(g, k)]
    kept = sorted((entry for entry in found if entry[-1] <= alpha), key=_place)
    names = ("kind", "correlation", "eta2", "mean", "v_test", "p_value")
    rows, *entries = zip(*kept, strict=True) if kept else [()] * (1 + len(names))
    columns_of = {name: list(column) for name, column in zip(names, entries, strict=True)}
    notes = [f"{len(found) - len(kept)} of {len(found)} columns and levels have p-values above {alpha:g}"]
    if any(g.active.any() for g in parts):
        aside = dict.fromkeys(g.variables[i] for g in parts for i in np.flatnonzero(~g.active))
        notes += [f"supplementary: {list_names(list(aside), 20)}"] if aside else []
    title = f"What {model.component_names_[k]} is about"
    return Table(columns_of, list(rows), title=title, notes=notes[len(found) == len(kept) :])


def has_tests(model: Any) -> bool:
    """Whether components of a model are described by tests: those of rows that are a sample."""
    return has_scores(model) and not is_of_counts(model)


def _described(g: Geometry, k: int) -> list[tuple[Any, ...]]:
    """For each number, category and level: its name, kind, correlation, eta2, mean in standard deviations, v-test and
    p-value; None for what it does not have."""
    n, found = g.weight, list[tuple[Any, ...]]()
    for (name, places), eta2 in zip(g.columns.items(), g.eta2[:, k], strict=True):
        if g.levels[places[0]] == "":
            r = float(g.correlations[places[0], k])
            with np.errstate(divide="ignore"):
                t = abs(r) * np.sqrt(max(n - 2.0, 0.0) / max(1.0 - r * r, 0.0)) if abs(r) < 1.0 else np.inf
            p = float(2.0 * stats.t.sf(t, n - 2.0)) if n > 2.0 else 1.0
            found.append((name, "number", r, None, None, None, p))
            continue
        between, within = len(places) - 1.0, n - len(places)
        p = 1.0
        if between > 0.0 and within > 0.0:
            ratio = np.inf if eta2 >= 1.0 else eta2 / between * within / (1.0 - eta2)
            p = float(stats.f.sf(ratio, between, within))
        found.append((name, "category", None, float(eta2), None, None, p))
        for i, v in zip(places, g.v_tests[places, k], strict=True):
            if np.isfinite(v):
                p = _p_value(float(v))
                found.append((g.names[i], "level", None, None, float(g.means[i, k]), float(v), p))
    return found


def _place(entry: tuple[Any, ...]) -> tuple[int, float]:
    """Where an entry stands: numbers by correlation, categories by eta2, levels by v-test, the largest first."""
    _, kind, r, ratio, _, v, _ = entry
    return ("number", "category", "level").index(kind), -(r if kind == "number" else ratio if kind == "category" else v)


# What sets groups of rows apart.


def describe_groups(
    X: TableLike,
    by: str,
    columns: Sequence[str] | None = None,
    *,
    categorical_features: str | Sequence[str] | None = None,
    alpha: float = 0.05,
    sample_weight: VectorLike | None = None,
) -> Table:
    """What sets each group of rows apart from all rows: its numbers that are high or low, its levels that are frequent
    or rare, with tests.

    Parameters
    ----------
    X : table with names of columns
    by : str
        The column that holds the group of each row, such as a category or clusters.
    columns : list of str, default=None
        The columns that describe the groups; by default all other numbers and categories.
    categorical_features : str or list of str, default=None
        Columns of numbers or dates among them that are categories.
    alpha : float, default=0.05
        What has a larger p-value is left out.
    sample_weight : array or str, default=None

    Returns
    -------
    Table
        For each group, by its v-tests: the column or level, the mean in the group and in all rows (of a level, its
        share of the rows), the v-test and the p-value.

    Notes
    -----
    v = (m_g - m) / sqrt(s^2 (n - n_g) / (n - 1) / n_g) for n_g among n rows, with the variance s^2 of divisor n: how
    far the mean of a group is from that of as many rows drawn at random without replacement. A share is the mean of
    zeros and ones. Two passes, and (levels + numbers)^2 numbers. Missing entries of categories are a level; rows with a
    missing number are an error. The p-values are for one comparison each.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.datasets import load_wine
    >>> from lowdim import inspect
    >>> wine = load_wine(as_frame=True)
    >>> X = wine.data[["alcohol", "ash", "hue"]].assign(cultivar=pd.Series(list("abc"))[wine.target].to_numpy())
    >>> print(inspect.describe_groups(X, "cultivar").select(["column", "mean", "overall", "v_test"]))
    What sets the groups of 'cultivar' apart
       column     mean  overall   v_test
    a  alcohol  13.745   13.001   8.6109
    a  hue       1.062    0.957   4.2984
    a  ash       2.456    2.367   3.0502
    b  hue       1.056    0.957   4.6992
    b  ash       2.245    2.367  -4.8222
    b  alcohol  12.279   13.001  -9.6639
    c  ash       2.437    2.367   2.0853
    c  hue       0.683    0.957  -9.7445
    1 of 9 comparisons have p-values above 0.05
    """
    check_probability("alpha", alpha)
    X, _, sample_weight = by_name(X, of_any_kind=True, sample_weight=sample_weight)
    source, numbers = _table_of(X, by, columns, categorical_features)
    rows = Rows(source, None if sample_weight is None else check_weights(sample_weight, source))
    coding = coding_of(numbers, rows.summarize(Levels(source.categories)))
    moments = Rows(CodedSource(source, coding), rows.weights, rows.progress).summarize(Moments(coding.width))
    n, mean, scatter = float(moments.weight), moments.mean, moments.scatter
    variance, own = np.diagonal(scatter) / n, coding.columns[by]
    found = []
    for g in range(own.start, own.stop):
        share, group = float(mean[g]), coding.levels[coding.categories.index(by)][g - own.start]
        if not 0.0 < share < 1.0:
            continue
        # The mean of a group, from that of all rows, is the covariance with its zeros and ones over its share.
        shift = scatter[g] / n / share
        error = np.sqrt(variance * (1.0 - share) / share / max(n - 1.0, 1.0))
        for j, name in enumerate(coding.names):
            if not own.start <= j < own.stop and error[j] > 0.0:
                v = float(shift[j] / error[j])
                kind = "number" if j < len(numbers) else "level"
                found.append((group, name, kind, float(mean[j] + shift[j]), float(mean[j]), v, _p_value(v)))
    order = {level: i for i, level in enumerate(coding.levels[coding.categories.index(by)])}
    kept = sorted((entry for entry in found if entry[-1] <= alpha), key=lambda entry: (order[entry[0]], -entry[-2]))
    names = ("column", "kind", "mean", "overall", "v_test", "p_value")
    labels, *entries = zip(*kept, strict=True) if kept else [()] * (1 + len(names))
    notes = [f"{len(found) - len(kept)} of {len(found)} comparisons have p-values above {alpha:g}"]
    columns_of = {name: list(column) for name, column in zip(names, entries, strict=True)}
    title = f"What sets the groups of {by!r} apart"
    return Table(columns_of, list(labels), title=title, notes=notes[len(found) == len(kept) :], row_name=by)


def _p_value(v: float) -> float:
    """The probability of a larger v-test, in magnitude, by chance."""
    return float(2.0 * stats.norm.sf(abs(v)))


def _table_of(X: Any, by: str, columns: Any, categorical: Any) -> tuple[CategorySource, list[str]]:
    """The rows of the columns that describe groups, and of the groups; and the names of the numbers."""
    table, _ = category_table(X)
    names = [str(name) for name in (table.names if table.chosen is None else table.chosen) if name not in table.index]
    given = [columns] if isinstance(columns, str) else columns
    wanted = [name for name in names if name != by] if given is None else [name for name in given if name != by]
    asked = [categorical] if isinstance(categorical, str) else list(categorical or [])
    if unknown := [name for name in (by, *wanted, *asked) if name not in names]:
        raise ValueError(f"X has no column {list_names(unknown)}; its columns are {list_names(names, 20)}.")
    kinds = {name: "category" if name in asked else table.kind_of(name) for name in wanted}
    if other := [name for name, kind in kinds.items() if kind not in ("number", "category")]:
        raise ValueError(
            f"column {list_names(other)} holds neither numbers nor categories. Name the columns that are meant in "
            "columns=, or name it in categorical_features=."
        )
    if not wanted:
        raise ValueError("there is no column beside the groups; pass a table with further columns.")
    numbers = [name for name, kind in kinds.items() if kind == "number"]
    categories = [by, *(name for name, kind in kinds.items() if kind == "category")]
    return CategorySource(table.keeping(numbers, categories), categories, table.blanks), numbers
