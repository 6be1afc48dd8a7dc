"""Every method of every fitted model gives in onnxruntime what it gives in lowdim, or the error says why not."""

import array_api_strict
import numpy as np
import pytest

import lowdim
from additions.toy_model import CorrelationPCA
from examples import MODELS, OF_NUMBERS, WIDE, WIDE_Y, WITH_CATEGORIES, X, Y, kernel, make, tables
from examples import fitted as example
from files.fitted_models import CASES, FLAT, fitted
from lowdim import FeatureMapPCA, KernelCCA, KernelPCA, kernels, models
from lowdim.kernels import KERNELS
from lowdim.models.base import Model
from lowdim.models.kernel_pca import preimage_method
from lowdim.onnx import CONVERTERS
from lowdim.onnx.converters import FEATURE_BUILDERS, KERNEL_BUILDERS
from lowdim.solvers import FixedPoint
from onnx_graphs import error, expected, run

# Heywood cases are a property of the rows, and these have some.
pytestmark = pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")

#: Rows by their number of columns.
ROWS = {table.shape[1]: table[:20] for table in (X, Y, X[:, :2] ** 2, WIDE, WIDE_Y, FLAT)}
ROWS |= {90: kernels.Gaussian(1 / 18)(X)[:20], 1: Y[:20, :1]}


def rows_of(model, method, table):
    """Rows, or scores of rows, that a method takes."""
    width = model._widths()[table]
    rows = np.ones((4, 3)) * np.arange(4)[:, None] if width == 3 and model.n_samples_ == 5 else ROWS[width]
    return expected(model, "transform", rows, table) if method == "inverse_transform" else rows


def is_iteration(model, method):
    """Whether rows are found from scores by an iteration."""
    is_ours = isinstance(model, KernelPCA) and not hasattr(model, "dual_coef_")
    return method == "inverse_transform" and is_ours and isinstance(preimage_method(model), FixedPoint)


def methods_of(model):
    for method in CONVERTERS:
        # A model without components has no scores.
        if hasattr(model, method) and not (method == "inverse_transform" and model.n_components_ == 0):
            for table in range(1 if method == "predict" else len(model._widths())):
                yield method, table


@pytest.mark.parametrize("name", [name for name in CASES if not name.startswith(WITH_CATEGORIES)])
def test_graphs_agree_with_models(name):
    model = fitted(name)
    kept = model.__dict__.pop("_sklearn_output_config", None)
    # What a model has in float32, it has rounded itself.
    tolerance = 1e-6 if "float32" in name or "mixed" in name else 1e-10
    try:
        for method, table in methods_of(model):
            if is_iteration(model, method):
                with pytest.raises(TypeError, match=r"preimage='ridge'"):
                    lowdim.to_onnx(model, output=method)
                continue
            rows = rows_of(model, method, table).astype(np.float64)
            found = run(lowdim.to_onnx(model, output=method, table=table), rows)
            assert found.dtype == np.float64
            assert error(found, expected(model, method, rows, table)) < tolerance, method
    finally:
        if kept is not None:
            model._sklearn_output_config = kept


@pytest.mark.parametrize("arithmetic", ["float64", "float32"])
@pytest.mark.parametrize("name", list(MODELS))
def test_graphs_in_float32(name, arithmetic):
    model = example(name)
    for method, table in methods_of(model):
        if is_iteration(model, method):
            continue
        rows = rows_of(model, method, table).astype(np.float32)
        found = run(lowdim.to_onnx(model, output=method, table=table, dtype="float32", arithmetic=arithmetic), rows)
        assert found.dtype == np.float32
        # Kernel regressions from scores to rows have large coefficients of both signs.
        loose = arithmetic == "float32" and name == "KernelPCA" and method == "inverse_transform"
        assert error(found, expected(model, method, rows, table)) < (1e-3 if loose else 1e-5), method


def test_every_model_has_a_converter_of_transform():
    found = {cls for cls in CONVERTERS["transform"] if cls is not Model}
    for name in OF_NUMBERS:
        cls = getattr(models, name)
        assert any(base in found for base in cls.__mro__) or hasattr(example(name)._scoring(), "matrix"), name


def test_a_model_that_maps_rows_by_an_affine_map_needs_no_entry():
    model = CorrelationPCA(2).fit(X)
    assert error(run(lowdim.to_onnx(model), X), model.transform(X)) < 1e-10
    assert (
        error(run(lowdim.to_onnx(model, output="inverse_transform"), X[:, :2]), model.inverse_transform(X[:, :2]))
        < 1e-10
    )


def test_every_kernel_has_a_builder():
    assert set(KERNELS.values()) <= set(KERNEL_BUILDERS)
    assert {kernels.Sum, kernels.Product, kernels.Multiple} <= set(KERNEL_BUILDERS)


@pytest.mark.filterwarnings("ignore::lowdim.errors.IndefiniteWarning")
@pytest.mark.parametrize("arithmetic", ["float64", "float32"])
@pytest.mark.parametrize("name", list(KERNELS))
def test_kernels_of_equal_rows_rows_of_zeros_and_rows_far_away(name, arithmetic):
    """Distances of zero, lengths of zero, and an offset of 1e6 are where kernels lose digits."""
    offset = 1e6 if kernel(name).shift_invariant else 0.0
    known = np.vstack([X[:12], np.zeros((1, 5))]) + offset
    model = KernelPCA(2, kernel=kernel(name), solver="dense").fit(known)
    rows = known.astype(np.float32)
    graph = lowdim.to_onnx(model, dtype="float32", arithmetic=arithmetic)
    assert error(run(graph, rows), expected(model, "transform", rows)) < 1e-5


