"""What `load` returns is what was saved, to the last bit, for every model and every option that changes attributes."""

import copy

import numpy as np
import pandas as pd
import pytest

import lowdim
from examples import OF_NUMBERS, WIDE, WITH_CATEGORIES, X, Y, close, make, tables
from files.comparing import assert_same, results
from files.fitted_models import CASES, FRAME, fitted
from files.selection_results import selected
from inputs import to_numpy
from lowdim import load, models, save
from lowdim._core.schema import declared
from lowdim.errors import HoldsRowsWarning, LowdimWarning, without_warnings
from lowdim.files import header
from lowdim.summaries import SUMMARIES

each = pytest.mark.parametrize("name", list(CASES))


def reloaded(obj, path, **options):
    with without_warnings(HoldsRowsWarning):
        save(obj, path)
    return load(path, **options)


def test_there_is_a_case_for_every_class():
    made = {type(fitted(name)) for name in CASES}
    assert {getattr(models, name) for name in models.__all__} <= made
    assert {cls for cls in vars(lowdim.sklearn).values() if isinstance(cls, type)} <= made


@each
def test_every_attribute_is_listed(name):
    model = fitted(name)
    listed = {*declared(type(model)), *model.get_params(deep=False), "_sklearn_output_config"}
    assert set(vars(model)) <= listed


@each
def test_a_model_comes_back_to_the_last_bit(name, tmp_path):
    model = fitted(name)
    found = reloaded(model, tmp_path / "model")
    assert_same(found, model)
    assert repr(found) == repr(model) and str(found) == str(model)
    with without_warnings(LowdimWarning):
        assert_same(results(found), results(model))


def goes_on(name):
    """Whether rows of two tables at most can be added to the model of this case."""
    model = fitted(name)
    of_numbers = not name.startswith(WITH_CATEGORIES)
    there = hasattr(model, "summary_") and hasattr(model, "partial_fit")
    return of_numbers and there and len(getattr(model, "means_", "")) < 3


@pytest.mark.parametrize("name", [name for name in CASES if goes_on(name)])
def test_partial_fit_goes_on(name, tmp_path):
    model = copy.deepcopy(fitted(name))
    found = reloaded(model, tmp_path / "model")
    p, q = model.n_features_in_, model.summary_.n_features - model.n_features_in_
    rows = np.random.default_rng(4).standard_normal((30, p + q)).astype(model.summary_.mean.dtype)
    x = (
        pd.DataFrame(rows[:, :p], columns=model.feature_names_in_)
        if hasattr(model, "feature_names_in_")
        else rows[:, :p]
    )
    given = (x, rows[:, p:]) if q else (x,)
    with without_warnings(LowdimWarning):
        assert_same(found.partial_fit(*given), model.partial_fit(*given))


def test_callbacks_are_left_behind(tmp_path):
    callback = pytest.importorskip("sklearn.callback", reason="callbacks exist from scikit-learn 1.9 on")
    model = lowdim.PCA(2).fit(X).set_callbacks(callback.ProgressBar())
    found = reloaded(model, tmp_path / "model")
    assert "_skl_callbacks" in vars(model) and "_skl_callbacks" not in vars(found)


# ---- Summaries and results of selection


@pytest.mark.parametrize("name", ["Moments", "FourthMoments", "Triangle", "Columns", "Observed", "Sample"])
def test_summaries(name, tmp_path):
    arguments = {"Sample": (5, 20)}.get(name, (5,))
    summary = lowdim.reading.summarize(X, SUMMARIES[name](*arguments))
    found = reloaded(summary, tmp_path / "summary")
    assert_same(found, summary)
    assert_same(SUMMARIES[name].load(tmp_path / "summary"), summary)


def test_results_of_selection(tmp_path):
    for name, result in selected().items():
        found = reloaded(result, tmp_path / "result")
        assert_same(found, result, name)
        assert repr(found) == repr(result) and str(found) == str(result)
        assert header(tmp_path / "result")["holds"] == "result"


# ---- Other array libraries


