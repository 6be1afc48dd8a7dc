"""What the section about two tables says, on tables whose answer is known."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_linnerud

from lowdim.errors import LowdimWarning, without_warnings
from lowdim.reporting import two_tables
from lowdim.reporting.analysis import Analysis, Request
from lowdim.reporting.blocks import Chart, Listing, Menu, Prose
from lowdim.reporting.columns import OpenedTable


def section_of(X, **given):
    with without_warnings(LowdimWarning):
        a = Analysis(OpenedTable(X, **given), Request())
        return a, two_tables.section(a)


def words(section):
    return " ".join(block.text for block in section.blocks if isinstance(block, Prose))


def charts(section):
    found = []
    for block in section.blocks:
        found += list(block.charts.values()) if isinstance(block, Menu) else [block] if isinstance(block, Chart) else []
    return {chart.key: chart for chart in found}


@pytest.fixture(scope="module")
def diabetes():
    return section_of(load_diabetes(as_frame=True, scaled=False).frame, response="target")


def test_one_table_has_no_such_section():
    assert section_of(np.random.default_rng(0).standard_normal((30, 3)))[1] is None


def test_a_response_that_can_be_predicted_in_part(diabetes):
    a, section = diabetes
    r = a.regression
    assert (
        f"target can be predicted in part: PLS with {r.k} components predicts {100 * r.r2[0]:.1f}%" in section.summary
    )
    text = words(section)
    assert section.title == "Prediction"
    assert section.summary in text and f"is {r.k} for PLS and {r.pcr.one_standard_error} for PCR" in text
    assert "PLS needs fewer" in text
    rising, falling = text.split("rises with ")[1].split(" and falls with ")
    assert "bmi" in rising and "s5" in rising and "s3" in falling
    assert f"R2 = {r.r2[0]:.3f}" in charts(section)["predicted-0"].caption


def test_the_curves_are_those_of_the_cross_validation(diabetes):
    a, section = diabetes
    chart = charts(section)["prediction-errors"]
    by_name = {trace["name"]: trace for trace in chart.data}
    assert np.allclose(by_name["PLS"]["y"], a.regression.pls.rmse[0])
    assert np.allclose(by_name["PCR"]["y"], a.regression.pcr.rmse[0])
    high = by_name["PLS"]["y"] + by_name["PLS"]["error_y"]["array"]
    assert np.allclose(high**2, a.regression.pls.mean[0] + a.regression.pls.standard_error[0])
    best, k = a.regression.pls.best, a.regression.k
    assert by_name[f"PLS: best, K = {best}"]["x"] == [best]
    assert by_name[f"PLS: one standard error, K = {k}"]["x"] == [k]
    assert chart.table.shape[0] == len(a.regression.pls.n_components)


def test_charts_hold_what_their_tables_hold(diabetes):
    a, section = diabetes
    found = charts(section)
    assert len({chart.key for chart in found.values()}) == len(found)
    assert all(chart.alt and chart.caption and chart.table is not None for chart in found.values())
    vip = found["vip"]
    assert sorted(vip.data[0]["x"]) == sorted(vip.table["VIP"]) and np.isclose(np.mean(vip.table["VIP"] ** 2), 1)
    coefficients = found["coefficients-0"]
    assert np.allclose(np.sort(coefficients.table["coefficient"]), np.sort(a.regression.effect[0]))
    ends = coefficients.data[0]["error_x"]
    assert np.allclose(np.sort(coefficients.data[0]["x"] + ends["array"]), np.sort(coefficients.table["high"]))


def test_noise_is_called_noise():
    random = np.random.default_rng(1)
    X = random.standard_normal((60, 5))
    a, section = section_of(X, response=random.standard_normal(60))
    assert "cannot be predicted" in section.summary and f"R2 = {a.regression.r2[0]:.2f}" in section.summary
    assert "mean little" in words(section)


@pytest.mark.parametrize(
    ("what", "verdict", "of_the_row"),
    [
        ("follows", "The response y can be predicted well", "predicts 3,001 for row 7, where y is 3,001"),
        ("mistyped", "The response y can be predicted well", "predicts 3.46 for row 7, where y is 1,000"),
        ("alone", "The response y cannot be predicted", "where y is 3,000"),
    ],
)
def test_one_far_row_does_not_decide_whether_a_response_can_be_predicted(what, verdict, of_the_row):
    """With it, R2 was 1.00 and yet "not clearly better than the mean": its squared error was their standard error."""
    random = np.random.default_rng(0)
    a, b, c = random.standard_normal((3, 100))
    a[7] = 1000.0 if what != "mistyped" else a[7]
    y = 3 * a + b if what != "alone" else random.standard_normal(100)
    y[7] = {"follows": y[7], "mistyped": 1000.0, "alone": 3000.0}[what]
    analysis, section = section_of(pd.DataFrame({"a": a, "b": b, "c": c, "y": y}), response="y")
    assert section.summary.startswith(verdict) and of_the_row in section.summary
    r = analysis.regression
    assert f"without row 7, which alone holds {100 * r.aside[7]:.1f}% of the variance of y" in section.summary
    assert list(r.aside) == [7] and len(r.pair.X) == 99
    squares = (y - y.mean()) ** 2
    assert r.aside[7] == pytest.approx(squares[7] / squares.sum())


def test_a_correlation_that_rests_on_one_row_is_called_so():
    random = np.random.default_rng(0)
    X, Z = random.standard_normal((2, 100, 3))
    _, section = section_of(X, other=Z + X)
    assert "rests on a single row" not in section.summary
    X[7, 0], Z[7, 1] = 1000.0, 800.0
    _, section = section_of(X, other=Z)
    assert "rests on a single row, row 7, which makes up 9" in section.summary


def test_rows_of_a_long_tail_and_rare_events_stay():
    random = np.random.default_rng(0)
    X = random.standard_normal((200, 3))
    for y in (random.lognormal(size=200), (np.arange(200) < 3).astype(float), random.standard_normal(200)):
        a, _ = section_of(X, response=y)
        assert not a.regression.aside


def test_a_prediction_that_few_rows_do_not_show_clearly_is_called_uncertain():
    """More than half of the responses are zero, so that nothing is known of the usual distance from the median."""
    random = np.random.default_rng(0)
    X = random.standard_normal((50, 2))
    X[:30, 0] = 0.0
    X[40, 0] = 100.0
    _, section = section_of(X, response=X[:, 0] * 3)
    assert "It is not certain that the response" in section.summary and "(R2 = 1.00)" in section.summary


def test_several_responses_have_a_menu():
    linnerud = load_linnerud(as_frame=True)
    a, section = section_of(linnerud.data, response=linnerud.target)
    menus = [block for block in section.blocks if isinstance(block, Menu)]
    assert [list(menu.charts) for menu in menus] == [list(linnerud.target)] * 2
    (listing,) = (block.table for block in section.blocks if isinstance(block, Listing))
    assert listing.rows == list(linnerud.target) and np.allclose(listing["R2"], a.regression.r2)


def test_rows_without_a_response_are_left_out_and_that_is_said():
    random = np.random.default_rng(0)
    X = random.standard_normal((40, 3))
    y = X[:, 0] + 0.1 * random.standard_normal(40)
    y[:4] = np.nan
    _, section = section_of(X, response=y)
    assert "4 rows are left out here, because entries of the response are missing; 36 rows remain." in words(section)
    _, few = section_of(X[:12], response=y[:12])
    assert "fewer than 10 complete rows are too few" in words(few) and few.summary == words(few)
    _, constant = section_of(X, response=np.ones(40))
    assert "nothing in it varies" in words(constant)


def test_large_tables_are_a_sample_and_that_is_said(monkeypatch):
    monkeypatch.setattr("lowdim.reporting.two_tables.MOST_ENTRIES", 200)
    X = np.random.default_rng(0).standard_normal((90, 3))
    _, section = section_of(X, response=X[:, 0])
    assert "a random sample of 50 of the 90 rows" in words(section)


@pytest.fixture(scope="module")
def related():
    random = np.random.default_rng(0)
    common = random.standard_normal(200)
    X = pd.DataFrame({"a": common + 0.3 * random.standard_normal(200), "b": random.standard_normal(200)})
    Y = pd.DataFrame({"c": -common + 0.3 * random.standard_normal(200), "d": random.standard_normal(200)})
    return section_of(X, other=Y, labels=np.repeat(["u", "v"], 100))


def test_what_two_tables_have_in_common(related):
    a, section = related
    c = a.canonical
    assert "The two tables are closely related" in section.summary and f"{c.held_out[0]:.2f} in rows" in section.summary
    assert f"({c.correlations[0]:.2f} in the fit)" in section.summary
    assert "Only the first pair is more than chance." in section.summary
    text = words(section)
    assert "Pair 1: rows with high a in the table have low c in the other table." in text and "Pair 2" not in text
    assert "regularized" not in text


def test_the_variates_are_drawn_by_group(related):
    a, section = related
    chart = charts(section)["variates-0"]
    assert [trace["name"] for trace in chart.data] == ["u", "v"]
    drawn = np.concatenate([trace["x"] for trace in chart.data])
    assert np.allclose(drawn, a.canonical.x_variates[:, 0], atol=1e-5)
    structure = charts(section)["structure-0"]
    column = structure.table.rows.index("a")
    expected = np.corrcoef(a.values[:, 0], a.canonical.x_variates[:, 0])[0, 1]
    assert np.isclose(structure.table["correlation"][column], expected)


def test_unrelated_tables_and_few_rows():
    random = np.random.default_rng(2)
    a, section = section_of(random.standard_normal((40, 12)), other=random.standard_normal((40, 10)))
    assert "nothing in common that could be told from chance" in section.summary
    assert f"p = {a.canonical.test.p_values[0]:.2g}" in section.summary
    text = words(section)
    assert "40 rows are few for 12 and 10 columns" in text and "Pair 1:" not in text


def test_names_from_the_table_are_made_safe():
    random = np.random.default_rng(0)
    X = pd.DataFrame(random.standard_normal((50, 3)), columns=["<b>x</b>", "<a href='u'>y", "z & w"])
    y = pd.Series(X.iloc[:, 0], name="<script>alert(1)</script>")
    _, section = section_of(X, response=y, ids=[f"<i>{i}" for i in range(50)])
    for chart in charts(section).values():
        assert "<b>" not in str(chart.data) and "<script>" not in str(chart.layout) and "<i>" not in str(chart.data)
        assert "<a href" not in str(chart.layout)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_files_that_are_not_held_give_the_same_answer(tmp_path, monkeypatch, kind):
    frame = load_diabetes(as_frame=True, scaled=False).frame
    path = str(tmp_path / f"diabetes.{kind}")
    frame.to_csv(path, index=False) if kind == "csv" else frame.to_parquet(path)
    held, _ = section_of(path, response="target", other=["s1", "s2"])
    monkeypatch.setattr("lowdim.reporting.columns._HELD_BYTES", 1000)
    streamed, section = section_of(path, response="target", other=["s1", "s2"])
    assert not streamed.opened.held
    assert np.allclose(streamed.regression.predicted, held.regression.predicted)
    assert np.allclose(streamed.canonical.correlations, held.canonical.correlations)
    assert section.summary == two_tables.section(held).summary
