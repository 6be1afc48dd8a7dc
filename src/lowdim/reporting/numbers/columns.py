"""What the columns hold: their kinds, their skewness, and which of them only identify the rows; and equal rows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .first_pass import FirstPass

#: The kinds of columns.
EMPTY, CONSTANT, BINARY, FEW, COUNTS, WHOLE, DECIMAL = "empty", "constant", "0/1", "few", "counts", "whole", "decimal"
#: A column of whole numbers with at most this many different entries holds grades or codes.
_FEW_VALUES = 10
#: Skewness and different entries are those of about this many numbers, but at least of so many rows.
_LOOKED_AT, _FEWEST_ROWS = 500_000, 1000
#: A column is strongly skewed if its third standardized moment is above this.
_SKEWED = 2.0
#: With fewer rows, different whole numbers that grow from row to row may well be a measurement.
_FEWEST_IDENTIFIED = 20
#: Words that name columns of identifiers.
_IDENTIFIERS = set(
    [
        "id",
        "ids",
        "ident",
        "identifier",
        "index",
        "idx",
        "nr",
        "no",
        "num",
        "number",
        "row",
        "rows",
        "rowid",
        "rowname",
        "rownames",
        "rownumber",
        "unnamed",
        "key",
        "uuid",
        "guid",
        "person",
        "subject",
        "participant",
        "patient",
        "respondent",
        "case",
        "sample",
        "observation",
        "record",
        "serial",
    ]
)


@dataclass(frozen=True)
class Columns:
    """Facts of all columns that are numbers, whether they are analysed or not."""

    kinds: list[str]
    #: The third standardized moment; NaN for columns that do not vary.
    skewness: np.ndarray
    #: Positive columns that are strongly skewed, and far less so after a logarithm (of 1 + x if x may be zero).
    for_logarithm: np.ndarray
    #: Columns that certainly only identify the rows.
    identifiers: np.ndarray
    #: Columns of different whole numbers that may identify the rows, and those that grow by one from row to row.
    suspects: np.ndarray
    sequences: np.ndarray


def column_facts(first: FirstPass, names: Sequence[str]) -> Columns:
    """Facts of the columns, from the first pass and its sample; columns that identify rows are known by their names,
    too."""
    sample = first.sample
    some = thinned(sample)
    kinds = [_kind(first, some[:, j], j) for j in range(len(names))]
    skewness, after = _skewness(some), _skewness(_logarithms(some, first.low))
    # Grades and 0/1 are codes, of which a logarithm makes no sense.
    measured = np.array([kind in (COUNTS, WHOLE, DECIMAL) for kind in kinds], dtype=bool)
    with np.errstate(invalid="ignore"):
        for_logarithm = measured & (first.low >= 0) & (skewness > _SKEWED) & (np.abs(after) < skewness / 2)
    different = np.array([_grows(first, j) for j in range(len(names))], dtype=bool)
    recounts = np.array([_recounts(first, j) for j in range(len(names))], dtype=bool)
    named = np.array([_names_rows(name) for name in names], dtype=bool)
    from_the_first = first.numbering & ((first.low == 0) | (first.low == 1))
    identifiers = from_the_first | ((first.numbering | different | recounts) & named)
    return Columns(
        kinds=kinds,
        skewness=skewness,
        for_logarithm=for_logarithm,
        identifiers=identifiers,
        suspects=different & ~identifiers & ~first.numbering,
        sequences=first.numbering & ~identifiers,
    )


def why_not_analysed(first: FirstPass, columns: Columns, j: int) -> str:
    """Why a column of numbers is not analysed."""
    low, high = first.low[j], first.high[j]
    if first.observed[j] == 0:
        return "all its entries are missing"
    if low == high:
        return f"all its entries are {low:g}"
    if not first.deviation[j] > 0:
        return "it does not vary among the rows that have a weight, or so little that its variance is below all numbers"
    if not columns.identifiers[j]:
        return "the model does not use it"
    if first.numbering[j]:
        return f"it just counts the rows, from {low:.0f} to {high:.0f}"
    if _grows(first, j):
        return (
            "by its name and its entries, whole numbers that grow from row to row, it identifies the rows (as ids, it "
            "would name them)"
        )
    return f"by its name and its entries, it counts the rows of each group, from {low:.0f} to {high:.0f}"


def thinned(rows: np.ndarray) -> np.ndarray:
    """Rows at equal distances, as many as are enough for quantiles and skewness."""
    return rows[:: max(1, min(rows.size // _LOOKED_AT, len(rows) // _FEWEST_ROWS))]


def _kind(first: FirstPass, entries: np.ndarray, j: int) -> str:
    if first.observed[j] == 0:
        return EMPTY
    low, high = first.low[j], first.high[j]
    if low == high:
        return CONSTANT
    # All floats beyond 2^53 are whole.
    if not first.whole[j] or max(abs(low), abs(high)) >= 2.0**53:
        return DECIMAL
    if low == 0 and high == 1:
        return BINARY
    if len(np.unique(entries[~np.isnan(entries)])) <= _FEW_VALUES:
        return FEW
    return COUNTS if low == 0 else WHOLE


def _skewness(X: np.ndarray) -> np.ndarray:
    """The third standardized moment of the observed entries of each column."""
    known = ~np.isnan(X)
    count = np.maximum(known.sum(axis=0), 1)
    centred = np.where(known, X - np.where(known, X, 0.0).sum(axis=0) / count, 0.0)
    # In units of the largest, cubes neither overflow nor underflow.
    centred /= np.maximum(np.abs(centred).max(axis=0, initial=0.0), np.finfo(float).tiny)
    square = (centred**2).sum(axis=0) / count
    cube = (centred**3).sum(axis=0) / count
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(cube / square**1.5)


def _logarithms(X: np.ndarray, low: np.ndarray) -> np.ndarray:
    """log(x), or log(1 + x) for columns with zeros; NaN for columns with negative entries."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(low > 0, np.log(X), np.where(low == 0, np.log1p(X), np.nan))


