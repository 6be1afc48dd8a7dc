"""PLS, CCA and GCCA compared with other libraries: the tasks, the contenders and the targets."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field

import numpy as np
from scipy import linalg
from sklearn import cross_decomposition

import lowdim
from benchmarks.harness import Case, Contender

try:
    from cca_zoo import linear as cca_zoo
except ImportError:
    cca_zoo = None
try:
    from ikpls.numpy import PLS as IKPLS
except ImportError:
    IKPLS = None


# ---- Data


@dataclass(frozen=True)
class Tables:
    """Tables of the same rows."""

    all: list = field(default_factory=list)

    @property
    def nbytes(self):
        return sum(A.nbytes for A in self.all)


def common(widths, noise=3, seed=0):
    """A function that makes tables with ten common latent variables, and noise that is `noise` times as strong."""

    def make(shape):
        n = shape[0]
        rng = np.random.default_rng(seed)
        latent = rng.standard_normal((n, 10))
        share = min(1.0, shape[1] / widths[0])
        sizes = [max(12, int(w * share)) for w in widths]
        return Tables([latent @ rng.standard_normal((10, w)) + noise * rng.standard_normal((n, w)) for w in sizes])

    return make


def process(shape, seed=0):
    """Columns made of thirty latent variables and noise, and three responses that depend on ten of them."""
    n, p = shape
    rng = np.random.default_rng(seed)
    latent = rng.standard_normal((n, 30)) * np.linspace(3, 0.5, 30)
    X = latent @ rng.standard_normal((30, p)) + rng.standard_normal((n, p))
    return Tables([X, latent[:, :10] @ rng.standard_normal((10, 3)) + rng.standard_normal((n, 3))])


def spectra(shape, seed=0):
    """Rows of sixty peaks of decreasing height and a little noise; the response depends on thirty of the peaks."""
    n, p = shape
    rng = np.random.default_rng(seed)
    grid, centres = np.linspace(0, 1, p), rng.uniform(0, 1, 60)
    peaks = np.exp(-0.5 * ((grid - centres[:, None]) / 0.02) ** 2) / np.arange(1, 61)[:, None]
    amounts = rng.standard_normal((n, 60))
    X = amounts @ peaks + 0.01 * rng.standard_normal((n, p))
    return Tables([X, amounts[:, :30] @ rng.standard_normal((30, 1)) + 0.1 * rng.standard_normal((n, 1))])


# ---- Exact answers


def exact_correlations(tables, k):
    """Singular values of Q_1' Q_2 for orthonormal bases of the centred tables."""
    Q1, Q2 = (linalg.qr(A - A.mean(axis=0), mode="economic")[0] for A in tables.all)
    return linalg.svdvals(Q1.T @ Q2)[:k]


def ridge_correlations(c):
    def exact(tables, k):
        """Correlations of regularized variates, from the singular value decompositions of both tables."""
        n = len(tables.all[0])
        parts = []
        for A in tables.all:
            U, s, _ = linalg.svd(A - A.mean(axis=0), full_matrices=False)
            parts.append((U, s / np.sqrt(n - 1) / np.sqrt((1 - c) * s**2 / (n - 1) + c)))
        (U1, g1), (U2, g2) = parts
        L, _, Rt = linalg.svd((g1[:, None] * (U1.T @ U2)) * g2)
        T1, T2 = U1 @ (g1[:, None] * L[:, :k]), U2 @ (g2[:, None] * Rt[:k].T)
        return _correlations([T1, T2])

    return exact


def exact_eigenvalues(tables, k):
    """Eigenvalues of the sum of the projections on the tables: squared singular values of all bases side by side."""
    Qs = [linalg.qr(A - A.mean(axis=0), mode="economic")[0] for A in tables.all]
    return linalg.svdvals(np.hstack(Qs))[:k] ** 2


def exact_coefficients(tables, k):
    """Coefficients of PLS of standardized tables, by deflating their rows."""
    X, Y = ((A - A.mean(axis=0)) / A.std(axis=0, ddof=1) for A in tables.all)
    sd = [A.std(axis=0, ddof=1) for A in tables.all]
    E, W, P, Q = X.copy(), [], [], []
    for _ in range(k):
        w = linalg.svd(E.T @ Y, full_matrices=False)[0][:, 0]
        t = E @ w
        p = E.T @ t / (t @ t)
        E -= np.outer(t, p)
        W.append(w), P.append(p), Q.append(Y.T @ t / (t @ t))
    W, P, Q = (np.array(part).T for part in (W, P, Q))
    return W @ np.linalg.solve(P.T @ W, Q.T) * sd[1] / sd[0][:, None]


def _correlations(variates):
    A, B = (T - T.mean(axis=0) for T in variates)
    return (A * B).sum(axis=0) / np.sqrt((A * A).sum(axis=0) * (B * B).sum(axis=0))


def of_largest(values, exact):
    """The largest difference, relative to the largest exact number."""
    return float(np.abs(np.asarray(values) - exact).max() / np.abs(exact).max())


# ---- Contenders


def contender(name, fit, values, once=False):
    """Times `fit(tables, k)`, and compares what `values(model, tables)` returns."""
    return Contender(
        name, lambda data, k: lambda: (fit(data.all, k), data.all), lambda result: values(*result), once=once
    )


