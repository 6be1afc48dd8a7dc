"""One example of every plot, on small tables: for pictures that were looked at, and for checks that hold for all plots.

`python tests/plot/gallery.py` draws the pictures again. Look at each of them, also in a dark style
(`python tests/plot/gallery.py dark_background FOLDER`), before they are committed.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
from sklearn.datasets import load_digits, load_wine, make_circles

from lowdim import (
    CA,
    CCA,
    FAMD,
    ICA,
    MCA,
    MFA,
    PCA,
    PPCA,
    KernelPCA,
    PLSRegression,
    bootstrap,
    choose_n_components,
    cross_validate,
    permutation_test,
    plot,
)
from lowdim.selection import Bootstrap, Choices, PermutationTest

PICTURES = Path(__file__).parent / "pictures"
#: Inches and dots per inch: 480 x 360 pixels.
SIZE, DPI = (6.4, 4.8), 75
_WINE = load_wine(as_frame=True)
WINE = _WINE.data
CULTIVAR = np.array(["Barolo", "Grignolino", "Barbera"])[_WINE.target]
#: The chemistry in two tables.
LEFT, RIGHT = WINE.iloc[:, :6], WINE.iloc[:, 6:]
#: Labels and names that are hard to draw.
AWKWARD = ["$x^2$", "line\nbreak", "<b>bold</b>", "\N{SLIGHTLY SMILING FACE} smile", "n" * 60, "_hidden"]


@cache
def pca(k: int = 5) -> PCA:
    return PCA(k, scale=True).fit(WINE)


@cache
def labelled() -> pd.DataFrame:
    return WINE.iloc[:60].set_index(pd.Index([f"wine {i}" for i in range(60)]))


@cache
def awkward() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(rng.standard_normal((30, 6)) @ rng.standard_normal((6, 6)), columns=AWKWARD, index=AWKWARD * 5)


@cache
def two_columns() -> pd.DataFrame:
    return WINE[["alcohol", "color_intensity"]]


@cache
def wide() -> np.ndarray:
    return np.random.default_rng(1).standard_normal((60, 2000))


@cache
def wide_pca() -> PCA:
    return PCA(3).fit(wide())


@cache
def digits() -> tuple[PCA, np.ndarray]:
    X = load_digits().data
    return PCA(40).fit(X), X[:5]


@cache
def choices() -> Choices:
    return choose_n_components(WINE, scale=True)


@cache
def cca_test() -> PermutationTest:
    return permutation_test(CCA(), LEFT, RIGHT, n_resamples=99, random_state=0)


@cache
def proline() -> tuple[PLSRegression, Bootstrap]:
    """A regression of one column, and its bootstrap."""
    model = PLSRegression(2)
    return model.fit(LEFT, RIGHT["proline"]), bootstrap(model, LEFT, RIGHT["proline"], n_resamples=50, random_state=0)


@cache
def draws_of(name: str) -> Bootstrap:
    """Bootstraps of the wines, of their groups and of the spectra."""
    if name == "mixed":
        return bootstrap(*mixed(), n_resamples=50, random_state=0)
    if name == "wine":
        return bootstrap(pca(), WINE, n_resamples=50, random_state=0)
    return bootstrap(pls(), *spectra(), n_resamples=30, random_state=0)


@cache
def cca() -> CCA:
    return CCA().fit(LEFT, RIGHT)


@cache
def spectra() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Two concentrations, and spectra in which each has a peak."""
    rng = np.random.default_rng(2)
    waves = np.arange(1100, 1700, 6)
    amounts = rng.random((50, 3))
    peaks = np.exp(-0.5 * ((waves - np.array([[1200], [1350], [1500]])) / 40) ** 2)
    X = pd.DataFrame(amounts @ peaks + 0.05 * rng.standard_normal((50, len(waves))), columns=waves.astype(str))
    return X, pd.DataFrame(amounts[:, :2] + 0.05 * rng.standard_normal((50, 2)), columns=["sugar", "acid"])


@cache
def pls() -> PLSRegression:
    return PLSRegression(3).fit(*spectra())


@cache
def circles() -> tuple[np.ndarray, np.ndarray]:
    return make_circles(120, factor=0.3, noise=0.06, random_state=0)


@cache
def signals() -> tuple[ICA, np.ndarray]:
    rng = np.random.default_rng(3)
    t = np.linspace(0, 8, 1500)
    X = np.column_stack([np.sin(2 * t), np.sign(np.sin(3 * t)), rng.laplace(size=1500)])
    X = X @ np.array([[1, 1, 1], [0.5, 2, 1], [1.5, 1, 2.0]])
    return ICA(random_state=0).fit(X), X


