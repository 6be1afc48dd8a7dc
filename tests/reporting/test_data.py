"""The section on the data: its sentences hold the numbers that NumPy and pandas find, and its charts all columns."""

import numpy as np
import pandas as pd
import pytest

from reporting.tables import charts, listings, pictures, prose, section_of

RANDOM = np.random.default_rng(10)
N = 200
SIZE = RANDOM.normal(size=N)
TABLE = pd.DataFrame(
    {
        "height": 170 + 10 * SIZE,
        "weight": 70 + 9 * SIZE + 4 * RANDOM.normal(size=N),
        "inches": (170 + 10 * SIZE) / 2.54,
        "income": RANDOM.lognormal(10, 1.3, N),
        "children": RANDOM.integers(0, 4, N),
        "country": RANDOM.choice(["A", "B"], N),
        "planet": np.ones(N),
    }
)


#: The same without its category: a report of this table is about numbers only.
NUMBERS = TABLE.drop(columns="country")


def _section(*args, **more):
    return section_of(*args, "data", **more)


def test_numbers_that_are_text_in_a_frame_are_told_with_what_to_do():
    random = np.random.default_rng(0)
    table = pd.DataFrame(random.standard_normal((40, 3)), columns=list("abc"))
    table["price"] = [f"{x:.2f}".replace(".", ",") for x in random.standard_normal(40)]
    table["share"] = [f"{i}%" for i in range(40)]
    table["word"] = [f"w{i}" for i in range(40)]
    summary = _section(table).summary
    assert "3 of 6 columns are not analysed" in summary and "word (it identifies the rows: all its" in summary
    for name in ("price", "share"):
        assert f"{name} (not all of its entries are numbers: it has the text {table[name].iloc[0]!r}; conv" in summary


def test_sizes_kinds_and_what_was_left_out():
    section = _section(TABLE, scale=True, columns="numeric", hue="country")
    text = prose(section)
    assert "200 rows and 7 columns, of which 5 are analysed" in text
    assert "4 hold decimal numbers and 1 holds a few different whole numbers" in text
    assert "planet is not analysed: all its entries are 1" in text
    assert section.summary == (
        "The report is about 200 rows and 5 columns of numbers; no entry is missing in them. 1 of 7 columns is not "
        "analysed: planet (all its entries are 1). country tells groups of rows apart. height and "
        "inches are the same up to shift and scale: their correlation is 1 or -1. inches can be left out: "
        "exclude=['inches'] (--exclude inches). income is never negative and strongly skewed: take its logarithm and "
        "make the report again."
    )


def test_the_top_of_the_page_says_what_every_column_is_for():
    table = TABLE.drop(columns="planet").assign(name=[f"person {i}" for i in range(N)], weights=np.arange(N) + 1.0)
    made = _section(table, hue="country", labels="name", sample_weight="weights", y=["income"], Y=["inches", "weight"])
    said = (
        "2 columns of numbers; no entry is missing. income is to be predicted, inches and weight are the second table, "
        "country tells groups of rows apart, name names the rows and weights holds the weights of the rows."
    )
    assert said in made.summary
    assert "supplementary" not in made.summary and _section(NUMBERS).summary.count("country") == 0
    assert "weight is supplementary." in _section(NUMBERS, supplementary_columns="weight").summary


def test_scales_and_logarithm():
    text = prose(_section(NUMBERS))
    deviations = TABLE.select_dtypes("number").drop(columns="planet").std()
    low, high = deviations.idxmin(), deviations.idxmax()
    assert (low, high) == ("children", "income")
    assert f"from {deviations[low]:.3g} (children) to {deviations[high]:,.0f} (income)" in text
    assert "each column is divided by its standard deviation" in text
    skewness = ((TABLE["income"] - TABLE["income"].mean()) ** 3).mean() / TABLE["income"].std(ddof=0) ** 3
    assert "income is never negative and strongly skewed: take its logarithm" in text
    assert f"(the skewness is {skewness:.3g})" in text


def test_why_columns_are_rescaled_or_not():
    alike = RANDOM.normal(size=(50, 3))
    assert "no sign of different units, so the columns are not rescaled" in prose(_section(alike))
    assert "As was asked for, each column is divided" in prose(_section(alike, scale=True))
    assert "pixels of a picture, which have the same units" in prose(_section(pictures()))


