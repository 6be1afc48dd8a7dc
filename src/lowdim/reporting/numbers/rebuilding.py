"""Rows rebuilt from the first components: how much is lost, and some rows to look at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .arrays import floats
from .first_pass import FirstPass
from .groupings import Grouping
from .scoring import largest
from .seen import Seen

#: Rows that are rebuilt best and worst, typical rows of groups, and rows of a table without groups.
_BEST, _WORST, _GROUPS, _OTHERS = 4, 4, 10, 10
#: The largest number of entries of the components.
_ENTRIES = 300_000


@dataclass(frozen=True)
class ChosenRow:
    """A row to look at, and why it was chosen."""

    number: int
    #: "typical", "other", "best" or "worst".
    kind: str


@dataclass(frozen=True)
class Rebuilding:
    """What is needed to rebuild rows: x = mean + scale sum_k z_k w_k.

    For pictures the columns are all columns of the table, otherwise those that are analysed.
    """

    #: The positions of the columns in the table.
    columns: np.ndarray
    mean: np.ndarray
    scale: np.ndarray | None
    #: Shape (K, p).
    components: np.ndarray
    #: The rows to look at, their scores and their entries.
    chosen: list[ChosenRow]
    scores: np.ndarray
    rows: np.ndarray
    #: The share of the variance that 0, 1, ..., K components do not keep.
    lost: np.ndarray
    #: The root mean square of the difference of an entry; None if columns are scaled.
    off_by: np.ndarray | None
    #: The range of all entries.
    low: float
    high: float


def rebuilding(
    model: Any, first: FirstPass, used: np.ndarray, whole: bool, seen: Seen, groups: Sequence[Grouping]
) -> Rebuilding:
    """Rows rebuilt by a fitted PCA of the columns `used`, together with all other columns if `whole`."""
    p = len(first.mean)
    columns = np.arange(p) if whole else used
    where = used if whole else np.arange(len(used))
    most = max(1, min(int(model.n_components_), _ENTRIES // len(columns)))
    W = floats(model.components_)[:most]
    mean = _spread_out(floats(model.mean_), where, np.nan_to_num(first.low[columns]))
    scale = None if model.scale_ is None else _spread_out(floats(model.scale_), where, np.ones(len(columns)))
    components = np.zeros((most, len(columns)))
    components[:, where] = W
    chosen = chosen_rows(seen, groups)
    places = np.searchsorted(seen.rows.numbers, [row.number for row in chosen])
    entries = seen.rows.entries[places]
    centred = entries - floats(model.mean_)
    if model.scale_ is not None:
        centred = centred / floats(model.scale_)
    rows = np.tile(mean, (len(chosen), 1))
    rows[:, where] = entries
    shares = floats(model.explained_variance_ratio_)[:most]
    lost = np.clip(1.0 - np.concatenate([[0.0], np.cumsum(shares)]), 0.0, None)
    total = float(floats(model.explained_variance_)[0] / shares[0]) if shares[0] > 0 else 0.0
    return Rebuilding(
        columns=columns,
        mean=mean,
        scale=scale,
        components=components,
        chosen=chosen,
        scores=centred @ W.T,
        rows=rows,
        lost=lost,
        off_by=None if scale is not None else np.sqrt(total * lost / len(columns)),
        low=float(np.nanmin(first.low[columns])),
        high=float(np.nanmax(first.high[columns])),
    )


def chosen_rows(seen: Seen, groups: Sequence[Grouping]) -> list[ChosenRow]:
    """About twenty rows: those nearest to the means of the groups of the first grouping, or some from all over the
    table; then those of which the model keeps the smallest and the largest share."""
    rows = seen.rows
    found: dict[int, ChosenRow] = {}
    if groups:
        deviations = np.sqrt(np.diagonal(_or_ones(seen.spread.covariance, rows.scores.shape[1])))
        units = np.where(deviations > 0, deviations, 1.0)
        sizes = np.array([spread.rows for spread in seen.groups[0]])
        for level in np.sort(np.argsort(-sizes, kind="stable")[:_GROUPS]):
            members = np.flatnonzero(groups[0].codes[rows.numbers] == level)
            if len(members) and (mean := seen.groups[0][level].mean) is not None:
                away = (((rows.scores[members] - mean) / units) ** 2).sum(axis=1)
                number = int(rows.numbers[members[np.argmin(away)]])
                found[number] = ChosenRow(number, "typical")
    else:
        drawn = rows.numbers[seen.chosen]
        for i in np.unique(np.linspace(0, len(drawn) - 1, min(_OTHERS, len(drawn))).astype(int)):
            found[int(drawn[i])] = ChosenRow(int(drawn[i]), "other")
    for kind, values, size in (("worst", -rows.kept, _WORST), ("best", rows.kept, _BEST)):
        for i in largest(values, size, rows.numbers):
            found.setdefault(int(rows.numbers[i]), ChosenRow(int(rows.numbers[i]), kind))
    return list(found.values())


def _spread_out(values: np.ndarray, where: np.ndarray, others: np.ndarray) -> np.ndarray:
    """The values at their places, and those of the other columns elsewhere."""
    out = others.astype(np.float64)
    out[where] = values
    return out


def _or_ones(covariance: np.ndarray | None, k: int) -> np.ndarray:
    return np.eye(k) if covariance is None else covariance
