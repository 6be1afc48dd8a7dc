"""to_onnx: shapes, dtypes, names, versions, and real data to the accuracy of the dtype."""

import json

import numpy as np
import pandas as pd
import pytest
from onnx.reference import ReferenceEvaluator
from sklearn import datasets
from sklearn.exceptions import NotFittedError

import lowdim
import onnx
from examples import MODELS, X, Y, fitted
from lowdim import CCA, GCCA, PCA, KernelPCA, PLSRegression, Whitening
from lowdim.onnx import DEFAULT_OPSET, LOWEST_OPSET
from onnx_graphs import error, expected, run, session

TABLES = {
    "iris": datasets.load_iris().data,
    "wine": datasets.load_wine().data,
    "cancer": datasets.load_breast_cancer().data,
    "digits": datasets.load_digits().data,
}
#: Models of one table that all of these can be fitted to.
OF_ONE_TABLE = {
    "PCA": PCA(3),
    "PCA-whiten": PCA(3, whiten=True, scale=True),
    "Whitening": Whitening(regularization=1e-3, relative=True),
    "PPCA": lowdim.PPCA(2),
    "FactorAnalysis": lowdim.FactorAnalysis(1),
    "AutoEncoder": lowdim.AutoEncoder(2, hidden=()),
    "ICA": lowdim.ICA(2),
    "FeatureMapPCA": lowdim.FeatureMapPCA(2),
    "KernelPCA": KernelPCA(3, kernel="rbf"),
    "KernelPCA-laplacian": KernelPCA(3, kernel="laplacian", solver="nystrom"),
    "KernelPCA-fourier": KernelPCA(3, kernel="rbf", solver="fourier"),
}


@pytest.mark.parametrize("table", list(TABLES))
@pytest.mark.parametrize("name", list(OF_ONE_TABLE))
@pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")
def test_real_data(name, table):
    known, rows = TABLES[table][:300], TABLES[table][::7]
    model = OF_ONE_TABLE[name].fit(known)
    assert error(run(lowdim.to_onnx(model), rows), model.transform(rows)) < 1e-10
    narrow = rows.astype(np.float32)
    for arithmetic in ("float64", "float32"):
        graph = lowdim.to_onnx(model, dtype="float32", arithmetic=arithmetic)
        assert error(run(graph, narrow), expected(model, "transform", narrow)) < 1e-5, arithmetic


@pytest.mark.parametrize("name", ["PLSRegression", "PCR", "CCA"])
def test_predictions_for_real_data(name):
    rows, y = datasets.load_linnerud(return_X_y=True)
    for responses in (y, y[:, 0]):
        model = getattr(lowdim, name)(1).fit(rows, responses)
        wanted = model.predict(rows)
        found = run(lowdim.to_onnx(model, output="predict"), rows)
        assert error(found, wanted) < 1e-10
        narrow = run(lowdim.to_onnx(model, output="predict", dtype="float32"), rows.astype(np.float32))
        assert error(narrow, wanted) < 1e-5


@pytest.mark.parametrize("arithmetic", ["float64", "float32"])
def test_columns_far_from_zero_lose_nothing(arithmetic):
    """Deviations of about 10 at 1e8, where float32 numbers are 8 apart: the given rows are exact in float32, and only
    the mean is not. A product before the subtraction would leave no digit."""
    rows = (1e8 + 64.0 * np.round(X)).astype(np.float32)
    assert np.unique(rows).size > 10
    for model in (PCA(2), Whitening("zca"), lowdim.PPCA(2), KernelPCA(2, kernel="rbf"), KernelPCA(2, kernel="matern")):
        model.fit(rows.astype(np.float64))
        found = run(lowdim.to_onnx(model, dtype="float32", arithmetic=arithmetic), rows)
        assert error(found, expected(model, "transform", rows)) < 1e-5


@pytest.mark.parametrize("name", ["PCA", "PLSRegression", "KernelPCA", "FeatureMapPCA", "KernelCCA"])
@pytest.mark.parametrize("count", [0, 1, 3, 90])
def test_any_number_of_rows(name, count):
    model = fitted(name)
    found = run(lowdim.to_onnx(model), X[:count])
    assert found.shape == (count, 2)
    if count:
        assert error(found, model.transform(X[:count])) < 1e-10


@pytest.mark.parametrize("kernel", ["laplacian", "matern"])
def test_no_rows_and_kernels_of_differences(kernel):
    model = KernelPCA(2, kernel=kernel, solver="dense").fit(X)
    assert run(lowdim.to_onnx(model), X[:0]).shape == (0, 2)


