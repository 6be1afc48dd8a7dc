"""PCA compared with other libraries: the tasks, the contenders and the targets."""

from __future__ import annotations

from functools import partial

import numpy as np
from sklearn import decomposition

import lowdim
from benchmarks.exact import dense_eigenvalues, gaussian, score_variances, sparse, sparse_eigenvalues
from benchmarks.harness import Case, Contender
from lowdim.solvers import Krylov

try:
    from sklearnex import decomposition as intelex  # its own class: scikit-learn stays unpatched
except ImportError:
    intelex = None

STREAM_BLOCK = 2000  # rows


def variances(model):
    return model.explained_variance_


# ---- Contenders


def fitting(name, model_class, **options):
    """Times model_class(k, **options).fit(data)."""

    def setup(data, k):
        return lambda: model_class(k, **options).fit(data)

    return Contender(name, setup, variances)


def ours(name="lowdim", **options):
    return fitting(name, lowdim.PCA, **options)


def theirs(svd_solver):
    return fitting(f"scikit-learn {svd_solver}", decomposition.PCA, svd_solver=svd_solver, random_state=0)


def intel(**options):
    """scikit-learn-intelex, if it is installed."""
    return [fitting("scikit-learn-intelex", intelex.PCA, **options)] if intelex else []


def bare(name, product):
    """Times product(data, k) alone, as a lower limit."""
    return Contender(name, lambda data, k: lambda: product(data, k), None)


def fit_and_transform(name, model_class):
    def setup(data, k):
        return lambda: model_class(k).fit(data).transform(data)

    return Contender(name, setup, score_variances)


def transforming(name, model_class):
    """Times transform alone: the model is fitted before the clock starts."""

    def setup(data, k):
        return partial(model_class(k).fit(data).transform, data)

    return Contender(name, setup, score_variances)


def fit_transforming(name, model_class):
    def setup(data, k):
        return lambda: model_class(k).fit_transform(data)

    return Contender(name, setup, score_variances)


def blocks(data):
    return (data[start : start + STREAM_BLOCK] for start in range(0, len(data), STREAM_BLOCK))


def stream_ours(data, k):
    return lambda: lowdim.PCA(k).fit(blocks(data))


def stream_incremental(data, k):
    def call():
        model = decomposition.IncrementalPCA(k)
        for block in blocks(data):
            model.partial_fit(block)
        return model

    return call


def stream_products(data, k):
    return sum(block.T @ block for block in blocks(data))


def gram(data, k):
    return data.T @ data


def dual_gram(data, k):
    return data @ data.T


def project(data, k):
    return data @ np.ones((data.shape[1], k), dtype=data.dtype)


# ---- Cases

TALL = (200_000, 256)

CASES = [
    Case(
        "tall",
        "200,000 x 256 float64, K=10",
        ">= 1.6 x faster than scikit-learn auto; <= 1.6 x the bare X.T @ X; extra memory <= 25% of X",
        TALL,
        10,
        partial(gaussian, scale=3.0),
        dense_eigenvalues,
        [ours(), theirs("auto"), *intel(), bare("bare X.T @ X", gram)],
    ),
    Case(
        "float32",
        "the same, float32",
        ">= 1.5 x faster than scikit-learn auto; error <= 1e-6",
        TALL,
        10,
        partial(gaussian, scale=3.0, dtype=np.float32),
        dense_eigenvalues,
        [ours(), theirs("auto"), *intel(), bare("bare X.T @ X", gram)],
    ),
    Case(
        "offset",
        "the same, float64, columns with mean 1e7",
        "same speed; error <= 1e-10",
        TALL,
        10,
        partial(gaussian, scale=3.0, mean=1e7),
        dense_eigenvalues,
        [ours(), theirs("auto"), *intel(), bare("bare X.T @ X", gram)],
    ),
    Case(
        "wide",
        "500 x 20,000, K=10",
        ">= 2.5 x faster than scikit-learn auto; exact",
        (500, 20_000),
        10,
        gaussian,
        dense_eigenvalues,
        [ours(), theirs("auto"), *intel(), bare("bare X @ X.T", dual_gram)],
    ),
    Case(
        "decay-2000",
        "20,000 x 2,000, K=50, eigenvalues ~ 1/i",
        ">= 2 x faster than scikit-learn randomized; error <= 1e-3",
        (20_000, 2_000),
        50,
        gaussian,
        dense_eigenvalues,
        [ours(), theirs("randomized"), *intel(), bare("bare X.T @ X", gram)],
    ),
    Case(
        "decay-5000",
        "10,000 x 5,000, K=20, eigenvalues ~ 1/i",
        ">= 2.5 x faster than scikit-learn randomized, at no larger error",
        (10_000, 5_000),
        20,
        gaussian,
        dense_eigenvalues,
        [
            ours(),
            ours("lowdim Krylov(steps=5)", solver=Krylov(steps=5)),
            theirs("randomized"),
            *intel(),
        ],
    ),
    Case(
        "sparse",
        "sparse 50,000 x 20,000, 1% filled, K=20",
        ">= 2.5 x faster than scikit-learn arpack; error <= 1e-6",
        (50_000, 20_000),
        20,
        sparse,
        sparse_eigenvalues,
        [ours(), theirs("arpack")],
    ),
    Case(
        "sparse-flat",
        "the same without decay: columns of equal scale, the spectrum of noise",
        "(no target: the hardest case for both)",
        (50_000, 20_000),
        20,
        partial(sparse, decay=False),
        sparse_eigenvalues,
        [ours(), ours("lowdim Krylov(tol=1e-4)", solver=Krylov(tol=1e-4)), theirs("arpack")],
    ),
    Case(
        "small",
        "150 x 4, K=2, fit and transform",
        "no slower than scikit-learn",
        (150, 4),
        2,
        gaussian,
        dense_eigenvalues,
        [
            fit_and_transform("lowdim", lowdim.PCA),
            fit_and_transform("scikit-learn auto", decomposition.PCA),
        ],
        calls=500,
    ),
    Case(
        "transform",
        "transform of 200,000 x 256, K=10",
        ">= 1.2 x faster than scikit-learn; no copy of X",
        TALL,
        10,
        partial(gaussian, scale=3.0),
        dense_eigenvalues,
        [
            transforming("lowdim", lowdim.PCA),
            transforming("scikit-learn auto", decomposition.PCA),
            bare("bare X @ W", project),
        ],
    ),
    Case(
        "fit-transform",
        "fit_transform of 200,000 x 256, K=10",
        ">= 1.2 x faster than scikit-learn; no copy of X",
        TALL,
        10,
        partial(gaussian, scale=3.0),
        dense_eigenvalues,
        [
            fit_transforming("lowdim", lowdim.PCA),
            fit_transforming("scikit-learn auto", decomposition.PCA),
            bare("bare X.T @ X, X @ W", lambda data, k: (gram(data, k), project(data, k))),
        ],
    ),
    Case(
        "stream",
        f"stream of 200,000 x 256 in blocks of {STREAM_BLOCK:,} rows, K=10",
        ">= 40 x faster than IncrementalPCA; exact",
        TALL,
        10,
        partial(gaussian, scale=3.0),
        dense_eigenvalues,
        [
            Contender("lowdim", stream_ours, variances),
            Contender("scikit-learn IncrementalPCA", stream_incremental, variances),
            bare("bare block.T @ block", stream_products),
        ],
    ),
]
