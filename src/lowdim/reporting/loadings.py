"""What each component means: the columns and the rows at both of its ends, as bars, curves, pictures and arrows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special
from sklearn.base import clone

from ..inspect.tables import correlations, has_loadings, has_scores, loadings, structure
from ..models.auto_encoder import AutoEncoder
from ..models.factor_analysis import FactorAnalysis
from ..models.feature_map_pca import FeatureMapPCA
from ..models.kernel_pca import KernelPCA
from ..models.pca import PCA
from ..selection.bootstrapping import Bootstrap, bootstrap, bootstrap_pieces, summed_pieces
from ..sources.base import Source
from ..sources.derived import entries_of
from ..summaries.moments import Moments
from ..table import Table
from .blocks import Chart, Listing, Menu, Section, be, brief, count, listed, number, prose, sentence, share
from .charts import COLORS, GREY, axes, axis, bar, color, error_bars, heading, heatmap, plain, scatter, symbol
from .factors import is_oblique
from .map import APART, BETWEEN, CHANCE, distance, largest
from .passes import floats

if TYPE_CHECKING:
    from .analysis import Analysis


# What the columns have to do with each component: loadings with bootstrap intervals, correlations, and how well the
# direction of each component is determined.


#: The number of bootstrap samples; fewer if the smaller one of rows and columns is above the second number, but not
#: fewer than the third.
_DRAWS, _SMALL, _FEWEST = 200, 200, 25
#: A correlation of a supplementary column is of at least so many rows.
_FEWEST_OBSERVED = 3
#: Smaller squares of loadings, in units of the largest one, are zero.
_TINY = 1e-30
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
        self.n_resamples = 0
        #: The p-value of the hypothesis that each component and the next one have equal variances; None without a
        #: bootstrap.
        self.equal_to_next: Any = None
        #: Loadings, and whether they are correlations of columns with components. If not, they tell by how much a
        #: column is larger where the component is larger by one standard deviation; `caption` says in which units.
        units = "in its standard deviations" if a.scale else "in its own units"
        self.caption = (
            f"By how much each column is larger, {units}, where the component is larger by one standard deviation."
        )
        if isinstance(model, PCA):
            self.loadings, self.are_correlations = floats(model.loadings_)[:, :k], a.scale
            deviations = np.ones(a.p) if a.scale else a.units
            self.correlations = np.clip(self.loadings / deviations[:, None], -1.0, 1.0)
            if a.scale:
                self.caption = "The correlation of each column with the component."
            if a.image_shape is None:
                draws = bootstrapped(model, min(k + 2, a.rank), a.rows, a.pieces, a.opened.weights, a.seed)
                self._draw(draws, float(model.total_weight_))
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
        #: Correlations of the supplementary columns with the scores on each component; None if there are none.
        self.supplementary = _supplementary(a, k)
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

    def _draw(self, draws: Bootstrap | None, n: float) -> None:
        """Intervals, angles and variances.

        Loadings are orthogonal vectors. With u_k those of all rows and v_k those of a sample, both of unit length, the
        angle is arccos |u_k v_k|, and the share of component l in the direction v_k is (u_l v_k)^2.

        If two variances are equal, the squared logarithm of their ratio is about chi-square with two degrees of
        freedom, times the variance v of ln(u_k' C u_k) - ln(u_l' C u_l) in samples with covariance C. Of Gaussian rows
        v is 4 / n [1]_, and the bootstrap samples tell it for correlations and for heavy tails. The smaller one is
        taken: then variances may be equal only if both do not tell them apart.

        References
        ----------
        .. [1] Anderson (1963), Asymptotic theory for principal component analysis, sec. 3.
        """
        if draws is None:
            return
        k, whole, samples = len(self.names), draws.estimates["loadings"], draws.replicates["loadings"]
        self.low, self.high = draws.interval("loadings")[:, :, :k]
        self.n_resamples = len(samples)
        own, others = _of_unit_length(whole), _of_unit_length(samples)
        products = np.einsum("jl,bjk->blk", own, others)
        cosines = np.abs(np.einsum("bkk->bk", products))
        shares = (products**2).mean(axis=0)
        np.fill_diagonal(shares, -1.0)
        self.turns = np.degrees(np.arccos(np.clip(np.nanmedian(cosines, axis=0), 0.0, 1.0)))[:k]
        self.mixes_with = np.argmax(np.nan_to_num(shares, nan=-1.0), axis=0)[:k]
        # In units of the longest loading, squares neither overflow nor underflow; components without variance are far
        # from all others.
        unit = np.sqrt((whole**2).sum(axis=0).max())
        logarithms = np.log(np.maximum(((whole / unit) ** 2).sum(axis=0), _TINY))
        of_samples = np.log(np.maximum((np.einsum("jl,bjk->blk", own, samples / unit) ** 2).sum(axis=2), _TINY))
        spread = np.minimum(np.diff(of_samples, axis=1).std(axis=0, ddof=1), 2.0 / np.sqrt(n))
        away = -np.diff(logarithms) / np.where(spread > 0, spread, 1.0)
        self.equal_to_next = special.chdtrc(2, away**2)[:k]


def _supplementary(a: Analysis, k: int) -> Table | None:
    """Correlations of the supplementary columns with the first k components; each column has those of the rows in which
    it is observed."""
    source = a.opened.supplementary_columns
    if source is None:
        return None
    Y = floats(entries_of(source))
    weights = np.ones(len(Y)) if a.opened.weights is None else a.opened.weights
    observed = np.isfinite(Y)
    values = np.full((Y.shape[1], k), np.nan)
    for rows in np.unique(observed, axis=1).T:
        alike = np.flatnonzero((observed == rows[:, None]).all(axis=0))
        if np.count_nonzero(weights * rows) >= _FEWEST_OBSERVED:
            found = correlations(a.mapped, a.rows, Y[:, alike], sample_weight=weights * rows)
            values[alike] = found.values[:, :k]
    title = "Correlations of the supplementary columns with the components"
    return Table.from_matrix(values, a.mapped.component_names_[:k], source.names, title=title, row_name="column")


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
    n_resamples = int(np.clip(_DRAWS * (_SMALL / smaller) ** 1.5, _FEWEST, _DRAWS))
    fixed = clone(model).set_params(n_components=count)
    if pieces is not None:
        drawn = summed_pieces("block", pieces, pieces[0].fresh())
        return bootstrap_pieces(fixed, drawn, n_resamples, np.random.RandomState(seed))
    if n is None or n < 10:
        return None
    return bootstrap(fixed, rows, n_resamples=n_resamples, sample_weight=weights, random_state=seed)


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
#: The ends of a component are described by groups whose distance from the mean is so many deviations.
_AWAY = 0.5
#: Median angles in degrees from which on a direction is not well determined, and from which on it is hardly determined.
_ROUGH, _LOOSE = 15.0, 30.0
#: The largest number of components of which a sentence says how far and towards which other one they turn.
_TURNED = 2
#: Variances of neighbouring components may be equal if a test of it has a larger p-value.
_EQUAL = 0.05
#: The share of the variance of a component that is due to a single row, from which on this is said.
_ONE_ROW = 0.15
#: Rows at each end, and the largest number of components as pictures.
_ENDS, _PICTURES = 3, 12
#: At the top of the page, components are described by so many columns at each end.
_COLUMNS_SHORT = 3
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
    if found.supplementary is not None:
        blocks += [*prose(_beside(a)), Listing(found.supplementary)]
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
    return Section("meaning", "What each component means", lead, blocks, _in_short(a))


def _beside(a: Analysis) -> str:
    """With which component each of the supplementary columns goes most."""
    found = a.meaning.supplementary
    assert found is not None
    told = []
    for name, row in zip(found.rows, found.values, strict=True):
        if np.isfinite(row).all():
            k = int(np.argmax(np.abs(row)))
            told.append(f"{brief(name)} with {found.columns[k]} ({row[k]:.2f})")
    took = f"{count(len(found), 'supplementary column')} took no part in the fit"
    return f"{took}; the largest correlations are those of {listed(told)}." if told else f"{took}."


def in_words(a: Analysis, k: int) -> str:
    """A component in one line: its columns, its groups, and a row that it depends on; empty if there is nothing to say.

    Pixels have no names that mean anything: the components of pictures are shown as pictures.
    """
    columns = "" if a.image_shape is not None else _columns(a, k)
    lone = _one_row(a, k)
    owes = "" if lone is None else f"owes {share(lone[1])} of its variance to a single row, {a.called(lone[0])}"
    parts = [part for part in (columns, _groups(a, k), owes) if part]
    return f"{a.component_title(k)} {'; it '.join(parts)}." if parts else ""


def _in_short(a: Analysis) -> str:
    """What the first components mean, and rows without which they may mean something else."""
    said = []
    for k in range(a.n_told):
        parts = [part for part in (_groups(a, k), _columns_in_short(a, k)) if part]
        said += [f"{a.component_title(k)} {'; it '.join(parts)}."] if parts else []
    for row, owed in lone_rows(a).items():
        of = listed([f"{share(part)} of the variance of {a.meaning.names[k]}" for k, part in owed])
        said.append(f"{sentence(a.called(row))} alone makes up {of}: fit again without it, and compare.")
    return " ".join(said)


def _columns_in_short(a: Analysis, k: int) -> str:
    """ "rises with A, B and C and falls with D": the columns that matter most, and whose sign is known."""
    if a.image_shape is not None or a.is_curve or _is_level(a, k):
        return "" if a.image_shape is not None else _columns(a, k)
    values, weights = a.meaning.loadings[:, k], a.meaning.weights[:, k]
    known = (weights >= _FRACTION * weights.max()) & ~a.meaning.uncertain[:, k]
    order = np.argsort(-weights, kind="stable")
    ends = []
    for verb, side in (("rises with", values > 0), ("falls with", values < 0)):
        named = order[(side & known)[order]][:_COLUMNS_SHORT]
        if len(named) and (weights[side].sum() >= _OTHER_END or side[order[0]]):
            ends.append((-weights[named[0]], f"{verb} {listed(a.brief_names(named))}"))
    return ", and ".join(text for _, text in sorted(ends))


def _is_level(a: Analysis, k: int) -> bool:
    """Whether all columns rise, or all fall, with a component."""
    found = a.meaning
    values, sizes = found.loadings[:, k], np.abs(found.correlations[:, k])
    same_sign = np.all(values > 0) or np.all(values < 0)
    return bool(a.p >= 3 and same_sign and not found.uncertain[:, k].any() and sizes.min() >= _LEVEL)


def _columns(a: Analysis, k: int) -> str:
    """What a component does with the columns: a phrase that follows its name."""
    found = a.meaning
    values, weights = found.loadings[:, k], found.weights[:, k]
    if a.is_curve:
        high, low = int(np.argmax(values)), int(np.argmin(values))
        turns = [f"rises most at {brief(a.names[high])}"] if values[high] > 0 else []
        turns += [f"falls most at {brief(a.names[low])}"] if values[low] < 0 else []
        return " and ".join(turns)
    uncertain = found.uncertain[:, k]
    order = np.argsort(-weights, kind="stable")
    if _is_level(a, k):
        what = f"is an overall level: all {a.p:,} columns {'rise' if values[0] > 0 else 'fall'} with it"
        if sum(_is_level(a, other) for other in range(len(found.names))) > 1:
            # Several rotated factors are no level of all columns, although all rise with each of them.
            what = f"{'rises' if values[0] > 0 else 'falls'} with all {a.p:,} columns"
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
        text += f"; the sign{'' if len(doubtful) == 1 else 's'} of {listed(doubtful)} {be(len(doubtful))} uncertain"
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
    """For which groups a component is large and for which it is small, and whether it separates these."""
    spread = a.second.spread
    if spread.covariance is None or not spread.covariance[k, k] > 0:
        return ""
    for g, group in enumerate(a.groupings):
        if a.second.between(g)[k] < BETWEEN or a.second.differ(g)[k] > CHANCE:
            continue
        known = [i for i, part in enumerate(a.second.groups[g]) if part.covariance is not None and part.rows >= 3]
        parts = {brief(group.levels[i]): a.second.groups[g][i] for i in known}
        unit = np.sqrt(spread.covariance[k, k])
        means = {level: (part.mean[k] - spread.mean[k]) / unit for level, part in parts.items()}
        order = sorted(means, key=lambda level: -means[level])
        large = [level for level in order if means[level] >= max(_AWAY, means[order[0]] / 2)]
        small = [level for level in order[::-1] if means[level] <= min(-_AWAY, means[order[-1]] / 2)]
        pairs = [(parts[one], parts[other]) for one in large for other in small]
        if pairs and min(distance(one, other, [k]) for one, other in pairs) >= APART:
            return f"separates {group.of(large)} (high) from {group.of(small)} (low)"
        ends = [f"high for {group.of(large)}"] if large else []
        ends += [f"low for {group.of(small)}"] if small else []
        if ends:
            return f"is {' and '.join(ends)}"
    return ""


def _one_row(a: Analysis, k: int) -> tuple[int, float] | None:
    """The row to which a large part of the variance of a component is due, and this part; None if there is none."""
    rows, spread = a.second.rows, a.second.spread
    if spread.covariance is None or a.opened.weights is not None:
        return None
    squares = (rows.scores[:, k] - spread.mean[k]) ** 2
    far = int(largest(squares, 1, rows.numbers)[0])
    total = (spread.weight - 1) * spread.covariance[k, k]
    part = float(squares[far] / total) if total > 0 else 0.0
    # Of a few rows, each has a large part.
    return (int(rows.numbers[far]), part) if part >= max(_ONE_ROW, 8 / a.second.n) else None


def lone_rows(a: Analysis) -> dict[int, list[tuple[int, float]]]:
    """The rows to which a large part of the variance of components is due, with these components and parts, of the
    components that are described at the top of the page."""
    found: dict[int, list[tuple[int, float]]] = {}
    for k in range(a.n_told):
        lone = _one_row(a, k)
        if lone is not None:
            found.setdefault(lone[0], []).append((k, lone[1]))
    return found


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
        start = f"The direction{'' if one else 's'} of {of_these} {'is' if one else 'are'} {how}: a typical bootstrap"
        if how == "well determined":
            most = float(found.turns[which].max())
            angle = "less than 1 degree" if most < 1 else f"about {count(round(most), 'degree')} or less"
            yield f"{start} sample turns {'it' if one else 'them'} by {angle}."
        else:
            turned = [
                f"{'it' if one else found.names[k]} by about {found.turns[k]:.0f} degrees, mostly towards "
                f"PC{found.mixes_with[k] + 1}"
                for k in which[:_TURNED]
            ]
            yield f"{start} sample turns {', and '.join(turned)}."
    if ties and a.variance_shares is not None:
        for run in np.split(ties, np.flatnonzero(np.diff(ties) > 1) + 1)[:4]:
            of = [f"{names[k]} ({share(a.variance_shares[k])})" for k in (*run, run[-1] + 1)]
            if len(of) == 2:
                yield (
                    f"The variances of {listed(of)} differ no more than chance explains, and may be equal: then only "
                    "the plane of both is determined, and not the directions within it."
                )
            else:
                yield (
                    f"The variances of {listed(of, 12)} differ from one to the next no more than chance explains: of "
                    "those that are equal, only the space that they span is determined, and not the directions within "
                    "it."
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
            f" Lines are intervals that hold 95% of {found.n_resamples} bootstrap samples; pale bars are those whose "
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
        caption="" if found.low is None else f"The band holds 95% of {found.n_resamples} bootstrap samples.",
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
#: The colours of the arrows of columns, and of supplementary columns.
_PAINTS = COLORS[7], COLORS[2]


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
    order, chosen = _chosen(arrows, _ARROWS)
    reach = 0.9 * float(np.sqrt((Z**2).sum(axis=1)).max(initial=1.0))
    longest = float(np.sqrt((arrows**2).sum(axis=1)).max(initial=0.0)) or 1.0
    x, y = (f"{a.component_title(k)}, in standard deviations" for k in (0, 1))
    names_of = [a.names[j] for j in chosen]
    drawn_arrows, unnamed = arrow_traces({"columns": (names_of, arrows[chosen] * (reach / longest))}, 1.3 * reach)
    return Chart(
        key="biplot",
        title=f"Biplot of {names[0]} and {names[1]}",
        alt=f"{count(len(drawn), 'row')} as points and {count(len(chosen), 'column')} as arrows.",
        data=data + drawn_arrows,
        layout=axes(x, axis(y, scaleanchor="x"), showlegend=bool(a.groupings)),
        table=_arrow_table(a, arrows, order, "Loadings"),
        height=560,
        caption=(
            "A row has large entries in the columns whose arrows point towards it. Columns whose arrows point in the "
            "same direction rise together, as far as these two components show." + _without(a, order, chosen, unnamed)
        ),
    )


def _circle(a: Analysis) -> Chart:
    """Correlations of the columns with the first two components, as arrows within the unit circle."""
    names, arrows = a.meaning.names, a.meaning.correlations[:, :2]
    order, chosen = _chosen(arrows, _CIRCLE_ARROWS)
    kinds = {"columns": ([a.names[j] for j in chosen], arrows[chosen])}
    beside = a.meaning.supplementary
    if beside is not None:
        known = np.isfinite(beside.values[:, :2]).all(axis=1)
        kinds["supplementary columns"] = [beside.rows[j] for j in np.flatnonzero(known)], beside.values[known, :2]
    drawn, unnamed = arrow_traces(kinds, 1.25)
    # The plot is a square, so that the axes end where the circle does.
    square: Any = {"range": [-1.25, 1.25], "zeroline": True, "constrain": "domain"}
    x, y = (axis(f"correlation with {names[k]}", **square) for k in (0, 1))
    circle = {"type": "circle", "x0": -1, "x1": 1, "y0": -1, "y1": 1, "line": {"color": "#888888", "width": 1}}
    return Chart(
        key="correlation-circle",
        title="Correlation circle",
        alt=f"Correlations of {count(len(chosen), 'column')} with {names[0]} and {names[1]} as arrows.",
        data=drawn,
        layout=axes(x, y | {"scaleanchor": "x"}, shapes=[circle], showlegend=beside is not None),
        table=_arrow_table(a, arrows, order, "Correlations"),
        height=520,
        caption=_circle_caption(a) + _without(a, order, chosen, unnamed),
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


def _without(a: Analysis, order: np.ndarray, chosen: np.ndarray, unnamed: list[str]) -> str:
    """The end of a caption, which says which columns have no arrow, and which arrows have no name."""
    dropped = a.brief_names(j for j in order if j not in chosen)
    text = ""
    if dropped:
        why = "it would be shorter than those that are drawn, or end where one of them does"
        text = f" {listed(dropped)} {'has' if len(dropped) == 1 else 'have'} no arrow: {why}."
    if unnamed:
        text += f" There is no room for the {'name' if len(unnamed) == 1 else 'names'} of {listed(unnamed)}."
    return text


def _chosen(arrows: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """All columns by the lengths of their arrows, and those that have one: all if they are few, otherwise the longest
    ones, without those that end where the arrow of another one does."""
    lengths = np.sqrt((arrows**2).sum(axis=1))
    order = np.argsort(-lengths, kind="stable")
    if len(order) <= most:
        return order, order
    near = _NEAR * float(lengths.max(initial=0.0))
    chosen: list[int] = []
    for j in order:
        if len(chosen) < most and all(np.hypot(*(arrows[j] - arrows[i])) > near for i in chosen):
            chosen.append(int(j))
    return order, np.array(chosen, dtype=int)


def arrow_traces(
    kinds: Mapping[str, tuple[list[str], np.ndarray]], reach: float
) -> tuple[list[dict[str, Any]], list[str]]:
    """Arrows from the middle to the ends of each kind of columns, with the names of the columns beside these where
    there is room for them; and the names for which there is none."""
    shown = [[plain(name, 22) for name in names] for names, _ in kinds.values()]
    all_ends = np.concatenate([ends for _, ends in kinds.values()])
    places = iter(name_places(all_ends, [name for names in shown for name in names], reach))
    traces: list[dict[str, Any]] = []
    unnamed: list[str] = []
    for place, (kind, (names, ends)) in enumerate(kinds.items()):
        paint, group = _PAINTS[place], {"legendgroup": kind}
        angles = np.degrees(np.arctan2(ends[:, 1], ends[:, 0]))
        at_names = list(islice(places, len(names)))
        unnamed += [brief(name) for name, at in zip(names, at_names, strict=True) if not at]
        # Coordinates of lines from zero to each end, with a gap after each.
        x, y = (np.column_stack([np.zeros(len(end)), end, np.full(len(end), np.nan)]).ravel() for end in ends.T)
        traces.append(scatter("lines", None, paint, x=x, y=y, width=1.6, hoverinfo="skip", showlegend=False, **group))
        # The marker is turned to point away from the middle; without a turn it points upwards.
        marker = {"color": paint, "symbol": "triangle-up", "size": 9, "angle": 90.0 - angles}
        text = {
            "text": [name if at else "" for name, at in zip(shown[place], at_names, strict=True)],
            "textposition": [at or "middle right" for at in at_names],
            "textfont": {"size": 11},
            "customdata": [plain(name, 80) for name in names],
        }
        hover, at_ends = "%{customdata}: %{x:.2f}, %{y:.2f}", dict(zip("xy", ends.T, strict=True))
        look: Any = {**text, **group, "cliponaxis": False, "marker": marker, "showlegend": len(kinds) > 1}
        traces.append(scatter("markers+text", hover, **at_ends, name=kind, **look))
    return traces, unnamed


def name_places(ends: np.ndarray, names: list[str], reach: float) -> list[str]:
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


def _arrow_table(a: Analysis, arrows: np.ndarray, order: np.ndarray, title: str) -> Table:
    return a.column_table(dict(zip(a.meaning.names[:2], arrows[order].T, strict=True)), order, title)