def test_one_session_takes_blocks_of_any_size_and_order_in_memory():
    model = fitted("KernelPCA")
    running = session(lowdim.to_onnx(model))
    for rows in (X, X[:5], X[::3], np.asfortranarray(X), X[::-1]):
        assert error(running.run(["transform"], {"X": rows})[0], model.transform(rows)) < 1e-10


@pytest.mark.parametrize("shape", [(30, 1), (30, 5)])
@pytest.mark.parametrize("arithmetic", ["float64", "float32"])
def test_one_column_and_one_component(shape, arithmetic):
    """onnxruntime merges single factors into products beside them in float32, so that none must be single."""
    rows = X[: shape[0], : shape[1]]
    kinds = [PCA(1, whiten=True, scale=True), lowdim.PPCA(1, scale=True), lowdim.FeatureMapPCA(1)]
    kinds += [KernelPCA(1, kernel=name, solver="dense") for name in ("linear", "poly", "rbf", "laplacian", "cosine")]
    for model in kinds:
        if shape[1] == 1 and getattr(model, "kernel", "") == "cosine":
            continue  # All rows have the same direction, or the opposite one.
        model.fit(rows)
        found = run(lowdim.to_onnx(model, arithmetic=arithmetic), rows)
        assert error(found, model.transform(rows)) < (1e-10 if arithmetic == "float64" else 1e-5), model


@pytest.mark.filterwarnings("ignore::lowdim.errors.IndefiniteWarning")
@pytest.mark.parametrize("opset", [LOWEST_OPSET, DEFAULT_OPSET, 20, 21])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "matern", "poly", "thin plate spline", "cosine"])
def test_versions_of_operators(kernel, opset):
    model = KernelPCA(2, kernel=kernel, solver="dense").fit(X[:40])
    graph = lowdim.to_onnx(model, opset=opset)
    assert [(each.domain, each.version) for each in graph.opset_import] == [("", opset)]
    assert graph.ir_version == onnx.helper.find_min_ir_version_for(graph.opset_import)
    assert error(run(graph, X), model.transform(X)) < 1e-10


@pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")
def test_the_same_model_gives_the_same_bytes(tmp_path):
    for name in ("PCA", "KernelPCA", "PLSRegression", "FactorAnalysis"):
        model = fitted(name)
        first = lowdim.to_onnx(model).SerializeToString()
        assert lowdim.to_onnx(model).SerializeToString() == first
    lowdim.save(fitted("PCA"), tmp_path / "pca.model")
    again = lowdim.to_onnx(lowdim.load(tmp_path / "pca.model"))
    assert again.SerializeToString() == lowdim.to_onnx(fitted("PCA")).SerializeToString()


def test_a_graph_says_what_it_is():
    frame = pd.DataFrame(X, columns=["a", "b", "ü", "d\n", "e"])
    targets = pd.DataFrame(Y, columns=["u", "v", "w"])
    model = PLSRegression(2).fit(frame, targets)
    graph = lowdim.to_onnx(model, output=("transform", "predict"))
    props = {each.key: each.value for each in graph.metadata_props}
    assert (props["model"], props["lowdim"]) == ("PLSRegression", lowdim.__version__)
    assert json.loads(props["input_columns"]) == list(frame.columns)
    assert json.loads(props["transform_columns"]) == model.component_names_
    assert json.loads(props["predict_columns"]) == list(targets.columns)
    assert (graph.producer_name, graph.producer_version) == ("lowdim", lowdim.__version__)
    running = session(graph)
    assert [(each.name, each.shape) for each in running.get_inputs()] == [("X", ["n", 5])]
    assert [(each.name, each.shape) for each in running.get_outputs()] == [
        ("transform", ["n", 2]),
        ("predict", ["n", 3]),
    ]
    scores, predicted = running.run(["transform", "predict"], {"X": X})
    assert error(scores, model.transform(frame)) < 1e-10
    assert error(predicted, model.predict(frame)) < 1e-10


