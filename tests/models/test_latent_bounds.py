"""Bounds of missing values: truncated normal distributions, draws within the bounds, and a warning without them."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats

from lowdim import PPCA, FactorAnalysis
from lowdim.errors import ImputedRangeWarning

RNG = np.random.default_rng(2)
FACTOR = RNG.standard_normal((300, 1))
COMPLETE = np.exp(FACTOR @ [[0.8, 0.7, 0.6, 0.9]] + 0.4 * RNG.standard_normal((300, 4)))
X = np.where(RNG.random(COMPLETE.shape) < 0.15, np.nan, COMPLETE)
ABSENT = np.isnan(X)
quietly = pytest.mark.filterwarnings("ignore::lowdim.errors.ImputedRangeWarning")


@quietly
@pytest.mark.parametrize("model", [PPCA(2), FactorAnalysis(1), PPCA(2, prior="vb")], ids=["ppca", "factors", "vb"])
@pytest.mark.parametrize("ends", [(0.0, None), (None, 1.0), (0.0, 1.5), (-1e3, 1e3), (30.0, None), (None, -30.0)])
def test_expectations_and_deviations_are_those_of_truncated_normals(model, ends):
    model.fit(X)
    mean, sd = model.impute(X, return_std=True)
    filled, spread = model.impute(X, return_std=True, lower=ends[0], upper=ends[1])
    low, high = (-np.inf if ends[0] is None else ends[0]), (np.inf if ends[1] is None else ends[1])
    m, s = mean[ABSENT], sd[ABSENT]
    truth = stats.truncnorm((low - m) / s, (high - m) / s, m, s)
    np.testing.assert_allclose(filled[ABSENT], truth.mean(), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(spread[ABSENT], truth.std(), rtol=1e-4, atol=1e-7)
    assert np.all((filled[ABSENT] >= low) & (filled[ABSENT] <= high))
    np.testing.assert_array_equal(filled[~ABSENT], X[~ABSENT])
    rows, columns = np.nonzero(ABSENT)
    at, at_sd = model.impute_at(X, rows, columns, return_std=True, lower=ends[0], upper=ends[1])
    np.testing.assert_allclose(at, filled[ABSENT], rtol=1e-12)
    np.testing.assert_allclose(at_sd, spread[ABSENT], rtol=1e-5)


@quietly
def test_bounds_by_column_and_by_name(tmp_path):
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = PPCA(2).fit(frame)
    named = model.impute(frame, lower={"b": 0.0}, upper={"b": 2.0, "d": 1.0})
    listed = model.impute(frame, lower=[np.nan, 0.0, np.nan, np.nan], upper=[np.nan, 2.0, np.nan, 1.0])
    np.testing.assert_array_equal(named, listed)
    plain = model.impute(frame)
    np.testing.assert_array_equal(named[:, [0, 2]], plain[:, [0, 2]])
    assert named[ABSENT[:, 1], 1].min() >= 0 and named[ABSENT[:, 3], 3].max() <= 1
    model.impute_to(frame, tmp_path / "filled.csv", lower={"b": 0.0}, upper={"b": 2.0, "d": 1.0})
    np.testing.assert_allclose(pd.read_csv(tmp_path / "filled.csv"), named)


@quietly
def test_draws_are_within_the_bounds():
    model = PPCA(2).fit(X)
    draws = model.impute(X, n_draws=20, lower=0.0, upper=3.0, random_state=0)
    assert np.all((draws[:, ABSENT] >= 0.0) & (draws[:, ABSENT] <= 3.0))
    assert np.all(draws[:, ~ABSENT] == X[~ABSENT])
    # Bounds that no draw reaches by itself.
    far = model.impute(X, n_draws=3, lower=100.0, random_state=0)
    assert np.all(far[:, ABSENT] >= 100.0)
    # Without an entry outside, the draws are the same as without bounds.
    np.testing.assert_array_equal(
        model.impute(X, n_draws=2, lower=-1e6, random_state=0), model.impute(X, n_draws=2, random_state=0)
    )
    for options in ({"refit": True}, {}):
        other = (PPCA(2) if options else PPCA(2, prior="vb")).fit(X)
        assert other.impute(X, n_draws=2, lower=0.0, **options)[:, ABSENT].min() >= 0.0


@quietly
def test_draws_of_one_entry_have_the_moments_of_the_truncated_normal():
    model = PPCA(2).fit(X)
    row = X[~ABSENT.any(axis=1)][:1].copy()
    row[0, 1] = np.nan
    mean, sd = model.impute(row, return_std=True, lower=1.0)
    draws = model.impute(np.repeat(row, 20_000, axis=0), n_draws=1, lower=1.0, random_state=0)[0, :, 1]
    assert draws.mean() == pytest.approx(mean[0, 1], abs=5 * sd[0, 1] / np.sqrt(20_000))
    assert draws.std() == pytest.approx(sd[0, 1], rel=0.03)


def test_a_warning_names_columns_that_should_not_be_negative(tmp_path):
    frame = pd.DataFrame(X, columns=["a", "b", "c", "life span"])
    frame["shifted"] = frame["life span"] - 2.0
    model = PPCA(2).fit(frame)
    message = r"\d+ missing values of .*life span.* were filled in below zero"
    with pytest.warns(ImputedRangeWarning, match=message) as caught:
        filled = model.impute(frame)
    assert len(caught) == 1 and "lower=0" in str(caught[0].message)
    assert "shifted" not in str(caught[0].message)
    below = (np.asarray(filled) < 0) & np.isnan(frame.to_numpy())
    assert str(caught[0].message).startswith(f"{below[:, :4].sum()} missing values")
    with pytest.warns(ImputedRangeWarning):
        model.impute_to(frame, tmp_path / "filled.csv")
    # With bounds for any of the columns, the user has thought about them.
    model.impute(frame, lower={"life span": 0})
    PPCA(2).fit(X + 50).impute(X + 50)


def test_refusals():
    model = PPCA(1).fit(X + 50)
    with pytest.raises(ValueError, match="lower must be below upper, got 2 and 1 for x1"):
        model.impute(X, lower=2.0, upper=1.0)
    with pytest.raises(ValueError, match="lower must be a number, one for each of 4 columns, or a dict"):
        model.impute(X, lower=[1.0, 2.0])
    with pytest.raises(ValueError, match="upper names 'e', which is not one of the 4 columns"):
        model.impute(X, upper={"e": 1.0})


@quietly
def test_entries_that_are_not_stored():
    stored = sparse.csr_array(np.nan_to_num(X))
    found = PPCA(1, missing="unstored").fit(stored).impute(stored, lower=0.5)
    assert np.all(np.asarray(found)[ABSENT] >= 0.5)


@pytest.mark.parametrize("away", [40.0, 200.0, 3000.0])
def test_bounds_far_from_the_mean(away):
    """Probabilities beyond 38 standard deviations underflow. The tail of a normal distribution from b standard
    deviations on has mean b + 1 / b - 2 / b^3 and variance 1 / b^2 - 6 / b^4, up to terms of higher order."""
    rows = np.outer(np.linspace(-1.0, 1.0, 41), [1.0, 2.0, -1.0]) + 1e-3 * RNG.standard_normal((41, 3))
    rows[7, 0] = np.nan
    model = PPCA(1).fit(rows)
    filled, sd = (found[7, 0] for found in model.impute(rows, return_std=True))
    lower = filled + away * sd
    _, spread = (found[7, 0] for found in model.impute(rows, return_std=True, lower=lower))
    assert spread == pytest.approx(sd / away * (1 - 3 / away**2), rel=1e-4)
    drawn = model.impute(rows, lower=lower, upper=lower + 1.0, n_draws=200, random_state=0)[:, 7, 0]
    assert np.all((drawn >= lower) & (drawn < lower + 12 * sd / away))
    assert np.mean(drawn) == pytest.approx(lower + sd / away, abs=0.3 * sd / away)


@quietly
def test_bounds_by_name_whatever_holds_them():
    table = pd.DataFrame(X, columns=[900, 902.5, 905, 907.5])
    model = PPCA(1).fit(table)
    expected = model.impute(table, lower=[2.0, np.nan, 1.0, np.nan])
    for lower in ({900: 2.0, 905: 1.0}, {"900.0": 2.0, 905.0: 1.0}, pd.Series({905: 1.0, 900: 2.0})):
        np.testing.assert_array_equal(model.impute(table, lower=lower), expected)
