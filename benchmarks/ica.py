"""ICA compared with other libraries: all run to the same relative gradient, and the likelihood is compared too."""

from __future__ import annotations

import warnings

import numpy as np
from picard import picard
from sklearn import decomposition
from sklearn.datasets import load_sample_images
from sklearn.exceptions import ConvergenceWarning

import lowdim
from benchmarks.harness import Case, Contender
from lowdim.densities import Infomax, Sech

TOL = 1e-6

# ---- Data


def laplace(shape, seed=0):
    n, k = shape
    random = np.random.default_rng(seed)
    return random.laplace(size=(n, k)) @ random.standard_normal((k, k))


def mixed(shape, seed=1):
    """Mixtures of Laplace, uniform, Student and two-valued sources in turn."""
    n, k = shape
    random = np.random.default_rng(seed)
    kinds = [
        lambda: random.laplace(size=n),
        lambda: random.uniform(-1, 1, n),
        lambda: random.standard_t(5, n),
        lambda: np.sign(random.standard_normal(n)) + 0.3 * random.standard_normal(n),
    ]
    S = np.column_stack([kinds[j % 4]() for j in range(k)])
    return S @ random.standard_normal((k, k))


def near_gaussian(shape, seed=2):
    """Mixtures of sources with densities exp(-|u|^a), a from 1.4 to 1.9; a = 2 is the Gaussian."""
    n, k = shape
    random = np.random.default_rng(seed)
    a = np.linspace(1.4, 1.9, k)
    S = np.sign(random.standard_normal((n, k))) * random.gamma(1 / a, 1, (n, k)) ** (1 / a)
    return S / S.std(axis=0) @ random.standard_normal((k, k))


def patches(shape, seed=3):
    """Squares cut from two photographs."""
    n, k = shape
    side = round(k**0.5)
    random = np.random.default_rng(seed)
    found = []
    for photograph in load_sample_images().images:
        grey = photograph.mean(axis=2)
        rows, columns = (random.integers(0, size - side, n // 2) for size in grey.shape)
        found += [grey[i : i + side, j : j + side].ravel() for i, j in zip(rows, columns, strict=True)]
    return np.array(found)


# ---- Gradient and likelihood, computed in the same way for all contenders


def make_error(density, extended, ortho):
    """A function of the unmixing matrix and the rows: the largest entry of the relative gradient, and the average
    log-likelihood of a row."""

    def error(result, X):
        U = (X - X.mean(axis=0)) @ result.T
        if ortho:
            scale = U.std(axis=0)
            U, result = U / scale, result / scale[:, None]
        psi = density.score(U)
        heavy = density.slope(U).mean(axis=0) * U.var(axis=0) > (psi * U).mean(axis=0)
        if extended:
            psi = np.where(heavy, psi, density.flipped.score(U))
        energy = density.energy(U).mean(axis=0)
        if extended:
            energy = np.where(heavy, energy, density.flipped.energy(U).mean(axis=0))
        G = psi.T @ U / len(U)
        G = (G - G.T) / 2 if ortho else G - np.eye(len(G))
        likelihood = np.linalg.slogdet(result)[1] - energy.sum()
        return f"{np.abs(G).max():.0e}; {likelihood:.6f}"

    return error


# ---- Contenders


def ours(name="lowdim", once=False, **options):
    def setup(X, k):
        return lambda: lowdim.ICA(tol=TOL, **options).fit(X)

    return Contender(name, setup, lambda model: model.components_, once=once)


def by_picard(once=False, **options):
    def setup(X, k):
        rows = X.T.copy()

        def fit():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                K, W, _ = picard(rows, tol=TOL, max_iter=2000, random_state=0, **options)
            return W @ K

        return fit

    return Contender("picard", setup, lambda W: W, once=once)


def fast_ica(tol, whiten_solver="svd", once=False):
    """FastICA's `tol` limits the change of directions: the largest power of ten that gives a gradient below 1e-6."""

    def setup(X, k):
        model = decomposition.FastICA(tol=tol, max_iter=1000, whiten_solver=whiten_solver, random_state=0)

        def fit():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                return model.fit(X)

        return fit

    name = "scikit-learn FastICA" + (", whiten_solver='eigh'" if whiten_solver == "eigh" else "")
    return Contender(name, setup, lambda model: model.components_, once=once)


def rivals(tol):
    """All contenders that look for rotations; `tol` is that of FastICA."""
    return [
        ours(ortho=True),
        ours("lowdim, fixed-point", solver="fixed-point"),
        by_picard(ortho=True),
        fast_ica(tol),
        fast_ica(tol, "eigh"),
    ]


def rows_themselves(X, k):
    """The rows, in place of an exact answer: the error is computed from them."""
    return X


WHAT = "; error: relative gradient; log-likelihood of a row"


def free(name, work, shape, make, density, extended, contenders):
    """A case without the constraint of orthogonal sources."""
    error = make_error(density, extended, ortho=False)
    must = ">= 1.5 x picard"
    return Case(name, work + WHAT, must, shape, shape[1], make, rows_themselves, contenders, error=error)


def rotations(name, work, shape, make, contenders):
    """A case with orthogonal sources."""
    error = make_error(Sech(), extended=True, ortho=True)
    must = ">= 1.5 x the better of picard and FastICA"
    return Case(name, work, must, shape, shape[1], make, rows_themselves, contenders, error=error)


CASES = [
    free("ica-laplace", "ICA, 50,000 x 20, Laplace sources", (50_000, 20), laplace, Sech(), False,
         [ours(extended=False), by_picard(ortho=False, extended=False)]),
    rotations("ica-laplace-ortho", "the same, orthogonal", (50_000, 20), laplace,
              rivals(1e-6)),
    free("ica-mixed", "ICA, 100,000 x 40, heavy and light tails", (100_000, 40), mixed, Infomax(), True,
         [ours(density="infomax"), by_picard(ortho=False, extended=True)]),
    rotations("ica-mixed-ortho", "the same, orthogonal", (100_000, 40), mixed,
              rivals(1e-6)),
    free("ica-hard", "ICA, 20,000 x 15, near-Gaussian sources", (20_000, 15), near_gaussian, Sech(), False,
         [ours(extended=False), by_picard(ortho=False, extended=False)]),
    rotations("ica-hard-ortho", "the same, orthogonal", (20_000, 15), near_gaussian,
              rivals(1e-8)),
    free("ica-patches", "ICA, 30,000 x 64, patches of photographs", (30_000, 64), patches, Sech(), False,
         [ours(extended=False), by_picard(ortho=False, extended=False)]),
    rotations("ica-patches-ortho", "the same, orthogonal", (30_000, 64), patches,
              [ours(ortho=True), ours("lowdim, best of 4 starts", once=True, ortho=True, n_init=4),
               by_picard(ortho=True, once=True), fast_ica(1e-8, "eigh", once=True)]),
]  # fmt: skip
