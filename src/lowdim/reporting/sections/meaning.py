"""What each component means: the columns and the rows at both of its ends."""

from __future__ import annotations

import numpy as np

from ...tabular import Table
from ..analysis import Analysis
from ..blocks import Block, Listing, Menu, Prose, Section
from ..numbers.scoring import largest
from ..words import brief, count, listed, number, share
from .arrow_charts import biplot, circle
from .loading_charts import bars, curve, pictures
from .naming import called, columns_called, component_title

#: The columns that matter for a component: those of the largest weights, which together hold this share of it, without
#: those below a fraction of the largest weight.
_SHARE, _FRACTION = 0.9, 0.15
#: If more than a few columns are needed for this share of a component, none of them matters much.
_FEW, _MOST = 6, 0.7
#: Correlations from here on count when all columns rise together.
_LEVEL = 0.25
#: The share of the variance of a component between groups from which on its ends are told by groups, and the distance
#: of a group from the mean, in deviations.
_BETWEEN, _AWAY = 0.3, 0.5
#: Median angles in degrees from which on a direction is not well determined, and from which on it is hardly determined.
_ROUGH, _LOOSE = 15.0, 30.0
#: Variances of neighbouring components may be equal if a test of it has a larger p-value.
_EQUAL = 0.01
#: The share of the variance of a component that is due to a single row, from which on this is told.
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
    blocks: list[Block] = [Prose(text) for k in range(len(found.names)) if (text := in_words(a, k))]
    blocks += [Prose(text) for text in _determined(a)]
    if a.image_shape is not None and hasattr(a.mapped, "components_"):
        blocks.append(pictures(a, min(_PICTURES, len(a.mapped.component_names_))))
    else:
        draw = curve if a.layout is not None and a.layout.is_curve else bars
        charts = {component_title(a, k): draw(a, k, f"Loadings on {name}") for k, name in enumerate(found.names)}
        blocks.append(Menu("loadings", "Component", charts))
        blocks += [biplot(a), circle(a)]
    blocks.append(Listing(_ends(a), shown=2 * a.n_explained))
    thing = "columns" if a.image_shape is None else "pixels"
    lead = (
        f"Each component is a weighted sum of the {thing}. Rows at its high end are large in the {thing} with positive "
        "loadings and small in those with negative ones; rows at its low end are the opposite. Which end is high is a "
        "convention."
    )
    first = in_words(a, 0)
    return Section("meaning", "What each component means", lead, blocks, first if len(first) <= _SHORT else "")


def in_words(a: Analysis, k: int) -> str:
    """A component in one line: its columns, its groups, and a row that it depends on; empty if there is nothing to say.

    Pixels have no names that mean anything: the components of pictures are shown as pictures.
    """
    columns = "" if a.image_shape is not None else _columns(a, k)
    parts = [part for part in (columns, _groups(a, k), _one_row(a, k)) if part]
    return f"{component_title(a, k)} {'; it '.join(parts)}." if parts else ""


def _columns(a: Analysis, k: int) -> str:
    """What a component does with the columns: a phrase that follows its name."""
    found = a.meaning
    values, weights = found.loadings[:, k], found.weights[:, k]
    if a.layout is not None and a.layout.is_curve:
        high, low = int(np.argmax(values)), int(np.argmin(values))
        turns = [f"rises most at {brief(a.names[high])}"] if values[high] > 0 else []
        turns += [f"falls most at {brief(a.names[low])}"] if values[low] < 0 else []
        return " and ".join(turns)
    correlations, uncertain = found.correlations[:, k], found.uncertain[:, k]
    order = np.argsort(-weights, kind="stable")
    same_sign = np.all(values > 0) or np.all(values < 0)
    if a.p >= 3 and same_sign and not uncertain.any() and np.abs(correlations).min() >= _LEVEL:
        everything = "both columns" if a.p == 2 else f"all {a.p:,} columns"
        most = listed(columns_called(a, order[:3]))
        what = f"is an overall level: {everything} {'rise' if values[0] > 0 else 'fall'} with it"
        return what if a.p <= 3 else f"{what}, most of all {most}"
    sums = np.cumsum(weights[order])
    if np.searchsorted(sums, _MOST) + 1 > _FEW:
        half = int(np.searchsorted(sums, 0.5)) + 1
        text = f"is spread over many columns (half of its weight lies on {half:,} of them); it "
        return text + _ends_of_columns(a, k, order[:_FEW])
    main = order[: int(np.searchsorted(sums, _SHARE)) + 1]
    main = main[weights[main] >= _FRACTION * weights[main[0]]]
    text = _ends_of_columns(a, k, main)
    doubtful = columns_called(a, main[uncertain[main]])
    if doubtful:
        text += f" (the sign of {listed(doubtful)} is uncertain)"
    return text


