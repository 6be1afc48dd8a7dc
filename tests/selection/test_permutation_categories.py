"""Permutation tests of models of tables with categories: of the size that they claim, and finding what there is."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from lowdim import CA, FAMD, MCA, MFA, permutation_test
from selection.categories_drawn import GROUPS, MODELS, related, unrelated, with_missing

pytest.importorskip("pyarrow", reason="pyarrow is not installed")
TABLE = with_missing(related(120))


@pytest.mark.parametrize("name", list(MODELS))
def test_the_statistics_are_those_of_the_model(name):
    model = clone(MODELS[name]).set_params(n_components=None)
    found = permutation_test(MODELS[name], TABLE, n_resamples=3, alpha=0.5, random_state=0)
    np.testing.assert_allclose(found.statistic, model.fit(TABLE).explained_variance_ratio_, rtol=1e-9)
    assert found.component_name == "dim"
    # All inertia is there in each shuffle.
    np.testing.assert_allclose(found.null.sum(axis=1), 1.0, rtol=1e-8)


def test_the_size_is_that_of_the_test():
    """Of independent columns: at 0.05, at most 11 of 80 tables but for one time in a thousand."""
    found = np.zeros(3)
    for seed in range(80):
        table = unrelated(40, seed)
        models = (
            (FAMD(), table),
            (MFA(groups={"first": ["a", "c"], "second": ["b", "e"]}), table),
            (MCA(), table[["a", "b", "e"]]),
        )
        found += [permutation_test(m, X, n_resamples=19, random_state=seed + 999).n_components > 0 for m, X in models]
    assert np.all(found <= 11)
    assert np.all(found >= 1)


def test_one_hidden_variable_is_one_component():
    more = 0
    for seed in range(20):
        table = related(100, seed)
        for model in (FAMD(), MFA(groups=GROUPS)):
            found = permutation_test(model, table, n_resamples=39, random_state=seed).n_components
            assert found >= 1
            more += found > 1
    assert more <= 5


def test_groups_of_mfa_are_shuffled_as_wholes():
    """Columns of one group that are related, but not to those of others, are no common dimension."""
    table = related(150)
    groups = {"one": ["a", "b", "c", "d"], "other": ["e", "f"]}
    assert permutation_test(MFA(groups=groups), table, n_resamples=99, random_state=0).n_components == 0
    assert permutation_test(FAMD(), table, n_resamples=99, random_state=0).n_components == 1


def test_weights_repeat_rows():
    weights = np.random.default_rng(0).integers(0, 3, len(TABLE))
    options = {"n_resamples": 5, "alpha": 0.5, "random_state": 0}
    found = permutation_test(FAMD(), TABLE, sample_weight=weights, **options)
    repeated = permutation_test(FAMD(), TABLE.iloc[np.repeat(np.arange(len(TABLE)), weights)], **options)
    np.testing.assert_allclose(found.null, repeated.null, rtol=1e-9)


def test_files_and_blocks(tmp_path):
    TABLE.assign(count=2).to_csv(tmp_path / "table.csv", index=False)
    options = {"n_resamples": 3, "alpha": 0.5, "random_state": 0}
    expected = permutation_test(FAMD(), TABLE, sample_weight=np.full(len(TABLE), 2), **options)
    found = permutation_test(FAMD(), tmp_path / "table.csv", sample_weight="count", **options)
    np.testing.assert_allclose(found.null, expected.null, rtol=1e-9)
    expected = permutation_test(FAMD(), TABLE, **options)
    found = permutation_test(FAMD(), [TABLE[:30], TABLE[30:]], **options)
    np.testing.assert_allclose(found.null, expected.null, rtol=1e-9)


def test_bad_input_is_refused():
    with pytest.raises(TypeError, match=r"CA has no permutation test.*p_value_"):
        permutation_test(CA(), np.ones((4, 3)))
    with pytest.raises(ValueError, match="at least 3"):
        permutation_test(FAMD(), TABLE[["c", "b"]][:2])
