"""The map: the rows by their scores."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from scipy import special

from ...inspect.outlines import ellipse_radius
from ...tabular import Table
from ..analysis import Analysis
from ..numbers.scoring import MOST_FURTHER
from ..blocks import Block, Prose, Section, Widget
from ..numbers.arrays import compact
from ..numbers.groupings import Grouping, measures
from ..numbers.scoring import SomeRows, largest
from ..numbers.seen import Seen, Spread
from ..words import brief, count, listed, number, share
from .naming import LONGEST, called, component_title

#: The fraction of a Gaussian group within its ellipse.
_LEVEL = 0.95
#: The largest number of entries of columns by which points can be coloured, and the number of pixels of pictures.
_ENTRIES, _PIXELS = 600_000, 12
#: The largest number of rows of the table of the scores.
_TABLE_ROWS = 300
#: Distances of group means, in standard deviations of the groups along the line between them: above the first, groups
#: are apart, since not more than 1 in 40 rows would be taken for one of the other; below the second they overlap.
_APART, _OVERLAP = 4.0, 2.5
#: Groups of fewer rows are not compared, and neither are more groups than this.
_FEWEST_ROWS, _MOST_GROUPS = 10, 12


def section(a: Analysis) -> Section | None:
    """The section; None if there are fewer than two components."""
    if a.n_mapped < 2:
        return None
    seen = a.seen
    of_groups = _groups(a)
    sentences = [*_variance(a), *of_groups, *_farthest(a), *_sample(a), *_supplementary(a)]
    blocks: list[Block] = [Prose(" ".join(sentences))] if sentences else []
    blocks.append(_widget(a, seen))
    names = a.mapped.component_names_
    lead = (
        f"Each point is a row of the table, placed by its scores on two components, at first {names[0]} and "
        f"{names[1]}. Rows that lie close together are alike in what these components describe. Choose other axes, or "
        "colour and size by any column; draw a box or a lasso around points to list their rows."
    )
    return Section("map", "The map", lead, blocks, of_groups[0] if of_groups else "")


def _widget(a: Analysis, seen: Seen) -> Widget:
    rows, further = seen.rows, a.further
    shown = rows if further is None else SomeRows.joined([rows, further])
    names = a.mapped.component_names_[: a.n_mapped]
    columns, note = _columns(a, shown)
    codes = [np.append(g.codes[rows.numbers], np.full(len(shown) - len(rows), -1)) for g in a.groupings]
    values: dict[str, Any] = {
        "rows": seen.n,
        "components": [
            {
                "name": name,
                "title": component_title(a, k),
                "scores": compact(shown.scores[:, k]),
            }
            for k, name in enumerate(names)
        ],
        "columns": columns,
        "groups": [
            {
                "name": brief(group.name, LONGEST),
                "levels": [brief(level, LONGEST) for level in group.levels],
                "codes": found.astype(np.int32),
                "ellipses": [_ellipse(spread) for spread in spreads],
            }
            for group, found, spreads in zip(a.groupings, codes, seen.groups, strict=True)
        ],
        "ids": _ids(a, rows, further),
        "numbers": shown.numbers.astype(np.int32),
        "supplementary": None if further is None else (np.arange(len(shown)) >= len(rows)).astype(np.uint8),
        "densities": None
        if seen.densities is None
        else [
            {
                "x": d.x,
                "y": d.y,
                "x_edges": compact(d.x_edges),
                "y_edges": compact(d.y_edges),
                "counts": compact(d.counts.ravel()),
            }
            for d in seen.densities
        ],
        "radius": ellipse_radius(_LEVEL),
        "note": note,
    }
    return Widget(
        key="map",
        kind="map",
        title="Scores of the rows",
        alt=f"A scatter plot of {count(len(shown), 'row')} by their scores on {names[0]} and {names[1]}.",
        values=values,
        table=_table(a, rows),
        caption=(
            (f"Ellipses hold {_LEVEL:.0%} of a Gaussian with the mean and covariance of the group. " if codes else "")
            + "Rows are counted from 0."
        ),
    )


def _columns(a: Analysis, shown: SomeRows) -> tuple[list[dict[str, Any]], str]:
    """The columns by which points can be coloured, and a remark if these are not all of them."""
    most = min(a.p, max(1, _ENTRIES // len(shown)))
    if a.image_shape is not None:
        most = min(most, _PIXELS)
    order, note = np.arange(a.p), ""
    if most < a.p:
        order = np.argsort(-column_weights(a), kind="stable")[:most]
        what = "pixels" if a.image_shape is not None else "columns"
        note = f"Of {a.p:,} {what}, the {most:,} with most weight in the components are offered for colour and size."
    columns = [{"name": brief(a.names[j], LONGEST), "values": compact(shown.entries[:, j])} for j in order]
    beside = len(shown) - len(a.seen.rows)
    for name, values in measures(a.opened.groups).items():
        of_rows = np.append(values[a.seen.rows.numbers], np.full(beside, np.nan))
        columns.append({"name": brief(name, LONGEST), "values": compact(of_rows)})
    return columns, note


def column_weights(a: Analysis) -> np.ndarray:
    """The weight of each column in the components together: its shares in them, by the variance that they explain."""
    found = a.meaning
    shares = np.ones(len(found.names)) if found.shares is None else found.shares
    return np.asarray(found.weights @ shares)


def _ellipse(spread: Spread) -> dict[str, Any] | None:
    if spread.covariance is None or spread.mean is None or spread.rows < 3:
        return None
    return {"mean": spread.mean, "covariance": spread.covariance.ravel(), "rows": spread.rows}


def _ids(a: Analysis, rows: SomeRows, further: SomeRows | None) -> list[str] | None:
    if a.opened.ids is None:
        return None
    return [
        *(brief(a.opened.ids[i], LONGEST) for i in rows.numbers),
        *(f"supplementary {i}" for i in _numbers(further)),
    ]


def _numbers(rows: SomeRows | None) -> list[int]:
    return [] if rows is None else rows.numbers.tolist()


def _table(a: Analysis, rows: SomeRows) -> Table:
    """The scores of the first points."""
    some = rows.take(np.arange(min(len(rows), _TABLE_ROWS)))
    labels = [brief(a.row_name(i), LONGEST) for i in some.numbers]
    columns: dict[str, Any] = {}
    for group in a.groupings:
        # The code -1, of rows without a group, stands for the last one.
        columns[group.name] = np.array([*group.levels, ""], dtype=object)[group.codes[some.numbers]]
    for name, scores in zip(a.mapped.component_names_, some.scores.T, strict=False):
        columns[name] = scores
    title = "Scores" if len(some) == a.seen.n else f"Scores of {len(some):,} of {a.seen.n:,} rows"
    return Table(columns, labels, title=title, row_name="row")


def _variance(a: Analysis) -> list[str]:
    """What the axes hold together."""
    shares, names = a.variance_shares, a.mapped.component_names_
    if shares is None:
        return []
    both = float(shares[0] + shares[1])
    what = "the variance, as the kernel measures it" if hasattr(a.mapped, "kernel") else "the variance"
    text = f"{names[0]} and {names[1]} together hold {share(both)} of {what}"
    if both >= 0.8:
        return [f"{text}, so that the map shows most of how the rows differ."]
    if both >= 0.4:
        return [f"{text}; further axes show the rest."]
    return [f"{text}, so that much of how the rows differ is not on this map: look at other axes, too."]


def _groups(a: Analysis) -> list[str]:
    """Whether the groups separate, and along which component."""
    sentences = []
    names = a.mapped.component_names_
    for g, group in enumerate(a.groupings[:3]):
        sizes = np.array([spread.rows for spread in a.seen.groups[g]])
        n, levels = int(sizes.sum()), int((sizes > 0).sum())
        if levels < 2 or n <= levels + 1:
            continue
        between = a.seen.between(g)
        # Groups that were formed at random have eta squared (levels - 1) / (n - 1) on average.
        beyond_chance = 1 - (1 - between) * (n - 1) / (n - levels)
        k = int(np.argmax(between))
        held = f"{share(between[k])} of its variance is between them"
        what = f"The groups by {brief(group.name)}"
        if beyond_chance[k] >= 0.5:
            sentences.append(f"{what} differ most along {names[k]}: {held}.")
        elif beyond_chance[k] >= 0.1:
            sentences.append(f"{what} differ in part along {names[k]}: {held}, and the rest within them.")
        else:
            sentences.append(f"{what} hardly differ along any of these components (at most {held.split(' of ')[0]}).")
            continue
        sentences += _apart(a.seen.groups[g], group, f"{names[0]} and {names[1]}")
    return sentences


def _apart(spreads: list[Spread], group: Grouping, plane: str) -> list[str]:
    """Which groups are apart from all others in the plane of the first two components, and which overlap."""
    found = [i for i, spread in enumerate(spreads) if spread.rows >= _FEWEST_ROWS and spread.covariance is not None]
    if not 2 <= len(found) <= _MOST_GROUPS:
        return []
    distances = {pair: _distance(spreads[pair[0]], spreads[pair[1]]) for pair in combinations(found, 2)}
    nearest = {i: min(d for pair, d in distances.items() if i in pair) for i in found}
    names = [brief(level) for level in group.levels]
    apart = [names[i] for i in found if nearest[i] >= _APART]
    overlap = [pair for pair, d in sorted(distances.items(), key=lambda item: item[1]) if d < _OVERLAP]
    sentences = []
    if len(apart) == len(found):
        sentences.append(f"In the plane of {plane} all groups are apart from each other.")
    elif apart:
        verb = "lies" if len(apart) == 1 else "lie"
        sentences.append(f"In the plane of {plane}, {listed(apart)} {verb} apart from all others.")
    where = "There" if apart else f"In the plane of {plane}"
    if len(overlap) == len(distances):
        sentences.append(f"{where}, {'both' if len(found) == 2 else 'all'} groups overlap.")
    elif len(overlap) == 1:
        sentences.append(f"{where}, {names[overlap[0][0]]} and {names[overlap[0][1]]} overlap.")
    elif overlap:
        pairs = [f"{names[i]} with {names[j]}" for i, j in overlap[:3]]
        more = f", and {count(len(overlap) - 3, 'more pair')}" if len(overlap) > 3 else ""
        sentences.append(f"{where}, some overlap: {', '.join(pairs)}{more}.")
    return sentences


def _distance(one: Spread, other: Spread) -> float:
    """The distance of two group means in the first two components, in deviations within the groups."""
    assert one.mean is not None and other.mean is not None
    assert one.covariance is not None and other.covariance is not None
    away = (one.mean - other.mean)[:2]
    within = ((one.weight - 1) * one.covariance + (other.weight - 1) * other.covariance)[:2, :2]
    within = within / (one.weight + other.weight - 2)
    return float(np.sqrt(away @ np.linalg.pinv(within) @ away))


def _farthest(a: Analysis) -> list[str]:
    """The rows farthest out, if they are farther than the farthest of as many Gaussian rows would be."""
    rows, spread = a.seen.rows, a.seen.spread
    if spread.covariance is None or spread.mean is None:
        return []
    away = (rows.scores - spread.mean)[:, :2]
    squares = np.einsum("ni,ij,nj->n", away, np.linalg.pinv(spread.covariance[:2, :2]), away)
    # Less than 1 of as many Gaussian rows in 20 tables is beyond this.
    limit = special.chdtri(2, 0.05 / a.seen.n)
    far = largest(squares, 3, rows.numbers)
    far = far[squares[far] > limit]
    if len(far) == 0:
        return []
    total = int((squares > limit).sum())
    named = [f"{called(a, rows.numbers[i])}, {number(float(np.sqrt(squares[i])), 2)} deviations away" for i in far]
    more = f"; {count(total - len(far), 'more row')} {'is' if total - len(far) == 1 else 'are'} unusually far out"
    return [f"Farthest from the middle: {'; '.join(named)}{more if total > len(far) else ''}."]


def _sample(a: Analysis) -> list[str]:
    seen = a.seen
    if not seen.is_sample:
        return []
    kept = " that keeps the shares of the groups and at least 30 rows of each," if a.groupings else ""
    ends = len(seen.rows) - int(seen.chosen.sum())
    return [
        f"The points are {len(seen.rows):,} of the {seen.n:,} rows: a random sample of {int(seen.chosen.sum()):,}"
        f"{kept} and {ends:,} more rows at the ends of the components and among those that fit worst. The density, the "
        "ellipses and all numbers in this report are of all rows."
    ]


def _supplementary(a: Analysis) -> list[str]:
    if a.opened.supplementary is None:
        return []
    marked = 0 if a.further is None else len(a.further)
    given = a.opened.supplementary.shape[0] or marked
    later = max(given - MOST_FURTHER, 0)
    incomplete = given - later - marked
    sentences = []
    if marked:
        verb = "is" if marked == 1 else "are"
        sentences.append(f"{count(marked, 'supplementary row')} that took no part in the fit {verb} marked.")
    if incomplete:
        verb = "is not shown, since it has" if incomplete == 1 else "are not shown, since they have"
        sentences.append(f"{count(incomplete, 'supplementary row')} {verb} entries that are missing or infinite.")
    if later:
        sentences.append(f"Of {given:,} supplementary rows, only the first {MOST_FURTHER:,} are looked at.")
    return sentences
