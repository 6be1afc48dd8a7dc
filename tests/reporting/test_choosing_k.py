"""The section on the number of components: its sentences and charts against the answers of the rules."""

import numpy as np

from lowdim import PCA, choose_n_components
from lowdim.reporting import choosing_k
from lowdim.reporting import columns as report_columns
from lowdim.reporting.blocks import Chart, Listing, Prose
from lowdim.selection import RULES
from reporting.tables import analysis

RANDOM = np.random.default_rng(11)
#: Three groups of columns, each with a component of its own.
X = RANDOM.normal(size=(600, 3))[:, [0, 1, 2] * 3 + [0]] + 0.5 * RANDOM.normal(size=(600, 10))


def _parts(section):
    text = "\n".join(block.text for block in section.blocks if isinstance(block, Prose))
    return text, {block.key: block for block in section.blocks if isinstance(block, Chart)}


def test_sentences_and_the_table_of_rules():
    section = choosing_k.section(analysis(X))
    text, _ = _parts(section)
    expected = choose_n_components(X)
    variances = np.linalg.eigvalsh(np.cov(X, rowvar=False))[::-1]
    reached = 100 * np.cumsum(variances) / variances.sum()
    assert "The report uses 3 components, as parallel analysis says" in text
    assert section.summary == f"The report uses 3 components, which together hold {reached[2]:.1f}% of the variance."
    assert f"The first component holds {reached[0]:.1f}% of the variance, the first two {reached[1]:.1f}%" in text
    needed = [int(np.argmax(reached >= level)) + 1 for level in (80, 90, 95)]
    assert "80% takes {}, 90% takes {} and 95% takes {}".format(*needed) in text
    agree = sum(expected[rule].k == 3 for rule in expected)
    assert f"Of 12 rules, {agree} say 3 (" in text
    (table,) = (block.table for block in section.blocks if isinstance(block, Listing))
    assert table["components"].tolist() == [expected[rule].k for rule in expected]


def test_every_rule_is_in_the_scree():
    a = analysis(X)
    _, charts = _parts(choosing_k.section(a))
    chart = charts["scree"]
    np.testing.assert_allclose(chart.data[0]["y"], a.choices.eigenvalues.values[:10])
    lines = {trace["name"]: trace for trace in chart.data[1:-1]}
    assert len(lines) == len(RULES)
    assert [name for name, trace in lines.items() if trace["visible"] is True] == ["parallel analysis: 3"]
    np.testing.assert_allclose(lines["parallel analysis: 3"]["y"], a.choices["parallel"].curve[:10])
    answers = dict(zip(chart.data[-1]["y"], chart.data[-1]["x"].tolist(), strict=True))
    assert "the diamond is parallel analysis." in chart.caption
    assert answers["BIC"] == a.choices["bic"].k
    assert len(answers) == len(RULES)


def test_cross_validated_curve_with_errors():
    a = analysis(X)
    text, charts = _parts(choosing_k.section(a))
    result = a.choices["cv"].cross_validation
    curve = charts["cross-validation"].data[0]
    np.testing.assert_allclose(curve["y"], result.per_split[:, 0].mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(
        curve["error_y"]["array"], result.per_split[:, 0].std(axis=0, ddof=1) / np.sqrt(5), rtol=1e-12
    )
    assert f"described best with {result.best} components" in text


def test_shares_of_the_variance():
    _, charts = _parts(choosing_k.section(analysis(X)))
    bars, line = charts["variance"].data
    expected = PCA().fit(X).explained_variance_ratio_
    np.testing.assert_allclose(bars["y"], 100 * expected)
    np.testing.assert_allclose(line["y"], 100 * np.cumsum(expected))


def test_no_component_stands_out():
    section = choosing_k.section(analysis(RANDOM.normal(size=(200, 6))))
    text, _ = _parts(section)
    assert text.startswith("No component stands out: by parallel analysis")
    assert "although no component stands out from noise" in section.summary


def test_what_was_asked_for():
    text, _ = _parts(choosing_k.section(analysis(X, n_components=5)))
    assert text.startswith("The report uses 5 components, as was asked for.")
    assert "follow parallel analysis and use 3" in text
    text, _ = _parts(choosing_k.section(analysis(X, model=PCA(4).fit(X))))
    assert text.startswith("The given model has 4 components.")


def test_rows_that_are_not_in_memory_are_not_read_again(monkeypatch):
    monkeypatch.setattr(report_columns, "_HELD_BYTES", 0)
    a = analysis(X)
    a.first  # noqa: B018
    monkeypatch.setattr(type(a.opened.rows), "blocks", lambda *_: 1 / 0)
    text, charts = _parts(choosing_k.section(a))
    assert "which were not read again" in text
    assert "cross-validation" in charts


def test_one_component_needs_no_section():
    assert choosing_k.section(analysis(X[:, :1])) is None