def test_correlations_and_columns_that_repeat_others():
    section = _section(NUMBERS)
    text = prose(section)
    r = np.corrcoef(TABLE["height"], TABLE["weight"])[0, 1]
    assert f"height and weight ({r:.2f})" in text
    assert "height and inches are the same up to shift and scale" in text
    picture = charts(section)["correlations"]
    assert sorted(picture.data[0]["x"]) == sorted(["height", "weight", "inches", "income", "children"])
    assert picture.table.shape == (5, 5)


def test_unrelated_columns_are_not_said_to_be_related():
    assert "no more than chance could give" in prose(_section(RANDOM.normal(size=(40, 5))))


def test_rows_that_repeat_others():
    table = pd.concat([NUMBERS, NUMBERS.head(3)])
    assert "3 rows (1.5%) are equal to an earlier row" in prose(_section(table))


def test_identifiers():
    text = prose(_section(NUMBERS.assign(visit=np.cumsum(RANDOM.integers(2, 9, N)), year=np.arange(N) + 1800)))
    assert "visit holds different whole numbers that grow from row to row" in text
    assert "year grows by one from row to row" in text
    assert "id is not analysed: it just counts the rows, from 1 to 200" in prose(
        _section(NUMBERS.assign(id=range(1, 201)))
    )


def test_missing_entries():
    table = TABLE[["height", "weight", "income"]].copy()
    late = np.arange(N) >= 120
    table.loc[late & (RANDOM.random(N) < 0.5), ["weight", "income"]] = np.nan
    table["day"] = np.arange(N) + RANDOM.normal(size=N)
    section = _section(table)
    text = prose(section)
    missing = table.isna()
    share = 100 * missing.to_numpy().mean()
    assert f"{missing.to_numpy().sum()} entries ({share:.1f}%) are missing, in 2 columns of 4" in text
    assert f"{(~missing.any(axis=1)).sum()} rows" in text
    assert (
        f"In {missing.all(axis=1).sum() + missing['weight'].sum()} rows, weight and income are missing together" in text
    )
    medians = [table.loc[some, "day"].median() for some in (missing["weight"], ~missing["weight"])]
    assert f"where weight is missing, day is larger (median {medians[0]:.3g} against {medians[1]:.3g})" in text
    drawn = charts(section)
    bars = drawn["missing-by-column"].data[0]
    np.testing.assert_allclose(bars["x"], [100 * missing[name].mean() for name in bars["y"]])
    assert drawn["missing-patterns"].table["rows"].sum() == N


def test_missing_entries_at_random_are_said_not_to_contradict_chance():
    X = np.where(RANDOM.random((100, 4)) < 0.1, np.nan, RANDOM.normal(size=(100, 4)))
    assert "No column tells where entries of another one are missing" in prose(_section(X))


def test_rows_that_are_not_in_memory_give_the_same_sentences(request):
    held = prose(_section(NUMBERS))
    request.getfixturevalue("not_held")
    section = _section(NUMBERS)
    assert prose(section) == held


def test_quantiles():
    chart = charts(_section(NUMBERS))["distributions"]
    for name in ("height", "income"):
        expected = TABLE[name].quantile([0.01, 0.25, 0.5, 0.75, 0.99])
        np.testing.assert_allclose(list(chart.table.row(name).values()), expected, rtol=1e-9)


def test_names_that_are_long_or_look_like_tags_are_harmless():
    long = "<b>" + "x" * 10_000
    table = pd.DataFrame(RANDOM.normal(size=(60, 3)), columns=[long + "1", long + "2", "<i>"])
    section = _section(table)
    assert max(map(len, prose(section).splitlines())) < 600
    for chart in charts(section).values():
        for trace in chart.data:
            names = [name for key in ("x", "y") for name in trace.get(key, ()) if isinstance(name, str)]
            assert all("<" not in name for name in names)
            assert len(set(names)) in (0, 3)


@pytest.mark.parametrize("p", [2, 200])
def test_many_columns(p):
    section = _section(RANDOM.normal(size=(50, p)))
    drawn = charts(section)
    assert len(drawn["distributions"].data[0]["x"]) == min(p, 40)
    assert drawn["correlations"].data[0]["z"].shape == (min(p, 150),) * 2
    assert len(listings(section)[0]) == p