def test_feature_maps_of_polynomials():
    for degree in (1, 2, 3):
        for up_to in (False, True):
            phi = lowdim.features.Polynomial(degree, up_to=up_to, coef0=2.5)
            model = FeatureMapPCA(2, feature_map=phi).fit(X)
            assert error(run(lowdim.to_onnx(model), X), model.transform(X)) < 1e-10
    assert set(lowdim.features.FEATURE_MAPS.values()) <= set(FEATURE_BUILDERS)


def test_rows_with_missing_entries_have_no_scores():
    """The graph is for complete rows; NaN does not become a number on its way, in any model."""
    incomplete = X[:3].copy()
    incomplete[1, 2] = np.nan
    for name in MODELS:
        for arithmetic in ("float64", "float32"):
            found = run(lowdim.to_onnx(example(name), arithmetic=arithmetic), incomplete)
            np.testing.assert_array_equal(np.isnan(found).all(axis=1), [False, True, False], err_msg=name)


@pytest.mark.filterwarnings("ignore::lowdim.errors.IndefiniteWarning")
@pytest.mark.parametrize("kernel", ["gaussian", "laplacian", "matern", "thin plate spline", "cosine", "sigmoid"])
def test_kernels_of_rows_with_missing_entries_are_not_numbers(kernel):
    model = KernelPCA(1, kernel=kernel, solver="dense").fit(X[:30])
    found = run(lowdim.to_onnx(model), np.full((1, 5), np.nan))
    assert np.isnan(found).all()


def test_a_model_of_rows_with_missing_entries_is_exported_for_complete_rows():
    incomplete = X.copy()
    incomplete[::7, 1] = np.nan
    for model in (lowdim.PPCA(2), lowdim.PPCA(2, prior="vb"), lowdim.FactorAnalysis(2, scores="bartlett")):
        model.fit(incomplete)
        assert error(run(lowdim.to_onnx(model), X), model.transform(X)) < 1e-10


def test_latent_variables_far_from_zero_and_with_small_noise():
    """The scores of unit vectors say what the map is, with a mean of 1e8 and a noise of 1e-12 of the variance too."""
    flat = X[:, :2] @ np.random.default_rng(0).standard_normal((2, 5))
    rows = flat + 1e-6 * np.random.default_rng(1).standard_normal(flat.shape)
    for given in (rows, np.round(X * 2**10) / 2**10 + 1e8):
        model = lowdim.PPCA(2).fit(given)
        assert error(run(lowdim.to_onnx(model), given), model.transform(given)) < 1e-10


def test_many_latent_columns(monkeypatch):
    """The unit vectors come in several blocks."""
    monkeypatch.setattr("lowdim.onnx.converters._UNIT_VECTORS", 10)
    for rows in (WIDE[:, :9], WIDE[:, :10], WIDE):
        model = lowdim.PPCA(2).fit(rows)
        assert error(run(lowdim.to_onnx(model), rows), model.transform(rows)) < 1e-10


@pytest.mark.parametrize("name", [name for name in MODELS if name != "KernelCCA"])
def test_models_of_other_array_libraries(name):
    """Their arrays are copied to the host; the graph gives what the model gives for arrays of its library."""
    model = make(name).fit(*(array_api_strict.asarray(table) for table in tables(name)))
    expected = np.from_dlpack(model.transform(array_api_strict.asarray(X)))
    assert error(run(lowdim.to_onnx(model), X), expected) < 1e-10


def test_what_cannot_be_expressed_says_why_and_what_to_do():
    def own(x, y):
        return float(x @ y)

    with pytest.raises(TypeError, match=r"kernel Function\(own\).*not known.*kernel='precomputed'"):
        lowdim.to_onnx(KernelPCA(1, kernel=own, solver="dense").fit(X[:20]))
    with pytest.raises(TypeError, match=r"not known.*kernel='precomputed'"):
        lowdim.to_onnx(KernelCCA(1, kernel=own).fit(X[:20], Y[:20]))
    with pytest.raises(TypeError, match=r"feature map np_square.*pipeline"):
        lowdim.to_onnx(FeatureMapPCA(1, feature_map=np_square).fit(X))
    with pytest.raises(TypeError, match=r"impute of PPCA.*pattern of missing entries.*complete rows"):
        lowdim.to_onnx(example("PPCA"), output="impute")
    with pytest.raises(TypeError, match=r"score_samples of PCA.*Choose one of transform"):
        lowdim.to_onnx(example("PCA"), output="score_samples")
    with pytest.raises(TypeError, match=r"predict of PCA.*no such method. Choose 'transform' or 'inverse_transform'"):
        lowdim.to_onnx(example("PCA"), output="predict")
    with pytest.raises(TypeError, match=r"inverse_transform of KernelCCA.*Choose 'transform'"):
        lowdim.to_onnx(example("KernelCCA"), output="inverse_transform")


def np_square(block):
    return block**2


def test_a_model_with_another_map_is_refused():
    class Squares(CorrelationPCA):
        def _scoring(self):
            return lambda block: block**2

    with pytest.raises(TypeError, match=r"transform of Squares.*no converter.*lowdim.save"):
        lowdim.to_onnx(Squares(2).fit(X))
