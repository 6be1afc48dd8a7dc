"""Labels of rows, which are the index of pandas where it says more than the positions.

Tables with the same labels in another order are refused wherever rows belong together.
"""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.model_selection import train_test_split

import lowdim
from examples import MODELS, X, Y, make
from lowdim import CCA, GCCA, PCA, PLSRegression, bootstrap, choose_n_components, cross_validate, permutation_test

LABELS = [f"s{i}" for i in range(len(X))]
FRAME = pd.DataFrame(X, index=LABELS, columns=list("abcde"))
TARGETS = pd.DataFrame(Y, index=LABELS, columns=["u", "v", "w"])
WEIGHTS = pd.Series(np.ones(len(X)), index=LABELS)
#: The first two rows exchanged.
ORDER = np.r_[1, 0, 2 : len(X)]
TURNED = TARGETS.iloc[ORDER]

TWO_TABLES = [name for name, row in MODELS.items() if row.two_tables]


@pytest.mark.parametrize("name", TWO_TABLES)
def test_models_of_two_tables_refuse_another_order(name):
    message = r"row 0 is 's0' in X and 's1' in y\. .*y\.loc\[X\.index\]"
    with pytest.raises(ValueError, match=message):
        make(name).fit(FRAME, TURNED)
    with pytest.raises(ValueError, match=message):
        make(name).plan(FRAME, TURNED)
    model = make(name).fit(FRAME, TARGETS)
    aligned = make(name).fit(FRAME, TURNED.loc[FRAME.index])
    np.testing.assert_array_equal(model.transform(FRAME), aligned.transform(FRAME))
    if hasattr(model, "partial_fit"):
        with pytest.raises(ValueError, match=message):
            make(name).partial_fit(FRAME, TURNED)


def test_methods_of_two_tables():
    model = CCA(2).fit(FRAME, TARGETS)
    for method in ("transform", "score"):
        with pytest.raises(ValueError, match="another order"):
            getattr(model, method)(FRAME, TURNED)


def test_a_vector():
    with pytest.raises(ValueError, match="another order"):
        PLSRegression(1).fit(FRAME, TURNED["u"])
    PLSRegression(1).fit(FRAME, TARGETS["u"])


def test_several_tables():
    other = FRAME[["a", "b"]].iloc[ORDER]
    with pytest.raises(ValueError, match=r"table 0 and table 2 have the same row labels .* B\.loc\[A\.index\]"):
        GCCA(1).fit([FRAME[["a", "b"]], TARGETS, other])
    with pytest.raises(ValueError, match="table 0 and y "):
        GCCA(1).fit([FRAME[["a", "b"]], FRAME[["c", "d"]]], TURNED)


def test_weights():
    for call in (
        lambda w: PCA(2).fit(FRAME, sample_weight=w),
        lambda w: PCA(2).partial_fit(FRAME, sample_weight=w),
        lambda w: PLSRegression(2).fit(FRAME, TARGETS, sample_weight=w),
        lambda w: lowdim.reading.summarize(FRAME, lowdim.summaries.Moments, weights=w),
        lambda w: choose_n_components(FRAME, "bic", sample_weight=w),
        lambda w: GCCA(1).fit([FRAME, TARGETS], sample_weight=w),
    ):
        call(WEIGHTS)
        with pytest.raises(ValueError, match=r"(sample_weight|weights)\.loc\[X\.index\]|B\.loc"):
            call(WEIGHTS.iloc[ORDER])


def test_folds_and_groups():
    labels = pd.Series(np.arange(len(X)) % 4, index=LABELS)
    model = PLSRegression(1)
    cross_validate(model, FRAME, TARGETS, cv=labels)
    with pytest.raises(ValueError, match=r"cv\.loc\[X\.index\]"):
        cross_validate(model, FRAME, TARGETS, cv=labels.iloc[ORDER])
    with pytest.raises(ValueError, match=r"y\.loc\[X\.index\]"):
        cross_validate(model, FRAME, TURNED, cv=4)
    with pytest.raises(ValueError, match=r"groups\.loc\[X\.index\]"):
        bootstrap(model, FRAME, TARGETS, groups=labels.iloc[ORDER], n_resamples=5)
    with pytest.raises(ValueError, match=r"y\.loc\[X\.index\]"):
        permutation_test(CCA(1), FRAME, TURNED, n_resamples=20)


def test_y_that_is_not_used_is_not_looked_at():
    PCA(2).fit(FRAME, TURNED["u"])
    PCA(2).fit_transform(FRAME, TURNED["u"])


