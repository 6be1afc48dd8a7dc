"""Columns by their names: what is replaced, what is left alone, and how the columns are read."""

import numpy as np
import pytest

import lowdim
from lowdim import PLSRegression, cross_validate
from lowdim.reading import summarize
from lowdim.sources import open_source
from lowdim.summaries import Moments

pa = pytest.importorskip("pyarrow")
pandas = pytest.importorskip("pandas")
RNG = np.random.default_rng(0)
FRAME = pandas.DataFrame(RNG.standard_normal((12, 4)), columns=["a", "b", "y", "w"]).assign(w=1.0 + np.arange(12) % 3)
TABLE = pa.Table.from_pandas(FRAME, preserve_index=False)


def fitted(X, y, **options):
    return PLSRegression(1).fit(X, y, **options)


def same(found, expected):
    """Whether two regressions are of the same columns, and have the same coefficients."""
    assert list(found.feature_names_in_) == list(expected.feature_names_in_)
    assert found.coef_.shape == expected.coef_.shape
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-12)


def test_nothing_is_opened_without_names():
    """A stream that can be read once would have lost its first block."""
    y, weights = np.asarray(FRAME["y"]), np.asarray(FRAME["w"])
    expected = fitted(FRAME.to_numpy(), y, sample_weight=weights).coef_
    for X in (FRAME, TABLE, iter([FRAME[:2], FRAME[2:]]), TABLE.to_reader(max_chunksize=5), iter([FRAME.to_numpy()])):
        np.testing.assert_allclose(fitted(X, y, sample_weight=weights).coef_, expected, rtol=1e-12)
    folds = [
        cross_validate(PLSRegression(1), X, y, cv=5, groups=None, sample_weight=weights).per_split
        for X in (FRAME, FRAME.to_numpy())
    ]
    np.testing.assert_allclose(*folds, rtol=1e-12)
    assert lowdim.plan(PLSRegression(1), (5, 4), (5, 1)).passes == 1
    with pytest.raises(FileNotFoundError, match="there is no file no such file"):
        fitted("no such file", y)


def test_columns_in_place_of_names():
    found = fitted(FRAME, "y", sample_weight="w")
    same(found, fitted(FRAME[["a", "b"]], FRAME["y"], sample_weight=FRAME["w"]))
    assert list(found.target_names_in_) == ["y"]
    assert found.predict(FRAME[["a", "b"]]).shape == (12,)
    found = fitted(FRAME, ["w", "y"])
    same(found, fitted(FRAME[["a", "b"]], FRAME[["w", "y"]]))
    assert list(found.target_names_in_) == ["w", "y"]
    assert found.predict(FRAME[["a", "b"]]).shape == (12, 2)


def test_what_a_fitted_model_wants_is_taken():
    model = fitted(FRAME[["b"]], FRAME["y"])
    assert model.score(FRAME, "y") == pytest.approx(model.score(FRAME[["b"]], FRAME["y"]), rel=1e-12)


def test_a_response_that_is_held():
    one, two = fitted(FRAME[["a", "b"]], FRAME["y"]), fitted(FRAME[["a", "b"]], FRAME[["y", "w"]])
    for X in (FRAME, TABLE, TABLE.to_batches()[0], lambda: iter([FRAME[:2], FRAME[2:]])):
        assert one.score(X, "y") == pytest.approx(one.score(FRAME[["a", "b"]], FRAME["y"]), rel=1e-12)
        assert two.score(X, ["y", "w"]) == pytest.approx(two.score(FRAME[["a", "b"]], FRAME[["y", "w"]]), rel=1e-12)


def test_columns_of_a_stream_that_can_be_read_once():
    same(fitted(TABLE.to_reader(max_chunksize=2), "y"), fitted(FRAME[["a", "b", "w"]], FRAME["y"]))
    for X in (TABLE.to_reader(), iter([FRAME])):
        with pytest.raises(ValueError, match="for the column 'w', which is read before the rows"):
            fitted(X, "y", sample_weight="w")


def test_a_source_with_names_is_a_table():
    same(fitted(open_source(FRAME), "y"), fitted(FRAME[["a", "b", "w"]], FRAME["y"]))
    found = summarize(open_source(FRAME), Moments, weights="w")
    assert found.names == ("a", "b", "y")
    np.testing.assert_allclose(found.mean, np.average(FRAME[["a", "b", "y"]], axis=0, weights=FRAME["w"]), rtol=1e-12)


def test_names_of_columns_that_are_no_strings():
    found = fitted(FRAME.rename(columns={"y": 2})[["a", "b", 2]], "2")
    same(found, fitted(FRAME[["a", "b"]], FRAME["y"]))
    weighted = summarize(FRAME.rename(columns={"a": 1, "w": 2}), Moments, weights="2")
    assert weighted.names == ("1", "b", "y")
    np.testing.assert_allclose(weighted.mean, summarize(FRAME, Moments, weights="w").mean, rtol=1e-12)


def test_a_column_may_be_the_name_of_a_file(tmp_path, monkeypatch):
    found = fitted(FRAME.rename(columns={"y": "y.csv"}), "y.csv")
    assert list(found.target_names_in_) == ["y.csv"]
    monkeypatch.chdir(tmp_path)
    responses = RNG.standard_normal(12)
    np.save("responses.npy", responses)
    same(fitted(FRAME, "responses.npy"), fitted(FRAME, responses))
    with pytest.raises(ValueError, match="X has no column 'responses'"):
        fitted(FRAME, "responses")


def test_a_response_that_is_named_twice(tmp_path):
    FRAME.to_csv(tmp_path / "rows.csv", index=False)
    for X in (FRAME, TABLE, tmp_path / "rows.csv"):
        with pytest.raises(ValueError, match="y names 'y' more than once"):
            PLSRegression(1).fit(X, y=["y", "y"])


def test_responses_that_are_text(tmp_path):
    """The advice is for responses, not for rows."""
    advice = r"Encode classes as numbers first, .*0 and 1 for each class"
    frame = FRAME.assign(city=list("klmnopqrstuv"))
    table = pa.Table.from_pandas(frame, preserve_index=False)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    for X in (frame, table, table.to_batches()[0], tmp_path / "rows.csv"):
        for y in ("city", ["a", "city"]):
            with pytest.raises(
                ValueError, match=rf"y: 'city' of .* cannot be a response, .*{advice}.*numbers: 'a', 'b'"
            ):
                PLSRegression(1).fit(X, y)
    for y in (
        frame["city"],
        frame["city"].to_numpy(),
        list(frame["city"]),
        table["city"],
        np.array(list("klmnopqrstuv")),
    ):
        with pytest.raises(ValueError, match=rf"y holds text, such as 'k' .*{advice}"):
            PLSRegression(1).fit(FRAME, y)
    frame[["city"]].to_csv(tmp_path / "y.csv", index=False)
    with pytest.raises(ValueError, match=r"y\.csv has columns that are not numbers: 'city'; .*Encode them as numbers"):
        PLSRegression(1).fit(FRAME, tmp_path / "y.csv")
