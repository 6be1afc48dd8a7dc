"""
What can PCA tell me about a table?
===================================

You have a table with more columns than you can look at. How many directions of variation does it have, where are the
rows, and which columns make the difference?

The first table has 178 wines of three kinds, and 13 chemical measurements of each. The second has 150 irises and four
measurements of each.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_iris, load_wine

from lowdim import PCA, bootstrap, choose_n_components

wine = load_wine(as_frame=True)
names = {name: name.replace("_", " ").replace(" of diluted wines", "") for name in wine.data.columns}
table = wine.data.rename(columns=names)
kinds = wine.target.map(lambda kind: f"kind {kind + 1}")

choices = choose_n_components(table, scale=True)
print(choices)

# %%
# Six rules of twelve choose two or three components. The others choose up to twelve, because they answer other
# questions, such as how many components are needed for a given share of the variance.
#
# Parallel analysis, "parallel", keeps the components whose variance is larger than that of the components of unrelated
# columns:

pca = PCA("parallel", scale=True).fit(table)
draws = bootstrap(PCA(3, scale=True), table, n_resamples=200, random_state=0)
print(pca)

# %%
# Three plots of the model answer the three questions. Hatched bars have an interval that includes zero.

figure, axes = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained", width_ratios=[1, 1.15, 1])
figure.set_label(
    "Three plots of 178 wines: the variances of the components with the numbers of components that several rules "
    "choose; a map of the wines by two scores, in which three kinds of wine form three groups; and the loadings of the "
    "columns on the first component as bars with intervals."
)
pca.plot.scree(choices, ax=axes[0])
pca.plot.scores(table, hue=kinds, ax=axes[1])
pca.plot.loading_bars(1, bootstrap=draws, ax=axes[2])
for ax, title in zip(axes, ("How many components?", "Where are the rows?", "What do they mean?"), strict=True):
    ax.set_title(title)
figure.get_layout_engine().set(wspace=0.06)
plt.show()

# %%
# Left: the first three variances stand out from the rest. Middle: two components hold 55% of the variance, and the
# three kinds of wine form three groups, although PCA was not told the kinds. Right: according to 200 bootstrap samples,
# 11 of the 13 loadings of the first component differ from zero, so it is a contrast of many measurements and not of
# one. You may conclude that the kinds differ in their chemistry. You may not conclude that there are exactly three
# kinds: groups on a map have to be confirmed by other means.
#
# Without PCA, you would have to look at a scatter plot of each pair of columns. A table with D columns has D(D-1)/2
# pairs: 78 for these 13 columns. The same rows, in 78 plots and in one:

D = table.shape[1]
print(f"{D} columns have {D * (D - 1) // 2} scatter plots of two columns")
colours = [f"C{kind}" for kind in wine.target]
standard = ((table - table.mean()) / table.std()).to_numpy()
figure = plt.figure(figsize=(11, 5.4), layout="constrained")
figure.set_label(
    "Left: a triangle of 78 small scatter plots, one for each pair of 13 columns, in three colours. Right: one map by "
    "two components, in which the three kinds of wine form three groups."
)
many, one = figure.subfigures(1, 2)
axes = many.subplots(D - 1, D - 1, gridspec_kw={"wspace": 0, "hspace": 0})
for i in range(D - 1):
    for j in range(D - 1):
        if j <= i:
            axes[i, j].scatter(standard[:, j], standard[:, i + 1], c=colours, s=0.4)
            axes[i, j].set(xticks=[], yticks=[])
        else:
            axes[i, j].set_axis_off()
many.suptitle("78 pairs of columns")
ax = one.subplots()
pca.plot.scores(table, hue=kinds, ax=ax)
one.suptitle("One map of two components")
plt.show()

# %%
# Some of the 78 plots show the kinds quite well, but you would have to find them, and to remember them all. The map
# combines the columns that vary together, so one picture shows most of what many pairs show in part. It is not a
# replacement for all of them: 45% of the variance is in none of its two axes.
#
# With four columns you can still compare every number. Irises have four measurements, so they are points in four
# dimensions, which nobody can draw. The map is their projection on the plane of the first two components. The arrows
# are the projections of the four axes.

iris = load_iris(as_frame=True)
flowers = PCA(2).fit(iris.data.to_numpy())
scores = flowers.transform(iris.data.to_numpy())
print("each component as a sum of columns:")
for k, weights in enumerate(flowers.components_):
    terms = " ".join(f"{w:+.2f} {name}" for w, name in zip(weights, iris.data.columns, strict=True))
    print(f"  PC{k + 1} = {terms}")
figure, ax = plt.subplots(figsize=(8, 4.2), layout="constrained")
figure.set_label(
    "A map of 150 irises by two components: setosa far from versicolor and virginica, which touch. Four arrows show "
    "the directions of the four columns; that of petal length is the longest and points along the first component."
)
for species, marker in enumerate("osD"):
    own = iris.target == species
    ax.plot(*scores[own].T, marker, color=f"C{species}", markersize=4, label=iris.target_names[species])
box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1}
for name, weights, (x, y) in zip(
    iris.data.columns, flowers.components_.T, [(0.55, 0), (-0.1, 0.15), (0.3, -0.2), (0.1, -0.2)], strict=True
):
    end = 2.2 * weights
    ax.annotate("", end, (0, 0), arrowprops={"arrowstyle": "->", "color": "black"})
    ax.annotate(name.replace(" (cm)", ""), end + np.array([x, y]), ha="center", va="center", fontsize="small", bbox=box)
first, second = flowers.explained_variance_ratio_
ax.set(xlabel=f"PC1 ({first:.1%})", ylabel=f"PC2 ({second:.1%})", title="Four columns, projected on a plane")
ax.set(aspect="equal", ylim=(-1.5, 2))
ax.legend(loc="lower right")
plt.show()

# %%
# The two components hold 98% of the variance, so hardly anything is lost in this projection: two irises that are near
# each other on the map are near each other in all four columns. Setosa is far from the other two species, which touch.
# The longest arrow is that of petal length, so the first component is mostly the size of the petals. The map does not
# prove that versicolor and virginica cannot be separated; it shows that the directions of most variance do not separate
# them fully.
#
# Source of the idea: lectures on PCA, which use the scree graph, the map and the loadings, and project a table of four
# columns.
