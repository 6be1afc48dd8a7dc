"""
Can PCA show where people come from?
====================================

You have the genotypes of many people. Can you see groups of common ancestry in them, without being told who belongs to
which group?

The table has 180 people, from Utah (of European descent) and from Ibadan, and their genotypes at 603 places of one
chromosome. A genotype is 0, 1 or 2: the number of copies of the rarer letter.
"""

import csv
import gzip
import sys
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt

from lowdim import PPCA, choose_n_components

# The data are in a clone of lowdim: that of this script or, in a notebook, that of the working directory.
places = [*Path(sys.argv[0]).resolve().parents, Path.cwd(), *Path.cwd().parents]
root = next((place for place in places if (place / "gallery" / "data").is_dir()), Path())
with gzip.open(root / "gallery" / "data" / "genotypes.csv.gz", "rt", encoding="utf-8") as file:
    rows = list(csv.reader(file))[1:]
population = np.array([row[1] for row in rows])
X = np.array([[np.nan if entry in ("NA", "") else float(entry) for entry in row[2:]] for row in rows])
print(f"{X.shape[0]} people, {X.shape[1]} places, {np.isnan(X).sum()} genotypes not called")

# %%
# 1,384 genotypes are missing. Probabilistic PCA takes the table as it is.

varies = np.nanstd(X, axis=0) > 0
X = X[:, varies]
model = PPCA(4).fit(X)
Z = model.transform(X)
PLACES = {"CEU": "Utah (CEU)", "YRI": "Ibadan (YRI)"}
groups = {name: Z[population == name] for name in np.unique(population)}
is_first = population == population[0]
errors = min(min(np.sum(is_first != (Z[:, 0] > cut)), np.sum(is_first != (Z[:, 0] <= cut))) for cut in np.sort(Z[:, 0]))
print(f"people on the wrong side of the best cut of the first component: {errors} of {len(X)}")

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.9), layout="constrained")
figure.set_label(
    "Two maps of 180 people. Left: the first component separates two groups. Right: in components 2 and 3 the groups "
    "lie on top of each other."
)
for (name, scores), marker in zip(groups.items(), ".+", strict=True):
    for ax, (a, b) in ((left, (0, 1)), (right, (1, 2))):
        ax.plot(scores[:, a], scores[:, b], marker, label=PLACES[name])
left.set(xlabel="PC1", ylabel="PC2", title="First and second component")
right.set(xlabel="PC2", ylabel="PC3", title="Second and third component")
left.legend()
plt.show()

# %%
# The first component alone separates the two groups: with the best threshold, one person of 180 is on the wrong side.
# In the second and third component the groups lie on top of each other, so these show differences between persons, not
# between places. Do not read geography into every component of such a map.
#
# How many components are more than chance?

filled = np.asarray(model.impute(X, lower=0.0, upper=2.0))
print(choose_n_components(filled, ["parallel", "gavish-donoho", "broken-stick", "elbow"]))

# %%
# The rules disagree, from 1 to 42. Genotypes at neighbouring places are inherited together, so they are correlated, and
# rules that assume independent columns take these correlations for structure. Their answers are upper bounds here. The
# answer of "elbow", one component, agrees with what the map shows.
#
# Source of the idea: Novembre et al. (2008), Genes mirror geography within Europe, Nature 456.
