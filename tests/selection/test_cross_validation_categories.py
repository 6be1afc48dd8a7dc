"""Held-out rows of tables with categories: errors of entries that are predicted from the other columns of the row."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import KFold

from lowdim import CA, FAMD, MCA, cross_validate, plan
from selection.categories_drawn import MODELS, related, with_missing

pytest.importorskip("pyarrow", reason="pyarrow is not installed")
TABLE = with_missing(related(150))


def coded(model, table):
    """The rows of a table as weighted coded columns, centred by the fit."""
    block = next(iter(model._open(table, reset=False).blocks(len(table))))
    return (model.coding_(block).joined() - model.mean_) / model.scale_


def slow_error(model, rows, k):
    """The sum of the squared errors of predictions by least squares from the other columns, over rows and inertia."""
    W, total = model.components_[:k], 0.0
    for piece in model.coding_.columns.values():
        others = np.setdiff1d(np.arange(rows.shape[1]), np.arange(piece.start, piece.stop))
        t = np.linalg.lstsq(W[:, others].T, rows[:, others].T, rcond=None)[0].T if k else np.zeros((len(rows), 0))
        total += np.sum((rows[:, piece] - t @ W[:, piece]) ** 2)
    return total / len(rows) / model.total_inertia_


@pytest.mark.parametrize("name", list(MODELS))
def test_scores_are_errors_of_predictions_from_the_other_columns(name):
    splits = list(KFold(4, shuffle=True, random_state=0).split(TABLE))
    model = clone(MODELS[name]).set_params(n_components=None)
    found = cross_validate(model, TABLE, cv=splits, n_components=[0, 1, 2])
    for split, (train, test) in enumerate(splits):
        fit = clone(model).fit(TABLE.iloc[train])
        rows = coded(fit, TABLE.iloc[test])
        expected = [slow_error(fit, rows, k) for k in (0, 1, 2)]
        np.testing.assert_allclose(found.per_split[split, 0], expected, rtol=1e-8)
    assert not found.greater_is_better


@pytest.mark.filterwarnings("ignore::lowdim.errors.CategoryWarning")
def test_a_level_that_only_held_out_rows_have_is_passive():
    table = related(60)
    table.loc[7, "e"] = "alone"
    test = np.arange(20)
    found = cross_validate(FAMD(), table, cv=[(np.arange(20, 60), test)], n_components=[0, 1])
    fit = FAMD().fit(table.iloc[20:])
    rows = coded(fit, table.iloc[test])
    np.testing.assert_allclose(found.per_split[0, 0], [slow_error(fit, rows, k) for k in (0, 1)], rtol=1e-8)


def test_the_number_of_hidden_variables_is_found():
    assert cross_validate(FAMD(), related(300)).best == 1
    alone = cross_validate(MCA(), related(300)[["e", "a"]].assign(g=np.random.default_rng(0).permutation(300) % 3 > 1))
    assert alone.mean.min() > 0.95


def test_files_weights_and_plans(tmp_path):
    table = TABLE.assign(count=np.random.default_rng(0).integers(1, 3, len(TABLE)), fold=np.arange(len(TABLE)) % 3)
    table.to_csv(tmp_path / "table.csv", index=False)
    expected = cross_validate(
        FAMD(), TABLE, cv=table["fold"].to_numpy(), sample_weight=table["count"].to_numpy(), n_components=[1, 2]
    )
    for X in (table, tmp_path / "table.csv"):
        found = cross_validate(FAMD(), X, cv="fold", sample_weight="count", n_components=[1, 2])
        np.testing.assert_allclose(found.per_split, expected.per_split, rtol=1e-9)
    # The levels, and then the moments of all folds.
    assert expected.n_passes == 2
    planned = plan(FAMD(), TABLE, cv=5)
    assert planned.passes == 2
    assert "after a pass that finds the levels" in planned.why
    assert cross_validate(FAMD(), lambda: iter([TABLE[:70], TABLE[70:]])).n_samples == len(TABLE)


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match=r"param_grid=.* change the coded columns"):
        cross_validate(FAMD(), TABLE, param_grid={"missing": ["level", "passive"]})
    with pytest.raises(ValueError, match="n_components='parallel' of FAMD would choose"):
        cross_validate(FAMD("parallel"), TABLE)
    with pytest.raises(TypeError, match=r"CA cannot be cross-validated here.*Pass MCA"):
        cross_validate(CA(), np.ones((5, 3)))


def test_plans_of_tables_and_of_counts(tmp_path):
    TABLE.to_parquet(tmp_path / "table.parquet")
    for X in (TABLE, tmp_path / "table.parquet"):
        assert plan(FAMD(), X).passes == 2
        assert plan(clone(MODELS["MFA"]), X).passes == 2
    assert plan(CA(), TABLE[["a", "b"]]).passes == 2
    with pytest.raises(TypeError, match="a shape does not say which columns are categories"):
        plan(MCA(), (100, 5))
