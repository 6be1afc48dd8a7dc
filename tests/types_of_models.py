"""What type checkers know of models. `make lint` runs mypy on this file, and tests/test_types.py does if it is there.

`assert_type` states what a type is. A line with `type: ignore` must be an error: mypy reports those that are not.
"""

from typing import assert_type

import numpy as np

import lowdim
from lowdim import CCA, ICA, PCA, PCR, PPCA, FactorAnalysis, KernelPCA, PLSRegression, Table, cross_validate
from lowdim.inspect import ModelTables
from lowdim.plot import ModelPlots
from lowdim.reporting import Report
from lowdim.selection import Choice, CrossValidation
from lowdim.solvers import Plan


def types_of_one_table(X: np.ndarray) -> None:
    pca = PCA(2).fit(X)
    assert_type(pca, PCA)
    assert_type(pca.set_params(whiten=True).set_output(transform="default"), PCA)
    assert_type(pca.components_, np.ndarray)
    assert_type(pca.mean_, np.ndarray)
    assert_type(pca.scale_, np.ndarray | None)
    assert_type(pca.noise_variance_, float)
    assert_type(pca.n_components_, int)
    assert_type(pca.choice_, Choice)
    assert_type(pca.plan_, Plan)
    assert_type(pca.transform(X), np.ndarray)
    assert_type(pca.fit_transform(X), np.ndarray)
    assert_type(pca.inverse_transform(X), np.ndarray)
    assert_type(pca.score_samples(X), np.ndarray)
    assert_type(FactorAnalysis(2).fit(X).uniquenesses_, np.ndarray)
    assert_type(ICA(2).fit(X).mixing_, np.ndarray)
    assert_type(lowdim.sklearn.PCA(2).fit(X).singular_values_, np.ndarray)
    print(pca.componets_)  # type: ignore[attr-defined]
    pca.tranform(X)  # type: ignore[attr-defined]
    print(lowdim.sklearn.PCA(2).componets_)  # type: ignore[attr-defined]


def types_of_two_tables(X: np.ndarray, y: np.ndarray) -> None:
    pls = PLSRegression(2).fit(X, y)
    assert_type(pls, PLSRegression)
    assert_type(pls.coef_, np.ndarray)
    assert_type(pls.x_loadings_, np.ndarray)
    assert_type(pls.predict(X), np.ndarray)
    assert_type(pls.score(X, y), float)
    assert_type(pls.transform(X), np.ndarray)
    assert_type(pls.transform(X, y), tuple[np.ndarray, np.ndarray])
    assert_type(CCA(2).fit(X, y).correlations_, np.ndarray)
    assert_type(cross_validate(pls, X, y), CrossValidation)
    assert_type(cross_validate(pls, X, y).rmse, np.ndarray)
    print(pls.x_loading_)  # type: ignore[attr-defined]


def types_of_tables_and_plots(X: np.ndarray) -> None:
    pca = PCA(2).fit(X)
    assert_type(pca.tables, ModelTables)
    assert_type(pca.tables.loadings(), Table)
    assert_type(lowdim.inspect.loadings(pca), Table)
    assert_type(pca.plot, ModelPlots)
    pca.plot.scree(threshold=None)
    lowdim.plot.scree(pca)
    assert_type(pca.report(X, "report.html"), Report)
    pca.tables.loading()  # type: ignore[attr-defined]
    pca.tables.loadings(tables="X")  # type: ignore[call-arg]
    pca.plot.scre()  # type: ignore[attr-defined]
    pca.plot.scree(thresholds=None)  # type: ignore[call-arg]


def numbers_of_components() -> None:
    for k in (2, 0.9, None):
        PCA(k)
    PCA("parallel")
    PCA("mle")
    PPCA("bic")
    FactorAnalysis("parallel-factors")
    PCR("cv")
    PCA("paralel")  # type: ignore[arg-type]
    PPCA("parallel-factors")  # type: ignore[arg-type]
    FactorAnalysis("minka")  # type: ignore[arg-type]
    PLSRegression("bic")  # type: ignore[arg-type]
    KernelPCA("minka")  # type: ignore[arg-type]
