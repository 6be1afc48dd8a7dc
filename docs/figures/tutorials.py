"""The pictures of the tutorials, from data that come with lowdim or with scikit-learn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import colormaps
from sklearn.datasets import load_wine
from sklearn.model_selection import KFold, train_test_split

from lowdim import PCA, FactorAnalysis, PLSRegression, bootstrap, choose_n_components, cross_validate, plot

ROOT = Path(__file__).resolve().parents[2]


def wines() -> tuple[pd.DataFrame, pd.Series]:
    """The measurements of the wines, and their cultivars."""
    wine = load_wine(as_frame=True)
    table = wine.data.rename(columns={"od280/od315_of_diluted_wines": "od280/od315"})
    cultivar = wine.target.map({0: "Barolo", 1: "Grignolino", 2: "Barbera"})
    table.index = [f"{name} {number}" for number, name in enumerate(cultivar, 1)]
    return table, cultivar.set_axis(table.index)


def tutorial_measurements_map(axes: Any) -> None:
    """The variances of the components of the wines, and their map with arrows for the measurements."""
    table, cultivar = wines()
    pca = PCA(3, scale=True).fit(table)
    pca.plot.scree(choose_n_components(table, ["kaiser", "map", "parallel"], scale=True), ax=axes[0])
    pca.plot.biplot(table, hue=cultivar, labels=False, ax=axes[1])


def tutorial_measurements_loadings(axes: Any) -> None:
    """The loadings of three components of the wines, with bootstrap intervals."""
    table, _ = wines()
    pca = PCA(3, scale=True).fit(table)
    draws = bootstrap(PCA(3, scale=True), table, n_resamples=500, random_state=0)
    for ax, component, name in zip(axes, (1, 2, 3), ("phenols", "strength and colour", "ash"), strict=True):
        pca.plot.loading_bars(component, bootstrap=draws, ax=ax)
        ax.set(title=f"PC{component}: {name}", xlabel="loading")


def tutorial_measurements_rows(axes: Any) -> None:
    """Wines that are unusual, and the wines by their first and third scores."""
    table, cultivar = wines()
    pca = PCA(3, scale=True).fit(table)
    pca.plot.outliers(table, alpha=0.01, labels=[name.rpartition(" ")[2] for name in table.index], ax=axes[0])
    pca.plot.scores(table, components=[1, 3], hue=cultivar, labels=False, ax=axes[1])


def answers() -> pd.DataFrame:
    """The answers to 25 questions, of which those that ask for the opposite are reversed."""
    table = pd.read_csv(ROOT / "examples" / "data" / "bfi.csv", index_col="person")
    return table.assign(**(7 - table[["A1", "C4", "C5", "E1", "E2", "O2", "O5"]]))


def tutorial_questionnaire_number(axes: Any) -> None:
    """The eigenvalues of the answers with what is expected by chance, and the loadings of a sixth factor."""
    table = answers()
    plot.scree(choose_n_components(table.dropna(), ["kaiser", "map", "parallel"], scale=True), ax=axes[0])
    six = FactorAnalysis(6, rotation="oblimin", scale=True).fit(table)
    six.plot.loading_bars(6, ax=axes[1])
    axes[1].set_title("the sixth of six factors")


def tutorial_questionnaire_loadings(axes: Any) -> None:
    """The loadings of 25 questions on five factors, and what each question has in common with the others."""
    table = answers()
    fa = FactorAnalysis(5, rotation="oblimin", scale=True).fit(table)
    fa.plot.loadings(ax=axes[0])
    places = np.arange(table.shape[1])
    axes[1].barh(places, fa.communalities_, color="#2166ac")
    axes[1].barh(places, fa.uniquenesses_, left=fa.communalities_, color="0.85")
    axes[1].set(yticks=places, yticklabels=table.columns, xlabel="communality (blue), uniqueness (grey)", xlim=(0, 1))
    axes[1].invert_yaxis()


def gasoline() -> list[Any]:
    """Spectra and octane numbers of 45 samples to learn from, and of 15 that are kept for the end."""
    table = pd.read_csv(ROOT / "tests" / "parity" / "data" / "gasoline.csv")
    table.columns = table.columns.str.removeprefix("nm")
    table.index = [f"sample {number}" for number in range(1, 61)]
    X, X_new, y, y_new = train_test_split(table.drop(columns="octane"), table["octane"], test_size=15, random_state=0)
    return [X, X_new, y, y_new]


def tutorial_spectra_choice(axes: Any) -> None:
    """Spectra as differences from their mean, coloured by octane number, and the error of cross-validation."""
    X, _, y, _ = gasoline()
    for row, octane in zip((X - X.mean()).to_numpy(), y, strict=True):
        shade = colormaps["viridis"]((octane - y.min()) / (y.max() - y.min()))
        axes[0].plot(X.columns.astype(float), row, color=shade, linewidth=0.7)
    axes[0].set(xlabel="wavelength (nm)", ylabel="difference from the mean spectrum")
    axes[0].set_title("45 samples; yellow: high octane number")
    folds = KFold(9, shuffle=True, random_state=0)
    plot.validation(cross_validate(PLSRegression(scale=False), X, y, cv=folds, n_components=range(11)), ax=axes[1])


def tutorial_spectra_wavelengths(axes: Any) -> None:
    """Coefficients of the wavelengths with bootstrap intervals, and their importance."""
    X, _, y, _ = gasoline()
    pls = PLSRegression(3, scale=False).fit(X, y)
    draws = bootstrap(PLSRegression(3, scale=False), X, y, n_resamples=200, random_state=0)
    pls.plot.coefficients(bootstrap=draws, ax=axes[0])
    pls.plot.vip(ax=axes[1])
    for ax in axes:
        ax.set_xlabel("wavelength (nm)")


def tutorial_spectra_rows(axes: Any) -> None:
    """Predictions of new samples, and how far each of these samples is from those of the fit."""
    X, X_new, y, y_new = gasoline()
    pls = PLSRegression(3, scale=False).fit(X, y)
    pls.plot.predictions(X_new, y_new, ax=axes[0])
    pls.plot.outliers(X_new, new_rows=True, ax=axes[1])


#: What is drawn, on how many axes.
FIGURES = {
    "tutorial_measurements_map": (tutorial_measurements_map, 2),
    "tutorial_measurements_loadings": (tutorial_measurements_loadings, 3),
    "tutorial_measurements_rows": (tutorial_measurements_rows, 2),
    "tutorial_questionnaire_number": (tutorial_questionnaire_number, 2),
    "tutorial_questionnaire_loadings": (tutorial_questionnaire_loadings, 2),
    "tutorial_spectra_choice": (tutorial_spectra_choice, 2),
    "tutorial_spectra_wavelengths": (tutorial_spectra_wavelengths, 2),
    "tutorial_spectra_rows": (tutorial_spectra_rows, 2),
}
