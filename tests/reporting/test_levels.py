"""The sections of a table with categories: what their sentences say is true of the table, and names are harmless."""

from html import unescape

import numpy as np
import pandas as pd
import pytest

import lowdim
from lowdim.reporting.levels import component_sentence, ends_of, level_name, rare_levels
from reporting.tables import charts, listings, menus, prose, report_of, section_of, values
from reporting.test_mixed import SECTIONS, TABLE, analysis

RANDOM = np.random.default_rng(8)
N = 400


def passengers():
    """Rows of three classes, in which one number is missing by design."""
    role = RANDOM.choice(["First", "Third", "Crew"], N, p=[0.3, 0.4, 0.3])
    sex = np.where(
        RANDOM.random(N) < np.where(role == "Crew", 0.95, np.where(role == "First", 0.45, 0.6)), "male", "female"
    )
    fare = np.where(role == "First", 80.0, 10.0) + RANDOM.random(N) * 5
    survived = np.where(RANDOM.random(N) < np.where(sex == "female", 0.85, 0.15), "yes", "no")
    port = np.where(RANDOM.random(N) < 0.1, None, RANDOM.choice(["Cork", "Brest"], N))
    return pd.DataFrame(
        {"class": role, "sex": sex, "fare": np.where(role == "Crew", np.nan, fare), "survived": survived, "port": port}
    )


@pytest.fixture(scope="module")
def ship():
    return passengers()


@pytest.mark.parametrize(
    ("column", "level", "name"),
    [
        ("sex", "female", "female (sex)"),
        ("class", "First", "First (class)"),
        ("alone", "no", "alone = no"),
        ("pclass", "3", "pclass = 3"),
        ("Q7", "strongly disagree", "Q7 = strongly disagree"),
        ("port", "(missing)", "no entry in port"),
        ("city", "(rare)", "rare levels of city"),
    ],
)
def test_what_levels_are_called(column, level, name):
    assert level_name(column, level) == name


def test_the_sentences_name_levels_and_numbers_of_both_ends(ship):
    a = analysis(ship)
    section = section_of(ship, "meaning")
    first = component_sentence(a, 0)
    assert first in section.summary and first in prose(section)
    both = {name for end in ends_of(a, 0) for name in end.names}
    assert {"First (class)", "female (sex)", "survived = yes", "high fare"} & both
    high, low = ends_of(a, 0)
    scores = a.mapped.transform(a._table())[:, 0]
    g = a.geometry
    for end in (high, low):
        for j in end.levels:
            rows = (ship[g.variables[j]] == g.levels[j]).to_numpy()
            assert end.sign * scores[rows].mean() > 0


def test_what_is_said_of_the_rows_at_the_ends_is_true(ship):
    text = prose(section_of(ship, "meaning", n_components=2))
    a = analysis(ship, n_components=2)
    scores = a.mapped.transform(a._table())[:, 0]
    outer = scores >= np.quantile(scores, 0.9)
    high = [(a.geometry.variables[j], a.geometry.levels[j]) for j in ends_of(a, 0)[0].levels]
    chosen = [pair for i, pair in enumerate(high) if pair[0] not in {name for name, _ in high[:i]}][:2]
    have = np.all([ship[column] == level for column, level in chosen], axis=0)
    said = (
        f"Of the {outer.sum()} rows with the highest scores on dim1, {100 * have[outer].mean():.1f}% have "
        f"{' and '.join(level_name(*pair) for pair in chosen)}, against {100 * have.mean():.1f}% of all rows."
    )
    assert said in text


def test_tables_and_charts_have_the_numbers_of_the_model(ship):
    section = section_of(ship, "meaning", n_components=2)
    a = analysis(ship, n_components=2)
    relations, points = listings(section)
    assert relations.row("fare")["measure"] == "r2" and relations.row("sex")["measure"] == "eta2"
    assert relations.row("sex")["dim1"] == pytest.approx(a.relations["sex"][0], abs=5e-4)
    shares = dict(zip(a.geometry.names, a.geometry.share, strict=True))
    assert points.row("sex = female")["share of rows"] == pytest.approx(shares["sex=female"], abs=5e-4)
    found = menus(section)
    plane = found["levels"]["dim1 and dim2"]
    assert {trace["name"] for trace in plane.data if "name" in trace} == {"class", "sex", "survived", "port", "numbers"}
    bars = found["contributions"]["dim1"]
    assert sum(np.sum(trace["x"]) for trace in bars.data) == pytest.approx(100.0)


