"""How large the errors of eigenvalues are, by solver and dtype: the table of docs/numerical_promises.md.

    python -m benchmarks.promises

Rows are made whose covariance has the eigenvalues 1, 10^-1, 10^-2, ... before they are rounded to their dtype. The
eigenvalues of the covariance of the rounded rows are computed with 40 digits, and those of each solver are compared
with them. "auto" is asked for the components up to the one that is shown, since the smallest of them decides which
solver it takes; the others are asked for all components. This takes a few seconds.
"""

from __future__ import annotations

import warnings

import mpmath
import numpy as np

from lowdim import PCA
from lowdim.errors import LowdimWarning

N_ROWS = 300
#: Exponents of the eigenvalues that are compared.
SHOWN = (0, 4, 8, 12)
#: dtype, mean of the columns, and the largest exponent that the rounded rows still hold.
ROWS: list[tuple[type, float, int]] = [
    (np.float64, 0.0, 12),
    (np.float64, 1e7, 12),
    (np.float32, 0.0, 12),
    (np.float32, 100.0, 8),
]
SOLVERS = ("auto", "covariance", "triangle", "gram", "krylov")


def graded(n: int, mean: float, dtype: type) -> np.ndarray:
    """Rows whose covariance has the eigenvalues 10^-j, not along the axes."""
    random = np.random.default_rng(0)
    p = SHOWN[-1] + 1
    Z = random.standard_normal((n, p))
    U = np.linalg.qr(Z - Z.mean(axis=0))[0]
    V = np.linalg.qr(random.standard_normal((p, p)))[0]
    values = 10.0 ** -np.arange(p)
    return (U * np.sqrt(values * (n - 1)) @ V.T + mean).astype(dtype)


def exact(X: np.ndarray) -> np.ndarray:
    """The eigenvalues of the covariance of these very numbers, computed with 40 digits."""
    with mpmath.workdps(40):
        rows = mpmath.matrix(X.astype(np.float64).tolist())
        n, p = X.shape
        mean = [mpmath.fsum(rows[i, j] for i in range(n)) / n for j in range(p)]
        for j in range(p):
            for i in range(n):
                rows[i, j] -= mean[j]
        values = mpmath.eigsy(rows.T * rows / (n - 1), eigvals_only=True)
        return np.array([float(value) for value in values])[::-1]


def shown(error: float) -> str:
    """One digit of an error; an error of a tenth or more is no answer."""
    return "none" if error >= 0.1 else "0" if error == 0 else f"{error:.0e}"


def main() -> None:
    """Print the table."""
    print("| rows | solver | " + " | ".join(f"10^-{j}" if j else "1" for j in SHOWN) + " |")
    print("| --- | --- |" + " ---: |" * len(SHOWN))
    for dtype, mean, most in ROWS:
        X = graded(N_ROWS, mean, dtype)
        values = exact(X)
        name = f"{np.dtype(dtype)}, mean {mean:.0e}" if mean else f"{np.dtype(dtype)}"
        for solver in SOLVERS:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", LowdimWarning)
                counts = [j + 1 if solver == "auto" else len(values) for j in SHOWN]
                fits = {k: PCA(k, solver=solver).fit(X).explained_variance_ for k in counts}
            found = [fits[k][j] for k, j in zip(counts, SHOWN, strict=True)]
            errors = [shown(abs(v / values[j] - 1)) if j <= most else "" for v, j in zip(found, SHOWN, strict=True)]
            print(f"| {name} | `{solver}` | " + " | ".join(errors) + " |")


if __name__ == "__main__":
    main()
