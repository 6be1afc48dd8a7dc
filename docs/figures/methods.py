"""The pictures at the top of the pages of the methods, from data that come with lowdim or with scikit-learn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes, load_iris, load_sample_images, load_wine
from sklearn.model_selection import train_test_split

from lowdim import (
    CA,
    CCA,
    FAMD,
    ICA,
    MCA,
    MFA,
    PCA,
    PCR,
    PPCA,
    FactorAnalysis,
    FeatureMapPCA,
    KernelPCA,
    PLSRegression,
    Whitening,
    cross_validate,
    load,
    permutation_test,
)

ROOT = Path(__file__).resolve().parents[2]
STORED = ROOT / "gallery" / "data"
#: Two colours that differ in brightness too, for arrows and lines.
FIRST, SECOND = "#b2182b", "#2166ac"
GREY = "0.55"
#: What hides points behind a name.
BEHIND = {"facecolor": "white", "edgecolor": "none", "pad": 0.5, "alpha": 0.8}


def pca(axes: Any) -> None:
    """Directions of two measurements, and a map of wines by six measurements."""
    plane = load_iris(as_frame=True).data[["petal length (cm)", "sepal length (cm)"]]
    model = PCA().fit(plane)
    axes[0].scatter(*plane.to_numpy().T, s=12, color=GREY)
    for vector, deviation, name, colour in zip(
        model.components_, np.sqrt(model.explained_variance_), ("PC1", "PC2"), (FIRST, SECOND), strict=True
    ):
        arrow(axes[0], model.mean_, 2 * deviation * vector, name, colour)
    label(axes[0], plane, "Directions of largest variance")
    axes[0].set(aspect="equal", xlim=(-0.5, 8.5), ylim=(3.2, 9.2))
    wine = load_wine(as_frame=True)
    kinds = np.array(["Barolo", "Grignolino", "Barbera"])[wine.target]
    some = wine.data[["alcohol", "malic_acid", "magnesium", "flavanoids", "color_intensity", "proline"]]
    PCA(2, scale=True).fit(some).plot.biplot(some, hue=kinds, ax=axes[1])
    axes[1].set_title("178 wines, 6 measurements")


def whitening(axes: Any) -> None:
    """A cloud, and what two kinds of whitening make of it."""
    iris = load_iris(as_frame=True)
    plane = iris.data[["petal length (cm)", "sepal length (cm)"]]
    clouds = {"The rows": plane.to_numpy() - plane.to_numpy().mean(axis=0)}
    for kind in ("pca", "zca"):
        clouds[f'Whitening("{kind}")'] = Whitening(kind).fit_transform(plane)
    for ax, (title, cloud) in zip(axes, clouds.items(), strict=True):
        for number, marker, colour in zip(range(3), "os^", (FIRST, SECOND, GREY), strict=True):
            ax.scatter(*cloud[iris.target == number].T, s=14, marker=marker, color=colour)
        ax.set(title=title, aspect="equal", xlim=(-3.6, 3.6), ylim=(-3.6, 3.6))
        ax.axhline(0, color="0.85", zorder=0)
        ax.axvline(0, color="0.85", zorder=0)


def ppca(axes: Any) -> None:
    """The density of two measurements, and entries that were missing."""
    plane = load_iris(as_frame=True).data[["petal length (cm)", "sepal length (cm)"]]
    model = PPCA(1).fit(plane.to_numpy())
    x, y = np.meshgrid(np.linspace(-1, 9, 80), np.linspace(3.5, 9, 80))
    log_density = model.score_samples(np.column_stack([x.ravel(), y.ravel()])).reshape(x.shape)
    # A Gaussian in the plane has a share 1 - a of its rows where its density is above a times its maximum.
    levels = model.score_samples(model.mean_[None])[0] + np.log([0.01, 0.1, 0.5])
    axes[0].scatter(*plane.to_numpy().T, s=12, color=GREY)
    axes[0].contour(x, y, log_density, levels=levels, colors=SECOND, linestyles="solid")
    label(axes[0], plane, "Density: 50%, 90% and 99% of the rows")
    wine = load_wine(as_frame=True).data
    incomplete = wine.mask(np.random.default_rng(4).random(wine.shape) < 0.1)
    PPCA(3, scale=True).fit(incomplete).plot.missing(incomplete, "flavanoids", ax=axes[1])


def factor_analysis(axes: Any) -> None:
    """Loadings of questions about three traits, and what each question has alone."""
    answers = pd.read_csv(ROOT / "examples" / "data" / "bfi.csv", index_col="person")
    answers = answers[[f"{trait}{number}" for trait in "ACN" for number in range(1, 6)]].dropna()
    model = FactorAnalysis(3, rotation="oblimin", scale=True).fit(answers)
    model.plot.loadings(ax=axes[0])
    axes[0].set_title("15 questions, 3 factors")
    places = np.arange(answers.shape[1])
    axes[1].barh(places, model.communalities_, color=SECOND, label="shared with other questions")
    axes[1].barh(places, model.uniquenesses_, left=model.communalities_, color="0.8", label="uniqueness")
    axes[1].set(yticks=places, yticklabels=answers.columns, xlabel="share of the variance", xlim=(0, 1))
    axes[1].invert_yaxis()
    axes[1].legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False)


def ica(axes: Any) -> None:
    """Directions of PCA and of ICA for two photographs that were mixed, and the sources that ICA finds."""
    # Differences of neighbouring pixels are nearly independent between photographs, unlike their brightness.
    grey = [np.asarray(image, dtype=float).mean(axis=2) for image in load_sample_images().images]
    sources = np.column_stack([np.diff(picture[100:300, 100:500], axis=1).ravel() for picture in grey])
    sources /= sources.std(axis=0)
    mixed = sources @ np.array([[1.0, 0.6], [0.7, 1.2]])
    model, shown = ICA().fit(mixed), np.random.default_rng(0).permutation(len(mixed))[:3000]
    components = PCA().fit(mixed)
    axes[0].scatter(*mixed[shown].T, s=3, color=GREY)
    for column, name in enumerate(("IC1", "IC2")):
        arrow(axes[0], (0, 0), 5.5 * model.mixing_[:, column] / np.linalg.norm(model.mixing_[:, column]), name, FIRST)
        arrow(axes[0], (0, 0), 8 * components.components_[column], f"PC{column + 1}", SECOND, "dashed")
    axes[0].set(
        title="Two mixtures", xlabel="mixture 1", ylabel="mixture 2", xlim=(-8.5, 8.5), ylim=(-8.5, 8.5), aspect="equal"
    )
    axes[1].scatter(*model.transform(mixed)[shown].T, s=3, color=GREY)
    axes[1].set(title="The sources that ICA finds", xlabel="IC1", ylabel="IC2", aspect="equal")
    axes[1].set(xlim=(-14, 14), ylim=(-14, 14))


def kernel_pca(axes: Any) -> None:
    """The first component over the plane, straight with PCA and curved with a kernel."""
    iris = load_iris(as_frame=True)
    plane, species = iris.data[["sepal length (cm)", "petal length (cm)"]], iris.target_names[iris.target]
    for ax, title, kernel in zip(
        axes,
        ("PCA", "Gaussian kernel", "Gaussian kernel"),
        ({}, *2 * [{"kernel": "rbf", "gamma": 1 / 1.28}]),
        strict=True,
    ):
        component = 2 if ax is axes[-1] else 1
        KernelPCA(2, **kernel).fit(plane).plot.contours(plane, component, hue=species, ax=ax)
        ax.set_title(f"{title}, PC{component}")
        if ax is not axes[0]:
            ax.get_legend().remove()


def feature_map(axes: Any) -> None:
    """A circle, whose squares and products lie in a plane."""
    angle = np.random.default_rng(0).uniform(0, 2 * np.pi, 150)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    circle += 0.04 * np.random.default_rng(1).standard_normal(circle.shape)
    model = FeatureMapPCA().fit(circle)
    colours = {"c": angle, "cmap": "twilight", "s": 18}
    axes[0].scatter(*circle.T, **colours)
    axes[0].set(title="The rows", xlabel="x1", ylabel="x2", aspect="equal")
    scores = model.transform(circle)
    axes[1].scatter(scores[:, 0], scores[:, 1], **colours)
    axes[1].set(title="Squares and products", xlabel="PC1", ylabel="PC2", aspect="equal")
    axes[2].bar(range(1, 4), model.explained_variance_, color=SECOND)
    axes[2].set(title="Variances", xticks=range(1, 4), xticklabels=["PC1", "PC2", "PC3"])


def auto_encoder(axes: Any) -> None:
    """A bent cloud with the line of PCA and the curve of an auto-encoder, and digits that both rebuild."""
    # The networks are stored, so that drawing them needs no torch; train_auto_encoders.py trains them.
    cloud, network = arc(), load(STORED / "arc.safetensors")
    line = PCA(1).fit(cloud)
    axes[0].scatter(*cloud.T, s=8, color=GREY)
    for model, colour, style, name in ((line, SECOND, "dashed", "PCA"), (network, FIRST, "solid", "AutoEncoder")):
        scores = model.transform(cloud)
        path = model.inverse_transform(np.linspace(scores.min(), scores.max(), 200, dtype=np.float32)[:, None])
        axes[0].plot(*path.T, color=colour, linestyle=style, linewidth=2, label=name)
    axes[0].set(title="One component: a line and a curve", xlabel="x1", ylabel="x2", aspect="equal", ylim=(-2.0, 2.2))
    axes[0].legend(loc="upper left", frameon=False)
    train, test, labels = optdigits()
    shown = test[[np.flatnonzero(labels == digit)[0] for digit in range(7)]]
    pictures = {"the rows": shown}
    for name, model in (("PCA", PCA(2).fit(train)), ("AutoEncoder", load(STORED / "optdigits_2.safetensors"))):
        pictures[name] = model.inverse_transform(model.transform(shown))
    # One picture of all, each with a white line around it.
    framed = [np.pad(rows.reshape(-1, 8, 8), ((0, 0), (1, 1), (1, 1))) for rows in pictures.values()]
    axes[1].imshow(np.vstack([np.hstack(list(line)) for line in framed]), cmap="gray_r", vmin=0, vmax=16)
    axes[1].set(title="Digits rebuilt from two numbers", xticks=[])
    axes[1].set_yticks([4.5, 14.5, 24.5], list(pictures))
    axes[1].tick_params(length=0)
    axes[1].spines[:].set_visible(False)


def arc() -> np.ndarray:
    """Points near an arc of the plane."""
    random = np.random.default_rng(0)
    t = random.uniform(-2.2, 2.2, 400)
    return (np.column_stack([t, 1.2 * np.cos(1.4 * t)]) + 0.12 * random.standard_normal((400, 2))).astype(np.float32)


def optdigits() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Images of digits for the fit, other images, and which digits those are."""
    with np.load(STORED / "optdigits.npz") as file:
        images, test = file["images"].reshape(-1, 64).astype(np.float32), file["is_test"]
        return images[~test], images[test], file["labels"][test]


