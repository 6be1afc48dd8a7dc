"""Each rule against a slow and plain version of itself, and on rows that leave little to choose from."""

import math

import mpmath
import numpy as np
import pytest
from scipy import special
from sklearn import decomposition
from sklearn.datasets import load_iris, load_wine

from lowdim import PPCA
from lowdim.errors import NoVariance
from lowdim.reading import summarize
from lowdim.selection import ALIASES, RULES, Eigenvalues, Unavailable, rule_of
from lowdim.solvers import SOLVERS, Request
from lowdim.summaries import Moments, Triangle
from oracles import exact_spectrum, gaussian_log_density, long_spectrum, ppca_covariance

#: All rules of eigenvalues.
from selection.tables_drawn import DIGITS, NAMES, TALL, UNITS, WIDE, ask, each_rule, eigenvalues, with_signal

# ---- The eigenvalues


@pytest.mark.parametrize("summary", [Moments, Triangle])
@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("ddof", [0, 1])
def test_eigenvalues_of_a_summary(summary, scale, ddof):
    X = TALL * UNITS + 100
    e = eigenvalues(X, scale, ddof, summary)
    Z = (X - X.mean(axis=0)) / X.std(axis=0, ddof=ddof) if scale else X
    truth = long_spectrum(Z, ddof)
    np.testing.assert_allclose(e.values, truth.values, rtol=1e-9 if scale else 1e-4, atol=1e-13 * truth.values[0])
    np.testing.assert_allclose(e.matrix, truth.covariance, rtol=1e-9, atol=1e-12 * truth.values[0])
    np.testing.assert_allclose(e.variances, np.diag(truth.covariance), rtol=1e-11)
    assert e.total == pytest.approx(np.trace(truth.covariance), rel=1e-12)
    assert (e.n, e.p, e.ddof, e.scale, e.n_varying) == (120, 9, ddof, scale, 9)


def test_a_triangle_keeps_small_eigenvalues():
    X = with_signal(12, 4, 1) * np.array([1.0, 1e-5, 1e-8, 1e-11])
    e = eigenvalues(X, summary=Triangle)
    np.testing.assert_allclose(e.values, exact_spectrum(X).values, rtol=1e-4)


@pytest.mark.parametrize("scale", [False, True])
def test_a_spectrum_gives_the_same_eigenvalues(scale):
    spectrum = SOLVERS["triangle"]().solve_summary(summarize(WIDE, Triangle), Request(scale=scale))
    e, f = Eigenvalues.from_spectrum(spectrum, 40), eigenvalues(WIDE, scale)
    np.testing.assert_allclose(e.values, f.values, rtol=1e-10)
    assert e.matrix is None and len(e.values) == 13 and e.total == pytest.approx(f.total)
    for name in set(NAMES) - {"parallel", "map"}:
        assert ask(name, e)[0] == ask(name, f)[0]
    for name in ("parallel", "map"):
        with pytest.raises(Unavailable):
            ask(name, e)
    with pytest.raises(ValueError, match="2 of 13 eigenvalues"):
        Eigenvalues.from_spectrum(spectrum.truncated(2), 40)


def test_no_more_values_than_can_be_other_than_zero():
    assert len(eigenvalues(WIDE).values) == 13
    assert len(eigenvalues(TALL).values) == 9
    # Weight 2 equals repeating the row.
    twice, weighted = eigenvalues(np.repeat(WIDE, 2, axis=0)), eigenvalues(WIDE, weights=np.full(14, 2.0))
    assert len(twice.values) == len(weighted.values) == 27
    assert twice.rank == weighted.rank == 13
    for name in NAMES:
        assert ask(name, twice)[0] == ask(name, weighted)[0]


def test_constant_columns_are_left_at_zero():
    X = np.column_stack([TALL, np.full(120, 7.0), 1e20 + np.arange(120) % 2 * 1e3])
    e, without = eigenvalues(X, True), eigenvalues(TALL, True)
    np.testing.assert_allclose(e.values[:9], without.values, rtol=1e-12)
    assert len(e.values) == 9 and e.total == 9 and e.n_varying == 9 and e.p == 11
    np.testing.assert_array_equal(e.variances, [1] * 9 + [0] * 2)
    for scale in (False, True):
        for summary in (Moments, Triangle):
            e, without = (eigenvalues(Z, scale, summary=summary) for Z in (X, TALL))
            for name in NAMES:
                k, curve = ask(name, e)
                assert k == ask(name, without)[0]
                np.testing.assert_allclose(curve, ask(name, without)[1], rtol=1e-6)


# ---- Shares of variance


