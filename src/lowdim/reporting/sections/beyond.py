"""Beyond straight lines: kernel PCA and ICA beside PCA, and whether they show more."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ...tabular import Table
from ..analysis import Analysis
from ..blocks import Block, Chart, Listing, Prose, Section
from ..charts import axis, plain, points
from ..numbers.nonlinear import NEIGHBOURS, Beyond, Flat, Sources
from ..words import count, listed, number, share

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
    kernel, independent = _kernel_said(a, found), _sources_said(found.sources)
    blocks: list[Block] = [Prose(_conclusion(a, found)), _maps(a, found), Listing(_measures(a, found)), Prose(kernel)]
    if independent:
        blocks.append(Prose(independent))
    some = f" This section is about a random sample of {len(found.numbers):,} rows." if _is_sample(a, found) else ""
    lead = (
        "PCA places rows by weighted sums of the columns: a flat view. Kernel PCA bends the view to bring out groups "
        "that no flat view separates, and ICA turns it to directions along which the rows are least like a Gaussian "
        f"cloud, such as single causes that were mixed. Here both are held against PCA, with the same rows.{some}"
    )
    return Section("beyond", "Beyond straight lines", lead, blocks, summary=_summary(found))


def _is_sample(a: Analysis, b: Beyond) -> bool:
    return len(b.numbers) < a.n


def _difference(one: np.ndarray, other: np.ndarray) -> tuple[float, bool]:
    """The mean difference of two measures of the same rows, and whether it is certain and large enough to matter."""
    gain = one - other
    mean, spread = float(gain.mean()), float(gain.std(ddof=1)) / math.sqrt(len(gain))
    return mean, abs(mean) >= _LARGE and abs(mean) >= _CERTAIN * spread


def _gains(b: Beyond, flat: Flat | None) -> dict[str, float]:
    """What a map gains over PCA's, as far as that is certain: neighbours and groups; losses are negative."""
    if flat is None:
        return {}
    found = {"neighbours": _difference(flat.kept, b.pca.kept)}
    if flat.by_means is not None and b.pca.by_means is not None:
        found["groups"] = _difference(flat.by_means, b.pca.by_means)
    return {name: mean for name, (mean, certain) in found.items() if certain}


def _ica_matters(s: Sources | None) -> bool:
    """Whether the sources are less Gaussian than the principal components in rows left out, beyond chance."""
    if s is None:
        return False
    return s.certainty >= _CERTAIN and s.held_out >= _LESS_GAUSSIAN * s.baseline


def _conclusion(a: Analysis, b: Beyond) -> str:
    """What to do, in a few sentences."""
    found = {"kernel PCA": _gains(b, b.kernel), "ICA": _gains(b, b.ica)}
    better = {name: gains for name, gains in found.items() if any(gain > 0 for gain in gains.values())}
    sources = _ica_matters(b.sources)
    if not better and not sources:
        return "A straight-line map shows as much as the others: keep PCA."
    parts = [f"In two dimensions, {name} {_compared(a, gains)} than PCA does." for name, gains in better.items()]
    if not better:
        parts.append("As a map, PCA shows as much as the others.")
    if sources:
        parts.append("The sources of ICA are farther from Gaussian than chance explains: they may be worth a name.")
    return " ".join(parts)


def _compared(a: Analysis, gains: Mapping[str, float]) -> str:
    """What a map does better than PCA's, and what less well."""
    words = {"neighbours": ("keeps more neighbours", "keeps fewer neighbours")}
    if a.groupings:
        groups = f"the groups by {a.groupings[0].name}"
        words["groups"] = (f"sets {groups} apart better", f"sets {groups} apart less well")
    ahead = [words[name][0] for name, gain in gains.items() if gain > 0]
    behind = [words[name][1] for name, gain in gains.items() if gain < 0]
    return " but ".join(part for part in (" and ".join(ahead), " and ".join(behind)) if part)


def _summary(b: Beyond) -> str:
    """The sentence for the top of the page; nothing if PCA is enough."""
    gains = _gains(b, b.kernel)
    if gains.get("groups", 0.0) >= _WORTH_SAYING:
        more = share(gains["groups"])
        return f"A curved map, that of kernel PCA, sets the groups apart for {more} more of the rows than PCA's map."
    return ""


def _kernel_said(a: Analysis, b: Beyond) -> str:
    """What kernel PCA keeps beside PCA, in numbers."""
    neighbours = (
        f"Of the {NEIGHBOURS} nearest neighbours of a row in all columns, PCA's map keeps {share(b.pca.kept.mean())} "
        f"and kernel PCA's {share(b.kernel.kept.mean())}"
    )
    neighbours += _verdict(*_difference(b.kernel.kept, b.pca.kept))
    if b.kernel.by_means is None or b.pca.by_means is None:
        return neighbours
    group = a.groupings[0].name
    return (
        f"{neighbours} Straight lines on the map, which assign each row to the nearest mean of a group by {group}, are "
        f"right for {share(b.pca.by_means.mean())} of the rows with PCA and {share(b.kernel.by_means.mean())} with "
        f"kernel PCA{_verdict(*_difference(b.kernel.by_means, b.pca.by_means))}"
    )


