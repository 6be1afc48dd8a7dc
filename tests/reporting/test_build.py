"""The function that writes a report: what it refuses and returns, and that nothing is left after an error; and its last
section: versions, the model as a file, what the page holds, and references."""

import os
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy
import sklearn
from sklearn.datasets import load_iris

import lowdim
from lowdim.reporting import page
from reporting.tables import listings, only, prose, report_of, values

IRIS = load_iris(as_frame=True)
NAMED = IRIS.data.assign(species=IRIS.target_names[IRIS.target])
KEYS = ["data", "how-many", "map", "meaning", "misfits", "rebuilding", "two-tables", "missing", "beyond", "computed"]


@pytest.fixture
def unread():
    """Rows that must not be read."""

    def rows():
        raise AssertionError("the table was read")
        yield

    return rows()


@pytest.fixture
def short():
    """Reports have their first and last section only."""
    with only("data"):
        yield


def test_the_result_says_what_was_written(short, tmp_path):
    path = tmp_path / "iris.html"
    made = lowdim.report(NAMED, path, hue="species", title="Iris")
    said = "The report is about 150 rows and 4 columns of numbers; no entry is missing."
    said += " species tells groups of rows apart."
    assert made.path == str(path) and made.n_bytes == path.stat().st_size
    assert [section.key for section in made.sections] == ["data", "computed"]
    assert made.summary == (said,) and made.sections[0].summary == said
    assert isinstance(made.model, lowdim.PCA) and made.model.n_samples_ == 150
    assert str(made).splitlines() == [said, f"written to {path} ({made.n_bytes / 1e6:.1f} MB)"]
    assert repr(made) == f"Report({str(path)!r}: data, computed)"
    text = path.read_text(encoding="utf-8")
    assert "<title>Iris" in text and said in text and "150 rows, 4 columns" in text


def test_a_whole_report(tmp_path):
    made = lowdim.report(NAMED, tmp_path / "iris.html", hue="species", y="sepal length (cm)")
    keys = [section.key for section in made.sections]
    assert keys == [key for key in KEYS if key in keys]
    assert {"map", "two-tables", "beyond", "computed"} <= set(keys) and made.summary
    assert all(sentence.endswith(".") and sentence == sentence.strip() for sentence in made.summary)


@pytest.mark.parametrize("scale", [1e150, 1e-150])
def test_a_table_of_any_scale(scale, tmp_path):
    X = IRIS.data * scale
    X.iloc[::20, 1] = np.nan
    made = lowdim.report(X, tmp_path / "a.html", y=X.columns[0], Y=scale * IRIS.data.iloc[:, 1:3].to_numpy())
    assert [section.key for section in made.sections] == KEYS
    # The methods of all sections are described somewhere.
    text = prose(made.sections[-1])
    for author in [
        "Horn",
        "Gabriel",
        "Efron",
        "Jackson",
        "Wold",
        "Breiman",
        "Hotelling",
        "Vinod",
        "Winkler",
        "Tipping",
        "Scholkopf",
        "Hyvarinen",
        "Venna",
    ]:
        assert author in text


@pytest.mark.parametrize("scale", [False, True])
def test_a_model_that_was_fitted_to_a_constant_column(scale, tmp_path):
    X = np.column_stack([IRIS.data, np.full(150, 3.0)])
    made = lowdim.PCA(2, scale=scale).fit(X).report(X, tmp_path / "a.html")
    assert "1 holds one number only" in made.sections[0].blocks[0].text
    with pytest.raises(ValueError, match="at least 2 columns of numbers that vary, and the table has none"):
        made.model.report(np.ones((20, 5)), tmp_path / "b.html")


def test_a_file_is_replaced_only_if_that_is_asked_for(unread, tmp_path):
    path = tmp_path / "a.html"
    path.write_text("mine")
    with pytest.raises(FileExistsError, match="exists already"):
        lowdim.report(unread, path)
    assert path.read_text() == "mine"


