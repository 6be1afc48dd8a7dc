"""Reports of tables with categories: which model they are about, which columns it has, and how rows are read."""

import os

import numpy as np
import pandas as pd
import pytest

import lowdim
from lowdim.inspect.geometry import geometry
from lowdim.reporting import build
from lowdim.reporting.analysis import ReportOptions
from lowdim.reporting.columns import OpenedTable
from lowdim.reporting.mixed import MixedAnalysis
from reporting.tables import listings, prose, report_of, section_of, values

RANDOM = np.random.default_rng(5)
N = 240
SIZE = RANDOM.standard_normal(N)
#: A number and two categories that go together, and others that do not.
TABLE = pd.DataFrame(
    {
        "who": [f"person {i}" for i in range(N)],
        "day": pd.date_range("2024-01-01", periods=N),
        "income": 100 + 20 * SIZE + 5 * RANDOM.standard_normal(N),
        "age": RANDOM.integers(18, 80, N),
        "class": 1 + (SIZE > -0.5) + (SIZE > 0.7),
        "town": np.where(SIZE + 0.5 * RANDOM.standard_normal(N) > 0, "Oslo", "Rome"),
        "car": np.where(SIZE + 0.5 * RANDOM.standard_normal(N) > 0.3, "yes", "no"),
        "pet": RANDOM.choice(["cat", "dog", "none"], N),
    }
)


#: The sections of a table with categories.
SECTIONS = ("data", "how-many", "map", "meaning", "missing")


def analysis(X, *, declared=(), min_frequency=None, **options):
    request = {name: options.pop(name) for name in ("model", "n_components") if name in options}
    opened = OpenedTable(X, categorical_features=declared, min_frequency=min_frequency, with_categories=True, **options)
    return MixedAnalysis(opened, ReportOptions(categorical_features=declared, min_frequency=min_frequency, **request))


def test_the_model_is_that_of_the_columns():
    assert isinstance(report_of(TABLE, "data").model, lowdim.FAMD)
    assert isinstance(report_of(TABLE[["town", "car", "pet"]], "data").model, lowdim.MCA)
    assert isinstance(report_of(TABLE[["income", "age", "class"]], "data").model, lowdim.PCA)
    assert isinstance(report_of(TABLE[["income", "age", "who"]], "data").model, lowdim.PCA)
    # What asks for an analysis of numbers.
    numbers = ({"scale": False}, {"y": "age"}, {"Y": ["age"]}, {"columns": "numeric"}, {"model": lowdim.PCA(2)})
    for options in numbers:
        assert isinstance(report_of(TABLE, "data", **options).model, lowdim.PCA)
    # Declared columns of numbers are categories.
    made = report_of(TABLE[["income", "age", "class"]], "data", categorical_features="class")
    assert made.model.levels_ == {"class": ["1", "2", "3"]}


def test_the_model_is_the_one_that_a_fit_would_give():
    made = report_of(TABLE, "map", n_components=2, categorical_features=["class"])
    columns = TABLE.drop(columns=["who", "day"])
    expected = lowdim.FAMD(2, categorical_features=["class"]).fit(columns)
    np.testing.assert_allclose(made.model.explained_variance_, expected.explained_variance_, rtol=1e-10)
    np.testing.assert_allclose(made.model.transform(columns), expected.transform(columns), atol=1e-8)
    points = values(made.sections[0])
    scores = np.column_stack([np.asarray(part["scores"]) for part in points["components"][:2]])
    np.testing.assert_allclose(scores, expected.transform(columns), atol=1e-3)
    assert points["labels"] == TABLE["who"].tolist()
    assert [column["name"] for column in points["columns"]] == ["income", "age"]
    assert {group["name"] for group in points["groups"]} == {"class", "town", "car", "pet"}