def test_names_of_columns_of_every_kind_of_table():
    def columns(model, **options):
        props = {each.key: json.loads(each.value) for each in lowdim.to_onnx(model, **options).metadata_props[2:]}
        assert next(iter(props)) == "input_columns"
        return list(props.values())

    pca = fitted("PCA")
    names, plain = ["PC1", "PC2"], [f"x{j}" for j in range(1, 6)]
    assert columns(pca) == [plain, names]
    assert columns(pca, output="inverse_transform") == [names, plain]
    cca = CCA(2).fit(X, pd.DataFrame(Y, columns=["u", "v", "w"]))
    assert columns(cca, table=1)[0] == ["u", "v", "w"]
    assert columns(cca, table=1, output="inverse_transform")[1] == ["u", "v", "w"]
    assert columns(fitted("CCA"), output="predict")[1] == ["y1", "y2", "y3"]
    assert columns(fitted("KernelCCA"), table=1)[0] == ["y1", "y2", "y3"]
    three = GCCA(1).fit([X, pd.DataFrame(Y, columns=["u", "v", "w"]), X[:, :2] ** 2])
    assert columns(three, table=1)[0] == ["u", "v", "w"]
    assert len(columns(three, table=2)[0]) == 2
    squares = fitted("FeatureMapPCA")
    assert [len(found) for found in columns(squares)] == [5, 2]
    assert columns(squares, output="inverse_transform")[1] == squares.feature_names_


def test_the_input_of_inverse_transform_is_called_scores():
    model = fitted("PCA")
    running = session(lowdim.to_onnx(model, output="inverse_transform"))
    assert [(each.name, each.shape) for each in running.get_inputs()] == [("scores", ["n", 2])]
    Z = model.transform(X)
    (rows,) = running.run(["inverse_transform"], {"scores": Z})
    assert error(rows, model.inverse_transform(Z)) < 1e-10


def test_numbers_beyond_the_range_of_the_arithmetic():
    model = PCA(2).fit(X * 1e60)
    with pytest.raises(ValueError, match=r"out of the range of float32. Pass arithmetic='float64'"):
        lowdim.to_onnx(model, arithmetic="float32")
    assert error(run(lowdim.to_onnx(model), X * 1e60), model.transform(X * 1e60)) < 1e-10
    with pytest.raises(ValueError, match=r"out of the range of float32"):
        lowdim.to_onnx(Whitening().fit(X * 1e60), arithmetic="float32")


def test_graphs_that_are_too_large_for_one_file(monkeypatch):
    monkeypatch.setattr("lowdim.onnx.graph.MOST_BYTES", 8 * 90 * 5 - 1)
    with pytest.raises(ValueError, match=r"ONNX allows .* GiB in one file.*Nystrom"):
        lowdim.to_onnx(KernelPCA(2, kernel="rbf", solver="dense").fit(X))
    lowdim.to_onnx(PCA(2).fit(X))


@pytest.mark.parametrize("name", list(MODELS))
@pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")
def test_the_reference_implementation_of_onnx_agrees_with_onnxruntime(name):
    """The graphs mean the same to a runtime that changes nothing in them."""
    model = fitted(name)
    (found,) = ReferenceEvaluator(lowdim.to_onnx(model)).run(None, {"X": X[:9]})
    assert error(found, np.asarray(model.transform(X[:9]))) < 1e-10


def test_bad_arguments():
    pca = fitted("PCA")
    with pytest.raises(NotFittedError):
        lowdim.to_onnx(PCA())
    with pytest.raises(TypeError, match=r"models of lowdim, got StandardScaler.*skl2onnx"):
        from sklearn.preprocessing import StandardScaler

        lowdim.to_onnx(StandardScaler().fit(X))
    for name in ("dtype", "arithmetic"):
        for value in ("float16", "int64", None, "double precision", np.ones(2)):
            with pytest.raises(ValueError, match=f"{name}=.*float64"):
                lowdim.to_onnx(pca, **{name: value})
    for opset in (12, 1000, True, 17.0, "17"):
        with pytest.raises(ValueError, match=r"opset=.*from 13 to"):
            lowdim.to_onnx(pca, opset=opset)
    for table in (1, -1, True, "y"):
        with pytest.raises(ValueError, match=r"has no table .*one table, number 0"):
            lowdim.to_onnx(pca, table=table)
    with pytest.raises(ValueError, match=r"predict of CCA has no table 1"):
        lowdim.to_onnx(fitted("CCA"), output="predict", table=1)
    with pytest.raises(ValueError, match=r"tables are numbers 0 to 1"):
        lowdim.to_onnx(fitted("CCA"), table=2)
    for output in ([], ["transform", "transform"]):
        with pytest.raises(ValueError, match=r"each method once"):
            lowdim.to_onnx(pca, output=output)
    with pytest.raises(ValueError, match=r"takes scores"):
        lowdim.to_onnx(pca, output=["transform", "inverse_transform"])


@pytest.mark.parametrize("package", ["onnx", "skl2onnx"])
def test_missing_packages_are_named(package, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, package, None)
    with pytest.raises(ImportError, match=f"needs {package}, which is not installed: pip install 'lowdim\\[onnx\\]'"):
        lowdim.to_onnx(fitted("PCA")) if package == "onnx" else lowdim.onnx.register()
