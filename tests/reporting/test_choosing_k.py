"""The section on the number of components: its sentences, charts and the number that the report uses, against
`choose_n_components`."""

import re

import numpy as np
import pytest
from sklearn.datasets import load_linnerud

from lowdim import PCA, PPCA, choose_n_components
from lowdim.selection import RULES
from reporting.tables import charts, listings, prose, report_of, section_of

RANDOM = np.random.default_rng(11)
#: Three groups of columns, each with a component of its own.
X = RANDOM.normal(size=(600, 3))[:, [0, 1, 2] * 3 + [0]] + 0.5 * RANDOM.normal(size=(600, 10))
UNITS = X * 10.0 ** np.arange(-2, 8)


@pytest.fixture(scope="module")
def section():
    return section_of(X, "how-many")


@pytest.fixture(scope="module")
def expected():
    return choose_n_components(X, random_state=0)


def test_sentences_and_the_table_of_rules(section, expected):
    text = prose(section)
    variances = np.linalg.eigvalsh(np.cov(X, rowvar=False))[::-1]
    reached = 100 * np.cumsum(variances) / variances.sum()
    assert "The report uses 3 components, as parallel analysis says" in text
    held = f"together they hold {reached[2]:.1f}% of the variance."
    assert section.summary == f"The report uses 3 components, as parallel analysis says; {held}"
    assert f"The first component holds {reached[0]:.1f}% of the variance, the first two {reached[1]:.1f}%" in text
    needed = [int(np.argmax(reached >= level)) + 1 for level in (80, 90, 95)]
    assert "80% takes {}, 90% takes {} and 95% takes {}".format(*needed) in text
    asked = "Which components stand out from noise? 3 by parallel analysis"
    assert asked in text and f"How many keep 90% of the variance? {needed[1]}." in text
    (table,) = listings(section)
    assert list(expected) == list(RULES)
    assert table["components"].tolist() == [expected[rule].k for rule in RULES]


def test_every_rule_is_in_the_scree(section, expected):
    chart = charts(section)["scree"]
    np.testing.assert_allclose(chart.data[0]["y"], expected.eigenvalues.values[:10])
    lines = {trace["name"]: trace for trace in chart.data[1:-1]}
    assert len(lines) == len(RULES)
    assert [name for name, trace in lines.items() if trace["visible"] is True] == ["parallel analysis: 3"]
    np.testing.assert_allclose(lines["parallel analysis: 3"]["y"], expected["parallel"].curve[:10])
    answers = dict(zip(chart.data[-1]["y"], chart.data[-1]["x"].tolist(), strict=True))
    assert "the diamond is parallel analysis." in chart.caption
    assert answers["BIC"] == expected["bic"].k
    assert len(answers) == len(RULES)