def test_mca_has_adjusted_inertias_and_says_why(ship):
    section = section_of(ship.drop(columns="fare"), "how-many")
    text = prose(section)
    model = report_of(ship.drop(columns="fare"), "data", n_components=2).model
    assert f"({100 * model.greenacre_ratio_.sum():.1f}%)" in text and "only what is above 1/4 of each" in text
    assert {"Benzecri", "Greenacre"} <= set(listings(section)[0].columns)
    assert "adjusted inertia (Greenacre)" in section.summary
    # Greenacre's total is another one if missing entries are passive.
    passive = section_of(ship.drop(columns="fare"), "how-many", model=lowdim.MCA(2, missing="passive"))
    assert "Greenacre" not in listings(passive)[0].columns and "is not meant for passive entries" in prose(passive)


def test_the_scree_has_the_limit_of_chance_and_the_average(ship):
    section = section_of(ship, "how-many")
    chart = charts(section)["scree"]
    assert len(chart.data) == 2 and "average eigenvalue, 1" in chart.caption
    assert "larger than in 95% of simulated tables with the same levels" in prose(section)
    assert "Each number has an inertia of 1" in prose(section)


def test_components_of_chance_are_said_to_be_so():
    table = pd.DataFrame({name: RANDOM.choice(["red", "blue", "green"], 200) for name in "abcd"})
    made = report_of(table, *SECTIONS)
    summary = " ".join(made.summary)
    assert "No component stands out: what" in summary and "although none stands out from chance" in summary
    said = prose(section_of(TABLE, "meaning"))
    assert "dim2 does not stand out from chance, so what it shows may be chance." in said
    assert "dim1 does not" not in said


def test_rare_levels_that_dominate_are_said_with_advice():
    table = pd.DataFrame({"a": RANDOM.choice(["red", "blue"], 300), "b": RANDOM.choice(["round", "square"], 300)})
    table["c"] = RANDOM.choice(["north", "south"], 300)
    table.loc[:2, ["a", "b"]] = ["pink", "oval"]
    table.loc[3:4, ["a", "b"]] = ["grey", "flat"]
    text = prose(section_of(table, "meaning"))
    a = analysis(table)
    assert rare_levels(a, 0)
    assert "dim1 is about few rows: " in text and "pink (a), 3 rows" in text
    assert "pool rare levels: min_frequency=4, or --min-frequency 4." in text
    pooled = analysis(table, min_frequency=4)
    assert "(rare)" in pooled.full.levels_["a"] and "pink" not in pooled.full.levels_["a"]
    assert rare_levels(analysis(table[["a", "b", "c"]].iloc[5:]), 0) == []
    # A single rare level has nothing to be pooled with.
    one = table.iloc[[0, 1, 2, *range(5, 300)]]
    assert "join such a level with another one" in prose(section_of(one, "meaning"))


def test_components_of_missing_entries_and_bent_ones():
    steps = np.array(["one", "two", "three", "four", "five"])
    size = RANDOM.standard_normal(500)
    table = pd.DataFrame(
        {
            f"q{i}": steps[np.digitize(size + 0.3 * RANDOM.standard_normal(500), [-1.2, -0.4, 0.4, 1.2])]
            for i in range(6)
        }
    )
    assert "dim2 sets both ends of dim1 apart from its middle" in prose(section_of(table, "meaning"))
    silent = table.where((RANDOM.random(500) > 0.1)[:, None].repeat(6, axis=1))
    text = prose(section_of(silent, "meaning"))
    assert "is about who has no entry, and not about what the entries are." in text
    assert "no entry in q" in text


