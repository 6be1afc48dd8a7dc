"""
Three questions about a table
=============================

The table has 178 wines of three kinds, and 13 measurements of each.

**The lectures** ask of every table how many components there are (the scree graph, a share of the variance), where the
rows are (the map by two scores) and what the components mean (the loadings).

**Measured:** six rules of twelve choose two or three components, and the others up to twelve, because they answer other
questions. Two components hold 55% of the variance, and in their map the three kinds form three groups, although PCA
does not know the kinds. According to 200 bootstrap samples, 11 of the 13 loadings of the first component differ from
zero.
"""

from matplotlib import pyplot as plt
from sklearn.datasets import load_wine

from lowdim import PCA, bootstrap, choose_n_components

wine = load_wine(as_frame=True)
names = {name: name.replace("_", " ").replace(" of diluted wines", "") for name in wine.data.columns}
table = wine.data.rename(columns=names)
kinds = wine.target.map(lambda kind: f"kind {kind + 1}")

choices = choose_n_components(table, standardize=True)
print(choices)

# %%
# Parallel analysis, "parallel", keeps the components whose variance is larger than that of the components of unrelated
# columns.

pca = PCA("parallel", standardize=True).fit(table)
draws = bootstrap(PCA(3, standardize=True), table, n_boot=200, random_state=0)
print(pca)

# %%
# The three answers, each in one plot of the model. Hatched bars have an interval that includes zero.

figure, axes = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained", width_ratios=[1, 1.15, 1])
figure.set_label(
    "Three plots of 178 wines: the variances of the components with the numbers of components that several rules "
    "choose; a map of the wines by two scores, in which three kinds of wine form three groups; and the loadings of the "
    "columns on the first component as bars with intervals."
)
pca.plot.scree(choices, ax=axes[0])
pca.plot.scores(table, groups=kinds, ax=axes[1])
pca.plot.loading_bars(1, bootstrap=draws, ax=axes[2])
for ax, title in zip(axes, ("How many components?", "Where are the rows?", "What do they mean?"), strict=True):
    ax.set_title(title)
figure.get_layout_engine().set(wspace=0.06)
plt.show()