#: Models on arrays of another library, with options that change their attributes. KernelCCA works in host memory.
STRICT = [(name, {}) for name in OF_NUMBERS if name != "KernelCCA"] + [
    *(("KernelPCA", {"kernel": "rbf", "solver": solver}) for solver in ("krylov", "nystrom", "fourier")),
    ("KernelPCA", {"kernel": "linear"}),
    ("PCA", {"n_components": "cv", "scale": True}),
    ("PCA", {"n_components": "minka", "solver": "triangle"}),
    ("PPCA", {"prior": "vb", "scale": True}),
    ("FactorAnalysis", {"rotation": "promax", "scale": True}),
    ("Whitening", {"n_components": None, "kind": "zca-cor", "regularization": "oas"}),
    ("ICA", {"n_init": 2, "keep_sources": True}),
    ("PLSRegression", {"n_components": "cv"}),
]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("name", "options"), STRICT)
def test_arrays_of_other_libraries(name, options, dtype, tmp_path):
    """Saved from the host, loaded as NumPy arrays, or as those of the library of `like`."""
    strict = pytest.importorskip("array_api_strict")
    given = [strict.asarray(table.astype(dtype)) for table in tables(name)]
    with without_warnings(LowdimWarning):
        model = make(name, **options).fit(*given)
    assert_same(reloaded(model, tmp_path / "model", like=given[0]), model)
    plain = load(tmp_path / "model")
    assert isinstance(plain._centre(), np.ndarray)
    scores = plain.transform(np.asarray(tables(name)[0], dtype=dtype))
    # Rounding may differ, as NumPy's arrays have some loops of their own.
    close(scores, to_numpy(model.transform(given[0])), 1e-12 if dtype == "float64" else 1e-5)
    assert_same(reloaded(plain, tmp_path / "model", like=given[0]), model)


def test_a_model_without_its_matrix_on_another_library(tmp_path):
    """Whitening of few rows keeps the eigenvectors only."""
    strict = pytest.importorskip("array_api_strict")
    with without_warnings(LowdimWarning):
        model = lowdim.Whitening("zca-cor").fit(strict.asarray(WIDE[:12]))
    assert_same(reloaded(model, tmp_path / "model", like=strict.asarray(X)), model)


def test_a_summary_on_another_library(tmp_path):
    strict = pytest.importorskip("array_api_strict")
    summary = lowdim.reading.summarize(strict.asarray(X), lowdim.summaries.Moments(5))
    assert_same(reloaded(summary, tmp_path / "summary", like=strict.asarray(X)), summary)
    assert isinstance(load(tmp_path / "summary").mean, np.ndarray)


# ---- What a file says of itself


def test_header(tmp_path):
    save(lowdim.PCA(2).fit(X), tmp_path / "model")
    found = header(tmp_path / "model")
    assert found == {
        "class": "models.PCA",
        "holds": "model",
        "holds_rows": False,
        "columns": None,
        "lowdim": lowdim.__version__,
        "version": "1.0",
    }
    for obj in (lowdim.PCA(2).fit(FRAME), lowdim.reading.summarize(FRAME, lowdim.summaries.Moments)):
        save(obj, tmp_path / "file")
        assert header(tmp_path / "file")["columns"] == list(FRAME.columns)


def test_files_that_hold_rows(tmp_path):
    for model, where in (
        (lowdim.KernelPCA(2, kernel="rbf").fit(X), "X_fit_"),
        (lowdim.KernelCCA(2).fit(X, Y), "x_fit_"),
        (lowdim.ICA(2, keep_sources=True).fit(X), "sources_"),
        (lowdim.sklearn.PLSRegression(2).fit(X, Y), "_x_scores"),
    ):
        with pytest.warns(HoldsRowsWarning, match=where):
            save(model, tmp_path / "model")
        assert header(tmp_path / "model")["holds_rows"] is True
        with pytest.raises(ValueError, match="holds rows"):
            save(model, tmp_path / "model", min_rows=10)
    # Of a stream that could be read only once, no row is kept.
    kernel = lowdim.kernels.Polynomial(degree=2, gamma=0.1)
    features = lowdim.KernelPCA(2, kernel=kernel, solver="features").fit(iter([X[:40], X[40:]]))
    save(features, tmp_path / "model", min_rows=90)
    assert header(tmp_path / "model")["holds_rows"] is False
    with pytest.warns(HoldsRowsWarning, match="in rows"):
        save(lowdim.reading.summarize(X, SUMMARIES["Sample"](5, 20)), tmp_path / "sample")
    assert header(tmp_path / "sample")["holds_rows"] is True


def test_rows_that_occur_several_times_are_stored_once(tmp_path):
    model = reloaded(lowdim.KernelPCA(2, kernel="rbf").fit(X), tmp_path / "model")
    assert model._phi.rows is model.X_fit_
    assert (tmp_path / "model").stat().st_size < 2 * X.nbytes + 12_000


def test_too_few_rows(tmp_path):
    for obj in (lowdim.PCA(2).fit(X), lowdim.reading.summarize(X, lowdim.summaries.Moments(5))):
        save(obj, tmp_path / "file", min_rows=len(X))
        (tmp_path / "file").unlink()
        with pytest.raises(ValueError, match=r"90 rows, and min_rows=91"):
            save(obj, tmp_path / "file", min_rows=91)
        assert not (tmp_path / "file").exists()
        for wrong in (0, 2.5, True, "all"):
            with pytest.raises(ValueError, match="must be a whole number of at least 1"):
                save(obj, tmp_path / "file", min_rows=wrong)
    with pytest.raises(ValueError, match="a Plan does not"):
        save(lowdim.plan(lowdim.PCA(2), X), tmp_path / "file", min_rows=3)
