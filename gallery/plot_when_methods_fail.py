"""
When does each method fail?
===========================

Each method assumes something about the rows, and gives an answer whether this is true or not. How wrong can the answer
be, and how would you notice?

Twelve tables, in each of which an assumption does not hold, show what goes wrong and what to do instead.
"""

import sys
import textwrap
import warnings
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt
from scipy.linalg import subspace_angles
from sklearn.datasets import load_wine, make_circles
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold

from lowdim import (
    CCA,
    ICA,
    PCA,
    PCR,
    PPCA,
    FactorAnalysis,
    FeatureMapPCA,
    KernelPCA,
    PLSRegression,
    Whitening,
    cross_validate,
)
from lowdim.errors import GaussianWarning, HeywoodWarning, SmallSampleWarning
from lowdim.features import Polynomial
from lowdim.selection import choose_width

#: Colours that readers with any kind of colour vision can tell apart: the failure, and what to do instead.
WRONG, RIGHT = "#d55e00", "#0072b2"


def line(
    ax: plt.Axes, centre: np.ndarray, direction: np.ndarray, length: float, color: str, label: str, width: float = 2.5
) -> None:
    """A direction through a point, as a line of this length to either side."""
    ends = centre + np.outer([-length, length], direction / np.linalg.norm(direction))
    ax.plot(*ends.T, color=color, linewidth=width, linestyle="-" if color == RIGHT else "--", label=label)


def degrees(a: np.ndarray, b: np.ndarray) -> float:
    """The angle between two directions."""
    return float(np.degrees(subspace_angles(a.reshape(-1, 1), b.reshape(-1, 1)))[0])


# %%
# PCA, in four tables.


def unequal_units(ax: plt.Axes, _: np.random.Generator) -> tuple[str, str]:
    """The first component of 13 measurements of wine, in units from % to mg/l: the share of each column in it."""
    wine = load_wine(as_frame=True).data
    plain, scaled = (PCA(1, scale=scale).fit(wine).components_[0] ** 2 for scale in (False, True))
    place = np.arange(1, 14)
    ax.bar(place - 0.2, plain, 0.4, color=WRONG, label="as it is")
    ax.bar(place + 0.2, scaled, 0.4, color=RIGHT, label="standardized")
    ax.annotate("proline", (12.6, 0.8), (8, 0.65), arrowprops={"arrowstyle": "->"})
    ax.set(xlabel="column of the table of wines", ylabel="share in PC1", xticks=place[::2], ylim=(0, 1.08))
    ax.legend(loc="upper left")
    most = wine.columns[np.argmax(plain)]
    return f"{plain.max():.2%} of PC1 is {most}, the column with the largest numbers.", "PCA(scale=True)"


def outlier(ax: plt.Axes, random: np.random.Generator) -> tuple[str, str]:
    """A cloud, and one row whose decimal point is in the wrong place."""
    X = random.multivariate_normal([5, 5], [[1, 0.8], [0.8, 1]], 100)
    wrong = np.vstack([X, [[4.1, 47.0]]])
    right, failed = (PCA(1).fit(rows) for rows in (X, wrong))
    ax.plot(*wrong.T, ".", color="grey", markersize=4)
    line(ax, failed.mean_, failed.components_[0], 45, WRONG, "with one wrong row")
    line(ax, right.mean_, right.components_[0], 9, RIGHT, "without it")
    ax.annotate("the wrong row", (4.1, 47), (-3, 38), arrowprops={"arrowstyle": "->"})
    ax.set(xlabel="x1", ylabel="x2", xlim=(-4, 16), ylim=(-3, 52))
    ax.legend(loc="center right")
    angle = degrees(right.components_[0], failed.components_[0])
    return f"One row of 101 turns PC1 by {angle:.0f} degrees.", "look at model.plot.outliers(X)"