def test_rows_that_are_not_in_memory_give_the_same(tmp_path, request):
    path = tmp_path / "people.csv"
    table = TABLE.drop(columns="day")
    table.loc[::11, "pet"] = None
    table.to_csv(path, index=False)
    held = analysis(path)
    request.getfixturevalue("not_held")
    streamed = analysis(path)
    assert held.opened.held and not streamed.opened.held
    assert held.names == streamed.names and held.n == streamed.n
    np.testing.assert_allclose(held.full.explained_variance_, streamed.full.explained_variance_, rtol=1e-10)
    np.testing.assert_allclose(
        np.abs(held.second.rows.scores), np.abs(streamed.second.rows.scores), rtol=1e-8, atol=1e-10
    )
    np.testing.assert_allclose(streamed.choice.curve, held.choice.curve, rtol=1e-8)
    made = report_of(path, *SECTIONS)
    assert "is not held in memory" in prose(made.sections[0])
    assert isinstance(made.model, lowdim.FAMD)


def test_missing_numbers_are_estimated_or_their_means(tmp_path, request):
    path = tmp_path / "people.csv"
    table = TABLE.drop(columns=["day", "who"])
    table.loc[::9, "income"] = np.nan
    table.to_csv(path, index=False)
    held = analysis(path)
    assert held.estimates and held.means == {}
    expected = lowdim.FAMD(missing="em").fit(table)
    np.testing.assert_allclose(held.full.explained_variance_, expected.explained_variance_, rtol=1e-6)
    np.testing.assert_allclose(held.second.rows.scores, held.mapped.transform(table)[:, : held.n_mapped], atol=1e-8)
    assert np.isfinite(held.second.rows.entries).all()
    request.getfixturevalue("not_held")
    streamed = analysis(path)
    expected = lowdim.FAMD().fit(table.fillna({"income": table["income"].mean()}))
    assert not streamed.estimates
    np.testing.assert_allclose(streamed.full.explained_variance_, expected.explained_variance_, rtol=1e-8)
    assert analysis(path, model=lowdim.FAMD(2, missing="em")).estimates


def test_only_categories_that_are_not_in_memory(tmp_path, not_held):
    path = tmp_path / "people.csv"
    TABLE[["town", "car", "pet"]].to_csv(path, index=False)
    made = report_of(path)
    assert isinstance(made.model, lowdim.MCA) and made.model.n_samples_ == N


def test_an_array_of_objects_and_a_list_of_rows():
    rows = TABLE[["income", "town", "car"]].to_numpy(dtype=object)
    for X in (rows, rows.tolist()):
        made = report_of(X, "data")
        assert made.model.coding_.names == ["x1", "x2=Oslo", "x2=Rome", "x3=no", "x3=yes"]


def test_blocks_of_data_frames():
    expected = report_of(TABLE, "data").model
    parts = [TABLE.head(100), TABLE.tail(N - 100)]
    for X in (parts, iter(parts), lambda: iter(parts)):
        made = report_of(X, "data").model
        np.testing.assert_allclose(made.explained_variance_, expected.explained_variance_, rtol=1e-12)
    numbers = [part[["income", "age"]] for part in parts]
    assert report_of(iter(numbers), "data").model.n_samples_ == N


