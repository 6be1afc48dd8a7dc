"""Beyond straight lines: kernel PCA and ICA beside PCA, and whether they show more."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial import cKDTree
from sklearn.model_selection import KFold

from ..models.ica import ICA
from ..models.kernel_pca import KernelPCA
from ..models.pca import PCA
from ..selection.kernel_width import choose_width
from ..table import Table
from .blocks import Block, Chart, Listing, Prose, Section, count, listed, number, prose, share
from .charts import axis, heading, plain, points

if TYPE_CHECKING:
    from .analysis import Analysis


# Three maps of the same rows, and measures of what each of them keeps.


#: How many rows are compared at most, and how many there must be.
MOST_ROWS, FEWEST_ROWS = 1_500, 30
#: How many nearest neighbours are compared, and how many sources of ICA there are at most.
NEIGHBOURS, MOST_SOURCES = 10, 8
#: The number of folds in which the sources of ICA are judged.
FOLDS = 5
#: The means of ln cosh u and of the derivative of tanh u, for a standard Gaussian u.
LN_COSH, SLOPE = 0.37456720749, 0.60570551


class Flat:
    """A map of the rows in two dimensions, with what it keeps of the neighbours in all columns and of the labels."""

    def __init__(
        self, name: str, scores: Any, axes: tuple[str, str], near: np.ndarray, codes: np.ndarray | None
    ) -> None:
        self.name, self.axes = name, axes
        #: The positions of the rows, of shape (rows, 2).
        self.scores = np.asarray(scores)
        found = nearest(scores)
        #: For each row, the share of its nearest neighbours in all columns that are also among the nearest on the map.
        self.kept = np.array([len(np.intersect1d(a, b)) for a, b in zip(near, found, strict=True)]) / found.shape[1]
        #: For each row with a label, whether most of its nearest neighbours on the map have that label, and whether the
        #: nearest mean of a group is that of its own group; None without labels.
        self.by_neighbours: Any = None if codes is None else right_by_neighbours(found, codes)
        self.by_means: Any = None if codes is None else right_by_means(scores, codes)


class Sources:
    """The sources S of ICA beside the principal components of the same rows: how far from Gaussian both are.

    `left_out` are the sources of rows that were left out of the fit.
    """

    def __init__(self, S: np.ndarray, components: np.ndarray, left_out: np.ndarray) -> None:
        #: The excess kurtosis of each source and of each principal component, those of largest magnitude first.
        self.kurtosis, self.of_components = (
            values[np.argsort(-np.abs(values), kind="stable")] for values in (_kurtosis(S), _kurtosis(components))
        )
        usual = from_gaussian(_standardized(components))
        # Components were not chosen by this measure, so their own rows may decide on its sign; not so those of sources.
        sides = np.sign(usual.mean(axis=0)), np.sign(from_gaussian(_standardized(S)).mean(axis=0))
        per_row = [(usual * sides[0]).mean(axis=1), (from_gaussian(left_out) * sides[1]).mean(axis=1)]
        #: How far from Gaussian the components are, and the sources of rows left out: means of `from_gaussian`.
        self.baseline, self.held_out = (float(values.mean()) for values in per_row)
        gain = per_row[1] - per_row[0]
        spread = float(gain.std(ddof=1)) / math.sqrt(len(gain))
        #: The difference of the two in its standard errors.
        self.certainty = float(gain.mean()) / spread if spread > 0 else 0.0
        #: Whether the sources are less Gaussian than the components in rows left out, beyond chance.
        self.matter = self.certainty >= _CERTAIN and self.held_out >= _LESS_GAUSSIAN * self.baseline


class Beyond:
    """Three maps of the same rows. With n rows and p columns, this takes a few n x n matrices, and the times of the
    three fits, of the search for a width, and of five fits of ICA."""

    def __init__(self, X: np.ndarray, numbers: np.ndarray, codes: np.ndarray | None, k: int, seed: int) -> None:
        n, p = X.shape
        #: The numbers of the rows.
        self.numbers = numbers
        # In units of the largest distance from the mean, no square is lost; neither are digits of rows far from zero.
        X = X - X.mean(axis=0)
        unit = float(np.abs(X).max())
        X = X / unit
        near = nearest(X)
        self.pca = Flat("PCA", PCA(2).fit_transform(X) * unit, ("PC1", "PC2"), near, codes)
        choice = choose_width(X, 2, random_state=seed)
        #: The kernel of kernel PCA, as text.
        self.width = str(choice.kernel.widened(unit))
        scores = KernelPCA(2, kernel=choice.kernel).fit_transform(X)
        self.kernel = Flat("kernel PCA", scores, ("kernel PC1", "kernel PC2"), near, codes)
        self.maps = [self.pca, self.kernel]
        #: The sources of ICA; None if it found none.
        self.sources: Sources | None = None
        independent = _sources(X, min(max(k, 2), MOST_SOURCES, p, max(2, n // 20)), seed)
        if independent is not None:
            S, self.sources = independent
            order = np.argsort(-np.abs(_kurtosis(S)), kind="stable")[:2]
            self.maps.append(Flat("ICA", S[:, order], (f"IC{order[0] + 1}", f"IC{order[1] + 1}"), near, codes))
        #: Shares of right labels by the nearest neighbours in all columns, and by always taking the most frequent
        #: label.
        self.right_in_all: float | None = None
        self.right_by_chance: float | None = None
        if codes is not None:
            counts = np.bincount(codes[codes >= 0])
            self.right_in_all = float(right_by_neighbours(near, codes).mean())
            self.right_by_chance = float(counts.max() / counts.sum())


def beyond(X: np.ndarray, numbers: np.ndarray, codes: np.ndarray | None, k: int, seed: int) -> Beyond | None:
    """The maps of rows that are complete and in the units in which they are compared; None if there are too few.

    `codes` are the labels of the rows, -1 for none, and k the number of components of the report.
    """
    enough = len(X) >= FEWEST_ROWS and len(np.unique(X, axis=0)) >= FEWEST_ROWS
    return Beyond(X, numbers, codes, k, seed) if enough else None


def nearest(Z: np.ndarray) -> np.ndarray:
    """The numbers of the nearest other rows of each row, of shape (rows, NEIGHBOURS)."""
    count = min(NEIGHBOURS, len(Z) - 1)
    if Z.shape[1] <= 3:
        _, found = cKDTree(Z).query(Z, count + 1)
    else:
        squares = (Z**2).sum(axis=1)
        found = np.argsort(squares[:, None] + squares - 2.0 * (Z @ Z.T), axis=1, kind="stable")[:, : count + 1]
    # Of several equal rows, the row itself need not be the first.
    own = np.arange(len(Z))[:, None]
    rest = np.argsort(found == own, axis=1, kind="stable")[:, :count]
    return np.asarray(np.take_along_axis(found, rest, axis=1))


def right_by_neighbours(near: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """For each row with a label, whether it is the most frequent label of its neighbours; 1 / t if t labels tie."""
    levels = int(codes.max()) + 1
    votes = np.stack([(codes[near] == level).sum(axis=1) for level in range(levels)], axis=1)
    top = votes == votes.max(axis=1, keepdims=True)
    labelled = np.flatnonzero(codes >= 0)
    return np.asarray(top[labelled, codes[labelled]] / top[labelled].sum(axis=1))


def right_by_means(Z: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """For each row with a label, whether the nearest mean of a group is that of its own group, of which the row itself
    is no part. Distances are in the covariance within the groups, so that the units of the axes do not matter.

    This is right for all rows if straight lines separate the groups well.
    """
    labelled = np.flatnonzero(codes >= 0)
    Z, codes = Z[labelled], codes[labelled]
    member = codes[:, None] == np.arange(codes.max() + 1)
    sizes = member.sum(axis=0)
    means = member.T.astype(float) @ Z / np.maximum(sizes, 1)[:, None]
    within = Z - means[codes]
    metric = np.linalg.pinv(within.T @ within / len(Z))
    away = Z[:, None, :] - means
    # Without the row itself, the mean of its group is farther away by n / (n - 1).
    with np.errstate(divide="ignore", invalid="ignore"):
        away = np.where(member[:, :, None], away * (sizes / (sizes - 1.0))[:, None], away)
    distances = np.einsum("ngi,ij,ngj->ng", away, metric, away)
    distances = np.where((sizes == 0) | np.isnan(distances), np.inf, distances)
    return (np.argmin(distances, axis=1) == codes).astype(float)


def _sources(X: np.ndarray, m: int, seed: int) -> tuple[np.ndarray, Sources] | None:
    """The sources of ICA with m components, judged by rows left out; None if there are fewer than two."""
    ica = _ica(X, m, seed)
    if ica is None or ica.n_components_ < 2:
        return None
    m = int(ica.n_components_)
    S, components = np.asarray(ica.transform(X)), np.asarray(PCA(m).fit_transform(X))
    left_out = np.empty_like(S)
    for train, test in KFold(FOLDS, shuffle=True, random_state=seed).split(X):
        part = _ica(X[train], m, seed)
        if part is None or part.n_components_ < m:
            return None
        inside, outside = np.asarray(part.transform(X[train])), np.asarray(part.transform(X[test]))
        outside = (outside - inside.mean(axis=0)) / inside.std(axis=0)
        # Sources have no order: each is compared with the source of all rows that it is most like.
        alike = np.abs(_standardized(S[train]).T @ _standardized(inside))
        left_out[test] = outside[:, linear_sum_assignment(-alike)[1]]
    return S, Sources(S, components, left_out)


def _ica(X: np.ndarray, m: int, seed: int) -> Any:
    """ICA with m sources; None if the rows have too little variance for them."""
    try:
        return ICA(m, n_init=1, random_state=seed).fit(X)
    except ValueError:
        return None


def _standardized(Z: np.ndarray) -> np.ndarray:
    deviation = Z.std(axis=0)
    return (Z - Z.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)


def from_gaussian(Z: np.ndarray) -> np.ndarray:
    """g(z) = ln cosh z - E ln cosh u - E (tanh u)' (z^2 - 1) / 2 for a standard Gaussian u.

    Its mean over rows is zero for a Gaussian, negative for heavy tails and positive for light ones. The last term makes
    it insensitive to the deviation of z, which is known from other rows only, and takes away most of its variance.
    """
    size = np.abs(Z)
    ln_cosh = size + np.log1p(np.exp(-2.0 * size)) - math.log(2.0)
    return np.asarray(ln_cosh - LN_COSH - SLOPE * (Z**2 - 1.0) / 2.0)


def _kurtosis(Z: np.ndarray) -> np.ndarray:
    """The excess kurtosis of each column."""
    centred = Z - Z.mean(axis=0)
    squares = (centred**2).mean(axis=0)
    return np.asarray((centred**4).mean(axis=0) / np.where(squares > 0, squares, 1.0) ** 2 - 3.0)


# The section.


#: A difference counts from so many standard errors on, if it is at least so large.
_CERTAIN, _LARGE = 3.0, 0.03
#: A gain from here on is said at the top of the page.
_WORTH_SAYING = 0.1
#: The sources of ICA count as less Gaussian than the components if they are so many times as far from Gaussian.
_LESS_GAUSSIAN = 1.15
#: The largest number of groups whose colours can be told apart.
_COLOURED = 12


def section(a: Analysis) -> Section | None:
    """The section; None if there are too few rows."""
    found = a.beyond
    if found is None:
        return None
    gains = {flat.name: _gains(found, flat) for flat in found.maps[1:]}
    blocks: list[Block] = [Prose(_conclusion(a, found, gains)), _maps(a, found), Listing(_measures(a, found))]
    blocks += prose(_kernel_said(a, found), _sources_said(found.sources))
    n = len(found.numbers)
    some = f" This section is about a random sample of {n:,} rows." if n < a.n else ""
    lead = (
        "PCA places rows by weighted sums of the columns: a flat view. Kernel PCA bends the view to bring out groups "
        "that no flat view separates, and ICA turns it to directions along which the rows are least like a Gaussian "
        f"cloud, such as single causes that were mixed. Here both are held against PCA, with the same rows.{some}"
    )
    more = gains["kernel PCA"].get("groups", 0.0)
    said = f"A curved map, that of kernel PCA, sets the groups apart for {share(more)} more of the rows than PCA's map."
    return Section("beyond", "Beyond straight lines", lead, blocks, said if more >= _WORTH_SAYING else "")


def _difference(one: np.ndarray, other: np.ndarray) -> tuple[float, bool]:
    """The mean difference of two measures of the same rows, and whether it is certain and large enough to matter."""
    gain = one - other
    mean, spread = float(gain.mean()), float(gain.std(ddof=1)) / math.sqrt(len(gain))
    return mean, abs(mean) >= _LARGE and abs(mean) >= _CERTAIN * spread


def _gains(b: Beyond, flat: Flat) -> dict[str, float]:
    """What a map gains over PCA's, as far as that is certain: neighbours and groups; losses are negative."""
    found = {"neighbours": _difference(flat.kept, b.pca.kept)}
    if flat.by_means is not None:
        found["groups"] = _difference(flat.by_means, b.pca.by_means)
    return {name: mean for name, (mean, certain) in found.items() if certain}


