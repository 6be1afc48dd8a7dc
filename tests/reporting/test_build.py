"""The function that writes a report: what it refuses, what it returns, and that nothing is left after an error."""

import os

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

import lowdim
from lowdim.reporting import build
from lowdim.reporting.blocks import Section
from lowdim.reporting.build import Report, call_of

IRIS = load_iris(as_frame=True)
NAMED = IRIS.data.assign(species=IRIS.target_names[IRIS.target])


@pytest.fixture
def sections(monkeypatch):
    """One section, which says something at the top of the page; the others take their time."""
    made = {
        "data": lambda a: Section("data", "The data", "What there is.", [], summary=f"There are {a.n} rows."),
        "nothing": lambda a: None,
    }
    monkeypatch.setattr(build, "SECTIONS", made)
    return made


@pytest.fixture
def not_computed(monkeypatch):
    """Fails if a table is opened."""

    def opened(*args, **more):
        raise AssertionError("the table was opened")

    monkeypatch.setattr(build, "OpenedTable", opened)


def test_the_result_says_what_was_written(sections, tmp_path):
    path = tmp_path / "iris.html"
    made = lowdim.report(NAMED, path, labels="species", title="Iris")
    assert isinstance(made, Report) and made.path == str(path) and made.n_bytes == path.stat().st_size
    assert [section.key for section in made.sections] == ["data", "computed"]
    assert made.summary == ("There are 150 rows.",)
    assert isinstance(made.model, lowdim.PCA) and made.model.n_samples_ == 150
    assert str(made).splitlines() == ["There are 150 rows.", f"written to {path} ({made.n_bytes / 1e6:.1f} MB)"]
    assert repr(made) == f"Report({str(path)!r}: data, computed)"
    text = path.read_text(encoding="utf-8")
    assert "<title>Iris" in text and "There are 150 rows." in text and "150 rows, 4 columns" in text


def test_a_whole_report(tmp_path):
    made = lowdim.report(NAMED, tmp_path / "iris.html", labels="species", response="sepal length (cm)")
    keys = [section.key for section in made.sections]
    assert keys == [key for key in (*build.SECTIONS, "computed") if key in keys]
    assert {"map", "two-tables", "beyond", "computed"} <= set(keys) and made.summary
    assert all(sentence.endswith(".") and sentence == sentence.strip() for sentence in made.summary)


@pytest.mark.parametrize("scale", [1e150, 1e-150])
def test_a_table_of_any_scale(scale, tmp_path):
    X = IRIS.data * scale
    X.iloc[::20, 1] = np.nan
    made = lowdim.report(X, tmp_path / "a.html", response=X.columns[0], other=scale * IRIS.data.iloc[:, 1:3].to_numpy())
    assert {"map", "missing", "two-tables", "beyond"} <= {section.key for section in made.sections}


@pytest.mark.parametrize("standardize", [False, True])
def test_a_model_that_was_fitted_to_a_constant_column(standardize, tmp_path):
    X = np.column_stack([IRIS.data, np.full(150, 3.0)])
    made = lowdim.PCA(2, standardize=standardize).fit(X).report(X, tmp_path / "a.html")
    assert "1 holds one number only" in made.sections[0].blocks[0].text
    with pytest.raises(ValueError, match="at least 2 columns of numbers that vary, and the table has none"):
        made.model.report(np.ones((20, 5)), tmp_path / "b.html")


def test_a_file_is_replaced_only_if_that_is_asked_for(not_computed, tmp_path):
    path = tmp_path / "a.html"
    path.write_text("mine")
    with pytest.raises(FileExistsError, match="exists already"):
        lowdim.report(NAMED, path)
    assert path.read_text() == "mine"


def test_a_file_is_replaced(sections, tmp_path):
    path = tmp_path / "a.html"
    path.write_text("mine")
    lowdim.report(NAMED, path, overwrite=True)
    assert path.stat().st_size > 1000 and os.listdir(tmp_path) == ["a.html"]