def small_variance(ax: plt.Axes, random: np.random.Generator) -> tuple[str, str]:
    """Two groups that differ along a direction of small variance."""
    group = np.repeat([0, 1], 100)
    X = np.column_stack([3 * random.standard_normal(200), 1.2 * group - 0.6 + 0.3 * random.standard_normal(200)])
    pca = PCA(2).fit(X)
    for k, marker in enumerate("os"):
        ax.plot(*X[group == k].T, marker, color=("black", "grey")[k], markersize=3, fillstyle=("full", "none")[k])
    line(ax, pca.mean_, pca.components_[0], 7, WRONG, "PC1")
    line(ax, pca.mean_, pca.components_[1], 2.2, RIGHT, "PC2")
    hits = [LogisticRegression().fit(Z, group).score(Z, group) for Z in pca.transform(X).T[:, :, None]]
    ax.set(xlabel="x1", ylabel="x2", ylim=(-3, 3))
    ax.legend(loc="upper right", ncols=2)
    return (
        f"Told apart by PC1: {hits[0]:.0%}, by PC2: {hits[1]:.0%}.",
        "keep more components, or PLS",
    )


def curve(ax: plt.Axes, random: np.random.Generator) -> tuple[str, str]:
    """Points near an ellipse: no straight line is near them, but a linear equation of their squares and products is."""
    angle = random.uniform(0, 2 * np.pi, 200)
    X = np.column_stack([2 * np.cos(angle) + 0.5 * np.sin(angle), np.sin(angle)]) + 0.04 * random.standard_normal(
        (200, 2)
    )
    pca, squares = PCA(2).fit(X), FeatureMapPCA(3, feature_map=Polynomial(degree=2)).fit(X)
    ax.plot(*X.T, ".", color="grey", markersize=4)
    line(ax, pca.mean_, pca.components_[0], 2.6, WRONG, "PC1")
    x, y = np.meshgrid(np.linspace(-2.8, 2.8, 80), np.linspace(-1.6, 2.6, 80))
    last = squares.transform(np.column_stack([x.ravel(), y.ravel()]))[:, 2].reshape(80, 80)
    ax.contour(x, y, last, levels=[0], colors=RIGHT, linewidths=2)
    ax.plot([], [], color=RIGHT, linewidth=2, label="PC3 of squares and products is 0")
    ax.set(xlabel="x1", ylabel="x2", ylim=(-1.6, 2.6))
    ax.legend(loc="upper center")
    lost = [pca.explained_variance_ratio_[1], squares.explained_variance_ratio_[2]]
    return f"A line misses {lost[0]:.0%}, the curve {lost[1]:.1%}.", "FeatureMapPCA or KernelPCA"


# %%
# Whitening and the latent models.


def noise_blown_up(ax: plt.Axes, random: np.random.Generator) -> tuple[str, str]:
    """Smooth signals, measured twice with noise: what both have in common is lost if all directions count alike."""
    x = np.linspace(0, 1, 60)
    signals = random.standard_normal((1000, 3)) @ np.stack([np.sin(2 * np.pi * k * x) for k in (1, 2, 3)])
    first, second = (signals + 0.3 * random.standard_normal(signals.shape) for _ in range(2))
    ax.plot(x, first[0] / first[0].std(), ".", color="grey", markersize=4, label="a row")
    same = []
    for kept, color, name in ((60, WRONG, "whitened"), (3, RIGHT, "with 3 components")):
        model = Whitening("pca", n_components=kept).fit(first)
        a, b = model.transform(first), model.transform(second)
        same.append(np.corrcoef(a.ravel(), b.ravel())[0, 1])
        shown = a[0] @ model.components_
        ax.plot(x, shown / shown.std(), color=color, linewidth=1 if kept == 60 else 2.5, label=name)
    ax.set(xlabel="place", ylabel="value", ylim=(-3.2, 6))
    ax.legend(loc="upper right")
    return f"Two measurements correlate by {same[0]:.2f}; with 3 components by {same[1]:.2f}.", "keep fewer components"