def regression(axes: Any) -> None:
    """Errors of PLS and PCR against the number of components, and predictions of new samples."""
    table = pd.read_csv(ROOT / "tests" / "parity" / "data" / "gasoline.csv")
    X, new, y, measured = train_test_split(table.drop(columns="octane"), table["octane"], random_state=0)
    for kind, colour, marker in ((PLSRegression, FIRST, "o"), (PCR, SECOND, "s")):
        found = cross_validate(kind(scale=False), X, y, cv=9, n_components=range(1, 9))
        axes[0].plot(range(1, 9), found.rmse[0], color=colour, marker=marker, label=kind.__name__)
    axes[0].set(xlabel="components", ylabel="RMSE of held-out rows", title="Octane number from spectra", ylim=(0, None))
    axes[0].legend()
    PLSRegression(3, scale=False).fit(X, y).plot.predictions(new, measured, ax=axes[1])
    axes[1].set_title("PLS with 3 components, 15 new samples")


def cca(axes: Any) -> None:
    """Canonical correlations of body and blood, and the columns behind the first two."""
    patients = load_diabetes(as_frame=True, scaled=False).data
    names = {"s1": "cholesterol", "s2": "ldl", "s3": "hdl", "s4": "chol/hdl", "s5": "log lipids", "s6": "glucose"}
    body, blood = patients[["age", "sex", "bmi", "bp"]], patients[list(names)].rename(columns=names)
    model = CCA().fit(body, blood)
    test = permutation_test(CCA(), body, blood, n_resamples=199, random_state=0)
    model.plot.correlations(test, ax=axes[0])
    axes[0].set_title("Body and blood of 442 patients")
    model.plot.structure(ax=axes[1])


