"""The table of plots, and `model.plot` of every model."""

import inspect
import re
from pathlib import Path

import array_api_strict as strict
import dask.array as da
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import examples
import lowdim
from lowdim import PCA, plot
from lowdim.plot import PLOTS, ModelPlots

RNG = np.random.default_rng(0)


@pytest.fixture(scope="module", params=examples.OF_NUMBERS)
def fitted(request):
    return examples.make(request.param).fit(*examples.tables(request.param, examples.X, examples.Y))


@pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")
def test_model_plot_lists_what_fits(fitted):
    names = [name for name in PLOTS if name in dir(fitted.plot)]
    assert "scores" in names
    assert len(names) == len(dir(fitted.plot))
    lines = repr(fitted.plot).splitlines()
    assert len(lines) == 1 + len(names)
    for name, line in zip(names, lines[1:], strict=True):
        assert line.split()[0] == name
        assert line.endswith(PLOTS[name].brief)
        assert getattr(fitted.plot, name).__doc__ == PLOTS[name].function.__doc__


@pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")
def test_plots_that_need_no_rows_are_drawn_for_every_model(fitted):
    for name in dir(fitted.plot):
        draw = getattr(fitted.plot, name)
        needed = [p for p in inspect.signature(draw).parameters.values() if p.default is p.empty]
        # PCR and PLS keep no correlations of their columns.
        if not needed and name != "correlation_circle":
            assert draw() is not None


@pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")
def test_plots_of_rows_are_drawn_for_every_model(fitted):
    X, *rest = examples.tables(type(fitted).__name__, examples.X, examples.Y)
    for name in set(dir(fitted.plot)) - {"missing", "reconstructions"}:
        draw = getattr(fitted.plot, name)
        needed = [p.name for p in inspect.signature(draw).parameters.values() if p.default is p.empty]
        if needed == ["X"] or name == "correlation_circle":
            assert draw(X) is not None
        elif needed == ["X", "y"]:
            assert draw(X, *rest) is not None


@pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")
def test_others_are_refused_with_advice(fitted):
    for name in set(PLOTS) - set(dir(fitted.plot)):
        assert not hasattr(fitted.plot, name)
        with pytest.raises(TypeError, match=f"plot.{name} shows .*, and {type(fitted).__name__} has none"):
            getattr(plot, name)(fitted, *[None] * 3)


def test_methods_have_the_signature_without_the_model():
    pca = PCA(2).fit(RNG.standard_normal((9, 3)))
    assert list(inspect.signature(pca.plot.scores).parameters)[:2] == ["X", "components"]
    assert list(inspect.signature(plot.scores).parameters)[:2] == ["model", "X"]
    with pytest.raises(AttributeError, match="PCA has no plot 'vip'; it has scree, cumulative"):
        _ = pca.plot.vip


def test_the_accessor_does_not_disturb_the_model():
    pca = PCA(2)
    assert PCA.plot is ModelPlots
    assert "plot" not in pca.get_params()
    assert repr(pca.plot) == "PCA is not fitted yet, so it has no plots."
    with pytest.raises(NotFittedError):
        pca.plot.scree()
    fitted = pca.fit(RNG.standard_normal((9, 3)))
    assert "plot" not in vars(fitted)
    assert not hasattr(clone(fitted), "components_")
    assert "<table>" in fitted._repr_html_()


def test_plots_are_functions_of_the_package_with_docstrings():
    assert set(PLOTS) == set(plot.__all__) - {"PLOTS", "ModelPlots"}
    for name, offer in PLOTS.items():
        assert getattr(lowdim.plot, name) is offer.function
        assert "Returns\n    -------\n    Axes" in offer.function.__doc__
        assert inspect.signature(offer.function).parameters["ax"].default is None
        assert len(offer.brief) <= 110


@pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")
def test_the_page_lists_the_plots_and_their_models(fitted):
    page = (Path(__file__).parents[2] / "docs" / "plots.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \| (.*?) \|$", page, re.MULTILINE)
    assert [(name, brief) for name, _, brief in rows] == [(name, offer.brief) for name, offer in PLOTS.items()]
    for name, kinds, _ in rows:
        # For others it depends on the fit as well as on the model.
        if name not in ("contours", "convergence", "validation"):
            named = kinds == "all" or type(fitted).__name__ in kinds.split(", ")
            assert named == (name in dir(fitted.plot)), name


@pytest.mark.parametrize("kind", ["other library", "sparse", "Dask"])
def test_rows_of_other_kinds(kind):
    X = RNG.standard_normal((40, 4)) @ np.diag([4.0, 3.0, 1.0, 1.0])
    rows = {"other library": strict.asarray, "sparse": sparse.csr_array, "Dask": da.from_array}[kind](X)
    model, expected = PCA(2).fit(rows), PCA(2).fit(X)
    for name in ("scores", "outliers"):
        drawn, dense = (getattr(m.plot, name)(r) for m, r in ((model, rows), (expected, X)))
        assert drawn.get_xlabel() == dense.get_xlabel()
        for ours, theirs in zip(drawn.collections, dense.collections, strict=True):
            np.testing.assert_allclose(ours.get_offsets(), theirs.get_offsets(), atol=1e-8)
    drawn, dense = (m.plot.reconstructions(r, (2, 2)) for m, r in ((model, rows), (expected, X)))
    np.testing.assert_allclose(drawn.images[0].get_array(), dense.images[0].get_array(), atol=1e-8)
    plane = rows[:, :2]
    drawn = PCA(1).fit(plane).plot.contours(plane)
    np.testing.assert_allclose(drawn.collections[-1].get_offsets(), X[:, :2])


def test_responses_of_another_library():
    X, Y = (strict.asarray(RNG.standard_normal((30, p))) for p in (3, 2))
    for model in (lowdim.PLSRegression(2).fit(X, Y), lowdim.CCA(2).fit(X, Y)):
        assert model.plot.predictions(X, Y).get_legend() is not None
    assert lowdim.CCA(2).fit(X, Y).plot.structure() is not None