@cache
def chemistry() -> tuple[MFA, pd.DataFrame]:
    """The wines in groups: columns of the grape, columns of the cellar, and the cultivar."""
    X = labelled().assign(cultivar=CULTIVAR[:60])
    named = {"acids": list(WINE.columns[1:5]), "phenols": list(WINE.columns[5:9]), "colour": list(WINE.columns[9:12])}
    return MFA(3, groups={**named, "kind": ["cultivar"]}, supplementary=["kind"]).fit(X), X


@cache
def mixed() -> tuple[FAMD, pd.DataFrame]:
    """Five numbers, their sizes as words, and the cultivar beside them."""
    X = WINE[["alcohol", "ash", "hue", "flavanoids", "magnesium"]].assign(cultivar=CULTIVAR)
    X["proline"] = pd.cut(WINE["proline"], 3, labels=["low", "middle", "high"])
    X["malic acid"] = pd.cut(WINE["malic_acid"], 3, labels=["low", "middle", "high"])
    return FAMD(3, supplementary=["cultivar", "hue"]).fit(X), X


@cache
def answers(n_questions: int, n_levels: int) -> tuple[MCA, pd.DataFrame]:
    """Answers that depend on one thing, to questions with long names."""
    rng = np.random.default_rng(5)
    drift = rng.random(400)[:, None]
    codes = np.clip((n_levels * (0.7 * drift + 0.5 * rng.random((400, n_questions)))).astype(int), 0, n_levels - 1)
    words = [f"an answer with a long name, number {i}" for i in range(n_levels)]
    names = [f"a question with a long name, number {j}" for j in range(n_questions)]
    X = pd.DataFrame(np.array(words, dtype=object)[codes], columns=names)
    return MCA(3).fit(X), X


@cache
def counts() -> tuple[CA, pd.DataFrame]:
    """How often wines of each cultivar have an amount of proline and a hue."""
    words = [f"{a} proline, {b} hue" for a in ("low", "middle", "high") for b in ("low", "high")]
    code = 2 * pd.cut(WINE["proline"], 3, labels=False) + (WINE["hue"] > 0.9)
    X = pd.crosstab(np.array(words)[code], CULTIVAR)
    return CA(2, supplementary=["all"]).fit(X.assign(all=X.sum(axis=1))), X.assign(all=X.sum(axis=1))


@cache
def incomplete() -> tuple[PPCA, pd.DataFrame]:
    X = WINE.mask(np.random.default_rng(4).random(WINE.shape) < 0.1)
    return PPCA(3, scale=True).fit(X), X


