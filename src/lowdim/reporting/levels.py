"""The sections of a table with categories: its columns and levels, how many components, and what they mean."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, islice
from typing import TYPE_CHECKING, Any

import numpy as np

from ..coding import MISSING, RARE
from ..models.mca import MCA
from ..models.mfa import MFA
from ..table import Table
from .blocks import Block, Chart, Listing, Menu, Prose, Section, be, brief, count, listed, number, prose, share
from .categories import asked_about
from .charts import COLORS, GREY, axes, axis, bar, color, guide, heatmap, labels, names_axis, plain, scatter, symbol
from .data import (
    distributions,
    equal_rows,
    identifiers_told,
    left_out_blocks,
    left_out_in_short,
    numbers_table,
    roles_told,
    skewed_told,
    suspects_in_short,
)
from .loadings import arrow_traces, name_places

if TYPE_CHECKING:
    from .mixed import MixedAnalysis

# What levels are called in sentences.


#: Levels that say nothing without the name of their column.
_VAGUE = re.compile(
    r"yes|no|y|n|true|false|none|other|others|unknown|na|n/a|low|middle|medium|high|never|sometimes|often|always|good|bad|"
    r"(strongly |rather |fully )?(dis)?agree|neutral|ja|nein|oui|non|si|[^a-z]*|.{1,2}",
    re.IGNORECASE,
)


def level_name(column: str, level: str, longest: int = 40) -> str:
    """What a level is called: "female (sex)", "alone = no", "no entry in age"."""
    if level == MISSING:
        return f"no entry in {brief(column, longest)}"
    if level == RARE:
        return f"rare levels of {brief(column, longest)}"
    if _VAGUE.fullmatch(level.strip()):
        return f"{brief(column, longest)} = {brief(level, longest)}"
    return f"{brief(level, longest)} ({brief(column, longest)})"


# The data.


#: The columns of tables and heatmaps, and the number of associations that are listed.
_MOST_SHOWN, _STRONGEST = 40, 10
#: The largest number of names of levels in the table of the columns.
_LEVELS_NAMED = 4


def data_section(a: MixedAnalysis) -> Section:
    """What the table holds."""
    blocks = [*prose(_size(a)), *left_out_blocks(a)]
    blocks += prose(asked_about(list(a.asked), a.asked), a.opened.how_read, _same(a), _look_alikes(a), _equal_rows(a))
    if a.measured:
        blocks += [*prose(identifiers_told(a)), Listing(numbers_table(a), shown=10), distributions(a)]
        blocks += prose(skewed_told(a))
    blocks += [Listing(_categories(a), shown=12), *_associated(a)]
    lead = (
        "What the table holds, before anything is modelled: its rows and columns, what was left out and why, the "
        "levels of the categories, what is missing, and which columns go together."
    )
    n_missing = sum(a.missing_numbers.values()) + round(sum(a.missing_levels.values()) * a.n)
    entries = (
        "no entry is missing" if n_missing == 0 else f"{share(n_missing / (a.n * a.p))} of the entries are missing"
    )
    entries += " in them" if a.left_out and n_missing == 0 else ""
    said = [f"The report is about {count(a.n, 'row')} and {_columns_said(a)}; {entries}."]
    said += [*left_out_in_short(a), roles_told(a), *asked_about(list(a.asked), a.asked), a.opened.how_read, *_same(a)]
    said += _look_alikes(a)
    said += [suspects_in_short(a), *islice(skewed_told(a), 1)] if a.measured else []
    return Section("data", "The data", lead, blocks, " ".join(filter(None, said)))


def _columns_said(a: MixedAnalysis) -> str:
    """ "3 numbers and 5 categories"."""
    parts = [count(len(a.measured), "column of numbers", "columns of numbers")] if a.measured else []
    parts += [count(len(a.categories), "category", "categories")] if a.categories else []
    return " and ".join(parts)


def _size(a: MixedAnalysis) -> Iterator[str]:
    n_levels = sum(a.full.coding_.widths)
    columns = a.opened.n_columns
    which = "all of which are" if a.p == columns else f"of which {a.p:,} {be(a.p)}"
    yield f"The table has {count(a.n, 'row')} and {count(columns, 'column')}, {which} analysed."
    yield f"These are {_columns_said(a)} with {n_levels:,} levels{' in all' if len(a.categories) > 1 else ''}."
    yield roles_told(a)
    if a.opened.weights is not None:
        yield "Rows are counted by their weights."
    if not a.opened.held:
        yield "The table is not held in memory: what its columns of text hold was found from its first rows."


def _same(a: MixedAnalysis) -> Iterator[str]:
    """Columns that say the same as others."""
    for one, other in a.same[:4]:
        yield (
            f"{brief(one)} and {brief(other)} say the same of every row, so that it counts twice: leave one of them "
            "out (exclude, or --exclude)."
        )


def _look_alikes(a: MixedAnalysis) -> Iterator[str]:
    """Levels of one column that differ only by blanks, or by capital and small letters."""
    found = []
    for name, levels in zip(a.full.coding_.categories, a.full.coding_.levels, strict=True):
        same: dict[str, str] = {}
        for level in levels:
            other = same.setdefault(" ".join(level.split()).casefold(), level)
            if other != level:
                found.append(f"{brief(other)!r} and {brief(level)!r} of {brief(name)}")
    if found:
        yield (
            f"{listed(found, 3)} differ only by blanks or by capital letters, and are different levels here. If they "
            "mean the same, make them the same text in the table."
        )


def _equal_rows(a: MixedAnalysis) -> str:
    """How many rows repeat others."""
    if not a.opened.held:
        return ""
    numbers = [*a.mixed_rows.array(a.measured).T]
    codes = [a.mixed_rows.codes_of(name) for name in a.categories]
    equal = equal_rows(np.column_stack([*numbers, *codes]).astype(np.float64))
    if not equal:
        return ""
    return f"{count(equal, 'row')} ({share(equal / a.n)}) {be(equal)} equal to an earlier row in all these columns."


def _categories(a: MixedAnalysis) -> Table:
    """The categories, with their most frequent levels."""
    levels = dict(zip(a.full.coding_.categories, a.full.coding_.levels, strict=True))
    shares = dict(zip(zip(a.geometry.variables, a.geometry.levels, strict=True), a.geometry.share, strict=True))
    numbers, holds, missing = [], [], []
    for name in a.categories:
        order = sorted(levels[name], key=lambda level: -shares.get((name, level), 0.0))
        own = [level for level in order if level != MISSING]
        numbers.append(len(own))
        named = [f"{brief(level, 24)} ({share(float(shares[name, level]))})" for level in own[:_LEVELS_NAMED]]
        more = f" and {len(own) - _LEVELS_NAMED} more" if len(own) > _LEVELS_NAMED else ""
        holds.append(", ".join(named) + more)
        missing.append(share(a.missing_levels.get(name, 0.0)))
    columns: dict[str, Any] = {"levels": numbers, "most frequent": holds}
    columns |= {"missing": missing} if a.missing_levels else {}
    return Table(columns, a.categories, title="The categories", row_name="column")


def _associated(a: MixedAnalysis) -> list[Block]:
    """Which columns go together."""
    names, values = a.associations
    if len(names) < 2:
        return []
    pairs = sorted(((values[i, j], i, j) for i, j in combinations(range(len(names)), 2)), reverse=True)
    said = [f"{brief(names[i])} and {brief(names[j])} ({value:.2f})" for value, i, j in pairs[:3]]
    text = (
        f"The columns that go together most are {'; '.join(said)}. The numbers are between 0 and 1: the size of the "
        "correlation of two numbers, the root of the share of the variance of a number that lies between the levels of "
        "a category (eta), and Cramer's V of two categories."
    )
    blocks: list[Block] = [Prose(text)]
    strongest = pairs[:_STRONGEST]
    if len(pairs) > 1:
        columns: dict[str, Any] = {
            "first": [names[i] for _, i, _ in strongest],
            "second": [names[j] for _, _, j in strongest],
            "association": [value for value, _, _ in strongest],
        }
        title = "The strongest associations"
        blocks.append(Listing(Table(columns, range(1, len(strongest) + 1), title=title, row_name="place"), shown=5))
    kept = np.sort(np.argsort(-values.sum(axis=0), kind="stable")[:_MOST_SHOWN])
    shown = labels([names[j] for j in kept])
    trace = heatmap(
        "%{y}<br>%{x}<br>%{z:.2f}",
        values[np.ix_(kept, kept)],
        [[0.0, "rgba(128,128,128,0.06)"], [1.0, COLORS[0]]],
        **{"x": shown, "y": shown, "zmin": 0, "zmax": 1, "xgap": 1, "ygap": 1},
    )
    trace["colorbar"] = {"thickness": 12}
    if len(kept) <= 10:
        trace["texttemplate"] = "%{z:.2f}"
    some = f" The {len(kept)} columns with the strongest associations are drawn." if len(kept) < len(names) else ""
    y = axis(showgrid=False, dtick=1, type="category", automargin=True, autorange="reversed")
    blocks.append(
        Chart(
            key="associations",
            title="Which columns go together",
            alt=f"A heatmap of the associations of {count(len(kept), 'column')}.",
            data=[trace],
            layout=axes(names_axis(len(kept), showgrid=False, dtick=1), y),
            table=Table(dict(zip(names, values.T, strict=True)), names),
            height=min(760, max(320, 26 * len(kept) + 160)),
            caption=(
                f"Correlations in size, eta, and Cramer's V: 0 is nothing in common, and 1 is as much as can be.{some}"
            ),
        )
    )
    return blocks


# How many components.


#: The largest number of bars of the scree.
_BARS = 20


def how_many_section(a: MixedAnalysis) -> Section:
    """The eigenvalues, and which of them stand out."""
    is_mca = isinstance(a.mapped, MCA)
    shares = np.asarray(a.variance_shares)
    lead = (
        "How many components are worth a look. The inertia of a table is the variance of its coded columns, and an "
        "eigenvalue is the inertia along a component."
    )
    blocks = [*prose(_how_many(a)), _scree(a), *prose(_adjusted(a) if is_mca else _of_levels(a))]
    blocks.append(Listing(_inertias(a), shown=10))
    k = a.k
    held = float(shares[:k].sum())
    what = f"adjusted inertia ({a.adjusted_by})" if is_mca else "inertia"
    why = ""
    if a.request.model is not None:
        return Section("how-many", "How many components", lead, blocks)
    if a.request.n_components is not None:
        why = ", as was asked for"
    elif a.n_beyond_chance == 0:
        why = ", although none stands out from chance"
    else:
        why = ": only so many stand out from chance"
    together = "it holds" if k == 1 else "together they hold"
    text = f"The report uses {count(k, 'component')}{why}; {together} {share(held)} of the {what}."
    return Section("how-many", "How many components", lead, blocks, text)


def _how_many(a: MixedAnalysis) -> Iterator[str]:
    found = a.n_beyond_chance
    if a.request.model is not None:
        yield f"The given model has {count(a.k, 'component')}."
    than = "in 95% of simulated tables with the same levels whose columns have nothing to do with each other"
    if found == 0:
        yield f"No component stands out: the first eigenvalue is not larger than {than}."
        yield "The report shows the first components all the same, which may be chance."
        return
    one = found == 1
    first = "eigenvalue is" if one else f"{found:,} eigenvalues are"
    yield (
        f"By parallel analysis, the first {first} larger than {than}: "
        f"{'this is the component' if one else 'these are the components'} to interpret. Weak components beside strong "
        "ones may be missed."
    )


def _adjusted(a: MixedAnalysis) -> str:
    """Why the inertias of MCA are adjusted."""
    J, passive = len(a.mapped.coding_.categories), a.adjusted_by == "Benzecri"
    raw, benzecri, greenacre = (
        share(float(ratio[:2].sum()))
        for ratio in (a.mapped.explained_variance_ratio_, a.mapped.benzecri_ratio_, a.mapped.greenacre_ratio_)
    )
    greenacres = f"Greenacre by the average inertia of pairs of categories, which is stricter ({greenacre})."
    if passive:
        greenacres = "Greenacre's total is not meant for passive entries, which is why his are not used here."
    return (
        "The percentages are those of adjusted inertias. A category of m levels is coded by m columns, whose inertia "
        f"is mostly their own: the plain percentages are too small by far ({raw} for the first two components). So "
        f"only what is above 1/{J} of each eigenvalue counts, which is what the {J} categories have in common. "
        f"Benzecri divides it by the sum over all components ({benzecri} for the first two)"
        f"{'.' if passive else ', and'} {greenacres} Titles of axes have the percentages of {a.adjusted_by}."
    )


def _of_levels(a: MixedAnalysis) -> str:
    """What the inertia of FAMD consists of."""
    coding = a.mapped.coding_
    if not coding.widths or isinstance(a.mapped, MFA):
        return ""
    return (
        f"Each number has an inertia of 1, and a category of m levels has m - 1, {float(a.inertias.sum()):.0f} in all. "
        "One component can hold at most 1 of each column, so that categories of many levels make all percentages "
        "small; small percentages do not mean that the map is bad."
    )


def _inertias(a: MixedAnalysis) -> Table:
    """The eigenvalues with their shares."""
    model = a.mapped
    columns = {"eigenvalue": model.explained_variance_, "share of the inertia": model.explained_variance_ratio_}
    columns["cumulative"] = np.cumsum(model.explained_variance_ratio_)
    if isinstance(model, MCA):
        columns["Benzecri"] = model.benzecri_ratio_
        if a.adjusted_by == "Greenacre":
            columns["Greenacre"] = model.greenacre_ratio_
    return Table(columns, model.component_names_, title="Eigenvalues", row_name="component")


def _scree(a: MixedAnalysis) -> Chart:
    values = a.inertias[: max(_BARS, a.k)]
    names = [f"{i + 1}" for i in range(len(values))]
    data: list[Any] = [bar("%{x}: %{y:.4~g}", 0, x=names, y=values, name="eigenvalue", showlegend=True)]
    curve = a.choice.curve[: len(values)]
    look: Any = {"symbol": symbol(1), "size": 7, "dash": "dot", "name": "95% of unrelated columns"}
    data.append(scatter("lines+markers", "%{x}: %{y:.4~g}", 1, x=names[: len(curve)], y=curve, **look))
    average = a.average_inertia
    what = f"1/{len(a.full.coding_.categories)}" if isinstance(a.mapped, MCA) else number(average)
    return Chart(
        key="scree",
        title="Eigenvalues",
        alt=f"Bars of the first {len(values)} eigenvalues.",
        data=data,
        layout=axes(
            axis("component", type="category"),
            axis("eigenvalue", rangemode="tozero"),
            legend=1.1,
            shapes=[guide("y", average, dash="dash")],
        ),
        table=Table({"eigenvalue": values}, names, row_name="component"),
        height=360,
        caption=f"The dashed line is the average eigenvalue, {what}.",
    )


# What the components mean.


#: A level, or a number, takes part in the words for a component if its v-test, or the size of its correlation, is at
#: least so large; at each end there are at most so many.
_V_TEST, _CORRELATION, _AT_AN_END = 2.0, 0.25, 3
#: The part of the rows that is looked at at an end, and how much more frequent levels are there that are told.
_OUTER, _MORE_FREQUENT = 0.1, 1.25
#: Levels of fewer rows than this are not named unless they make up more than the second share of a component.
_NOT_NAMED, _ALL_THE_SAME = 0.01, 0.1
#: A component is a bent form of the first one if so large a share of its variance is a square of the first scores.
_BENT = 0.4
#: Levels of less than this share of the rows are rare; a component is dominated by them if they make up more than the
#: last share of it.
_RARE, _DOMINATED = 0.02, 0.4
#: The numbers of columns in the tables and charts of levels.
_BARS_SHOWN, _NAMED = 20, 30
#: Arrows that are shorter than this part of the longest are not drawn, and neither are rare levels that are so many
#: times as far from the middle as all others.
_SHORT_ARROW, _FAR = 0.25, 1.3
_PLANES = ((0, 1), (0, 2), (1, 2))


@dataclass(frozen=True)
class End:
    """One end of a component: the points that make it up, by their contributions."""

    sign: float
    #: What they are called.
    names: list[str]
    #: The positions, among the points, of the levels that are named.
    levels: list[int]


def ends_of(a: MixedAnalysis, k: int) -> tuple[End, End]:
    """The positive and the negative end of component k."""
    g = a.geometry
    parts = np.where(g.active, np.nan_to_num(g.contributions[:, k]), 0.0)
    at = np.where(g.is_level, g.coordinates[:, k], g.correlations[:, k])
    strong = np.where(g.is_level, np.abs(g.v_tests[:, k]) >= _V_TEST, np.abs(g.correlations[:, k]) >= _CORRELATION)
    strong &= ~(np.nan_to_num(g.share, nan=1.0) < _NOT_NAMED) | (parts > _ALL_THE_SAME)
    order = [j for j in np.argsort(-parts, kind="stable") if g.active[j] and strong[j]]
    average = 1.0 / max(int(g.active.sum()), 1)
    # Those above the average, but never none.
    kept = [j for j in order if parts[j] >= average] or order[:1]
    found = []
    for sign in (1.0, -1.0):
        own = [j for j in kept if sign * at[j] > 0][:_AT_AN_END]
        if not own:
            levels = [j for j in order if sign * at[j] > 0 and g.is_level[j]]
            own = levels[:1] if levels else [j for j in kept if not g.is_level[j]][:2]
        missing = [brief(g.variables[j]) for j in own if g.levels[j] == MISSING]
        named = [f"no entry in {listed(missing)}"] if missing else []
        for j in own:
            if not g.is_level[j]:
                named.append(f"{'high' if sign * at[j] > 0 else 'low'} {brief(g.variables[j])}")
            elif g.levels[j] != MISSING:
                named.append(level_name(g.variables[j], g.levels[j]))
        found.append(End(sign, named, [int(j) for j in own if g.is_level[j]]))
    return found[0], found[1]


def component_sentence(a: MixedAnalysis, k: int) -> str:
    """What a component sets apart."""
    high, low = ends_of(a, k)
    title = a.component_title(k)
    if high.names and low.names:
        return f"{title} sets rows with {_enumerated(high.names)} apart from rows with {_enumerated(low.names)}."
    if not (high.names or low.names):
        return f"{title} goes with no level and no number clearly."
    return f"{title} sets rows with {_enumerated(high.names or low.names)} apart from all others."


def _enumerated(names: list[str]) -> str:
    """Names of levels in a sentence; semicolons are between long ones."""
    if len(names) > 1 and (max(map(len, names)) > 40 or any("," in name for name in names)):
        return f"{'; '.join(names[:-1])}; and {names[-1]}"
    return listed(names)


def _bent(a: MixedAnalysis, k: int) -> Iterator[str]:
    """Whether a component sets both ends of the first one apart from its middle."""
    levels = a.geometry.active & a.geometry.is_level
    if k == 0 or float(np.nansum(a.geometry.contributions[levels, k])) < 0.5:
        return
    rows = a.second.rows.take(np.flatnonzero(a.second.chosen))
    if len(rows) < 30:
        return
    first, own = rows.scores[:, 0], rows.scores[:, k]
    X = np.column_stack([np.ones(len(first)), first, first**2])
    left = own - X @ np.linalg.lstsq(X, own, rcond=None)[0]
    bent = 1 - float(left.var()) / float(own.var() or 1.0)
    if bent > _BENT:
        names = a.mapped.component_names_
        yield (
            f"{names[k]} sets both ends of {names[0]} apart from its middle ({share(bent)} of its variance is the "
            f"square of {names[0]}). Levels in an order often give such a bend, which is then no further topic."
        )


def _crowds(a: MixedAnalysis, k: int) -> Iterator[str]:
    """The levels that the rows at the ends of a component have in common."""
    g, rows, name = a.geometry, a.second.rows.take(np.flatnonzero(a.second.chosen)), a.mapped.component_names_[k]
    if not a.opened.held or len(rows) < 30:
        return
    for end in ends_of(a, k):
        chosen: list[int] = []
        for j in end.levels:
            if all(g.variables[i] != g.variables[j] for i in chosen) and g.levels[j] != RARE:
                chosen.append(j)
        chosen = chosen[:2]
        if not chosen:
            continue
        of_rows = np.ones(len(rows), dtype=bool)
        for j in chosen:
            entries = a.mixed_rows.labels_of(g.variables[j])[rows.numbers]
            of_rows &= np.array([entry == (None if g.levels[j] == MISSING else g.levels[j]) for entry in entries])
        scores = end.sign * rows.scores[:, k]
        outer = scores >= np.quantile(scores, 1 - _OUTER)
        there, overall = float(of_rows[outer].mean()), float(of_rows.mean())
        if there < 0.3 or there < _MORE_FREQUENT * overall:
            continue
        what = " and ".join(level_name(a.short_names[g.variables[j]], g.levels[j]) for j in chosen)
        of_all = "of all rows" if not a.second.is_sample else "of the sampled rows"
        side = "high" if end.sign > 0 else "low"
        yield (
            f"Of the {count(int(outer.sum()), 'row')} with the {side}est scores on {name}, {share(there)} have {what}, "
            f"against {share(overall)} {of_all}."
        )


def rare_levels(a: MixedAnalysis, k: int) -> list[int]:
    """The positions of the rare levels that dominate component k, the largest contribution first; empty if they do
    not."""
    g = a.geometry
    rare = g.active & g.is_level & (np.nan_to_num(g.share) < _RARE)
    parts = np.where(rare, np.nan_to_num(g.contributions[:, k]), 0.0)
    if parts.sum() < _DOMINATED:
        return []
    return [int(j) for j in np.argsort(-parts, kind="stable") if parts[j] > 0.05]


def _no_entries(a: MixedAnalysis, k: int) -> Iterator[str]:
    """Whether a component is about missing entries."""
    g = a.geometry
    places = [j for j, level in enumerate(g.levels) if level == MISSING and g.active[j]]
    total = float(np.nansum(g.contributions[places, k]))
    if total > _DOMINATED:
        yield (
            f"{share(total)} of {a.mapped.component_names_[k]} is about who has no entry, and not about what the "
            "entries are."
        )


def _rare(a: MixedAnalysis, k: int) -> Iterator[str]:
    """Rare levels that dominate a component, and what to do."""
    g, found = a.geometry, rare_levels(a, k)
    if not found:
        return
    total = float(np.nansum(g.contributions[found, k]))
    rows = [max(1, round(float(g.share[j]) * float(a.mapped.total_weight_))) for j in found]
    named = [f"{level_name(g.variables[j], g.levels[j])}, {count(n, 'row')}" for j, n in zip(found, rows, strict=True)]
    yield (
        f"{a.mapped.component_names_[k]} is about few rows: {listed(named, 3)} "
        f"{'makes' if len(found) == 1 else 'make'} up {share(total)} of it."
    )
    least = max(rows) + 1
    pooled = {
        name: sum(1 for v, s in zip(g.variables, g.share, strict=True) if v == name and s * a.n < least)
        for name in {g.variables[j] for j in found}
    }
    if all(n >= 2 for n in pooled.values()):
        yield (
            f"To see what the other rows differ in, pool rare levels: min_frequency={least}, or --min-frequency "
            f"{least}."
        )
    else:
        yield (
            "To see what the other rows differ in, join such a level with another one of its column in the table, or "
            "leave these rows out."
        )


def meaning_section(a: MixedAnalysis) -> Section:
    """What the first components mean."""
    told = max(a.n_told, min(2, a.n_mapped))
    names = a.mapped.component_names_
    blocks: list[Block] = []
    for k in range(min(told, a.n_mapped)):
        chance = f"{names[k]} does not stand out from chance, so what it shows may be chance." if k >= a.n_told else ""
        said = [component_sentence(a, k), _related(a, k), *_crowds(a, k), *_no_entries(a, k)]
        blocks += prose([chance if a.n_told else "", *said, *_bent(a, k), *_rare(a, k)])
    if a.n_told == 0:
        blocks = [*prose("No component stands out from chance, so the words below may be about chance only."), *blocks]
    planes = [pair for pair in _PLANES if pair[1] < a.n_mapped]
    if planes:
        charts = {f"{names[x]} and {names[y]}": _plane(a, x, y) for x, y in planes}
        blocks.append(Menu("levels", "Plane", charts))
    bars = {names[k]: _bars(a, k) for k in range(a.n_explained)}
    blocks += [
        Menu("contributions", "Component", bars),
        Listing(_relations(a), shown=12),
        Listing(_points(a), shown=12),
    ]
    has_numbers = bool((~a.geometry.is_level).any())
    lead = (
        "What the components have to do with the columns. A level is placed where its rows are on average"
        f"{', stretched by the root of the eigenvalue' if isinstance(a.mapped, MCA) else ''}"
        f"{'; a number is an arrow to its correlations with the components' if has_numbers else ''}. Contributions say "
        f"which levels{' and numbers' if has_numbers else ''} make up a component, and cos2 how much of a level it "
        "shows. A v-test beyond 2 in size means that the rows of a level are farther from the middle than as many rows "
        "that were drawn at random would be in 95 of 100 cases."
    )
    said = [component_sentence(a, k) for k in range(a.n_told)]
    said += [sentence for k in range(a.n_told) for sentence in (*_no_entries(a, k), *_bent(a, k), *_rare(a, k))]
    if a.n_told == 0:
        said = ["No component stands out: what the columns have in common is no more than chance could give."]
    return Section("meaning", "What the components mean", lead, blocks, " ".join(said))


def _related(a: MixedAnalysis, k: int) -> str:
    """The columns that have most to do with a component."""
    names = [name for name in a.names if name in a.relations]
    order = sorted(names, key=lambda name: -a.relations[name][k])[:3]
    said = [
        f"{brief(name)} ({'r2' if name in a.measured else 'eta2'} {a.relations[name][k]:.2f})"
        for name in order
        if a.relations[name][k] >= 0.05
    ]
    return f"The columns that have most to do with it: {listed(said)}." if said else ""


def _relations(a: MixedAnalysis) -> Table:
    """Squared correlations and correlation ratios."""
    g, names = a.geometry, a.mapped.component_names_[: a.n_explained]
    columns = list(a.relations)
    number_names = {v for v, level in zip(g.variables, g.levels, strict=True) if level == ""}
    active = {v for v, used in zip(g.variables, g.active, strict=True) if used}
    what: dict[str, Any] = {"measure": ["r2" if name in number_names else "eta2" for name in columns]}
    if len(active) < len(columns):
        what["part"] = ["active" if name in active else "supplementary" for name in columns]
    values = np.array([a.relations[name][: len(names)] for name in columns]).round(3)
    notes = ["The share of the variance of the scores that the column explains: r2 of numbers, eta2 of categories."]
    title = "How much each column has to do with the components"
    return Table(what | dict(zip(names, values.T, strict=True)), columns, title=title, notes=notes, row_name="column")


def _points(a: MixedAnalysis) -> Table:
    """Coordinates, contributions, cos2 and v-tests of levels and numbers on the first components."""
    g = a.geometry
    n = min(2, a.n_mapped)
    columns: dict[str, Any] = {"share of rows": g.share.round(3)}
    for k, name in enumerate(a.mapped.component_names_[:n]):
        columns[f"{name} coordinate"] = g.coordinates[:, k].round(3)
        columns[f"{name} contribution"] = g.contributions[:, k].round(3)
        columns[f"{name} cos2"] = g.cos2[:, k].round(3)
        columns[f"{name} v-test"] = g.v_tests[:, k].round(1)
    order = np.argsort(-np.nan_to_num(g.contributions[:, :n], nan=-1.0).sum(axis=1), kind="stable")
    kept = {name: np.asarray(values)[order] for name, values in columns.items()}
    return Table(
        kept,
        [_point_name(g, int(j), a.short_names[g.variables[j]]) for j in order],
        title=f"Levels{'' if g.is_level.all() else ' and numbers'}, by their contributions to these components",
        notes=["Coordinates of numbers are their correlations with the component."]
        if (~g.is_level).any() and not isinstance(a.mapped, MFA)
        else [],
        row_name="level or number",
    )


def _bars(a: MixedAnalysis, k: int) -> Chart:
    """The contributions to one component, with the sign of the coordinates."""
    g, name = a.geometry, a.mapped.component_names_[k]
    at = np.where(g.is_level, g.coordinates[:, k], g.correlations[:, k])
    order = [j for j in np.argsort(-np.nan_to_num(g.contributions[:, k]), kind="stable") if g.active[j]][:_BARS_SHOWN]
    shown = order[::-1]
    texts = [_point_name(g, j, a.short_names[g.variables[j]]) for j in shown]
    values = np.array([100 * g.contributions[j, k] for j in shown])
    # Which end a bar belongs to, by its colour.
    data = []
    for place, (sign, what) in enumerate(((1.0, "high"), (-1.0, "low"))):
        own = [i for i, j in enumerate(shown) if (at[j] >= 0) == (sign > 0)]
        names = labels(texts)
        more: Any = {"x": values[own], "y": [names[i] for i in own], "orientation": "h", "name": f"{what} scores"}
        data.append(bar("%{y}: %{x:.1f}%", place, showlegend=True, **more))
    average = 100.0 / max(int(g.active.sum()), 1)
    n_left = int(g.active.sum()) - len(order)
    rest = f" The other {count(n_left, 'bar')} would be shorter." if n_left else ""
    return Chart(
        key=f"contributions-{k + 1}",
        title=f"What makes up {a.component_title(k)}",
        alt=f"Bars of the contributions of {count(len(order), 'level or number', 'levels and numbers')} to {name}.",
        data=data,
        layout=axes(
            axis("contribution in percent"),
            axis(type="category", automargin=True, categoryorder="array", categoryarray=labels(texts)),
            legend=1.08,
            barmode="overlay",
            shapes=[guide("x", average, dash="dash")],
        ),
        height=max(300, 22 * len(shown) + 130),
        caption=(
            f"The dashed line is the average contribution. Colours tell at which end of {name} a level or number "
            f"is.{rest}"
        ),
    )


def _point_name(g: Any, j: int, column: str | None = None) -> str:
    """A level or number in charts: "sex = female", "age"; its column may be called otherwise."""
    return f"{column or g.variables[j]} = {g.levels[j]}" if g.levels[j] else g.names[j]


def _plane(a: MixedAnalysis, x: int, y: int) -> Chart:
    """The levels as points, one colour for each category, and the numbers as arrows, on two components."""
    g, both = a.geometry, [x, y]
    drawn, beyond = _within(g, both)
    reach = float(np.abs(g.coordinates[drawn][:, both]).max(initial=0.0)) or 1.0
    correlations = np.nan_to_num(g.correlations[:, both])
    lengths = np.sqrt((correlations**2).sum(axis=1))
    arrows = np.flatnonzero(~g.is_level & (lengths >= _SHORT_ARROW * float(lengths.max(initial=0.0))) & (lengths > 0))
    ends = correlations[arrows] * (0.9 * reach / (float(lengths.max(initial=0.0)) or 1.0))
    # Names of arrows come first, and those of levels where there is room left, by their contributions.
    weight = np.nan_to_num(g.contributions[:, both]).sum(axis=1) + 1e-6 * np.nan_to_num(g.cos2[:, both]).sum(axis=1)
    few = drawn[np.argsort(-weight[drawn], kind="stable")][:_NAMED]
    names, texts = [brief(g.names[j]) for j in arrows], {int(j): plain(_short_name(a, int(j)), 26) for j in few}
    at = np.concatenate([ends, g.coordinates[few][:, both]])
    found = name_places(at, [*(plain(name, 22) for name in names), *texts.values()], 1.15 * reach)
    places = dict(zip(texts, found[len(names) :], strict=True))
    data = _level_traces(a, drawn, both, texts, places)
    caption = "Levels of one column have one colour; the larger the point, the more rows have the level."
    if len(arrows):
        lines, points = arrow_traces({"numbers": (names, ends)}, 1.15 * reach)[0]
        data += [lines, {**points, "showlegend": True, "hovertemplate": "%{customdata}<extra></extra>"}]
        caption += (
            " Arrows are numbers: a row has large numbers where they point to. They are correlations, stretched by one "
            "factor so that they can be seen; short ones are left out."
        )
    if rest := len(drawn) - sum(bool(place) for place in places.values()):
        verb = "has" if rest == 1 else "have"
        caption += f" {count(rest, 'level')} {verb} no name for lack of room; the pointer shows it."
    if len(beyond):
        far = [level_name(a.short_names[g.variables[j]], g.levels[j]) for j in beyond]
        caption += f" Rare and far outside, and therefore not drawn: {listed(far)}."
    # Room for names at both sides, also on a narrow screen.
    shown = np.concatenate([g.coordinates[drawn][:, both], ends, np.zeros((1, 2))])
    low, high = shown.min(axis=0), shown.max(axis=0)
    room = np.where(high > low, high - low, 1.0) * np.array([0.4, 0.1])
    ranges = np.column_stack([low - room, high + room]).tolist()
    alt = [count(len(drawn), "level")] * bool(len(drawn)) + [count(len(arrows), "number")] * bool(len(arrows))
    return Chart(
        key=f"levels-{x + 1}-{y + 1}",
        title="Map of the levels" + (" and numbers" if len(arrows) else ""),
        alt=f"{listed(alt)} on the plane of two components.",
        data=data,
        layout=axes(
            axis(a.component_title(x), range=ranges[0]),
            axis(a.component_title(y), range=ranges[1], scaleanchor="x"),
            legend=1.08,
        ),
        height=600,
        caption=caption,
    )


def _within(g: Any, both: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """The levels that are drawn, and the rare ones that are so far outside that they would squeeze all others."""
    levels = np.flatnonzero(g.is_level)
    far = np.abs(g.coordinates[levels][:, both]).max(axis=1, initial=0.0)
    rare = np.nan_to_num(g.share[levels]) < _NOT_NAMED
    if rare.all():
        return levels, levels[:0]
    outside = rare & (far > _FAR * float(far[~rare].max()))
    return levels[~outside], levels[outside]


def _level_traces(
    a: MixedAnalysis, drawn: np.ndarray, both: list[int], texts: dict[int, str], places: dict[int, str]
) -> list[dict[str, Any]]:
    """The levels as points with their names, one trace for each category."""
    g, found = a.geometry, []
    for i, column in enumerate(dict.fromkeys(g.variables[j] for j in drawn)):
        own = [int(j) for j in drawn if g.variables[j] == column]
        aside = not g.active[own[0]]
        parts = [float(np.nan_to_num(g.share[j])) for j in own]
        named = [f"{_point_name(g, j)} ({share(part)} of the rows)" for j, part in zip(own, parts, strict=True)]
        trace = scatter(
            "markers+text",
            "%{customdata}<br>%{x:.3~g}, %{y:.3~g}",
            x=g.coordinates[own, both[0]],
            y=g.coordinates[own, both[1]],
            text=[texts[j] if places.get(j) else "" for j in own],
            textposition=[places.get(j) or "middle right" for j in own],
            textfont={"size": 11},
            customdata=[plain(name, 100) for name in named],
            name=plain(a.short_names[column], 24),
            cliponaxis=False,
        )
        marker = {
            "color": GREY if aside else color(i),
            "symbol": f"{symbol(i)}-open" if aside else symbol(i),
            "size": [float(6 + 12 * np.sqrt(max(part, 0.0))) for part in parts],
        }
        found.append({**trace, "marker": marker, "showlegend": True})
    return found


def _short_name(a: MixedAnalysis, j: int) -> str:
    """The name of a level on the map: its text alone where that says enough."""
    column, level = a.short_names[a.geometry.variables[j]], a.geometry.levels[j]
    return f"{column} = {level}" if _VAGUE.fullmatch(level.strip()) or level in (MISSING, RARE) else level


# Missing entries.


def missing_section(a: MixedAnalysis) -> Section | None:
    """What was done about missing entries; None if there are none."""
    levels, numbers = a.missing_levels, a.missing_numbers
    if not levels and not numbers:
        return None
    text, summary = list(_missing_levels(a, levels)), []
    if numbers:
        frequent = sorted(numbers.items(), key=lambda item: -item[1])
        some = [f"{brief(name)} ({share(n / a.n)})" for name, n in frequent]
        if a.estimates:
            done = "are estimated by EM from the other columns of their rows"
            text.append(
                f"Missing numbers {done}: {listed(some, 8)}. The numbers are taken for Gaussian, given the levels. "
                "Rows with estimated entries lie closer to the model than others, and the map does not show how "
                "uncertain they are."
            )
        else:
            done = "are replaced by the mean of their column"
            text.append(
                f"Missing numbers {done}: {listed(some, 8)}. A row is then neither high nor low there, which pulls it "
                "to the middle of the map; where much is missing, the column counts for less."
            )
        text += _goes_with(a, numbers)
        summary.append(f"missing numbers {done}")
    if levels:
        how = "a level of their own" if getattr(a.mapped, "missing", "level") != "passive" else "passive"
        summary.insert(0, f"missing entries of categories are {how}")
    by_level = "passive" if getattr(a.mapped, "missing", "level") == "passive" else "a level"
    shares = levels | {name: n / a.n for name, n in numbers.items()}
    order = sorted(shares, key=lambda name: -shares[name])
    table = Table(
        {
            "missing": [share(shares[name]) for name in order],
            "treated as": [
                ("estimated" if a.estimates else "the mean") if name in numbers else by_level for name in order
            ],
        },
        order,
        title="Columns with missing entries",
        row_name="column",
    )
    lead = "Where entries are missing, and what was done about it."
    sentence = "; ".join(summary)
    return Section(
        "missing",
        "Missing entries",
        lead,
        [*prose(*text), Listing(table, shown=12)],
        " ".join([f"{sentence[0].upper()}{sentence[1:]}.", *_goes_with(a, numbers)]),
    )


#: A number is missing by design if nearly all rows of a level lack it, and few of the others.
_BY_DESIGN, _OTHERWISE = 0.95, 0.3


def _goes_with(a: MixedAnalysis, numbers: Any) -> list[str]:
    """The numbers that are missing in nearly all rows of a level, and in few others."""
    found = []
    for name in numbers if a.opened.held else ():
        (lacking,) = np.isnan(a.mixed_rows.array([name])).T
        for column in a.categories:
            entries = a.mixed_rows.labels_of(column)
            for level in a.mixed_rows.entries[column].labels:
                own = entries == level
                inside, outside = float(lacking[own].mean()), float(lacking[~own].mean()) if not own.all() else 1.0
                if inside >= _BY_DESIGN and outside <= _OTHERWISE and own.sum() >= 10:
                    where = "all" if inside == 1.0 else f"{share(inside)} of the"
                    others = "none" if outside == 0.0 else share(outside)
                    found.append(
                        f"{brief(name)} is missing in {where} rows with {level_name(column, level)} and in "
                        f"{others} of the others: there it may not apply, and what stands for it says nothing."
                    )
    return found[:2]


def _missing_levels(a: MixedAnalysis, levels: Any) -> Iterator[str]:
    """What is said of missing entries of categories."""
    if not levels:
        return
    some = [f"{brief(name)} ({share(part)})" for name, part in sorted(levels.items(), key=lambda item: -item[1])]
    if getattr(a.mapped, "missing", "level") == "passive":
        yield f"Rows with a missing entry of {listed(some, 8)} are where they would be with an average entry."
        return
    yield (
        f"Missing entries of categories are a level of their own, {MISSING}: {listed(some, 8)}. So the map shows "
        "whether rows without an entry are like each other; if entries are missing by chance, that level is near the "
        "middle."
    )
