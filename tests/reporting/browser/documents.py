"""Documents made by hand, with every kind of block that a page shows."""

import numpy as np

from lowdim import Table
from lowdim.reporting.blocks import Chart, Document, Download, Listing, Menu, Prose, Section, Widget
from lowdim.reporting.charts import axis, plain

SPECIES = ("setosa", "versicolor", "virginica")


def map_values(rows=150, components=4, columns=("sepal length", "sepal width", "petal length"), names=SPECIES, seed=0):
    """Values of a map: clouds around the corners of a triangle, the last rows not in the fit."""
    rng = np.random.default_rng(seed)
    codes = np.arange(rows, dtype="i4") % len(names)
    centres = 4 * rng.standard_normal((len(names), components))
    scores = centres[codes] + rng.standard_normal((rows, components))
    ellipses = [
        {"mean": s.mean(0), "covariance": np.cov(s.T).ravel(), "rows": len(s)}
        for s in (scores[codes == level] for level in range(len(names)))
    ]
    shares = 0.7 ** np.arange(1, components + 1)
    return {
        "rows": rows,
        "components": [
            {"name": f"PC{j + 1}", "title": f"PC{j + 1} ({shares[j]:.1%})", "scores": scores[:, j].astype("f4")}
            for j in range(components)
        ],
        "columns": [{"name": name, "values": rng.normal(5, 1, rows).astype("f4")} for name in columns],
        "groups": [{"name": "species", "levels": list(names), "codes": codes, "ellipses": ellipses}],
        "labels": [f"plant {i + 1}" for i in range(rows)],
        "numbers": np.arange(1, rows + 1, dtype="i4"),
        "supplementary": (np.arange(rows) >= rows - 6).astype("u1"),
        "densities": None,
        "radius": 2.4477,
        "note": "Ellipses hold 95% of the rows of a group if these are Gaussian.",
    }


def misfit_values(rows=150, seed=1):
    """Values of the widget of rows that do not fit; the first two rows are far beyond the limits."""
    rng = np.random.default_rng(seed)
    t2, q = rng.chisquare(2, rows).astype("f4"), rng.gamma(2, 0.5, rows).astype("f4")
    t2[0], q[1] = 19.0, 7.5
    columns = ["sepal length", "sepal width", "petal length", "petal width"]
    shares = [[name, float(share)] for name, share in zip(columns, [9.0, 4.0, 1.0, -0.5], strict=True)]
    return {
        "t2": t2,
        "q": q,
        "t2_limit": 9.2,
        "q_limit": 3.5,
        "labels": [f"plant {i + 1}" for i in range(rows)],
        "numbers": np.arange(1, rows + 1, dtype="i4"),
        "explained": [{"point": i, "t2": shares, "q": shares[::-1]} for i in (0, 1)],
    }


def rebuilding_values(shape=None, rows=6, seed=2):
    """Values of the widget of rebuilt rows: an exact model of full rank, so all components rebuild a row exactly."""
    rng = np.random.default_rng(seed)
    p = int(np.prod(shape)) if shape else 8
    basis = np.linalg.qr(rng.standard_normal((p, p)))[0][: min(p, 12)] if shape else np.eye(p)
    mean = rng.uniform(0.3, 0.7, p)
    scale = None if shape else rng.uniform(0.5, 2.0, p)
    scores = rng.standard_normal((rows, len(basis))) * 0.6 ** np.arange(len(basis))
    X = mean + (1.0 if scale is None else scale) * (scores @ basis)
    return {
        "shape": list(shape) if shape else None,
        "columns": [f"x{j + 1}" for j in range(p)],
        "labels": [f"row {i + 1}" for i in range(rows)],
        "mean": mean.astype("f4"),
        "scale": None if scale is None else scale.astype("f4"),
        "components": basis.ravel().astype("f4"),
        "scores": scores.ravel().astype("f4"),
        "rows": X.ravel().astype("f4"),
        "low": float(X.min()),
        "high": float(X.max()),
    }


def bars(key, names, title="Loadings"):
    """A chart of bars with error bars, with its table."""
    values = np.linspace(0.9, -0.7, len(names))
    return Chart(
        key,
        title,
        f"Bars of the loadings of {len(names)} columns, from the largest to the smallest.",
        [
            {
                "type": "bar",
                "orientation": "h",
                "x": values,
                "y": [plain(name) for name in names],
                "error_x": {"type": "data", "array": np.full(len(names), 0.08)},
            }
        ],
        {"xaxis": axis("loading"), "yaxis": axis(autorange="reversed")},
        Table({"loading": values}, list(names), row_name="column"),
        caption="Bars show loadings, lines their intervals of 95%.",
    )