#: Functions of the axes, None for new ones, that draw one picture each.
EXAMPLES = {
    "scree": lambda ax=None: pca().plot.scree(choices(), ax=ax),
    "scree_of_the_summary": lambda ax=None: pca().plot.scree(ax=ax),
    "scree_of_many": lambda ax=None: plot.scree(choose_n_components(wide(), ["kaiser", "proportion"]), ax=ax),
    "cumulative": lambda ax=None: pca(13).plot.cumulative(ax=ax),
    "cumulative_of_pls": lambda ax=None: pls().plot.cumulative(ax=ax),
    "scores": lambda ax=None: pca().plot.scores(WINE, hue=CULTIVAR, ax=ax),
    "scores_hulls": lambda ax=None: pca().plot.scores(WINE, hue=CULTIVAR, outline="hull", ax=ax),
    "scores_labels": lambda ax=None: pca().plot.scores(labelled(), ax=ax),
    "scores_awkward": lambda ax=None: PCA(2).fit(awkward()).plot.scores(awkward(), hue=AWKWARD * 5, ax=ax),
    "scores_1d": lambda ax=None: pca().plot.scores(WINE, [1], ax=ax),
    "scores_1d_groups": lambda ax=None: pca().plot.scores(WINE, "PC1", hue=CULTIVAR, ax=ax),
    "scores_3d": lambda ax=None: pca().plot.scores(labelled(), (1, 2, 3), hue=CULTIVAR[:60], ax=ax),
    "biplot": lambda ax=None: pca().plot.biplot(WINE, hue=CULTIVAR, ax=ax),
    "biplot_of_many": lambda ax=None: wide_pca().plot.biplot(wide(), ax=ax),
    "correlation_circle": lambda ax=None: pca().plot.correlation_circle(
        WINE, pd.DataFrame({"is Barolo": CULTIVAR == "Barolo"}), ax=ax
    ),
    "loadings": lambda ax=None: pca().plot.loadings(ax=ax),
    "loadings_awkward": lambda ax=None: PCA(3).fit(awkward()).plot.loadings(ax=ax),
    "loadings_of_many": lambda ax=None: wide_pca().plot.loadings(ax=ax),
    "loading_bars": lambda ax=None: pca().plot.loading_bars(2, bootstrap=draws_of("wine"), ax=ax),
    "loading_bars_of_many": lambda ax=None: wide_pca().plot.loading_bars(ax=ax),
    "reconstructions": lambda ax=None: digits()[0].plot.reconstructions(
        digits()[1], (8, 8), n_components=[0, 2, 5, 10, 20, 40], ax=ax
    ),
    "outliers": lambda ax=None: pca(2).plot.outliers(WINE, ax=ax),
    "variates": lambda ax=None: cca().plot.variates(LEFT, RIGHT, hue=CULTIVAR, ax=ax),
    "correlations": lambda ax=None: cca().plot.correlations(cca_test(), ax=ax),
    "structure": lambda ax=None: cca().plot.structure(ax=ax),
    "structure_bars": lambda ax=None: cca().plot.structure([1], ax=ax),
    "validation": lambda ax=None: plot.validation(
        cross_validate(PLSRegression(), *spectra(), n_components=range(1, 21)), ax=ax
    ),
    "vip": lambda ax=None: proline()[0].plot.vip(ax=ax),
    "vip_of_spectra": lambda ax=None: pls().plot.vip(ax=ax),
    "coefficients": lambda ax=None: proline()[0].plot.coefficients(bootstrap=proline()[1], ax=ax),
    "coefficients_of_spectra": lambda ax=None: pls().plot.coefficients("acid", bootstrap=draws_of("spectra"), ax=ax),
    "predictions": lambda ax=None: pls().plot.predictions(*spectra(), ax=ax),
    "contours": lambda ax=None: (
        KernelPCA(2, kernel="rbf", gamma=2.0).fit(circles()[0]).plot.contours(circles()[0], hue=circles()[1], ax=ax)
    ),
    "principal_axes": lambda ax=None: PCA(2).fit(two_columns()).plot.principal_axes(two_columns(), ax=ax),
    "densities": lambda ax=None: signals()[0].plot.densities(signals()[1], ax=ax),
    "sources": lambda ax=None: signals()[0].plot.sources(signals()[1], ax=ax),
    "missing": lambda ax=None: incomplete()[0].plot.missing(incomplete()[1], ax=ax),
    "missing_in_one": lambda ax=None: incomplete()[0].plot.missing(incomplete()[1], "ash", ax=ax),
    "contributions": lambda ax=None: pca().plot.contributions(2, ax=ax),
    "contributions_of_levels": lambda ax=None: mixed()[0].plot.contributions(1, ax=ax),
    "levels": lambda ax=None: mixed()[0].plot.levels(mixed()[1], ax=ax),
    "levels_means": lambda ax=None: mixed()[0].plot.levels(mixed()[1], columns="cultivar", outline="mean", ax=ax),
    "levels_bootstrap": lambda ax=None: mixed()[0].plot.levels(
        columns=["cultivar", "proline"], bootstrap=draws_of("mixed"), ax=ax
    ),
    "levels_of_many": lambda ax=None: answers(5, 4)[0].plot.levels(answers(5, 4)[1], ax=ax),
    "biplot_of_mixed": lambda ax=None: mixed()[0].plot.biplot(mixed()[1], hue="cultivar", ax=ax),
    "scree_of_categories": lambda ax=None: answers(5, 4)[0].plot.scree(ax=ax),
    "symmetric_map": lambda ax=None: counts()[0].plot.symmetric_map(counts()[1], ax=ax),
    "groups": lambda ax=None: chemistry()[0].plot.groups(ax=ax),
    "partial_points": lambda ax=None: chemistry()[0].plot.partial_points(
        chemistry()[1], rows=["wine 1", "wine 40"], ax=ax
    ),
    "convergence": lambda ax=None: incomplete()[0].plot.convergence(ax=ax),
    "convergence_gap": lambda ax=None: signals()[0].plot.convergence(gap=True, ax=ax),
}


def save(name: str, path: Path, style: str = "default") -> None:
    """Draw an example in a style and save it."""
    import matplotlib.pyplot as plt

    with matplotlib.style.context(style):
        figure = EXAMPLES[name]().figure
        figure.set_size_inches(SIZE)
        figure.savefig(path, dpi=DPI, metadata={"Software": None})
        plt.close(figure)


def main(style: str = "default", folder: str = str(PICTURES)) -> None:
    """Draw all pictures, with few colours so that the files are small."""
    from PIL import Image

    matplotlib.use("Agg")
    for name in EXAMPLES:
        path = Path(folder) / f"{name}.png"
        save(name, path, style)
        with Image.open(path) as drawn:
            few = drawn.convert("RGB").quantize(256, dither=Image.Dither.NONE)
        few.save(path, optimize=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