def unequal_noise(ax: plt.Axes, random: np.random.Generator) -> tuple[str, str]:
    """Six columns with the same loading on one factor; one of them has much noise."""
    noise = np.array([0.5, 0.5, 0.5, 0.5, 0.5, 3.0])
    X = random.standard_normal((500, 1)) + random.standard_normal((500, 6)) * noise
    models = {"PPCA": PPCA(1).fit(X), "factor analysis": FactorAnalysis(1).fit(X)}
    for (name, model), color, marker in zip(models.items(), (WRONG, RIGHT), "sD", strict=True):
        ax.plot(range(1, 7), np.abs(model.loadings_[:, 0]), marker, color=color, label=name)
    ax.axhline(1, color="grey", linestyle=":", label="true loading")
    ax.set(xlabel="column (the last has much noise)", ylabel="loading", ylim=(0, 4))
    ax.legend(loc="upper left")
    angles = [degrees(model.loadings_[:, 0], np.ones(6)) for model in models.values()]
    return f"Angle to the truth: {angles[0]:.0f} degrees; FA: {angles[1]:.0f}.", "use FactorAnalysis"


def too_few_columns(ax: plt.Axes, random: np.random.Generator) -> tuple[str, str]:
    """The smallest uniqueness of one factor, in 40 tables of 50 rows, with three and with nine columns."""
    at_zero = []
    for place, p in enumerate((3, 9)):
        loadings = np.resize([0.8, 0.5, 0.4], p)
        least = []
        for _ in range(40):
            noise = random.standard_normal((50, p)) * np.sqrt(1 - loadings**2)
            with warnings.catch_warnings():
                # The warning says what this panel shows.
                warnings.simplefilter("ignore", HeywoodWarning)
                model = FactorAnalysis(1, scale=True).fit(random.standard_normal((50, 1)) * loadings + noise)
            least.append(model.uniquenesses_.min())
        at_zero.append(np.mean(np.array(least) < 0.01))
        jitter = random.uniform(-0.25, 0.25, 40)
        ax.plot(place + jitter, least, "sD"[place], color=(WRONG, RIGHT)[place], markersize=4, alpha=0.7)
    ax.axhline(1 - 0.8**2, color="grey", linestyle=":", label="true value")
    ax.set_xticks([0, 1], ["3", "9"])
    ax.set(xlabel="columns of the table, with 50 rows", ylabel="least uniqueness", xlim=(-0.5, 1.5), ylim=(-0.05, 0.8))
    ax.legend(loc="upper right")
    return f"Zero in {at_zero[0]:.0%} of tables; 9 columns: {at_zero[1]:.0%}.", "more columns for each factor"


# %%
# Independent components and kernels.


def gaussian_sources(ax: plt.Axes, random: np.random.Generator) -> tuple[str, str]:
    """Two Gaussian sources, and the directions of ICA in ten tables of 1,000 rows."""
    A, found = np.array([[2.0, 1.0], [0.5, 1.5]]), []
    for number in range(10):
        sources = random.standard_normal((1000, 2))
        X = sources @ A.T
        with warnings.catch_warnings():
            # The warning says what this panel shows.
            warnings.simplefilter("ignore", GaussianWarning)
            ica = ICA().fit(X)
        found.append(np.abs(np.corrcoef(sources.T, ica.transform(X).T)[:2, 2:]).max(axis=1).min())
        for k in range(2):
            label = "directions of ten tables" if number == k == 0 else ""
            line(ax, np.zeros(2), ica.mixing_[:, k], 9, WRONG, label, width=1)
    ax.plot(*X[::2].T, ".", color="grey", markersize=2, zorder=0)
    for k in range(2):
        line(ax, np.zeros(2), A[:, k], 9, RIGHT, "the truth" if k == 0 else "")
    ax.set(xlabel="x1", ylabel="x2", xlim=(-7, 7), ylim=(-6, 9))
    ax.legend(loc="upper left")
    measured = f"Correlation with a source: down to {min(found):.2f}."
    return measured, "heed the warning; no method separates such sources"


