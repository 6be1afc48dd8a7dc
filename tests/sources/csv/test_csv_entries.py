"""Entries of CSV files: numbers, signs for missing values, and columns that are text because of a few entries."""

import re

import pytest

from lowdim.sources.csv import advice, first_texts, is_number


@pytest.mark.parametrize("text", ["1", "-2.5", "+3e-7", ".5", "5.", " 7 ", "inf", "nan"])
def test_numbers(text):
    assert is_number(text)
    assert advice(text.strip()) == "" or text == "nan"


@pytest.mark.parametrize("text", ["1,5", "-1,25", "1,200", "1.200,50", "1,200.50", "1'200", "12 345 678", " 1,5 "])
def test_numbers_in_other_notations(text):
    assert not is_number(text)
    assert "decimals" in advice(text) and "thousands" in advice(text)


@pytest.mark.parametrize(
    "text", ["50%", "$5", "-$1,200.50", "12,50 \u20ac", "\u00a35", "3.5 %", "(1,200.50)", "(5)", "($5)"]
)
def test_numbers_with_signs(text):
    assert not is_number(text) and not is_number(text, ",")
    assert "percent" in advice(text) and "currencies" in advice(text, ",")


@pytest.mark.parametrize(
    ("text", "number"), [("1,5", True), ("-,5e3", True), ("7", True), ("1.5", False), ("x", False)]
)
def test_numbers_with_a_decimal_comma(text, number):
    assert is_number(text, ",") is number


@pytest.mark.parametrize("text", ["1_000", "0x10", "1,2,3", "12,34.5", "x1", "1 2", "2020-01-01", "$", "%", "5 km"])
def test_texts(text):
    assert not is_number(text)
    assert advice(text) == ""


def test_first_texts_by_counting():
    """Every column of up to six entries of these, against the rule as it is written."""
    entries = {"1": "number", "1,5": "other number", "": "missing", "NA": "missing", "?": "sign", "x": "text"}
    kinds = list(entries)
    for code in range(len(kinds) ** 4):
        column = [kinds[code // len(kinds) ** i % len(kinds)] for i in range(4)] + ["2"] * 8
        lines = [(10 + 3 * i, ["-", text]) for i, text in enumerate(column)]
        found = first_texts(lines, {"b": 1}, len(lines))
        what = ["number" if text == "2" else entries[text] for text in column]
        first = next((i for i, kind in enumerate(what) if kind in ("other number", "sign", "text")), None)
        assert (first is None) == (not found)
        if first is None:
            continue
        assert (found["b"].text, found["b"].line) == (column[first], 10 + 3 * first)
        assert found["b"].comes_later == (first > 0)
        n_texts, n_numbers = what.count("text"), what.count("number") + what.count("other number")
        assert found["b"].is_nearly_numbers == (n_texts / (n_texts + n_numbers) <= 0.1)
        assert re.match(rf"has the text {re.escape(repr(column[first]))} in line \d+", str(found["b"]))


def test_a_column_of_text_is_not_followed_to_its_end():
    lines = ((i, ["1", "x"]) for i in range(1, 1001))
    assert first_texts(lines, {"b": 1}, 1000)["b"].texts == 101
    assert next(lines)[0] == 102


def test_a_line_with_fewer_fields():
    assert first_texts([(2, ["1"]), (3, [])], {"b": 1}, 2) == {}