def scree(key="scree"):
    variances = np.array([4.2282, 0.2427, 0.0782, 0.0238])
    return Chart(
        key,
        "Variance of each component",
        "A falling line: the first component has most of the variance.",
        [{"type": "scatter", "mode": "lines+markers", "name": "variance", "x": np.arange(1, 5), "y": variances}],
        {"xaxis": axis("component", dtick=1), "yaxis": axis("variance", rangemode="tozero")},
        Table({"variance": variances, "share": variances / variances.sum()}, [f"PC{i}" for i in range(1, 5)]),
    )


def heatmap(key="correlations", size=12):
    rng = np.random.default_rng(3)
    R = np.corrcoef(rng.standard_normal((40, size)) + rng.standard_normal((40, 1)), rowvar=False)
    names = [f"column {j + 1}" for j in range(size)]
    return Chart(
        key,
        "Correlations",
        "All columns are correlated with each other.",
        [{"type": "heatmap", "z": R, "x": names, "y": names, "zmin": -1, "zmax": 1, "colorscale": "RdBu"}],
        {"yaxis": axis(autorange="reversed")},
        Table.from_matrix(R, names, names),
        height=480,
    )


def maps(**values):
    """A document of maps, by their keys."""
    widgets = [Widget(key, "map", f"Map {key}", "A cloud of points.", part) for key, part in values.items()]
    return Document("Maps", "", [Section("maps", "Maps", "Each point is a row.", widgets)])


def rich(**changes):
    """A document with every kind of block; `changes` replace the values of its map."""
    columns = ["sepal length", "sepal width", "petal length", "petal width"]
    long = Table(
        {"length": np.linspace(1, 9, 40), "kind": ["numeric"] * 40, "missing": [None, *range(39)]},
        [f"column {i}" for i in range(40)],
        row_name="column",
        notes=["Lengths are in centimetres."],
    )
    sections = [
        Section(
            "data",
            "The data",
            "The table has 150 rows and 4 columns of numbers. Dark fields mark columns that say the same.",
            [Prose("No entry is missing, and no column is constant."), Listing(long), heatmap()],
        ),
        Section("how-many", "How many components", "Rules for the number, over the variances.", [scree()]),
        Section(
            "map",
            "The map",
            "Each point is a row. Rows that lie close to each other have similar values.",
            [
                Widget(
                    "rows",
                    "map",
                    "Rows by their components",
                    "A cloud of 150 points in three groups.",
                    {**map_values(), **changes},
                    Table({"rows": [50, 50, 50]}, list(SPECIES), row_name="species"),
                    caption="Drag over points to list their rows below.",
                )
            ],
        ),
        Section(
            "meaning",
            "What each component means",
            "Columns with large loadings of the same sign rise and fall together.",
            [
                Menu(
                    "loadings",
                    "Component",
                    {
                        "PC1": bars("pc1", columns, "Loadings of PC1"),
                        "PC2": bars("pc2", columns[::-1], "Loadings of PC2"),
                    },
                )
            ],
        ),
        Section(
            "misfits",
            "Which rows do not fit",
            "Rows beyond a dashed line are unusual.",
            [Widget("misfit", "misfits", "Distances of the rows", "150 points, two beyond limits.", misfit_values())],
        ),
        Section(
            "rebuilding",
            "Rebuilding",
            "A row beside what the first components make of it.",
            [
                Widget("row", "rebuilding", "A row, rebuilt", "Points of both.", rebuilding_values(), height=380),
                Widget("picture", "rebuilding", "A picture, rebuilt", "Pictures.", rebuilding_values((8, 8))),
                Widget("colours", "rebuilding", "Colours, rebuilt", "Pictures.", rebuilding_values((4, 5, 3))),
            ],
        ),
    ]
    return Document(
        "Iris flowers",
        "iris.csv: 150 rows, 4 columns, coloured by species",
        sections,
        ["PC1 explains 92.5% of the variance.", "It sets rows with long petals apart from those with short ones."],
        [Download("model.lowdim", bytes(range(256)), "the fitted model, which lowdim.load reads")],
        "Made by lowdim 0.1.",
    )
