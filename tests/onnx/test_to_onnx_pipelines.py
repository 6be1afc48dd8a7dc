"""skl2onnx converts scikit-learn's pipelines with models of lowdim in them, without any preparation."""

import numpy as np
import pytest
import skl2onnx
from skl2onnx.common.data_types import FloatTensorType, Int64TensorType, StringTensorType
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_diabetes, load_wine
from sklearn.ensemble import StackingRegressor, VotingRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import StandardScaler

import lowdim
import lowdim.sklearn
from examples import MODELS, X, Y, fitted
from onnx_graphs import error, session

WINE, KIND = load_wine(return_X_y=True)
ROWS, RESPONSE = load_diabetes(return_X_y=True)
DTYPES = {np.float64: 1e-10, np.float32: 1e-5}


def convert(pipeline, rows, **options):
    return skl2onnx.to_onnx(pipeline, rows[:1], **options)


def check(pipeline, rows, method, output=-1, **options):
    """The pipeline as a graph gives what its method gives, in both dtypes."""
    for dtype, tolerance in DTYPES.items():
        given = rows.astype(dtype)
        running = session(convert(pipeline, given, **options))
        found = running.run(None, {running.get_inputs()[0].name: given})[output]
        wanted = np.asarray(getattr(pipeline, method)(given.astype(np.float64)))
        assert found.dtype == dtype
        assert error(found.reshape(wanted.shape), wanted) < tolerance


@pytest.mark.parametrize("pca", [lowdim.PCA(3), lowdim.sklearn.PCA(3), lowdim.KernelPCA(3, kernel="matern")])
def test_scaler_components_and_classifier(pca):
    pipeline = make_pipeline(StandardScaler(), pca, LogisticRegression()).fit(WINE, KIND)
    check(pipeline, WINE, "predict_proba", options={"zipmap": False})


def test_columns_and_unions():
    columns = make_column_transformer(
        (lowdim.PCA(2), [0, 1, 2, 3]), (lowdim.Whitening("zca"), [4, 6, 5]), ("passthrough", [7])
    )
    check(columns.fit(WINE), WINE, "transform")
    check(
        make_pipeline(columns, LogisticRegression(max_iter=9000)).fit(WINE, KIND),
        WINE,
        "predict_proba",
        options={"zipmap": False},
    )
    check(make_union(lowdim.PCA(2), lowdim.ICA(2), lowdim.FeatureMapPCA(1)).fit(WINE), WINE, "transform")


@pytest.mark.parametrize("name", [name for name in MODELS if name != "GCCA"])
@pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")
def test_every_model_alone(name):
    """A regression predicts; other models transform."""
    model = fitted(name)
    check(model, X, "predict" if hasattr(model, "predict") else "transform")


def test_regressions_predict_at_the_end_and_transform_before_other_steps():
    for response in (RESPONSE, np.column_stack([RESPONSE, ROWS[:, 2] ** 2])):
        check(make_pipeline(StandardScaler(), lowdim.PLSRegression(2)).fit(ROWS, response), ROWS, "predict")
        check(make_pipeline(lowdim.PCR(2), LinearRegression()).fit(ROWS, response), ROWS, "predict")
    check(make_union(lowdim.PCR(2), lowdim.PCA(1)).fit(ROWS, RESPONSE), ROWS, "transform")
    named = lowdim.PLSRegression(2).fit(ROWS, RESPONSE)
    check(named, ROWS, "predict", final_types=[("prediction", None)])
    search = GridSearchCV(make_pipeline(lowdim.PCR()), {"pcr__n_components": [1, 2]}).fit(ROWS, RESPONSE)
    check(search, ROWS, "predict")


def test_one_input_for_each_column_and_names_that_graphs_use_too():
    """Inputs are called as nodes and constants of lowdim's own graphs are."""
    model = lowdim.PCA(2).fit(WINE)
    names = [*(f"c{j}" for j in range(12)), "n0"]
    graph = skl2onnx.convert_sklearn(model, initial_types=[(name, FloatTensorType([None, 1])) for name in names])
    rows = WINE.astype(np.float32)
    (found,) = session(graph).run(None, {name: rows[:, [j]] for j, name in enumerate(names)})
    assert error(found, model.transform(rows.astype(np.float64))) < 1e-5


def test_whole_numbers_and_two_models_with_nested_graphs():
    pipeline = make_union(*(lowdim.KernelPCA(2, kernel=name) for name in ("laplacian", "matern"))).fit(np.round(X))
    graph = skl2onnx.convert_sklearn(pipeline, initial_types=[("X", Int64TensorType([None, 5]))])
    rows = np.round(X).astype(np.int64)
    (found,) = session(graph).run(None, {"X": rows})
    assert error(found, pipeline.transform(rows.astype(np.float64))) < 1e-5


def test_inputs_of_unknown_width_side_by_side():
    model = lowdim.PCA(2).fit(WINE)
    types = [("some", FloatTensorType([None, None])), ("last", FloatTensorType([None, 1]))]
    rows = WINE.astype(np.float32)
    graph = skl2onnx.convert_sklearn(model, initial_types=types)
    (found,) = session(graph).run(None, {"some": rows[:, :-1], "last": rows[:, -1:]})
    assert error(found, model.transform(rows.astype(np.float64))) < 1e-5


def test_inputs_that_are_not_those_of_the_fit_are_refused():
    model = lowdim.PCA(2).fit(X)
    with pytest.raises(ValueError, match=r"PCA takes 5 columns of numbers, and its inputs have 4.*FloatTensorType"):
        convert(model, X[:, :4])
    with pytest.raises(ValueError, match=r"the input 'words' is text"):
        skl2onnx.convert_sklearn(model, initial_types=[("words", StringTensorType([None, 5]))])
    with pytest.raises(NotFittedError):
        convert(lowdim.PCA(2), X)


def test_old_operators_are_refused():
    with pytest.raises(ValueError, match="opset=12 must be"):
        convert(fitted("PCA"), X, target_opset=12)


def test_what_cannot_be_expressed_is_refused_inside_pipelines_too():
    pipeline = make_pipeline(StandardScaler(), lowdim.KernelPCA(1, kernel=lambda x, y: float(x @ y))).fit(X[:20])
    with pytest.raises(TypeError, match="not known"):
        convert(pipeline, X)


def test_estimators_that_look_up_their_members_by_class_need_registered_models():
    search = GridSearchCV(lowdim.PLSRegression(), {"n_components": [1, 2]}).fit(ROWS, RESPONSE)
    members = [("a", lowdim.PLSRegression(2)), ("b", LinearRegression())]
    lowdim.onnx.register()
    lowdim.onnx.register()
    for model in (search, *(kind(members).fit(ROWS, RESPONSE) for kind in (VotingRegressor, StackingRegressor))):
        check(model, ROWS, "predict")
    check(
        make_pipeline(StandardScaler(), lowdim.PCA(3), LogisticRegression()).fit(WINE, KIND),
        WINE,
        "predict_proba",
        options={"zipmap": False},
    )


def test_models_of_two_tables_are_steps_for_the_first():
    model = lowdim.PLSSVD(2).fit(X, Y)
    check(model, X, "transform")
