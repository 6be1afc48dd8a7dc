"""Names of columns travel with a summary: taken from the rows, kept, saved, and compared before rows are added."""

import numpy as np
import pandas as pd
import pytest

from laws.summaries_drawn import CASES, empty, rows_of
from lowdim import (
    CCA,
    GCCA,
    PCA,
    PPCA,
    FactorAnalysis,
    PLSRegression,
    Whitening,
)
from lowdim.errors import names_difference
from lowdim.reading import summarize
from lowdim.summaries import Columns, Labelled, Moments, Triangle

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 4)) @ RNG.standard_normal((4, 4))
NAMES = ("a", "b", "c", "d")


def frame(names=NAMES, rows=X):
    return pd.DataFrame(rows, columns=list(names))


def test_summarize_takes_the_names_of_the_rows():
    for cls in (Moments, Triangle, Columns):
        assert summarize(frame(), cls).names == NAMES
        assert summarize(X, cls).names is None


def test_an_empty_summary_has_the_same_names_and_a_merged_one_takes_them():
    named = summarize(frame(), Moments)
    assert named.fresh().names == NAMES
    unnamed = summarize(X, Moments)
    unnamed.merge(named)
    assert unnamed.names == NAMES
    named.merge(summarize(X, Moments))
    assert named.names == NAMES
    assert named.n_rows == 120


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (("a", "b", "c", "z"), "missing: 'd'; not expected: 'z'"),
        (("a", "c", "b", "d"), "the same names in another order, where column 1 is 'c' instead of 'b'"),
    ],
)
def test_other_names_are_refused_and_change_nothing(other, message):
    summary, before = summarize(frame(), Moments), summarize(frame(), Moments)
    with pytest.raises(ValueError, match=message):
        summary.merge(summarize(frame(other), Moments))
    with pytest.raises(ValueError, match=message):
        summarize(frame(other), summary)
    assert (summary.n_rows, summary.names) == (60, NAMES)
    np.testing.assert_array_equal(summary.scatter, before.scatter)


def test_a_further_column_is_named_before_the_number_of_columns():
    wide = pd.DataFrame(np.hstack([X, X[:, :1]]), columns=[*NAMES, "e"])
    with pytest.raises(ValueError, match="not expected: 'e'"):
        summarize(frame(), Moments).merge(summarize(wide, Moments))
    with pytest.raises(ValueError, match="missing: 'e'"):
        summarize(wide, Moments).merge(summarize(frame(), Moments))


@pytest.mark.parametrize(
    ("expected", "got", "difference"),
    [
        (["a", "b"], ["a"], "missing: 'b'"),
        (["a"], ["a", "a"], "not expected: 'a'"),
        (["a", None], ["b", "a"], "missing: 'a'; not expected: 'b'"),
        (["a", None], ["a", "x", None], "not expected: a column without a name"),
        ([f"x{j}" for j in range(9)], ["y"] * 9, "missing: 'x0', 'x1', 'x2', 'x3', 'x4', 'x5' and 3 more; not exp"),
        (["", "b"], ["b", ""], "where column 0 is 'b' instead of ''"),
    ],
)
def test_the_difference_between_names(expected, got, difference):
    assert difference in names_difference(expected, got)


@pytest.mark.parametrize("label", sorted(CASES))
def test_every_summary_keeps_its_names(label, tmp_path):
    summary = empty(label)
    names = tuple(f"x{j}" for j in range(rows_of(label, X).shape[1]))
    summary.names = names
    assert summary.fresh().names == names
    summary.save(tmp_path / "summary")
    assert type(summary).load(tmp_path / "summary").names == names


def test_names_of_the_wrong_number_are_refused():
    with pytest.raises(ValueError, match="of 4 columns, and there are 2 names"):
        Moments(4).names = ("a", "b")
    for wrong in ("abcd", (1, 2, 3, 4)):
        with pytest.raises(TypeError, match="a sequence of texts"):
            Moments(4).names = wrong