def test_cross_validated_curve_with_errors(section, expected):
    result = expected["cv"].cross_validation
    curve = charts(section)["cross-validation"].data[0]
    np.testing.assert_allclose(curve["y"], result.per_split[:, 0].mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(
        curve["error_y"]["array"], result.per_split[:, 0].std(axis=0, ddof=1) / np.sqrt(5), rtol=1e-12
    )
    assert f"described best with {result.best} components" in prose(section)


def test_each_rule_answers_one_question(section, expected):
    text = prose(section)
    (line,) = (line for line in text.splitlines() if "Which components" in line)
    answers = dict(re.findall(r"(Which components|How many|With how many)[^?]*\? ([^.]*)\.", line))
    of_models = answers["With how many"]
    for rule, name in {"cv": "cross-validation", "bic": "BIC", "aic": "AIC", "minka": "Minka's evidence"}.items():
        (said,) = (part for part in of_models.split("; ") if name in part)
        assert said.startswith(f"{expected[rule].k} by ")
    # All other rules but the share of the variance answer the first question.
    said = re.findall(r"(\d+) by ([^;]*)", answers["Which components"])
    others = set(RULES) - {"cv", "bic", "aic", "minka", "proportion"}
    assert {int(k) for k, _ in said} == {expected[rule].k for rule in others}


def test_shares_of_the_variance(section):
    bars, line = charts(section)["variance"].data
    expected = PCA().fit(X).explained_variance_ratio_
    np.testing.assert_allclose(bars["y"], 100 * expected)
    np.testing.assert_allclose(line["y"], 100 * np.cumsum(expected))


def test_no_component_stands_out_and_there_is_always_one():
    made = report_of(RANDOM.normal(size=(200, 6)), "how-many")
    section = made.sections[0]
    assert prose(section).startswith("No component stands out: by parallel analysis")
    assert "although by parallel analysis none stands out from noise" in section.summary
    assert listings(section)[0].row("parallel analysis")["components"] == 0
    assert made.model.n_components_ == 1


def test_cross_validation_that_is_not_certain_is_said_to_be_so():
    rows = load_linnerud().data
    result = choose_n_components(rows, "cv", scale=True)["cv"].cross_validation
    assert result.best > result.one_standard_error == 0
    said = f"described best with {result.best} component"
    text = prose(section_of(rows, "how-many"))
    assert said in text and "but hardly better than with none (by less than one standard error)" in text


def test_what_was_asked_for_comes_first():
    made = report_of(X, "how-many", n_components=5)
    text = prose(made.sections[0])
    assert text.startswith("The report uses 5 components, as was asked for.")
    assert "follow parallel analysis and use 3" in text
    assert made.model.n_components_ == 5
    for model in (PCA(4).fit(X), PPCA(2).fit(X)):
        made = report_of(X, "how-many", model=model)
        assert prose(made.sections[0]).startswith(f"The given model has {model.n_components_} components.")
        assert made.model is model


def test_more_components_than_rows_are_refused():
    with pytest.raises(ValueError, match="n_components=7"):
        report_of(X[:5], n_components=7)


class Counted:
    """Rows for Dask, which count how often an entry of the first row is asked for."""

    shape, dtype, ndim = X.shape, X.dtype, 2

    def __init__(self):
        self.read = 0

    def __getitem__(self, key):
        found = X[key]
        self.read += found.size > 0 and found[0, 0] == X[0, 0]
        return found


def test_rows_that_are_not_in_memory_are_not_read_again(not_held):
    dask = pytest.importorskip("dask.array")
    rows = Counted()
    table = dask.from_array(rows, chunks=(200, 10))
    before = report_of(table).sections[-1]
    assert prose(before)
    once, rows.read = rows.read, 0
    section = section_of(table, "how-many")
    assert rows.read == once
    assert "which were not read again" in prose(section)
    assert "cross-validation" in charts(section)


def test_one_column_has_no_report():
    with pytest.raises(ValueError, match="at least 2 columns"):
        section_of(X[:, :1], "how-many")


@pytest.mark.parametrize("table", [X, UNITS], ids=["same units", "different units"])
def test_rows_and_pieces_give_the_answers_of_the_rules(held, table):
    made = report_of(table, "how-many")
    assert made.model.scale == (table is UNITS) and made.model.n_components_ == 3
    expected = choose_n_components(table, scale=made.model.scale, random_state=0)
    section = made.sections[0]
    # Folds of rows that are not in memory are others.
    compared = [rule for rule in RULES if held or rule != "cv"]
    said = dict(zip(RULES, listings(section)[0]["components"], strict=True))
    assert {rule: said[rule] for rule in compared} == {rule: expected[rule].k for rule in compared}
    scree = charts(section)["scree"]
    drawn = len(scree.data[0]["y"])
    np.testing.assert_allclose(scree.data[0]["y"], expected.eigenvalues.values[:drawn], rtol=1e-8)
    thresholds = [rule for rule in RULES if expected[rule].kind == "thresholds"]
    assert len(thresholds) == len(scree.table.columns) - 1 > 2
    for rule, column in zip(thresholds, scree.table.columns[1:], strict=True):
        curve = scree.table[column]
        np.testing.assert_allclose(curve[~np.isnan(curve)], expected[rule].curve[:drawn], rtol=1e-6)


def test_weights_repeat_rows():
    weights = RANDOM.integers(1, 4, 600)
    section = section_of(X, "how-many", sample_weight=weights.astype(float))
    expected = choose_n_components(np.repeat(X, weights, axis=0), ["bic", "kaiser", "proportion"])
    said = dict(zip(RULES, listings(section)[0]["components"], strict=True))
    for rule in expected:
        assert said[rule] == expected[rule].k
    np.testing.assert_allclose(charts(section)["scree"].data[0]["y"], expected.eigenvalues.values, rtol=1e-9)
