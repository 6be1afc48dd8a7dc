"""The pictures of the pages on choosing K, missing entries and cross-validation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes, load_wine

from lowdim import (
    CCA,
    PCA,
    FactorAnalysis,
    PLSRegression,
    bootstrap,
    choose_n_components,
    cross_validate,
    permutation_test,
    plot,
)

ROOT = Path(__file__).resolve().parents[2]
FIRST, GREY = "#b2182b", "0.7"


def choosing_k(axes: Any) -> None:
    """The answers of the rules for a table of wines, and the variance that the components explain together."""
    wine = load_wine(as_frame=True).data
    plot.scree(choose_n_components(wine, scale=True), ax=axes[0])
    axes[0].set_title("Which components are more than noise?")
    PCA(scale=True).fit(wine).plot.cumulative(ax=axes[1])
    axes[1].set_title("How much do they explain together?")
    # Below the line of 90%, where the curve does not cross the words.
    for text in axes[1].texts:
        text.set(va="top")
        text.xyann = (-4, -4)


def missing_data(axes: Any) -> None:
    """Two measurements of wines, of which one was hidden for a third of the wines and filled in three ways."""
    wine = load_wine(as_frame=True).data
    hidden = np.random.default_rng(0).random(len(wine)) < 1 / 3
    incomplete = wine.copy()
    incomplete.loc[hidden, "flavanoids"] = np.nan
    model = FactorAnalysis(3, scale=True).fit(incomplete)
    place = wine.columns.get_loc("flavanoids")
    filled = {
        "The mean of the column": np.full(len(wine), incomplete["flavanoids"].mean()),
        "Expectations of the model": np.asarray(model.impute(incomplete))[:, place],
        "One draw from the model": model.impute(incomplete, n_draws=1, random_state=0)[0][:, place],
    }
    for ax, (title, values) in zip(axes, filled.items(), strict=True):
        ax.scatter(wine["total_phenols"][~hidden], wine["flavanoids"][~hidden], s=9, color=GREY, label="observed")
        ax.scatter(wine["total_phenols"][hidden], values[hidden], s=14, marker="s", color=FIRST, label="filled in")
        ax.set(title=title, xlabel="total_phenols", ylabel="flavanoids" if ax is axes[0] else "", ylim=(-0.3, 5.4))
    axes[0].legend(loc="upper left", frameon=False)


def cross_validation(axes: Any) -> None:
    """Errors of held-out rows, loadings with bootstrap intervals, and canonical correlations beside those by chance."""
    gasoline = pd.read_csv(ROOT / "tests" / "parity" / "data" / "gasoline.csv")
    spectra, octane = gasoline.drop(columns="octane"), gasoline["octane"]
    plot.validation(cross_validate(PLSRegression(scale=False), spectra, octane, n_components=range(1, 9)), ax=axes[0])
    axes[0].set_title("How many components?")
    wine = load_wine(as_frame=True).data
    some = wine[["alcohol", "malic_acid", "ash", "magnesium", "flavanoids", "color_intensity", "proline"]]
    model = PCA(2, scale=True)
    draws = bootstrap(model, some, n_resamples=500, random_state=0)
    model.fit(some).plot.loading_bars(1, bootstrap=draws, ax=axes[1])
    axes[1].set_title("How certain are loadings?")
    patients = load_diabetes(as_frame=True, scaled=False).data
    body, blood = patients[["age", "sex", "bmi", "bp"]], patients[["s1", "s2", "s3", "s4", "s5", "s6"]]
    found = permutation_test(CCA(), body, blood, n_resamples=199, random_state=0)
    CCA().fit(body, blood).plot.correlations(found, ax=axes[2])
    axes[2].set_title("Which pairs are real?")


#: What is drawn, on how many axes.
FIGURES = {
    "choosing_k": (choosing_k, 2),
    "missing_data": (missing_data, 3),
    "cross_validation": (cross_validation, 3),
}
