"""The builder of graphs: names, constants, and the subtraction of a mean in two parts."""

import numpy as np
import pytest

import onnx
from lowdim.onnx.graph import Graph
from onnx_graphs import run


def made(build, arithmetic=np.float64, width=3):
    """A graph with one input and the output that `build` makes of it."""
    graph = Graph(arithmetic)
    result = build(graph.input("X", ["n", width]))
    graph.output("result", result, ["n", result.width])
    model = onnx.helper.make_model(graph.proto("made"), opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    return model


X = np.random.default_rng(0).standard_normal((6, 3))
EXPRESSIONS = {
    "arithmetic": (lambda x: ((x - X[0]) * X[1] + 2.0) / X[2] / 3.0, lambda x: ((x - X[0]) * X[1] + 2.0) / X[2] / 3.0),
    "power": (lambda x: (x * x) ** 1.5, lambda x: np.abs(x) ** 3),
    "product": (lambda x: x @ X.T, lambda x: x @ X.T),
    "take": (lambda x: x.take([2, 0, 0]), lambda x: x[:, [2, 0, 0]]),
    "beside": (lambda x: x.beside(x * 2.0, x.take([1])), lambda x: np.hstack([x, 2 * x, x[:, [1]]])),
    "sums": (lambda x: x / x.sums(), lambda x: x / x.sum(axis=1, keepdims=True)),
    "one column": (lambda x: x.sums() * 2.0 / 3.0, lambda x: x.sum(axis=1, keepdims=True) * 2.0 / 3.0),
    "zeros": (lambda x: (x - x).unless_zero(7.0), lambda x: np.full_like(x, 7.0)),
    "differences": (
        lambda x: x.over_columns(X, lambda apart: apart.apply("Abs")),
        lambda x: np.abs(x[:, None, :] - X[None, :, :]).sum(axis=2),
    ),
    "differences of differences": (
        lambda x: x.over_columns(X, lambda a: a * a).over_columns(np.ones((2, 6)), lambda a: a.apply("Abs")),
        lambda x: np.abs(((x[:, None] - X[None]) ** 2).sum(axis=2) - 1.0).sum(axis=1, keepdims=True) * np.ones((1, 2)),
    ),
}


@pytest.mark.parametrize("name", list(EXPRESSIONS))
def test_expressions_compute_what_numpy_computes(name):
    build, wanted = EXPRESSIONS[name]
    np.testing.assert_allclose(run(made(build), X), wanted(X), rtol=1e-12, atol=1e-14)


def test_single_factors_beside_products_keep_all_digits():
    """onnxruntime would merge them into the product, as float32 numbers."""
    third = 1.0 / 3.0
    for build, wanted in (
        (lambda x: (x * third) @ X.T, (X * third) @ X.T),
        (lambda x: (x @ X.T) * third, (X @ X.T) * third),
        (lambda x: (x @ X.T) / 3.0, (X @ X.T) / 3.0),
        (lambda x: (x @ X[:1].T) * third, (X @ X[:1].T) * third),
        (lambda x: (x.sums() * third) @ X[:1], (X.sum(axis=1, keepdims=True) * third) @ X[:1]),
    ):
        np.testing.assert_allclose(run(made(build), X), wanted, rtol=1e-14, atol=1e-15)


def test_a_mean_of_float64_is_subtracted_from_float32_rows_with_all_digits():
    mean = np.array([1e8 + 1.0 / 3.0, -7.0 / 3.0, 0.5])
    rows = np.array([[1e8, -2.0, 1.0], [1e8 + 8, -3.0, 0.0]], dtype=np.float32)
    found = run(made(lambda x: x.minus(mean), np.float32), rows)
    np.testing.assert_allclose(found, rows.astype(np.float64) - mean, rtol=3e-7)
    # A mean that float32 can hold takes one node.
    assert [node.op_type for node in made(lambda x: x.minus([0.5, 1.0, 2.0]), np.float32).graph.node] == [
        "Sub",
        "Identity",
    ]


def test_equal_constants_are_stored_once():
    model = made(lambda x: (x @ X[:3]) @ X[:3].copy())
    assert len(model.graph.initializer) == 1


def test_names_do_not_depend_on_anything_else():
    assert made(lambda x: x @ X.T).SerializeToString() == made(lambda x: x @ X.T).SerializeToString()