def _conclusion(a: Analysis, b: Beyond, gains: dict[str, dict[str, float]]) -> str:
    """What to do, in a few sentences: what each map does better than PCA's, and what less well."""
    words = {"neighbours": ("keeps more neighbours", "keeps fewer neighbours")}
    if a.compared is not None:
        groups = f"the {a.compared.title}"
        words["groups"] = (f"sets {groups} apart better", f"sets {groups} apart less well")
    sources = b.sources is not None and b.sources.matter
    parts = []
    for name, of_map in gains.items():
        ahead = [words[what][0] for what, gain in of_map.items() if gain > 0]
        behind = [words[what][1] for what, gain in of_map.items() if gain < 0]
        if ahead:
            compared = " but ".join(" and ".join(part) for part in (ahead, behind) if part)
            parts.append(f"In two dimensions, {name} {compared} than PCA does.")
    if not parts and not sources:
        return "A straight-line map shows as much as the others: keep PCA."
    if not parts:
        parts.append("As a map, PCA shows as much as the others.")
    if sources:
        parts.append(
            "The sources of ICA are farther from Gaussian than chance explains, so they may be separate causes."
        )
    return " ".join(parts)


def _kernel_said(a: Analysis, b: Beyond) -> str:
    """What kernel PCA keeps beside PCA, in numbers."""
    neighbours = (
        f"Of the {NEIGHBOURS} nearest neighbours of a row in all columns, PCA's map keeps {share(b.pca.kept.mean())} "
        f"and kernel PCA's {share(b.kernel.kept.mean())}"
    )
    neighbours += _verdict(*_difference(b.kernel.kept, b.pca.kept))
    if b.kernel.by_means is None or a.compared is None:
        return neighbours
    group = a.compared.name
    return (
        f"{neighbours} Straight lines on the map, which assign each row to the nearest mean of a group by {group}, are "
        f"right for {share(b.pca.by_means.mean())} of the rows with PCA and {share(b.kernel.by_means.mean())} with "
        f"kernel PCA{_verdict(*_difference(b.kernel.by_means, b.pca.by_means))}"
    )


