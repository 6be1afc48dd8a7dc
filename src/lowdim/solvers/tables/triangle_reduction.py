"""Coordinates from the R factor of all tables side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...linalg import FLOAT64_EPS, column_lengths, require_rows
from ...summaries import Triangle
from ..base import Cost
from .problem import Tables, TablesJob
from .reduction import Reduction
from .side_by_side import summary_on_host, views_of_root
from .views import Views


@dataclass(frozen=True)
class TriangleReduction(Reduction):
    """Coordinates A = R, the triangular factor of the QR decomposition of all tables side by side: nothing is squared.

    One pass over the rows and p min(n, p) numbers of memory; p counts the columns of all tables. It takes several times
    the work of `covariance`.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from lowdim import CCA
    >>> from lowdim.solvers import TriangleReduction
    >>> CCA(1, solver=TriangleReduction()).fit(*load_linnerud(return_X_y=True)).correlations_.round(4)
    array([0.7956])
    """

    name = "triangle"
    starts_from = Triangle

    def views(self, tables: Tables, standardize: Sequence[bool], ddof: int) -> Views:
        summary = Triangle(sum(tables.widths), groups=tables.widths)
        return self.views_of_summary(tables.joint.summarize(summary), tables.names, standardize, ddof)

    def views_of_summary(
        self, summary: Triangle, names: tuple[str, ...], standardize: Sequence[bool], ddof: int
    ) -> Views:
        require_rows(summary.n_rows, summary.weight, ddof, fixed=True)
        summary, there = summary_on_host(summary)
        R = summary.root.astype(np.float64)
        lengths = column_lengths(R)
        root = R / np.where(lengths > 0, lengths, 1.0)
        return Views(
            tables=views_of_root(root, lengths, summary, names, standardize, ddof),
            names=names,
            weight=summary.weight,
            n_rows=summary.n_rows,
            ddof=ddof,
            n_columns=summary.n_features,
            epsilon=FLOAT64_EPS,
            squared=summary.squared,
            reduction=self.name,
            there=there,
        )

    def cost(self, job: TablesJob) -> Cost:
        n, p = job.rows, job.p
        short = min(n, p)
        n_bytes = 8 * 5 * p * (p if job.n is None else short)
        # With fewer rows than columns the rows themselves are the coordinates.
        few = job.n is not None and job.n < p
        why = "the rows are few and their columns cannot be read" if few else "nothing is squared"
        return Cost(6 * n * p * short + 20 * short**3, self.passes, n_bytes, why)

    def is_sensible(self, job: TablesJob) -> bool:
        """If rows are few, and their inner products, which are cheaper, cannot be computed."""
        return job.is_wide and not job.allows_gram
