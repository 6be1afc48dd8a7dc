"""Fitted models for files: every model with every solver, and with every option that changes its attributes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

import lowdim
import lowdim.sklearn
from examples import DENSITY_EXAMPLES, KERNEL_EXAMPLES, MODELS, WIDE, WIDE_Y, X, Y, density, kernel, make, tables
from inputs import with_missing
from lowdim import KernelPCA, Whitening, densities, kernels, solvers
from lowdim.errors import LowdimWarning, without_warnings
from lowdim.kernels import KERNELS
from lowdim.solvers import KERNEL_SOLVERS, PREIMAGES, ROTATIONS
from lowdim.summaries import FourthMoments, Moments, Triangle

INCOMPLETE = with_missing(X)
#: 0, 1, 2 or 3 times each row.
WEIGHTS = np.random.default_rng(3).integers(0, 4, len(X)).astype(float)
FRAME = pd.DataFrame(X, columns=[f"column {j}" for j in range(X.shape[1])])
TARGETS = pd.DataFrame(Y, columns=["a", "b", "c"])
#: Rows of rank 2, and rows of which many entries are zero.
FLAT = X[:, :2] @ np.array([[1.0, 2.0, 0.0, 1.0], [0.0, 1.0, 1.0, -1.0]])
THIN = sparse.csr_array(np.where(np.abs(X) > 4.0, X, 0.0))

#: A case is a function that returns a fitted model.
Case = Callable[[], Any]


def fit(model: Any, *given: Any, **options: Any) -> Case:
    return lambda: model.fit(*given, **options)


def of_every_model() -> Iterator[tuple[str, Case]]:
    """Every model with every solver, in float32, with weights, with names, and with fewer rows than columns."""
    for name, row in MODELS.items():
        narrow = [table.astype(np.float32) for table in tables(name)]
        yield f"{name}", fit(make(name), *tables(name))
        yield f"{name}-float32", fit(make(name), *narrow)
        yield f"{name}-weights", fit(make(name), *tables(name), sample_weight=WEIGHTS)
        yield f"{name}-names", fit(make(name), *tables(name, FRAME, TARGETS))
        yield f"{name}-wide", fit(make(name, **row.wide_options), *tables(name, WIDE, WIDE_Y))
        yield f"{name}-output", fit(make(name).set_output(transform="pandas"), *tables(name))
        yield f"{name}-sparse", fit(make(name), *tables(name, THIN))
        for solver in row.solvers:
            options = {"kernel": "rbf"} if name == "KernelPCA" and solver not in ("features",) else {}
            yield f"{name}-{solver}", fit(make(name, solver=solver, **options), *tables(name))
        for summary in (Moments, Triangle):
            if hasattr(make(name), "fit_summary"):
                yield (
                    f"{name}-{summary.__name__}",
                    lambda name=name, summary=summary: make(name).fit_summary(summarized(summary, *tables(name))),
                )
        if hasattr(make(name), "partial_fit"):
            parts = [[table[i : i + 45] for table in tables(name)] for i in (0, 45)]
            yield (
                f"{name}-partial",
                lambda name=name, parts=parts: make(name).partial_fit(*parts[0]).partial_fit(*parts[1]),
            )


def summarized(summary: Any, *given: np.ndarray) -> Any:
    """A summary of these tables side by side."""
    widths = tuple(table.shape[1] for table in given)
    options = {"widths": widths} if len(widths) > 1 else {}
    return lowdim.reading.summarize(np.hstack(given), summary(sum(widths), **options))


def of_one_table() -> Iterator[tuple[str, Case]]:
    pca, ppca, factors = lowdim.PCA, lowdim.PPCA, lowdim.FactorAnalysis
    yield "PCA-all", fit(pca(), X)
    yield "PCA-share", fit(pca(0.9), X)
    yield "PCA-whiten", fit(pca(2, whiten=True, scale=True, ddof=0), X)
    yield "PCA-flat", fit(pca(), FLAT)
    yield "PCA-numpy-number", fit(pca(np.int64(2), random_state=np.int32(3)), X)
    for rule in ("minka", "kaiser", "parallel", "cv", "mle"):
        yield f"PCA-rule-{rule}", fit(pca(rule, random_state=1), X)
    yield "PCA-krylov-options", fit(pca(2, solver=solvers.Krylov(tol=1e-8, block=4)), X)
    for kind in ("pca", "zca", "cholesky", "pca-cor", "zca-cor"):
        yield f"Whitening-{kind}", fit(Whitening(kind), X)
    for kind in ("zca", "zca-cor"):
        yield f"Whitening-{kind}-factors", fit(Whitening(kind), WIDE[:12])
        yield f"Whitening-{kind}-factors-ridge", fit(Whitening(kind, regularization=0.3), WIDE[:12])
    yield "Whitening-ledoit-wolf", fit(Whitening("zca", regularization="ledoit-wolf"), X)
    yield (
        "Whitening-FourthMoments",
        lambda: Whitening("zca", regularization="ledoit-wolf").fit_summary(summarized(FourthMoments, X)),
    )
    yield "Whitening-oas", fit(Whitening(regularization="oas"), X)
    for scale in (False, True):
        yield f"PPCA-missing-{scale}", fit(ppca(2, scale=scale), INCOMPLETE)
        yield f"FactorAnalysis-missing-{scale}", fit(factors(2, scale=scale), INCOMPLETE)
    yield "PPCA-prior", fit(ppca(3, prior="vb"), INCOMPLETE)
    yield "PPCA-unstored", fit(ppca(1, missing="unstored"), sparse.csr_array(np.nan_to_num(INCOMPLETE)))
    for rule in ("minka", "bic", "cv"):
        yield f"PPCA-rule-{rule}", fit(ppca(rule), X)
    for rule in ("bic", "parallel", "cv"):
        yield f"FactorAnalysis-rule-{rule}", fit(factors(rule), X)
    for rotation in ROTATIONS:
        yield f"FactorAnalysis-{rotation}", fit(factors(2, rotation=rotation), X)
    yield "FactorAnalysis-oblimin-options", fit(factors(2, rotation=solvers.Oblimin(gamma=-0.5), scores="bartlett"), X)
    yield "FactorAnalysis-start", lambda: factors(2).fit(X).start_at(factors(2).fit(X[::2]))
    yield (
        "FeatureMapPCA-up-to",
        fit(lowdim.FeatureMapPCA(3, feature_map=lowdim.features.Polynomial(2, up_to=True), scale=True), FRAME),
    )


def of_kernels() -> Iterator[tuple[str, Case]]:
    for name in KERNELS:
        yield f"KernelPCA-kernel-{name}", fit(KernelPCA(2, kernel=kernel(name)), X)
        if name in KERNEL_EXAMPLES:
            yield f"KernelCCA-kernel-{name}", fit(lowdim.KernelCCA(2, kernel=(kernel(name), "linear")), X, Y)
    arithmetic = 2.0 * kernels.Gaussian(1 / 18) + kernels.Linear() * kernels.Cosine()
    yield "KernelPCA-arithmetic", fit(KernelPCA(2, kernel=arithmetic), X)
    yield "KernelPCA-precomputed", fit(KernelPCA(2, kernel="precomputed"), kernels.Gaussian(1 / 18)(X))
    yield (
        "KernelPCA-precomputed-weights",
        fit(KernelPCA(2, kernel="precomputed"), kernels.Gaussian(1 / 18)(X), sample_weight=WEIGHTS),
    )
    yield "KernelPCA-share", fit(KernelPCA(0.5, kernel="rbf"), X)
    yield "KernelPCA-landmarks", fit(KernelPCA(2, kernel="rbf", solver=solvers.Nystrom(landmarks=X[:20])), X)
    yield "KernelPCA-chosen", fit(KernelPCA(2, kernel="rbf", solver=solvers.Nystrom(20, choose="leverage")), X)
    for method in PREIMAGES:
        yield f"KernelPCA-{method}", fit(KernelPCA(2, kernel="rbf", preimage=method), X)
    yield "KernelPCA-learned", lambda: learned(KernelPCA(2, kernel="rbf").fit(X))
    yield "KernelPCA-blocks", fit(KernelPCA(2, kernel="rbf"), [X[:40], X[40:]])
    for solver in KERNEL_SOLVERS:
        if solver not in ("features", "fourier"):
            yield f"KernelPCA-sparse-{solver}", fit(KernelPCA(2, kernel="rbf", solver=solver), THIN)
    yield (
        "KernelCCA-precomputed",
        fit(lowdim.KernelCCA(2, kernel=("precomputed", "rbf")), kernels.Gaussian(1 / 18)(X), Y, sample_weight=WEIGHTS),
    )


def learned(model: Any) -> Any:
    """The model after it has learned the map from scores to rows."""
    model.inverse_transform(model.transform(X))
    return model


def of_sources() -> Iterator[tuple[str, Case]]:
    ica = lowdim.ICA
    for name in DENSITY_EXAMPLES:
        yield f"ICA-{name}", fit(ica(2, density=density(name), extended=False), X)
    yield "ICA-flipped", fit(ica(2, density=densities.Flipped(densities.Sech()), extended=False), X)
    yield "ICA-extended", fit(ica(3), np.random.default_rng(2).uniform(-1, 1, (90, 5)) + X)
    yield "ICA-starts", fit(ica(2, n_init=3, keep_sources=True, ortho=True), X)
    yield "ICA-w-init", fit(ica(2, w_init=np.eye(2)), X)
    yield "ICA-share", fit(ica(0.9), X)
    yield "ICA-options", fit(ica(2, solver=solvers.QuasiNewtonICA(tol=1e-5, memory=5)), X)


def of_two_tables() -> Iterator[tuple[str, Case]]:
    for name in ("PCR", "PLSRegression", "CCA"):
        cls = getattr(lowdim, name)
        yield f"{name}-vector", fit(cls(1), X, Y[:, 0])
        yield f"{name}-cv", fit(cls("cv"), X, Y)
        yield f"{name}-unscaled", fit(cls(2, scale=(True, False)), X, Y)
        yield f"{name}-mixed", fit(cls(2), X.astype(np.float32), Y)
    yield "PLSRegression-flat", fit(lowdim.PLSRegression(3), FLAT, Y)
    yield "CCA-ridge", fit(lowdim.CCA(2, regularization=[0.1, 0.3]), X, Y)
    yield "CCA-flat", fit(lowdim.CCA(), FLAT, Y)
    yield "GCCA-three", fit(lowdim.GCCA(2, regularization=(0.1, 0.0, 0.5)), [FRAME, TARGETS, X[:, :2] ** 2])
    yield "GCCA-reduction", fit(lowdim.GCCA(2, solver=solvers.CovarianceReduction(wide=True)), [X, Y])


def of_sklearn() -> Iterator[tuple[str, Case]]:
    package = lowdim.sklearn
    for name in package.__all__:
        cls = getattr(package, name)
        if isinstance(cls, type):
            given = (X, Y) if hasattr(cls, "y_scores_") or name in ("PLSSVD", "PLSCanonical", "CCA") else (X,)
            yield f"sklearn-{name}", fit(cls(2), *given)
            yield f"sklearn-{name}-float32", fit(cls(2), *(table.astype(np.float32) for table in given))
    yield "sklearn-PCA-none", fit(package.PCA(0), X)
    yield "sklearn-PCA-arpack", fit(package.PCA(2, svd_solver="arpack"), X)
    yield "sklearn-PCA-randomized", fit(package.PCA(2, svd_solver="randomized"), X)
    yield "sklearn-IncrementalPCA-partial", lambda: package.IncrementalPCA(2).partial_fit(X[:40]).partial_fit(X[40:])
    yield "sklearn-FactorAnalysis-varimax", fit(package.FactorAnalysis(2, rotation="varimax"), X)
    yield "sklearn-FactorAnalysis-wide", fit(package.FactorAnalysis(2, noise_variance_init=np.ones(44)), WIDE)
    yield "sklearn-FastICA-deflation", fit(package.FastICA(2, algorithm="deflation", fun="cube"), X)
    yield "sklearn-FastICA-options", fit(package.FastICA(2, fun_args={"alpha": 1.5}, whiten="arbitrary-variance"), X)
    yield "sklearn-FastICA-white", fit(package.FastICA(whiten=False), lowdim.PCA(2, whiten=True).fit_transform(X))
    yield "sklearn-KernelPCA-inverse", fit(package.KernelPCA(2, kernel="rbf", fit_inverse_transform=True), X)
    yield "sklearn-KernelPCA-precomputed", fit(package.KernelPCA(2, kernel="precomputed"), X @ X.T)
    yield "sklearn-KernelPCA-zeros", fit(package.KernelPCA(7), X)
    yield "sklearn-KernelPCA-flat", fit(package.KernelPCA(2), np.ones((5, 3)))
    yield "sklearn-PLSRegression-flat", fit(package.PLSRegression(3), FLAT, Y)
    yield "sklearn-PLSRegression-vector", fit(package.PLSRegression(2), X, Y[:, 0])


def with_categories() -> Iterator[tuple[str, Case]]:
    codes = FRAME.round(0).clip(-2, 2).astype(str)
    mixed = FRAME.iloc[:, :2].assign(a=codes.iloc[:, 2], b=codes.iloc[:, 3])
    halves = {"first": ["column 0", "a"], "second": ["column 1", "b"]}
    yield "CA", fit(lowdim.CA(2, supplementary=[1]), np.abs(X))
    yield "CA-categories", fit(lowdim.CA(), codes.iloc[:, :2])
    yield "MCA", fit(lowdim.MCA(2), codes)
    yield "MCA-passive", fit(lowdim.MCA(missing="passive", min_frequency=5), codes.mask(codes == "0"))
    yield "FAMD", fit(lowdim.FAMD(2, supplementary=["a"]), mixed, sample_weight=WEIGHTS)
    yield "FAMD-output", fit(lowdim.FAMD(0.9).set_output(transform="pandas"), mixed)
    yield "MFA", fit(lowdim.MFA(2, groups=halves, scale={"first": False}), mixed)


_GROUPS = (of_every_model, of_one_table, of_kernels, of_sources, of_two_tables, of_sklearn, with_categories)
CASES: dict[str, Case] = {name: case for group in _GROUPS for name, case in group()}


@cache
def fitted(name: str) -> Any:
    """The model of this case. Tests must not change it."""
    with without_warnings(LowdimWarning):
        return CASES[name]()
