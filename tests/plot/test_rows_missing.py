"""Missing entries with intervals, against impute."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text
from scipy import stats

from lowdim import PPCA, FactorAnalysis

RNG = np.random.default_rng(0)
FULL = pd.DataFrame(RNG.standard_normal((50, 2)) @ RNG.standard_normal((2, 4)) * 10 + 100.0, columns=list("abcd"))
FULL += RNG.standard_normal(FULL.shape)
X = FULL.mask(np.arange(200).reshape(50, 4) % 7 == 0)


@pytest.mark.parametrize("model", [PPCA(2), FactorAnalysis(1)], ids=["PPCA", "FA"])
@pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")
def test_imputed_entries_of_one_column_in_its_own_units(model):
    model.fit(X)
    ax = model.plot.missing(X, "b", confidence_level=0.8)
    filled, deviation = (np.asarray(table)[:, 1] for table in model.impute(X, return_std=True))
    missing = X["b"].isna().to_numpy()
    (container,) = ax.containers
    line, _, (bars,) = container
    np.testing.assert_allclose(line.get_ydata(), filled[missing])
    lengths = np.array([np.ptp(segment[:, 1]) for segment in bars.get_segments()])
    np.testing.assert_allclose(lengths, 2 * stats.norm.ppf(0.9) * deviation[missing])
    observed = np.asarray(ax.collections[0].get_offsets())[:, 1]
    np.testing.assert_allclose(np.sort(observed), np.sort(X["b"].dropna()))
    assert ax.get_ylabel() == "value"


def test_several_columns_in_standard_deviations():
    ax = PPCA(2).fit(X).plot.missing(X)
    assert [text.get_text() for text in ax.get_xticklabels()] == list("abcd")
    for points in [found for found in ax.collections if hasattr(found, "get_sizes") and len(found.get_offsets()) > 10]:
        observed = np.asarray(points.get_offsets())[:, 1]
        np.testing.assert_allclose([observed.mean(), observed.std()], [0.0, 1.0], atol=1e-9)


def test_many_missing_entries_are_thinned_out():
    rows = RNG.standard_normal((400, 20)) @ np.diag(np.arange(1.0, 21))
    rows[RNG.random(rows.shape) < 0.2] = np.nan
    ax = PPCA(1).fit(rows).plot.missing(rows)
    drawn = sum(len(container[0].get_ydata()) for container in ax.containers)
    assert drawn == 15 * (120 // 15)
    note = ax.get_title(loc="right")
    assert "15 of 20 columns" in note and "120 of " in note


def test_columns_without_missing_entries_are_left_out_and_the_note_says_so():
    rows = X.assign(a=X["a"].fillna(0.0))
    ax = PPCA(2).fit(rows).plot.missing(rows)
    assert [text.get_text() for text in ax.get_xticklabels()] == list("bcd")
    assert ax.get_title(loc="right") == "3 of 4 columns have missing entries"


def test_the_note_and_the_legend_do_not_overlap():
    rows = np.where(RNG.random((400, 20)) < 0.2, np.nan, RNG.standard_normal((400, 20)))
    ax = PPCA(1).fit(rows).plot.missing(rows)
    ax.figure.draw_without_rendering()
    (note,) = [text for text in ax.findobj(Text) if "drawn at random" in text.get_text()]
    assert not note.get_window_extent().overlaps(ax.get_legend().get_window_extent())


def test_nothing_to_draw_and_unknown_columns():
    model = PPCA(2).fit(X)
    with pytest.raises(ValueError, match="X has no missing entries"):
        model.plot.missing(FULL)
    with pytest.raises(ValueError, match="there is no column 'z'; the columns are 'a', 'b', 'c', 'd'"):
        model.plot.missing(X, "z")
    with pytest.raises(ValueError, match="confidence_level=95"):
        model.plot.missing(X, confidence_level=95)