def ca(axes: Any) -> None:
    """The eye colours of each hair colour, and the map of both."""
    hair, eyes = ["black", "brown", "red", "blond"], ["brown", "hazel", "green", "blue"]
    counts = pd.DataFrame([[68, 15, 5, 20], [119, 54, 29, 84], [26, 14, 14, 17], [7, 10, 16, 94]], hair, eyes)
    stacked(axes[0], counts.div(counts.sum(axis=1), axis=0), ("#7b4a1e", "#b8860b", "#6aa56a", "#4a7fb5"))
    axes[0].set(xlabel="share of the students, by eye colour", ylabel="hair")
    ca = CA(2).fit(counts)
    ca.plot.symmetric_map(counts.set_axis([f"{name} hair" for name in hair]), ax=axes[1])
    axes[1].set_title("Hair (rows) and eyes (columns)")


def mca(axes: Any) -> None:
    """The people on the Titanic with the levels of their categories, and the inertias."""
    people = titanic()
    model = MCA(2, supplementary=["outcome"]).fit(people)
    model.plot.levels(people, ax=axes[0])
    model.plot.scree(ax=axes[1])
    axes[1].set_title("Only two components relate columns")


def titanic() -> pd.DataFrame:
    """A row for each person on the Titanic (Dawson 1995): class, sex, age and outcome."""
    counts = {
        ("first", "man", "adult"): (118, 57),
        ("first", "man", "child"): (0, 5),
        ("first", "woman", "adult"): (4, 140),
        ("first", "woman", "child"): (0, 1),
        ("second", "man", "adult"): (154, 14),
        ("second", "man", "child"): (0, 11),
        ("second", "woman", "adult"): (13, 80),
        ("second", "woman", "child"): (0, 13),
        ("third", "man", "adult"): (387, 75),
        ("third", "man", "child"): (35, 13),
        ("third", "woman", "adult"): (89, 76),
        ("third", "woman", "child"): (17, 14),
        ("crew", "man", "adult"): (670, 192),
        ("crew", "woman", "adult"): (3, 20),
    }
    rows = [
        (*person, outcome)
        for person, both in counts.items()
        for outcome, n in zip(("died", "survived"), both, strict=True)
        for _ in range(n)
    ]
    return pd.DataFrame(rows, columns=["class", "sex", "age", "outcome"])


