"""Numbers in sentences."""

from lowdim.reporting.blocks import listed, share


def test_shares_below_and_above_one_percent_have_the_same_form():
    assert [share(part) for part in (0.0, 0.0004, 0.0092, 0.00999, 0.0104, 0.925)] == [
        "0.0%",
        "0.04%",
        "0.92%",
        "1.0%",
        "1.0%",
        "92.5%",
    ]


def test_a_single_other_is_named():
    assert listed("abc", 2) == "a, b and c"
    assert listed("abcd", 2) == "a, b and 2 others"
    assert listed("ab", 2) == "a and b"
    assert listed([]) == "nothing"
