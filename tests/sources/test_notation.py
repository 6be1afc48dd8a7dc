"""Numbers with separators of thousands, percent signs and signs of currencies: which are sure, and what they are."""

import itertools

import pyarrow as pa
import pytest

from lowdim.sources.notation import Notation, notations

NUMBERS = {
    "1,234.50": (Notation(thousands=","), 1234.5),
    "1.234,50": (Notation(",", "."), 1234.5),
    "-1'200": (Notation(thousands="'"), -1200),
    "1\u2019234\u2019567.25": (Notation(thousands="\u2019"), 1234567.25),
    "12\u00a0345": (Notation(thousands="\u00a0"), 12345),
    "12 345,5": (Notation(",", " "), 12345.5),
    "7%": (Notation(percent=True), 0.07),
    " 12.5 % ": (Notation(percent=True), 0.125),
    "-0,5%": (Notation(",", percent=True), -0.005),
    "$5": (Notation(currency="$"), 5),
    "-$1,200.50": (Notation(thousands=",", currency="$"), -1200.5),
    "$-5": (Notation(currency="$"), -5),
    "12,50 \u20ac": (Notation(",", currency="\u20ac"), 12.5),
    "+3": (Notation(), 3),
    "1,5e3": (Notation(","), 1500),
}


def is_missing(text):
    return text in ("", "NA")


def found_in(*columns, numbers=0, **options):
    """What is found in columns, the first `numbers` of which are numbers already."""
    texts = {f"c{j}": j for j in range(numbers, len(columns))}
    lines = enumerate(zip(*columns, strict=True))
    return notations(lines, texts, range(numbers), is_missing, **options)


@pytest.mark.parametrize("text", NUMBERS)
def test_a_number_is_the_same_in_python_and_in_arrow(text):
    notation, value = NUMBERS[text]
    assert notation.value(text) == pytest.approx(value, rel=1e-15)
    column = notation.numbers(pa.array([text, None, text]))
    assert column.to_pylist() == [notation.value(text), None, notation.value(text)]


@pytest.mark.parametrize(("text", "other"), list(itertools.product(NUMBERS, NUMBERS)))
def test_a_text_that_one_of_both_refuses_is_refused_by_the_other(text, other):
    notation = NUMBERS[other][0]
    if notation.value(text) is None:
        with pytest.raises(pa.ArrowInvalid, match="not written as"):
            notation.numbers(pa.array([text]))
    else:
        assert notation.numbers(pa.array([text])).to_pylist() == [notation.value(text)]


@pytest.mark.parametrize("text", [text for text in NUMBERS if text not in ("12 345,5", "1,5e3")])
def test_a_number_that_means_one_thing_is_found(text):
    notation, value = NUMBERS[text]
    found = found_in([text, "NA", text])
    assert found.written == {"c0": notation}
    assert found.written["c0"].value(text) == value
    assert found.decimal == notation.decimal and found.columns["c0"][1:] == (text, 0)


@pytest.mark.parametrize(
    "column",
    [
        ["1,234", "5,678"],  # thousands, or decimals?
        ["1,234.5", "1.234,5"],  # both
        ["5%", "6"],
        ["$5", "\u20ac5"],
        ["$5", "5"],
        ["1,2,3", "4,5"],
        ["1,23,456", "7"],
        ["079 123 456", "078 234 567"],  # telephone numbers
        ["00123", "$5"],
        ["1,234", "x"],
        ["12 kg", "13 kg"],
        ["192.168.1.1", "192.168.1.2"],
        ["1.2.2024", "2.2.2024"],
        ["$5$", "$6$"],
        ["$", "%"],
        ["NA", ""],
    ],
)
def test_what_is_in_doubt_or_no_number_is_left_alone(column):
    assert found_in(column).columns == {}


def test_another_column_says_what_a_comma_is():
    doubtful = ["1,234", "5,678"]
    assert found_in(doubtful, ["1,5", "2"]).decimal == ","
    assert found_in(doubtful, ["1,5", "2"]).written["c0"].value("1,234") == 1.234
    assert found_in(doubtful, ["$1.50", "$2"]).written["c0"].value("1,234") == 1234
    # A column that is numbers already.
    assert found_in(["1.5", "2"], doubtful, numbers=1).written["c1"].value("1,234") == 1234
    assert found_in(["1.500", "2"], doubtful, numbers=1).written == {}
    # Two columns that contradict each other.
    assert "c0" not in found_in(doubtful, ["1,5", "2"], ["1.5%", "2%"]).written


def test_the_user_says_what_a_comma_is():
    doubtful = ["1,234", "5,678"]
    assert found_in(doubtful, given=",").written["c0"].value("1,234") == 1.234
    assert found_in(doubtful, given=".").written["c0"].value("1,234") == 1234
    assert found_in(doubtful, ["1,5", "2"], given=".").written == {}
    assert found_in(["1,5", "2"], may_be_comma=False).written == {}


def test_the_evidence_for_decimal_commas():
    assert found_in(["2", "1.234,5"]).evidence == ("c0", "1.234,5", 1)
    assert found_in(["2", "1.234,5"], given=",").evidence is None
    # A decimal point elsewhere is evidence against them.
    assert found_in(["1.234", "2"], ["1,5", "2"], numbers=1).decimal == "."


def test_a_notation_in_words():
    assert str(Notation(",", ".", "$", percent=True)) == (
        "decimals with a comma, thousands with '.', with $, with a percent sign"
    )
    assert str(Notation()) == "decimals with a point, thousands without a separator"
    assert Notation(",").is_plain and not Notation(percent=True).is_plain


def test_rows_are_not_read_to_their_end_without_a_candidate():
    lines = iter([(i, ["x"]) for i in range(100)])
    notations(lines, {"a": 0}, [], is_missing)
    assert next(lines)[0] == 2
