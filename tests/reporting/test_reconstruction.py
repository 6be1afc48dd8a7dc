"""Rebuilding: rows from components, against `inverse_transform`, and errors, against the rows themselves."""

import numpy as np
import pytest

from lowdim import PCA
from reporting.tables import charts, clusters, named, pictures, prose, section_of, values

X, GROUPS = clusters(300)


def _section(rows, **options):
    return section_of(rows, "rebuilding", **options)


def _shown(section):
    """The components (K, p), the rows that are shown and their scores."""
    shown = values(section)
    n, p = len(shown["labels"]), len(shown["columns"])
    return shown["components"].reshape(-1, p), shown["rows"].reshape(n, p), shown["scores"].reshape(n, -1)


def _rebuilt(section, k):
    """What the page makes of k components."""
    shown, (W, _, Z) = values(section), _shown(section)
    rebuilt = Z[:, :k] @ W[:k]
    return shown["mean"] + (rebuilt if shown["scale"] is None else rebuilt * shown["scale"])


def _chosen(section):
    """The places of the rows that are shown, and why."""
    notes = {name.partition(" (")[0]: name.partition(" (")[2] for name in values(section)["labels"]}
    return {int(name.removeprefix("row ")) - 1: note.removesuffix(")") for name, note in notes.items()}


@pytest.mark.parametrize("scale", [False, True])
def test_rows_are_rebuilt_as_the_model_does(scale):
    section = _section(X, hue=GROUPS, n_components=2, scale=scale)
    numbers = list(_chosen(section))
    _, rows, found = _shown(section)
    np.testing.assert_allclose(rows, X[numbers], rtol=1e-6)
    model = PCA(scale=scale).fit(named(X))
    scores = np.asarray(model.transform(named(X[numbers])))
    np.testing.assert_allclose(found, scores, atol=1e-5)
    for k in (0, 2, 6):
        kept = np.where(np.arange(scores.shape[1]) < k, scores, 0.0)
        np.testing.assert_allclose(_rebuilt(section, k), model.inverse_transform(kept), atol=1e-5)
    np.testing.assert_allclose(_rebuilt(section, 6), X[numbers], atol=1e-5)


def test_what_is_lost_is_what_is_lost_of_the_rows():
    chart = charts(_section(X, n_components=2, scale=False))["rebuilding-error"]
    lost, off_by = (chart.table[name] for name in chart.table)
    np.testing.assert_array_equal(chart.data[0]["y"], lost)
    centred, W = X - X.mean(axis=0), PCA().fit(X).components_
    for k in range(7):
        rest = centred - centred @ W[:k].T @ W[:k]
        np.testing.assert_allclose(lost[k], (rest**2).sum() / (centred**2).sum(), atol=1e-12)
        # The variances have the divisor n - 1.
        np.testing.assert_allclose(off_by[k] ** 2, (rest**2).mean() * 300 / 299, atol=1e-12)


def test_pictures_have_all_their_pixels():
    rows = pictures() + 2.0
    section = _section(rows, n_components=4)
    shown, (W, entries, _) = values(section), _shown(section)
    assert shown["shape"] == [6, 9] and len(shown["columns"]) == 54 and not W[:, rows.std(axis=0) == 0].any()
    numbers = list(_chosen(section))
    np.testing.assert_allclose(entries, rows[numbers], rtol=1e-6)
    np.testing.assert_allclose(_rebuilt(section, len(W)), rows[numbers], atol=1e-5)
    assert (shown["low"], shown["high"]) == (rows.min(), rows.max())
    rest = rows - rows.mean(axis=0)
    rest = rest - rest @ W[:4].T @ W[:4]
    off_by = charts(section)["rebuilding-error"].table["root mean square difference of an entry"]
    np.testing.assert_allclose(off_by[4] ** 2, (rest**2).mean() * 300 / 299, rtol=1e-5)
    assert "a typical pixel is off by" in prose(section)


def _kept(k):
    """The share of the squared distance of each row from the mean that k components keep."""
    Z = PCA().fit_transform(X) ** 2
    return Z[:, :k].sum(axis=1) / Z.sum(axis=1)


def test_typical_best_and_worst_rows_are_chosen():
    section = _section(X, hue=GROUPS, n_components=2, scale=False)
    chosen = _chosen(section)
    typical = [row for row, why in chosen.items() if "typical" in why]
    assert sorted(GROUPS[typical]) == ["ash", "beech", "cedar"]
    order = np.argsort(_kept(2))
    worst, best = set(order[:4].tolist()), set(order[-4:].tolist())
    assert worst | best <= set(chosen)
    assert {row for row, why in chosen.items() if "worst" in why} <= worst
    assert {row for row, why in chosen.items() if "best" in why} <= best
    assert all(why.startswith(GROUPS[row]) for row, why in chosen.items())
    whole = _chosen(_section(X, n_components=2))
    assert list(whole.values()).count("") == 10


def test_a_typical_row_is_near_the_mean_of_its_group():
    section = _section(X, hue=GROUPS, n_components=2, scale=False)
    Z = PCA().fit_transform(X)
    Z = Z / Z.std(axis=0)
    for row, why in _chosen(section).items():
        if "typical" in why:
            members = GROUPS[row] == GROUPS
            distances = ((Z[members] - Z[members].mean(axis=0)) ** 2).sum(axis=1)
            assert np.isclose(distances.min(), ((Z[row] - Z[members].mean(axis=0)) ** 2).sum())


def test_wide_tables_have_fewer_components():
    # A page holds at most 300,000 entries of components.
    rows = np.random.default_rng(0).standard_normal((60, 7000))
    section = _section(rows, n_components=2, scale=False, image_shape=False)
    assert _shown(section)[0].shape == (42, 7000)
    assert len(charts(section)["rebuilding-error"].table) == 43


def test_words_and_table_follow_from_the_numbers():
    section = _section(X, n_components=2, scale=False)
    shares = PCA().fit(X).explained_variance_ratio_
    assert f"With 2 components, {shares[:2].sum():.1%} of the variance is kept." in prose(section)
    table = charts(section)["rebuilding-error"].table
    np.testing.assert_allclose(table["share lost"], [1.0, *(1 - np.cumsum(shares))], atol=1e-12)


def test_no_section_without_two_columns():
    with pytest.raises(ValueError, match="at least 2 columns"):
        _section(X[:, :1])