def _ends_of_columns(a: Analysis, k: int, columns: np.ndarray) -> str:
    """ "rises with A and B", or "contrasts A and B with C"."""
    values = a.meaning.loadings[columns, k]
    rising, falling = (columns_called(a, columns[some]) for some in (values > 0, values <= 0))
    together = " together" if len(columns) > 1 else ""
    if not falling:
        return f"rises with {listed(rising, _FEW)}{together}"
    if not rising:
        return f"falls with {listed(falling, _FEW)}{together}"
    return f"contrasts {listed(rising, _FEW)} (at its high end) with {listed(falling, _FEW)} (at its low end)"


def _groups(a: Analysis, k: int) -> str:
    """For which groups a component is large and for which it is small."""
    spread = a.seen.spread
    if spread.covariance is None or spread.mean is None or not spread.covariance[k, k] > 0:
        return ""
    for g, group in enumerate(a.groupings):
        if a.seen.between(g)[k] < _BETWEEN:
            continue
        means = {
            brief(group.levels[i]): (part.mean[k] - spread.mean[k]) / np.sqrt(spread.covariance[k, k])
            for i, part in enumerate(a.seen.groups[g])
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
    seen = a.seen
    if seen.spread.covariance is None or seen.spread.mean is None or a.opened.weights is not None:
        return ""
    squares = (seen.rows.scores[:, k] - seen.spread.mean[k]) ** 2
    far = int(largest(squares, 1, seen.rows.numbers)[0])
    total = (seen.spread.weight - 1) * seen.spread.covariance[k, k]
    part = squares[far] / total if total > 0 else 0.0
    # Of a few rows, each has a large part.
    if part < max(_ONE_ROW, 8 / seen.n):
        return ""
    return f"owes {share(part)} of its variance to a single row, {called(a, seen.rows.numbers[far])}"


def _determined(a: Analysis) -> list[str]:
    """How well the directions of the components are determined."""
    found = a.meaning
    if found.turns is None or found.mixes_with is None:
        return []
    sentences = []
    names, count_all = a.mapped.component_names_, len(found.names)
    ties = [k for k in np.flatnonzero(found.equal_to_next > _EQUAL) if k + 1 < len(names)]
    tied = np.isin(np.arange(count_all), [*ties, *(k + 1 for k in ties)])
    clear = (found.turns < _ROUGH) & ~tied
    good = [found.names[k] for k in np.flatnonzero(clear)]
    if good:
        most = float(found.turns[clear].max())
        verb = "is" if len(good) == 1 else "are"
        what = "direction" if len(good) == 1 else "directions"
        angle = "less than 1 degree" if most < 1 else f"about {count(round(most), 'degree')} or less"
        sentences.append(
            f"The {what} of {listed(good, 10)} {verb} well determined: a typical bootstrap sample turns "
            f"{'it' if len(good) == 1 else 'them'} by {angle}."
        )
    for some, how in (
        ((found.turns >= _ROUGH) & (found.turns < _LOOSE), "only roughly determined"),
        (found.turns >= _LOOSE, "hardly determined"),
    ):
        loose = [
            f"{found.names[k]} by about {found.turns[k]:.0f} degrees, mostly towards {names[found.mixes_with[k]]}"
            for k in np.flatnonzero(some)
        ]
        if loose:
            which = "The direction of one component is" if len(loose) == 1 else f"{len(loose)} directions are"
            sentences.append(f"{which} {how}: a typical sample turns {'; '.join(loose)}.")
    if ties:
        pairs = listed([f"{names[k]} with {names[k + 1]}" for k in ties], 4)
        sentences.append(
            f"Some variances are so similar that they may be equal ({pairs}); the two directions within the plane of "
            "such a pair may then be chance."
        )
    return [" ".join(sentences)] if sentences else []


def _ends(a: Analysis) -> Table:
    """The rows at both ends of each component, with their scores."""
    rows = a.seen.rows
    size = min(_ENDS, len(rows))
    columns: dict[str, list[str]] = {"end": [], **{place: [] for place in _PLACES[:size]}}
    labels = []
    for k in range(a.n_explained):
        scores = rows.scores[:, k]
        for end, sign in (("high", 1.0), ("low", -1.0)):
            labels.append(component_title(a, k))
            columns["end"].append(end)
            for place, i in zip(_PLACES, largest(sign * scores, size, rows.numbers), strict=False):
                columns[place].append(f"{called(a, rows.numbers[i])}: {number(scores[i])}")
    return Table(columns, labels, title="The rows at both ends of each component", row_name="component")
