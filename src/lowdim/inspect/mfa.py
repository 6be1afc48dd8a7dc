"""Groups of columns of MFA: how much they have in common, and rows and levels as single groups see them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..linalg import eigh_descending
from ..sources.opening import TableLike, row_labels
from ..table import Table, Tabular
from .geometry import geometry
from .tables import has_attribute, require

if TYPE_CHECKING:
    from ..models.mfa import MFA


@dataclass(frozen=True, repr=False)
class GroupTables(Tabular):
    """Tables of the groups of an MFA, active ones first. Printing it shows their coordinates.

    Examples
    --------
    >>> import pandas as pd
    >>> from lowdim import MFA, inspect
    >>> wines = pd.DataFrame({"flowers": [1, 2, 3, 5], "fruit": [2, 1, 4, 3], "taste": ["dry", "dry", "soft", "dry"]})
    >>> mfa = MFA(1, groups={"nose": ["flowers", "fruit"], "mouth": ["taste"]}).fit(wines)
    >>> print(inspect.groups(mfa))
    Coordinates of the groups
    group  active    dim1
    nose   yes     0.7324
    mouth  yes     0.8297
    """

    #: Lg between each component and each group, from 0 to 1: for an active group, its part in the eigenvalue.
    coordinates: Table
    #: The shares of the active groups in the eigenvalues.
    contributions: Table
    #: The squared coordinates over Lg of the group with itself.
    cos2: Table
    #: Correlations of the coordinates of the rows as each group sees them with those of all groups.
    correlations: Table
    #: Lg and RV between the groups, and with their common configuration, "all".
    lg: Table
    rv: Table
    #: For each component, the share of the variance of the partial points that is between rows: 1 if all groups see
    #: the same.
    inertia_ratio: Table

    def table(self) -> Table:
        return self.coordinates


def has_groups(model: Any) -> bool:
    """Whether a model has groups of columns: MFA."""
    return has_attribute(model, "group_inertias_")


def groups(model: MFA) -> GroupTables:
    """Coordinates, contributions, cos2, correlations, Lg and RV of the groups of an MFA; from its summary.

    Examples
    --------
    >>> import pandas as pd
    >>> from lowdim import MFA, inspect
    >>> wines = pd.DataFrame({"flowers": [1, 2, 3, 5], "fruit": [2, 1, 4, 3], "taste": ["dry", "dry", "soft", "dry"]})
    >>> mfa = MFA(1, groups={"nose": ["flowers", "fruit"], "mouth": ["taste"]}).fit(wines)
    >>> print(inspect.groups(mfa).rv)
    RV coefficients
    group    nose   mouth     all
    nose   1.0000  0.3810  0.8393
    mouth  0.3810  1.0000  0.8224
    all    0.8393  0.8224  1.0000
    """
    require(model, "groups", has_groups)
    found, values, k, m = _coded(model), model.explained_variance_, model.n_components_, model.n_active_groups_
    names = model.group_names_
    # Lg between component k and a group: the sum of the squared covariances of its columns with F_k, over lambda_k.
    C = found.S @ found.A
    places = np.array([(C[piece] ** 2).sum(axis=0) for piece in found.places]) / values
    squares = np.diagonal(model.lg_)[: len(names), None]
    # The partial scores of an active group are m Z_g A_g, for m groups.
    own = [(found.A[piece], found.S[np.ix_(piece, piece)], C[piece]) for piece in found.places[:m]]
    spread = np.array([m * m * (A * (S @ A)).sum(axis=0) for A, S, _ in own])
    shared = np.array([m * (A * c).sum(axis=0) for A, _, c in own])
    correlations = shared / np.sqrt(np.where(spread > 0, spread, 1.0) * values)
    # The point of a row is the mean of its m partial points.
    ratio = m * values / spread.sum(axis=0)
    labels = [*names, "all"]

    def of_groups(matrix: np.ndarray, title: str) -> Table:
        n = len(matrix)
        columns = {"active": np.arange(n) < m, **dict(zip(model.component_names_, matrix.T, strict=True))}
        return Table(columns, names[:n], title=title, row_name="group")

    return GroupTables(
        of_groups(places, "Coordinates of the groups"),
        of_groups(places[:m] / values, "Contributions of the groups"),
        of_groups(places**2 / squares, "cos2 of the groups"),
        of_groups(correlations, "Correlations of partial points with the components"),
        Table.from_matrix(model.lg_, labels, labels, title="Lg coefficients", row_name="group"),
        Table.from_matrix(model.rv_, labels, labels, title="RV coefficients", row_name="group"),
        Table.from_matrix(ratio.reshape(1, k), model.component_names_, ["between / total"], title="Inertia ratio"),
    )


class _Coded(NamedTuple):
    """The coded columns of an MFA times the roots of their weights, active ones first: their covariances S, the matrix
    A that maps them to the components, the columns of each group, and the roots."""

    S: np.ndarray
    A: np.ndarray
    places: list[np.ndarray]
    root: np.ndarray


def _coded(model: Any) -> _Coded:
    """What the summary of the rows says of the coded columns."""
    if not hasattr(model, "summary_"):
        raise ValueError("groups are compared by summary_, which this model does not have; fit it again.")
    S, root, sizes, _ = model._weighted_scatter(model.summary_)
    A = np.zeros((len(S), model.n_components_))
    A[: model.coding_.width] = model.components_.T
    return _Coded(S, A, list(sizes.values()), root)


def partial_coordinates(model: MFA, X: TableLike | None = None) -> Table:
    """Coordinates of levels, or of rows, as each active group alone sees them; their mean is the point itself.

    Parameters
    ----------
    model : fitted MFA
    X : rows, default=None
        By default the levels of all categories, supplementary ones included.

    Returns
    -------
    Table
        A row for each group, within each row or level.

    Examples
    --------
    >>> import pandas as pd
    >>> from lowdim import MFA, inspect
    >>> wines = pd.DataFrame({"flowers": [1, 2, 3, 5], "fruit": [2, 1, 4, 3], "taste": ["dry", "dry", "soft", "dry"]})
    >>> mfa = MFA(1, groups={"nose": ["flowers", "fruit"], "mouth": ["taste"]}).fit(wines)
    >>> print(inspect.partial_coordinates(mfa, wines[:1]))
    Partial coordinates of the rows
       group     dim1
    0  nose   -1.0165
    0  mouth  -0.8416
    """
    require(model, "partial_coordinates", has_groups)
    m, names, k = model.n_active_groups_, model.group_names_, model.n_components_
    if X is not None:
        found = model.partial_coordinates(X)
        points = np.stack([found[name] for name in names[:m]], axis=1)
        labels, title = row_labels(X), "Partial coordinates of the rows"
        labels = range(len(points)) if labels is None else labels
        columns: dict[str, Any] = {}
    else:
        coded, g = _coded(model), geometry(model)
        which = np.flatnonzero(g.is_level)
        if not len(which):
            raise ValueError("the model has no categories; pass rows for their partial coordinates.")
        # The mean row of a level, from that of all rows, is the covariance with its zeros and ones over its share.
        rows = coded.S[which] / (coded.root[which] * g.share[which])[:, None]
        points = np.stack([m * rows[:, piece] @ coded.A[piece] for piece in coded.places[:m]], axis=1)
        labels, title = [g.names[i] for i in which], "Partial coordinates of the levels"
        columns = {
            what: np.repeat(np.array([texts[i] for i in which], dtype=object), m)
            for what, texts in (("variable", g.variables), ("level", g.levels))
        }
    columns["group"] = np.tile(np.array(names[:m], dtype=object), len(points))
    columns |= dict(zip(model.component_names_, points.reshape(-1, k).T, strict=True))
    return Table(columns, [label for label in labels for _ in range(m)], title=title)


def partial_axes(model: MFA) -> Table:
    """Correlations of the components of the separate analysis of each group with those of the MFA.

    Of each group, supplementary ones included, as many components are shown as the model has, or as the group has. If
    two eigenvalues of a group are equal, as those of a single category are, its components are arbitrary.

    Examples
    --------
    >>> import pandas as pd
    >>> from lowdim import MFA, inspect
    >>> wines = pd.DataFrame({"flowers": [1, 2, 3, 5], "fruit": [2, 1, 4, 3], "taste": ["dry", "dry", "soft", "dry"]})
    >>> mfa = MFA(1, groups={"nose": ["flowers", "fruit"], "mouth": ["taste"]}).fit(wines)
    >>> inspect.partial_axes(mfa)["dim1"].round(3)
    array([0.808, 0.911])
    """
    require(model, "partial_axes", has_groups)
    coded, k, root = _coded(model), model.n_components_, np.sqrt(model.explained_variance_)
    C = coded.S @ coded.A
    labels, of_group, inertias, found = [], [], [], []
    for name, places in zip(model.group_names_, coded.places, strict=True):
        values, vectors = eigh_descending(coded.S[np.ix_(places, places)])
        for j in range(min(k, int(np.count_nonzero(values > 1e-10 * values[0])))):
            correlations = vectors[j] @ C[places] / np.sqrt(values[j]) / root
            # The sign of an eigenvector is arbitrary: it is that of its largest correlation.
            found.append(correlations * (np.sign(correlations[np.abs(correlations).argmax()]) or 1.0))
            labels.append(f"{name}.{model.component_name}{j + 1}")
            of_group.append(name)
            inertias.append(float(model.group_inertias_[name][j]))
    columns: dict[str, Any] = {"group": of_group, "inertia": inertias}
    columns |= dict(zip(model.component_names_, np.array(found).T, strict=True))
    return Table(columns, labels, title="Correlations of the components of single groups", row_name="component")
