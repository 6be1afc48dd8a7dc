"""choose_n_components: whatever the rows come as, the answers are the same, and print as a table."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.datasets import load_wine

from lowdim.errors import NoVariance
from lowdim.reading import summarize
from lowdim.selection import ALIASES, RULES, Choices, choose_n_components
from lowdim.selection import choose as choose_module
from lowdim.sources import open_source
from lowdim.summaries import Moments, Triangle

rng = np.random.default_rng(5)
WINE = load_wine().data
WIDE = rng.standard_normal((15, 3)) * [9.0, 7, 5] @ rng.standard_normal((3, 60)) + rng.standard_normal((15, 60))
#: Rules whose answer comes from eigenvalues.
NAMES = [name for name, rule in RULES.items() if rule.needs != "folds"]


def answers(choices):
    return {name: choices[name].k for name in NAMES}


def as_stream(X):
    return (X[i : i + 40] for i in range(0, len(X), 40))


INPUTS = {
    "list": lambda X: X.tolist(),
    "fortran": np.asfortranarray,
    "csr": sparse.csr_array,
    "pandas": pd.DataFrame,
    "polars": lambda X: pl.DataFrame(X, schema=[f"c{j}" for j in range(X.shape[1])]),
    "stream": as_stream,
    "blocks": lambda X: [X[:7], X[7:]],
    "source": open_source,
    "moments": lambda X: summarize(X, Moments),
    "triangle": lambda X: summarize(X, Triangle),
}


@pytest.mark.parametrize("X", [WINE, WIDE], ids=["wine", "wide"])
@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("kind", INPUTS)
def test_the_same_from_everything(X, scale, kind):
    plain = choose_n_components(X, scale=scale, n_resamples=10)
    other = choose_n_components(INPUTS[kind](X), scale=scale, n_resamples=10)
    assert answers(plain) == answers(other)
    for name in NAMES:
        np.testing.assert_allclose(plain[name].curve, other[name].curve, rtol=1e-6)


def test_float32():
    X = WINE.astype(np.float32)
    assert answers(choose_n_components(X)) == answers(choose_n_components(X.astype(np.float64)))


def test_known_answers():
    found = answers(choose_n_components(WINE, scale=True))
    # Counted by hand from the eigenvalues of the correlation matrix: 4.71, 2.50, 1.45, 0.92, 0.85, 0.64, ...
    assert found["kaiser"] == 3 and found["proportion"] == 8 and found["broken-stick"] == 2
    assert found["parallel"] == 3


@pytest.mark.parametrize("scale", [False, True])
def test_weights_are_repetitions(scale):
    w = rng.integers(0, 3, len(WINE))
    weighted = choose_n_components(WINE, scale=scale, sample_weight=w, n_resamples=10)
    repeated = choose_n_components(np.repeat(WINE, w, axis=0), scale=scale, n_resamples=10)
    assert answers(weighted) == answers(repeated)
    assert weighted.eigenvalues.n == w.sum()


@pytest.mark.parametrize("ddof", [0, 1])
def test_the_divisor_changes_no_answer(ddof):
    assert answers(choose_n_components(WINE, ddof=ddof)) == answers(choose_n_components(WINE))


def test_the_divisor_belongs_to_the_eigenvalues():
    one, zero = (choose_n_components(WINE, "kaiser", ddof=ddof) for ddof in (1, 0))
    np.testing.assert_allclose(one.eigenvalues.values * 177 / 178, zero.eigenvalues.values)


def test_far_fewer_rows_than_columns(monkeypatch):
    with_matrix = choose_n_components(WIDE)
    monkeypatch.setattr(choose_module, "_MATRIX_UP_TO", 10)
    for scale in (False, True):
        without = choose_n_components(WIDE, scale=scale)
        assert without.eigenvalues.matrix is None and without["map"].k is None
        assert "is not computed" in without["map"].note and len(without["map"].curve) == 0
        full = with_matrix if not scale else choose_n_components(summarize(WIDE, Moments), scale=True)
        for name in set(NAMES) - {"map"}:
            assert without[name].k == full[name].k
            np.testing.assert_allclose(without[name].curve, full[name].curve, rtol=1e-8)
        X = np.column_stack([WIDE, np.full(15, 3.0)])
        constant = choose_n_components(X, scale=scale)
        for name in set(NAMES) - {"map"}:
            assert constant[name].k == without[name].k


def test_small_eigenvalues_are_read_again_for():
    X = rng.standard_normal((40, 6)) * [1, 1, 1, 1e-6, 1e-6, 1e-6]
    assert choose_n_components(X, "bic").eigenvalues.values[5] == pytest.approx(1e-12, rel=2)
    once = choose_n_components(as_stream(X), "bic")
    np.testing.assert_allclose(once.eigenvalues.values, choose_n_components(X, "bic").eigenvalues.values, rtol=1e-5)
    values = np.linalg.svd(X - X.mean(axis=0), compute_uv=False) ** 2 / 39
    np.testing.assert_allclose(once.eigenvalues.values, values, rtol=1e-6)


def test_options_reach_their_rules():
    plain = choose_n_components(WINE, scale=True)
    assert choose_n_components(WINE, "proportion", scale=True, proportion=0.5)["proportion"].k == 2
    loud = choose_n_components(WINE, ["gavish-donoho", "marchenko-pastur"], scale=True, noise_variance=100.0)
    assert [loud[name].k for name in loud] == [0, 0]
    low = choose_n_components(WINE, "parallel", scale=True, quantile="mean")["parallel"].curve
    assert np.all(low < plain["parallel"].curve)
    for state in (7, np.random.RandomState(1), np.random.default_rng(1)):
        other = choose_n_components(WINE, "parallel", scale=True, random_state=state)
        assert np.any(other["parallel"].curve != plain["parallel"].curve)


def test_a_single_rule_and_aliases():
    choices = choose_n_components(WINE, ("mle", "minka", "horn"), n_resamples=5)
    assert list(choices) == ["minka", "parallel"] and len(choices) == 2
    assert choices["mle"] is choices["minka"] and "kaiser" not in choices
    assert list(choose_n_components(WINE, "velicer")) == ["map"]
    with pytest.raises(KeyError, match="'kaiser' was not requested; the requested rules are 'minka', 'parallel'"):
        choices["kaiser"]
    with pytest.raises(KeyError, match="'scree' was not requested"):
        choices["scree"]
    assert choices.get("scree") is None
    assert "mle" in choices


# ---- What comes back


def test_choices():
    choices = choose_n_components(WINE, scale=True, n_resamples=10)
    assert isinstance(choices, Choices) and list(choices) == list(RULES)
    for name, choice in choices.items():
        assert choice.rule == name and choice.assumes == RULES[name].assumes
        if choice.k is None:
            assert choice.note
            continue
        assert isinstance(choice.k, int) and choice.note == ""
        assert len(choice.candidates) == len(choice.curve) and choice.candidates[0] == RULES[name].first
        kind, at = RULES[name].curve, choice.k - RULES[name].first
        if kind == "thresholds":
            above = choices.eigenvalues.values > choice.curve
            assert np.all(above[: choice.k]) and not above[choice.k]
        elif kind == "large":
            assert choice.curve[at] == choice.curve.max()
        elif kind == "small":
            assert choice.curve[at] == choice.curve.min()
        else:
            assert choice.curve[at] >= 0.9 > choice.curve[at - 1]


def test_it_prints():
    choices = choose_n_components(WINE, ["kaiser", "map"], scale=True)
    assert str(choices) == repr(choices)
    lines = str(choices).splitlines()
    assert lines[0] == "How many components? 178 rows, 13 columns (correlation)"
    assert lines[2].split()[:2] == ["kaiser", "3"]
    html = choices._repr_html_()
    assert html.startswith("<table>") and html.count("<tr>") == 3 and "kaiser" in html
    one = choose_n_components(WINE[:, :1], ["minka", "bic"])
    assert one["minka"].k is None and "not available: " in str(one) and one["bic"].k == 0


def test_it_becomes_a_table():
    choices = choose_n_components(WINE[:, :1], ["minka", "bic"])
    table = choices.table()
    assert table.rows == ["minka", "bic"] and list(table["K"]) == [None, 0]
    assert table["assumes"][0] == "not available" and table.notes[0].startswith("minka is not available: ")
    frame = choices.to_pandas()
    assert isinstance(frame, pd.DataFrame) and list(frame.columns) == ["K", "assumes"] and frame.index.name == "rule"
    assert frame["K"]["bic"] == 0 and pd.isna(frame["K"]["minka"])
    assert choices["bic"].to_pandas()["choice"].tolist()[0] == "chosen"


def test_the_remark_on_units_is_about_the_usual_column():
    rows = np.random.default_rng(0).standard_normal((50, 4))
    remark = "of the variance: scale=True looks at correlations instead."
    assert remark in str(choose_n_components(rows * [1, 1, 1, 100], "kaiser"))
    assert remark in str(choose_n_components(rows[:, :2] * [1, 100], "kaiser"))
    # A column that hardly varies has the unit of the others.
    assert remark not in str(choose_n_components(rows * [1, 1, 1, 0.001], "kaiser"))
    assert remark not in str(choose_n_components(rows * [1, 1, 1, 100], "kaiser", scale=True))


def test_many_rows_are_counted_and_refusals_of_one_reason_are_together():
    summary = Moments.from_covariance(np.diag([5.0, 2.0, 1.0]), n_samples=2_345_678)
    assert str(choose_n_components(summary, "kaiser")).startswith("How many components? 2345678 rows, 3 columns")
    incomplete = np.where(np.random.default_rng(0).random(WINE.shape) < 0.02, np.nan, WINE)
    notes = choose_n_components(incomplete, ["minka", "kaiser", "gavish-donoho"], scale=True).table().notes
    assert len(notes) == 1 and notes[0].startswith("minka, gavish-donoho are not available: ")


def test_the_same_call_gives_the_same_bits():
    first, second = choose_n_components(WINE), choose_n_components(WINE)
    for name in NAMES:
        np.testing.assert_array_equal(first[name].curve, second[name].curve)


def test_the_rows_are_left_alone():
    X = WINE.copy()
    moments = summarize(WINE, Moments)
    before = moments.scatter.copy()
    choose_n_components(X, scale=True, n_resamples=2)
    choose_n_components(moments, scale=True, n_resamples=2)
    np.testing.assert_array_equal(X, WINE)
    np.testing.assert_array_equal(moments.scatter, before)


# ---- What is refused


@pytest.mark.parametrize("ddof", [0, 1])
def test_too_few_rows(ddof):
    for X in (WINE[:1], as_stream(WINE[:1]), summarize(WINE[:1], Moments)):
        with pytest.raises(ValueError, match=r"n_samples=1 .*Give more rows"):
            choose_n_components(X, ddof=ddof)
    with pytest.raises(ValueError, match="Weights are frequencies"):
        choose_n_components(WINE, ddof=ddof, sample_weight=np.full(178, 1 / 178))


def test_equal_rows():
    for X in (np.ones((5, 3)), np.ones((3, 5)), np.full((3, 2000), 0.1)):
        with pytest.raises(NoVariance):
            choose_n_components(X)


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"rules": "scree"}, "is not one of"),
        ({"rules": ["minka", "scree"]}, "is not one of"),
        ({"rules": []}, "empty"),
        ({"ddof": 2}, "ddof=2"),
        ({"ddof": True}, "ddof=True"),
        ({"scale": "yes"}, "scale='yes'"),
        ({"proportion": 0}, "proportion=0"),
        ({"noise_variance": -1.0}, "noise_variance"),
        ({"n_resamples": 0}, "n_resamples=0"),
        ({"quantile": 95}, "quantile=95"),
        ({"random_state": "x"}, "random_state='x'"),
    ],
)
def test_bad_options(bad, words):
    with pytest.raises(ValueError, match=words):
        choose_n_components(WINE, **bad)


def test_other_refusals():
    with pytest.raises(TypeError, match="rules must be"):
        choose_n_components(WINE, 3)
    with pytest.raises(ValueError, match="sample_weight is for rows"):
        choose_n_components(summarize(WINE, Moments), sample_weight=np.ones(178))
    assert "mle" in ALIASES
