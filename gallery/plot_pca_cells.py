"""
Can PCA tell types of cells apart?
==================================

You have measured the activity of hundreds of genes in each of many cells. Which cells are alike, and how many numbers
for each cell are enough to see it?

The table has 700 blood cells and 765 genes, so each cell is a point in 765 dimensions. The types of the cells are known
from other measurements. PCA does not use them; they only serve to judge its map.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from lowdim import PCA

# The data are in a clone of lowdim: that of this script or, in a notebook, that of the working directory.
places = [*Path(sys.argv[0]).resolve().parents, Path.cwd(), *Path.cwd().parents]
root = next((place for place in places if (place / "gallery" / "data").is_dir()), Path())
with np.load(root / "gallery" / "data" / "cells.npz") as file:
    X, genes, types = file["X"], file["genes"], file["labels"]
pca = PCA(20).fit(X)
print(pca.plan_)
for k in (1, 2, 5, 10, 20):
    accuracy = cross_val_score(make_pipeline(PCA(k), KNeighborsClassifier(15)), X, types, cv=5).mean()
    print(f"K = {k:2d}: {pca.explained_variance_ratio_[:k].sum():.0%} of the variance, type right {accuracy:.0%}")

# %%
# The share of the variance is small: two components hold 20% of it. Yet the fifteen nearest neighbours of a cell that
# was left out name its type correctly in 73% of the cases with two components, and in 80% with ten. Most of the
# variance is noise of single genes, so a small share does not mean that the map is useless. More than ten components
# add nothing.
#
# The map by the first two components:

figure, ax = plt.subplots(figsize=(9, 5), layout="constrained")
figure.set_label(
    "A map of 700 cells by two scores, with ten types in colours: monocytes and dendritic cells at one side, "
    "lymphocytes at the other, B cells apart from T cells."
)
Z = pca.transform(X, n_components=2)
for number, name in enumerate(np.unique(types)):
    ax.plot(*Z[types == name].T, "osD^v<>PX*"[number], color=f"C{number}", markersize=4, label=name)
ax.set(
    xlabel=f"PC1 ({pca.explained_variance_ratio_[0]:.0%})",
    ylabel=f"PC2 ({pca.explained_variance_ratio_[1]:.0%})",
    title="Blood cells",
)
ax.legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize="small")
plt.show()

# %%
# On the map, monocytes and dendritic cells lie on one side and lymphocytes on the other, and B cells lie apart from T
# cells. You can conclude that these groups differ in many genes at once. You cannot conclude that cells which overlap
# on the map are of the same type: the types of T cells are mixed here, and they differ in only a few genes.
#
# The genes with the largest loadings say what the two components are made of:

for k in range(2):
    order = np.argsort(pca.loadings_[:, k])
    print(f"PC{k + 1}: {', '.join(genes[order[-8:][::-1]])} against {', '.join(genes[order[:8]])}")

# %%
# The first component has CST3 and LYZ, which are active in monocytes, at one end, and CD3D and CD3E, which are active
# in T cells, at the other. The second has genes of one kind of monocytes against HLA genes, by which cells present
# antigens. So the axes of the map have a meaning that a biologist can check; PCA itself only knows which genes vary
# together.
#
# Source of the idea: the opening example of a lecture on PCA, after Pollen et al. (2014), Nature Biotechnology 32.