def famd(axes: Any) -> None:
    """Numbers of 32 cars as arrows, and the cars with the levels of categories."""
    cars = pd.read_csv(ROOT / "examples" / "data" / "cars.csv", index_col="car")
    model = FAMD(2, categorical_features=["gears"], supplementary=["origin"]).fit(cars)
    model.plot.correlation_circle(ax=axes[0])
    axes[0].set_title("Numbers")
    model.plot.levels(cars, ax=axes[1])
    axes[1].set_title("Cars, and levels of categories")


def mfa(axes: Any) -> None:
    """Shares of groups of measurements in components of PCA and MFA, and cultivars as each group sees them."""
    wine = load_wine(as_frame=True)
    groups = {
        "strength": ["alcohol", "proline"],
        "minerals": ["malic_acid", "ash", "alcalinity_of_ash", "magnesium"],
        "phenols": [name for name in wine.data if "phenol" in name or name[:4] in ("flav", "proa", "od28")],
        "colour": ["color_intensity", "hue"],
    }
    table = wine.data.assign(cultivar=np.array(["Barolo", "Grignolino", "Barbera"])[wine.target])
    model = MFA(2, groups=groups | {"cultivar": ["cultivar"]}, supplementary=["cultivar"]).fit(table)
    columns = PCA(2, scale=True).fit(wine.data).tables.contributions().to_pandas()
    of_pca = pd.DataFrame({name: columns.loc[group].sum() for name, group in groups.items()})
    of_mfa = model.tables.groups().contributions.to_pandas().loc[list(groups), model.component_names_].T
    of_pca.index, of_mfa.index = ("PC1 of PCA", "PC2 of PCA"), ("dim1 of MFA", "dim2 of MFA")
    shares = pd.concat([of_pca, of_mfa.astype(float)]).iloc[[0, 2, 1, 3]]
    stacked(axes[0], shares, ("#8c510a", "#01665e", FIRST, SECOND))
    axes[0].set_xlabel("share of the component")
    model.plot.partial_points(ax=axes[1])


def stacked(ax: Any, shares: pd.DataFrame, colours: tuple[str, ...]) -> None:
    """A bar for each row, divided into the shares of the columns."""
    start = np.zeros(len(shares))
    for name, colour in zip(shares, colours, strict=True):
        ax.barh(shares.index, shares[name], left=start, color=colour, label=name)
        start += shares[name].to_numpy()
    ax.set_xlim(0, 1)
    ax.invert_yaxis()
    ax.legend(loc="lower center", bbox_to_anchor=(0.45, 1.0), ncols=4, frameon=False, columnspacing=1)


def arrow(ax: Any, start: Any, step: Any, name: str, colour: str, style: str = "solid") -> None:
    """An arrow from `start`, with its name beyond its head."""
    start, step = np.asarray(start), np.asarray(step)
    ax.annotate("", start + step, start, arrowprops={"arrowstyle": "->", "color": colour, "lw": 2, "linestyle": style})
    ax.annotate(name, start + 1.15 * step, color=colour, ha="center", va="center", fontweight="bold", bbox=BEHIND)


def label(ax: Any, table: pd.DataFrame, title: str) -> None:
    """The names of two columns at the axes, and a title."""
    ax.set(xlabel=table.columns[0], ylabel=table.columns[1], title=title)


#: What is drawn, on how many axes.
FIGURES = {
    "pca": (pca, 2),
    "whitening": (whitening, 3),
    "ppca": (ppca, 2),
    "factor_analysis": (factor_analysis, 2),
    "ica": (ica, 2),
    "kernel_pca": (kernel_pca, 3),
    "feature_map": (feature_map, 3),
    "auto_encoder": (auto_encoder, 2),
    "regression": (regression, 2),
    "cca": (cca, 2),
    "ca": (ca, 2),
    "mca": (mca, 2),
    "famd": (famd, 2),
    "mfa": (mfa, 2),
}
