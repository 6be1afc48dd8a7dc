"""
What if there are fewer rows than columns?
==========================================

Your table has 100 rows and many thousands of columns, such as pixels or genes. Is PCA still possible, and do you have
to wait for a covariance matrix with as many rows and columns as there are columns in the table?

It is possible, and you do not have to wait. If X has N centred rows, the N x N matrix of inner products X X^T has the
same nonzero eigenvalues as X^T X. If v is an eigenvector of X X^T, then X^T v, divided by its length, is an eigenvector
of X^T X. So the small problem has all the answers.
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
# Both ways were used on 100 faces of 625 pixels: 50 eigenvalues agree to 13 digits, and so do the scores. The last line
# says which way lowdim chooses by itself (``solver="auto"``), and why. The formula, in a few lines of NumPy, gives the
# same first component:

centred = X - X.mean(axis=0)
values, vectors = np.linalg.eigh(centred @ centred.T)
w = centred.T @ vectors[:, -1]
print(f"|cosine| of the first eigenvectors: {abs(dual.components_[0] @ w) / np.linalg.norm(w):.15f}")

# %%
# The time of both ways against the number of columns, for 100 rows of random numbers:

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

# %%
# On logarithmic scales, the time with the covariance matrix rises steeply: about a hundredfold from 200 to 2,000
# columns. The time with inner products stays at a few milliseconds, because only the products of the rows depend on the
# number of columns. You need not choose: ``solver="auto"`` does. But remember that 100 rows have at most 99 components
# with any variance, whatever the number of columns.
#
# Source of the idea: lectures on PCA, where this is the dual problem; also Turk and Pentland (1991), Eigenfaces for
# recognition.
