"""Kernel PCA compared with other libraries: the tasks, the contenders and the targets."""

from __future__ import annotations

import numpy as np
from scipy.sparse import linalg as sparse_linalg
from sklearn import decomposition
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.utils import check_random_state

import lowdim
from benchmarks.harness import Case, Contender
from lowdim.solvers import Nystrom

GAMMA = 1 / 76  # close to the value of the median rule for both kinds of data


# ---- Data


def isotropic(shape, seed=0):
    """Gaussian rows without structure: the leading eigenvalues are close to each other."""
    return np.random.default_rng(seed).standard_normal(shape)


def clusters(shape, seed=0):
    """Rows in fifteen clusters."""
    n, p = shape
    rng = np.random.default_rng(seed)
    centres = 2.0 * rng.standard_normal((15, p))
    return centres[rng.integers(15, size=n)] + rng.standard_normal((n, p))


# ---- Exact answers


def exact_eigenvalues(X, k):
    """Eigenvalues of the centred kernel matrix, by ARPACK to machine precision."""
    K = rbf_kernel(X, gamma=GAMMA)
    means = K.mean(axis=0)
    K -= means
    K -= means[:, None] - means.mean()
    return np.sort(sparse_linalg.eigsh(K, k, tol=0, return_eigenvectors=False))[::-1]


def unknown(X, k):
    """No exact answer, because the task is too large to compute one; residuals are compared instead."""
    return None


def exact_variances(X, k):
    """Variances of the first components of an exact fit to 20,000 of the rows."""
    rows = X[np.random.default_rng(1).permutation(len(X))[:20_000]]
    return lowdim.KernelPCA(k, kernel="rbf", gamma=GAMMA).fit(rows).explained_variance_


# ---- Errors


def the_residual(value, exact):
    """max_k ||G v - gamma v|| / gamma_1 as reported by the solver."""
    return float(value)


def missing_share(values, exact):
    """The share of the variance of the exact leading components that is missing."""
    return float(1.0 - np.sum(values) / np.sum(exact))


# ---- Contenders


def ours(name="lowdim", compared="eigenvalues_", **parameters):
    def setup(X, k):
        return lambda: lowdim.KernelPCA(k, kernel="rbf", gamma=GAMMA, **parameters).fit(X)

    return Contender(name, setup, lambda model: getattr(model, compared))


def sklearn_exact(solver):
    def setup(X, k):
        return lambda: decomposition.KernelPCA(k, kernel="rbf", gamma=GAMMA, eigen_solver=solver).fit(X)

    return Contender(f"scikit-learn, {solver}", setup, lambda model: model.eigenvalues_)


def ours_nystrom(landmarks, theirs=False):
    def setup(X, k):
        m = min(landmarks, len(X) // 2)
        # The landmarks that scikit-learn draws, in the same order, or the same number of landmarks drawn by lowdim.
        rows = X[check_random_state(0).permutation(len(X))[:m]] if theirs else m
        return lambda: lowdim.KernelPCA(k, kernel="rbf", gamma=GAMMA, solver=Nystrom(rows)).fit(X)

    name = "lowdim, landmarks of scikit-learn" if theirs else "lowdim"
    return Contender(name, setup, lambda model: model.explained_variance_)


def sklearn_nystrom(landmarks):
    def setup(X, k):
        m = min(landmarks, len(X) // 2)
        pipeline = make_pipeline(Nystroem(gamma=GAMMA, n_components=m, random_state=0), decomposition.PCA(k))
        return lambda: pipeline.fit(X)

    return Contender("scikit-learn, Nystroem + PCA", setup, lambda model: model[-1].explained_variance_)


def bare_product(landmarks):
    def setup(X, k):
        rows = np.random.default_rng(0).standard_normal((min(len(X), 50_000), landmarks))
        return lambda: [rows.T @ rows for _ in range(max(1, len(X) // len(rows)))]

    return Contender("bare matrix product of the same size", setup, None)


CASES = [
    Case(
        name="kpca-5000",
        work="KernelPCA, Gaussian, 5,000 x 20, K=10, no structure",
        must_reach=">= 3 x scikit-learn arpack, >= 12 x auto",
        shape=(5_000, 20),
        k=10,
        make=isotropic,
        exact=exact_eigenvalues,
        contenders=[ours(), sklearn_exact("arpack"), sklearn_exact("auto")],
    ),
    Case(
        name="kpca-5000-clusters",
        work="the same, fifteen clusters",
        must_reach="the same",
        shape=(5_000, 20),
        k=10,
        make=clusters,
        exact=exact_eigenvalues,
        contenders=[ours(), sklearn_exact("arpack"), sklearn_exact("auto")],
    ),
    Case(
        name="kpca-5000-float32",
        work="the same, float32",
        must_reach="",
        shape=(5_000, 20),
        k=10,
        make=lambda shape: clusters(shape).astype(np.float32),
        exact=lambda X, k: exact_eigenvalues(X.astype(np.float64), k),
        contenders=[ours(), sklearn_exact("arpack")],
    ),
    Case(
        name="kpca-20000",
        work="KernelPCA, Gaussian, 20,000 x 20, K=10, fifteen clusters",
        must_reach=">= 3 x scikit-learn arpack",
        shape=(20_000, 20),
        k=10,
        make=clusters,
        exact=exact_eigenvalues,
        contenders=[
            ours(),
            ours("lowdim, matrix-free", solver="matrix-free"),
            sklearn_exact("arpack"),
        ],
    ),
    Case(
        name="kpca-50000",
        work="KernelPCA, Gaussian, 50,000 x 20, K=10, memory='1 GiB'; error is the residual",
        must_reach="within 2 GiB of extra memory",
        shape=(50_000, 20),
        k=10,
        make=clusters,
        exact=unknown,
        contenders=[ours(compared="residual_", memory="1 GiB")],
        error=the_residual,
    ),
    Case(
        name="nystrom",
        work="KernelPCA, Nystrom with 1,000 landmarks, 500,000 x 20, K=10; error: share of the variance missed",
        must_reach=">= 2 x scikit-learn, no larger error",
        shape=(500_000, 20),
        k=10,
        make=clusters,
        exact=exact_variances,
        contenders=[ours_nystrom(1000), ours_nystrom(1000, theirs=True), sklearn_nystrom(1000), bare_product(1000)],
        error=missing_share,
    ),
]
