"""The table of a report: columns of every kind of input, categories and names of rows, and what is refused."""

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

from lowdim import CCA, PCA, report, scan
from reporting.tables import listings, only, prose, report_of, section_of, values

N = 12
NUMBERS = {"a": np.arange(N) * 1.5, "b": np.cos(np.arange(N)), "c": np.arange(N) % 5}
TEXT = {"kind": ["x", "y", "z"] * (N // 3), "who": [f"person {i}" for i in range(N)], "note": ["same"] * N}


@pytest.fixture
def csv(tmp_path):
    path = tmp_path / "people.csv"
    pd.DataFrame({**TEXT, **NUMBERS}).to_csv(path, index=False)
    return path


def _shown(X, **options):
    """What a report makes of a table: columns, rows, categories, names of rows, and its prose."""
    data, drawn, computed = report_of(X, "data", "map", n_components=2, scale=False, **options).sections
    points = values(drawn)
    names = listings(data)[0].rows
    hue = {each["name"]: np.array([*each["levels"], None])[each["codes"]].tolist() for each in points["groups"]}
    rows = np.column_stack([column["values"] for column in points["columns"][: len(names)]])
    held = listings(computed)[0].row("rows in memory")["value"]
    return names, rows, hue, points["labels"], f"{prose(data)}\nrows in memory: {held}"


HELD, NOT_HELD = "rows in memory: yes", "rows in memory: no"


def _inputs(csv):
    columns = {**TEXT, **NUMBERS}
    return {"csv": csv, "text path": str(csv), "pandas": pd.DataFrame(columns), "polars": pl.DataFrame(columns)}


@pytest.mark.parametrize("kind", ["csv", "text path", "pandas", "polars"])
def test_numbers_are_rows_and_text_names_or_colours_them(csv, kind):
    names, rows, hue, labels, text = _shown(_inputs(csv)[kind])
    assert names == list(NUMBERS) and "12 rows and 6 columns, of which 3 are analysed" in text and HELD in text
    np.testing.assert_allclose(rows, np.column_stack(list(NUMBERS.values())), rtol=1e-6)
    # The map has fewer digits than the table.
    facts = listings(section_of(_inputs(csv)[kind], "data", scale=False))[0]
    for fact, of_column in (("lowest", np.min), ("highest", np.max), ("mean", np.mean)):
        np.testing.assert_allclose(facts[fact], [of_column(column) for column in NUMBERS.values()], rtol=1e-14)
    assert hue == {"kind": TEXT["kind"]} and labels == TEXT["who"]
    assert "kind is not analysed: its entries are not numbers, but they tell groups of rows apart." in text
    assert "who and note are not analysed: their entries are not numbers." in text


def test_empty_fields_of_a_file_are_no_category_and_no_name(tmp_path):
    path, kinds = tmp_path / "people.csv", [*["x", "y", None] * (N // 3)]
    who = [*TEXT["who"][:-1], None]
    pd.DataFrame({"kind": kinds, "who": who, **NUMBERS}).to_csv(path, index=False)
    _, _, hue, labels, _ = _shown(path)
    assert hue == {"kind": kinds} and labels == [*who[:-1], f"row {N}"]


def test_columns_of_few_groups_colour_the_rows_before_those_of_many():
    random = np.random.default_rng(0)
    groups = {"maker": [f"maker {i % 20}" for i in range(60)], "type": ["small", "large"] * 30}
    table = pd.DataFrame({**groups, "a": random.normal(size=60), "b": random.normal(size=60)})
    assert list(_shown(table)[2]) == ["type", "maker"]
    assert list(_shown(table, hue="maker")[2]) == ["maker", "type"]


def test_dask():
    dask = pytest.importorskip("dask.dataframe")
    frame = dask.from_pandas(pd.DataFrame({**TEXT, **NUMBERS}), npartitions=3)
    names, rows, hue, _, _ = _shown(frame, hue="kind")
    assert names == list(NUMBERS) and hue == {"kind": TEXT["kind"]}
    np.testing.assert_allclose(rows, np.column_stack(list(NUMBERS.values())), rtol=1e-6)


def test_an_array_has_numbered_columns_and_vectors_for_categories():
    X = np.random.default_rng(0).normal(size=(N, 3)).astype(np.float32)
    made = report_of(X, "map", hue=TEXT["kind"], labels=TEXT["who"], sample_weight=np.arange(N), n_components=2)
    # The first row has no weight, and is not seen.
    names, rows, hue, labels, _ = _shown(X, hue=TEXT["kind"], labels=TEXT["who"], sample_weight=np.arange(N))
    assert names == ["x1", "x2", "x3"]
    assert hue == {"group": TEXT["kind"][1:]} and labels == TEXT["who"][1:]
    np.testing.assert_array_equal(rows, X[1:])
    expected = PCA(2).fit(np.repeat(X.astype(float), np.arange(N), axis=0))
    np.testing.assert_allclose(made.model.mean_, expected.mean_)
    np.testing.assert_allclose(made.model.explained_variance_, expected.explained_variance_)


def test_the_page_is_called_like_the_file(csv, tmp_path):
    for X, title in ((csv, "people.csv"), (scan(csv, columns=["b", "a"]), "people.csv"), (np.eye(4), "a table")):
        with only():
            made = report(X, tmp_path / "r.html", overwrite=True)
        assert f"<title>{title}</title>" in Path(made.path).read_text(encoding="utf-8")


def test_columns_that_are_named_for_a_purpose_are_no_rows(csv):
    frame = pd.read_csv(csv).assign(d=np.sin(np.arange(N)))
    names, _, hue, labels, text = _shown(frame, hue=["kind", "c"], labels="note", sample_weight="a")
    assert names == ["b", "d"] and "Rows are counted by their weights." in text
    assert hue == {"kind": TEXT["kind"][1:], "c": [str(c) for c in NUMBERS["c"][1:]]}
    assert labels == TEXT["note"][1:]


def test_a_response_and_another_table_are_read_from_columns_or_files(csv):
    frame = pd.read_csv(csv).assign(d=np.sin(np.arange(N)))
    made = report_of(frame, "data", "two-tables", y=["b", "c"], Y=np.column_stack([NUMBERS["b"], NUMBERS["c"]]))
    data, two, _ = made.sections
    assert listings(data)[0].rows == ["a", "d"]
    responses, pairs = listings(two)
    assert responses.rows == ["b", "c"] and len(pairs) == 2
    deviations = [np.std(NUMBERS[name], ddof=1) for name in ("b", "c")]
    np.testing.assert_allclose(responses["std. deviation"], deviations)
    np.testing.assert_allclose(pairs["fit"], CCA().fit(frame[["a", "d"]], frame[["b", "c"]]).correlations_)


def test_the_choice_of_a_scan_is_kept(csv):
    names, _, hue, _, _ = _shown(scan(csv, columns=["b", "kind", "a"]))
    assert names == ["b", "a"] and list(hue) == ["kind"]


def test_columns_that_are_nearly_numbers_say_why(tmp_path):
    path = tmp_path / "t.csv"
    lines = [f"{i / 2},{i * 2},{i % 7}" for i in range(40)]
    lines[30] = "15,?,2"
    path.write_text("\n".join(["a,b,c", *lines]))
    section = section_of(path, "data")
    assert listings(section)[0].rows == ["a", "c"]
    (said,) = (line for line in prose(section).splitlines() if "not analysed" in line)
    assert said.startswith("b is not analysed: not all of its entries are numbers") and "?" in said


def test_the_index_of_a_frame_names_the_rows():
    frame = pd.DataFrame(NUMBERS, index=TEXT["who"])
    assert _shown(frame)[3] == TEXT["who"]


def test_a_stream_is_held():
    blocks = np.random.default_rng(0).normal(size=(4, 6, 3))
    _, rows, _, _, text = _shown(iter(blocks))
    assert HELD in text
    np.testing.assert_allclose(rows, blocks.reshape(24, 3), rtol=1e-6)


def test_a_large_file_is_not_held(csv, not_held):
    assert NOT_HELD in _shown(csv)[4]
    assert NOT_HELD in _shown(np.column_stack(list(NUMBERS.values())))[4]


def test_supplementary_rows_are_found_by_name(csv):
    more = pd.DataFrame({"c": [1.0, 2.0], "a": [3.0, 4.0], "b": [5.0, 6.0], "further": [0, 0]})
    _, rows, _, labels, _ = _shown(csv, supplementary=more)
    np.testing.assert_array_equal(rows[-2:], [[3, 5, 1], [4, 6, 2]])
    assert labels[-2:] == ["supplementary 1", "supplementary 2"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"hue": "sort"}, "sort"),
        ({"labels": "sort"}, "sort"),
        ({"y": "sort"}, "sort"),
        ({"hue": ["x"] * 3}, "hue"),
        ({"labels": ["x"] * 3}, "labels"),
        ({"sample_weight": np.ones(3)}, "sample_weight"),
        ({"supplementary": pd.DataFrame({"a": [1.0]})}, "'b'"),
        ({"supplementary": np.ones((2, 5))}, "5 columns"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_name(csv, options, said):
    with pytest.raises(ValueError, match=said):
        report_of(csv, **options)


@pytest.mark.parametrize("argument", ["hue", "labels", "y", "Y"])
def test_names_without_columns_are_refused(argument):
    with pytest.raises(ValueError, match=f"{argument}='kind' names a column, and the columns of X have no names"):
        report_of(np.ones((3, 2)), **{argument: "kind"})


@pytest.mark.parametrize("kind", ["csv", "pandas", "polars", "scan"])
def test_columns_that_are_analysed_can_be_chosen(csv, kind):
    X = scan(csv) if kind == "scan" else _inputs(csv)[kind]
    names, _, hue, _, _ = _shown(X, columns=["c", "a"], hue="kind")
    assert names == ["c", "a"] and list(hue) == ["kind"]
    names, _, hue, labels, _ = _shown(X, exclude="b*")
    assert names == ["a", "c"] and list(hue) == ["kind"] and labels == TEXT["who"]
    assert _shown(X, columns="numeric", exclude=["a"])[0] == ["b", "c"]
    with pytest.raises(ValueError, match="has no column 'aa'"):
        report_of(X, columns=["aa", "b"])


def test_columns_of_an_array_are_chosen_by_their_numbered_names():
    X = np.column_stack(list(NUMBERS.values()))
    names, rows, *_ = _shown(X, columns=["x3", "x1"])
    assert names == ["x3", "x1"]
    np.testing.assert_allclose(rows, X[:, [2, 0]], rtol=1e-6)
    assert _shown(X, exclude="x2")[0] == ["x1", "x3"]


def test_what_is_excluded_is_left_out_of_the_choice_of_a_scan(csv):
    chosen = scan(csv, columns=["c", "b", "kind"])
    assert _shown(chosen, exclude="kind")[0] == ["c", "b"]
    assert _shown(chosen, columns=["a", "b"])[0] == ["a", "b"]


def test_a_table_without_numbers_is_refused():
    with pytest.raises(ValueError, match="kind"):
        report_of(pd.DataFrame(TEXT))


def test_categories_that_are_called_like_columns_are_still_categories():
    frame = pd.DataFrame({"a": [1.5, 2.0, 3.0], "b": [4.0, 5.0, 7.0]})
    names, _, hue, _, _ = _shown(frame, hue=["a", "b", "a"])
    assert names == ["a", "b"] and hue == {"group": ["a", "b", "a"]}


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (np.ones((3, 2)), ValueError, r"must be a vector, with one entry for each row; got shape \(3, 2\)"),
        ([[1], [2], [3]], TypeError, "must hold text or numbers; entry 0 is of type list"),
    ],
)
def test_categories_and_names_must_be_a_vector(given, error, message):
    for name in ("hue", "labels"):
        with pytest.raises(error, match=f"{name} {message}"):
            report_of(np.eye(3), **{name: given})


def test_rows_without_a_name_are_called_by_their_numbers():
    assert _shown(np.eye(4), labels=["a", None, np.nan, pd.NA])[3] == ["a", "row 2", "row 3", "row 4"]


def test_columns_of_lists_are_left_out():
    frame = pd.DataFrame(np.eye(4), columns=list("abcd")).assign(e=[[1]] * 4)
    names, _, hue, labels, text = _shown(frame)
    assert names == list("abcd") and "e is not analysed" in text and not hue and labels is None


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, 1, -1], "not be negative"),
        ([1, np.nan, 1], "nan in row 1"),
        ([0, 0, 0], "all zero"),
        (list("abc"), "numbers"),
    ],
)
def test_weights_must_be_frequencies(weights, message):
    with pytest.raises(ValueError, match=f"sample_weight must .*{message}"):
        report_of(np.eye(3), sample_weight=weights)


