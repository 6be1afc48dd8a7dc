"""Tables of fitted models: components, columns, factors, pairs of tables, and single rows."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.utils.validation import check_is_fitted

from .._core.arrays import Array, compute_lazy, dense, to_numpy
from .._core.types import VectorLike
from ..errors import RankWarning, choice, warn_user
from ..linalg import column_lengths
from ..models.output import importance_table, result_names, results
from ..models.pairs import check_scale
from ..reading.summarizing import check_weights
from ..sources.base import Source
from ..sources.derived import with_known_length
from ..sources.opening import (
    TableLike,
    by_name,
    can_be_read_once,
    check_row_labels,
    open_source,
    open_target,
    row_labels,
)
from ..table import Table, numbered

if TYPE_CHECKING:
    from typing_extensions import TypeIs

    from ..models.base import Model
    from ..models.cca import CCA
    from ..models.factor_analysis import FactorAnalysis
    from ..models.gcca import GCCA
    from ..models.latent import LatentModel
    from ..models.pca import PCA
    from ..models.regression import LatentRegression

# Which table of a model is meant, and the names of its columns.


def column_names(model: Model, table: str | int = 0) -> list[str]:
    """The names of the columns that a model was fitted to; "x1", "x2", ... if they had none.

    Parameters
    ----------
    model : fitted model
    table : "X", "y" or int, default=0
        For models of several tables: which one. The columns of y are "y1", "y2", ... if they had no names.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lowdim import PCA, inspect
    >>> inspect.column_names(PCA(1).fit(load_iris().data))
    ['x1', 'x2', 'x3', 'x4']
    >>> inspect.column_names(PCA(1).fit(load_iris(as_frame=True).data))[0]
    'sepal length (cm)'
    """
    check_is_fitted(model)
    return model._column_names(table_number(model, table))


def table_number(model: Any, table: str | int) -> int:
    """The number of a table of a fitted model, from 0."""
    count = len(model._widths())
    letters = "Xy"[:count] if count <= 2 else ""
    if isinstance(table, str) and table in tuple(letters):
        return letters.index(table)
    if isinstance(table, numbers.Integral) and not isinstance(table, bool) and 0 <= table < count:
        return int(table)
    raise choice("table", table, [*letters, *range(count)])


def of_table(model: Any, attribute: str, i: int) -> Array:
    """An attribute of table i, such as "loadings_": x_loadings_ and y_loadings_ of a pair of tables, an entry of a list
    for more tables."""
    if has_attribute(model, f"x_{attribute}"):
        return getattr(model, f"{'xy'[i]}_{attribute}")
    value = getattr(model, attribute)
    return value[i] if isinstance(value, list) else value


def has_attribute(model: Any, *attributes: str) -> bool:
    """Whether a fitted model has one of these attributes. Properties are not computed to find out."""
    return any(hasattr(type(model), name) or name in vars(model) for name in attributes)


# Which component is meant.


def chosen_component(model: Any, component: Any) -> int:
    """The position of one component, from 0, that is given by its number from 1 or by its name."""
    names = model.component_names_
    position = position_among(names, component)
    if position is None:
        known = names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"
        raise ValueError(
            f"there is no component {component!r}; they are {known}, or by their numbers 1 to {len(names)}, counted "
            "from 1 as in their names."
        )
    return position


def position_among(names: Sequence[str], given: Any) -> int | None:
    """The position, from 0, of what is given by its name or by its number from 1; None if there is no such thing."""
    if isinstance(given, str) and given in names:
        return names.index(given)
    whole = isinstance(given, numbers.Integral) and not isinstance(given, bool | np.bool_)
    return int(given) - 1 if whole and 1 <= int(given) <= len(names) else None


# For which fitted models each table is.


def has_scores(model: Any) -> TypeGuard[PCA | LatentRegression]:
    """Whether a model has scores as a method. (`scores` of FactorAnalysis is a parameter.)"""
    return callable(getattr(type(model), "scores", None))


def is_factor_analysis(model: Any) -> TypeGuard[FactorAnalysis]:
    """Whether a model has factors, with their correlations."""
    return has_attribute(model, "phi_")


def has_distances(model: Any) -> bool:
    """Whether rows have T2 and Q: those of a subspace, or those of a latent Gaussian model given observed entries."""
    return has_subspace(model) or is_latent(model)


def has_subspace(model: Any) -> TypeGuard[PCA | LatentRegression]:
    """Whether a model of numbers has scores, and residuals of its rows."""
    return has_scores(model) and has_attribute(model, "reconstruction_error")


def is_latent(model: Any) -> TypeIs[LatentModel]:
    """Whether a model is Gaussian with latent variables, so that rows may have missing entries."""
    return has_attribute(model, "distances")


def check_scores(model: Any, what: str, latent: bool = False) -> None:
    """Refuse models without scores and distances to a subspace, and models that are not fitted; `latent` Gaussian
    models if they are not allowed."""
    if not has_subspace(model) and not (latent and is_latent(model)):
        others = ", PPCA or FactorAnalysis" if latent else ""
        raise TypeError(
            f"{what} needs a fitted PCA, PCR, PLSRegression{',' if latent else ' or'} PLSCanonical{others} as its "
            f"first argument, got {type(model).__name__}."
        )
    check_is_fitted(model)


def _has(*attributes: str) -> Callable[[Any], bool]:
    return lambda model: has_attribute(model, *attributes)


has_loadings = _has("loadings_", "x_loadings_", "mixing_")
has_structure = _has("phi_", "structure_", "x_structure_")
has_coefficients = _has("coef_")
has_vip = _has("vip_")
has_canonical_tests = _has("significance")
has_pair_correlations = _has("pair_correlations_")


def require(model: Any, what: str, fits: Callable[[Any], bool]) -> None:
    """Refuse a model that is not fitted, or that a table is not for."""
    check_is_fitted(model)
    if not fits(model):
        raise TypeError(f"{type(model).__name__} has no {what}; model.tables lists the tables of a fitted model.")


# Tables of the components and of the columns that they are made of.


def importance(model: Model) -> Table:
    """How much each component explains, as `print(model)` shows it, for all components.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lowdim import PCA, inspect
    >>> print(inspect.importance(PCA().fit(load_iris().data)))
    PCA of 150 rows, 4 columns (covariance)
         std. deviation  variance  proportion  cumulative
    PC1          2.0563    4.2282      0.9246      0.9246
    PC2          0.4926    0.2427      0.0531      0.9777
    PC3          0.2797    0.0782      0.0171      0.9948
    PC4          0.1544    0.0238      0.0052      1.0000
    """
    check_is_fitted(model)
    return importance_table(model)


def loadings(model: Model, table: str | int = 0, *, sort: bool = False, blank: float = 0.0) -> Table:
    """Loadings of the columns on the components, shape (p, K).

    Of PCA they are w_k sqrt(lambda_k), of PPCA and FactorAnalysis the matrix W or L of the model, of ICA the columns of
    `mixing_` times the standard deviations of their sources, and of models of several tables the `x_loadings_`,
    `y_loadings_` or `loadings_` of one of them. Of MCA, FAMD and MFA they are w_k sqrt(lambda_k) of the coded columns,
    which are divided by `scale_`; see `coordinates` for numbers and levels as points.

    Parameters
    ----------
    model : fitted model with loadings
    table : "X", "y" or int, default=0
        For models of several tables: which one.
    sort : bool, default=False
        Whether to bring columns together that have their largest loading on the same component, with the largest
        loadings of each component first.
    blank : float, default=0.0
        Loadings of smaller magnitude are printed as blanks. In data frames and CSV files they stay numbers.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lowdim import PCA, inspect
    >>> pca = PCA(2).fit(load_iris(as_frame=True).data)
    >>> print(inspect.loadings(pca))
    Loadings
    column                 PC1      PC2
    sepal length (cm)   0.7431   0.3234
    sepal width (cm)   -0.1738   0.3597
    petal length (cm)   1.7615  -0.0854
    petal width (cm)    0.7367  -0.0372
    >>> print(inspect.loadings(pca, sort=True, blank=0.3))
    Loadings
    column                PC1     PC2
    petal length (cm)  1.7615
    sepal length (cm)  0.7431  0.3234
    petal width (cm)   0.7367
    sepal width (cm)           0.3597
    loadings below 0.3 in magnitude are blank
    """
    if isinstance(blank, bool) or not isinstance(blank, numbers.Real) or not 0.0 <= float(blank) < np.inf:
        raise ValueError(f"blank={blank!r} must be a number that is not negative.")
    require(model, "loadings", has_loadings)
    i = table_number(model, table)
    if has_attribute(model, "mixing_"):
        # The mixing matrix for sources of unit variance; `explained_variance_` are |a_k|^2 var(u_k).
        mixing, variances = (
            to_numpy(getattr(model, name)).astype(np.float64) for name in ("mixing_", "explained_variance_")
        )
        values = mixing * np.sqrt(variances) / column_lengths(mixing)
    else:
        values = of_table(model, "loadings_", i)
    found = columns_by_components(model, values, "Loadings", i)
    if sort:
        sizes = np.abs(found.values)
        found = found.take(np.lexsort((-sizes.max(axis=1), sizes.argmax(axis=1))))
    if blank > 0.0:
        found.blank, found.notes = float(blank), (f"loadings below {blank:g} in magnitude are blank",)
    return found


def congruence(model: Model, other: Model, table: str | int = 0) -> Table:
    """Which component of another fit each component is most like, by Tucker's coefficient of congruence.

    The coefficient of two columns of loadings is their cosine, a^T b / (|a| |b|) [1]_. Components are matched one to
    one such that the sum of the absolute coefficients is largest, since their order and signs may differ. Above 0.95
    two factors are usually considered equal, from 0.85 on similar [2]_.

    Parameters
    ----------
    model, other : fitted models with loadings
        Fitted to the same columns, for example to two halves of the rows. Their numbers of components may differ.
    table : "X", "y" or int, default=0
        For models of several tables: which one.

    Returns
    -------
    Table
        For each component of `model` that has a partner: its name in `other`, the absolute coefficient, and the sign
        by which the partner has to be multiplied.

    References
    ----------
    .. [1] Tucker (1951), A method for synthesis of factor analysis studies.
    .. [2] Lorenzo-Seva, ten Berge (2006), Tucker's congruence coefficient as a meaningful index of factor similarity.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lowdim import PCA, inspect
    >>> X = load_iris().data
    >>> print(inspect.congruence(PCA(2).fit(X[::2]), PCA(2).fit(X[1::2])))
    Congruence of the components
         partner  congruence  sign
    PC1  PC1          0.9977     1
    PC2  PC2          0.9804     1
    """
    mine, others = loadings(model, table), loadings(other, table)
    if mine.rows != others.rows:
        raise ValueError("congruence compares loadings of the same columns, and the two models have other columns.")
    L, M = mine.values, others.values
    lengths = column_lengths(L)[:, None] * column_lengths(M)
    cosines = L.T @ M / np.where(lengths > 0, lengths, 1.0)
    rows, partners = linear_sum_assignment(-np.abs(cosines))
    found = cosines[rows, partners]
    columns = {
        "partner": [other.component_names_[j] for j in partners],
        "congruence": np.abs(found),
        "sign": np.where(found < 0, -1, 1),
    }
    own = [model.component_names_[i] for i in rows]
    return Table(columns, own, title="Congruence of the components", row_name="component")


def structure(model: Model, table: str | int = 0, *, cross: bool = False) -> Table:
    """Correlations of columns with factors or canonical variates, shape (p, K).

    Of FactorAnalysis they are the entries of L phi, divided by the standard deviations of the columns in the model. Of
    CCA and GCCA they are the correlations with the variates of the own table or, with `cross`, of the other table (CCA
    only).

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from lowdim import CCA, inspect
    >>> X, y = load_linnerud(return_X_y=True, as_frame=True)
    >>> print(inspect.structure(CCA(2).fit(X, y), "y"))
    Correlations of columns with variates of y
    column    pair1    pair2
    Weight  -0.6206  -0.7724
    Waist   -0.9254  -0.3777
    Pulse    0.3328   0.0415
    """
    require(model, "structure", has_structure)
    i = table_number(model, table)
    if cross and not has_attribute(model, "x_cross_structure_"):
        raise ValueError(f"cross=True is for the two tables of CCA, not for {type(model).__name__}.")
    if is_factor_analysis(model):
        covariances = to_numpy(model.phi_) @ to_numpy(model.components_)
        values = (covariances / np.sqrt(to_numpy(model.communalities_ + model.uniquenesses_))).T
    else:
        values = of_table(model, "cross_structure_" if cross else "structure_", i)
    title = f"Correlations of columns with {'factors' if has_attribute(model, 'phi_') else 'variates'}"
    if cross:
        title = f"Correlations with the variates of {'yX'[i]}: columns"
    return columns_by_components(model, values, title, i)


def columns_by_components(model: Any, values: Any, title: str, table: int = 0) -> Table:
    """The table of a matrix with a row for each column of a table and a column for each component."""
    count = len(model._widths())
    of = "" if count == 1 else f" of {'Xy'[table] if count == 2 else f'table {table}'}"
    # Of categories, each level is a column.
    names = model._row_names() if has_attribute(model, "coding_") else column_names(model, table)
    return Table.from_matrix(values, model.component_names_, names, title=title + of, row_name="column")


# Tables of factor analysis.


def pattern(model: FactorAnalysis) -> Table:
    """The pattern of a factor analysis: its loadings L, the coefficients of the factors, shape (p, K).

    If the factors are correlated (oblique rotations), the correlations of columns with factors are another table,
    `structure`.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from lowdim import FactorAnalysis, inspect
    >>> X = load_wine(as_frame=True).data.iloc[:, 5:9]
    >>> print(inspect.pattern(FactorAnalysis(1, scale=True).fit(X)))
    Pattern: coefficients of the factors
    column                     F1
    total_phenols          0.8838
    flavanoids             0.9782
    nonflavanoid_phenols  -0.5443
    proanthocyanins        0.6708
    """
    require(model, "pattern", is_factor_analysis)
    return columns_by_components(model, model.loadings_, "Pattern: coefficients of the factors")


def communalities(model: FactorAnalysis) -> Table:
    """Of each column, what the factors explain and what is its own.

    The columns are the communality diag(L phi L^T), the uniqueness psi, the proportion of the variance that the
    factors explain, Hofmann's complexity (sum_k l_k^2)^2 / sum_k l_k^4, which is the number of factors that a column
    loads on, and whether it is a Heywood case, whose uniqueness is at its lower bound.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from lowdim import FactorAnalysis, inspect
    >>> X = load_wine(as_frame=True).data.iloc[:, 5:9]
    >>> print(inspect.communalities(FactorAnalysis(1, scale=True).fit(X)))
    Communalities and uniquenesses
    column                communality  uniqueness  proportion  complexity  Heywood
    total_phenols              0.7811      0.2189      0.7811      1.0000  no
    flavanoids                 0.9569      0.0431      0.9569      1.0000  no
    nonflavanoid_phenols       0.2962      0.7038      0.2962      1.0000  no
    proanthocyanins            0.4500      0.5500      0.4500      1.0000  no
    """
    require(model, "communalities", is_factor_analysis)
    common, own = (to_numpy(a).astype(np.float64) for a in (model.communalities_, model.uniquenesses_))
    squares = to_numpy(model.components_).astype(np.float64).T ** 2
    fourth = (squares**2).sum(axis=1)
    heywood = to_numpy(model.heywood_)
    columns = {
        "communality": common,
        "uniqueness": own,
        "proportion": common / (common + own),
        "complexity": np.where(fourth > 0, squares.sum(axis=1) ** 2 / np.where(fourth > 0, fourth, 1.0), 0.0),
        "Heywood": heywood,
    }
    names = column_names(model)
    found = [name for name, at_bound in zip(names, heywood, strict=True) if at_bound]
    notes = [f"Heywood cases, whose uniqueness is at its lower bound: {', '.join(found)}"] if found else []
    return Table(columns, names, title="Communalities and uniquenesses", notes=notes, row_name="column")


def factor_correlations(model: FactorAnalysis) -> Table:
    """Correlations of the factors, shape (K, K); the identity unless the rotation is oblique.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from lowdim import FactorAnalysis, inspect
    >>> X = load_wine().data
    >>> print(inspect.factor_correlations(FactorAnalysis(2, rotation="promax").fit(X)))
    Correlations of the factors
            F1      F2
    F1  1.0000  0.1381
    F2  0.1381  1.0000
    """
    require(model, "factor_correlations", is_factor_analysis)
    names = model.component_names_
    return Table.from_matrix(model.phi_, names, names, title="Correlations of the factors", row_name="factor")


# Tables of models of two or more tables: coefficients, importance of columns, canonical correlations.


def coefficients(model: LatentRegression | CCA, *, standardized: bool = False) -> Table:
    """Regression coefficients, with a row for each column of X and a column for each response.

    Parameters
    ----------
    model : fitted PCR, PLSRegression, PLSCanonical or CCA
    standardized : bool, default=False
        Whether the coefficients are those of columns and responses divided by their standard deviations, which the
        model has to know: it must have been fitted with `scale=True`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from lowdim import PLSRegression, inspect
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> print(inspect.coefficients(PLSRegression(2).fit(X[["age", "bmi", "bp"]], y)))
    Coefficients in the units of the columns
         target
    age  0.0478
    bmi  8.3778
    bp   1.4263
    """
    require(model, "coefficients", has_coefficients)
    coef = to_numpy(model.coef_).astype(np.float64)
    if standardized:
        if not all(check_scale(model.scale, 2)):
            raise ValueError(
                f"standardized coefficients need the standard deviations of all columns, and with scale={model.scale} "
                "the model does not keep them; fit it with scale=True."
            )
        x_scale, y_scale = (to_numpy(scale).astype(np.float64) for scale in (model.x_scale_, model.y_scale_))
        coef = coef * x_scale / y_scale[:, None]
    responses = column_names(model, 1)
    units = "standardized columns" if standardized else "the units of the columns"
    return Table.from_matrix(
        coef.T, responses, column_names(model), title=f"Coefficients in {units}", row_name="column"
    )


def vip(model: LatentRegression, *, coefficients: bool = False) -> Table:
    """Variable importance in projection of the columns of X; the average of their squares is one.

    VIP says how much a column takes part in the components, and has no sign. A coefficient times the standard deviation
    of its column says by how much the prediction changes, and in which direction, if the column rises by one standard
    deviation and the others stay as they are.

    Parameters
    ----------
    model : fitted PCR, PLSRegression or PLSCanonical
    coefficients : bool, default=False
        Whether to show, for each response, the coefficients times the standard deviations of their columns, in the
        units of the response. The model has to know these: it must have been fitted with `scale=True` for X.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from lowdim import PLSRegression, inspect
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> print(inspect.vip(PLSRegression(2).fit(X[["age", "bmi", "bp"]], y), coefficients=True))
    Variable importance in projection, and coefficients times standard deviations
            VIP  target (coef. x sd)
    age  0.5204                0.627
    bmi  1.3212               37.014
    bp   0.9918               19.728
    """
    require(model, "vip", has_vip)
    columns, title = {"VIP": to_numpy(model.vip_).astype(np.float64)}, "Variable importance in projection"
    if coefficients:
        if not check_scale(model.scale, 2)[0]:
            raise ValueError(
                "coefficients=True needs the standard deviations of the columns of X, and with "
                f"scale={model.scale} the model does not keep them; fit it with scale=True."
            )
        changes = to_numpy(model.coef_).astype(np.float64) * to_numpy(model.x_scale_).astype(np.float64)
        names = [f"{name} (coef. x sd)" for name in column_names(model, 1)]
        columns |= dict(zip(names, changes, strict=True))
        title += ", and coefficients times standard deviations"
    return Table(columns, column_names(model), title=title, row_name="column")


def canonical_tests(model: CCA) -> Table:
    """Tests of CCA of how many correlations are significant; row k tests that the k-th and all later ones are zero.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from lowdim import CCA, inspect
    >>> X, y = load_linnerud(return_X_y=True)
    >>> inspect.canonical_tests(CCA(1).fit(X, y))["p(F)"].round(3)
    array([0.064, 0.949, 0.775])
    """
    require(model, "canonical_tests", has_canonical_tests)
    return model.significance().table()


def pair_correlations(model: GCCA) -> Table:
    """Correlations of GCCA between the variates of each two tables, with a row for each component.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from lowdim import GCCA, inspect
    >>> X = load_wine().data
    >>> print(inspect.pair_correlations(GCCA(1).fit([X[:, :4], X[:, 4:8], X[:, 8:]])))
    Correlations between the variates of two tables
           tables 0, 1  tables 0, 2  tables 1, 2
    comp1       0.6053       0.7156       0.8265
    """
    require(model, "pair_correlations", has_pair_correlations)
    values = to_numpy(model.pair_correlations_)
    pairs = combinations(range(values.shape[1]), 2)
    columns = {f"tables {i}, {j}": values[:, i, j] for i, j in pairs}
    title = "Correlations between the variates of two tables"
    return Table(columns, model.component_names_, title=title, row_name="component")


# How single rows and columns take part in the components: scores, contributions, cos2, correlations.
#
# The rows may be those of the fit or supplementary ones. The fitted model is not changed. A model does not keep the
# weights of its rows: after a fit with `sample_weight`, pass the same weights to functions that average over rows.


#: The number of rows of a block in which columns are read.
_BLOCK_ROWS = 1 << 16


def scores(model: Model, X: TableLike, y: TableLike | None = None) -> Table:
    """Scores of rows: their coordinates on the components, with a row for each row of `X`.

    They are what `transform` returns, but for PCA(whiten=True), whose scores have the variances of the components. If
    `y` is given, to a model of two tables, or if `X` is a list of tables, the scores of all tables stand side by side,
    in columns whose names begin with the table: "X_pair1", "y_pair1".

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lowdim import PCA, inspect
    >>> X = load_iris(as_frame=True).data
    >>> print(inspect.scores(PCA(2).fit(X), X[:3]))
    Scores
           PC1      PC2
    0  -2.6841   0.3194
    1  -2.7141  -0.1770
    2  -2.8890  -0.1449
    """
    check_is_fitted(model)
    if y is None and has_scores(model):
        return rows_by_components(model, model.scores(X), "Scores", row_labels(X))
    tables: Any = (X,) if y is None else (X, y)
    maps = model._transform_maps(*tables)
    found = results(maps)
    parts = [to_numpy(compute_lazy(part)) for part in (found if len(maps) > 1 else [found])]
    labels = row_labels(X[0] if len(maps) > 1 and isinstance(X, list | tuple) else X)
    values = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
    return Table.from_matrix(values, result_names(maps), labels, title="Scores")


def correlations(
    model: PCA | LatentRegression, X: TableLike, Y: TableLike | None = None, *, sample_weight: VectorLike | None = None
) -> Table:
    """Correlations of columns with components, shape (columns, K).

    The columns are those of `X`, or supplementary columns `Y` with one row for each row of `X`. The correlation of a
    constant column is zero. For the rows and the `sample_weight` of the fit, the squared correlations are the cos2 of
    the columns.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lowdim import PCA, inspect
    >>> X, species = load_iris(return_X_y=True)
    >>> print(inspect.correlations(PCA(2).fit(X), X, species))
    Correlations of columns with components
           PC1      PC2
    y1  0.9465  -0.1133
    """
    check_scores(model, "correlations")
    check_row_labels(X, Y=Y)
    X, sample_weight = rows_and_weights(model, X, sample_weight)
    X = readable_again(X)
    Z = to_numpy(model.scores(X)).astype(float)
    source = open_target(Y) if Y is not None else open_source(X, model._wanted())
    columns = rows_of(source)
    if len(columns) != len(Z):
        raise ValueError(
            f"Y has {len(columns)} rows, X has {len(Z)}; supplementary columns need one entry per row of X."
        )
    weights = row_weights(sample_weight, Z)
    if weights is not None:
        # Rows without weight may be far from the others.
        columns, Z, weights = columns[weights > 0], Z[weights > 0], weights[weights > 0]
    values = _unit_columns(columns, weights).T @ _unit_columns(Z, weights)
    labels = column_names(model) if Y is None else (source.names or numbered("y", len(values)))
    title = "Correlations of columns with components"
    return Table.from_matrix(values, model.component_names_, labels, title=title, row_name="column")


def rows_of(source: Source) -> np.ndarray:
    """All rows of a source as NumPy floats."""
    return np.concatenate([to_numpy(dense(block)).astype(float) for block in source.blocks(_BLOCK_ROWS)])


def rows_by_components(model: Any, values: Any, title: str, labels: Any) -> Table:
    """The table of a matrix with a row for each row of a table and a column for each component."""
    return Table.from_matrix(to_numpy(compute_lazy(values)), model.component_names_, labels, title=title)


def _unit_columns(A: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """The columns of `A`, centred, times the roots of the weights, and of unit length. The first entry is subtracted
    first, in case of large offsets."""
    A = A - A[:1]
    A = A - np.average(A, axis=0, weights=weights)
    if weights is not None:
        A = A * np.sqrt(weights)[:, None]
    norms = np.sqrt((A * A).sum(axis=0))
    return A / np.where(norms > 0, norms, 1.0)


def check_orthonormal(model: Any, what: str) -> None:
    """Refuse models without orthonormal components, which are needed to split squared distances."""
    if not has_scores(model):
        check_scores(model, what)
    check_is_fitted(model)
    if not hasattr(model, "components_"):
        raise TypeError(
            f"{what} needs orthonormal components, as PCA and PCR have; {type(model).__name__} has none. See "
            "x_weights_ and vip_."
        )


def variable_components(model: Any) -> int:
    """The number of components with positive variance; warns if the others have to be left out."""
    rank: int = getattr(model, "rank_", model.n_components_)
    if rank < model.n_components_:
        lost = model.n_components_ - rank
        warn_user(f"{lost} of {model.n_components_} components have no variance and were left out.", RankWarning)
    return rank


def rows_and_weights(model: Any, X: Any, sample_weight: Any) -> tuple[Any, Any]:
    """The rows and their weights, which may be the name of a column of `X`."""
    mixed = has_attribute(model, "coding_")
    X, _, sample_weight = by_name(X, wanted=model._wanted(), of_any_kind=mixed, sample_weight=sample_weight)
    return X, sample_weight


def readable_again(X: Any) -> Any:
    """Rows that can be read several times: a stream that can be read once is gathered in memory."""
    return with_known_length(open_source(X), "for diagnostics") if can_be_read_once(X) else X


def row_weights(sample_weight: Any, rows: Any) -> Any:
    """The weights of rows, checked, as an array like the rows; None if there are none."""
    return None if sample_weight is None else check_weights(sample_weight, open_source(rows))
