"""An estimator: PCA of the correlation matrix, with scores of unit variance."""

import numbers

from lowdim._core.arrays import asarray_like, astype, namespace
from lowdim._core.schema import Numbers
from lowdim.features import affine
from lowdim.models.base import Model
from lowdim.solvers import Request, spectra


class CorrelationPCA(Model):
    """Directions of maximal variance of standardized columns; their scores have variance 1."""

    fitted_attributes = {
        "mean_": Numbers("p"),
        "scale_": Numbers("p", sign="positive"),
        "components_": Numbers("k", "p", orthonormal="rows"),
        "explained_variance_": Numbers("k", sign="nonnegative", order="descending"),
        "explained_variance_ratio_": Numbers("k", sign="nonnegative", most=1.0),
    }

    def __init__(self, n_components=1, *, solver="auto", random_state=None):
        self.n_components = n_components
        self.solver = solver
        self.random_state = random_state

    def _check_parameters(self):
        if not isinstance(self.n_components, numbers.Integral) or self.n_components < 1:
            raise ValueError(f"n_components={self.n_components!r} must be a whole number of at least 1.")

    def _request(self, rows):
        n, p = rows.shape
        if n is not None and min(n - 1, p) < self.n_components:
            raise ValueError(f"n_components={self.n_components} is too many for {n} samples of {p} features.")
        return Request(k=int(self.n_components), scale=True, seed=self._seed())

    def _plan_rows(self, rows):
        return spectra.plan(rows, self._request(rows), self.solver)

    def _fit_rows(self, rows):
        spectrum, self.plan_ = spectra.solve(rows, self._request(rows), self.solver)
        self.solver_, self.status_ = self.plan_.solver.name, spectrum.status
        self.n_components_, self.n_samples_ = int(spectrum.values.shape[0]), spectrum.n_rows
        self.mean_, self.scale_ = astype(spectrum.mean, rows.dtype), astype(spectrum.scale, rows.dtype)
        self.components_ = astype(spectrum.vectors, rows.dtype)
        like, cast = spectrum.vectors, {"dtype": rows.dtype}
        self.explained_variance_ = asarray_like(spectrum.variances(1), like, **cast)
        self.explained_variance_ratio_ = asarray_like(spectrum.values / spectrum.total, like, **cast)

    def _scoring(self):
        deviation = namespace(self.mean_).sqrt(self.explained_variance_)
        return affine(self.components_.T / self.scale_[:, None] / deviation[None, :], self.mean_, 1.0)

    def _lift(self):
        deviation = namespace(self.mean_).sqrt(self.explained_variance_)
        return self.components_ * deviation[:, None] * self.scale_[None, :]