@pytest.mark.parametrize("names", [["a", "b", "a"], [1, "b", "1"]])
def test_columns_of_the_same_name_are_refused(names):
    frame = pd.DataFrame(np.eye(3), columns=names)
    with pytest.raises(ValueError, match=r"X has several columns with the name '[a1]'"):
        report_of(frame)
    with pytest.raises(ValueError, match="Y has several columns"):
        report_of(np.eye(3), Y=frame)


def _labelled(labels):
    """What the map has of labels: groups, and the columns behind those of the table."""
    X = np.random.default_rng(0).normal(size=(len(labels), 2))
    shown = values(section_of(X, "map", hue=labels, n_components=2))
    return shown["groups"], shown["columns"][2:]


def test_categories_become_groups():
    (group,), _ = _labelled(np.array(["oak", None, "ash", "oak"], dtype=object))
    assert (group["name"], group["levels"], group["codes"].tolist()) == ("group", ["ash", "oak"], [1, -1, 0, 1])


def test_rare_categories_become_one_group():
    counts = np.arange(1, 41)
    names = np.array([f"kind {i:02d}" for i in range(40)], dtype=object)
    (group,), _ = _labelled(np.repeat(names, counts))
    assert len(group["levels"]) == 30 and group["levels"][-1] == "11 others"
    np.testing.assert_array_equal(np.bincount(group["codes"]), [*counts[11:], counts[:11].sum()])
    assert group["levels"][:-1] == names[11:].tolist()


