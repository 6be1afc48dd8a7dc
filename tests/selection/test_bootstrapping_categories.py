"""Bootstrap intervals of models of tables with categories, against fits to drawn rows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from lowdim import CA, FAMD, MCA, MFA, bootstrap
from selection.categories_drawn import MODELS, related, with_missing

pd = pytest.importorskip("pandas", reason="pandas is not installed")
pytest.importorskip("pyarrow", reason="pyarrow is not installed")
TABLE = with_missing(related(120))


@pytest.mark.parametrize("kind", ["row", "block"])
@pytest.mark.parametrize("name", list(MODELS))
def test_draws_are_fits_of_rows_counted_so_often(name, kind):
    model, n = MODELS[name], len(TABLE)
    blocks = {"n_blocks": n} if kind == "block" else {}
    draws = bootstrap(model, TABLE, n_resamples=3, kind=kind, random_state=3, **blocks)
    counts = np.random.RandomState(3).multinomial(n, np.full(n, 1 / n), size=3)
    whole = clone(model).fit(TABLE)
    for statistic, value in draws.estimates.items():
        np.testing.assert_allclose(value, getattr(whole, f"{statistic}_"), rtol=1e-8, atol=1e-10)
    for b in range(3):
        fit = clone(model).fit(TABLE.iloc[np.repeat(np.arange(n), counts[b])])
        for statistic in ("explained_variance", "explained_variance_ratio"):
            np.testing.assert_allclose(draws.replicates[statistic][b], getattr(fit, f"{statistic}_"), rtol=1e-8)
        for statistic in ("loadings", "coordinates"):
            # In another order, or with other signs, if that is more similar to those of all rows.
            found, own = draws.replicates[statistic][b], getattr(fit, f"{statistic}_")
            np.testing.assert_allclose(found**2 @ np.ones(2), own**2 @ np.ones(2), rtol=1e-7, atol=1e-10)


def test_intervals_of_coordinates_contain_those_of_many_rows():
    """The coordinates of 200,000 rows of the same kind; of eight entries that matter, nearly all."""
    wanted = FAMD(1).fit(related(200_000, seed=9)).coordinates_[:, 0]
    found = bootstrap(FAMD(1), related(400, seed=4), n_resamples=300, random_state=0)
    low, high = found.interval("coordinates", 0.99)[..., 0]
    wanted = wanted * np.sign(wanted @ found.estimates["coordinates"][:, 0])
    assert np.count_nonzero((low <= wanted) & (wanted <= high)) >= len(wanted) - 1


def test_the_error_of_the_first_eigenvalue_is_that_of_new_tables():
    model = MCA(1, supplementary=["c", "d", "f"])
    values = [model.fit(related(150, seed)).explained_variance_[0] for seed in range(150)]
    errors = [
        bootstrap(model, related(150, seed), n_resamples=100, random_state=0).standard_error("explained_variance")[0]
        for seed in range(8)
    ]
    np.testing.assert_allclose(np.mean(errors), np.std(values), rtol=0.3)


def test_a_level_without_rows_in_a_sample_is_left_out_there():
    table = related(60)
    table.loc[7, "e"] = "alone"
    found = bootstrap(FAMD(2), table, n_resamples=60, random_state=0)
    j = found.labels["coordinates"][0].index("e=alone")
    without = np.isnan(found.replicates["coordinates"][:, j]).all(axis=1)
    # A row is in about 63% of the samples.
    assert 10 < np.count_nonzero(without) < 35
    for name in ("coordinates", "loadings", "explained_variance"):
        assert np.all(np.isfinite(found.standard_error(name)))
        assert np.all(np.isfinite(found.interval(name)))
    there = found.replicates["coordinates"][~without, j]
    np.testing.assert_allclose(found.standard_error("coordinates")[j], there.std(axis=0, ddof=1))
    np.testing.assert_allclose(found.bias("coordinates")[j], there.mean(axis=0) - found.estimates["coordinates"][j])
    np.testing.assert_allclose(found.interval("coordinates")[:, j], np.quantile(there, [0.025, 0.975], axis=0))


def test_all_components_although_samples_have_fewer():
    table = related(40)[["a", "b", "e"]]
    table.loc[7, "e"] = "alone"
    found = bootstrap(MCA(), table, n_resamples=20, random_state=0)
    assert found.replicates["explained_variance"].shape == (20, 6)


def test_files_streams_groups_and_weights(tmp_path):
    table = TABLE.assign(patient=np.repeat(np.arange(30), 4))
    table.to_csv(tmp_path / "table.csv", index=False)
    table.to_parquet(tmp_path / "table.parquet", row_group_size=40)
    options = {"n_resamples": 4, "random_state": 0}
    model = FAMD(2)
    expected = bootstrap(model, TABLE, groups=table["patient"].to_numpy(), **options)
    assert expected.kind == "groups"
    for X in (table, tmp_path / "table.csv", tmp_path / "table.parquet"):
        found = bootstrap(model, X, groups="patient", **options)
        np.testing.assert_allclose(found.replicates["coordinates"], expected.replicates["coordinates"], rtol=1e-7)
    expected = bootstrap(model, TABLE, kind="block", n_blocks=30, **options)
    for X in (lambda: iter([TABLE[:50], TABLE[50:]]), [TABLE[:50], TABLE[50:]]):
        found = bootstrap(model, X, kind="block", n_blocks=30, **options)
        np.testing.assert_allclose(found.replicates["coordinates"], expected.replicates["coordinates"], rtol=1e-7)
    with pytest.raises(ValueError, match=r"groups='patient' is the name of a column, and columns of blocks"):
        bootstrap(model, [table[:50], table[50:]], groups="patient", **options)
    weights = np.random.default_rng(0).integers(0, 3, len(TABLE))
    rows = bootstrap(model, TABLE, sample_weight=weights, **options)
    repeated = bootstrap(model, TABLE.iloc[np.repeat(np.arange(len(TABLE)), weights)], **options)
    np.testing.assert_allclose(rows.estimates["loadings"], repeated.estimates["loadings"], rtol=1e-8, atol=1e-10)


def test_groups_of_columns_from_their_names():
    named = related(60)
    named.columns = pd.MultiIndex.from_tuples([("x", "a"), ("y", "b"), ("x", "c"), ("y", "d"), ("z", "e"), ("z", "f")])
    found = bootstrap(MFA(2), named, n_resamples=3, random_state=0)
    np.testing.assert_allclose(found.estimates["explained_variance"], MFA(2).fit(named).explained_variance_)


@pytest.mark.filterwarnings("ignore::lowdim.errors.SmallSampleWarning")
def test_fewer_rows_than_coded_columns():
    table = related(9)
    assert bootstrap(FAMD(2), table, n_resamples=5, random_state=0).kind == "row"
    assert bootstrap(FAMD(2), table, n_resamples=5, random_state=0, kind="block", n_blocks=9).kind == "block"


def test_tables_of_counts_are_refused():
    with pytest.raises(TypeError, match=r"CA cannot be bootstrapped here.*Pass MCA and the two columns"):
        bootstrap(CA(), np.ones((4, 3)))
