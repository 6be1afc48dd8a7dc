"""to_onnx of models of tables with categories: coded columns in, scores out."""

import json

import numpy as np
import pandas as pd
import pytest

import lowdim
from lowdim import CA, FAMD, MCA, MFA
from onnx_graphs import error, run

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {
        "age": RNG.normal(1e3, 10, 80),
        "income": RNG.lognormal(10, 1, 80),
        "sex": RNG.choice(["f", "m"], 80),
        "drink=hot": RNG.choice(["tea", "coffee", "né <b>"], 80),
    }
)
MODELS = {
    "MCA": (MCA(2), TABLE[["sex", "drink=hot"]]),
    "MCA-supplementary": (MCA(2, supplementary=["age"]), TABLE[["age", "sex", "drink=hot"]]),
    "FAMD": (FAMD(3), TABLE),
    "FAMD-em": (FAMD(2, missing="em"), TABLE.assign(age=TABLE["age"].where(TABLE.index % 9 > 0))),
    "FAMD-numbers": (FAMD(2), TABLE[["age", "income"]]),
    "MFA": (MFA(2, groups={"person": ["age", "sex"], "habits": ["income", "drink=hot"]}), TABLE),
}


def coded(model, table):
    """The coded columns of the rows of a table, as a user would make them."""
    block = model.coding_(next(model._open(table, reset=False).blocks(1000)))
    return np.hstack([block.numbers, block.zeros_and_ones(slice(None), float)])


@pytest.mark.parametrize("name", list(MODELS))
def test_coded_columns(name):
    model, table = MODELS[name]
    model.fit(table)
    graph, rows = lowdim.to_onnx(model), coded(model, table)
    assert error(run(graph, rows), model.transform(table)) < 1e-10
    names = json.loads(next(p.value for p in graph.metadata_props if p.key == "input_columns"))
    assert names == model.coding_.names
    assert error(run(lowdim.to_onnx(model, arithmetic="float32"), rows), model.transform(table)) < 1e-4
    scores = model.transform(table)
    assert (
        error(run(lowdim.to_onnx(model, output="inverse_transform"), scores), model.inverse_transform(scores)) < 1e-10
    )


def test_an_unknown_level_is_at_the_mean():
    table = TABLE[["sex", "drink=hot"]]
    model = MCA(2).fit(table)
    rows = coded(model, table)
    rows[0, :2] = model.mean_[:2]
    new = table.head(1).assign(sex="x")
    with pytest.warns(lowdim.errors.CategoryWarning):
        wanted = model.transform(new)
    assert error(run(lowdim.to_onnx(model), rows)[:1], wanted) < 1e-10


def test_counts():
    counts = pd.DataFrame(RNG.integers(0, 30, (12, 5)).astype(float), columns=list("abcde"))
    counts.iloc[3] = 0.0
    for model in (CA(2), CA(2, supplementary=["b"])):
        model.fit(counts)
        assert error(run(lowdim.to_onnx(model), counts.to_numpy()), model.transform(counts)) < 1e-10
        scores = model.transform(counts)
        found = run(lowdim.to_onnx(model, output="inverse_transform"), scores)
        assert error(found, model.inverse_transform(scores)) < 1e-10
