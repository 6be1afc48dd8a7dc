"""
PCR or PLS: which needs fewer components?
=========================================

You want to predict a number from hundreds of correlated columns. Principal component regression (PCR) takes the
components with the largest variance, and partial least squares (PLS) those that covary with the response. Does it
matter which one you use?

The columns are the near-infrared spectra of 60 samples of gasoline, and the response is their octane number.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt
from sklearn.model_selection import KFold

from lowdim import PCR, PLSRegression, cross_validate

# The data are in a clone of lowdim: that of this script or, in a notebook, that of the working directory.
places = [*Path(sys.argv[0]).resolve().parents, Path.cwd(), *Path.cwd().parents]
root = next((place for place in places if (place / "gallery" / "data").is_dir()), Path())
folder = root / "tests" / "parity" / "data"
table = np.loadtxt(folder / "gasoline.csv", delimiter=",", skiprows=1)
octane, spectra = table[:, 0], table[:, 1:]
wavelength = np.linspace(900, 1700, spectra.shape[1])
folds = KFold(10, shuffle=True, random_state=0)
numbers = np.arange(1, 16)
models = {"PCR": PCR(), "PLS": PLSRegression(scale=False)}
results = {name: cross_validate(m, spectra, octane, cv=folds, n_components=numbers) for name, m in models.items()}
for name, result in results.items():
    rmse = result.rmse[0]
    print(f"{name}: least RMSE {rmse.min():.3f} with {np.argmin(rmse) + 1} components; with 2: {rmse[1]:.3f}")

# %%
# The least errors are the same, but PLS needs fewer components. The spectra, and the error of rows left out:

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
figure.set_label(
    "Left: 60 spectra from 900 to 1,700 nm, coloured by octane number. Right: the error of cross-validation against "
    "the number of components. PLS falls with two components, PCR with four; then both stay level."
)
for row, value in zip(spectra, octane, strict=True):
    shade = (value - octane.min()) / np.ptp(octane)
    left.plot(wavelength, row, color=plt.cm.viridis(shade), linewidth=0.6)
colours = plt.cm.ScalarMappable(plt.Normalize(octane.min(), octane.max()), "viridis")
figure.colorbar(colours, ax=left, label="octane number")
left.set(xlabel="wavelength (nm)", ylabel="log(1 / reflectance)", title="Spectra")
for (name, result), style in zip(results.items(), ("s--", "o-"), strict=True):
    right.plot(numbers, result.rmse[0], style, label=name)
right.set(xlabel="number of components", ylabel="RMSE of rows left out", title="Octane number", ylim=(0, None))
right.legend()
plt.show()

# %%
# The octane number has a standard deviation of 1.5. Two components of PLS explain most of it, and PCR needs four: its
# first three components vary much, but not with the octane number. With five or more components the two predict
# equally well, so what you gain by PLS is a smaller model and not a better one.
#
# It can be worse for PCR. In the next table, rows have 30 directions with falling variances, and the response depends
# on the 20th alone:

random = np.random.default_rng(0)
n, p = 300, 30
scores = random.standard_normal((n, p)) * np.linspace(3, 0.3, p)
X = scores @ np.linalg.qr(random.standard_normal((p, p)))[0]
y = scores[:, 19] / scores[:, 19].std() + 0.3 * random.standard_normal(n)
rules = {
    "PCR, by variance": PCR(),
    "PCR, by relevance": PCR(select="relevance"),
    "PLS": PLSRegression(scale=False),
}
figure, ax = plt.subplots(figsize=(7, 3.8), layout="constrained")
figure.set_label(
    "Error of rows left out against the number of components, 1 to 25, for a response that depends on the 20th "
    "direction. PCR by variance stays at 1 until about 18 components and then drops; PCR by relevance falls slowly "
    "from the start, PLS quickly."
)
for (name, model), style in zip(rules.items(), ("s--", "^:", "o-"), strict=True):
    error = cross_validate(model, X, y, cv=folds, n_components=range(1, 26)).rmse[0]
    ax.plot(np.arange(1, 26), error, style, markersize=4, label=name)
    near = int(np.argmax(error < 1.25 * error.min())) + 1
    print(f"{name:18s} least RMSE {error.min():.3f}; {near} components come within 25% of it")
ax.set(xlabel="number of components", ylabel="RMSE of rows left out", ylim=(0, None))
ax.legend()
plt.show()

# %%
# PCR by variance needs 21 components to come within 25% of the least error, because the right direction is the 20th,
# and PLS needs three. PCR can also choose components by their relevance for the response. This helps at once, but it
# needs eight components, because noise makes other components look relevant. So prefer PLS if there may be a response
# in directions of small variance, and choose the number of components by rows that were left out in any case.
#
# Source of the idea: a lecture on PCR and PLS, which says that components of large variance need not predict, and that
# choosing them by relevance may not generalize well.