def test_a_file_is_replaced(short, tmp_path):
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
def test_places_that_cannot_be_written(unread, tmp_path, monkeypatch, path, error, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=message):
        lowdim.report(unread, path)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_components": 0}, ValueError, "n_components=0 must be a whole number of at least 1"),
        ({"n_components": True}, ValueError, "n_components=True"),
        ({"n_components": 2.5}, ValueError, "n_components=2.5"),
        ({"model": "pca"}, TypeError, "model must be a model of lowdim"),
        ({"model": lowdim.GCCA()}, TypeError, "GCCA"),
        ({"model": lowdim.PCA(2), "n_components": 3}, ValueError, "leave n_components out"),
        ({"model": lowdim.PCA(2), "scale": True}, ValueError, "leave scale out"),
        ({"scale": "yes"}, ValueError, "scale='yes'"),
    ],
)
def test_arguments_that_are_wrong_for_any_table(unread, tmp_path, options, error, message):
    with pytest.raises(error, match=message):
        lowdim.report(unread, tmp_path / "a.html", **options)


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        (IRIS.data, {"n_components": 5}, "n_components=5"),
        (NAMED, {"n_components": 7}, "n_components=7"),
        (NAMED.head(2), {}, "at least 3 rows, and the table has 2"),
        (NAMED[["sepal length (cm)"]], {}, "at least 2 columns of numbers"),
        (NAMED[["species"]], {}, "at least 2 columns that vary, and the table has only species"),
        (NAMED.assign(**dict.fromkeys(IRIS.data.columns, 1.0)), {}, "at least 2 columns"),
        (NAMED, {"hue": "specie"}, "Did you mean 'species'"),
        (NAMED, {"hue": np.arange(9)}, "hue has 9 entries, X has 150 rows"),
        (NAMED, {"labels": np.arange(9)}, "labels has 9 entries"),
        (NAMED, {"sample_weight": np.ones(9)}, "sample_weight has 9 entries"),
        (NAMED, {"y": np.ones(9)}, "y has 9 rows, X has 150"),
        (NAMED, {"Y": np.ones((9, 2))}, "Y has 9 rows, X has 150"),
        (NAMED, {"model": lowdim.PCA(2).fit(IRIS.data.rename(columns=str.upper))}, "SEPAL LENGTH"),
        (IRIS.data.to_numpy(), {"model": lowdim.PCA(2).fit(np.eye(5))}, "was fitted to 5 columns, and 4 of the table"),
        (NAMED, {"model": lowdim.PLSRegression(2)}, "pass it as y or Y"),
    ],
)
def test_what_does_not_go_with_the_table(tmp_path, table, options, message):
    with pytest.raises(ValueError, match=message):
        lowdim.report(table, tmp_path / "a.html", **options)
    assert os.listdir(tmp_path) == []


def test_an_interruption_leaves_nothing_and_harms_nothing(short, tmp_path, monkeypatch):
    path = tmp_path / "a.html"
    path.write_text("mine")
    written = []

    def interrupted(self, text, **options):
        self.write_bytes(text[:1000].encode())
        written.append(self)
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "write_text", interrupted)
    with pytest.raises(KeyboardInterrupt):
        lowdim.report(NAMED, path, overwrite=True)
    assert len(written) == 1 and written != [path]
    assert path.read_text() == "mine" and os.listdir(tmp_path) == ["a.html"]


def test_a_model_reports_itself(short, tmp_path):
    pca = lowdim.PCA(3).fit(IRIS.data.iloc[:, 1:])
    made = pca.report(NAMED, tmp_path / "a.html")
    assert made.model is pca
    again = lowdim.PCA(3).report(NAMED, tmp_path / "b.html", hue="species")
    assert again.model.n_features_in_ == 4 and again.model.n_components_ == 3
    assert lowdim.PCA.report is lowdim.reporting.of_model and "X" in str(lowdim.PCA(1).report.__doc__)


def test_a_model_of_two_tables_is_fitted_to_the_response():
    made = report_of(NAMED, model=lowdim.PLSRegression(2), y="petal width (cm)")
    expected = lowdim.PLSRegression(2).fit(IRIS.data.iloc[:, :3], IRIS.data.iloc[:, 3])
    assert np.allclose(made.model.coef_, expected.coef_)


