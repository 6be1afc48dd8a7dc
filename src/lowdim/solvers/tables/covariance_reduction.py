"""Coordinates from the covariance of all tables side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from ...linalg import quiet_blas, require_rows
from ...summaries import Moments
from ..base import Cost
from .problem import Tables, TablesJob
from .reduction import Reduction
from .side_by_side import summary_on_host, views_of_root
from .triangle_reduction import TriangleReduction
from .views import Views, root_of_products


@dataclass(frozen=True)
class CovarianceReduction(Reduction):
    """Coordinates A = R, with R^T R the scatter matrix of all tables side by side.

    Parameters
    ----------
    wide : bool
        Compute and sum the products of float32 rows in float64.

    Notes
    -----
    One pass over the rows, n p^2 multiplications and p^2 numbers of memory, then a Cholesky decomposition; p counts the
    columns of all tables.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from lowdim import CCA
    >>> from lowdim.solvers import CovarianceReduction
    >>> CCA(1, solver=CovarianceReduction()).fit(*load_linnerud(return_X_y=True)).correlations_.round(4)
    array([0.7956])
    """

    name = "covariance"
    starts_from = Moments
    wide: bool = False

    def views(self, tables: Tables, standardize: Sequence[bool], ddof: int) -> Views:
        # Columns that will be standardized may have any scale, so their squares could overflow in float32.
        summary = Moments(sum(tables.widths), groups=tables.widths, wide=self.wide or any(standardize))
        return self.views_of_summary(tables.joint.summarize(summary), tables.names, standardize, ddof)

    def empty_summary(self, groups: Sequence[int]) -> Moments:
        return Moments(sum(groups), groups=groups, wide=self.wide)

    def views_of_summary(
        self, summary: Moments, names: tuple[str, ...], standardize: Sequence[bool], ddof: int
    ) -> Views:
        require_rows(summary.n_rows, summary.weight, ddof, fixed=True)
        summary, there = summary_on_host(summary)
        S = summary.scatter.astype(np.float64)
        lengths = np.sqrt(np.clip(np.diagonal(S), 0.0, None))
        unit = np.where(lengths > 0, lengths, 1.0)

        @cache
        def root() -> np.ndarray:
            with quiet_blas(len(S)):
                return root_of_products(S / unit / unit[:, None], there)

        return Views(
            tables=views_of_root(root, lengths, summary, names, standardize, ddof, S),
            names=names,
            weight=summary.weight,
            n_rows=summary.n_rows,
            ddof=ddof,
            n_columns=summary.n_features,
            epsilon=summary.product_eps,
            squared=True,
            reduction=self.name,
            there=there,
        )

    def cost(self, job: TablesJob) -> Cost:
        n, p = job.rows, job.p
        why = (
            f"products of columns are cheapest for {p} columns in all"
            if job.traits.rereadable
            else "the stream can be read only once"
        )
        return Cost(n * p * p + p**3, self.passes, 8 * 5 * p * p, why)

    def is_sensible(self, job: TablesJob) -> bool:
        """Unless rows are few and their inner products cannot be computed: then the rows themselves are smaller."""
        return not job.is_wide or job.allows_gram

    def finer(self, job: TablesJob) -> Reduction | None:
        if not self.wide and job.traits.itemsize < 8:
            return CovarianceReduction(wide=True)
        return TriangleReduction()
