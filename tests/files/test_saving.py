"""What `load` returns is what was saved, to the last bit, for every model and every option that changes attributes."""

import copy

import numpy as np
import pytest

import lowdim
from examples import X, Y
from files.comparing import assert_same, results
from files.fitted_models import CASES, fitted
from files.selection_results import selected
from lowdim import models
from lowdim.attributes import declared
from lowdim.errors import HoldsRowsWarning, LowdimWarning, without_warnings
from lowdim.files import header, load, save
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


@pytest.mark.parametrize("name", [name for name in CASES if hasattr(fitted(name), "summary_")])
def test_partial_fit_goes_on(name, tmp_path):
    model = copy.deepcopy(fitted(name))
    found = reloaded(model, tmp_path / "model")
    p, q = model.n_features_in_, model.summary_.n_features - model.n_features_in_
    rows = np.random.default_rng(4).standard_normal((30, p + q)).astype(model.summary_.mean.dtype)
    given = (rows[:, :p], rows[:, p:]) if q else (rows,)
    if hasattr(model, "feature_names_in_"):
        given = (type_of_names(rows[:, :p], model.feature_names_in_), *given[1:])
    if not hasattr(model, "partial_fit") or (
        isinstance(getattr(model, "means_", None), list) and len(model.means_) > 2
    ):
        return
    with without_warnings(LowdimWarning):
        assert_same(found.partial_fit(*given), model.partial_fit(*given))


def type_of_names(rows, names):
    import pandas as pd

    return pd.DataFrame(rows, columns=names)


# ---- Summaries and results of selection


@pytest.mark.parametrize("name", ["Moments", "FourthMoments", "Triangle", "Columns", "Observed", "Sample"])
def test_summaries(name, tmp_path):
    arguments = {"Sample": (5, 20)}.get(name, (5,))
    summary = lowdim.summarize(X, SUMMARIES[name](*arguments))
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


STRICT = [name for name in models.__all__ if name not in ("KernelCCA",)]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", STRICT)
def test_arrays_of_other_libraries(name, dtype, tmp_path):
    """Saved from the host, loaded as NumPy arrays, or as those of the library of `like`."""
    from examples import make, tables

    strict = pytest.importorskip("array_api_strict")
    given = [strict.asarray(table.astype(dtype)) for table in tables(name)]
    with without_warnings(LowdimWarning):
        model = make(name).fit(*given)
    assert_same(reloaded(model, tmp_path / "model", like=given[0]), model)
    plain = load(tmp_path / "model")
    scores = plain.transform(np.asarray(tables(name)[0], dtype=dtype))
    np.testing.assert_array_equal(scores, np.asarray(np.from_dlpack(model.transform(given[0]))))
    on_numpy = reloaded(plain, tmp_path / "model", like=given[0])
    assert_same(on_numpy, model)


# ---- What a file says of itself


def test_header(tmp_path):
    save(lowdim.PCA(2).fit(X), tmp_path / "model")
    found = header(tmp_path / "model")
    assert found == {
        "class": "models.PCA",
        "holds": "model",
        "holds_rows": False,
        "lowdim": lowdim.__version__,
        "version": "1.0",
    }


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
    save(lowdim.summarize(X, SUMMARIES["Sample"](5, 20)), tmp_path / "sample")
    assert header(tmp_path / "sample")["holds_rows"] is True


def test_rows_that_occur_several_times_are_stored_once(tmp_path):
    model = reloaded(lowdim.KernelPCA(2, kernel="rbf").fit(X), tmp_path / "model")
    assert model._phi.rows is model.X_fit_
    assert (tmp_path / "model").stat().st_size < 2 * X.nbytes + 12_000


def test_too_few_rows(tmp_path):
    for obj in (lowdim.PCA(2).fit(X), lowdim.summarize(X, lowdim.Moments(5))):
        save(obj, tmp_path / "file", min_rows=len(X))
        (tmp_path / "file").unlink()
        with pytest.raises(ValueError, match=r"90 rows, and min_rows=91"):
            save(obj, tmp_path / "file", min_rows=91)
        assert not (tmp_path / "file").exists()
    with pytest.raises(ValueError, match="a Plan does not"):
        save(lowdim.plan(lowdim.PCA(2), X), tmp_path / "file", min_rows=3)