@pytest.mark.parametrize("package", ["jinja2", "plotly"])
def test_missing_packages_are_named_before_the_work(unread, tmp_path, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf"{package}.*pip install 'lowdim\[report\]'"):
        lowdim.report(unread, tmp_path / "a.html")


def _call(made):
    (said,) = (line for line in prose(made.sections[-1]).splitlines() if line.startswith("The same page is made by: "))
    return said.removeprefix("The same page is made by: ")


def test_the_call_is_written_down(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    NAMED.rename(columns={"petal width (cm)": "w", "sepal width (cm)": "v"}).to_csv("t.csv", index=False)
    with only():
        made = lowdim.report("t.csv", "r.html", hue=["species", "w"], n_components=3, y=np.arange(150.0))
        assert _call(made) == ("lowdim.report('t.csv', 'r.html', hue=['species', 'w'], n_components=3, y=y)")
        made = lowdim.report(IRIS.data.to_numpy(), Path("r.html"), overwrite=True)
        assert _call(made) == "lowdim.report(X, 'r.html')"
        scan = lowdim.scan("t.csv", columns="numeric", exclude=["w"])
        assert _call(lowdim.report(scan, "s.html")) == (
            "lowdim.report(lowdim.scan('t.csv', columns='numeric', exclude=['w']), 's.html')"
        )


def test_the_call_in_the_report_makes_the_same_report(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    NAMED.to_csv("iris.csv", index=False)
    first = lowdim.report("iris.csv", "first.html", hue="species", n_components=3, random_state=5)
    call = _call(first)
    assert call == "lowdim.report('iris.csv', 'first.html', hue='species', n_components=3, random_state=5)"
    again = eval(call.replace("first.html", "again.html"), {"lowdim": lowdim})
    assert again.summary == first.summary
    for one, two in zip(first.sections[:-1], again.sections[:-1], strict=True):
        assert one.lead == two.lead and [str(b) for b in one.blocks] == [str(b) for b in two.blocks]


def test_a_brief_report_has_the_sentences_and_the_map():
    keys = ("data", "how-many", "map", "meaning", "misfits")
    whole = report_of(NAMED, *keys, hue="species", n_components=2)
    brief = report_of(NAMED, *keys, hue="species", n_components=2, brief=True)
    (drawn,) = brief.sections
    assert drawn.key == "map" and [type(block).__name__ for block in drawn.blocks] == ["Widget"]
    meaning = next(section for section in whole.sections if section.key == "meaning")
    assert meaning.summary.startswith("PC1 (") and meaning.summary in brief.summary
    assert brief.summary == whole.summary
    # No entries of columns are in the file.
    assert values(drawn)["columns"] == [] and len(values(drawn)["numbers"]) == 150


class _Frame(HTMLParser):
    """The document in the frame of a text of HTML."""

    page = None

    def handle_starttag(self, tag, attributes):
        if tag == "iframe":
            self.page = dict(attributes)["srcdoc"]


def test_a_notebook_shows_the_page(tmp_path, monkeypatch):
    path = tmp_path / "a & b.html"
    with only("data", "map"):
        made = lowdim.report(NAMED.rename(columns={"sepal length (cm)": "<i>"}), path, n_components=2)
    frame = _Frame()
    frame.feed(made._repr_html_())
    assert frame.page == path.read_text(encoding="utf-8")
    monkeypatch.setattr(page, "_LARGEST_FRAME", 1000)
    text = made._repr_html_()
    assert "iframe" not in text and "a%20%26%20b.html" in text and "a &amp; b.html" in text
    assert text.count("<li>") == len(made.summary)
    path.unlink()
    assert "href" not in made._repr_html_() and "<li>" in made._repr_html_()


# The last section.


def _computed(X=IRIS.data, *keys, **options):
    return report_of(X, *keys, **{"n_components": None if "model" in options else 2, **options}).sections[-1]


def test_what_was_used():
    section = _computed(IRIS.data, "data", random_state=7)
    facts, times = listings(section)
    found = dict(zip(facts.rows, facts["value"], strict=True))
    assert facts.title == "What was used" and times.title == "How long the parts took"
    assert found["rows"] == "150" and found["columns analysed"] == "4 of 4" and found["seed"] == "7"
    assert (found["NumPy"], found["SciPy"]) == (np.__version__, scipy.__version__)
    assert (found["scikit-learn"], found["lowdim"]) == (sklearn.__version__, lowdim.__version__)
    assert int(found["plotly.js"].split(".")[0]) >= 3
    text = prose(section)
    assert "PCA with 2 components, of 4 columns." in text and "solved directly, to rounding" in text
    assert "The same page is made by: lowdim.report(X, " in text
    assert times.rows == ["reading the table", "The data"] and np.all(times["seconds"] >= 0)


def test_the_model_can_be_saved_and_read(tmp_path):
    section = _computed()
    (download,) = section.downloads
    path = tmp_path / download.name
    path.write_bytes(download.content)
    expected = lowdim.PCA(2).fit(IRIS.data)
    model = lowdim.load(path)
    assert np.allclose(model.components_, expected.components_) and list(model.feature_names_in_) == list(IRIS.data)
    assert "holds rows" not in prose(section)


def test_a_model_that_holds_rows_says_so():
    section = _computed(model=lowdim.KernelPCA(2, kernel="rbf"))
    assert len(section.downloads) == 1 and "It holds rows of the table" in prose(section)
    # The rows of this table take more than 1 MiB.
    many = np.random.default_rng(0).standard_normal((300, 500))
    section = _computed(many, model=lowdim.KernelPCA(2, kernel="rbf"))
    assert not section.downloads and "The model is not part of the page: it holds rows of the table" in prose(section)


def test_a_model_that_cannot_be_stored():
    section = _computed(model=lowdim.KernelPCA(2, kernel=lambda x, y: x @ y.T))
    assert not section.downloads and "cannot be stored" in prose(section)


def test_what_the_page_holds_of_the_table():
    labels = np.repeat(["u", "v"], 75)
    assert (
        "For all 150 rows it holds their positions on the map, their entries in 4 columns and their category (group)."
        in prose(_computed(IRIS.data, "map", hue=labels))
    )
    many = pd.DataFrame(np.random.default_rng(0).standard_normal((7000, 2)), columns=["a", "b"])
    made = report_of(many, "map", labels=np.arange(7000), n_components=2)
    shown = len(values(made.sections[0])["numbers"])
    assert shown < 7000
    assert (
        f"For {shown:,} of the 7,000 rows it holds their positions on the map, their entries in 2 columns and their "
        "names." in prose(made.sections[-1])
    )


def test_references_are_those_of_what_was_used():
    other = IRIS.data.iloc[:, 2:].to_numpy()
    assert "Hotelling" in prose(_computed(IRIS.data.iloc[:, :2], Y=other))
    assert "Hotelling" not in prose(_computed(IRIS.data.iloc[:, :2], y=other))
    X = IRIS.data.mask(np.random.default_rng(0).random(IRIS.data.shape) < 0.05)
    # The model and the section on missing entries have the same reference.
    text = prose(_computed(X, "missing", model=lowdim.PPCA(2)))
    assert text.count("Tipping, Bishop (1999)") == 1


@pytest.mark.parametrize(
    ("model", "author"),
    [
        (lowdim.PCA(2), "Jolliffe"),
        (lowdim.PPCA(2), "Tipping"),
        (lowdim.FactorAnalysis(1), "Joreskog"),
        (lowdim.ICA(2), "Hyvarinen"),
        (lowdim.KernelPCA(2), "Scholkopf"),
        (lowdim.Whitening(), ""),
    ],
)
def test_other_models(model, author):
    section = _computed(model=model)
    text = prose(section)
    assert f"The report is about {type(model).__name__}" in text and len(section.downloads) == 1
    assert author in text.partition("are described in:")[2]
