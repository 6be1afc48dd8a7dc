"""
Choosing K on tables whose answer is known
==========================================

**The lectures** choose K by a share of the variance, "typically 90%", or by looking at the scree graph.

**Measured** on simulated tables with four components: a share of the variance says how much is kept, not how many
components there are; it is never right here. Of strong components in white noise most rules find the right number; of
weak ones only parallel analysis and cross-validation often do; if the noise of neighbouring columns is correlated, most
rules take it for components. No rule is right everywhere.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_wine

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
        list(choose_n_components(table(scene), RULES, n_draws=30).table()["K"]) for _ in range(REPETITIONS)
    ])
    for scene in SCENES
}  # fmt: skip
print(f"{'rule':15s}" + "".join(f"{scene:>19s}" for scene in SCENES) + "    (share of tables with the right K)")
for column, rule in enumerate(RULES):
    shares = [np.mean(answers[scene][:, column] == (0 if scene == "no components" else K)) for scene in SCENES]
    print(f"{rule:15s}" + "".join(f"{share:19.0%}" for share in shares))

# %%
# All answers: each point is a table, jittered. The line is the truth.

figure, axes = plt.subplots(1, 4, figsize=(13, 4), layout="constrained", sharey=True)
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
# A real table: the 13 measurements of 178 wines. There is no truth here, but most rules that look for structure say
# three or four, and the three cultivars need two.

wine = load_wine(as_frame=True).data
found = choose_n_components(wine, standardize=True)
print(found)
ax = plot.scree(found)
ax.figure.set_label(
    "Scree plot of 13 wine measurements: eigenvalues 4.7, 2.5, 1.4 and then falling below 1, with marks at the numbers "
    "of components that the rules choose."
)
plt.show()
