"""Coordinates, cos2, contributions and tests of rows, columns and levels, by the same words for all models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._core.arrays import Array, namespace, to_numpy
from .._core.types import VectorLike
from ..linalg import divisor, with_zeros
from ..sources.opening import TableLike, row_labels
from ..table import Table
from .tables import (
    check_orthonormal,
    columns_by_components,
    has_attribute,
    has_scores,
    readable_again,
    require,
    row_weights,
    rows_and_weights,
    rows_by_components,
    scores,
    variable_components,
)

if TYPE_CHECKING:
    from ..models.ca import CA
    from ..models.mixed import MixedModel
    from ..models.pca import PCA


@dataclass(frozen=True)
class Geometry:
    """The columns of a fitted model, and the levels of its categories, as points.

    Each entry of these arrays belongs to a number, or to a level of a category, in the order of the coded columns,
    first those that took part in the fit, then supplementary ones.
    """

    #: The names of the points, of the columns that they belong to, and of levels ("" for numbers).
    names: list[str]
    variables: list[str]
    levels: list[str]
    #: Whether the point took part in the fit.
    active: np.ndarray
    #: The share of the rows that have a level, or of the counts of a column; NaN for numbers.
    share: np.ndarray
    #: Coordinates, shape (points, components); for numbers, correlations with the components unless they are only
    #: centred.
    coordinates: np.ndarray
    #: Squared cosines of the angles with the components, shape (points, components); NaN where distances are not known.
    cos2: np.ndarray
    #: Shares in the variances of the components, shape (points, components); NaN for supplementary points.
    contributions: np.ndarray
    #: Correlations of numbers with the components; NaN for levels.
    correlations: np.ndarray
    #: Means of the rows of a level, in standard deviations of the components; NaN for numbers.
    means: np.ndarray
    #: The total weight of the rows.
    weight: float

    @property
    def is_level(self) -> np.ndarray:
        """Which points are levels of categories."""
        return np.array([level != "" for level in self.levels], dtype=bool)

    @property
    def v_tests(self) -> np.ndarray:
        """mean_k / sqrt((n - n_k) / (n - 1) / n_k) for a level of n_k rows: how far the mean of its rows is from that
        of all rows, in standard deviations of means of n_k rows that are drawn from the n rows at random."""
        n, p = self.weight, self.share
        with np.errstate(divide="ignore", invalid="ignore"):
            precision = np.where(p < 1.0, p * (n - 1.0) / (1.0 - p), np.nan)
        return np.asarray(self.means * np.sqrt(precision)[:, None])

    @property
    def columns(self) -> dict[str, np.ndarray]:
        """The positions of the points of each column."""
        found: dict[str, list[int]] = {}
        for i, variable in enumerate(self.variables):
            found.setdefault(variable, []).append(i)
        return {variable: np.array(places) for variable, places in found.items()}

    @property
    def eta2(self) -> np.ndarray:
        """For each column, the share of the variance of a component that it explains: r^2 of a number, and of a
        category the variance of the means of its levels, sum_k p_k mean_k^2."""
        of_levels = np.nan_to_num(self.share)[:, None] * self.means**2
        each = np.where(self.is_level[:, None], of_levels, self.correlations**2)
        return np.array([each[places].sum(axis=0) for places in self.columns.values()]).reshape(-1, each.shape[1])

    def take(self, places: np.ndarray) -> Geometry:
        """The points at these positions."""
        names, variables, levels = (
            [texts[int(i)] for i in places] for texts in (self.names, self.variables, self.levels)
        )
        return Geometry(
            names,
            variables,
            levels,
            self.active[places],
            self.share[places],
            self.coordinates[places],
            self.cos2[places],
            self.contributions[places],
            self.correlations[places],
            self.means[places],
            self.weight,
        )


def geometry(model: Any) -> Geometry:
    """The columns and levels of a fitted PCA, CA, MCA, FAMD or MFA as points."""
    check_is_fitted(model)
    if is_mixed(model):
        return _of_mixed(model)
    return _of_counts(model) if is_of_counts(model) else _of_numbers(model)


def is_mixed(model: Any) -> bool:
    """Whether a model is one of coded numbers and categories: MCA, FAMD or MFA."""
    return has_attribute(model, "coding_")


def is_of_counts(model: Any) -> bool:
    """Whether a model is a correspondence analysis."""
    return has_attribute(model, "chi_square_")


def has_points(model: Any) -> bool:
    """Whether the columns of a model are points in the space of its components."""
    return has_orthonormal(model) and (has_attribute(model, "loadings_") or is_mixed(model) or is_of_counts(model))


def has_orthonormal(model: Any) -> bool:
    """Whether squared distances are split by orthonormal components."""
    return has_scores(model) and hasattr(model, "components_")


def _of_mixed(model: Any) -> Geometry:
    """Of the covariance c_jk of a coded column x_j with the scores F_k: c_jk / (sd_j sqrt(lambda_k)) is the correlation
    of a number, and c_jk / p_j the mean score of the rows of a level of share p_j."""
    values, V = model.explained_variance_, model.components_
    root = np.sqrt(np.where(values > 0, values, 1.0))
    codings = (model.coding_, model.supplementary_coding_)
    covariance = np.vstack([(V * model.scale_).T * values, model._beside_covariance])
    mean = np.concatenate([model.mean_, model._beside_mean])
    variance = np.concatenate([model._variance, model._beside_variance])
    distances = np.concatenate([model._distances, model._beside_distances])
    names, variables, levels, numeric = [], [], [], []
    for coding in codings:
        names += coding.names
        variables += [name for name, piece in coding.columns.items() for _ in range(piece.start, piece.stop)]
        levels += [*("" for _ in coding.numbers), *(level for of_one in coding.levels for level in of_one)]
        numeric += [True] * len(coding.numbers) + [False] * sum(coding.widths)
    number = np.array(numeric, dtype=bool)
    active = np.arange(len(names)) < codings[0].width
    sd = np.sqrt(np.where(variance > 0, variance, 1.0))
    correlations = np.where(number[:, None], covariance / sd[:, None] / root, np.nan)
    share = np.where(number, np.nan, mean)
    p = np.where(number, 0.5, mean)
    barycentres = covariance / p[:, None]
    means = np.where(number[:, None], np.nan, barycentres / root)
    if model.levels_have_unit_axes:
        points, distances = barycentres / root, np.where(number, 1.0, variance / p**2)
    else:
        points = barycentres
    # Numbers that are only centred keep their units.
    unit = np.where(model._is_centred_only(codings), sd, 1.0)[: len(names)]
    points = np.where(number[:, None], correlations * unit[:, None], points)
    cos2 = np.where(number[:, None], correlations**2, points**2 / np.where(distances > 0, distances, np.inf)[:, None])
    contributions = np.full(points.shape, np.nan)
    contributions[active] = V.T**2
    n = float(model.total_weight_)
    return Geometry(names, variables, levels, active, share, points, cos2, contributions, correlations, means, n)


def _of_counts(model: Any) -> Geometry:
    """Of a table of counts: G_jk = sqrt(lambda_k) w_jk / sqrt(c_j) for a column of mass c_j; a supplementary column is
    at sum_i n_ij F_ik / (n_j sqrt(lambda_k))."""
    values, V = model.explained_variance_, model.components_
    root = np.sqrt(np.where(values > 0, values, 1.0))
    totals = np.where(model._aside_total > 0, model._aside_total, 1.0)
    points = np.vstack([(V * root[:, None] / model.scale_).T, model._aside_scores / totals[:, None] / root])
    distances = np.concatenate([model._distances, model._aside_distances])
    names = [*model.column_names_, *model.supplementary_names_]
    active = np.arange(len(names)) < len(model.column_names_)
    contributions = np.full(points.shape, np.nan)
    contributions[active] = V.T**2
    nothing = np.full(points.shape, np.nan)
    share = np.concatenate([model.mean_, model._aside_total / model.total_])
    cos2 = points**2 / np.where(distances > 0, distances, np.inf)[:, None]
    levels, n = [""] * len(names), float(model.total_)
    return Geometry(names, names, levels, active, share, points, cos2, contributions, nothing, nothing, n)


def _of_numbers(model: Any) -> Geometry:
    """Of principal components of numbers: w_jk sqrt(lambda_k / q_j) for columns of weight q_j, which is one unless
    `feature_weight` says otherwise; and cos2 and correlations as far as the variances of the columns are known."""
    values, V = to_numpy(model.explained_variance_).astype(float), to_numpy(model.components_).astype(float)
    points = (V * np.sqrt(values)[:, None]).T
    weights = model._feature_weight(len(points))
    points = points if weights is None else points / np.sqrt(weights)[:, None]
    variance = _variances(model, points)
    sd = np.sqrt(np.where(variance == 0, 1.0, variance))
    names = model._column_names()
    correlations, nothing = points / sd[:, None], np.full(len(names), np.nan)
    active, no_means = np.ones(len(names), dtype=bool), np.full(points.shape, np.nan)
    n, levels = float(model.total_weight_), [""] * len(names)
    squares = correlations**2
    return Geometry(names, names, levels, active, nothing, points, squares, V.T**2, correlations, no_means, n)


def _variances(model: Any, points: np.ndarray) -> np.ndarray:
    """The variances of the columns of a PCA, standardised if it scales; NaN if they are not known."""
    within = (points**2).sum(axis=1)
    if model.tail_.total <= 0.0:
        return np.asarray(within)
    if model.scale:
        return np.where(within > 0, 1.0, 0.0)
    scatter = getattr(getattr(model, "summary_", None), "scatter", None)
    if scatter is None or not model.center:
        return np.full(len(points), np.nan)
    return np.diagonal(to_numpy(scatter)).astype(float) / divisor(model.total_weight_, model.ddof)


# The tables.


def points_table(g: Geometry, model: Any, values: np.ndarray, title: str, *, active: bool = False) -> Table:
    """The table of a matrix with a row for each point and a column for each component; with `active`, only of points
    that took part in the fit."""
    which = np.flatnonzero(g.active) if active else np.arange(len(g.names))
    columns: dict[str, Any] = {}
    if is_of_counts(model):
        columns = {"active": g.active, "mass": g.share}
    elif is_mixed(model) or any(g.levels):
        columns = {"variable": np.array(g.variables, dtype=object), "level": np.array(g.levels, dtype=object)}
        columns |= {"active": g.active, "share": g.share}
    columns |= dict(zip(model.component_names_, values.T, strict=True))
    rows = [g.names[i] for i in which]
    return Table({name: column[which] for name, column in columns.items()}, rows, title=title, row_name="column")


def coordinates(model: PCA | CA | MixedModel, X: TableLike | None = None) -> Table:
    """Coordinates of columns and levels on the components or, with `X`, of its rows.

    Parameters
    ----------
    model : fitted PCA, CA, MCA, FAMD or MFA
    X : rows, default=None
        Rows of the fit, or supplementary ones. Their coordinates are what `transform` returns.

    Returns
    -------
    Table
        Without `X`, a row for each number and each level, first those that took part in the fit, then supplementary
        ones, with the column and the level that it belongs to and the share of the rows of a level. For CA, a row for
        each column of the table of counts, with its mass.

    Notes
    -----
    The coordinates of numbers are their correlations with the components or, if they are only centred, loadings. Those
    of the levels of FAMD and MFA are the means of the scores of their rows; those of MCA are these means divided by
    sqrt(lambda_k), and those of CA the means of the rows, by their counts, divided by sqrt(lambda_k).

    Examples
    --------
    >>> import pandas as pd
    >>> from lowdim import FAMD, inspect
    >>> drinks = pd.DataFrame({"age": [20, 30, 60, 70, 40], "drink": ["tea", "tea", "coffee", "coffee", "tea"]})
    >>> print(inspect.coordinates(FAMD(1).fit(drinks)))
    Coordinates of the columns and levels
    column        variable  level   active   share     dim1
    age           age               yes        nan   0.9809
    drink=coffee  drink     coffee  yes     0.4000   1.6666
    drink=tea     drink     tea     yes     0.6000  -1.1111
    """
    if X is None:
        require(model, "coordinates", has_points)
        g = geometry(model)
        if not (is_mixed(model) or is_of_counts(model)):
            return columns_by_components(model, g.coordinates, "Coordinates of the columns")
        return points_table(g, model, g.coordinates, _title("Coordinates", model))
    require(model, "coordinates", has_scores)
    found = scores(model, X)
    found.title = "Coordinates of the rows"
    return found


def _title(what: str, model: Any) -> str:
    """The title of a table of points."""
    return f"{what} of the columns{'' if is_of_counts(model) else ' and levels'}"


def contributions(
    model: PCA | CA | MixedModel, X: TableLike | None = None, *, sample_weight: VectorLike | None = None
) -> Table:
    """Contributions of columns and levels, or of rows, to the variance of each component.

    Without `X`, the contributions of the columns: w_kj^2, shape (p, K), which add up to 1 over the columns. With `X`,
    those of its rows: z_ik^2 / (lambda_k (n - ddof)), shape (n, K), which add up to 1 over the rows of the fit. With
    `sample_weight`, the contribution of a row is that of all its copies, and n is the sum of the weights of the fit.
    The weight of a row of CA is the sum of its counts.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lowdim import PCA, inspect
    >>> print(inspect.contributions(PCA(2).fit(load_iris(as_frame=True).data)))
    Contributions of the columns
    column                PC1     PC2
    sepal length (cm)  0.1306  0.4311
    sepal width (cm)   0.0071  0.5331
    petal length (cm)  0.7339  0.0301
    petal width (cm)   0.1284  0.0057
    """
    check_orthonormal(model, "contributions")
    if X is None:
        if sample_weight is not None:
            raise ValueError("sample_weight belongs to the rows X; columns have no weights.")
        if is_mixed(model) or is_of_counts(model):
            g = geometry(model)
            return points_table(g, model, g.contributions, _title("Contributions", model), active=True)
        return columns_by_components(model, model.components_.T**2, "Contributions of the columns")
    labels = row_labels(X)
    X, sample_weight = rows_and_weights(model, X, sample_weight)
    X = readable_again(X)
    Z = model.scores(X)
    weights = row_weights(sample_weight, Z)
    fitted: Any = model
    if is_of_counts(model):
        masses = fitted.row_totals(X)
        weights = masses if weights is None else weights * masses
    n = fitted.total_ if is_of_counts(model) else fitted.total_weight_
    Z = Z[:, : variable_components(model)]
    squares = model.explained_variance_[: Z.shape[1]] * divisor(n, model.ddof)
    shares = Z * Z / squares[None, :]
    if weights is not None:
        shares = shares * weights[:, None]
    shares = with_zeros(shares, model.n_components_ - Z.shape[1])
    return rows_by_components(model, shares, "Contributions of the rows", labels)


def cos2(model: PCA | CA | MixedModel, X: TableLike | None = None) -> Table:
    """The part of the squared distance from the mean along each component, of columns, levels or rows.

    It is z_ik^2 / |x_i - mean|^2 for the rows of `X`, shape (n, K), and zero for a row at the mean. Without `X`, it is
    the same of columns: the squared correlations of numbers, and the squared coordinates of a level, or of a column of
    counts, over its squared distance.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lowdim import PCA, inspect
    >>> X = load_iris().data
    >>> print(inspect.cos2(PCA(2).fit(X), X[:3]))
    cos2 of the rows
          PC1     PC2
    0  0.9859  0.0140
    1  0.9885  0.0042
    2  0.9974  0.0025
    """
    if X is not None:
        return rows_by_components(model, squared_cosines(model, X), "cos2 of the rows", row_labels(X))
    require(model, "cos2", has_points)
    g = geometry(model)
    if is_mixed(model) or is_of_counts(model):
        return points_table(g, model, g.cos2, _title("cos2", model))
    return columns_by_components(model, known_correlations(model, g) ** 2, "cos2 of the columns")


def known_correlations(model: Any, g: Any) -> np.ndarray:
    """The correlations of the columns of a PCA with its components; an error if the variances are not known."""
    if np.isnan(g.correlations).any():
        raise ValueError(
            "the model does not keep the variances of its columns, so that their correlations with the components are "
            "not known. Pass the rows to inspect.correlations(model, X), or fit PCA(scale=True)."
        )
    return g.correlations


def squared_cosines(model: Any, X: Any) -> Array:
    """`cos2` of rows as an array."""
    check_orthonormal(model, "cos2")
    X = readable_again(X)
    Z = model.scores(X)
    xp = namespace(Z)
    squares = Z * Z
    if has_attribute(model, "squared_distances"):
        whole = model.squared_distances(X)
    else:
        whole = xp.sum(squares, axis=1) + model.reconstruction_error(X, scaled=True)
    return squares / xp.where(whole > 0, whole, xp.ones_like(whole))[:, None]


def eta2(model: MixedModel) -> Table:
    """The share of the variance of each component that each column explains, from 0 to 1.

    It is r^2 of a number, and the squared correlation ratio of a category: the variance of the means of its levels over
    that of all rows. Supplementary columns come last. The sum over the active columns, in MCA their mean, is the
    eigenvalue.

    Examples
    --------
    >>> import pandas as pd
    >>> from lowdim import FAMD, inspect
    >>> drinks = pd.DataFrame({"age": [20, 30, 60, 70, 40], "drink": ["tea", "tea", "coffee", "coffee", "tea"]})
    >>> print(inspect.eta2(FAMD(1).fit(drinks)))
    Squared correlations and correlation ratios
           active    dim1
    age    yes     0.9622
    drink  yes     0.9622
    """
    require(model, "eta2", is_mixed)
    return eta2_table(geometry(model), model)


def eta2_table(g: Geometry, model: Any) -> Table:
    """The table of `eta2`."""
    first = [places[0] for places in g.columns.values()]
    columns = {"active": g.active[first], **dict(zip(model.component_names_, g.eta2.T, strict=True))}
    title = "Squared correlations and correlation ratios"
    return Table(columns, list(g.columns), title=title, row_name="column")


def v_tests(model: MixedModel) -> Table:
    """How far the mean of the rows of each level is from that of all rows, as standard normal values.

    mean_k / sqrt(lambda (n - n_k) / (n - 1) / n_k) for a level of n_k among n rows. Beyond 2 in magnitude, so many rows
    drawn at random would rarely be so far; for levels of active categories, which made the components, it is a measure
    and no test.

    Examples
    --------
    >>> import pandas as pd
    >>> from lowdim import FAMD, inspect
    >>> drinks = pd.DataFrame({"age": [20, 30, 60, 70, 40], "drink": ["tea", "tea", "coffee", "coffee", "tea"]})
    >>> inspect.v_tests(FAMD(1).fit(drinks))["dim1"].round(2)
    array([ 1.96, -1.96])
    """
    require(model, "v_tests", has_levels)
    return v_tests_table(geometry(model), model)


def v_tests_table(g: Geometry, model: Any) -> Table:
    """The table of `v_tests`."""
    of_levels = g.take(np.flatnonzero(g.is_level))
    return points_table(of_levels, model, of_levels.v_tests, "v-tests of the levels")


def has_levels(model: Any) -> bool:
    """Whether a model has categories, active or supplementary."""
    return is_mixed(model) and bool(model.coding_.categories or model.supplementary_coding_.categories)