def test_proportion():
    e = eigenvalues(TALL)
    shares = np.cumsum(np.sort(np.linalg.eigvalsh(np.cov(TALL.T)))[::-1]) / np.trace(np.cov(TALL.T))
    for wanted in (0.1, 0.5, 0.9, 0.999, 1.0):
        k, curve = ask("proportion", e, proportion=wanted)
        np.testing.assert_allclose(curve, shares)
        assert k == 1 + next(i for i, s in enumerate(shares) if s >= wanted - 1e-9)
    for bad in (0.0, -1, 1.5, float("nan")):
        with pytest.raises(ValueError, match="proportion"):
            ask("proportion", e, proportion=bad)


def test_kaiser():
    assert ask("kaiser", eigenvalues(TALL * UNITS, True))[0] == np.sum(np.linalg.eigvalsh(np.corrcoef(TALL.T)) > 1)
    values = np.linalg.eigvalsh(np.cov(TALL.T))
    k, curve = ask("kaiser", eigenvalues(TALL))
    assert k == np.sum(values > values.mean())
    np.testing.assert_allclose(curve, np.full(9, values.mean()))


def test_kaiser_of_an_identity_is_no_component():
    # All eigenvalues are 1, up to rounding.
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((50, 6)) + 1.0)[0]
    X = np.linalg.qr(Q - Q.mean(axis=0))[0]
    assert ask("kaiser", eigenvalues(X, True))[0] == ask("kaiser", eigenvalues(X))[0] == 0


def test_broken_stick():
    k, curve = ask("broken-stick", eigenvalues(TALL))
    total, m = np.trace(np.cov(TALL.T)), 9
    np.testing.assert_allclose(curve / total, [sum(1 / j for j in range(i, m + 1)) / m for i in range(1, m + 1)])
    rng = np.random.default_rng(0)
    pieces = np.sort(np.diff(np.sort(rng.random((20000, m - 1))), prepend=0, append=1))[:, ::-1]
    error = pieces.std(axis=0) / math.sqrt(20000)
    assert np.all(np.abs(pieces.mean(axis=0) - curve / total) < 5 * error)
    values = eigenvalues(TALL).values
    assert k == 2 and values[1] > curve[1] and values[2] < curve[2]


def test_elbow():
    e = eigenvalues(TALL)
    d, m = e.values / e.values[0], 9
    slow = []
    for q in range(1, m):
        first, second = d[:q], d[q:]
        within = ((first - first.mean()) ** 2).sum() + ((second - second.mean()) ** 2).sum()
        s2 = within / (m - 2)
        logs = [-0.5 * math.log(2 * math.pi * s2) - (x - g.mean()) ** 2 / (2 * s2) for g in (first, second) for x in g]
        slow.append(sum(logs))
    k, curve = ask("elbow", e)
    np.testing.assert_allclose(curve, slow, rtol=1e-10)
    assert k == 1 + int(np.argmax(slow)) == 2


def test_elbow_of_two_flat_groups():
    e = Eigenvalues.from_summary(Moments.from_covariance(np.diag([5.0, 5, 5, 1, 1, 1, 1]), 100))
    assert ask("elbow", e)[0] == 3


# ---- Evidence and information criteria


def slow_minka(values, n, p):
    """The evidence by its formula, in 40 digits: zeros are listed, and both sums are loops."""
    with mpmath.workdps(40):
        d = [mpmath.mpf(float(v)) for v in values] + [mpmath.mpf(0)] * (p - len(values))
        out = []
        for k in range(1, len(values)):
            v = mpmath.fsum(d[k:]) / (p - k)
            h = d[:k] + [v] * (p - k)
            ln_u = -k * mpmath.log(2)
            for i in range(1, k + 1):
                ln_u += mpmath.loggamma(mpmath.mpf(p - i + 1) / 2) - mpmath.mpf(p - i + 1) / 2 * mpmath.log(mpmath.pi)
            ln_a = mpmath.mpf(0)
            for i in range(k):
                for j in range(i + 1, p):
                    ln_a += mpmath.log((1 / h[j] - 1 / h[i]) * (d[i] - d[j])) + mpmath.log(n)
            m = p * k - k * (k + 1) / mpmath.mpf(2)
            out.append(
                ln_u
                - mpmath.mpf(n) / 2 * mpmath.fsum(mpmath.log(x) for x in d[:k])
                - mpmath.mpf(n) * (p - k) / 2 * mpmath.log(v)
                + (m + k) / 2 * mpmath.log(2 * mpmath.pi)
                - ln_a / 2
                - mpmath.mpf(k) / 2 * mpmath.log(n)
            )
        return np.array([float(x) for x in out])


