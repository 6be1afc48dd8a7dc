"""The report of a factor analysis, and what reports of other models say of themselves."""

import numpy as np
import pytest
from sklearn.datasets import load_wine

import lowdim
from lowdim import CCA, ICA, PCA, PPCA, FactorAnalysis, FeatureMapPCA, KernelPCA, PLSRegression, Whitening, inspect
from lowdim.errors import LowdimWarning, without_warnings
from lowdim.reporting import factors, loadings, outliers, reconstruction
from lowdim.reporting.analysis import Analysis, ReportOptions
from lowdim.reporting.blocks import Chart, Listing, Menu, Prose
from lowdim.reporting.columns import OpenedTable
from reporting.tables import prose, report_of, section_of

WINE = load_wine(as_frame=True).data
X, Y = WINE.iloc[:, :8], WINE.iloc[:, 8:11]


def analysis(model, table=X, **given):
    return Analysis(OpenedTable(table, **given), ReportOptions(model=model))


def fitted(model):
    with without_warnings(LowdimWarning):
        return model.fit(X)


def text_of(section):
    return " ".join(block.text for block in section.blocks if isinstance(block, Prose))


def tables(section):
    return {block.table.title: block.table for block in section.blocks if isinstance(block, Listing)}


def charts(section):
    found = [chart for block in section.blocks if isinstance(block, Menu) for chart in block.charts.values()]
    return found + [block for block in section.blocks if isinstance(block, Chart)]


@pytest.mark.parametrize("rotation", [None, "varimax", "oblimin"])
def test_what_a_paper_quotes(rotation):
    fa = fitted(FactorAnalysis(3, scale=True, rotation=rotation))
    section = factors.section(analysis(fa))
    text, found, fit = text_of(section), tables(section), inspect.fit_report(fa)
    whole = 100 * np.mean(fa.communalities_)
    assert f"Together the factors explain {whole:.1f}% of the variance" in text
    assert {None: "not rotated", "varimax": "by varimax, which keeps", "oblimin": "by oblimin and correlated"}[
        rotation
    ] in text
    for words in (
        f"{fit.dof} degrees of freedom",
        f"RMSEA {fit.rmsea:.3f} (90% interval {fit.rmsea_interval[0]:.3f} to {fit.rmsea_interval[1]:.3f})",
        f"CFI {fit.cfi:.3f}, TLI {fit.tli:.3f} and SRMR {fit.srmr:.3f}",
    ):
        assert words in section.summary and words in text
    assert f"(KMO) is {lowdim.factor_suitability(X).kmo:.2f}" in text
    table = found["Loadings, communalities and uniquenesses"]
    np.testing.assert_allclose(table["F2"], fa.loadings_[:, 1])
    np.testing.assert_allclose(table["communality"], fa.communalities_)
    np.testing.assert_allclose(table["uniqueness"], fa.uniquenesses_)
    assert ("Correlations of the factors" in found) == (rotation == "oblimin")
    assert ("Correlations of columns with factors" in found) == (rotation == "oblimin")


@pytest.mark.parametrize("scale", [True, False])
def test_loadings_and_correlations_are_those_of_the_factors(scale):
    """Not those of the estimated scores; and standardised loadings are not in the units of the columns."""
    fa = fitted(FactorAnalysis(2, scale=scale, rotation="promax"))
    a = analysis(fa)
    np.testing.assert_allclose(a.meaning.loadings, fa.loadings_)
    np.testing.assert_allclose(a.meaning.correlations, inspect.structure(fa).values)
    section = loadings.section(a)
    captions = {chart.key: chart.caption for chart in charts(section)}
    assert ("in its standard deviations" if scale else "in its own units") in captions["loadings-1"]
    assert "the other factors stay as they are" in captions["loadings-1"]
    assert "describe completely" not in captions["correlation-circle"]
    assert "weighted sum of them" in section.lead


def test_a_model_of_factors_is_not_said_to_have_components():
    made = section_of(X, "how-many", model=FactorAnalysis(2))
    assert "The given model has 2 factors. The rules below are about the principal components." in prose(made)
    computed = report_of(X, "how-many", model=FactorAnalysis(2)).sections[-1]
    assert "FactorAnalysis with 2 factors, of 8 columns" in prose(computed)


def test_no_fit_without_degrees_of_freedom():
    three = X.iloc[:, 4:7]
    section = factors.section(analysis(FactorAnalysis(1, scale=True).fit(three), three))
    assert "How well the factors fit is not known." in section.summary and "0 degrees of freedom" in section.summary
    assert factors.section(analysis(fitted(PCA(2)))) is None


def test_missing_entries_are_not_filled_in_before_factors_are_fitted():
    holes = X.copy()
    holes.iloc[::7, 2] = np.nan
    with without_warnings(LowdimWarning):
        a = analysis(FactorAnalysis(2, scale=True), holes)
        section = factors.section(a)
        alone = FactorAnalysis(2, scale=True).fit(holes)
    np.testing.assert_allclose(a.model.loadings_, alone.loadings_, atol=1e-6)
    fit = inspect.fit_report(alone, holes)
    assert f"RMSEA {fit.rmsea:.3f}" in section.summary and "without Bartlett's correction" in section.summary


@pytest.mark.parametrize(
    "model",
    [PPCA(2), ICA(2), FactorAnalysis(2), KernelPCA(2, kernel="rbf", gamma=1 / 1800), FeatureMapPCA(2), Whitening()],
    ids=lambda model: type(model).__name__,
)
def test_sections_about_pca_say_that_they_are_not_about_the_model(model, tmp_path):
    made = fitted(model).report(X, tmp_path / "page.html")
    name = type(model).__name__
    assert f"The model is {name}; the sections" in made.summary[0] and "are about PCA" in made.summary[0]
    assert not any("fits worst" in sentence for sentence in made.summary)
    leads = {section.key: section.lead for section in made.sections}
    for key in ("misfits", "rebuilding"):
        assert f"not about the {name}" in leads[key]
    nonlinear = isinstance(model, KernelPCA | FeatureMapPCA)
    assert ("need not be weighted sums" in leads["meaning"]) == nonlinear
    text = " ".join(text_of(section) for section in made.sections)
    assert "further axes show the rest" not in text


def test_the_page_of_pca_is_about_the_model():
    a = analysis(fitted(PCA(2, scale=True)))
    assert "not about" not in outliers.section(a).lead + reconstruction.section(a).lead


@pytest.mark.parametrize("model", [PLSRegression(2), CCA(2)], ids=["PLSRegression", "CCA"])
def test_what_is_not_shown_of_models_of_two_tables(model, tmp_path):
    made = model.fit(X, Y).report(X, tmp_path / "page.html")
    assert "about the second table is printed by print(model)" in made.summary[0]
    (section,) = (section for section in made.sections if section.key == "meaning")
    assert "Correlations of the columns with" in next(chart.title for chart in charts(section))
    assert "positive correlations" in section.lead


def test_whitened_columns_are_told_from_the_columns():
    a = analysis(fitted(Whitening("zca")))
    assert text_of(loadings.section(a)).startswith("whitened alcohol rises with alcohol")
