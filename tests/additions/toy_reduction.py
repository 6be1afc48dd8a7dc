"""A reduction of tables: the square root of their scatter, by its eigenvectors."""

from dataclasses import dataclass

import numpy as np

from lowdim.solvers import Cost, Reduction
from lowdim.solvers.pairs.reductions import views_of_root
from lowdim.solvers.pairs.views import Views
from lowdim.summaries import Moments


@dataclass(frozen=True)
class RootReduction(Reduction):
    """A = diag(s) V^T with V diag(s^2) V^T the correlations of all tables side by side."""

    name = "root"
    starts_from = Moments

    def views(self, tables, scale, ddof):
        summary = tables.joint.summarize(Moments(sum(tables.widths), widths=tables.widths))
        return self.views_of_summary(summary, tables.names, scale, ddof)

    def views_of_summary(self, summary, names, scale, ddof):
        S = np.asarray(summary.scatter)
        lengths = np.sqrt(np.diagonal(S))
        values, vectors = np.linalg.eigh(S / lengths / lengths[:, None])
        root = np.sqrt(values.clip(0.0))[:, None] * vectors.T
        return Views(
            tables=views_of_root(root, lengths, summary, names, scale, ddof, S), names=names,
            weight=summary.weight, n_rows=summary.n_rows, ddof=ddof, n_columns=summary.n_features,
            epsilon=summary.product_eps, squared=True, reduction=self.name,
        )  # fmt: skip

    def cost(self, job):
        return Cost(job.rows * job.p**2 + 10.0 * job.p**3, 1, 8 * 5 * job.p**2, "somebody likes it")