def _verdict(mean: float, certain: bool) -> str:
    if abs(mean) < _LARGE:
        return ", which is about the same."
    if not certain:
        return "; the difference is below three standard errors, and may be chance."
    return ", which is more." if mean > 0 else ", which is less."


def _sources_said(s: Sources | None) -> str:
    """How far from Gaussian the sources are, and whether that is more than chance."""
    if s is None:
        return ""
    first, usual = (
        listed([f"{'+' if value > 0 else ''}{number(value, 2)}" for value in values[:2]])
        for values in (s.kurtosis, s.of_components)
    )
    text = (
        f"ICA with {count(len(s.kurtosis), 'source')}: the two farthest from Gaussian have the excess kurtosis {first};"
        f" of the principal components it is {usual}. (It is 0 for a Gaussian, positive for heavy tails or a few rows "
        "far out, and negative where rows form two clusters or spread evenly.)"
    )
    if s.matter:
        return (
            f"{text} In rows left out, the sources are clearly less Gaussian than the components, so this is more than "
            "a fit to chance."
        )
    return f"{text} In rows left out, the sources are not clearly less Gaussian than the principal components."


def _measures(a: Analysis, b: Beyond) -> Table:
    """What each map keeps."""
    columns: dict[str, Any] = {"neighbours kept": [float(flat.kept.mean()) for flat in b.maps]}
    notes = [f"Kernel PCA has the kernel {b.width}, whose width was chosen without the labels."]
    if a.compared is not None and b.right_in_all is not None and b.right_by_chance is not None:
        columns["right by means"] = [float(flat.by_means.mean()) for flat in b.maps]
        columns["right by neighbours"] = [float(flat.by_neighbours.mean()) for flat in b.maps]
        notes.append(
            f"Right: the share of rows whose group by {a.compared.name} is that of the nearest mean, or of most of "
            f"the {NEIGHBOURS} nearest rows, on the map. By the nearest rows in all columns {share(b.right_in_all)} "
            f"are right, and always guessing the most frequent group {share(b.right_by_chance)}."
        )
    title = f"Maps of two dimensions, {count(len(b.numbers), 'row')}"
    return Table(columns, [flat.name for flat in b.maps], title=title, notes=notes, row_name="map")


