"""The report of a factor analysis against its formulas, written out."""

import math

import numpy as np
import pytest
from scipy import optimize, stats

from inputs import with_missing
from lowdim import PPCA, FactorAnalysis
from lowdim.inspect import determinacy, fit_report
from lowdim.inspect.factor_fit import noncentral_ends
from lowdim.summaries import Moments

# Heywood cases are a property of the rows, and these have some.
pytestmark = pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")

RNG = np.random.default_rng(5)
LOADINGS = np.array([[0.8, 0.7, 0.6, 0.7, 0.1, 0.0, 0.2], [0.1, 0.0, 0.2, 0.3, 0.8, 0.7, 0.6]])
NOISE = np.sqrt(1 - np.sum(LOADINGS**2, axis=0))


def rows(n=250, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, 2)) @ LOADINGS + rng.standard_normal((n, 7)) * NOISE


X = rows()


def slow_report(fa, X):
    """All measures from the correlation matrix and the model, with scipy.stats and a search for the interval."""
    n, p, k = *X.shape, fa.n_components_
    sd = X.std(axis=0)
    R = np.corrcoef(X, rowvar=False)
    Sigma = fa.get_covariance() / np.outer(sd, sd)
    F = np.linalg.slogdet(Sigma)[1] - np.linalg.slogdet(R)[1] + np.trace(np.linalg.solve(Sigma, R)) - p
    F0 = -np.linalg.slogdet(R)[1]
    dof, dof0 = ((p - k) ** 2 - p - k) // 2, p * (p - 1) // 2
    c = n - 1 - (2 * p + 5) / 6 - 2 * k / 3
    chi, chi0 = c * F, (n - 1 - (2 * p + 5) / 6) * F0
    residuals = (R - Sigma)[np.tril_indices(p, -1)]
    ends = [
        0.0
        if stats.chi2.cdf(chi, dof) < q
        else optimize.brentq(lambda nc, q=q: stats.ncx2.cdf(chi, dof, nc) - q, 1e-12, 10 * chi + 100)
        for q in (0.95, 0.05)
    ]
    return {
        "chi_square": chi,
        "dof": dof,
        "p_value": stats.chi2.sf(chi, dof),
        "null_chi_square": chi0,
        "null_dof": dof0,
        "rmsea": math.sqrt(max(chi / dof - 1, 0) / (n - 1)),
        "rmsea_interval": [math.sqrt(end / dof / (n - 1)) for end in ends],
        "tli": (chi0 / dof0 - chi / dof) / (chi0 / dof0 - 1),
        "cfi": 1 - max(chi - dof, 0) / max(chi0 - dof0, chi - dof, 0),
        "rmsr": math.sqrt(np.mean(residuals**2)),
        "bic": fa.bic(X),
        "aic": fa.aic(X),
        "chi_square_bic": chi - dof * math.log(n),
    }


@pytest.fixture(scope="module", params=[1, 2, 3])
def both(request):
    """Reports of a fit: the one of lowdim, and the one that is written out."""
    fa = FactorAnalysis(request.param).fit(X)
    return fit_report(fa), slow_report(fa, X)


def assert_agree(both, *names):
    report, slow = both
    for name in names:
        np.testing.assert_allclose(getattr(report, name), slow[name], rtol=1e-6, atol=1e-9, err_msg=name)


def test_chi_square_of_factors(both):
    assert_agree(both, "chi_square", "dof", "p_value")


def test_chi_square_of_the_null_model(both):
    assert_agree(both, "null_chi_square", "null_dof")


def test_rmsea(both):
    assert_agree(both, "rmsea", "rmsea_interval")


def test_tli(both):
    """By the chi-squares of the report, and by those of the oracle."""
    assert_agree(both, "tli")
    report, _ = both
    null = report.null_chi_square / report.null_dof
    assert report.tli == pytest.approx((null - report.chi_square / report.dof) / (null - 1), abs=1e-12)


def test_cfi(both):
    assert_agree(both, "cfi")


def test_rmsr(both):
    assert_agree(both, "rmsr")


def test_chi_square_bic(both):
    assert_agree(both, "chi_square_bic")


def test_bic_and_aic_of_factors(both):
    assert_agree(both, "bic", "aic")


def test_the_report_and_its_table():
    fa = FactorAnalysis(2).fit(X)
    report = fit_report(fa)
    assert report.chi_square == fa.test().chi_square and report.n == 250
    assert fa.tables.fit_report().cfi == report.cfi and len(fa.tables.determinacy()) == 2
    table = report.table()
    assert table.row("CFI")["value"] == report.cfi and table.row("RMSEA")["upper"] == report.rmsea_interval[1]


def test_rotations_change_the_determinacy_alone():
    plain, turned = (fit_report(FactorAnalysis(2, rotation=r).fit(X)) for r in (None, "oblimin"))
    names = list(slow_report(FactorAnalysis(2).fit(X), X))
    np.testing.assert_allclose(
        [getattr(turned, n) for n in names if "interval" not in n],
        [getattr(plain, n) for n in names if "interval" not in n],
        rtol=1e-9,
    )
    assert not np.allclose(plain.determinacy, turned.determinacy, atol=1e-4)


