"""Eigenvalues of simulated tables of unrelated columns, against those of tables whose columns were shuffled."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from lowdim import FAMD, MCA, MFA, choose_n_components
from lowdim.selection import parallel_analysis
from lowdim.selection.parallel_analysis import UnrelatedColumns, inertias_of_unrelated
from selection.categories_drawn import GROUPS, MODELS, related, unrelated, with_missing

pytest.importorskip("pyarrow", reason="pyarrow is not installed")
TABLE = with_missing(related(300))


def shuffled_inertias(model, table, parts, n_draws=150):
    """The 95% quantiles of the eigenvalues of fits to tables whose parts were shuffled."""
    rng, found = np.random.default_rng(1), []
    for _ in range(n_draws):
        drawn = table.copy()
        for part in parts:
            order = rng.permutation(len(table))
            for column in part:
                drawn[column] = table[column].to_numpy()[order]
        found.append(clone(model).set_params(n_components=None).fit(drawn).explained_variance_)
    k = min(map(len, found))
    return np.quantile([values[:k] for values in found], 0.95, axis=0)


@pytest.mark.parametrize("rows", [True, False], ids=["rows", "normal"])
@pytest.mark.parametrize("name", list(MODELS))
def test_thresholds_are_those_of_shuffled_columns(name, rows, monkeypatch):
    if not rows:
        monkeypatch.setattr(parallel_analysis, "_ROWS_UP_TO", 0)
    model = clone(MODELS[name]).set_params(n_components="parallel").fit(TABLE)
    parts = list(GROUPS.values()) if name == "MFA" else [[column] for column in TABLE]
    expected = shuffled_inertias(model, TABLE, parts)
    found = model.choice_.curve[: len(expected)]
    np.testing.assert_allclose(found, expected, rtol=0.04)
    assert model.n_components_ == model.choice_.k >= 1


@pytest.mark.filterwarnings("ignore::lowdim.errors.NoComponentWarning")
def test_no_component_is_found_where_there_is_none():
    found = np.zeros(2)
    for seed in range(80):
        table = unrelated(60, seed)
        models = FAMD("parallel"), MFA("parallel", groups={"first": ["a", "c"], "second": ["b", "e"]})
        found += [model.fit(table).choice_.k > 0 for model in models]
    # At 0.05: at most 11 of 80, but for one time in a thousand.
    assert np.all(found <= 11)


def test_frequencies_are_kept_in_each_table():
    shares = [np.array([0.5, 0.3, 0.2]), np.array([0.05, 0.95])]
    for moments in UnrelatedColumns(np.array([2.0]), shares, 40.0).draw(3, 0):
        np.testing.assert_allclose(moments.mean, [0.0, *shares[0], *shares[1]], atol=1e-12)
        np.testing.assert_allclose(moments.scatter[0, 0] / 40, 4.0)
        assert moments.n_rows == 40


def test_shares_of_weighted_rows_become_whole_frequencies():
    found = parallel_analysis._frequencies(np.array([0.331, 0.001, 0.0, 0.668]), 10)
    assert found.tolist() == [3, 1, 0, 6]
    for seed in range(20):
        shares = np.random.default_rng(seed).dirichlet(np.full(8, 0.2))
        counts = parallel_analysis._frequencies(shares, 50)
        assert counts.sum() == 50
        assert np.all(counts >= 1)
        assert np.abs(counts - 50 * shares).max() < 6


@pytest.mark.parametrize("n", [9, 50], ids=["rows", "moments"])
def test_parts_keep_their_own_eigenvalues(n):
    """One part alone has them in each table, and the trace is that of all parts."""
    alone = np.array([3.0, 1.0, 0.5])
    np.testing.assert_allclose(inertias_of_unrelated([alone], n, 4, 0), np.tile(alone, (4, 1)), rtol=1e-8)
    both = inertias_of_unrelated([alone, np.ones(2)], n, 4, 0)
    np.testing.assert_allclose(both.sum(axis=1), 6.5, rtol=1e-8)
    assert np.all(both[:, 0] > 3.0)


def test_other_rules_look_at_the_dimensions_that_can_have_inertia():
    table = TABLE[["a", "b", "e"]]
    mca = MCA().fit(table)
    kaiser = MCA("kaiser").fit(table)
    assert kaiser.n_components_ == np.count_nonzero(mca.explained_variance_ > 1 / 3)
    np.testing.assert_allclose(kaiser.choice_.curve, 1 / 3)
    assert len(kaiser.choice_.curve) == len(mca.explained_variance_)
    assert MCA("proportion").fit(table).n_components_ == MCA(0.9).fit(table).n_components_


def test_rules_that_make_no_sense_are_refused():
    for rule in ("bic", "minka", "map", "gavish-donoho", "cv"):
        with pytest.raises(ValueError, match=r"is not available for FAMD.*'kaiser'.*'elbow'.*'parallel'"):
            FAMD(rule).fit(TABLE)
    with pytest.raises(ValueError, match="n_components='nothing' is not one of"):
        FAMD("nothing").fit(TABLE)
    with pytest.raises(ValueError, match="Weights are frequencies, not shares"):
        FAMD("parallel").fit(TABLE, sample_weight=np.full(len(TABLE), 1 / len(TABLE)))


def test_choose_n_components_names_the_models_of_tables_with_categories(tmp_path):
    TABLE.to_csv(tmp_path / "table.csv", index=False)
    for X in (TABLE, tmp_path / "table.csv"):
        with pytest.raises(ValueError, match=r"categories 'a', 'b', 'e'.*FAMD\(n_components='parallel'\)"):
            choose_n_components(X)
    with pytest.raises(TypeError, match=r"X is a model, FAMD.*FAMD\(n_components='parallel'\)"):
        choose_n_components(FAMD())
