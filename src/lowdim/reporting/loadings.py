"""What each component means: the columns and the rows at both of its ends, as bars, curves, pictures and arrows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special
from sklearn.base import clone

from ..inspect.tables import has_loadings, has_scores, loadings, structure
from ..models.auto_encoder import AutoEncoder
from ..models.factor_analysis import FactorAnalysis
from ..models.feature_map_pca import FeatureMapPCA
from ..models.kernel_pca import KernelPCA
from ..models.pca import PCA
from ..selection.bootstrapping import Bootstrap, bootstrap, bootstrap_pieces, summed_pieces
from ..sources.base import Source
from ..summaries.moments import Moments
from ..table import Table
from .blocks import Chart, Listing, Menu, Section, brief, count, listed, number, prose, share
from .charts import COLORS, GREY, axes, axis, bar, color, error_bars, heading, heatmap, plain, scatter, symbol
from .factors import is_oblique
from .map import largest
from .passes import floats

if TYPE_CHECKING:
    from .analysis import Analysis


# What the columns have to do with each component: loadings with bootstrap intervals, correlations, and how well the
# direction of each component is determined.


#: The number of bootstrap samples; fewer if the smaller one of rows and columns is above the second number, but not
#: fewer than the third.
_DRAWS, _SMALL, _FEWEST = 200, 200, 25
#: Above this many rows and columns there is no bootstrap: its samples would take far longer than all other fits.
MOST_BOTH = 1000


class Meaning:
    """The columns (first axis) and the first components (second axis).

    A loading of PCA is w_jk sqrt(lambda_k): the correlation of column j with component k if columns are standardized,
    and otherwise this correlation times the deviation of the column. Of any other model it is that of the model, or
    else the correlation of the column with the scores of the rows that were chosen for the map.
    """

    def __init__(self, a: Analysis) -> None:
        model, k = a.mapped, a.n_explained
        self.names = list(model.component_names_[:k])
        #: The bootstrap interval that holds 95% of the replicates of each loading; None without a bootstrap.
        self.low: Any = None
        self.high: Any = None
        #: The median angle, in degrees, between a component and that of a bootstrap sample.
        self.turns: Any = None
        #: The component, among those after the first ones as well, with which the bootstrap samples mix each one most.
        self.mixes_with: Any = None
        self.n_boot = 0
        #: The probability of so different variances of each component and the next one if they were equal; see
        #: `equal_variances`. Empty for models other than PCA.
        self.equal_to_next = np.zeros(0)
        #: Loadings, and whether they are correlations of columns with components. If not, they tell by how much a
        #: column is larger where the component is larger by one standard deviation; `caption` says in which units.
        units = "in its standard deviations" if a.standardize else "in its own units"
        self.caption = (
            f"By how much each column is larger, {units}, where the component is larger by one standard deviation."
        )
        if isinstance(model, PCA):
            self.loadings, self.are_correlations = floats(model.loadings_)[:, :k], a.standardize
            deviations = np.ones(a.p) if a.standardize else a.units
            self.correlations = np.clip(self.loadings / deviations[:, None], -1.0, 1.0)
            if a.standardize:
                self.caption = "The correlation of each column with the component."
            self.equal_to_next = equal_variances(floats(model.explained_variance_)[: k + 1], float(model.total_weight_))
            if a.image_shape is None:
                self._draw(bootstrapped(model, min(k + 2, a.rank), a.rows, a.pieces, a.opened.weights, a.seed))
        elif isinstance(model, FactorAnalysis):
            # Correlations with estimated scores would be others.
            self.loadings, self.correlations = loadings(model).values[:, :k], structure(model).values[:, :k]
            self.are_correlations = False
            others = " and the other factors stay as they are" if is_oblique(model) else ""
            self.caption = (
                f"By how much each column is larger, {units}, where the factor is larger by one standard deviation"
                f"{others}. The section on the factors has communalities and the fit."
            )
        else:
            rows = a.second.rows.take(np.flatnonzero(a.second.chosen))
            self.correlations = _unit(rows.entries).T @ _unit(rows.scores[:, :k])
            self.are_correlations = not has_loadings(model) or len(model._widths()) != 1
            self.loadings = self.correlations if self.are_correlations else loadings(model).values[:, :k]
            if self.are_correlations:
                self.caption = "The correlation of each column with the scores of the rows on the component."
        #: The share of the variance of each component; None if the model does not know it.
        shares = getattr(model, "explained_variance_ratio_", None) if has_scores(model) else None
        self.shares = None if shares is None else floats(shares)[:k]
        #: The share of each column in each component: squared loadings that add up to one.
        squares = self.loadings**2
        total = squares.sum(axis=0)
        self.weights = squares / np.where(total > 0, total, 1.0)
        #: Whether the interval of a loading holds zero: then even its sign is uncertain.
        self.uncertain = np.zeros(self.loadings.shape, dtype=bool)
        if self.low is not None:
            self.uncertain = (self.low <= 0) & (self.high >= 0)

    def _draw(self, draws: Bootstrap | None) -> None:
        """Intervals and angles. Loadings are orthogonal vectors. With u_k those of all rows and v_k those of a sample,
        both of unit length, the angle is arccos |u_k v_k|, and the share of component l in the direction v_k is
        (u_l v_k)^2."""
        if draws is None:
            return
        k, whole, samples = len(self.names), draws.estimates["loadings"], draws.replicates["loadings"]
        self.low, self.high = draws.interval("loadings")[:, :, :k]
        self.n_boot = len(samples)
        products = np.einsum("jl,bjk->blk", _of_unit_length(whole), _of_unit_length(samples))
        cosines = np.abs(np.einsum("bkk->bk", products))
        shares = (products**2).mean(axis=0)
        np.fill_diagonal(shares, -1.0)
        self.turns = np.degrees(np.arccos(np.clip(np.nanmedian(cosines, axis=0), 0.0, 1.0)))[:k]
        self.mixes_with = np.argmax(np.nan_to_num(shares, nan=-1.0), axis=0)[:k]


def equal_variances(values: np.ndarray, n: float) -> np.ndarray:
    """The p-values of the hypotheses that neighbouring variances l and m of components are equal.

    The likelihood ratio statistic n ln((l + m)^2 / (4 l m)) is about chi-square with 2 degrees of freedom for Gaussian
    rows [1]_. Where variances are equal, the bootstrap is overconfident: it takes the variances of the sample, which
    always differ, for the true ones.

    References
    ----------
    .. [1] Anderson (1963), Asymptotic theory for principal component analysis, sec. 3.
    """
    large, small = values[:-1], values[1:]
    known = small > 0
    # By logarithms, since products and quotients of variances may be beyond the range of numbers.
    away = np.log(large[known]) - np.log(small[known])
    statistic = np.full(len(small), np.inf)
    statistic[known] = n * np.maximum(away + 2 * np.log1p(np.exp(-away)) - np.log(4), 0.0)
    return np.asarray(special.chdtrc(2, statistic))


def bootstrapped(
    model: Any, count: int, rows: Source, pieces: list[Moments] | None, weights: Any, seed: int
) -> Bootstrap | None:
    """The bootstrap of PCA with `count` components, a few more than are described, since these might mix with others.
    None for too few rows, and for many rows and columns.

    Pieces of the rows of which the moments are known need no further pass.
    """
    n, p = rows.shape
    smaller = min(p, n or p)
    if smaller > MOST_BOTH:
        return None
    n_boot = int(np.clip(_DRAWS * (_SMALL / smaller) ** 1.5, _FEWEST, _DRAWS))
    fixed = clone(model).set_params(n_components=count)
    if pieces is not None:
        drawn = summed_pieces("block", pieces, pieces[0].fresh())
        return bootstrap_pieces(fixed, drawn, n_boot, np.random.RandomState(seed))
    if n is None or n < 10:
        return None
    return bootstrap(fixed, rows, n_boot=n_boot, sample_weight=weights, random_state=seed)


def _of_unit_length(columns: np.ndarray) -> np.ndarray:
    lengths = np.sqrt((columns**2).sum(axis=-2, keepdims=True))
    return columns / np.where(lengths > 0, lengths, 1.0)


def _unit(A: np.ndarray) -> np.ndarray:
    """Columns that are centred and of unit length."""
    return _of_unit_length(A - A.mean(axis=0))


# The section.


#: The columns that matter for a component: those of the largest weights, which together hold this share of it, without
#: those below a fraction of the largest weight.
_SHARE, _FRACTION = 0.9, 0.15
#: If more than a few columns are needed for this share of a component, none of them matters much.
_FEW, _MOST = 6, 0.7
#: The other end of such a component is described if its columns have this share of the weight.
_OTHER_END = 0.2
#: Correlations from here on count when all columns rise together.
_LEVEL = 0.25
#: The share of the variance of a component between groups from which on its ends are described by groups, and the
#: distance of a group from the mean, in deviations.
_BETWEEN, _AWAY = 0.3, 0.5
#: Median angles in degrees from which on a direction is not well determined, and from which on it is hardly determined.
_ROUGH, _LOOSE = 15.0, 30.0
#: The largest number of components of which a sentence says how far and towards which other one they turn.
_TURNED = 2
#: Variances of neighbouring components may be equal if a test of it has a larger p-value.
_EQUAL = 0.01
#: The share of the variance of a component that is due to a single row, from which on this is said.
_ONE_ROW = 0.15
#: Rows at each end, and the largest number of components as pictures.
_ENDS, _PICTURES = 3, 12
#: A sentence up to this length may stand at the top of the page.
_SHORT = 240
_PLACES = ("farthest", "second", "third")


def section(a: Analysis) -> Section | None:
    """The section; None if there are fewer than two components."""
    if a.n_mapped < 2:
        return None
    found = a.meaning
    blocks = prose(*(in_words(a, k) for k in range(len(found.names))), _determined(a))
    if a.image_shape is not None and hasattr(a.mapped, "components_"):
        blocks.append(_pictures(a, min(_PICTURES, len(a.mapped.component_names_))))
    else:
        draw = _curve if a.is_curve else _bars
        what = "Correlations of the columns with" if found.are_correlations and a.mapped is a.model else "Loadings on"
        charts = {a.component_title(k): draw(a, k, f"{what} {name}") for k, name in enumerate(found.names)}
        blocks.append(Menu("loadings", "Component", charts))
        blocks += [_biplot(a), _circle(a)]
    blocks.append(Listing(_ends(a), shown=2 * a.n_explained))
    thing = "columns" if a.image_shape is None else "pixels"
    what = f"Each component is a weighted sum of the {thing}."
    if isinstance(a.mapped, FactorAnalysis):
        what = f"The factors are not observed: each of the {thing} is a weighted sum of them, and of a part of its own."
    elif isinstance(a.mapped, KernelPCA | FeatureMapPCA | AutoEncoder):
        what = f"The components are functions of the {thing}, and need not be weighted sums of them."
    signs = "loadings" if not found.are_correlations or isinstance(a.mapped, PCA) else "correlations"
    lead = (
        f"{what} Rows at the high end of one are large in the {thing} with positive {signs} and small in those with "
        "negative ones; rows at the low end are the opposite. Which end is high is a convention."
    )
    first = in_words(a, 0)
    return Section("meaning", "What each component means", lead, blocks, first if len(first) <= _SHORT else "")


def in_words(a: Analysis, k: int) -> str:
    """A component in one line: its columns, its groups, and a row that it depends on; empty if there is nothing to say.

    Pixels have no names that mean anything: the components of pictures are shown as pictures.
    """
    columns = "" if a.image_shape is not None else _columns(a, k)
    parts = [part for part in (columns, _groups(a, k), _one_row(a, k)) if part]
    return f"{a.component_title(k)} {'; it '.join(parts)}." if parts else ""


def _columns(a: Analysis, k: int) -> str:
    """What a component does with the columns: a phrase that follows its name."""
    found = a.meaning
    values, weights = found.loadings[:, k], found.weights[:, k]
    if a.is_curve:
        high, low = int(np.argmax(values)), int(np.argmin(values))
        turns = [f"rises most at {brief(a.names[high])}"] if values[high] > 0 else []
        turns += [f"falls most at {brief(a.names[low])}"] if values[low] < 0 else []
        return " and ".join(turns)
    correlations, uncertain = found.correlations[:, k], found.uncertain[:, k]
    order = np.argsort(-weights, kind="stable")
    same_sign = np.all(values > 0) or np.all(values < 0)
    if a.p >= 3 and same_sign and not uncertain.any() and np.abs(correlations).min() >= _LEVEL:
        what = f"is an overall level: all {a.p:,} columns {'rise' if values[0] > 0 else 'fall'} with it"
        return what if a.p <= 3 else f"{what}, most of all {listed(a.brief_names(order[:3]))}"
    sums = np.cumsum(weights[order])
    if np.searchsorted(sums, _MOST) + 1 > _FEW:
        half = int(np.searchsorted(sums, 0.5)) + 1
        some = f"has half of its weight on {half:,} columns and the rest on many"
        many = f"is spread over many columns (half of its weight lies on {half:,} of them)"
        return f"{some if half <= _FEW else many}; it {_ends_of_columns(a, k, _of_both_signs(values, weights, order))}"
    main = order[: int(np.searchsorted(sums, _SHARE)) + 1]
    main = main[weights[main] >= _FRACTION * weights[main[0]]]
    text = _ends_of_columns(a, k, main)
    doubtful = a.brief_names(main[uncertain[main]])
    if doubtful:
        text += f"; the sign of {listed(doubtful)} is uncertain"
    return text


def _of_both_signs(values: np.ndarray, weights: np.ndarray, order: np.ndarray) -> np.ndarray:
    """A few columns of the largest weights; if both signs have a good part of the weight, the same number of each."""
    rising = values[order] > 0
    if min(weights[values > 0].sum(), weights[values <= 0].sum()) < _OTHER_END:
        return order[:_FEW]
    return np.concatenate([order[rising][: _FEW // 2], order[~rising][: _FEW // 2]])


def _ends_of_columns(a: Analysis, k: int, columns: np.ndarray) -> str:
    """ "rises with A and B", or "contrasts A and B with C"."""
    values = a.meaning.loadings[columns, k]
    rising, falling = (a.brief_names(columns[some]) for some in (values > 0, values <= 0))
    together = " together" if len(columns) > 1 else ""
    if not falling:
        return f"rises with {listed(rising, _FEW)}{together}"
    if not rising:
        return f"falls with {listed(falling, _FEW)}{together}"
    return f"contrasts {listed(rising, _FEW)} (at its high end) with {listed(falling, _FEW)} (at its low end)"


def _groups(a: Analysis, k: int) -> str:
    """For which groups a component is large and for which it is small."""
    spread = a.second.spread
    if spread.covariance is None or not spread.covariance[k, k] > 0:
        return ""
    for g, group in enumerate(a.groupings):
        if a.second.between(g)[k] < _BETWEEN:
            continue
        means = {
            brief(group.levels[i]): (part.mean[k] - spread.mean[k]) / np.sqrt(spread.covariance[k, k])
            for i, part in enumerate(a.second.groups[g])
            if part.mean is not None and part.rows >= 3
        }
        order = sorted(means, key=lambda level: -means[level])
        large = [level for level in order if means[level] >= max(_AWAY, means[order[0]] / 2)]
        small = [level for level in order[::-1] if means[level] <= min(-_AWAY, means[order[-1]] / 2)]
        ends = [f"large for {listed(large, 3)}"] if large else []
        ends += [f"small for {listed(small, 3)}"] if small else []
        if ends:
            return f"is {' and '.join(ends)}"
    return ""


def _one_row(a: Analysis, k: int) -> str:
    """Whether a large part of the variance of a component is due to a single row."""
    rows, spread = a.second.rows, a.second.spread
    if spread.covariance is None or a.opened.weights is not None:
        return ""
    squares = (rows.scores[:, k] - spread.mean[k]) ** 2
    far = int(largest(squares, 1, rows.numbers)[0])
    total = (spread.weight - 1) * spread.covariance[k, k]
    part = squares[far] / total if total > 0 else 0.0
    # Of a few rows, each has a large part.
    if part < max(_ONE_ROW, 8 / a.second.n):
        return ""
    return f"owes {share(part)} of its variance to a single row, {a.called(rows.numbers[far])}"


def _determined(a: Analysis) -> Iterator[str]:
    """How well the directions of the components are determined."""
    found = a.meaning
    if found.turns is None:
        return
    names = a.mapped.component_names_
    ties = [k for k in np.flatnonzero(found.equal_to_next > _EQUAL) if k + 1 < len(names)]
    tied = np.isin(np.arange(len(found.names)), [*ties, *(k + 1 for k in ties)])
    for some, how in (
        ((found.turns < _ROUGH) & ~tied, "well determined"),
        ((found.turns >= _ROUGH) & (found.turns < _LOOSE), "only roughly determined"),
        (found.turns >= _LOOSE, "hardly determined"),
    ):
        which = np.flatnonzero(some)
        if len(which) == 0:
            continue
        one, of_these = len(which) == 1, listed([found.names[k] for k in which], 10)
        start = f"The direction{'' if one else 's'} of {of_these} {'is' if one else 'are'} {how}: a typical"
        if how == "well determined":
            most = float(found.turns[which].max())
            angle = "less than 1 degree" if most < 1 else f"about {count(round(most), 'degree')} or less"
            yield f"{start} bootstrap sample turns {'it' if one else 'them'} by {angle}."
        else:
            turned = [
                f"{'it' if one else found.names[k]} by about {found.turns[k]:.0f} degrees, mostly towards "
                f"PC{found.mixes_with[k] + 1}"
                for k in which[:_TURNED]
            ]
            yield f"{start} sample turns {', and '.join(turned)}."
    if ties:
        pairs = listed([f"{names[k]} with {names[k + 1]}" for k in ties], 4)
        yield (
            f"Some variances are so similar that they may be equal ({pairs}); the two directions within the plane of "
            "such a pair may then be chance."
        )


def _ends(a: Analysis) -> Table:
    """The rows at both ends of each component, with their scores."""
    rows = a.second.rows
    size = min(_ENDS, len(rows))
    columns: dict[str, list[str]] = {"end": [], **{place: [] for place in _PLACES[:size]}}
    labels = []
    for k in range(a.n_explained):
        scores = rows.scores[:, k]
        for end, sign in (("high", 1.0), ("low", -1.0)):
            labels.append(a.component_title(k))
            columns["end"].append(end)
            for place, i in zip(_PLACES, largest(sign * scores, size, rows.numbers), strict=False):
                columns[place].append(f"{a.called(rows.numbers[i])}: {number(scores[i])}")
    return Table(columns, labels, title="The rows at both ends of each component", row_name="component")


# Loadings of the columns as bars, as curves and as pictures.


#: Of each sign, this many columns are shown as bars.
_BARS = 20
#: The colours of loadings from negative to positive; zero has the colour of the background, more or less.
_DIVERGING = [[0.0, COLORS[1]], [0.5, "rgba(128, 128, 128, 0.12)"], [1.0, COLORS[0]]]


def _bars(a: Analysis, k: int, title: str) -> Chart:
    """The largest loadings on a component as bars, sorted, with their intervals."""
    found = a.meaning
    values, name = found.loadings[:, k], found.names[k]
    order = np.argsort(-values, kind="stable")
    if a.p > 2 * _BARS:
        order = np.concatenate([order[values[order] > 0][:_BARS], order[values[order] <= 0][-_BARS:]])
    sizes, places = values[order], np.arange(len(order))[::-1]
    text = [plain(a.names[j], 80) for j in order]
    trace = bar("%{text}: %{x:.3g}", orientation="h", x=sizes, y=places, text=text, textposition="none")
    trace["marker"] = {
        "color": [color(0) if value > 0 else color(1) for value in sizes],
        "opacity": np.where(found.uncertain[order, k], 0.4, 1.0),
    }
    caption = found.caption
    if found.low is not None:
        above = np.maximum(found.high[order, k] - sizes, 0.0)
        below = np.maximum(sizes - found.low[order, k], 0.0)
        trace["error_x"] = error_bars(above, below, thickness=1.2, width=3, color="#888888")
        caption += (
            f" Lines are intervals that hold 95% of {found.n_boot} bootstrap samples; pale bars are those whose "
            "interval holds zero."
        )
    elif min(a.n, a.p) > MOST_BOTH:
        caption += " There are no intervals, since bootstrap samples of so many rows and columns would take too long."
    if len(order) < a.p:
        caption += f" {count(a.p - len(order), 'column')} with smaller loadings are not shown."
    marks = {"tickvals": places, "ticktext": [plain(a.names[j], 28) for j in order]}
    of_loadings = axis(f"{'correlation with' if found.are_correlations else 'loading on'} {name}", zeroline=True)
    of_columns = {**marks, "range": [-0.6, len(order) - 0.4], "automargin": True, "showgrid": False}
    return Chart(
        key=f"loadings-{k + 1}",
        title=title,
        alt=f"A bar chart of the loadings of {count(len(order), 'column')} on {name}, sorted.",
        data=[trace],
        layout=axes(of_loadings, of_columns, bargap=0.25, showlegend=False),
        table=_loading_table(a, k, order),
        height=int(np.clip(110 + 24 * len(order), 200, 1100)),
        caption=caption,
    )


def _curve(a: Analysis, k: int, title: str) -> Chart:
    """The loadings on a component along the points of a curve, with their intervals."""
    found = a.meaning
    at, name = np.arange(a.p), found.names[k]
    data: list[dict[str, Any]] = []
    if found.low is not None:
        x, y = np.concatenate([at, at[::-1]]), np.concatenate([found.low[:, k], found.high[::-1, k]])
        band: Any = {"fill": "toself", "width": 0, "fillcolor": "rgba(59, 125, 216, 0.25)", "hoverinfo": "skip"}
        data.append(scatter("lines", x=x, y=y, **band))
    columns = [plain(column, 80) for column in a.names]
    data.append(scatter("lines", "%{text}: %{y:.3g}", 0, x=at, y=found.loadings[:, k], width=1.8, text=columns))
    ticks = np.unique(np.linspace(0, a.p - 1, 8).astype(int))
    of_columns = axis("column", tickvals=ticks, ticktext=[plain(a.names[j], 16) for j in ticks])
    return Chart(
        key=f"loadings-{k + 1}",
        title=title,
        alt=f"A curve of the loadings of {count(a.p, 'column')} on {name}, in the order of the columns.",
        data=data,
        layout=axes(of_columns, axis(f"loading on {name}", zeroline=True), showlegend=False),
        table=_loading_table(a, k, at),
        caption="" if found.low is None else f"The band holds 95% of {found.n_boot} bootstrap samples.",
    )


def _pictures(a: Analysis, n: int) -> Chart:
    """The first components as pictures."""
    shape, model = a.image_shape, a.mapped
    assert shape is not None
    height, width = shape[:2]
    W = np.zeros((n, len(a.opened.names)))
    W[:, a.used] = floats(model.components_[:n])
    # Of colours, the mean is shown.
    images = W.reshape(n, height, width, -1).mean(axis=3)
    across = min(4, n)
    down = -(-n // across)
    data: list[dict[str, Any]] = []
    titles: list[dict[str, Any]] = []
    layout: dict[str, Any] = {"annotations": titles, "showlegend": False}
    for k, image in enumerate(images):
        i, j = divmod(k, across)
        end = "" if k == 0 else str(k + 1)
        place: Any = {"xaxis": f"x{end}", "yaxis": f"y{end}", "zmid": 0.0, "showscale": False}
        data.append(heatmap("%{z:.3f}", image[::-1], _DIVERGING, **place))
        left, right = (j + 0.04) / across, (j + 0.96) / across
        bottom, top = 1 - (i + 0.97) / down, 1 - (i + 0.12) / down
        hidden = {"visible": False, "fixedrange": True}
        layout[f"xaxis{end}"] = {"domain": [left, right], "anchor": f"y{end}", **hidden, "constrain": "domain"}
        alike = {"anchor": f"x{end}", "scaleanchor": f"x{end}", "constrain": "domain"}
        layout[f"yaxis{end}"] = {"domain": [bottom, top], **alike, **hidden}
        look: Any = {"xanchor": "center", "yanchor": "bottom", "showarrow": False, "font": {"size": 12}}
        titles.append(heading(a.component_title(k), (left + right) / 2, top, **look))
    names = model.component_names_
    return Chart(
        key="component-pictures",
        title=f"The first {n} components as pictures",
        alt=f"The components {names[0]} to {names[n - 1]} as pictures of {height} by {width} pixels.",
        data=data,
        layout=layout,
        table=Table.from_matrix(
            W.T, names[:n], a.opened.names, title="Weights of the pixels in the components", row_name="pixel"
        ),
        height=60 + 210 * down,
        caption="Where a picture is blue, pixels are larger in rows at the high end of the component; where it is "
        "orange, they are smaller.",
    )


def _loading_table(a: Analysis, k: int, order: np.ndarray) -> Table:
    """The loadings on a component with their intervals, as a table."""
    found = a.meaning
    columns: dict[str, Any] = {"loading": found.loadings[order, k]}
    if found.low is not None:
        columns |= {"low": found.low[order, k], "high": found.high[order, k]}
    if not found.are_correlations:
        columns["correlation"] = found.correlations[order, k]
    return a.column_table(columns, order, f"Loadings on {found.names[k]}")


# Columns as arrows: biplot and correlation circle.


#: Arrows of the biplot and of the correlation circle.
_ARROWS, _CIRCLE_ARROWS = 12, 25
#: Points of the biplot.
_POINTS = 1500
#: Arrows whose ends are nearer to each other than this fraction of the longest arrow are drawn once.
_NEAR = 0.08
#: Of a plot of common size, the pixels across it, and the pixels of a letter.
_PIXELS, _WIDE, _HIGH = 420.0, 6.3, 13.0
#: The colour of arrows.
_ARROW = COLORS[7]


def _biplot(a: Analysis) -> Chart:
    """Rows as points and columns as arrows, on the first two components.

    Points are scores in deviations. Arrows are loadings, all multiplied by one factor, so that the angle of two arrows
    tells the correlation of the columns as far as two components represent it.
    """
    names, rows, covariance = a.meaning.names, a.second.rows, a.second.spread.covariance
    drawn = np.flatnonzero(a.second.chosen)
    drawn = drawn[:: -(-len(drawn) // _POINTS)]
    deviations = np.ones(2) if covariance is None else np.sqrt(np.diagonal(covariance)[:2])
    Z = rows.scores[drawn, :2] / np.where(deviations > 0, deviations, 1.0)
    labels = [plain(a.row_name(i)) for i in rows.numbers[drawn]]
    levels = a.groupings[0].levels if a.groupings else ["rows"]
    codes = a.groupings[0].codes[rows.numbers[drawn]] if a.groupings else np.zeros(len(drawn), dtype=int)
    data: list[dict[str, Any]] = []
    for level in range(-1, len(levels)):
        members = np.flatnonzero(codes == level)
        if len(members):
            name, text = plain(levels[level]) if level >= 0 else "no label", [labels[i] for i in members]
            at = dict(zip("xy", Z[members].astype(np.float32).T, strict=True))
            look: Any = (
                {"paint": level, "symbol": symbol(level)} if level >= 0 else {"paint": GREY, "symbol": "circle-open"}
            )
            data.append(scatter("markers", "%{text}", name=name, **at, text=text, **look, size=5, opacity=0.4))
    arrows = a.meaning.loadings[:, :2]
    chosen = _chosen(arrows, _ARROWS)
    reach = 0.9 * float(np.sqrt((Z**2).sum(axis=1)).max(initial=1.0))
    longest = float(np.sqrt((arrows**2).sum(axis=1)).max(initial=0.0)) or 1.0
    x, y = (f"{a.component_title(k)}, in standard deviations" for k in (0, 1))
    return Chart(
        key="biplot",
        title=f"Biplot of {names[0]} and {names[1]}",
        alt=f"{count(len(drawn), 'row')} as points and {count(len(chosen), 'column')} as arrows.",
        data=data + _arrows(a, arrows * (reach / longest), chosen, 1.3 * reach),
        layout=axes(x, axis(y, scaleanchor="x"), showlegend=bool(a.groupings)),
        table=_arrow_table(a, arrows, chosen, "Loadings"),
        height=560,
        caption=(
            "A row has large entries in the columns whose arrows point towards it. Columns whose arrows point in the "
            "same direction rise together, as far as these two components show." + _without(a.p - len(chosen))
        ),
    )


def _circle(a: Analysis) -> Chart:
    """Correlations of the columns with the first two components, as arrows within the unit circle."""
    names, arrows = a.meaning.names, a.meaning.correlations[:, :2]
    chosen = _chosen(arrows, _CIRCLE_ARROWS)
    x, y = (axis(f"correlation with {names[k]}", range=[-1.25, 1.25], zeroline=True) for k in (0, 1))
    circle = {"type": "circle", "x0": -1, "x1": 1, "y0": -1, "y1": 1, "line": {"color": "#888888", "width": 1}}
    return Chart(
        key="correlation-circle",
        title="Correlation circle",
        alt=f"Correlations of {count(len(chosen), 'column')} with {names[0]} and {names[1]} as arrows.",
        data=_arrows(a, arrows, chosen, 1.25),
        layout=axes(x, y | {"scaleanchor": "x"}, shapes=[circle], showlegend=False),
        table=_arrow_table(a, arrows, chosen, "Correlations"),
        height=520,
        caption=_circle_caption(a) + _without(a.p - len(chosen)),
    )


def _circle_caption(a: Analysis) -> str:
    """How to read the circle; the lengths of arrows mean something only if components are uncorrelated."""
    if isinstance(a.mapped, FactorAnalysis) and is_oblique(a.mapped):
        return (
            "Correlations of the columns with each factor. The factors are correlated, so lengths add up to no share."
        )
    if not isinstance(a.mapped, PCA | FactorAnalysis):
        return "Correlations of the columns with the scores of the rows on each component."
    which = "factors" if isinstance(a.mapped, FactorAnalysis) else "components"
    return (
        f"An arrow that reaches the circle belongs to a column that these two {which} describe completely; a short one "
        "to a column that they hardly describe."
    )


def _without(left_out: int) -> str:
    """The end of a caption, which says how many columns have no arrow."""
    if not left_out:
        return ""
    have = "has" if left_out == 1 else "have"
    return f" {count(left_out, 'column')} {have} no arrow: it would be shorter than these, or nearly the same as one."


def _chosen(arrows: np.ndarray, most: int) -> np.ndarray:
    """The columns with the longest arrows, without those that end where the arrow of another one does."""
    lengths = np.sqrt((arrows**2).sum(axis=1))
    near = _NEAR * float(lengths.max(initial=0.0))
    chosen: list[int] = []
    for j in np.argsort(-lengths, kind="stable"):
        if len(chosen) < most and all(np.hypot(*(arrows[j] - arrows[i])) > near for i in chosen):
            chosen.append(int(j))
    return np.array(chosen, dtype=int)


def _arrows(a: Analysis, ends: np.ndarray, chosen: np.ndarray, reach: float) -> list[dict[str, Any]]:
    """Lines from the middle to the ends, with the names of the columns beside these where there is room for them."""
    ends = ends[chosen]
    angles = np.degrees(np.arctan2(ends[:, 1], ends[:, 0]))
    names = [plain(a.names[j], 22) for j in chosen]
    places = _places(ends, names, reach)
    # Coordinates of lines from zero to each end, with a gap after each.
    x, y = (np.column_stack([np.zeros(len(end)), end, np.full(len(end), np.nan)]).ravel() for end in ends.T)
    lines = scatter("lines", None, _ARROW, x=x, y=y, width=1.6, hoverinfo="skip", showlegend=False)
    # The marker is turned to point away from the middle; without a turn it points upwards.
    marker = {"color": _ARROW, "symbol": "triangle-up", "size": 9, "angle": 90.0 - angles}
    text = {
        "text": [name if place else "" for name, place in zip(names, places, strict=True)],
        "textposition": [place or "middle right" for place in places],
        "textfont": {"size": 11},
        "customdata": [plain(a.names[j], 80) for j in chosen],
    }
    hover, at = "%{customdata}: %{x:.2f}, %{y:.2f}", dict(zip("xy", ends.T, strict=True))
    heads = scatter("markers+text", hover, **at, **text, cliponaxis=False, marker=marker, showlegend=False)
    return [lines, heads]


def _places(ends: np.ndarray, names: list[str], reach: float) -> list[str]:
    """Where each name goes so that none is over another; empty for a name without room, which the pointer shows.

    Sizes are estimated for a plot of common size, `reach` on each side of the middle.
    """
    unit = _PIXELS / (2 * reach)
    taken: list[tuple[float, float, float, float]] = []
    places = []
    for (x, y), name in zip(ends * unit, names, strict=True):
        width, height = _WIDE * len(name), _HIGH
        aside = ["middle right", "top right", "bottom right"]
        if x < 0:
            aside = [place.replace("right", "left") for place in aside]
        upright = ["top center" if y > 0 else "bottom center"]
        for place in aside + upright if abs(x) >= abs(y) else upright + aside:
            left = {"right": x + 6, "left": x - 6 - width, "center": x - width / 2}[place.split()[1]]
            low = {"middle": y - height / 2, "top": y + 4, "bottom": y - 4 - height}[place.split()[0]]
            box = (left, low, left + width, low + height)
            if all(box[2] < b[0] or b[2] < box[0] or box[3] < b[1] or b[3] < box[1] for b in taken):
                taken.append(box)
                places.append(place)
                break
        else:
            places.append("")
    return places


def _arrow_table(a: Analysis, arrows: np.ndarray, chosen: np.ndarray, title: str) -> Table:
    return a.column_table(dict(zip(a.meaning.names[:2], arrows[chosen].T, strict=True)), chosen, title)
