"""What the section about two tables says, on tables whose answer is known."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_linnerud
from sklearn.model_selection import KFold

from lowdim import CCA, PCR, PLSRegression, cross_validate, permutation_test
from reporting.tables import charts, listings, menus, prose, section_of


def _section(X, **options):
    return section_of(X, "two-tables", **options)


def _error_of_means(y):
    """The mean squared error of the means of the other folds."""
    folds = KFold(10, shuffle=True, random_state=0).split(y)
    return np.mean(np.concatenate([(y[test] - y[train].mean()) ** 2 for train, test in folds]))


DIABETES = load_diabetes(as_frame=True, scaled=False).frame


@pytest.fixture(scope="module")
def diabetes():
    return _section(DIABETES, y="target")


@pytest.fixture(scope="module")
def compared():
    """PLS and PCR of the same rows, in ten folds of them."""
    X, y = DIABETES.drop(columns="target").to_numpy(), DIABETES["target"].to_numpy()
    folds = list(KFold(10, shuffle=True, random_state=0).split(X))
    models = (kind(scale=(True, False)) for kind in (PLSRegression, PCR))
    return tuple(cross_validate(model, X, y, cv=folds, n_components=range(1, 11)) for model in models)


def test_one_table_has_no_such_section():
    assert _section(np.random.default_rng(0).standard_normal((30, 3))) is None


def test_a_response_that_can_be_predicted_in_part(diabetes, compared):
    pls, pcr = compared
    k = pls.one_standard_error
    r2 = 1 - pls.mean[0, k - 1] / _error_of_means(DIABETES["target"].to_numpy())
    said = f"target can be predicted in part: PLS with {k} components predicts {100 * r2:.1f}%"
    assert said in diabetes.summary
    text = prose(diabetes)
    assert diabetes.title == "Prediction"
    assert diabetes.summary in text and f"is {k} for PLS and {pcr.one_standard_error} for PCR" in text
    assert "PLS needs fewer" in text
    rising, falling = text.split("rises with ")[1].split(" and falls with ")
    assert "bmi" in rising and "s5" in rising and "s3" in falling
    assert f"R2 = {r2:.3f}" in charts(diabetes)["predicted-0"].caption


def test_the_curves_are_those_of_the_cross_validation(diabetes, compared):
    pls, pcr = compared
    chart = charts(diabetes)["prediction-errors"]
    by_name = {trace["name"]: trace for trace in chart.data}
    assert np.allclose(by_name["PLS"]["y"], pls.rmse[0])
    assert np.allclose(by_name["PCR"]["y"], pcr.rmse[0])
    high = by_name["PLS"]["y"] + by_name["PLS"]["error_y"]["array"]
    assert np.allclose(high**2, pls.mean[0] + pls.standard_error[0])
    best, k = pls.best, pls.one_standard_error
    assert by_name[f"PLS: best, K = {best}"]["x"] == [best]
    assert by_name[f"PLS: one standard error, K = {k}"]["x"] == [k]
    assert chart.table.shape[0] == len(pls.n_components)


def test_charts_hold_what_their_tables_hold(diabetes, compared):
    found = charts(diabetes)
    blocks = [block for block in diabetes.blocks if hasattr(block, "data")]
    assert len(found) == len(blocks) + sum(map(len, menus(diabetes).values()))
    assert all(chart.alt and chart.caption and chart.table is not None for chart in found.values())
    vip = found["vip"]
    assert sorted(vip.data[0]["x"]) == sorted(vip.table["VIP"]) and np.isclose(np.mean(vip.table["VIP"] ** 2), 1)
    coefficients = found["coefficients-0"]
    X = DIABETES.drop(columns="target")
    model = PLSRegression(compared[0].one_standard_error, scale=(True, False)).fit(X, DIABETES["target"])
    effects = dict(zip(X, model.coef_.ravel() * X.std().to_numpy(), strict=True))
    expected = [effects[name] for name in coefficients.table.rows]
    assert np.allclose(coefficients.table["coefficient"], expected) and len(expected) == 10
    ends = coefficients.data[0]["error_x"]
    assert np.allclose(np.sort(coefficients.data[0]["x"] + ends["array"]), np.sort(coefficients.table["high"]))


def test_noise_is_called_noise():
    random = np.random.default_rng(1)
    X, y = random.standard_normal((60, 5)), random.standard_normal(60)
    section = _section(X, y=y)
    assert "cannot be predicted" in section.summary
    r2 = 1 - np.mean(charts(section)["predicted-0"].table["difference"] ** 2) / _error_of_means(y)
    assert f"R2 = {r2:.2f}" in section.summary
    assert "mean little" in prose(section)


@pytest.mark.parametrize(
    ("what", "verdict", "of_the_row"),
    [
        ("follows", "The response y can be predicted well", "predicts 3,001 for row 8, where y is 3,001"),
        ("mistyped", "The response y can be predicted well", "predicts 3.46 for row 8, where y is 1,000"),
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
    section = _section(pd.DataFrame({"a": a, "b": b, "c": c, "y": y}), y="y")
    assert section.summary.startswith(verdict) and of_the_row in section.summary
    squares = (y - y.mean()) ** 2
    share = 100 * squares[7] / squares.sum()
    assert f"without row 8, which alone holds {share:.1f}% of the variance of y" in section.summary
    assert len(charts(section)["predicted-0"].table["difference"]) == 99


@pytest.mark.parametrize("follows", [False, True])
def test_a_far_entry_of_a_column_does_not_decide_whether_a_response_can_be_predicted(follows):
    random = np.random.default_rng(3)
    table = pd.DataFrame(random.standard_normal((100, 4)), columns=list("abcd"))
    y = 2 * table["a"] + 0.3 * random.standard_normal(100)
    table.loc[7, "a"] = 60.0
    if follows:
        y[7] = 120.0
        assert y[7] < 10 * np.abs(y).max()
    section = _section(table.assign(y=y), y="y")
    assert "The response y can be predicted well" in section.summary
    assert (
        "without row 8, which is far out in a and far from what the other rows predict" in section.summary
    ) != follows
    if follows:
        return
    # R2 with this row, from predictions of least squares.
    order = KFold(10, shuffle=True, random_state=0).split(y)
    A = np.column_stack([np.ones(100), table])
    errors = np.concatenate([y[i] - A[i] @ np.linalg.lstsq(A[j], y[j], rcond=None)[0] for j, i in order])
    with_it = float(section.summary.partition("With this row, R2 is ")[2].partition(". ")[0])
    assert with_it < -1 and 1 - errors @ errors / _error_of_means(y) / 100 < -1
    others = np.arange(100) != 7
    predicted = A[7] @ np.linalg.lstsq(A[others], y[others], rcond=None)[0]
    said = float(section.summary.partition("rows predicts ")[2].partition(" for row 8")[0])
    assert abs(said / predicted - 1) < 0.05


def test_a_far_entry_of_an_exact_relation_stays():
    random = np.random.default_rng(4)
    rows = random.standard_normal((60, 3))
    rows[5, 0] = 50.0
    y = rows @ [1.0, 2.0, 3.0] + 100.0 * rows[:, 1]
    assert "without row" not in _section(rows, y=y).summary


def test_a_correlation_that_rests_on_one_row_is_called_so():
    random = np.random.default_rng(0)
    X, Z = random.standard_normal((2, 100, 3))
    section = _section(X, Y=Z + X)
    assert "rests on a single row" not in section.summary
    X[7, 0], Z[7, 1] = 1000.0, 800.0
    section = _section(X, Y=Z)
    assert "rests on a single row, row 8, which makes up 9" in section.summary


def test_rows_of_a_long_tail_and_rare_events_stay():
    random = np.random.default_rng(0)
    X = random.standard_normal((200, 3))
    for y in (random.lognormal(size=200), (np.arange(200) < 3).astype(float), random.standard_normal(200)):
        assert "of the variance of" not in _section(X, y=y).summary


def test_a_prediction_that_few_rows_do_not_show_clearly_is_called_uncertain():
    random = np.random.default_rng(6)
    X = random.standard_normal((14, 2))
    section = _section(X, y=0.5 * X[:, 0] + random.standard_normal(14))
    assert "It is not certain that the response" in section.summary and "but 14 rows do not show it" in section.summary


def test_several_responses_have_a_menu():
    linnerud = load_linnerud(as_frame=True)
    section = _section(linnerud.data, y=linnerud.target)
    assert [list(menu) for menu in menus(section).values()] == [list(linnerud.target)] * 2
    (listing,) = listings(section)
    assert listing.rows == list(linnerud.target)
    for name, chart in menus(section)["predicted"].items():
        row, errors = listing.row(name), chart.table["difference"]
        assert np.isclose(row["RMSEP"], np.sqrt(np.mean(errors**2)))
        assert np.isclose(row["R2"], 1 - np.mean(errors**2) / _error_of_means(linnerud.target[name].to_numpy()))


def test_rows_without_a_response_are_left_out_and_that_is_said():
    random = np.random.default_rng(0)
    X = random.standard_normal((40, 3))
    y = X[:, 0] + 0.1 * random.standard_normal(40)
    y[:4] = np.nan
    section = _section(X, y=y)
    assert "4 rows are left out here, because entries of the response are missing; 36 rows remain." in prose(section)
    few = _section(X[:12], y=y[:12])
    assert "fewer than 10 complete rows are too few" in prose(few) and few.summary == prose(few)
    constant = _section(X, y=np.ones(40))
    assert "nothing in it varies" in prose(constant)


def test_large_tables_are_a_sample_and_that_is_said(monkeypatch):
    monkeypatch.setattr("lowdim.reporting.two_tables.MOST_ENTRIES", 200)
    X = np.random.default_rng(0).standard_normal((90, 3))
    section = _section(X, y=X[:, 0])
    assert "a random sample of 50 of the 90 rows" in prose(section)


RANDOM = np.random.default_rng(0)
COMMON = RANDOM.standard_normal(200)
FIRST = pd.DataFrame({"a": COMMON + 0.3 * RANDOM.standard_normal(200), "b": RANDOM.standard_normal(200)})
SECOND = pd.DataFrame({"c": -COMMON + 0.3 * RANDOM.standard_normal(200), "d": RANDOM.standard_normal(200)})


@pytest.fixture(scope="module")
def related():
    return _section(FIRST, Y=SECOND, hue=np.repeat(["u", "v"], 100))


def test_what_two_tables_have_in_common(related):
    X, Y = FIRST.to_numpy(), SECOND.to_numpy()
    correlations = CCA().fit(X, Y).correlations_
    each = []
    for train, test in KFold(5, shuffle=True, random_state=0).split(X):
        x, y = CCA(2).fit(X[train], Y[train]).transform(X[test], Y[test])
        each.append([np.corrcoef(x[:, j], y[:, j])[0, 1] for j in range(2)])
    held_out = np.mean(each, axis=0)
    (table,) = listings(related)
    np.testing.assert_allclose(table["fit"], correlations, rtol=1e-9)
    np.testing.assert_allclose(table["rows left out"], held_out, atol=1e-6)
    assert table["more than chance"].tolist() == [True, False]
    assert "The two tables are closely related" in related.summary and f"{held_out[0]:.2f} in rows" in related.summary
    assert f"({correlations[0]:.2f} in the fit)" in related.summary
    assert "Only the first pair is more than chance." in related.summary
    text = prose(related)
    assert "Pair 1: rows with high a in the table have low c in the other table." in text and "Pair 2" not in text
    assert "regularized" not in text


def test_the_variates_are_drawn_by_group(related):
    chart = charts(related)["variates-0"]
    assert [trace["name"] for trace in chart.data] == ["u", "v"]
    drawn = np.concatenate([trace["x"] for trace in chart.data])
    variates = CCA(2).fit(FIRST, SECOND).transform(FIRST, SECOND)[0]
    assert np.allclose(drawn, variates[:, 0], atol=1e-5)
    structure = charts(related)["structure-0"]
    column = structure.table.rows.index("a")
    expected = np.corrcoef(FIRST["a"], variates[:, 0])[0, 1]
    assert np.isclose(structure.table["correlation"][column], expected)


def test_unrelated_tables_and_few_rows():
    random = np.random.default_rng(2)
    X, Y = random.standard_normal((40, 12)), random.standard_normal((40, 10))
    section = _section(X, Y=Y)
    assert "nothing in common that could be distinguished from chance" in section.summary
    p_value = listings(section)[0]["p"][0]
    assert p_value > 0.05 and f"p = {p_value:.2g}" in section.summary
    text = prose(section)
    assert "40 rows are few for 12 and 10 columns" in text and "Pair 1:" not in text
    by = float(text.partition("regularized by ")[2].partition(" ")[0])
    options = {"n_resamples": 199, "n_components": 5, "random_state": 0}
    assert permutation_test(CCA(regularization=by), X, Y, **options).p_values[0] == p_value


def test_names_from_the_table_are_made_safe():
    random = np.random.default_rng(0)
    X = pd.DataFrame(random.standard_normal((50, 3)), columns=["<b>x</b>", "<a href='u'>y", "z & w"])
    y = pd.Series(X.iloc[:, 0], name="<script>alert(1)</script>")
    section = _section(X, y=y, labels=[f"<i>{i}" for i in range(50)])
    for chart in charts(section).values():
        assert "<b>" not in str(chart.data) and "<script>" not in str(chart.layout) and "<i>" not in str(chart.data)
        assert "<a href" not in str(chart.layout)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_files_that_are_not_held_give_the_same_answer(tmp_path, request, kind):
    path = str(tmp_path / f"diabetes.{kind}")
    DIABETES.to_csv(path, index=False) if kind == "csv" else DIABETES.to_parquet(path)
    held = _section(path, y="target", Y=["s1", "s2"])
    request.getfixturevalue("not_held")
    streamed = _section(path, y="target", Y=["s1", "s2"])
    one, other = charts(streamed), charts(held)
    assert np.allclose(one["predicted-0"].table["predicted"], other["predicted-0"].table["predicted"])
    assert np.allclose(one["canonical-correlations"].table["fit"], other["canonical-correlations"].table["fit"])
    assert streamed.summary == held.summary


@pytest.mark.parametrize("kind", ["skewed", "five far rows", "few rows", "weight zero"])
def test_an_exact_relation_is_found_whatever_the_rows_are(kind):
    """A few rows hold most of the squares, so that these say little; all rows are nearer to their prediction."""
    random = np.random.default_rng(0)
    a, b, c = random.standard_normal((3, 15 if kind == "few rows" else 80))
    weights = None
    if kind == "skewed":
        a = np.exp(2 * a)
    elif kind == "five far rows":
        a[:5] = [100, -200, 300, -400, 500]
    elif kind == "few rows":
        a[3] = 6.0
    else:
        a[7], weights = 1e4, np.where(np.arange(80) == 7, 0.0, 1.0)
    table = pd.DataFrame({"a": a, "b": b, "c": c, "y": 3 * a + b})
    summary = _section(table, y="y", sample_weight=weights).summary
    assert "can be predicted well" in summary and "not certain" not in summary
