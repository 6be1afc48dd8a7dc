"""All models on data frames of Spark, compared with arrays: the table in docs/spark.md has these tolerances."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from lowdim import (
    CCA,
    ICA,
    PCA,
    PCR,
    PLSSVD,
    PPCA,
    FactorAnalysis,
    KernelPCA,
    PLSCanonical,
    PLSRegression,
    Whitening,
)


def kernel_pca(solver):
    return KernelPCA(2, kernel="gaussian", solver=solver, random_state=0)


PAGE = Path(__file__).parents[3] / "docs" / "spark.md"
#: For each model: how it is made, whether it takes y, an attribute, and the largest difference from an array relative
#: to the largest entry of the attribute.
MODELS = {
    "PCA": (lambda: PCA(2), False, "components_", 1e-13),
    "PCA, krylov": (lambda: PCA(2, solver="krylov"), False, "components_", 1e-12),
    "PCA, triangle": (lambda: PCA(2, solver="triangle"), False, "components_", 1e-13),
    "Whitening": (lambda: Whitening(), False, "components_", 1e-9),
    "PPCA": (lambda: PPCA(2), False, "loadings_", 1e-13),
    "FactorAnalysis": (lambda: FactorAnalysis(2), False, "loadings_", 1e-11),
    "ICA": (lambda: ICA(2, random_state=0), False, "components_", 1e-10),
    "KernelPCA, nystrom": (lambda: kernel_pca("nystrom"), False, "explained_variance_", 1e-11),
    "KernelPCA, fourier": (lambda: kernel_pca("fourier"), False, "explained_variance_", 1e-11),
    "PCR": (lambda: PCR(2), True, "coef_", 1e-12),
    "PLSRegression": (lambda: PLSRegression(2), True, "coef_", 1e-12),
    "PLSCanonical": (lambda: PLSCanonical(2), True, "x_weights_", 1e-12),
    "PLSSVD": (lambda: PLSSVD(2), True, "x_weights_", 1e-12),
    "CCA": (lambda: CCA(2), True, "correlations_", 1e-12),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_model_of_spark_is_that_of_an_array(numbers, X, name):
    make, paired, attribute, most = MODELS[name]
    found = make().fit(numbers, ["d", "e"]) if paired else make().fit(numbers)
    expected = make().fit(X[:, :3], X[:, 3:]) if paired else make().fit(X)
    ours, theirs = (np.asarray(getattr(model, attribute)) for model in (found, expected))
    difference = float(np.abs(ours - theirs).max() / np.abs(theirs).max())
    assert difference <= most
    assert found.n_samples_ == expected.n_samples_
    assert found.solver_ == expected.solver_


def test_the_page_has_these_tolerances():
    rows = re.findall(r"^\| (.+?) \| `(\w+_)` \| (1e-\d+) \|", PAGE.read_text(encoding="utf-8"), re.M)
    assert [(name, attribute, float(most)) for name, attribute, most in rows] == [
        (name, attribute, most) for name, (_, _, attribute, most) in MODELS.items()
    ]