def test_columns_that_cannot_be_read_are_left_out():
    table = TABLE.assign(lists=[[1, 2]] * N, several=[1, "a", None, 2.5] * (N // 4))
    section = section_of(table, "data")
    assert "lists and several (their entries are of several types, or neither" in section.summary


def test_components_that_stand_out():
    a = analysis(TABLE)
    assert a.n_beyond_chance == 1 and a.k == 1 and a.n_told == 1
    assert a.average_inertia == pytest.approx(1.0)
    columns = TABLE.drop(columns=["who", "day"])
    assert a.n_beyond_chance == lowdim.FAMD("parallel", random_state=a.seed).fit(columns).n_components_
    chance = pd.DataFrame({name: RANDOM.permutation(TABLE[name]) for name in ("town", "car", "pet", "income")})
    assert analysis(chance).n_beyond_chance == 0 and analysis(chance).n_told == 0
    assert analysis(TABLE, n_components=3).k == 3
    of_categories = analysis(TABLE[["town", "car", "pet"]])
    assert of_categories.average_inertia == pytest.approx(1 / 3)


def test_identifiers_of_numbers_are_left_out():
    keys = RANDOM.permutation(np.arange(5000, 5000 + N))
    a = analysis(TABLE.assign(customer_id=keys, id=np.arange(1, N + 1), amount=keys))
    assert "customer_id" not in a.names and "id" not in a.names and "amount" in a.names
    assert "by its name and its entries" in a.left_out["customer_id"]
    assert "counts the rows" in a.left_out["id"] and "dates" in a.left_out["day"]


def test_columns_are_asked_about():
    table = TABLE.assign(zip=RANDOM.choice([1000, 2000, 7777, 8001], N), flag=RANDOM.integers(0, 2, N))
    a = analysis(table)
    assert a.asked == {"class": "1 to 3", "zip": "1000 to 8001"}
    section = section_of(table, "data")
    assert "Are class (1 to 3) and zip (1000 to 8001) codes?" in section.summary
    assert analysis(table, declared=["class", "zip"]).asked == {}


def test_relations_are_correlation_ratios_and_squared_correlations():
    a = analysis(TABLE, n_components=2)
    scores = a.mapped.transform(TABLE)[:, 0]
    assert a.relations["income"][0] == pytest.approx(np.corrcoef(scores, TABLE["income"])[0, 1] ** 2)
    between = pd.Series(scores).groupby(TABLE["pet"]).transform("mean").var() / scores.var(ddof=1)
    assert a.relations["pet"][0] == pytest.approx(between)
    of_categories = analysis(TABLE[["town", "car", "pet"]], n_components=2)
    scores = of_categories.mapped.transform(TABLE[["town", "car", "pet"]])[:, 1]
    between = pd.Series(scores).groupby(TABLE["pet"]).transform("mean").var() / scores.var(ddof=1)
    assert of_categories.relations["pet"][1] == pytest.approx(between)


def test_associations_are_correlations_eta_and_cramers_v():
    a = analysis(TABLE)
    names, found = a.associations
    i, j, k, m = (names.index(name) for name in ("income", "age", "town", "pet"))
    assert found[i, j] == pytest.approx(abs(np.corrcoef(TABLE["income"], TABLE["age"])[0, 1]))
    income = TABLE["income"]
    eta2 = income.groupby(TABLE["town"]).transform("mean").var() / income.var()
    assert found[i, k] == pytest.approx(np.sqrt(eta2))
    counts = pd.crosstab(TABLE["town"], TABLE["pet"]).to_numpy() / N
    expected = counts.sum(axis=1)[:, None] * counts.sum(axis=0)
    assert found[k, m] == pytest.approx(np.sqrt(((counts - expected) ** 2 / expected).sum()))
    assert a.same == []
    twice = analysis(TABLE.assign(city=TABLE["town"].map({"Oslo": "N", "Rome": "I"})))
    assert twice.same == [("town", "city")]


def test_supplementary_columns_and_rows():
    made = report_of(
        TABLE, *SECTIONS, supplementary_columns=["age", "pet"], supplementary=TABLE.head(7).assign(pet=None)
    )
    model, sections = made.model, {section.key: section for section in made.sections}
    assert model.supplementary_coding_.names == ["age", "pet=cat", "pet=dog", "pet=none"]
    assert "age" not in model.coding_.names
    assert values(sections["map"])["supplementary"].sum() == 7
    assert "7 supplementary rows that took no part in the fit are marked." in prose(sections["map"])
    assert "age and pet are supplementary." in prose(sections["data"])
    parts = next(table for table in listings(sections["meaning"]) if "part" in table.columns)
    assert dict(zip(parts.rows, parts["part"], strict=True))["pet"] == "supplementary"
    with pytest.raises(ValueError, match="supplementary has no column"):
        report_of(TABLE, *SECTIONS, supplementary=TABLE[["age", "pet"]])


def test_weights_hue_and_labels():
    made = report_of(TABLE, *SECTIONS, sample_weight=1 + np.arange(N) % 3, hue="pet", labels="who")
    assert made.model.total_weight_ == (1 + np.arange(N) % 3).sum()
    assert "pet" not in made.model.levels_
    drawn = values(next(section for section in made.sections if section.key == "map"))
    assert drawn["groups"][0]["name"] == "pet" and drawn["labels"][0] == "person 0"


def test_given_models():
    fitted = lowdim.FAMD(2, categorical_features=["class"]).fit(TABLE[["income", "class", "town"]])
    made = report_of(TABLE, *SECTIONS, model=fitted)
    assert made.model is fitted
    assert "age, car and pet (for each of them, the model does not use it)" in made.summary[0]
    asked = report_of(TABLE, "data", model=lowdim.FAMD(2, min_frequency=0.1)).model
    assert asked.n_components_ == 2 and asked.min_frequency == 0.1
    of_groups = lowdim.MFA(2, groups={"money": ["income", "class"], "life": ["town", "car"]})
    assert isinstance(report_of(TABLE, *SECTIONS, model=of_groups).model, lowdim.MFA)
    passive = report_of(TABLE.assign(pet=TABLE["pet"].where(SIZE > -1)), model=lowdim.MCA(2, missing="passive"))
    assert isinstance(passive.model, lowdim.MCA) and passive.model.missing == "passive"
    numbers = lowdim.MFA(2, groups={"money": ["income"], "life": ["age", "class"]})
    assert report_of(TABLE[["income", "age", "class"]], *SECTIONS, model=numbers).model.group_names_ == [
        "money",
        "life",
    ]
    with pytest.raises(ValueError, match="does not have"):
        report_of(TABLE.drop(columns="town"), model=fitted)
    with pytest.raises(TypeError, match="CA is about a table of counts"):
        report_of(TABLE, model=lowdim.CA(1))
    with pytest.raises(ValueError, match="min_frequency"):
        report_of(TABLE, model=lowdim.FAMD(2), min_frequency=3)
    with pytest.raises(ValueError, match="at least 2 columns that vary, and the table has none; income: MCA is"):
        report_of(TABLE[["income", "age"]], model=lowdim.MCA(2))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"categorical_features": ["clas"]}, "there is no column 'clas'"),
        ({"categorical_features": ["class"], "y": "age"}, "y makes one about numbers only"),
        ({"min_frequency": 3, "scale": False}, "scale=False makes one about numbers only"),
        ({"min_frequency": 0}, "min_frequency=0"),
        ({"supplementary_columns": "who"}, "supplementary_columns: 'who' cannot be analysed, since it identifies"),
        ({"n_components": 99}, "n_components=99"),
    ],
)
def test_what_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        report_of(TABLE, **options)
    with pytest.raises(ValueError, match="min_frequency=3 is for categories"):
        report_of(TABLE[["income", "age"]], min_frequency=3)


def test_the_model_can_be_saved_and_read_from_the_page(tmp_path):
    made = lowdim.report(TABLE, tmp_path / "a.html", categorical_features=["class"])
    (stored,) = (download for section in made.sections for download in section.downloads)
    (tmp_path / stored.name).write_bytes(stored.content)
    model = lowdim.load(tmp_path / stored.name)
    np.testing.assert_allclose(model.transform(TABLE), made.model.transform(TABLE), atol=1e-12)
    np.testing.assert_allclose(geometry(model).coordinates, geometry(made.model).coordinates, atol=1e-12)
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert "lowdim.report(X, " in text and "categorical_features=[&#39;class&#39;]" in text
    assert os.path.getsize(tmp_path / "a.html") == made.n_bytes


def test_a_brief_page(tmp_path):
    made = lowdim.report(TABLE, tmp_path / "a.html", brief=True)
    assert [section.key for section in made.sections] == ["map"] and len(made.summary) >= 3


def test_the_sections_are_those_of_the_table():
    keys = [section.key for section in report_of(TABLE, *SECTIONS).sections]
    assert keys == ["data", "how-many", "map", "meaning", "computed"]
    assert set(build.MIXED_SECTIONS) <= set(build.SECTIONS)