def _grows(first: FirstPass, j: int) -> bool:
    """Whether a column holds whole numbers without gaps that grow from each row of the sample to the next."""
    if not first.whole[j] or first.observed[j] < max(first.n, _FEWEST_IDENTIFIED):
        return False
    return bool(np.all(np.diff(first.sample[:, j]) > 0))


def _recounts(first: FirstPass, j: int) -> bool:
    """Whether a column counts rows from 0 or 1, again and again: within groups that follow each other."""
    counted = first.sample[:, j]
    if len(counted) < max(first.n, _FEWEST_IDENTIFIED) or first.low[j] not in (0, 1) or first.high[j] <= _FEW_VALUES:
        return False
    return bool(np.all((np.diff(counted) == 1) | (counted[1:] == first.low[j])))


def _names_rows(name: str) -> bool:
    """Whether a name says that a column identifies the rows: "id", "person", "patient_nr", "rowNumber"."""
    parts = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", str(name))
    return any(part.lower() in _IDENTIFIERS for part in parts)


def equal_rows(X: np.ndarray) -> int:
    """The number of rows that are equal to an earlier one; missing entries are equal to each other.

    Rows are compared by a hash of their bits: sums of products with random odd numbers, modulo 2^64.
    """
    factors = np.random.default_rng(0).integers(0, 2**63, X.shape[1], dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    hashes = np.empty(len(X), dtype=np.uint64)
    step = max(1, (1 << 21) // max(1, X.shape[1]))
    for i in range(0, len(X), step):
        block = X[i : i + step] + 0.0
        block[np.isnan(block)] = np.nan
        bits = block.view(np.uint64)
        hashes[i : i + step] = ((bits ^ (bits >> np.uint64(32))) * factors).sum(axis=1, dtype=np.uint64)
    order = np.argsort(hashes, kind="stable")
    repeated = np.flatnonzero(np.diff(hashes[order]) == 0)
    earlier, later = X[order[repeated]], X[order[repeated + 1]]
    return int(np.count_nonzero(np.all((earlier == later) | (np.isnan(earlier) & np.isnan(later)), axis=1)))