def wrong_width(ax: plt.Axes, _: np.random.Generator) -> tuple[str, str]:
    """Two rings: how well a straight line separates the scores, against the width of the kernel.

    The rings are far apart. With `factor=0.4, noise=0.08` no width of these names more than 66% right with two
    components, and that of `choose_width` names 33%.
    """
    X, ring = make_circles(300, factor=0.3, noise=0.05, random_state=0)
    train = np.arange(300) % 2 == 0
    widths = np.geomspace(0.02, 5, 15)

    def right(sigma: float) -> float:
        model = KernelPCA(2, gamma=0.5 / sigma**2, kernel="gaussian").fit(X[train])
        line_between = LogisticRegression(C=1e6).fit(model.transform(X[train]), ring[train])
        return float(line_between.score(model.transform(X[~train]), ring[~train]))

    shares = [right(sigma) for sigma in widths]
    chosen = (2 * choose_width(X[train], 2).kernel.gamma) ** -0.5
    ax.semilogx(widths, shares, "o-", color=WRONG, markersize=4)
    ax.plot(chosen, right(chosen), "D", color=RIGHT, markersize=9, label="choose_width")
    ax.set(xlabel="width of the kernel", ylabel="new rows named right", ylim=(0, 1.09))
    ax.legend(loc="lower left")
    rings = ax.inset_axes((0.66, 0.06, 0.32, 0.36), xticks=[], yticks=[], aspect="equal")
    rings.scatter(*X.T, c=ring, s=1.5, cmap="cividis")
    return (
        f"From {min(shares):.0%} to {max(shares):.0%} right, by the width.",
        "choose_width, and try several widths",
    )


# %%
# Two tables.


def small_direction(ax: plt.Axes, random: np.random.Generator) -> tuple[str, str]:
    """A response that depends on the direction of small variance.

    One component of PLS needs many rows for this. With 200 of them and deviations of 3 and 0.6, its R² was 0.22, 0.69
    and 0.88 in three tables.
    """
    X = random.standard_normal((800, 2)) * [2.0, 0.7] @ np.array([[0.8, 0.6], [-0.6, 0.8]])
    y = X @ [-0.6, 0.8] / 0.7 + 0.3 * random.standard_normal(800)
    train = np.arange(800) < 400
    ax.scatter(*X[::2].T, c=y[::2], s=6, cmap="cividis")
    shares = []
    for model, color, name in ((PCR(1), WRONG, "PCR(1)"), (PLSRegression(1, scale=False), RIGHT, "PLS(1)")):
        model.fit(X[train], y[train])
        shares.append(model.score(X[~train], y[~train]))
        line(ax, X.mean(axis=0), np.asarray(model.x_rotations_)[:, 0], 5, color, name)
    ax.set(xlabel="x1 (colour: y)", ylabel="x2", xlim=(-6, 6), ylim=(-5, 6))
    ax.legend(loc="upper left")
    return f"R² of new rows: PCR {shares[0]:z.2f}, PLS {shares[1]:.2f}.", "PLS, or more components"


def chosen_on_the_fit(ax: plt.Axes, _: np.random.Generator) -> tuple[str, str]:
    """Spectra of gasoline: the error of the octane number in the rows of the fit and in rows left out."""
    # The data are in a clone of lowdim: that of this script or, in a notebook, that of the working directory.
    places = [*Path(sys.argv[0]).resolve().parents, Path.cwd(), *Path.cwd().parents]
    root = next((place for place in places if (place / "gallery" / "data").is_dir()), Path())
    folder = root / "tests" / "parity" / "data"
    table = np.loadtxt(folder / "gasoline.csv", delimiter=",", skiprows=1)
    octane, spectra = table[:, 0], table[:, 1:]
    numbers = np.arange(1, 21)
    fitted = [
        np.sqrt(np.mean((octane - PLSRegression(k, scale=False).fit(spectra, octane).predict(spectra).ravel()) ** 2))
        for k in numbers
    ]
    folds = KFold(10, shuffle=True, random_state=0)
    left_out = cross_validate(PLSRegression(scale=False), spectra, octane, cv=folds, n_components=numbers).rmse[0]
    ax.semilogy(numbers, fitted, "s--", color=WRONG, markersize=4, label="rows of the fit")
    ax.semilogy(numbers, left_out, "D-", color=RIGHT, markersize=4, label="rows left out")
    ax.set(xlabel="number of components", ylabel="RMSE (octane number)")
    ax.legend()
    best = int(np.argmin(left_out))
    return (
        f"RMSE of rows left out: {left_out[best]:.2f} with {best + 1} components, {left_out[-1]:.2f} with 20.",
        "choose K by cross_validate",
    )


