"""How well a factor analysis fits, by the measures that are usually reported, and how certain its scores are."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import optimize, special
from sklearn.utils.validation import check_is_fitted

from .._core.arrays import to_numpy
from .._core.types import VectorLike
from ..errors import with_present_names
from ..models.factor_analysis import FactorAnalysis, chi_square_factor, degrees_of_freedom
from ..selection.parallel_analysis import check_probability
from ..solvers.latent.base import Misfit
from ..sources.opening import TableLike
from ..table import Table, Tabular
from .tables import column_names


@dataclass(frozen=True, repr=False)
class FitReport(Tabular):
    """Measures of the fit of a factor analysis. What is not defined is None, and `notes` say why.

    Attributes
    ----------
    n : float
        Number of rows, counted with their weights.
    n_columns, n_factors : int
    chi_square, p_value : float or None
        Test of whether the factors are sufficient, as `FactorAnalysis.test` computes it.
    dof : int
        Its degrees of freedom.
    null_chi_square, null_dof : float or None, int
        The same for the model of independent columns.
    rmsea, rmsea_interval : float or None, pair of floats or None
        Root mean square error of approximation, and its interval at `confidence_level`.
    tli, cfi : float or None
        Tucker-Lewis index and comparative fit index; 1 for a perfect fit.
    rmsr, srmr : float or None
        Root mean square of the residual correlations, without and with the diagonal.
    bic, aic : float
        As `FactorAnalysis.bic` and `aic` for the rows of the fit.
    chi_square_bic : float or None
        chi_square - dof ln n, which R's psych prints as BIC. It compares with the saturated model: below zero, BIC
        prefers the factors.
    determinacy : array of shape (n_factors,)
        Correlation of each factor with its regression scores.
    heywood : list of str
        Columns whose uniqueness is at its lower bound.
    notes : tuple of str

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from lowdim import FactorAnalysis, inspect
    >>> report = inspect.fit_report(FactorAnalysis(2, scale=True).fit(load_wine().data))
    >>> type(report).__name__, report.dof, round(report.rmsea, 3), round(report.cfi, 3)
    ('FitReport', 53, 0.155, 0.817)
    """

    n: float
    n_columns: int
    n_factors: int
    chi_square: float | None
    dof: int
    p_value: float | None
    null_chi_square: float | None
    null_dof: int
    rmsea: float | None
    rmsea_interval: tuple[float, float] | None
    confidence_level: float
    tli: float | None
    cfi: float | None
    rmsr: float | None
    srmr: float | None
    bic: float
    aic: float
    chi_square_bic: float | None
    determinacy: np.ndarray
    factor_names: list[str]
    heywood: list[str] = field(default_factory=list)
    notes: tuple[str, ...] = ()

    def table(self) -> Table:
        """One row for each measure of fit: its value, and the ends of its interval if it has one.

        The determinacies are no measures of fit; `lowdim.inspect.determinacy` has their table.
        """
        measures: dict[str, Any] = {
            "chi-square": self.chi_square,
            "degrees of freedom": self.dof,
            "p-value": self.p_value,
            "RMSEA": self.rmsea,
            "TLI": self.tli,
            "CFI": self.cfi,
            "RMSR": self.rmsr,
            "SRMR": self.srmr,
            "BIC": self.bic,
            "AIC": self.aic,
            "chi-square BIC": self.chi_square_bic,
            "null chi-square": self.null_chi_square,
            "null degrees of freedom": self.null_dof,
        }
        columns = {"value": [math.nan if value is None else float(value) for value in measures.values()]}
        for column, end in zip(("lower", "upper"), self.rmsea_interval or (math.nan, math.nan), strict=True):
            columns[column] = [end if name == "RMSEA" else math.nan for name in measures]
        what = f"{self.n_factors} factor{'s' if self.n_factors > 1 else ''} of {self.n_columns} columns"
        title = f"Fit of {what}, {self.n:g} rows"
        return Table(columns, list(measures), title=title, notes=self.notes, row_name="measure")

    def __repr__(self) -> str:
        return f"FitReport({self.n_factors} factors, chi-square {_number(self.chi_square)}, dof {self.dof})"

    def __str__(self) -> str:
        return "\n".join(map(str, self._printed()))

    def _repr_html_(self) -> str:
        return "".join(table._repr_html_() for table in self._printed())

    def _printed(self) -> tuple[Table, Table]:
        """The table with each number in its own format, since they have very different sizes, and below it how well
        the factors are determined."""
        table = self.table()
        numbers = [_format(name, value) for name, value in zip(table.rows, table["value"], strict=True)]
        width = max(map(len, numbers))
        intervals = [
            "" if math.isnan(low) else f"{self.confidence_level:.0%} interval {_number(low)} to {_number(high)}"
            for low, high in zip(table["lower"], table["upper"], strict=True)
        ]
        cells = [f"{number:>{width}}  {interval}".rstrip() for number, interval in zip(numbers, intervals, strict=True)]
        fit = Table({"value": cells}, table.rows, title=table.title, notes=table.notes)
        return fit, _determinacies(self.determinacy, self.factor_names)


@with_present_names
def fit_report(
    model: FactorAnalysis,
    X: TableLike | None = None,
    *,
    confidence_level: float = 0.9,
    sample_weight: VectorLike | None = None,
) -> FitReport:
    """How well a factor analysis fits: chi-square, RMSEA, TLI, CFI, RMSR and BIC; and the determinacy of its factors.

    Parameters
    ----------
    model : fitted FactorAnalysis
    X : rows of the fit, default=None
        Needed if they have missing values, and not read otherwise.
    confidence_level : float, default=0.9
        The probability with which the interval of RMSEA holds its true value.
    sample_weight : array of shape (n_samples,), or str, default=None
        The weights of the fit, for `X`.

    Returns
    -------
    FitReport
        It prints the measures of fit, and below them the determinacy of the factors, which is no measure of fit: it
        tells how well scores stand for the factors if the model holds. `to_pandas()` has the measures of fit.

    Notes
    -----
    Rotations do not change the fit, so that all measures but the determinacy are the same for all of them. With F the
    minimum of the discrepancy and F0 = -ln|R| that of independent columns, for n rows, p columns and k factors:

    - chi-square = c F with c = n - 1 - (2p + 5)/6 - 2k/3 (Bartlett), as in R's factanal and psych; dof =
      ((p - k)^2 - p - k) / 2. The null chi-square is (n - 1 - (2p + 5)/6) F0, with dof0 = p (p - 1) / 2.
    - RMSEA = sqrt(max(chi-square - dof, 0) / (dof (n - 1))) [1]_. The ends of its interval are sqrt(l / (dof (n - 1))),
      where l is the noncentrality with which chi-square is at the upper or lower quantile of its distribution.
    - TLI = (null chi-square / dof0 - chi-square / dof) / (null chi-square / dof0 - 1) [2]_. It may exceed 1.
    - CFI = 1 - max(chi-square - dof, 0) / max(null chi-square - dof0, chi-square - dof, 0) [3]_.
    - RMSR: root of the mean over pairs of different columns of the squared residual correlations; SRMR: the same over
      the p (p + 1) / 2 entries of a triangle with its diagonal, which maximum likelihood fits exactly except in a
      Heywood case.
    - determinacy: see `determinacy`.

    psych's RMSR and interval of RMSEA are the same. Its RMSEA is sqrt(chi-square / (dof n) - 1 / (n - 1)), the null
    chi-square in its TLI has the multiplier c of the model, and its BIC is `chi_square_bic`.

    With missing values, F and F0 are 2 / n times differences of log-likelihoods of the observed entries, residuals are
    those of the covariance of maximum likelihood, and c = n, without Bartlett's correction, as in programs for
    structural equations. See `FactorAnalysis.misfit`, which also says how many passes that takes.

    For complete rows, the report needs no pass over the rows; the fit keeps what is necessary.

    References
    ----------
    .. [1] Steiger, Lind (1980), Statistically based tests for the number of common factors; Browne, Cudeck (1992),
       Alternative ways of assessing model fit.
    .. [2] Tucker, Lewis (1973), A reliability coefficient for maximum likelihood factor analysis.
    .. [3] Bentler (1990), Comparative fit indexes in structural models.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim import FactorAnalysis, inspect
    >>> from lowdim.summaries import Moments
    >>> R = np.array([[1.0, 0.6, 0.5, 0.3], [0.6, 1.0, 0.4, 0.3], [0.5, 0.4, 1.0, 0.2], [0.3, 0.3, 0.2, 1.0]])
    >>> report = inspect.fit_report(FactorAnalysis(1).fit_summary(Moments.from_covariance(R, n_samples=300)))
    >>> report.dof, round(report.chi_square, 2), report.rmsea, round(report.cfi, 3)
    (2, 1.52, 0.0, 1.0)
    """
    check_probability("confidence_level", confidence_level)
    _check_factors(model, "fit_report")
    misfit = model.misfit(X, sample_weight=sample_weight)
    p, k, n = model.n_features_in_, model.n_components_, misfit.weight
    dof, null_dof = degrees_of_freedom(p, k), p * (p - 1) // 2
    factor = chi_square_factor(misfit, p, k)
    chi_square = null_chi_square = p_value = rmsea = interval = tli = cfi = chi_square_bic = None
    if misfit.discrepancy is not None and factor > 0.0:
        chi_square = max(factor * misfit.discrepancy, 0.0)
        if misfit.null_discrepancy is not None:
            null_chi_square = chi_square_factor(misfit, p, 0) * misfit.null_discrepancy
    if chi_square is not None and dof > 0:
        p_value = float(special.chdtrc(dof, chi_square))
        excess = max(chi_square - dof, 0.0)
        rmsea = math.sqrt(excess / (dof * (n - 1.0)))
        ends = noncentral_ends(chi_square, dof, confidence_level)
        interval = (math.sqrt(ends[0] / (dof * (n - 1.0))), math.sqrt(ends[1] / (dof * (n - 1.0))))
        chi_square_bic = chi_square - dof * math.log(n)
        if null_chi_square is not None:
            # TLI and CFI compare with the model of independent columns.
            null = null_chi_square / null_dof
            tli = None if null == 1.0 else (null - chi_square / dof) / (null - 1.0)
            worst = max(null_chi_square - null_dof, excess)
            cfi = 1.0 - excess / worst if worst > 0.0 else 1.0
    rmsr = srmr = None
    if misfit.residual_squares is not None and p > 1:
        pairs, own = misfit.residual_squares
        rmsr, srmr = math.sqrt(pairs / null_dof), math.sqrt((pairs + own) / (null_dof + p))
    deviance = -2.0 * model.loglike_[-1]
    columns = column_names(model)
    heywood = [columns[j] for j in np.flatnonzero(to_numpy(model.heywood_))]
    return FitReport(
        n=n,
        n_columns=p,
        n_factors=k,
        chi_square=chi_square,
        dof=dof,
        p_value=p_value,
        null_chi_square=null_chi_square,
        null_dof=null_dof,
        rmsea=rmsea,
        rmsea_interval=interval,
        confidence_level=float(confidence_level),
        tli=tli,
        cfi=cfi,
        rmsr=rmsr,
        srmr=srmr,
        bic=deviance + math.log(model.total_weight_) * model.n_parameters_,
        aic=deviance + 2.0 * model.n_parameters_,
        chi_square_bic=chi_square_bic,
        determinacy=_determinacy(model),
        factor_names=list(model.component_names_),
        heywood=heywood,
        notes=tuple(_notes(misfit, chi_square, dof, heywood)),
    )


def determinacy(model: FactorAnalysis) -> Table:
    """How well the scores of a factor analysis determine its factors.

    For each factor, "correlation" is that of the factor with its regression scores, r; "r2" is its square, the share of
    the variance of the factor that the columns explain; "smallest" is 2 r2 - 1, the smallest correlation that two
    different sets of scores can have which agree equally well with the model [1]_. Below 0.9 or so, scores should not
    stand for the factors of single rows.

    Notes
    -----
    r_j^2 = 1 - c_jj, where C = (phi^{-1} + L^T Psi^{-1} L)^{-1} is the posterior covariance of the factors given a
    complete row. This holds for oblique rotations too.

    References
    ----------
    .. [1] Guttman (1955), The determinacy of factor score matrices with implications for five other basic problems of
       common-factor theory.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from lowdim import FactorAnalysis, inspect
    >>> print(inspect.determinacy(FactorAnalysis(2, scale=True).fit(load_wine().data)))
    Determinacy of the factors
        correlation      r2  smallest
    F1       0.9780  0.9565    0.9130
    F2       0.9383  0.8804    0.7607
    """
    _check_factors(model, "determinacy")
    return _determinacies(_determinacy(model), model.component_names_)


def _determinacies(r: np.ndarray, names: list[str]) -> Table:
    """The table of `determinacy`, from the correlations of the factors with their regression scores."""
    columns = {"correlation": r, "r2": r**2, "smallest": 2.0 * r**2 - 1.0}
    return Table(columns, names, title="Determinacy of the factors", row_name="factor")


def _check_factors(model: Any, what: str) -> None:
    """Refuse models that are no factor analysis, or not fitted."""
    if not isinstance(model, FactorAnalysis):
        raise TypeError(f"{what} is for a fitted FactorAnalysis, got {type(model).__name__}.")
    check_is_fitted(model)


def _determinacy(model: Any) -> np.ndarray:
    """The correlation of each factor with its regression scores."""
    L, phi, psi = (to_numpy(a).astype(np.float64) for a in (model.loadings_, model.phi_, model.noise_variance_))
    C = np.linalg.inv(np.linalg.inv(phi) + L.T @ (L / psi[:, None]))
    return np.sqrt(np.clip(1.0 - np.diagonal(C) / np.diagonal(phi), 0.0, 1.0))


def noncentral_ends(chi_square: float, dof: int, confidence_level: float) -> tuple[float, float]:
    """The noncentralities with which `chi_square` is at the upper and at the lower quantile of the two that enclose
    the probability `confidence_level`; zero if even the central distribution has it on the other side."""

    def end(probability: float) -> float:
        if special.chdtr(dof, chi_square) <= probability:
            return 0.0
        # The standard deviation of the noncentral distribution at its largest possible noncentrality.
        most = chi_square + 40.0 * math.sqrt(2.0 * (dof + 2.0 * chi_square)) + 100.0
        return float(optimize.brentq(lambda nc: special.chndtr(chi_square, dof, nc) - probability, 0.0, most))

    return end(0.5 * (1.0 + confidence_level)), end(0.5 * (1.0 - confidence_level))


def _notes(misfit: Misfit, chi_square: float | None, dof: int, heywood: list[str]) -> list[str]:
    notes = []
    if misfit.discrepancy is None:
        notes.append(
            "No chi-square: the covariance of the rows is singular (as many columns as rows, constant or collinear "
            "columns)."
        )
    elif chi_square is None:
        notes.append(f"No chi-square: {misfit.weight:g} rows are too few for so many columns and factors.")
    if dof <= 0:
        notes.append(f"Nothing to test: {dof} degrees of freedom. RMSEA, TLI and CFI need some.")
    if misfit.residual_squares is None:
        notes.append("The file of this model is from a version that kept no residuals; fit it again for RMSR and CFI.")
    if not misfit.complete:
        notes.append(
            "Entries are missing, so likelihoods are those of the observed ones, without Bartlett's correction."
        )
    if heywood:
        names = ", ".join(heywood[:5]) + (f" and {len(heywood) - 5} more" if len(heywood) > 5 else "")
        notes.append(f"Heywood case, uniqueness at its lower bound: {names}. Take chi-square and p with caution.")
    return notes


def _format(name: str, value: float) -> str:
    """The value of a measure as text."""
    if name.endswith("freedom"):
        return str(int(value))
    return f"{value:.1e}" if name == "p-value" and 0.0 < value < 1e-3 else _number(value)


def _number(value: float | None) -> str:
    """A number with three decimals, with one if it is large, or a dash."""
    if value is None or math.isnan(value):
        return "-"
    return f"{value:.3f}" if abs(value) < 1e3 else f"{value:.1f}"
