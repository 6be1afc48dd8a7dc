"""
Which rule for the number of components is right?
=================================================

There are a dozen rules for the number of components K, and they disagree. Is one of them right?

The answer is known for simulated tables. Here they have 300 rows and 20 columns, and strong, weak or no components; in
one kind, the noise of neighbouring columns is correlated. Each rule chooses K for twenty tables of each kind.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_breast_cancer, load_digits, load_wine

from lowdim import choose_n_components, plot

N, P, K, REPETITIONS = 300, 20, 4, 20
RULES = ["proportion", "kaiser", "broken-stick", "elbow", "bic", "parallel", "map", "gavish-donoho", "cv"]
random = np.random.default_rng(0)


def table(scene: str) -> np.ndarray:
    """Rows with four components and noise of variance 1."""
    weak = scene == "weak components"
    variances = np.array([0.9, 0.8, 0.7, 0.6] if weak else [9, 7, 5, 3])
    directions = np.linalg.qr(random.standard_normal((P, K)))[0]
    noise = random.standard_normal((N, P))
    if scene == "correlated noise":
        for j in range(1, P):
            noise[:, j] = 0.5 * noise[:, j - 1] + np.sqrt(0.75) * noise[:, j]
    if scene == "no components":
        return noise
    return random.standard_normal((N, K)) * np.sqrt(variances) @ directions.T + noise


SCENES = ["strong components", "weak components", "correlated noise", "no components"]
answers = {
    scene: np.array([
        list(choose_n_components(table(scene), RULES, n_resamples=30).table()["K"]) for _ in range(REPETITIONS)
    ])
    for scene in SCENES
}  # fmt: skip
print(f"{'rule':15s}" + "".join(f"{scene:>19s}" for scene in SCENES) + "    (share of tables with the right K)")
for column, rule in enumerate(RULES):
    shares = [np.mean(answers[scene][:, column] == (0 if scene == "no components" else K)) for scene in SCENES]
    print(f"{rule:15s}" + "".join(f"{share:19.0%}" for share in shares))

# %%
# No rule is right everywhere. All answers: each point is a table, moved a little so that points do not cover each
# other. The line is the truth.

figure, axes = plt.subplots(1, 4, figsize=(10, 4), layout="constrained", sharey=True)
figure.set_label(
    "Four panels, one for each scene, with nine rules from top to bottom and their answers for twenty tables as "
    "points. A line marks the true number, 4 or 0. In the first panel most rules are on the line, and the share of the "
    "variance far to its right."
)
for ax, scene in zip(axes, SCENES, strict=True):
    for row in range(len(RULES)):
        jitter = random.uniform(-0.25, 0.25, REPETITIONS)
        ax.plot(answers[scene][:, row], row + jitter, ".", markersize=4, alpha=0.6)
    ax.axvline(0 if scene == "no components" else K, color="black", linewidth=0.8)
    ax.set(title=scene, xlabel="chosen K", xlim=(-0.7, P + 0.5))
axes[0].set_yticks(range(len(RULES)), RULES)
axes[0].invert_yaxis()
plt.show()

# %%
# A share of the variance says how much is kept, not how many components there are, and is never right here. Most rules
# find the right number of strong components in white noise. Only parallel analysis and cross-validation often find that
# of weak ones. If the noise of neighbouring columns is correlated, most rules take it for components.
#
# A real table in detail, the 13 measurements of 178 wines:

wine = load_wine(as_frame=True).data
found = choose_n_components(wine, scale=True)
print(found)
ax = plot.scree(found)
ax.figure.set_label(
    "Scree plot of 13 wine measurements: eigenvalues 4.7, 2.5, 1.4 and then falling below 1, with marks at the numbers "
    "of components that the rules choose."
)
plt.show()

# %%
# Nobody knows the right number here. Most rules that look for structure say three or four, and two are enough to show
# the three kinds of wine on a map.
#
# Five real tables, the first two standardized:

# The data are in a clone of lowdim: that of this script or, in a notebook, that of the working directory.
places = [*Path(sys.argv[0]).resolve().parents, Path.cwd(), *Path.cwd().parents]
root = next((place for place in places if (place / "gallery" / "data").is_dir()), Path())
with np.load(root / "gallery" / "data" / "faces.npz") as file:
    faces = file["images"][file["is_face"]].reshape(100, -1).astype(float)
spectra = np.loadtxt(root / "tests" / "parity" / "data" / "gasoline.csv", delimiter=",", skiprows=1)[:, 1:]
REAL = {
    "wines": (wine.to_numpy(), True),
    "tumours": (load_breast_cancer().data, True),
    "digits": (load_digits().data, False),
    "spectra": (spectra, False),
    "faces": (faces, False),
}
figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
figure.set_label(
    "The numbers of components that nine rules choose for five real tables, on a logarithmic scale, with a marker for "
    "each table. For each table the answers spread over a factor of 4 or more; elbow and broken-stick are at the left, "
    "bic at the right."
)
print(f"{'table':10s}{'shape':>12s}" + "".join(f"{rule:>14s}" for rule in RULES))
for (name, (rows, scale)), marker in zip(REAL.items(), "osD^v", strict=True):
    chosen = choose_n_components(rows, RULES, scale=scale, n_resamples=30).table()["K"]
    print(f"{name:10s}{'{} x {}'.format(*rows.shape):>12s}" + "".join(f"{k:14d}" for k in chosen))
    ax.semilogx(chosen, np.arange(len(RULES)), marker, label=name, fillstyle="none", markersize=8)
ax.set_yticks(range(len(RULES)), RULES)
ax.set_xticks([1, 2, 5, 10, 20, 50, 100], ["1", "2", "5", "10", "20", "50", "100"])
ax.set_xticks([], minor=True)
ax.invert_yaxis()
ax.set(xlabel="chosen K", title="Real tables")
ax.legend()
plt.show()

# %%
# The smallest and the largest answer for a table differ by a factor of 4 to 58. Rules that compare with chance
# ("parallel", "broken-stick") often take few components. Rules that ask for a good density ("bic", sometimes "cv") take
# many, because real noise is not white, and with enough rows small components are real too. So choose the rule by what
# you need: components that are more than chance, a good density, or a share of the variance. Give the rule with the
# number, since a number alone says little.
#
# Source of the idea: lectures on PCA, which choose K by a share of the variance, typically 90%, or by the scree graph.
