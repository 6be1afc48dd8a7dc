"""
How well can missing entries be filled?
=======================================

Your table has gaps. Can they be filled from the other columns, and how far can the filled values be trusted?

To know the answer, one in ten entries of a complete table, 13 measurements of 178 wines, is hidden and filled again.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_wine

from lowdim import PPCA

wine = load_wine(as_frame=True).data
hidden = np.random.default_rng(0).random(wine.shape) < 0.1
incomplete = wine.mask(hidden)
model = PPCA(4, scale=True).fit(incomplete)
filled, sd = (np.asarray(table) for table in model.impute(incomplete, return_std=True))
truth, scale = wine.to_numpy(), wine.to_numpy().std(axis=0)
error = ((filled - truth) / scale)[hidden]
of_means = ((np.nanmean(incomplete, axis=0) - truth) / scale)[hidden]
within = np.abs(filled - truth)[hidden] < 1.645 * sd[hidden]
print(f"{hidden.sum()} entries hidden; RMSE in standard deviations: {np.sqrt(np.mean(error**2)):.2f}, "
      f"of means {np.sqrt(np.mean(of_means**2)):.2f}")  # fmt: skip
print(f"within the 90% interval: {within.mean():.0%}")

# %%
# The error of the filled values is 0.81 standard deviations, compared with 1.05 for the means of the columns. The model
# gives each filled value a standard deviation, and 87% of the hidden values are in the intervals that should have 90%.
#
# Filled against hidden values for four columns, with these intervals:

names = ["flavanoids", "color_intensity", "alcohol", "malic_acid"]
figure, axes = plt.subplots(1, 4, figsize=(10, 3), layout="constrained")
figure.set_label(
    "Four panels of filled against hidden values with vertical 90% intervals, around the diagonal. For flavanoids the "
    "points follow the diagonal; for malic acid they scatter widely, with long intervals."
)
for ax, name in zip(axes, names, strict=True):
    column = wine.columns.get_loc(name)
    rows = np.flatnonzero(hidden[:, column])
    ax.errorbar(truth[rows, column], filled[rows, column], yerr=1.645 * sd[rows, column], fmt="o", ms=4, lw=1)
    ends = [truth[:, column].min(), truth[:, column].max()]
    ax.plot(ends, ends, color="grey", linestyle=":")
    ax.set(title=name, xlabel="hidden value")
axes[0].set_ylabel("filled, with 90% interval")
plt.show()

# %%
# Flavanoids depend on other columns, so they are filled well. Malic acid does not, so it is filled badly; but its long
# intervals say so. A filled value is a guess, and its interval tells you how good the guess is.
#
# What if more entries are missing?

shares = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
curve, means, coverage = [], [], []
for share in shares:
    gone = np.random.default_rng(1).random(wine.shape) < share
    table = wine.mask(gone)
    values, deviation = (np.asarray(t) for t in PPCA(4, scale=True).fit(table).impute(table, return_std=True))
    curve.append(np.sqrt(np.mean(((values - truth) / scale)[gone] ** 2)))
    means.append(np.sqrt(np.mean(((np.nanmean(table, axis=0) - truth) / scale)[gone] ** 2)))
    coverage.append(np.mean(np.abs(values - truth)[gone] < 1.645 * deviation[gone]))
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
figure.set_label(
    "Left: the error of filled entries rises slowly with the share of hidden entries and stays below that of column "
    "means. Right: the share of hidden values within their 90% interval stays near 90%."
)
left.plot(shares, curve, "o-", label="PPCA(4)")
left.plot(shares, means, "s--", label="means of the columns")
left.set(xlabel="share of entries hidden", ylabel="RMSE / standard deviation", ylim=(0, 1.2), title="Error")
left.legend()
right.plot(shares, coverage, "o-")
right.axhline(0.9, color="grey", linestyle=":")
right.set(xlabel="share of entries hidden", ylabel="within the 90% interval", ylim=(0, 1), title="Coverage")
plt.show()

# %%
# With half of the entries hidden, the filled values are still better than the means of the columns. The intervals hold
# a little less than 90%, because the model assumes the same noise in all columns, which is not true here;
# :class:`lowdim.FactorAnalysis` does without this assumption. All of this is for entries that are missing by chance. If
# large values are missing more often than small ones, the filled values are too small, and no interval shows it.
#
# Source of the idea: lectures on latent variable models, which derive EM for probabilistic PCA; missing entries are
# what EM is needed for.
