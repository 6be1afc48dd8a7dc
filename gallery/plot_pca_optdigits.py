"""
How many components do images of digits need?
=============================================

You want to replace the 64 pixels of small images by fewer numbers. How many do you need to keep 90% of the variance,
and how many to recognise the digits?

The data are the 5,620 handwritten digits of OPTDIGITS, with 8 x 8 pixels each. Each image is a point in 64 dimensions.
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
# The variance of each component (a scree graph), and the share of the variance that the first K components hold:

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
right.set(xlabel="number of components", ylabel="proportion of variance", title="Share of the variance", ylim=(0, 1.03))
plt.show()

# %%
# The variances fall without a clear bend, so the scree graph does not suggest a number. The curve at the right answers
# how many components hold which share: 21 of 64 hold 90%. That is a statement about squared errors of pixels. It does
# not say that there are 21 meaningful components.
#
# Other rules give other answers, because they ask other questions, such as what is more than noise, or what helps to
# predict pixels of new images:

print(choose_n_components(X, ["proportion", "broken-stick", "elbow", "parallel", "marchenko-pastur", "cv"]))

# %%
# The map of the first two components:

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
# The digits 0, 4, 6 and 7 lie apart; 2, 5, 8 and 9 lie on top of each other. Two components hold only 28% of the
# variance, and yet they separate several digits. Digits that overlap here may still be separated by other components:
# the map shows two directions of 64.
#
# How much is lost for recognition? Each image of the test part is named by its five nearest neighbours in the training
# part, given only K scores:

for k in (2, 5, 10, k90, 64):
    model = PCA(k).fit(X[~is_test])
    neighbours = KNeighborsClassifier(5).fit(model.transform(X[~is_test]), digits[~is_test])
    print(f"K = {k:2d}: {neighbours.score(model.transform(X[is_test]), digits[is_test]):.1%} right")

# %%
# Two scores name 57% of the digits correctly, five 91% and ten 95%. The 21 components with 90% of the variance do as
# well as all 64. For recognition, the components that were left out hold hardly anything of use, so you can keep a
# third of the numbers at no cost.
#
# Source of the idea: a lecture on PCA that shows the scree graph, the proportion of variance and the map of OPTDIGITS.
