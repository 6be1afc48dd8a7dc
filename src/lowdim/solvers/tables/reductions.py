"""Three ways from rows to coordinates: by moments, by their QR factor, by inner products of rows."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, ClassVar

import numpy as np

from ..._memory import memory_bytes
from ..._xp import Array, asarray_like, astype, dense, namespace, to_numpy
from ...errors import choice, needs_memory, read_once
from ...linalg import (
    FLOAT32_EPS,
    FLOAT64_EPS,
    column_lengths,
    divisor,
    eigh_descending,
    is_constant,
    quiet_blas,
)
from ...summaries import Gram, Moments, Triangle
from ...summaries.base import check_squares
from ...summaries.gram import centred_features
from ..base import EIGH_WORK, RowsLike, require_rows
from .lifting import ByColumns, Kept, divisors
from .views import View, Views


@dataclass(frozen=True)
class Tables:
    """What a way is handed: rows of all tables side by side, and of each alone."""

    joint: RowsLike
    each: Sequence[RowsLike]
    names: tuple[str, ...]

    @property
    def groups(self) -> tuple[int, ...]:
        """Widths of the tables."""
        return tuple(rows.shape[1] for rows in self.each)


class Way(ABC):
    """One way from rows to coordinates."""

    name: ClassVar[str]
    one_pass: ClassVar[bool] = True

    @abstractmethod
    def views(self, tables: Tables, scale: Sequence[bool], ddof: int) -> Views:
        """Read the rows. Tables with `scale` have their columns divided by their standard deviation."""

    def finer(self, tables: Tables) -> Way | None:
        """The next more accurate way, if there is one."""
        return None

    @abstractmethod
    def n_bytes(self, tables: Tables) -> int:
        """Bytes beside the rows, about."""

    def refusal(self, tables: Tables) -> Exception | None:
        """Why this cannot be done with these rows, or None."""
        needed, have = self.n_bytes(tables), memory_bytes()
        if have and needed > have:
            advice = "Keep fewer columns, or reduce each table by PCA first."
            return needs_memory(f"solver={self.name!r} on tables of {sum(tables.groups)} columns", needed, have, advice)
        return None


@dataclass(frozen=True)
class ByMoments(Way):
    """A = R with R^T R = the scatter of all tables side by side.

    One pass, n p^2 multiplications, p^2 numbers, then a Cholesky factor; p counts the columns of all tables.
    """

    name = "covariance"
    wide: bool = False

    def views(self, tables: Tables, scale: Sequence[bool], ddof: int) -> Views:
        p = sum(tables.groups)
        # Columns that are to be divided by their deviation may have any scale, and float32 has no room for squares.
        summary = Moments(p, groups=tables.groups, wide=self.wide or any(scale))
        return self.from_summary(tables.joint.summarize(summary), tables.names, scale, ddof)

    def from_summary(
        self, moments: Moments, names: tuple[str, ...], scale: Sequence[bool], ddof: int, passes: int = 1
    ) -> Views:
        """Coordinates without rows."""
        require_rows(moments.n_rows, moments.weight, ddof, fixed=True)
        S = to_numpy(moments.scatter).astype(np.float64)
        lengths = np.sqrt(np.clip(np.diagonal(S), 0.0, None))
        unit = np.where(lengths > 0, lengths, 1.0)
        with quiet_blas(len(S)):
            root = _root(S / unit / unit[:, None])
        views = _side_by_side(root, lengths, moments, scale, ddof, S)
        return _gathered(
            views,
            names=names,
            summary=moments,
            ddof=ddof,
            epsilon=moments.product_eps,
            squared=True,
            way=self.name,
            passes=passes,
        )

    def n_bytes(self, tables: Tables) -> int:
        return 8 * 5 * sum(tables.groups) ** 2

    def finer(self, tables: Tables) -> Way | None:
        if not tables.joint.traits.rereadable:
            return None
        if not self.wide and tables.joint.traits.itemsize < 8:
            return ByMoments(wide=True)
        return ByTriangle()


@dataclass(frozen=True)
class ByTriangle(Way):
    """A = R, the triangle of the QR decomposition of all tables side by side: nothing is squared. One pass."""

    name = "triangle"

    def views(self, tables: Tables, scale: Sequence[bool], ddof: int) -> Views:
        summary = Triangle(sum(tables.groups), groups=tables.groups)
        return self.from_summary(tables.joint.summarize(summary), tables.names, scale, ddof)

    def from_summary(
        self, triangle: Triangle, names: tuple[str, ...], scale: Sequence[bool], ddof: int, passes: int = 1
    ) -> Views:
        """Coordinates without rows."""
        require_rows(triangle.n_rows, triangle.weight, ddof, fixed=True)
        R = to_numpy(triangle.root).astype(np.float64)
        lengths = column_lengths(R)
        root = R / np.where(lengths > 0, lengths, 1.0)
        views = _side_by_side(root, lengths, triangle, scale, ddof)
        return _gathered(
            views,
            names=names,
            summary=triangle,
            ddof=ddof,
            epsilon=FLOAT64_EPS,
            squared=False,
            way=self.name,
            passes=passes,
        )

    def n_bytes(self, tables: Tables) -> int:
        p, n = sum(tables.groups), tables.joint.shape[0]
        return 8 * 5 * p * (p if n is None else min(n, p))


@dataclass(frozen=True)
class ByGram(Way):
    """A_i = U diag(s) from the inner products of the rows of table i, U diag(s^2) U^T; Q_i = Z_i^T U diag(1/s).

    For fewer rows than columns. Two passes over the columns of each table, n^2 numbers for each. A table of fewer
    columns than rows is its own coordinates. Lifting by Q_i costs digits where directions are small.
    """

    name = "gram"
    one_pass = False

    def views(self, tables: Tables, scale: Sequence[bool], ddof: int) -> Views:
        views = []
        weight, n_used = 0.0, 0
        for every, scaled in zip(tables.each, scale, strict=True):
            rows = every.counted()
            assert rows.shape[0] is not None, "refusal() has seen to it"
            n_used = rows.shape[0]
            weight = float(n_used) if rows.weights is None else float(namespace(rows.weights).sum(rows.weights))
            require_rows(n_used, weight, ddof, fixed=True)
            if rows.shape[1] > n_used:
                views.append(self._turned(rows, scaled, ddof))
            else:
                views.append(_as_it_is(rows, scaled, ddof))
        narrow = any(r.traits.itemsize < 8 and not s for r, s in zip(tables.each, scale, strict=True))
        return Views(
            tables=tuple(views),
            names=tables.names,
            weight=weight,
            n_rows=n_used,
            ddof=ddof,
            n_columns=sum(tables.groups),
            epsilon=FLOAT32_EPS if narrow else FLOAT64_EPS,
            squared=True,
            way=self.name,
            passes=2,
        )

    def finer(self, tables: Tables) -> Way | None:
        return ByTriangle()

    def n_bytes(self, tables: Tables) -> int:
        n = tables.joint.shape[0] or 0
        return 8 * len(tables.each) * 5 * n * n

    def refusal(self, tables: Tables) -> Exception | None:
        if any(rows.shape[0] is None or not rows.traits.by_feature for rows in tables.each):
            return ValueError("solver='gram' reads columns, which a stream of blocks cannot give; use 'triangle'.")
        return super().refusal(tables)

    def _turned(self, rows: RowsLike, scaled: bool, ddof: int) -> View:
        """Coordinates of a table with more columns than rows."""
        n = int(rows.shape[0] or 0)
        gram = rows.summarize_features(Gram(n, sample_weight=rows.weights, ddof=ddof if scaled else None))
        G = to_numpy(gram.centred()).astype(np.float64)
        unit = float(np.abs(G).max()) or 1.0
        values, Ut = eigh_descending(G / unit)
        unit, s = math.sqrt(unit), np.sqrt(np.clip(values, 0.0, None))
        # Lifting divides by these lengths, but what is lifted has them as factors: only zeros have to go.
        rank = int(np.count_nonzero(s > FLOAT64_EPS * s[0])) if len(s) else 0
        U, s = Ut[:rank].T, s[:rank]
        table = U * s
        lift = ByColumns(rows, U / (s * unit), scaled, ddof)
        return View(table, unit, lift, (U, s, np.eye(rank)))


#: Ways by name.
WAYS: dict[str, type[Way]] = {cls.name: cls for cls in (ByMoments, ByTriangle, ByGram)}


def choose_way(tables: Tables, asked: Any) -> Way:
    """The way asked for, or the cheapest one."""
    if isinstance(asked, Way):
        way = asked
    elif asked == "auto":
        way = _cheapest(tables)
    elif isinstance(asked, str) and asked in WAYS:
        way = WAYS[asked]()
    else:
        raise choice("solver", asked, ["auto", *WAYS])
    if not way.one_pass and not tables.joint.traits.rereadable:
        raise read_once(way.name)
    refusal = way.refusal(tables)
    if refusal is not None:
        raise refusal
    return way


def _cheapest(tables: Tables) -> Way:
    """Inner products of rows or of columns, whichever are fewer multiplications; the rows themselves where these are
    few and columns cannot be read."""
    n, p = tables.joint.shape
    dual = ByGram()
    if n is None or n >= max(tables.groups):
        return ByMoments()
    if dual.refusal(tables) is not None:
        return ByTriangle() if n < p else ByMoments()
    inner = n * n * p + len(tables.each) * EIGH_WORK * n**3
    outer = n * p * p + p**3
    return dual if inner < outer or ByMoments().refusal(tables) is not None else ByMoments()


def _gathered(
    views: tuple[View, ...],
    *,
    names: tuple[str, ...],
    summary: Moments | Triangle,
    ddof: int,
    epsilon: float,
    squared: bool,
    way: str,
    passes: int,
) -> Views:
    return Views(
        tables=views,
        names=names,
        weight=summary.weight,
        n_rows=summary.n_rows,
        ddof=ddof,
        n_columns=summary.n_features,
        epsilon=epsilon,
        squared=squared,
        way=way,
        passes=passes,
    )


def _root(C: np.ndarray) -> np.ndarray:
    """R with R^T R = C, for C with a unit diagonal (zero for constant columns)."""
    try:
        return np.linalg.cholesky(C).T
    except np.linalg.LinAlgError:
        values, vectors = eigh_descending(C)
        return np.sqrt(np.clip(values, 0.0, None))[:, None] * vectors


def _side_by_side(
    root: np.ndarray,
    lengths: np.ndarray,
    summary: Moments | Triangle,
    scale: Sequence[bool],
    ddof: int,
    S: np.ndarray | None = None,
) -> tuple[View, ...]:
    """Views from unit columns that lie side by side, the lengths these had, and, if it is there, their scatter."""
    views = []
    edges = list(accumulate(summary.groups, initial=0))
    for (i, j), scaled in zip(pairwise(edges), scale, strict=True):
        deviation = lengths[i:j] / math.sqrt(divisor(summary.weight, ddof))
        # What varies by the rounding of its entries only is constant.
        deviation = np.where(is_constant(deviation, to_numpy(summary.mean[i:j])), 0.0, deviation)
        length = np.where(deviation > 0, lengths[i:j], 0.0)
        units = np.where(length > 0, math.sqrt(divisor(summary.weight, ddof)), 1.0) if scaled else length
        unit = float(units.max()) or 1.0
        table = root[:, i:j] * np.where(length > 0, units / unit, 0.0)
        kept = Kept(summary.mean[i:j], deviation, scaled)
        shrunk = np.where(length > 0, units / unit / np.where(length > 0, length, 1.0), 0.0)
        products = None if S is None else S[i:j, i:j] * shrunk * shrunk[:, None]
        views.append(View(table, unit, kept, products=products))
    return tuple(views)


def _as_it_is(rows: RowsLike, scaled: bool, ddof: int) -> View:
    """A table of few columns, centred and root-weighted, as its own coordinates."""
    like = rows.empty(0)
    xp = namespace(like)

    def centre(block: Array) -> Array:
        Z, mean, _ = centred_features(astype(dense(block), xp.float64), rows.weights, None)
        check_squares(xp.sum(Z * Z, axis=1))
        return xp.concat([Z, mean[:, None]], axis=1)

    centred = to_numpy(rows.map_features(centre)).astype(np.float64)
    table, mean = centred[:, :-1].T, centred[:, -1]
    weight = float(len(table))
    if rows.weights is not None:
        w = to_numpy(rows.weights).astype(np.float64)
        table, weight = table * np.sqrt(w)[:, None], float(w.sum())
    deviation = column_lengths(table) / math.sqrt(divisor(weight, ddof))
    deviation = np.where(is_constant(deviation, mean), 0.0, deviation)
    kept = Kept(asarray_like(mean, like, dtype=xp.float64), deviation, scaled)
    table = np.where(deviation > 0, table / divisors(deviation, scaled), 0.0)
    unit = float(np.abs(table).max()) or 1.0
    return View(table / unit, unit, kept)