def test_missing_entries_are_said(ship):
    made = report_of(ship, "missing")
    section = made.sections[0]
    missing = ship["fare"].isna().mean()
    by_em = "Missing numbers are estimated by EM from the other columns of their rows"
    assert f"{by_em}: fare ({100 * missing:.1f}%)." in prose(section) and made.model.missing == "em"
    by_mean = section_of(ship, "missing", model=lowdim.FAMD(2))
    assert f"replaced by the mean of their column: fare ({100 * missing:.1f}%)." in prose(by_mean)
    assert "fare is missing in all rows with Crew (class) and in none of the others" in prose(section)
    assert section.summary.startswith("Missing entries of categories are a level of their own; missing numbers are")
    assert "port=(missing)" in made.model.coding_.names
    none = ship[["class", "sex", "survived"]]
    assert section_of(none, "missing") is None
    passive = section_of(ship.drop(columns="fare"), "missing", model=lowdim.MCA(2, missing="passive"))
    assert passive.summary == "Missing entries of categories are passive."


def test_the_data_are_described(ship):
    section = section_of(ship, "data")
    text = prose(section)
    assert "400 rows and 5 columns, all of which are analysed" in text
    assert "1 column of numbers and 4 categories with 10 levels in all" in text
    numbers, categories, strongest = listings(section)
    assert numbers.rows == ("fare",) or list(numbers.rows) == ["fare"]
    first = ship["class"].value_counts(normalize=True)
    assert categories.row("class")["most frequent"].startswith(f"{first.index[0]} ({100 * first.iloc[0]:.1f}%)")
    assert strongest.row(1)["association"] == pytest.approx(max(strongest["association"]))
    assert {"associations", "distributions"} == set(charts(section))
    twice = section_of(pd.concat([ship, ship.head(3)]), "data")
    assert "equal to an earlier row in all these columns" in prose(twice)
    double = prose(section_of(ship.assign(gender=ship["sex"].map({"male": "M", "female": "F"})), "data"))
    assert "sex and gender say the same of every row" in double


def test_levels_that_look_alike_are_told(ship):
    table = ship.assign(port=np.where(ship["survived"] == "yes", "cork ", ship["port"]))
    section = section_of(table, "data")
    assert "'Cork' and 'cork ' of port differ only by blanks or by capital letters" in section.summary
    assert "differ only" not in section_of(ship, "data").summary


def test_the_map_is_coloured_by_the_categories_that_matter(ship):
    drawn = values(section_of(ship, "map", n_components=2))
    a = analysis(ship, n_components=2)
    names = [group["name"] for group in drawn["groups"]]
    best = max(a.categories, key=lambda name: a.relations[name][:2].max())
    assert names[0] == best and "(missing)" in drawn["groups"][names.index("port")]["levels"]
    by = section_of(ship, "map", hue="survived", n_components=2)
    assert values(by)["groups"][0]["name"] == "survived" and "The groups by survived differ" in prose(by)


EVIL = ["<script>alert(1)</script>", '=HYPERLINK("http://x","y")', "<img src=x onerror=alert(1)>", "a & b", "-1+1"]


def test_names_of_levels_with_html_and_formulas_are_escaped(tmp_path):
    random = np.random.default_rng(0)
    size = random.standard_normal(300)
    codes = np.digitize(size + 0.3 * random.standard_normal(300), [-1, -0.3, 0.3, 1])
    table = pd.DataFrame({"<b>kind</b>": np.array(EVIL)[codes], "other": np.array(EVIL[::-1])[codes], "x": size})
    made = lowdim.report(table, tmp_path / "a.html", hue="other")
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    for bad in ("<script>alert", "<img src=x", "<b>kind"):
        assert bad not in text
    assert "&lt;script&gt;alert(1)" in text and "alert(1)" in unescape(text)
    meaning = next(section for section in made.sections if section.key == "meaning")
    for chart in charts(meaning).values():
        for trace in chart.data:
            for texts in (trace.get("text", ()), trace.get("customdata", ()), [trace.get("name", "")]):
                assert not any("<" in str(each) for each in texts)
        assert not any("<" in str(name) for name in chart.layout["yaxis"].get("categoryarray", ()))


def test_a_model_of_groups(ship):
    table = ship.dropna().assign(age=np.arange(len(ship.dropna())) % 60)
    model = lowdim.MFA(2, groups={"ticket": ["class", "fare", "port"], "person": ["sex", "age", "survived"]})
    made = report_of(table, *SECTIONS, model=model)
    assert isinstance(made.model, lowdim.MFA)
    assert any("sets rows with" in sentence for sentence in made.summary)