def _verdict(mean: float, certain: bool) -> str:
    if not certain:
        return "; that is no difference to speak of."
    return ", which is more." if mean > 0 else ", which is less."


def _sources_said(s: Sources | None) -> str:
    """How far from Gaussian the sources are, and whether that is more than chance."""
    if s is None:
        return ""
    first, usual = (listed([_signed(v) for v in values[:2]]) for values in (s.kurtosis, s.of_components))
    text = (
        f"ICA with {count(len(s.kurtosis), 'source')}: the two farthest from Gaussian have the excess kurtosis {first};"
        f" of the principal components it is {usual}. (It is 0 for a Gaussian, positive for heavy tails or a few rows "
        "far out, and negative where rows form two clusters or spread evenly.)"
    )
    if _ica_matters(s):
        return (
            f"{text} In rows left out, the sources are clearly less Gaussian than the components, so this is more than "
            "a fit to chance."
        )
    return f"{text} In rows left out, the sources are not clearly less Gaussian than the principal components."


def _signed(value: float) -> str:
    return f"{'+' if value > 0 else ''}{number(value, 2)}"


def _measures(a: Analysis, b: Beyond) -> Table:
    """What each map keeps."""
    maps = [flat for flat in (b.pca, b.kernel, b.ica) if flat is not None]
    columns: dict[str, Any] = {"neighbours kept": [float(flat.kept.mean()) for flat in maps]}
    notes = [f"Kernel PCA has the kernel {b.width}, whose width was chosen without the labels."]
    if b.right_in_all is not None and b.right_by_chance is not None:
        columns["right by means"] = [float(flat.by_means.mean()) for flat in maps if flat.by_means is not None]
        by_neighbours = [flat.by_neighbours for flat in maps if flat.by_neighbours is not None]
        columns["right by neighbours"] = [float(right.mean()) for right in by_neighbours]
        notes.append(
            f"Right: the share of rows whose group by {a.groupings[0].name} is that of the nearest mean, or of most of "
            f"the {NEIGHBOURS} nearest rows, on the map. By the nearest rows in all columns {share(b.right_in_all)} "
            f"are right, and always guessing the most frequent group {share(b.right_by_chance)}."
        )
    return Table(
        columns,
        [flat.name for flat in maps],
        title=f"Maps of two dimensions, {count(len(b.numbers), 'row')}",
        notes=notes,
        row_name="map",
    )


def _maps(a: Analysis, b: Beyond) -> Chart:
    """The maps beside each other, with the same rows in the same colours."""
    maps = [flat for flat in (b.pca, b.kernel, b.ica) if flat is not None]
    group = a.groupings[0] if a.groupings and len(a.groupings[0].levels) <= _COLOURED else None
    hover = [a.row_name(int(i)) for i in b.numbers]
    data: list[dict[str, Any]] = []
    layout: dict[str, Any] = {}
    width = 1.0 / len(maps)
    for i, flat in enumerate(maps):
        x, y = flat.scores.T
        end = "" if i == 0 else str(i + 1)
        colours = () if group is None else (group.codes[b.numbers], group.levels)
        for trace in points(x, y, hover, *colours, xaxis=f"x{end}", yaxis=f"y{end}"):
            data.append({**trace, "showlegend": group is not None and i == 0})
        ends = [i * width + (0.06 if i else 0.0), (i + 1) * width - (0.02 if i + 1 < len(maps) else 0.0)]
        layout[f"xaxis{end}"] = axis(plain(flat.axes[0]), domain=ends, anchor=f"y{end}", zeroline=False)
        layout[f"yaxis{end}"] = axis(plain(flat.axes[1]), anchor=f"x{end}", zeroline=False)
    layout["annotations"] = [
        {
            "text": flat.name,
            "x": float(np.mean(layout[f"xaxis{i + 1 if i else ''}"]["domain"])),
            "y": 1.06,
            "xref": "paper",
            "yref": "paper",
            "showarrow": False,
            "xanchor": "center",
        }
        for i, flat in enumerate(maps)
    ]
    layout["legend"] = {"orientation": "h", "y": -0.2}
    rows = {f"{flat.name} {name}": flat.scores[:, j] for flat in maps for j, name in enumerate(flat.axes)}
    coloured = f" Colours are by {group.name}." if group is not None else ""
    return Chart(
        key="beyond-maps",
        title="The same rows on three maps" if len(maps) == 3 else "The same rows on two maps",
        alt=f"Scatter plots of {count(len(b.numbers), 'row')} by {listed([flat.name for flat in maps])}.",
        data=data,
        layout=layout,
        table=Table(rows, hover, title="Positions on the maps", row_name="row").head(300),
        height=440,
        caption=f"The axes of ICA are its two sources farthest from Gaussian.{coloured}" if b.ica else coloured.strip(),
    )
