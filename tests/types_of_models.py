"""What type checkers know of models. `make lint` runs mypy on this file, and tests/test_types.py runs `mypy --strict`.

`assert_type` states what a type is. A line with `type: ignore` must be an error: mypy reports those that are not.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import assert_type

import numpy as np
from scipy import sparse
from sklearn.model_selection import KFold

import lowdim
from lowdim import CCA, ICA, PCA, PCR, PPCA, FactorAnalysis, KernelPCA, PLSRegression, Table, cross_validate
from lowdim.inspect import ModelTables
from lowdim.kernels import Gaussian
from lowdim.plot import ModelPlots
from lowdim.reporting import Report
from lowdim.selection import Choice, CrossValidation
from lowdim.solvers import Krylov, Plan, Promax


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


def names_of_solvers_and_kernels() -> None:
    PCA(2, solver="covariance")
    PCA(2, solver=Krylov(steps=4))
    KernelPCA(2, kernel="rbf", solver="nystrom")
    KernelPCA(2, kernel=Gaussian())
    KernelPCA(2, kernel="precomputed")
    FactorAnalysis(2, rotation="varimax", scores="bartlett")
    FactorAnalysis(2, rotation=Promax())
    PPCA(2, solver="em", missing="unstored")
    ICA(2, density="student", solver="fixed-point")
    PCA(2, solver="covarianc")  # type: ignore[arg-type]
    PPCA(2, solver="newton")  # type: ignore[arg-type]
    KernelPCA(2, kernel="rfb")  # type: ignore[arg-type]
    KernelPCA(2, solver="nystroem")  # type: ignore[arg-type]
    FactorAnalysis(2, rotation="varimx")  # type: ignore[arg-type]
    FactorAnalysis(2, scores="bartlet")  # type: ignore[arg-type]
    ICA(2, density="logcosh")  # type: ignore[arg-type]
    PLSRegression(2, algorithm="nipals")  # type: ignore[arg-type]
    lowdim.sklearn.PCA(2, svd_solver="covariance")  # type: ignore[arg-type]


class Frame:
    """What type checkers see of a data frame."""

    shape = (3, 2)


def rows_of_many_kinds(X: np.ndarray, blocks: Iterator[np.ndarray]) -> None:
    pca = PCA(2).fit(X, sample_weight=np.ones(len(X)))
    for rows in ([[1.0, 2.0], [3.0, 4.0]], "wine.csv", Path("wine.csv"), Frame(), lambda: [X, X]):
        pca.fit(rows)
    pca.fit(lowdim.scan("wine.csv", exclude="class"), sample_weight="weight")
    pca.fit(lowdim.on_device(X, "cuda"))
    pca.fit(sparse.csr_array(X), random_state=0)  # type: ignore[call-arg]
    pca.fit(blocks)
    pca.fit(3)  # type: ignore[arg-type]
    pca.fit(None)  # type: ignore[arg-type]
    pca.transform(pca)  # type: ignore[arg-type]
    lowdim.choose_n_components(X, ["bic", "parallel"], random_state=0)
    lowdim.choose_n_components(X, "paralel")  # type: ignore[arg-type]
    cross_validate(pca, X, cv=KFold(5, shuffle=True))
    cross_validate(X, pca)  # type: ignore[arg-type]
    assert_type(PPCA(2).impute(X), np.ndarray)
    assert_type(PPCA(2).impute(X, return_std=True, lower={"length": 0.0}), tuple[np.ndarray, np.ndarray])
    lowdim.inspect.communalities(FactorAnalysis(2).fit(X))
    lowdim.inspect.communalities(pca)  # type: ignore[arg-type]
    lowdim.plot.scree(X)  # type: ignore[arg-type]


def reports_and_tables(X: np.ndarray) -> None:
    assert_type(lowdim.report(X, model=PCA(2), y="price", hue=["kind", "region"]), Report)
    assert_type(PCA(2).fit(X).tables.loadings(sort=True, blank=0.3).to_csv(Path("loadings.csv")), str | None)
    PCA(2).fit(X).plot.principal_axes(X, row="setosa")
    lowdim.report(3)  # type: ignore[arg-type]
    lowdim.report(X, model="pca")  # type: ignore[arg-type]
    lowdim.report(X, image_shape=True)  # type: ignore[arg-type]
    PCA(2).fit(X).tables.loadings().to_csv(3)  # type: ignore[arg-type]
