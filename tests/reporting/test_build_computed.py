"""What the last section says: versions, the model as a file, what the page holds, and references."""

import numpy as np
import pytest
import scipy
import sklearn
from sklearn.datasets import load_iris

import lowdim
from lowdim.errors import LowdimWarning, without_warnings
from lowdim.reporting import build as computed
from lowdim.reporting.analysis import Analysis, Request
from lowdim.reporting.blocks import Listing, Prose, Section, Widget
from lowdim.reporting.build import REFERENCES, SECTIONS, references_of
from lowdim.reporting.columns import OpenedTable

IRIS = load_iris(as_frame=True).data


def section_of(X=IRIS, others=(), request=None, **given):
    with without_warnings(LowdimWarning):
        a = Analysis(OpenedTable(X, **given), request or Request(n_components=2))
        return computed.computed_section(a, others, {"reading the table": 0.25})


def words(section):
    return " ".join(block.text for block in section.blocks if isinstance(block, Prose))


def tables(section):
    return {block.table.title: block.table for block in section.blocks if isinstance(block, Listing)}


def test_what_was_used():
    section = section_of(request=Request(n_components=2, random_state=7, command="lowdim report iris.csv"))
    facts = tables(section)["What was used"]
    found = dict(zip(facts.rows, facts["value"], strict=True))
    assert found["rows"] == "150" and found["columns analysed"] == "4 of 4" and found["seed"] == "7"
    assert (found["NumPy"], found["SciPy"]) == (np.__version__, scipy.__version__)
    assert (found["scikit-learn"], found["lowdim"]) == (sklearn.__version__, lowdim.__version__)
    assert int(found["plotly.js"].split(".")[0]) >= 3
    text = words(section)
    assert "PCA with 2 components, of 4 columns." in text and "solved directly, to rounding" in text
    assert "The same page is made by: lowdim report iris.csv" in text
    assert tables(section)["How long the parts took"].row("reading the table") == {"seconds": 0.25}


def test_the_model_can_be_saved_and_read(tmp_path):
    section = section_of()
    (download,) = section.downloads
    path = tmp_path / download.name
    path.write_bytes(download.content)
    expected = lowdim.PCA(2).fit(IRIS)
    model = lowdim.load(path)
    assert np.allclose(model.components_, expected.components_) and list(model.feature_names_in_) == list(IRIS)
    assert "holds rows" not in words(section)


def test_a_model_that_holds_rows_says_so(monkeypatch):
    request = Request(model=lowdim.KernelPCA(2, kernel="rbf"))
    section = section_of(request=request)
    assert len(section.downloads) == 1 and "It holds rows of the table" in words(section)
    monkeypatch.setattr(computed, "_LARGEST_WITH_ROWS", 100)
    section = section_of(request=request)
    assert not section.downloads and "The model is not part of the page: it holds rows of the table" in words(section)


def test_a_model_that_cannot_be_stored():
    request = Request(model=lowdim.KernelPCA(2, kernel=lambda x, y: x @ y.T))
    section = section_of(request=request)
    assert not section.downloads and "cannot be stored" in words(section)


def test_what_the_page_holds_of_the_table():
    values = {"numbers": np.arange(40), "columns": [{"name": "a"}, {"name": "b"}], "ids": None}
    others = [Section("map", "The map", "", [Widget("map", "map", "", "", values)])]
    labels = np.repeat(["u", "v"], 75)
    text = words(section_of(others=others, labels=labels))
    assert (
        "For 40 of the 150 rows it holds their positions on the map, their entries in 2 columns and their category "
        "(label)." in text
    )
    all_rows = {**values, "numbers": np.arange(150), "ids": ["x"] * 150}
    others = [Section("map", "The map", "", [Widget("map", "map", "", "", all_rows)])]
    assert "For all 150 rows it holds their positions on the map, their entries in 2 columns and their names." in words(
        section_of(others=others)
    )


def test_references_are_those_of_what_was_used():
    assert any("Hotelling" in text for text in references_of(lowdim.PCA(), ["other"]))
    assert not any("Hotelling" in text for text in references_of(lowdim.PCA(), ["response"]))
    once = references_of(lowdim.PPCA(), ["missing"])
    assert len(once) == len({text.split(": ", 1)[1] for text in once})
    known = {*SECTIONS, "response", "other", *lowdim.models.__all__}
    assert set(REFERENCES) <= known


@pytest.mark.parametrize("model", [lowdim.PPCA(2), lowdim.FactorAnalysis(1), lowdim.ICA(2), lowdim.Whitening()])
def test_other_models(model):
    section = section_of(request=Request(model=model))
    assert f"The report is about {type(model).__name__}" in words(section) and len(section.downloads) == 1