def as_many_columns(ax: plt.Axes, random: np.random.Generator) -> tuple[str, str]:
    """Two tables of noise with 100 rows, and the correlation of their first variates in the fit and in new rows."""
    numbers = [2, 5, 10, 20, 30, 40, 50]
    fitted, new = [], []
    for p in numbers:
        X, Y = random.standard_normal((2, 1100, p))
        with warnings.catch_warnings():
            # The warning says what this panel shows.
            warnings.simplefilter("ignore", SmallSampleWarning)
            cca = CCA(1).fit(X[:100], Y[:100])
        fitted.append(cca.correlations_[0])
        u, v = cca.transform(X[100:], Y[100:])
        new.append(abs(np.corrcoef(u[:, 0], v[:, 0])[0, 1]))
    ax.plot(numbers, fitted, "s--", color=WRONG, label="100 rows of the fit")
    ax.plot(numbers, new, "D-", color=RIGHT, label="new rows")
    ax.set(xlabel="columns of each table of noise", ylabel="first correlation", ylim=(-0.05, 1.05))
    ax.legend(loc="center right")
    return (
        f"50 columns: {fitted[-1]:.2f}; in new rows {new[-1]:.2f}.",
        "regularize; permutation_test",
    )


# %%
# All of them. Orange is the failure, blue what to do instead.

PANELS = {
    "PCA: unequal units": unequal_units,
    "PCA: a row far out": outlier,
    "PCA: small variance matters": small_variance,
    "PCA: a curve": curve,
    "Whitening: noise blown up": noise_blown_up,
    "PPCA: unequal noise": unequal_noise,
    "Factor analysis: few columns": too_few_columns,
    "ICA: Gaussian sources": gaussian_sources,
    "Kernel PCA: a wrong width": wrong_width,
    "PCR: y on a small direction": small_direction,
    "PLS: K chosen on the fit": chosen_on_the_fit,
    "CCA: many columns": as_many_columns,
}
with plt.rc_context({"font.size": 9, "legend.fontsize": 8, "axes.titleweight": "bold"}):
    figure, axes = plt.subplots(4, 3, figsize=(9.6, 13.6), layout="constrained")
    for ax, (title, draw) in zip(axes.ravel(), PANELS.items(), strict=True):
        measured, instead = draw(ax, np.random.default_rng(0))
        ax.set_title(title)
        caption = textwrap.wrap(measured, 41) + textwrap.wrap(f"Instead: {instead}.", 41)
        ax.set_xlabel("\n".join([ax.get_xlabel(), *caption]))
        print(f"{title}. {measured} Instead: {instead}.")
    figure.get_layout_engine().set(h_pad=0.08)
figure.set_label(
    "Twelve panels, each a table on which a method fails. PCA: unequal units, a row far out, groups that differ in a "
    "direction of small variance, an ellipse. Whitening: noise blown up. PPCA: a column with more noise. Factor "
    "analysis: few columns. ICA: Gaussian sources. Kernel PCA: a wrong width. PCR: y on a small direction. PLS: the "
    "error in the fit falls, that of rows left out does not. CCA: high correlations of noise."
)
plt.show()

# %%
# The number below each panel says how wrong the answer is, and the last line what to do instead. Three of the failures
# come with a warning: those of factor analysis, of ICA and of CCA. The others can be seen in a plot, or in rows that
# were left out of the fit. So look at the rows before you fit a model, and judge it by rows that it has not seen. That
# no warning comes does not show that the assumptions hold.
#
# Source of the idea: lectures on PCA, whitening and regression, which say what each method assumes, and some of what
# goes wrong otherwise.