@pytest.mark.parametrize("X", [TALL, WIDE, load_iris().data, TALL * UNITS], ids=["tall", "wide", "iris", "units"])
def test_minkas_evidence(X):
    e = eigenvalues(X, summary=Triangle)
    slow = slow_minka(e.values / e.values[0], len(X), X.shape[1])
    k, curve = ask("minka", e)
    np.testing.assert_allclose(curve, slow, rtol=1e-9)
    assert k == 1 + int(np.argmax(slow))


@pytest.mark.parametrize(
    "X",
    [
        load_iris().data,
        load_wine().data,
        (load_wine().data - load_wine().data.mean(axis=0)) / load_wine().data.std(axis=0),
        DIGITS[:, DIGITS.std(axis=0) > 0],
        TALL,
        with_signal(500, 20, 4),
        with_signal(60, 30, 5, 2.0, seed=3),
    ],
    ids=["iris", "wine", "wine-units", "digits", "tall", "strong", "narrow"],
)
def test_minka_agrees_with_scikit_learn(X):
    assert ask("minka", eigenvalues(X))[0] == decomposition.PCA(n_components="mle").fit(X).n_components_


def test_minka_finds_components_of_fewer_rows_than_columns():
    assert ask("minka", eigenvalues(with_signal(60, 200, 4, 12.0)))[0] == 4


def test_minka_leaves_out_rotations_of_ties():
    flat = Eigenvalues.from_summary(Moments.from_covariance(np.diag([5.0, 5, 5, 1, 1, 1, 1]), 100))
    k, curve = ask("minka", flat)
    assert k == 3 and np.all(np.isfinite(curve))
    # Two eigenvalues: K = 1 has one pair only, and ln |A| = 0 is what is left of it.
    n = 100
    tied = Eigenvalues.from_summary(Moments.from_covariance(np.eye(2), n))
    sphere = special.gammaln(1) - math.log(math.pi) - math.log(2)
    assert ask("minka", tied)[1] == pytest.approx([sphere + 2 / 2 * math.log(2 * math.pi) - 0.5 * math.log(n)])


@pytest.mark.parametrize("X", [TALL, TALL * 1e-3 + 5, load_iris().data], ids=["tall", "moved", "iris"])
def test_bic_and_aic_are_those_of_the_gaussian(X):
    n, p = X.shape
    truth = long_spectrum(X, ddof=0)
    for name, price in (("bic", math.log(n)), ("aic", 2.0)):
        slow = []
        for k in range(p):
            C = ppca_covariance(truth.values, truth.vectors, k)
            parameters = p * k - k * (k - 1) // 2 + 1 + p
            slow.append(-2 * gaussian_log_density(X, truth.mean, C).sum() + price * parameters)
        k, curve = ask(name, eigenvalues(X))
        np.testing.assert_allclose(curve, slow, rtol=1e-8)
        assert k == int(np.argmin(slow))


def test_bic_and_aic_are_those_of_ppca():
    for X in (TALL, WIDE):
        e = eigenvalues(X)
        for k in (1, 2, 5, len(e.values) - 1):
            ppca = PPCA(k).fit(X)
            assert ask("bic", e)[1][k] == pytest.approx(ppca.bic(X), rel=1e-9)
            assert ask("aic", e)[1][k] == pytest.approx(ppca.aic(X), rel=1e-9)


def test_the_divisor_changes_no_likelihood():
    for name in ("bic", "aic"):
        one, zero = (ask(name, eigenvalues(TALL, ddof=ddof))[1] for ddof in (1, 0))
        np.testing.assert_allclose(zero, one, rtol=1e-12)


@pytest.mark.parametrize("name", ["minka", "bic", "aic"])
def test_rows_without_noise_have_as_many_components_as_dimensions(name):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((50, 3)) @ rng.standard_normal((3, 8)) + 2
    for summary in (Moments, Triangle):
        k, curve = ask(name, eigenvalues(X, summary=summary))
        assert k == 3 and not np.any(np.isnan(curve))


# ---- What all rules share


@each_rule
@pytest.mark.parametrize("X", [TALL, WIDE], ids=["tall", "wide"])
@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("unit", [1e-150, 1e-100, 1e100, 1e150])
def test_units_do_not_matter(name, X, scale, unit):
    k, curve = ask(name, eigenvalues(X, scale))
    far, other = ask(name, eigenvalues(X * unit, scale))
    assert far == k and np.all(np.isfinite(other)) and len(other) == len(curve)


