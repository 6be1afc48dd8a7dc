"""Rubin's rules, written out for each quantity, and at the ends of their range."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from lowdim.selection import Pooled, pool

RNG = np.random.default_rng(0)
Q = RNG.standard_normal((7, 3)) * [1.0, 0.1, 5.0] + [2.0, 0.0, -30.0]
U = RNG.uniform(0.5, 2.0, (7, 3))


@pytest.mark.parametrize("dof", [None, 12.0])
def test_rubins_rules(dof):
    found = pool(Q, U, complete_dof=dof, confidence_level=0.9)
    m = 7
    for j in range(3):
        q = sum(Q[i, j] for i in range(m)) / m
        W = sum(U[i, j] for i in range(m)) / m
        B = sum((Q[i, j] - q) ** 2 for i in range(m)) / (m - 1)
        T = W + B + B / m
        r = (1 + 1 / m) * B / W
        nu = (m - 1) * (1 + 1 / r) ** 2
        if dof is not None:
            observed = (dof + 1) / (dof + 3) * dof * W / T
            nu = nu * observed / (nu + observed)
        t = stats.t(nu).ppf(0.95)
        assert found.estimate[j] == pytest.approx(q)
        assert found.within[j] == pytest.approx(W) and found.between[j] == pytest.approx(B)
        assert found.total[j] == pytest.approx(T) and found.standard_error[j] == pytest.approx(math.sqrt(T))
        assert found.dof[j] == pytest.approx(nu)
        assert found.missing_information[j] == pytest.approx((r + 2 / (nu + 3)) / (r + 1))
        assert [end[j] for end in found.interval] == pytest.approx([q - t * math.sqrt(T), q + t * math.sqrt(T)])
        assert found.p_value[j] == pytest.approx(2 * stats.t(nu).sf(abs(q) / math.sqrt(T)))


def test_the_shape_is_that_of_one_estimate():
    one, many = pool(Q[:, 0], U[:, 0]), pool(Q.reshape(7, 3, 1), U.reshape(7, 3, 1))
    assert one.estimate.shape == () and many.estimate.shape == (3, 1)
    assert one.dof == pytest.approx(many.dof[0, 0])
    assert len(many.table()) == 3 and len(one.table()) == 1
    named = pool(Q.tolist(), U.tolist(), names=["a", "b", "c"]).table()
    assert named.rows == ["a", "b", "c"] and named["estimate"] == pytest.approx(Q.mean(axis=0))


def test_nothing_missing():
    found = pool(np.tile(Q[0], (5, 1)), np.tile(U[0], (5, 1)))
    np.testing.assert_allclose(found.total, U[0])
    assert np.all(found.dof > 1e20) and np.all(found.missing_information < 1e-10)
    np.testing.assert_allclose(found.interval[1] - found.estimate, stats.norm.ppf(0.975) * np.sqrt(U[0]))
    np.testing.assert_allclose(found.p_value, 2 * stats.norm.sf(np.abs(Q[0]) / np.sqrt(U[0])))
    known = pool(np.tile(Q[0], (5, 1)), np.tile(U[0], (5, 1)), complete_dof=20)
    np.testing.assert_allclose(known.dof, 21 / 23 * 20)


def test_everything_missing():
    found = pool([1.0, 2.0, 3.0], [0.0, 0.0, 0.0])
    assert found.dof == 2.0 and found.missing_information == 1.0
    unknown = pool([1.0, 2.0, 3.0], [0.0, 0.0, 0.0], complete_dof=10)
    assert unknown.dof == 0.0 and np.isinf(unknown.interval[1]) and unknown.p_value == 1.0
    exact = pool([2.0, 2.0], [0.0, 0.0])
    assert exact.standard_error == 0.0 and exact.interval == (2.0, 2.0)


def test_it_prints():
    text = str(pool(Q, U, names=["a", "b", "c"]))
    assert text.startswith("7 imputations, 95% intervals") and "missing information" in text
    assert repr(pool(Q, U)) == "Pooled(7 imputations, 3 estimate(s))" and isinstance(pool(Q, U), Pooled)


def test_labels_of_pandas_are_the_names_and_must_agree():
    draws = [pd.DataFrame(RNG.standard_normal((20, 3)), columns=["a", "b", "c"]) for _ in range(4)]
    means, squares = [draw.mean() for draw in draws], [draw.var() / 20 for draw in draws]
    assert pool(means, squares).table().rows == ["a", "b", "c"]
    assert pool(means, squares, names=["u", "v", "w"]).table().rows == ["u", "v", "w"]
    assert pool(np.array(means), np.array(squares)).table().rows == [0, 1, 2]
    with pytest.raises(ValueError, match=r"the same ones in another order.*variance.loc\[estimate.index\]"):
        pool(means, [square[["c", "a", "b"]] for square in squares])


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((Q, U[:, :2]), {}, r"need the same shape.*got \(7, 3\) and \(7, 2\)"),
        ((Q[:1], U[:1]), {}, r"1 imputation\(s\) do not show"),
        ((1.0, 2.0), {}, "need the same shape"),
        ((Q, -U), {}, "variances finite and not negative"),
        ((Q * np.nan, U), {}, "estimates must be finite"),
        ((Q, U), {"complete_dof": 0}, "complete_dof=0 must be positive"),
        ((Q, U), {"confidence_level": 2}, "confidence_level=2 must lie strictly between 0 and 1"),
        ((Q, U), {"names": ["a"]}, "names has 1 entries, and there are 3 estimates"),
    ],
)
def test_what_is_refused(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        pool(*arguments, **options)
