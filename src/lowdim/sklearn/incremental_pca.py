"""IncrementalPCA with the arguments of scikit-learn's."""

from __future__ import annotations

from typing import Any, Self

from sklearn import decomposition

from .._xp import asarray_like, namespace
from ..attributes import Numbers, Sometimes, Whole
from ..models._principal import count_rows
from ..reading import Rows
from ..solvers import Solver, spectra
from .sklearn_pca import PrincipalComponents


class IncrementalPCA(PrincipalComponents):
    """PCA of rows that arrive in blocks, as `sklearn.decomposition.IncrementalPCA`, but exact.

    scikit-learn keeps the leading components of the rows so far, and loses what the later blocks would have made of the
    others. Here the QR factor of all rows so far is kept (`summary_`), so that the result is that of PCA, whatever the
    blocks. It takes n_features_in_^2 numbers of memory.

    Parameters
    ----------
    n_components : int or None
        Number of components. None keeps as many as the first block has rows or columns, as in scikit-learn.
    whiten : bool
        As in scikit-learn, but whitened scores of components without variance are 0, and not rounding errors divided by
        rounding errors.
    copy : bool
        Without effect: rows are never overwritten.
    batch_size : int or None
        The number of rows of the first block of `fit`, which limits the number of components if `n_components` is None.
        It has no other effect: the result does not depend on the blocks.

    Attributes
    ----------
    components_, explained_variance_, explained_variance_ratio_, singular_values_, mean_, noise_variance_, n_components_
        As in PCA.
    var_ : array of shape (n_features_in_,)
        Variances of the columns, with divisor n.
    n_samples_seen_ : int
        Number of rows so far. `partial_fit` goes on after `fit`, as in scikit-learn.
    batch_size_ : int
        `batch_size`, or 5 n_features_in_ if that is None.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim.sklearn import PCA, IncrementalPCA
    >>> X = np.random.default_rng(0).standard_normal((100, 5))
    >>> pca = IncrementalPCA(2).fit(X[:60]).partial_fit(X[60:])
    >>> pca.n_samples_seen_, np.allclose(pca.components_, PCA(2).fit(X).components_)
    (100, True)
    """

    solver = "triangle"
    fitted_attributes = {
        "batch_size_": Sometimes(Whole(1)),
        "n_samples_seen_": Whole(1),
        "var_": Numbers("p", sign="nonnegative"),
    }
    _parameter_constraints = decomposition.IncrementalPCA._parameter_constraints

    def __init__(
        self, n_components: int | None = None, *, whiten: bool = False, copy: bool = True, batch_size: int | None = None
    ) -> None:
        self.n_components = n_components
        self.whiten = whiten
        self.copy = copy
        self.batch_size = batch_size

    def partial_fit(self, X: Any, y: Any = None, check_input: bool = True, sample_weight: Any = None) -> Self:
        """Update the model with further rows. The result is exact: the same as a fit to all rows at once.

        `check_input` has no effect: rows are always checked, while they are read.
        """
        return super().partial_fit(X, y, sample_weight)

    def _fit_rows(self, rows: Rows) -> None:
        n, p = count_rows(rows, self.ddof, self._fixed_ddof), rows.shape[1]
        self.__dict__.pop("n_components_", None)
        self.batch_size_ = 5 * p if self.batch_size is None else int(self.batch_size)
        if self.n_components is None:
            self.n_components_ = min(self.batch_size_, p if n is None else n, p)
        solver = spectra.streaming_solver(self._solver())
        self.summary_ = rows.summarize(self._empty_summary(solver, p))
        self._dtype = rows.dtype
        self._fit_summary(self.summary_, solver, rows.dtype, passes=1)

    def _keep_summary(self, rows: Rows) -> None:
        """The summary is kept already, whatever its size."""

    def _k(self, n: int | None, p: int) -> int:
        kept: int | None = self.__dict__.get("n_components_")
        rows = p if n is None else n
        k = self.n_components
        if k is None:
            return min(rows, p) if kept is None else kept
        if k > p:
            raise ValueError(
                f"n_components={k!r} invalid for n_features={p}, need more rows than columns for IncrementalPCA "
                f"processing: at most {p} components."
            )
        if kept is None and k > rows:
            raise ValueError(
                f"n_components={k!r} must be less or equal to the batch number of samples {rows} for the first "
                "partial_fit call: give a larger first block."
            )
        if kept is not None and k != kept:
            raise ValueError(f"n_components={k!r}, but the blocks so far had {kept}; call fit to start anew.")
        return int(k)

    def _least_rows(self, p: int) -> int:
        return 2

    def _fit_summary(self, summary: Any, solver: Solver, dtype: Any, passes: int = 0) -> None:
        super()._fit_summary(summary, solver, dtype, passes)
        self.n_samples_seen_ = summary.n_rows
        factor = summary.root
        squares = namespace(factor).sum(factor * factor, axis=0)
        self.var_ = asarray_like(squares / summary.weight, self.mean_, dtype=self.mean_.dtype)