def test_numbers_with_many_values_are_measured_and_form_no_groups():
    octane = np.array([*np.linspace(80, 90, 60), np.nan, None], dtype=object)
    groups, (column,) = _labelled(octane)
    assert groups == [] and column["name"] == "group"
    np.testing.assert_allclose(column["values"][:60], np.linspace(80, 90, 60), rtol=1e-6)
    assert np.isnan(column["values"][60:]).all()
    (group,), columns = _labelled(np.array([3, 1, 3, 2] * 10, dtype=object))
    assert columns == [] and group["levels"] == ["1", "2", "3"]


def test_labels_that_are_all_missing_form_no_groups():
    assert _labelled(np.array([None] * 4, dtype=object)) == ([], [])


def test_a_table_without_numbers_says_why(tmp_path):
    path = tmp_path / "sums.csv"
    path.write_text("a;b\n1.234,50;2.000,10\n3.456,70;1.100,00\n5.000,00;1.300,00\n2.000,00;7.700,00\n")
    section = section_of(path, "data")
    assert "2 columns of numbers" in section.summary and "decimal commas" in section.summary
    text = pd.DataFrame({"a": ["1.234,50", "3.456,70", "1,1"], "b": ["2,5", "3,5", "4,4"]})
    with pytest.raises(ValueError, match="has columns that are not numbers: 'a', 'b'"):
        report(text, tmp_path / "r.html")
