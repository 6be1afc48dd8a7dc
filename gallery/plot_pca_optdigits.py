"""
PCA of handwritten digits: scree, proportion of variance, map
=============================================================

OPTDIGITS has 5,620 digits of 8 x 8 pixels, so each is a point in 64 dimensions.

**The lectures** show the scree graph and the proportion of variance (PofV) of this table, choose the smallest K with a
PofV above 90%, and draw the digits in the plane of the first two components.

**Measured:** 21 of 64 components reach 90%. The first two hold 28%, and yet they separate several of the digits.
"""

# sphinx_gallery_thumbnail_number = 2

import sys
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt
from sklearn.neighbors import KNeighborsClassifier

from lowdim import PCA, choose_n_components

# The data are in a clone of lowdim: that of this script or, in a notebook, that of the working directory.
places = [*Path(sys.argv[0]).resolve().parents, Path.cwd(), *Path.cwd().parents]
root = next((place for place in places if (place / "gallery" / "data").is_dir()), Path())
with np.load(root / "gallery" / "data" / "optdigits.npz") as file:
    X, digits, is_test = file["images"].astype(float), file["labels"], file["is_test"]
pca = PCA().fit(X)
share = np.cumsum(pca.explained_variance_ratio_)
k90 = int(np.searchsorted(share, 0.9)) + 1
print(f"{len(X)} digits; K for 90%: {k90}; share of the first two: {share[1]:.1%}")

# %%
# The variances fall without a clear elbow, which is why the lectures take a share of the variance. The curve at the
# right is the answer to "how many components for how much?".

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
figure.set_label(
    "Two curves over the number of components, 1 to 64. Left: the variances fall from 179 to almost zero, without a "
    "clear elbow. Right: the proportion of variance rises to 1 and crosses the line at 90% at 21 components."
)
number = np.arange(1, 65)
left.plot(number, pca.explained_variance_, ".-")
left.set(xlabel="component", ylabel="variance", title="Scree graph")
right.plot(number, share, ".-")
right.axhline(0.9, color="grey", linestyle=":")
right.axvline(k90, color="grey", linestyle=":")
right.annotate(f"K = {k90}", (k90, 0.9), xytext=(k90 + 4, 0.72), arrowprops={"arrowstyle": "->"})
right.set(xlabel="number of components", ylabel="proportion of variance", title="PofV", ylim=(0, 1.03))
plt.show()

# %%
# Other rules give other answers, because they ask other questions: what is more than noise, or what predicts new rows.

print(choose_n_components(X, ["proportion", "broken-stick", "elbow", "parallel", "marchenko-pastur", "cv"]))

# %%
# The map of the first two components. 0, 4, 6 and 7 lie apart; 2, 5, 8 and 9 lie on top of each other.

figure, ax = plt.subplots(figsize=(8, 6.5), layout="constrained")
figure.set_label(
    "A map of the digits by their first two scores: each digit is drawn as a numeral in its colour. Zeros, fours, "
    "sixes and sevens form groups at the edge; twos, fives, eights and nines overlap in the middle."
)
Z = pca.transform(X, n_components=2)
shown = np.random.default_rng(0).choice(len(X), 1200, replace=False)
for row in shown:
    ax.text(*Z[row], str(digits[row]), color=plt.cm.tab10(digits[row]), fontsize=8, ha="center", va="center")
ax.set(
    xlim=(Z[:, 0].min(), Z[:, 0].max()),
    ylim=(Z[:, 1].min(), Z[:, 1].max()),
    xlabel=f"PC1 ({pca.explained_variance_ratio_[0]:.1%})",
    ylabel=f"PC2 ({pca.explained_variance_ratio_[1]:.1%})",
    title="1,200 of the 5,620 digits",
)
plt.show()

# %%
# How much is lost? Each digit of the test part is named by its five nearest neighbours in the training part, from K
# scores.

for k in (2, 5, 10, k90, 64):
    model = PCA(k).fit(X[~is_test])
    neighbours = KNeighborsClassifier(5).fit(model.transform(X[~is_test]), digits[~is_test])
    print(f"K = {k:2d}: {neighbours.score(model.transform(X[is_test]), digits[is_test]):.1%} right")
