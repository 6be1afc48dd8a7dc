"""Every plot and every table of a model: without names, with one column or component, 2,000 columns, awkward labels."""

import inspect

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from lowdim import CCA, ICA, PCA, PPCA, FactorAnalysis, PLSRegression

AWKWARD = ["emoji 🍷", "two\nlines", "<b>bold</b>", "$x$", "a_b^c", "x" * 80]


def awkward_frame(rows):
    columns = [f"{AWKWARD[j % len(AWKWARD)]}{j}" for j in range(rows.shape[1])]
    return pd.DataFrame(rows, columns=columns, index=[f"{AWKWARD[i % len(AWKWARD)]} {i}" for i in range(len(rows))])


def drawn(n, p, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, 2)) @ rng.standard_normal((2, p)) + 0.5 * rng.laplace(size=(n, p))


TABLES = {
    "without names": drawn(40, 5),
    "one column": drawn(40, 1),
    "2,000 columns": drawn(30, 2000),
    "awkward labels": awkward_frame(drawn(40, 6)),
}
MODELS = {
    "PCA": PCA(2),
    "one component": PCA(1),
    "PPCA": PPCA(1),
    "FactorAnalysis": FactorAnalysis(2),
    "ICA": ICA(2),
    "PLSRegression": PLSRegression(2),
    "CCA": CCA(1, regularization=0.1),
}
#: Of one column there is one component, and no model of what columns share.
SOME = {"one column": ["one component", "CCA"], "2,000 columns": ["PCA", "one component", "PLSRegression"]}


@pytest.mark.parametrize(("table", "name"), [(table, name) for table in TABLES for name in SOME.get(table, MODELS)])
@pytest.mark.filterwarnings("ignore::lowdim.errors.LowdimWarning")
def test_every_plot_and_every_table(table, name):
    X = TABLES[table]
    y = drawn(len(X), 2, seed=1)
    if isinstance(X, pd.DataFrame):
        y = pd.DataFrame(y, columns=["$y$", "y\n2"], index=X.index)
    if name == "PPCA":
        X = X.mask(X > 1.5) if isinstance(X, pd.DataFrame) else np.where(X > 1.5, np.nan, X)
    model = clone(MODELS[name])
    model = model.fit(X, y) if name in ("PLSRegression", "CCA") else model.fit(X)
    needed = {"X": X, "y": y, "image_shape": (1, X.shape[1]), "other": model}
    # Factors need missing entries for a picture of them, and tests need correlations without regularization.
    unwanted = {"canonical_tests"} if name == "PPCA" else {"canonical_tests", "missing"}
    for each in set(dir(model.plot)) - unwanted:
        axes = answer_of(getattr(model.plot, each), needed, {"correlation_circle"})
        axes.figure.canvas.draw()
        plt.close("all")
    for each in set(dir(model.tables)) - unwanted:
        beside = {"X": with_others(X)} if each in ("describe", "supplementary") else {}
        found = answer_of(getattr(model.tables, each), needed | beside, {"cos2", "describe"})
        assert str(found) and found._repr_html_() and (len(found.to_pandas()) > 0 or each == "describe")


def with_others(X):
    """The rows with a number and a category that are not of the fit."""
    if isinstance(X, pd.DataFrame):
        return X.assign(**{"other $n$": np.arange(len(X)), "kind": ["<a>", "$b$"] * (len(X) // 2)})
    return np.column_stack([X, np.arange(len(X))])


def answer_of(function, needed, with_rows):
    """What a plot or a table answers with, given what it needs. Those in `with_rows` could do without rows, but not for
    every model."""
    takes = inspect.signature(function).parameters
    wanted = [key for key in needed if key in takes and takes[key].default is takes[key].empty]
    wanted += ["image_shape"] + (["X"] if function.__name__ in with_rows else [])
    return function(**{key: needed[key] for key in wanted if key in takes})