def test_the_right_number_of_factors_fits_and_one_less_does_not():
    one, two = (fit_report(FactorAnalysis(k).fit(X)) for k in (1, 2))
    assert one.p_value < 1e-6 and two.p_value > 0.01
    assert one.rmsea_interval[0] > 0.08 > two.rmsea
    assert two.cfi > 0.97 > one.cfi and two.tli > 0.95 > one.tli
    assert two.chi_square_bic < 0 < one.chi_square_bic


@pytest.mark.parametrize("rotation", [None, "varimax", "promax"])
def test_determinacy_is_the_correlation_of_factors_with_their_scores(rotation):
    fa = FactorAnalysis(2, rotation=rotation, scale=True).fit(X)
    L, phi, psi = fa.loadings_, fa.phi_, fa.uniquenesses_
    Sigma = L @ phi @ L.T + np.diag(psi)
    expected = np.sqrt(np.diag(phi @ L.T @ np.linalg.solve(Sigma, L @ phi)))
    table = determinacy(fa)
    np.testing.assert_allclose(table["correlation"], expected, rtol=1e-9)
    np.testing.assert_allclose(table["smallest"], 2 * expected**2 - 1, rtol=1e-9)
    assert table.rows == ["F1", "F2"]
    np.testing.assert_array_equal(fit_report(fa).determinacy, table["correlation"])
    # Factors that are drawn, and the scores of their rows.
    f = RNG.standard_normal((100_000, 2)) @ np.linalg.cholesky(phi).T
    drawn = (f @ L.T + RNG.standard_normal((100_000, 7)) * np.sqrt(psi)) * fa.scale_ + fa.mean_
    scores = fa.transform(drawn)
    for j in range(2):
        assert np.corrcoef(f[:, j], scores[:, j])[0, 1] == pytest.approx(expected[j], abs=0.01)


def test_with_missing_entries():
    incomplete = with_missing(X, 0.05)
    fa = FactorAnalysis(2).fit(incomplete)
    report, whole = fit_report(fa, incomplete), fit_report(FactorAnalysis(2).fit(X))
    assert report.dof == whole.dof and report.chi_square == fa.test(incomplete).chi_square
    assert report.bic == pytest.approx(fa.bic(incomplete), rel=1e-9)
    assert abs(report.cfi - whole.cfi) < 0.05 and abs(report.rmsr - whole.rmsr) < 0.02
    assert "without Bartlett's correction" in str(report)
    with pytest.raises(ValueError, match="pass them as X"):
        fit_report(fa)


def test_what_is_not_defined_is_said():
    saturated = fit_report(FactorAnalysis(4).fit(X))
    assert saturated.dof < 0 and saturated.p_value is saturated.rmsea is saturated.cfi is None
    assert "Nothing to test: -1 degrees of freedom" in str(saturated)
    wide = fit_report(FactorAnalysis(1).fit(RNG.standard_normal((8, 20))))
    assert wide.chi_square is None and wide.rmsr > 0 and "covariance of the rows is singular" in str(wide)
    few = fit_report(FactorAnalysis(1).fit_summary(Moments.from_covariance(np.eye(8) + 0.5, 4)))
    assert few.chi_square is None and "4 rows are too few" in str(few)


def test_a_perfect_fit():
    R = np.full((4, 4), 0.5) + 0.5 * np.eye(4)
    report = fit_report(FactorAnalysis(1).fit_summary(Moments.from_covariance(R, 100)))
    assert (report.rmsea, report.cfi, report.rmsea_interval) == (0.0, 1.0, (0.0, 0.0))
    assert report.chi_square < 1e-8 and report.rmsr < 1e-6 and report.p_value == pytest.approx(1.0)


def test_one_column_and_other_models():
    report = fit_report(FactorAnalysis(1).fit(X[:, :1]))
    assert report.rmsr is None and report.null_dof == 0
    with pytest.raises(TypeError, match="fit_report is for a fitted FactorAnalysis, got PPCA"):
        fit_report(PPCA(2).fit(X))
    with pytest.raises(ValueError, match=r"confidence_level=1.5 must lie strictly between 0 and 1"):
        fit_report(FactorAnalysis(1).fit(X), confidence_level=1.5)


@pytest.mark.parametrize(("chi_square", "dof"), [(8.0, 3), (1e3, 50), (1e5, 300), (2.0, 10)])
@pytest.mark.parametrize("confidence_level", [0.5, 0.9, 0.99])
def test_ends_of_noncentrality(chi_square, dof, confidence_level):
    for nc, q in zip(
        noncentral_ends(chi_square, dof, confidence_level),
        (0.5 + confidence_level / 2, 0.5 - confidence_level / 2),
        strict=True,
    ):
        if nc == 0.0:
            assert stats.chi2.cdf(chi_square, dof) <= q
        else:
            assert stats.ncx2.cdf(chi_square, dof, nc) == pytest.approx(q, rel=1e-6)


def test_it_prints():
    text = str(fit_report(FactorAnalysis(2).fit(X)))
    assert text.startswith("Fit of 2 factors of 7 columns, 250 rows")
    fit, title, determinacies = text.partition("Determinacy of the factors")
    assert "90% interval" in fit and "F2" not in fit
    assert title + determinacies == str(determinacy(FactorAnalysis(2).fit(X)))
    assert max(map(len, text.splitlines())) <= 80
    assert "<table>" in fit_report(FactorAnalysis(1).fit(X))._repr_html_()