def without_warnings(fit):
    """`fit` without warnings: scikit-learn's power iterations often reach their limit."""

    def run(tables, k):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return fit(tables, k)

    return run


def of_variates(model, tables):
    """Correlations of the variates of the rows of the fit."""
    theirs = cca_zoo is not None and type(model).__module__.startswith("cca_zoo")
    return _correlations(model.transform(tables) if theirs else model.transform(*tables))


def descending(model, tables):
    return np.sort(of_variates(model, tables))[::-1]


def explained(model, tables):
    """Eigenvalues of the sum of projections: the variance of the sum of the variates over the sum of their variances.

    This is right if each variate is scaled as the projection of one common variate.
    """
    if isinstance(model, lowdim.GCCA):
        return model.eigenvalues_
    Z = [A - A.mean(axis=0) for A in model.transform(tables)]
    total = sum(Z)
    return (total * total).sum(axis=0) / sum((A * A).sum(axis=0) for A in Z)


def last_coefficients(model, tables):
    return model.coef_.T


def of_ikpls(model, tables):
    """The coefficients of ikpls in the units of the columns; it keeps them for standardized columns and every k."""
    return np.asarray(model.B)[-1] * np.asarray(model.Y_std) / np.asarray(model.X_std).T


def contenders(*rows):
    """The contenders whose library is installed."""
    return [row for row in rows if row is not None]


CCA_PEERS = contenders(
    contender("lowdim", lambda t, k: lowdim.CCA(k).fit(*t), descending),
    contender(
        "scikit-learn (one call)",
        without_warnings(lambda t, k: cross_decomposition.CCA(k).fit(*t)),
        descending,
        once=True,
    ),
    cca_zoo and contender("cca-zoo CCA", lambda t, k: cca_zoo.CCA(k).fit(t), descending),
)
RIDGE_PEERS = contenders(
    contender("lowdim", lambda t, k: lowdim.CCA(k, regularization=0.5, scale=False).fit(*t), of_variates),
    cca_zoo and contender("cca-zoo RidgeCCA", lambda t, k: cca_zoo.RidgeCCA(k, shrinkage=0.5).fit(t), of_variates),
)
GCCA_PEERS = contenders(
    contender("lowdim", lambda t, k: lowdim.GCCA(k).fit(t), explained),
    cca_zoo and contender("cca-zoo GCCA", lambda t, k: cca_zoo.GCCA(k).fit(t), explained),
    cca_zoo and contender("cca-zoo MCCA", lambda t, k: cca_zoo.MCCA(k).fit(t), explained),
)


def pls_peers(algorithm):
    return contenders(
        contender("lowdim", lambda t, k: lowdim.PLSRegression(k).fit(*t), last_coefficients),
        contender(
            "scikit-learn",
            without_warnings(lambda t, k: cross_decomposition.PLSRegression(k).fit(*t)),
            last_coefficients,
        ),
        IKPLS
        and contender(
            f"ikpls algorithm {algorithm}",
            lambda t, k: _ikpls(algorithm, t, k),
            of_ikpls,
        ),
    )


def _ikpls(algorithm, tables, k):
    model = IKPLS(algorithm=algorithm, ddof=1)
    model.fit(*tables, k)
    return model


CASES = [
    Case(
        name="cca",
        work="CCA 20,000 x (100, 80), K=10; error: of the correlations",
        must_reach=">= 500 x scikit-learn, correlations no smaller; >= 2 x cca-zoo",
        shape=(20_000, 100),
        k=10,
        make=common((100, 80)),
        exact=exact_correlations,
        contenders=CCA_PEERS,
    ),
    Case(
        name="cca-weak",
        work="the same, ten times the noise",
        must_reach="(the same)",
        shape=(20_000, 100),
        k=10,
        make=common((100, 80), noise=30),
        exact=exact_correlations,
        contenders=CCA_PEERS,
    ),
    Case(
        name="cca-wide",
        work="CCA 300 x (5,000, 3,000), regularization 0.5, K=10; error: of the correlations of the variates",
        must_reach=">= 2 x cca-zoo, same correlations",
        shape=(300, 5_000),
        k=10,
        make=common((5_000, 3_000)),
        exact=ridge_correlations(0.5),
        contenders=RIDGE_PEERS,
    ),
    Case(
        name="pls",
        work="PLSRegression 10,000 x 500, 3 responses, K=20; error: of the coefficients",
        must_reach=">= 10 x scikit-learn, >= 1.3 x ikpls algorithm 2",
        shape=(10_000, 500),
        k=20,
        make=process,
        exact=exact_coefficients,
        contenders=pls_peers(2),
        error=of_largest,
    ),
    Case(
        name="pls-wide",
        work="PLSRegression 200 x 20,000, 1 response, K=20; error: of the coefficients",
        must_reach=">= 3 x scikit-learn, >= 1 x ikpls",
        shape=(200, 20_000),
        k=20,
        make=spectra,
        exact=exact_coefficients,
        contenders=pls_peers(1),
        error=of_largest,
    ),
    Case(
        name="gcca",
        work="GCCA, three tables of 20,000 x 100, K=10; error: of the eigenvalues",
        must_reach=">= 2 x cca-zoo",
        shape=(20_000, 100),
        k=10,
        make=common((100, 100, 100)),
        exact=exact_eigenvalues,
        contenders=GCCA_PEERS,
    ),
]