def _maps(a: Analysis, b: Beyond) -> Chart:
    """The maps beside each other, with the same rows in the same colours."""
    maps = b.maps
    group = a.compared if a.compared is not None and len(a.compared.levels) <= _COLOURED else None
    hover = [a.row_name(int(i)) for i in b.numbers]
    colours = () if group is None else (group.codes[b.numbers], group.levels)
    data: list[dict[str, Any]] = []
    layout: dict[str, Any] = {}
    titles: list[dict[str, Any]] = []
    for i, flat in enumerate(maps):
        x, y = flat.scores.T
        end = "" if i == 0 else str(i + 1)
        for trace in points(x, y, hover, *colours, xaxis=f"x{end}", yaxis=f"y{end}"):
            data.append({**trace, "showlegend": group is not None and i == 0})
        layout[f"xaxis{end}"] = axis(plain(flat.axes[0]), zeroline=False)
        layout[f"yaxis{end}"] = axis(plain(flat.axes[1]), zeroline=False)
        place: Any = {"xref": f"x{end} domain", "yref": f"y{end} domain", "xanchor": "center", "yanchor": "bottom"}
        titles.append(heading(flat.name, 0.5, 1.0, showarrow=False, **place))
    # On a narrow page, the script of the charts puts the maps one below the other.
    layout["grid"] = {"rows": 1, "columns": len(maps), "pattern": "independent", "xgap": 0.28}
    legend = {"orientation": "h", "x": 0, "y": 0, "yref": "container", "yanchor": "bottom"}
    layout |= {"annotations": titles, "legend": legend, "margin": {"b": 110}}
    rows = {f"{flat.name} {name}": flat.scores[:, j] for flat in maps for j, name in enumerate(flat.axes)}
    of_ica = "The axes of ICA are its two sources farthest from Gaussian." if b.sources else ""
    coloured = f" Colours are by {group.name}." if group is not None else ""
    return Chart(
        key="beyond-maps",
        title="The same rows on three maps" if len(maps) == 3 else "The same rows on two maps",
        alt=f"Scatter plots of {count(len(b.numbers), 'row')} by {listed([flat.name for flat in maps])}.",
        data=data,
        layout=layout,
        table=Table(rows, hover, title="Positions on the maps", row_name="row").head(300),
        height=470,
        caption=f"{of_ica}{coloured}".strip(),
    )
