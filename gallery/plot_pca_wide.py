"""
Fewer rows than columns: the dual problem
=========================================

**The lectures** (Faul; MIT): if there are fewer rows than columns, do not decompose the D x D covariance. The N x N
matrix of inner products has the same nonzero eigenvalues: if V V^T v = N lambda v, then w = V^T v, divided by its
length, is an eigenvector of V^T V / N.

**Measured** on 100 faces of 625 pixels: 50 eigenvalues agree to 13 digits, and so do the scores. The time grows with D,
not with its square or its cube.
"""

import sys
from pathlib import Path
from time import perf_counter

import numpy as np
from matplotlib import pyplot as plt

from lowdim import PCA, plan

# The data are in a clone of lowdim: that of this script or, in a notebook, that of the working directory.
places = [*Path(sys.argv[0]).resolve().parents, Path.cwd(), *Path.cwd().parents]
root = next((place for place in places if (place / "gallery" / "data").is_dir()), Path())
with np.load(root / "gallery" / "data" / "faces.npz") as file:
    X = file["images"][file["is_face"]].reshape(100, -1) / 255.0
primal, dual = PCA(50, solver="covariance").fit(X), PCA(50, solver="gram").fit(X)
difference = np.abs(primal.explained_variance_ / dual.explained_variance_ - 1).max()
scores = np.abs(primal.transform(X) - dual.transform(X)).max() / np.abs(dual.transform(X)).max()
print(f"largest relative difference of 50 eigenvalues {difference:.0e}, of scores {scores:.0e}")
print(plan(PCA(50), X))

# %%
# ``solver="auto"`` chooses the dual by itself. The lectures' formula, in two lines of NumPy, gives the same vectors:

centred = X - X.mean(axis=0)
values, vectors = np.linalg.eigh(centred @ centred.T)
w = centred.T @ vectors[:, -1]
print(f"|cosine| of the first eigenvectors: {abs(dual.components_[0] @ w) / np.linalg.norm(w):.15f}")

# %%
# Time against the number of columns, for 100 rows of noise.

columns = [200, 500, 1000, 2000, 4000]
random = np.random.default_rng(0)
times: dict[str, list[float]] = {"covariance": [], "gram": []}
for p in columns:
    rows = random.standard_normal((100, p))
    for solver, taken in times.items():
        if solver == "covariance" and p > 2000:
            continue
        PCA(10, solver=solver).fit(rows[:, :50])  # so that the first one timed is not slower because it is the first
        start = perf_counter()
        PCA(10, solver=solver).fit(rows)
        taken.append(perf_counter() - start)

figure, ax = plt.subplots(figsize=(6, 3.8), layout="constrained")
figure.set_label(
    "Seconds against the number of columns on logarithmic scales, for 100 rows: the covariance route rises steeply, "
    "about a hundredfold from 200 to 2,000 columns; the dual route stays at a few milliseconds."
)
for (solver, taken), marker in zip(times.items(), "os", strict=True):
    ax.loglog(columns[: len(taken)], taken, marker=marker, label=f'solver="{solver}"')
ax.set_xticks(columns, [str(p) for p in columns])
ax.set_xticks([], minor=True)
ax.set(xlabel="columns", ylabel="seconds", title="PCA(10) of 100 rows")
ax.legend()
plt.show()
