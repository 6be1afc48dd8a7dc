"""How far a factor analysis is from the covariance of the rows, and the test of whether its factors are sufficient."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import special
from sklearn.utils.validation import check_is_fitted

from .._xp import to_numpy
from ..attributes import Maybe, Real, Several, Sometimes
from ..errors import other_rows_than_fit, rows_needed_for_test
from ..solvers import LatentFit, Misfit, latent, spectra
from ..sources import with_known_length
from ._latent import LatentModel


class FactorTest(NamedTuple):
    """Test of the hypothesis that this number of factors is sufficient."""

    #: (n - 1 - (2p + 5)/6 - 2k/3) F, with Bartlett's correction, where F is the minimum of the discrepancy. For rows
    #: with missing values n F, which is twice the difference of log-likelihoods.
    chi_square: float
    dof: int
    p_value: float


class MisfitModel(LatentModel):
    """Base class of factor analysis: what compares the model with the covariance of the rows."""

    _discrepancy: float | None
    fitted_attributes = {
        "_discrepancy": Maybe(Real()),
        # Files of version 1.0 do not have these.
        "_null_discrepancy": Sometimes(Maybe(Real())),
        "_residual_squares": Sometimes(Maybe(Several(Real("nonnegative"), Real("nonnegative")))),
    }

    def test(self, X: Any = None, *, sample_weight: Any = None) -> FactorTest:
        """Chi-square test of whether this number of factors is sufficient, with Bartlett's correction [2].

        It needs positive degrees of freedom, and a covariance that is not singular. If the rows of the fit have missing
        values, it needs these rows as `X`, see `misfit`; there is no correction then. `lowdim.inspect.fit_report` gives
        further measures of fit.
        """
        misfit = self.misfit(X, sample_weight=sample_weight)
        p, k, n = self.n_features_in_, self.n_components_, misfit.weight
        dof = degrees_of_freedom(p, k)
        if misfit.discrepancy is None:
            raise ValueError(
                "no test: the covariance is singular (constant or collinear columns, or too few rows); drop such "
                "columns."
            )
        if dof <= 0:
            raise ValueError(f"{k} factors of {p} columns leave {dof} degrees of freedom, so there is nothing to test.")
        factor = chi_square_factor(misfit, p, k)
        if factor <= 0:
            raise ValueError(f"n_samples={n:g} is too few to test {k} factors of {p} columns.")
        chi_square = max(factor * misfit.discrepancy, 0.0)
        return FactorTest(chi_square, dof, float(special.chdtrc(dof, chi_square)))

    def misfit(self, X: Any = None, *, sample_weight: Any = None) -> Misfit:
        """How far the covariance of the model is from the covariance of the rows of the fit.

        Parameters
        ----------
        X : rows of the fit, optional
            Needed if they have missing values, and not read otherwise.
        sample_weight : array of shape (n_samples,), or str, optional
            The weights of the fit, for `X`.

        Returns
        -------
        Misfit
            With `discrepancy` F = ln|Sigma| - ln|S| + tr(S Sigma^{-1}) - p for the covariances Sigma of the model and S
            of the rows (divisor n), `null_discrepancy`, the same for independent columns, `residual_squares`, sums of
            squares of residual correlations, and `weight`, the number of rows.

        Notes
        -----
        For complete rows all of this is known from the fit. With missing values, S is the covariance of maximum
        likelihood given the observed entries, as for full information maximum likelihood [1]_, and F is 2 / n times the
        difference of the log-likelihoods of the observed entries. S is found by EM, with ten to twenty passes over the
        rows and n p^3 operations for each. If at most p rows have no missing value, it may not be determined, which is
        an error. Rows without any observed entry do not count.

        References
        ----------
        .. [1] Enders, Bandalos (2001), The relative performance of full information maximum likelihood estimation for
           missing data in structural equation models.
        """
        check_is_fitted(self)
        if not self._has_holes():
            null, squares = (self.__dict__.get(name) for name in ("_null_discrepancy", "_residual_squares"))
            return Misfit(self.total_weight_, self._discrepancy, null, squares)
        if X is None:
            raise rows_needed_for_test(self.n_samples_)
        X, _, sample_weight = self._by_name(X, None, fitted=True, hold=True, sample_weight=sample_weight)
        source = with_known_length(self._open(X, reset=False, method="misfit"), "for a test with missing values")
        rows = self._rows(source, sample_weight)
        found = latent.saturated(rows, spectra, unstored=self.missing == "unstored", seed=self._seed())
        if found.n_rows != self.n_samples_:
            raise other_rows_than_fit(found.n_rows, self.n_samples_)
        each = to_numpy(self.score_samples(source)).astype(np.float64)
        weights = np.ones(len(each)) if rows.weights is None else to_numpy(rows.weights)
        return found.misfit(self._gaussian, float(weights @ each))

    def _has_holes(self) -> bool:
        """Whether the rows of the fit had missing values: only then EM reads them more than once."""
        return self.solver_ == "em" and self.n_passes_ > 1

    def _keep_misfit(self, fit: LatentFit) -> None:
        """Set the attributes that `misfit` needs."""
        found = fit.misfit
        self._discrepancy = None if found is None else found.discrepancy
        self._null_discrepancy = None if found is None else found.null_discrepancy
        self._residual_squares = None if found is None else found.residual_squares


def degrees_of_freedom(p: int, k: int) -> int:
    """The number of covariances of p columns minus that of the free parameters of k factors."""
    return ((p - k) ** 2 - p - k) // 2


def chi_square_factor(misfit: Misfit, p: int, k: int) -> float:
    """The number that turns a discrepancy of k factors into a chi-square: Bartlett's for complete rows, otherwise n."""
    n = misfit.weight
    return n - 1.0 - (2 * p + 5) / 6.0 - 2.0 * k / 3.0 if misfit.complete else n