@pytest.mark.parametrize(
    ("path", "error", "message"),
    [
        ("a.txt", ValueError, "must end with .html"),
        ("nowhere/a.html", FileNotFoundError, "there is no directory"),
        (3, TypeError, "must be a string or a Path"),
    ],
)
def test_places_that_cannot_be_written(not_computed, tmp_path, monkeypatch, path, error, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=message):
        lowdim.report(NAMED, path)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_components": 0}, ValueError, "n_components=0 must be a whole number of at least 1"),
        ({"n_components": True}, ValueError, "n_components=True"),
        ({"n_components": 2.5}, ValueError, "n_components=2.5"),
        ({"model": "pca"}, TypeError, "model must be a model of lowdim"),
        ({"model": lowdim.GCCA()}, TypeError, "GCCA"),
        ({"model": lowdim.PCA(2), "n_components": 3}, ValueError, "leave n_components out"),
        ({"model": lowdim.PCA(2), "standardize": True}, ValueError, "leave standardize out"),
        ({"standardize": "yes"}, ValueError, "standardize='yes'"),
    ],
)
def test_arguments_that_are_wrong_for_any_table(not_computed, tmp_path, options, error, message):
    with pytest.raises(error, match=message):
        lowdim.report(NAMED, tmp_path / "a.html", **options)


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        (NAMED, {"n_components": 5}, "n_components=5"),
        (NAMED.head(2), {}, "at least 3 rows, and the table has 2"),
        (NAMED[["species", "sepal length (cm)"]], {}, "at least 2 columns"),
        (NAMED.assign(**dict.fromkeys(IRIS.data.columns[1:], 1.0)), {}, "at least 2 columns"),
        (NAMED, {"labels": "specie"}, "Did you mean 'species'"),
        (NAMED, {"labels": np.arange(9)}, "labels has 9 entries, X has 150 rows"),
        (NAMED, {"ids": np.arange(9)}, "ids has 9 entries"),
        (NAMED, {"sample_weight": np.ones(9)}, "sample_weight has 9 entries"),
        (NAMED, {"response": np.ones(9)}, "response has 9 rows, X has 150"),
        (NAMED, {"other": np.ones((9, 2))}, "other has 9 rows, X has 150"),
        (NAMED, {"model": lowdim.PCA(2).fit(IRIS.data.rename(columns=str.upper))}, "SEPAL LENGTH"),
        (IRIS.data.to_numpy(), {"model": lowdim.PCA(2).fit(np.eye(5))}, "was fitted to 5 columns, and 4 of the table"),
        (NAMED, {"model": lowdim.PLSRegression(2)}, "pass it as response or other"),
    ],
)
def test_what_does_not_go_with_the_table(tmp_path, table, options, message):
    with pytest.raises(ValueError, match=message):
        lowdim.report(table, tmp_path / "a.html", **options)
    assert os.listdir(tmp_path) == []


def test_an_interruption_leaves_nothing_and_harms_nothing(sections, tmp_path, monkeypatch):
    path = tmp_path / "a.html"
    path.write_text("mine")

    def interrupted(document):
        raise KeyboardInterrupt

    monkeypatch.setattr(build, "render", interrupted)
    with pytest.raises(KeyboardInterrupt):
        lowdim.report(NAMED, path, overwrite=True)
    assert path.read_text() == "mine" and os.listdir(tmp_path) == ["a.html"]


def test_a_model_reports_itself(sections, tmp_path):
    pca = lowdim.PCA(3).fit(IRIS.data.iloc[:, 1:])
    made = pca.report(NAMED, tmp_path / "a.html")
    assert made.model is pca
    again = lowdim.PCA(3).report(NAMED, tmp_path / "b.html", labels="species")
    assert again.model.n_features_in_ == 4 and again.model.n_components_ == 3
    assert lowdim.PCA.report is lowdim.reporting.of_model and "X" in str(lowdim.PCA(1).report.__doc__)


def test_a_model_of_two_tables_is_fitted_to_the_response(sections, tmp_path):
    made = lowdim.PLSRegression(2).report(NAMED, tmp_path / "a.html", response="petal width (cm)")
    expected = lowdim.PLSRegression(2).fit(IRIS.data.iloc[:, :3], IRIS.data.iloc[:, 3])
    assert np.allclose(made.model.coef_, expected.coef_)


def test_missing_packages_are_named_before_the_work(not_computed, tmp_path, monkeypatch):
    def missing(name):
        raise ModuleNotFoundError(name)

    monkeypatch.setattr("lowdim.reporting.page.import_module", missing)
    with pytest.raises(ImportError, match=r"pip install 'lowdim\[report\]'"):
        lowdim.report(NAMED, tmp_path / "a.html")


def test_the_call_is_written_down(tmp_path):
    defaults = {"labels": None, "n_components": None, "response": None}
    given = {"labels": ["a", "b"], "n_components": 3, "response": np.ones(3)}
    assert call_of("t.csv", "r.html", given, defaults) == (
        "lowdim.report('t.csv', 'r.html', labels=['a', 'b'], n_components=3, response=response)"
    )
    assert call_of(np.ones(3), "r.html", defaults, defaults) == "lowdim.report(X, 'r.html')"
    path = tmp_path / "t.csv"
    pd.DataFrame({"a": [1.0], "b": [2.0]}).to_csv(path, index=False)
    scan = lowdim.scan(path, columns=["a", "b"], exclude=["b"])
    assert call_of(scan, "r.html", defaults, defaults) == (
        f"lowdim.report(lowdim.scan({str(path)!r}, columns=['a', 'b'], exclude=['b']), 'r.html')"
    )


def test_the_call_in_the_report_makes_the_same_report(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    NAMED.to_csv("iris.csv", index=False)
    first = lowdim.report("iris.csv", "first.html", labels="species", n_components=3, random_state=5)
    (call,) = (
        block.text.removeprefix("The same page is made by: ")
        for block in first.sections[-1].blocks
        if getattr(block, "text", "").startswith("The same page is made by: ")
    )
    assert call == "lowdim.report('iris.csv', 'first.html', labels='species', n_components=3, random_state=5)"
    again = eval(call.replace("first.html", "again.html"), {"lowdim": lowdim})
    assert again.summary == first.summary
    for one, two in zip(first.sections[:-1], again.sections[:-1], strict=True):
        assert one.lead == two.lead and [str(b) for b in one.blocks] == [str(b) for b in two.blocks]
