"""Coordinates from the inner products of rows, for fewer rows than columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..._xp import Array, asarray_like, astype, dense, namespace, to_numpy
from ...errors import needs_columns
from ...linalg import (
    FLOAT32_EPS,
    FLOAT64_EPS,
    column_lengths,
    divisor,
    eigh_descending,
    have_digits,
    is_constant,
    numerical_rank,
    require_rows,
    require_size,
)
from ...summaries import Gram
from ...summaries.base import check_squares
from ...summaries.gram import centred_features, feature_means
from ..base import EIGH_WORK, Cost, RowsLike
from .lifting import GramLift, IdentityLift, divisors
from .problem import Tables, TablesJob
from .reduction import Reduction
from .triangle_reduction import TriangleReduction
from .views import Factors, LiftedVectors, View, Views


@dataclass(frozen=True)
class GramReduction(Reduction):
    """A_i = U diag(s) from the inner products of the rows of table i, U diag(s^2) U^T; Q_i = Z_i^T U diag(1/s).

    For fewer rows than columns. It takes two passes over the columns and n^2 numbers for each table. The centred
    columns of a table with at most n columns are used as coordinates directly. Multiplying by Q_i loses digits in
    directions of small variance.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim import PLSRegression
    >>> from lowdim.solvers import GramReduction
    >>> wide = np.random.default_rng(0).standard_normal((20, 500))
    >>> PLSRegression(2, solver=GramReduction()).fit(wide, wide[:, 0]).solver_
    'gram'
    """

    name = "gram"
    one_pass = False
    passes = 2

    def views(self, tables: Tables, standardize: Sequence[bool], ddof: int) -> Views:
        views = []
        weight, n_used = 0.0, 0
        for every, scaled, name in zip(tables.each, standardize, tables.names, strict=True):
            rows = every.counted()
            assert rows.shape[0] is not None, "refusal() rejects rows of unknown number"
            n_used = rows.shape[0]
            weight = float(n_used) if rows.weights is None else float(namespace(rows.weights).sum(rows.weights))
            require_rows(n_used, weight, ddof, fixed=True)
            wider = rows.shape[1] > n_used
            views.append((_view_of_wide if wider else _view_of_narrow)(rows, scaled, ddof, weight, name))
        narrow = any(r.traits.itemsize < 8 and not s for r, s in zip(tables.each, standardize, strict=True))
        return Views(
            tables=tuple(views),
            names=tables.names,
            weight=weight,
            n_rows=n_used,
            ddof=ddof,
            n_columns=sum(tables.widths),
            epsilon=FLOAT32_EPS if narrow else FLOAT64_EPS,
            squared=True,
            reduction=self.name,
        )

    def cost(self, job: TablesJob) -> Cost:
        n, p = job.rows, job.p
        known = job.traits.known_products
        state = "known" if known else f"cheapest for {n} rows of {p} columns in all"
        products, why = 0 if known else n * n * p, f"inner products are {state}"
        return Cost(products + len(job.widths) * EIGH_WORK * n**3, self.passes, job.gram_bytes, why)

    def refusal(self, job: TablesJob) -> Exception | None:
        refusal = super().refusal(job)
        if refusal is None and not all(job.by_feature):
            return needs_columns(self.name)
        return refusal

    def is_sensible(self, job: TablesJob) -> bool:
        return job.is_wide and job.allows_gram

    def finer(self, job: TablesJob) -> Reduction | None:
        return TriangleReduction()


def _view_of_wide(rows: RowsLike, scaled: bool, ddof: int, weight: float, name: str) -> View:
    """Coordinates of a table with more columns than rows."""
    n = int(rows.shape[0] or 0)
    gram = rows.summarize_features(Gram(n, sample_weight=rows.weights, ddof=ddof if scaled else None))
    G = to_numpy(gram.centred()).astype(np.float64, copy=False)
    squares = float(np.abs(G).max()) or 1.0
    G /= squares
    # The largest eigenvalue is at least the largest entry of the diagonal, and that is the largest entry of all.
    size = np.array([squares if G.any() else 0.0])
    if not have_digits(size, weight):
        # The means are needed only to tell columns that are too small from constant ones.
        means = rows.map_features(lambda block: feature_means(dense(block), rows.weights))
        require_size(size, to_numpy(means)[:, 0].astype(np.float64), weight, table=name)
    unit = math.sqrt(squares)
    lift_samples = GramLift(rows, scaled, ddof)

    def make() -> tuple[np.ndarray, Factors]:
        values, Ut = eigh_descending(G)
        s = np.sqrt(np.clip(values, 0.0, None))
        # Lifting divides by these lengths, but the lifted vectors contain them as factors: only zeros have to go.
        rank = numerical_rank(s, 1, FLOAT64_EPS)
        U, s = Ut[:rank].T, s[:rank]
        return U * s, (U, s, np.eye(rank))

    def lift(vectors: np.ndarray) -> LiftedVectors:
        assert view.factors is not None
        U, s, _ = view.factors
        return lift_samples((U / (s * unit)) @ vectors)

    view = View(make, unit, lift, n, gram=G, lift_samples=lift_samples, is_lifted=True)
    return view


def _view_of_narrow(rows: RowsLike, scaled: bool, ddof: int, weight: float, name: str) -> View:
    """Coordinates of a table with few columns: its columns, centred and times the square roots of the weights."""
    like = rows.empty(0)
    xp = namespace(like)

    def centre(block: Array) -> Array:
        Z, mean, _ = centred_features(astype(dense(block), xp.float64), rows.weights, None)
        check_squares(xp.sum(Z * Z, axis=1))
        return xp.concat([Z, mean[:, None]], axis=1)

    centred = to_numpy(rows.map_features(centre)).astype(np.float64)
    table, mean = centred[:, :-1].T, centred[:, -1]
    if rows.weights is not None:
        table = table * np.sqrt(to_numpy(rows.weights).astype(np.float64))[:, None]
    lengths = column_lengths(table)
    require_size(lengths**2, mean, weight, each=scaled, table=name)
    deviation = lengths / math.sqrt(divisor(weight, ddof))
    deviation = np.where(is_constant(deviation, mean), 0.0, deviation)
    lift = IdentityLift(asarray_like(mean, like, dtype=xp.float64), deviation, scaled)
    table = np.where(deviation > 0, table / divisors(deviation, scaled), 0.0)
    unit = float(np.abs(table).max()) or 1.0
    return View.of(table / unit, unit, lift)
