"""Which columns are read: names, patterns, "numeric", and what is left out."""

import pytest

from lowdim.sources.scan import ColumnChoice, Contents


class Columns(Contents):
    """Columns and no rows."""

    label = "t.csv"

    def __init__(self, names, numeric):
        self.names, self.numeric = names, numeric

    def source(self, columns):
        raise AssertionError("nothing is read")

    column = dtype = source


TABLE = Columns(["id", "temp_a", "temp_b", "day", "x[1]"], ["temp_a", "temp_b", "x[1]"])


@pytest.mark.parametrize(
    ("columns", "exclude", "expected"),
    [
        ("numeric", None, ["temp_a", "temp_b", "x[1]"]),
        ("numeric", [], ["temp_a", "temp_b", "x[1]"]),
        ("numeric", "temp_*", ["x[1]"]),
        ("temp_b", None, ["temp_b"]),
        (["x[1]", "temp_?"], None, ["x[1]", "temp_a", "temp_b"]),
        (["temp_b", "temp_*"], None, ["temp_b", "temp_a"]),
        ("temp_[ab]", ["temp_a"], ["temp_b"]),
        (None, ["id", "day"], ["temp_a", "temp_b", "x[1]"]),
    ],
)
def test_what_is_chosen(columns, exclude, expected):
    assert ColumnChoice.of(columns, exclude).among(TABLE) == expected


def test_what_cannot_be_chosen():
    with pytest.raises(ValueError, match=r"t\.csv has columns that are not numbers: 'id', 'day'; these are numbers: "):
        ColumnChoice.of(None, None).among(TABLE)
    with pytest.raises(ValueError, match=r"has no column 'temp_c'; its columns are .* Did you mean 'temp_b' or"):
        ColumnChoice.of(["temp_c"], None).among(TABLE)
    with pytest.raises(ValueError, match=r"has no column 'nothing\*'"):
        ColumnChoice.of(None, "nothing*").among(TABLE)
    with pytest.raises(ValueError, match=r"no column of t\.csv is chosen: found 0 feature\(s\)"):
        ColumnChoice.of("numeric", "*").among(TABLE)
    for bad in (3, [], [1, 2]):
        with pytest.raises(TypeError, match=r"columns=.* must be the name of a column"):
            ColumnChoice.of(bad, None)
    twice = Columns(["a", "b", "a"], ["a", "b", "a"])
    with pytest.raises(ValueError, match="has several columns with the name 'a'"):
        ColumnChoice.of(None, None).among(twice)
    assert ColumnChoice.of("b", None).among(twice) == ["b"]


def test_a_choice_prints_itself():
    assert str(ColumnChoice.of(None, None)) == "all columns"
    assert str(ColumnChoice.of("numeric", ["id"])) == "the numeric columns without 'id'"
    assert str(ColumnChoice.of(["a", "b*"], None)) == "columns 'a', 'b*'"
