"""Rules and cross-validation from pieces of the rows, rules that large tables leave out, and which is followed."""

import numpy as np
import pytest

from lowdim import PPCA, choose_n_components
from lowdim.reading import summarize
from lowdim.reporting import choosing_k
from lowdim.selection import RULES
from lowdim.summaries import Moments
from reporting.tables import analysis

RANDOM = np.random.default_rng(8)
#: Three strong components, in columns of the same units and of different ones.
LOADINGS = RANDOM.uniform(0.5, 1.5, (3, 10)) * RANDOM.choice([-1, 1], (3, 10))
X = RANDOM.normal(size=(600, 3)) @ LOADINGS + 0.5 * RANDOM.normal(size=(600, 10))
UNITS = X * 10.0 ** np.arange(-2, 8)


@pytest.mark.parametrize("table", [X, UNITS], ids=["same units", "different units"])
def test_pieces_give_the_answers_of_the_rows(not_held, table):
    a = analysis(table)
    expected = choose_n_components(table, scale=a.scale, random_state=0)
    np.testing.assert_allclose(a.choices.eigenvalues.values, expected.eigenvalues.values, rtol=1e-8)
    for rule in set(RULES) - {"cv"}:
        assert a.choices[rule].k == expected[rule].k
        np.testing.assert_allclose(a.choices[rule].curve, expected[rule].curve, rtol=1e-6)
    assert list(a.choices) == list(RULES)


@pytest.mark.parametrize("scale", [False, True])
def test_cross_validation_of_pieces_is_that_of_their_rows(scale):
    """Pieces are made by hand, so that the rows of each fold are known and can be scored by fits of PPCA."""
    labels = RANDOM.integers(0, 20, len(X))
    pieces = [summarize(X[labels == i], Moments(10)) for i in range(20)]
    result = choosing_k.cross_validated(pieces, scale)
    assert result.n_components.tolist() == list(range(10))
    for fold in range(5):
        held_out = labels % 5 == fold
        for k in (1, 3, 7):
            model = PPCA(k, scale=scale).fit(X[~held_out])
            assert result.per_split[fold, 0, k] == pytest.approx(model.score(X[held_out]), rel=1e-9)
    np.testing.assert_array_equal(result.weights, np.bincount(labels % 5))
    assert result.n_samples == 600


def test_many_columns_leave_out_the_slow_rules(monkeypatch):
    monkeypatch.setitem(choosing_k._SLOW, "map", 5)
    monkeypatch.setitem(choosing_k._SLOW, "cv", 5)
    monkeypatch.setattr(choosing_k, "_MANY", 5)
    assert choosing_k.draws(600, 10) == 40
    choices = analysis(X).choices
    for rule in ("map", "cv"):
        assert choices[rule].k is None and "to save time" in choices[rule].note
    assert choices["parallel"].k == 3


def test_without_parallel_analysis_the_next_rule_is_followed():
    choices = analysis(X).choices
    found = {answer.rule: answer for answer in choices.answers}
    for first, second in (("parallel", "bic"), ("bic", "proportion")):
        found.pop(first)
        left = type(choices)(choices.eigenvalues, tuple(found.values()))
        assert choosing_k.followed(left).rule == second
    found.pop("proportion")
    assert choosing_k.followed(type(choices)(choices.eigenvalues, tuple(found.values()))) is None