def test_tables_side_by_side_have_the_names_of_all_columns():
    summary = PLSRegression(1).fit(frame(("a", "b"), X[:, :2]), frame(("u", "v"), X[:, 2:])).summary_
    assert (summary.names, summary.widths) == (("a", "b", "u", "v"), (2, 2))


def test_a_table_without_names_agrees_with_every_other(tmp_path):
    half = PLSRegression(1).fit(frame(("a", "b"), X[:, :2]), X[:, 2:]).summary_
    assert half.names == ("a", "b", None, None)
    half.save(tmp_path / "half")
    assert Moments.load(tmp_path / "half").names == half.names
    full = Moments(4, widths=(2, 2))
    full.names = ("a", "b", "u", "v")
    half.merge(full)
    assert half.names == full.names
    other = full.fresh()
    other.names = ("a", "x", None, None)
    with pytest.raises(ValueError, match="missing: 'b'; not expected: 'x'"):
        half.merge(other)


def test_parts_of_a_labelled_summary_have_the_names_of_the_rows():
    labelled = summarize(frame().assign(fold=np.repeat([0.0, 1.0], 30)), Labelled(Moments(4), [2]))
    assert labelled.names == (*NAMES, "fold")
    assert [part.names for part in labelled.parts[0]] == [NAMES, NAMES]
    both = labelled.parts[0][0]
    both.merge(labelled.parts[0][1])
    assert list(PCA(2).fit_summary(both).feature_names_in_) == list(NAMES)
    assert Labelled(summarize(frame(), Moments), [2]).fresh().parts[0][1].names == NAMES


@pytest.mark.parametrize("model", [PCA(2), Whitening(), PPCA(2), FactorAnalysis(1)], ids=lambda m: type(m).__name__)
@pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")
def test_a_model_of_a_summary_knows_the_names(model):
    model.fit_summary(summarize(frame(), Moments))
    assert list(model.feature_names_in_) == list(NAMES)
    with pytest.raises(ValueError, match="feature names should match"):
        model.transform(frame(reversed(NAMES)))
    model.fit_summary(summarize(X, Moments))
    assert not hasattr(model, "feature_names_in_")


@pytest.mark.parametrize("model", [CCA(1), PLSRegression(1), GCCA(1)], ids=lambda m: type(m).__name__)
def test_a_model_of_two_tables_knows_the_names_of_both(model):
    both = Moments(4, widths=(2, 2))
    both.names = ("a", "b", "u", "v")
    model.fit_summary(summarize(X, both))
    assert list(model.feature_names_in_) == ["a", "b"]
    if isinstance(model, GCCA):
        with pytest.raises(ValueError, match="table 1 has columns 'v', 'u'"):
            model.transform([frame(("a", "b"), X[:, :2]), frame(("v", "u"), X[:, 2:])])
    else:
        assert list(model.target_names_in_) == ["u", "v"]
    # A summary without names leaves none of an earlier fit behind.
    model.fit_summary(Moments.from_covariance(np.cov(X.T), 60, widths=(2, 2)))
    assert not hasattr(model, "feature_names_in_")
    assert not hasattr(model, "target_names_in_")


def test_partial_fit_goes_on_from_the_names_of_a_summary():
    pca = PCA(2).fit_summary(summarize(frame(), Moments))
    with pytest.raises(ValueError, match="feature names should match"):
        pca.partial_fit(frame(("a", "b", "d", "c")))
    pca.partial_fit(frame())
    assert (pca.n_samples_, pca.summary_.names) == (120, NAMES)
    assert list(pca.feature_names_in_) == list(NAMES)


def test_a_given_covariance_may_have_names():
    moments = Moments.from_covariance(np.cov(X.T), 60, names=NAMES)
    assert moments.names == NAMES
    with pytest.raises(ValueError, match="another order"):
        moments.merge(summarize(frame(reversed(NAMES)), Moments))