@each_rule
@pytest.mark.parametrize("X", [TALL * UNITS, WIDE], ids=["tall", "wide"])
def test_order_of_columns_offsets_and_merges_do_not_matter(name, X):
    k, _ = ask(name, eigenvalues(X, True))
    if name == "parallel":
        # Its draws are given to columns in their order; correlations have no such order.
        assert ask(name, eigenvalues(X[:, ::-1], True))[0] == k
    else:
        assert ask(name, eigenvalues(X[:, ::-1]))[0] == ask(name, eigenvalues(X))[0]
    assert ask(name, eigenvalues(X + 1e6, True))[0] == k
    for summary in (Moments, Triangle):
        parts = [summarize(part, summary) for part in (X[:5], X[5:6], X[6:])]
        total = parts[0]
        for part in parts[1:]:
            total.merge(part)
        assert ask(name, Eigenvalues.from_summary(total, True))[0] == k


DEGENERATE = {
    "two rows": np.array([[1.0, 2.0, 4.0], [2.0, 1.0, 7.0]]),
    "three rows": WIDE[:3],
    "two columns": TALL[:, :2],
    "two tied columns": np.array([[1.0, 1], [1, -1], [-1, 1], [-1, -1]]),
    "one column": TALL[:, :1],
    "constant columns": np.column_stack([np.ones(120), TALL[:, :3], np.full(120, 1e8)]),
    "one column that varies": np.column_stack([np.ones(120), TALL[:, 0], np.zeros(120)]),
    "rank one": np.outer(np.arange(10.0), [1, 2, 3, 4]),
    "rank two": TALL[:, :2] @ np.array([[1.0, 2, 3, 4, 5], [1, 0, -1, 2, 2]]),
    "repeated columns": TALL[:, [0, 0, 1, 1, 2]],
    "repeated rows": np.repeat(TALL[:3], 20, axis=0),
    "ties": np.concatenate([np.eye(8), -np.eye(8)]),
    "fewer rows": WIDE,
    "float32": TALL.astype(np.float32),
    "integers": np.random.default_rng(0).integers(0, 3, (40, 5)),
    "far scales": TALL * np.logspace(-140, 140, 9),
}


@each_rule
@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("summary", [Moments, Triangle])
@pytest.mark.parametrize("X", DEGENERATE.values(), ids=DEGENERATE.keys())
def test_degenerate_rows(X, summary, scale, name):
    e = eigenvalues(X, scale, summary=summary)
    m = min(len(X) - 1, e.n_varying)
    try:
        k, curve = ask(name, e)
    except Unavailable as reason:
        # Nothing to choose from, and the message says so.
        assert "at least 2 columns" in str(reason)
        assert m < 2 or e.n_varying < 2
        return
    assert isinstance(k, int) and 0 <= k <= m
    assert not np.any(np.isnan(curve))
    rule = RULES[name]
    if rule.curve in ("thresholds", "reach"):
        assert len(curve) == m and np.all(np.isfinite(curve))
    else:
        assert rule.first <= k < rule.first + len(curve) and np.isfinite(curve[k - rule.first])
        assert len(curve) == m - rule.first or name == "map"


@pytest.mark.parametrize("summary", [Moments, Triangle])
def test_one_row_and_equal_rows_are_refused(summary):
    for ddof in (0, 1):
        with pytest.raises(ValueError, match=r"n_samples=1 .* is too few"):
            eigenvalues(TALL[:1], ddof=ddof, summary=summary)
        with pytest.raises(NoVariance, match="all rows of X are the same"):
            eigenvalues(np.repeat(TALL[:1], 5, axis=0), ddof=ddof, summary=summary)
    with pytest.raises(ValueError, match="empty"):
        Eigenvalues.from_summary(summary(3))
    with pytest.raises(NoVariance):
        eigenvalues(TALL[:1], weights=[3.0], summary=summary)


# ---- The table


def test_names_and_aliases():
    assert rule_of("minka") is rule_of("mle") is RULES["minka"]
    assert rule_of("horn").name == "parallel" and rule_of("velicer").name == "map"
    assert set(ALIASES.values()) <= set(RULES)
    for bad in ("scree", None, 3, ["minka"]):
        with pytest.raises(ValueError, match=r"is not one of 'proportion', 'kaiser'.*'mle' for 'minka'"):
            rule_of(bad)


def test_each_rule_says_what_it_assumes():
    for name, rule in RULES.items():
        assert rule.name == name and rule.assumes.startswith("Assumes ") and rule.assumes.endswith(".")
        assert len(rule.brief) < 60 and rule.curve in ("thresholds", "large", "small", "reach")
        assert rule.needs in ("eigenvalues", "variances", "matrix", "folds")