@pytest.mark.parametrize(
    "other",
    [
        TARGETS.reset_index(drop=True),
        TARGETS.set_axis(range(len(X))[::-1]).iloc[::-1],
        TARGETS.set_axis([f"t{i}" for i in range(len(X))]),
        TARGETS.set_axis(["same"] * len(X)),
        TURNED.set_axis([LABELS[1], *LABELS[1:]]),
        TURNED.to_numpy(),
        pl.from_pandas(TURNED),
    ],
    ids=["default index", "default again", "other labels", "repeated", "one repeated", "array", "polars"],
)
def test_other_differences_say_nothing(other):
    PLSRegression(1).fit(FRAME, other)


def test_a_default_index_counts_as_no_labels():
    """It is also that of rows that were computed from labelled ones: then the positions are right."""
    numbered = TARGETS.set_axis(np.random.default_rng(0).permutation(len(X)))
    PLSRegression(1).fit(FRAME.reset_index(drop=True), numbered)
    PLSRegression(1).fit(FRAME.set_axis(numbered.index), TARGETS.reset_index(drop=True))


def test_split_tables_keep_their_labels_and_are_fine():
    a, _, b, _ = train_test_split(FRAME, TARGETS, random_state=0)
    PLSRegression(1).fit(a, b)
    with pytest.raises(ValueError, match="another order"):
        PLSRegression(1).fit(a.sort_index(), b)


def test_labels_of_several_levels_and_dates():
    levels = pd.MultiIndex.from_arrays([np.arange(90) // 10, np.arange(90) % 10])
    days = pd.date_range("2020-01-01", periods=90)
    for index in (levels, days):
        first, second = FRAME.set_axis(index), TARGETS.set_axis(index)
        PLSRegression(1).fit(first, second)
        with pytest.raises(ValueError, match="another order"):
            PLSRegression(1).fit(first, second.iloc[ORDER])


@pytest.mark.parametrize("missing", [np.nan, pd.NA, None])
def test_labels_that_do_not_equal_themselves(missing):
    first = pd.DataFrame({"a": [1.0, 2.0, 4.0]}, index=pd.Index([missing, "b", "c"], dtype=object))
    with pytest.raises(ValueError, match="row 1 is 'b' in X and 'c' in y"):
        PLSRegression(1).fit(first, first["a"].iloc[[0, 2, 1]])
    PLSRegression(1).fit(first, first["a"].copy())


def test_the_same_instants_in_another_time_zone():
    times = pd.date_range("2020-01-01", periods=3, tz="UTC")
    first = pd.DataFrame({"a": [1.0, 2.0, 4.0]}, index=times)
    PLSRegression(1).fit(first, first["a"].set_axis(times.tz_convert("Asia/Tokyo")))


# ---- The index of pandas where it says more than the positions

ROWS = np.arange(6.0).reshape(3, 2) ** 2


def index_of_scores(rows):
    """The index of the scores of rows, as a data frame of pandas."""
    return PCA(1).set_output(transform="pandas").fit(rows()).transform(rows()).index


@pytest.mark.parametrize(
    "index",
    [
        pd.Index(["a", "b", "c"], name="city"),
        pd.Index([7, 3, 3]),
        pd.RangeIndex(1, 4),
        pd.RangeIndex(0, 6, 2),
        pd.RangeIndex(3, name="id"),
        pd.date_range("2024-01-01", periods=3),
        pd.MultiIndex.from_product([["a"], [1, 2, 3]]),
    ],
    ids=str,
)
def test_an_index_that_says_more_than_positions_is_kept_as_it_is(index):
    frame = pd.DataFrame(ROWS, index=index, columns=["a", "b"])
    pd.testing.assert_index_equal(index_of_scores(lambda: frame), index, exact=True)
    lowdim.reading.summarize(frame, lowdim.summaries.Moments, weights=frame["b"])
    if index.is_unique:
        with pytest.raises(ValueError, match="another order"):
            lowdim.reading.summarize(frame, lowdim.summaries.Moments, weights=frame["b"].iloc[[1, 0, 2]])


def test_everything_else_has_no_labels(tmp_path):
    frame = pd.DataFrame(ROWS, columns=["a", "b"])
    frame.to_parquet(tmp_path / "rows.parquet")
    frame.to_csv(tmp_path / "rows.csv", index=False)
    others = [
        lambda: frame,
        lambda: ROWS,
        lambda: ROWS.tolist(),
        lambda: sparse.csr_array(ROWS),
        lambda: pl.DataFrame(ROWS),
        lambda: pa.table({"a": ROWS[:, 0], "b": ROWS[:, 1]}),
        lambda: iter([ROWS]),
        lambda: str(tmp_path / "rows.csv"),
        lambda: lowdim.scan(tmp_path / "rows.parquet"),
    ]
    for rows in others:
        pd.testing.assert_index_equal(index_of_scores(rows), pd.RangeIndex(3), exact=True)
    lowdim.reading.summarize(frame, lowdim.summaries.Moments, weights=frame["b"].iloc[[1, 0, 2]])
    lowdim.reading.summarize(frame.set_axis(list("xyz")), lowdim.summaries.Moments, weights=frame["b"])
