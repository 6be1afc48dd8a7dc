"""Which columns of a table are categories, why others are left out, and the rows of both kinds of columns."""

import numpy as np
import pandas as pd
import pytest

from lowdim.reporting.categories import Entries, MixedRows, asked_about, looks_like_codes, why_no_category
from lowdim.sources.categories import CategorySource, category_table


def entries(texts):
    known = [text for text in texts if text is not None]
    labels, counts = np.unique(known, return_counts=True) if known else ([], np.zeros(0, dtype=int))
    return Entries(list(labels), counts, len(texts), len(texts) - len(known))


N = 300
RANDOM = np.random.default_rng(0)
WORDS = ["the", "bus", "in", "our", "street", "comes", "too", "late", "and", "I", "would", "like", "more", "trains"]


@pytest.mark.parametrize(
    ("name", "texts", "said"),
    [
        ("colour", ["red", "blue", None] * 100, ""),
        ("ticked", ["x", None] * 50, ""),
        ("colour", [None] * 9, "all its entries are missing"),
        ("colour", ["red"] * 9, "all its entries are 'red'"),
        ("who", [f"person {i}" for i in range(N)], "identifies the rows: all its 300 entries"),
        ("who", [f"person {i}" for i in range(9)], "identifies the rows: all its 9 entries"),
        ("cabin", [f"A{i % 150}" for i in range(N)], "nearly identifies the rows: it has 150 levels in 300 rows"),
        ("shop_id", [f"S{i % 30}" for i in range(N)], "it identifies what the rows belong to"),
        ("shop", [f"S{i % 30}" for i in range(N)], ""),
        ("city", [f"city {i % 120}" for i in range(1200)], "it has 120 levels, and columns of more than 100"),
        ("note", [" ".join(RANDOM.choice(WORDS, 8)) for _ in range(N)], "free text"),
        ("day", [f"2024-03-{i % 28 + 1:02d}" for i in range(N)], "dates or times"),
        ("day", [f"{i % 28 + 1}.3.2024 08:15" for i in range(N)], "dates or times"),
        ("day", [f"{i % 28 + 1} March 2024" for i in range(N)], "dates or times"),
        ("day", [f"Mar {i % 28 + 1}, 2024" for i in range(N)], "dates or times"),
        ("at", [f"{i % 24}:30" for i in range(N)], "dates or times"),
        ("size", ["1-2", "3-4", "5-9"] * 20, ""),
    ],
)
def test_why_a_column_of_text_is_no_category(name, texts, said):
    why = why_no_category(name, entries(texts), None)
    assert said in why and bool(said) == bool(why)


def test_pooled_levels_do_not_count():
    found = entries(["often"] * 900 + [f"city {i % 120}" for i in range(300)] + ["large"] * 300)
    assert "122 levels" in why_no_category("city", found, None)
    assert why_no_category("city", found, 10) == why_no_category("city", found, 0.01) == ""


@pytest.mark.parametrize(
    ("name", "low", "high", "few", "codes"),
    [
        ("pclass", 1, 3, True, True),
        ("answer", 1, 5, True, True),
        ("children", 0, 3, True, False),
        ("zip", 1000, 9999, False, True),
        ("birthYear", 1940, 2003, False, True),
        ("years", 1, 40, False, False),
        ("age", 18, 80, False, False),
        ("delta_class", -1, 1, True, False),
    ],
)
def test_whole_numbers_that_look_like_codes(name, low, high, few, codes):
    assert looks_like_codes(name, low, high, few) == codes


def test_the_question_about_codes_says_how_to_declare_them():
    assert list(asked_about([], {})) == []
    (one,) = asked_about(["zip code"], {"zip code": "1000 to 9999"})
    assert one.startswith("Is zip code (1000 to 9999) a code?")
    assert "categorical_features=['zip code'], or --categorical 'zip code'." in one
    (two,) = asked_about(["a", "b"], {"a": "1 to 3", "b": "1 to 4"})
    assert "Are a (1 to 3) and b (1 to 4) codes?" in two and "--categorical a --categorical b" in two


TABLE = pd.DataFrame(
    {"x": [1.0, np.nan, 3.0, 4.0], "kind": ["b", "a", None, "b"], "y": [4, 3, 2, 1], "flag": [True, False, True, True]}
)


def mixed_rows(held):
    table, _ = category_table(TABLE)
    return MixedRows(CategorySource(table.keeping(["x", "y"], ["kind", "flag"]), ["kind", "flag"]), held)


def test_rows_in_memory():
    rows = mixed_rows(True)
    assert (rows.n, rows.count(), rows.numbers, rows.categories) == (4, 4, ["x", "y"], ["kind", "flag"])
    assert rows.entries["kind"].labels == ["a", "b"] and rows.entries["kind"].counts.tolist() == [1, 2]
    assert (rows.entries["kind"].missing, rows.entries["kind"].known) == (1, 3)
    np.testing.assert_array_equal(rows.array(["y", "x"]), TABLE[["y", "x"]].to_numpy())
    assert rows.labels_of("kind").tolist() == ["b", "a", None, "b"]
    assert len(np.unique(rows.codes_of("kind"))) == 3 and rows.codes_of("kind")[2] == -1


@pytest.mark.parametrize("held", [True, False])
def test_missing_numbers_are_means_and_missing_categories_stay(held):
    found = mixed_rows(held).table(["x"], ["kind", "flag"], {"x": 7.0})
    table = found if held else pd.concat([block.to_pandas() for block in found()])
    frame = table.to_pandas() if held else table
    assert frame["x"].tolist() == [1.0, 7.0, 3.0, 4.0]
    assert frame["kind"].astype(object).where(frame["kind"].notna(), None).tolist() == ["b", "a", None, "b"]
    assert list(frame.columns) == ["x", "kind", "flag"]
