"""Formulas of docs/formulas.md about tables with categories: correspondence analysis and its relatives, written with
whole tables of zeros and ones."""

import numpy as np
import pandas as pd
import pytest

from lowdim import CA, FAMD, MCA, MFA, PCA
from lowdim.inspect.geometry import geometry

RNG = np.random.default_rng(7)
N = 60
COUNTS = np.array([[68, 20, 15, 5], [119, 84, 54, 29], [26, 17, 14, 14], [7, 94, 10, 16], [3, 1, 0, 9]])


def a_table():
    """Two related numbers and three related categories."""
    hidden = RNG.standard_normal(N)
    numbers = {f"x{j}": hidden + RNG.standard_normal(N) for j in range(2)}
    cut = {
        f"c{j}": np.digitize(hidden + RNG.standard_normal(N), edges) for j, edges in enumerate(([0], [-1, 1], [0, 1]))
    }
    return pd.DataFrame(numbers | {name: np.array(["a", "b", "c"])[codes] for name, codes in cut.items()})


TABLE = a_table()
NUMBERS, CATEGORIES = ["x0", "x1"], ["c0", "c1", "c2"]
#: The zeros and ones of the levels, and the share of each.
ONES = np.hstack([pd.get_dummies(TABLE[name]).to_numpy(dtype=float) for name in CATEGORIES])
P, J = ONES.mean(axis=0), len(CATEGORIES)


def eigen(Z, r, q):
    """The eigenvalues of Z' R Z Q, and the scores of the rows, by a singular value decomposition."""
    U, s, _ = np.linalg.svd(np.sqrt(r)[:, None] * Z * np.sqrt(q), full_matrices=False)
    keep = s > 1e-10
    return s[keep] ** 2, U[:, keep] * s[keep] / np.sqrt(r)[:, None]


def same_columns(found, expected):
    """Equal up to the signs of the columns."""
    signs = np.sign(np.sum(found * expected, axis=0))
    np.testing.assert_allclose(found, expected * signs, atol=1e-9)


def eta2(labels, F):
    """The share of the variance of each column of F between the groups with these labels."""
    means = pd.DataFrame(F).groupby(np.asarray(labels)).transform("mean").to_numpy()
    return means.var(axis=0) / F.var(axis=0)


# ---- Weights of columns


def test_weights_of_columns_are_scales():
    """PCA with weights q is PCA of the columns times sqrt(q)."""
    X, q = RNG.standard_normal((30, 4)), np.array([0.5, 2.0, 1.0, 3.0])
    weighted, scaled = PCA(2, feature_weight=q).fit(X), PCA(2).fit(X * np.sqrt(q))
    np.testing.assert_allclose(weighted.explained_variance_, scaled.explained_variance_)
    same_columns(weighted.transform(X), scaled.transform(X * np.sqrt(q)))


# ---- Counts


def test_correspondence_analysis():
    """CA is the PCA of n_ij / (n r_i c_j) - 1 with the masses as weights."""
    share = COUNTS / COUNTS.sum()
    r, c = share.sum(axis=1), share.sum(axis=0)
    values, F = eigen(share / np.outer(r, c) - 1, r, c)
    ca = CA().fit(COUNTS)
    np.testing.assert_allclose(ca.explained_variance_, values)
    same_columns(ca.transform(COUNTS), F)


def test_inertia_is_chi_square():
    """The inertia is chi-square over n."""
    n = COUNTS.sum()
    expected = np.outer(COUNTS.sum(axis=1), COUNTS.sum(axis=0)) / n
    ca = CA().fit(COUNTS)
    assert ca.total_inertia_ == pytest.approx(((COUNTS - expected) ** 2 / expected).sum() / n)
    assert ca.explained_variance_[0] <= 1


def test_transition_of_rows_and_columns():
    """F_ik = sum_j (n_ij / n_i) G_jk / sqrt(lambda_k), and the reverse; the transposed table swaps F and G."""
    ca, other = CA().fit(COUNTS), CA().fit(COUNTS.T)
    F, G, root = ca.transform(COUNTS), geometry(ca).coordinates, np.sqrt(ca.explained_variance_)
    np.testing.assert_allclose(F, COUNTS / COUNTS.sum(axis=1, keepdims=True) @ G / root, atol=1e-12)
    np.testing.assert_allclose(G, (COUNTS / COUNTS.sum(axis=0)).T @ F / root, atol=1e-12)
    same_columns(other.transform(COUNTS.T), G)


# ---- Categories


def test_mca_is_ca_of_zeros_and_ones():
    """The same rows and eigenvalues; those of the Burt table are squared."""
    mca, ca, burt = MCA().fit(TABLE[CATEGORIES]), CA().fit(ONES), CA().fit(ONES.T @ ONES)
    k = mca.n_components_
    np.testing.assert_allclose(mca.explained_variance_, ca.explained_variance_[:k])
    np.testing.assert_allclose(mca.explained_variance_**2, burt.explained_variance_[:k])
    same_columns(mca.transform(TABLE[CATEGORIES]), ca.transform(ONES)[:, :k])


def test_inertia_of_mca():
    """sum_k lambda_k = P / J - 1, and lambda_k is the mean of eta2."""
    mca = MCA().fit(TABLE[CATEGORIES])
    assert mca.explained_variance_.sum() == pytest.approx(len(P) / J - 1)
    F = mca.transform(TABLE[CATEGORIES])
    mean = np.mean([eta2(TABLE[name], F) for name in CATEGORIES], axis=0)
    np.testing.assert_allclose(mca.explained_variance_, mean)


def test_adjusted_inertias():
    """(J / (J - 1) (lambda - 1/J))^2, over their sum (Benzecri), or the mean inertia of two columns (Greenacre)."""
    mca = MCA().fit(TABLE[CATEGORIES])
    adjusted = [(J / (J - 1) * max(value - 1 / J, 0)) ** 2 for value in mca.explained_variance_]
    np.testing.assert_allclose(mca.adjusted_inertia_, adjusted)
    np.testing.assert_allclose(mca.benzecri_ratio_, adjusted / np.sum(adjusted))
    pairs = [CA().fit(pd.crosstab(TABLE[a], TABLE[b])).total_inertia_ for a in CATEGORIES for b in CATEGORIES if a != b]
    np.testing.assert_allclose(mca.greenacre_ratio_, adjusted / np.mean(pairs))


def test_levels_are_at_the_means_of_their_rows():
    """In FAMD; in MCA over sqrt(lambda_k). The same holds for supplementary levels."""
    for model, power in ((MCA(supplementary=["c2", "x0"]), 0.5), (FAMD(supplementary=["c2", "x0"]), 0.0)):
        table = TABLE[[*CATEGORIES, "x0"]] if power else TABLE
        F = model.fit(table).transform(table)
        g = geometry(model)
        for i in np.flatnonzero(g.is_level):
            own = (TABLE[g.variables[i]] == g.levels[i]).to_numpy()
            expected = F[own].mean(axis=0) / model.explained_variance_**power
            np.testing.assert_allclose(g.coordinates[i], expected, atol=1e-12)


def test_v_test():
    """The mean of a level over the standard deviation of the mean of n_j rows that are drawn without replacement."""
    famd = FAMD().fit(TABLE)
    F, g = famd.transform(TABLE), geometry(famd)
    i = g.names.index("c1=b")
    own = (TABLE["c1"] == "b").to_numpy()
    n_j = own.sum()
    sd = np.sqrt(famd.explained_variance_ / n_j * (N - n_j) / (N - 1))
    np.testing.assert_allclose(g.v_tests[i], F[own].mean(axis=0) / sd)
    draws = np.array([F[RNG.permutation(N)[:n_j], 0].mean() for _ in range(4000)])
    assert draws.std() == pytest.approx(sd[0], rel=0.05)


# ---- Numbers and categories


def test_famd():
    """PCA of standardised numbers of weight 1, and of 1{level} / p_j - 1 of weight p_j."""
    X = TABLE[NUMBERS].to_numpy()
    Z = np.hstack([(X - X.mean(axis=0)) / X.std(axis=0), ONES / P - 1])
    values, F = eigen(Z, np.full(N, 1 / N), np.concatenate([np.ones(2), P]))
    famd = FAMD().fit(TABLE)
    np.testing.assert_allclose(famd.explained_variance_, values)
    same_columns(famd.transform(TABLE), F)


def test_eigenvalues_of_famd():
    """lambda_k is the sum of r2 of numbers and of eta2 of categories; the inertia of a column is 1, or m - 1."""
    famd = FAMD().fit(TABLE)
    F = famd.transform(TABLE)
    r2 = np.corrcoef(TABLE[NUMBERS].T, F.T)[:2, 2:] ** 2
    expected = r2.sum(axis=0) + sum(eta2(TABLE[name], F) for name in CATEGORIES)
    np.testing.assert_allclose(famd.explained_variance_, expected)
    assert famd.total_inertia_ == pytest.approx(2 + len(P) - J)


def test_famd_of_one_kind_of_columns():
    """Of numbers only it is PCA of standardised columns, of categories only MCA with J times the eigenvalues."""
    pca, mca = PCA(scale=True, ddof=0).fit(TABLE[NUMBERS]), MCA().fit(TABLE[CATEGORIES])
    np.testing.assert_allclose(FAMD().fit(TABLE[NUMBERS]).explained_variance_, pca.explained_variance_)
    np.testing.assert_allclose(FAMD().fit(TABLE[CATEGORIES]).explained_variance_, J * mca.explained_variance_)


# ---- Groups


def an_mfa():
    groups = {"first": ["x0", "c0"], "second": ["x1"], "third": ["c1", "c2"]}
    return groups, MFA(groups=groups).fit(TABLE)


def test_mfa():
    """PCA of the columns of FAMD in which the weights of a group are divided by its first eigenvalue."""
    groups, mfa = an_mfa()
    tables, weights = [], []
    for columns in groups.values():
        part = FAMD().fit(TABLE[columns])
        for name in columns:
            x = TABLE[name]
            if name in NUMBERS:
                tables.append(((x - x.mean()) / x.std(ddof=0)).to_numpy()[:, None])
                weights.append(np.ones(1) / part.explained_variance_[0])
            else:
                ones = pd.get_dummies(x).to_numpy(dtype=float)
                tables.append(ones / ones.mean(axis=0) - 1)
                weights.append(ones.mean(axis=0) / part.explained_variance_[0])
    values, F = eigen(np.hstack(tables), np.full(N, 1 / N), np.concatenate(weights))
    np.testing.assert_allclose(mfa.explained_variance_, values)
    same_columns(mfa.transform(TABLE), F)
    assert mfa.explained_variance_[0] <= len(groups)


def test_partial_coordinates():
    """Their mean over the groups is the coordinate of the row."""
    groups, mfa = an_mfa()
    partial = mfa.partial_coordinates(TABLE)
    assert list(partial) == list(mfa.group_names_) and set(partial) == set(groups)
    np.testing.assert_allclose(np.mean(list(partial.values()), axis=0), mfa.transform(TABLE), atol=1e-12)


def test_lg_and_rv():
    """Lg(g, h) = tr(W_g W_h) for the matrices of inner products of rows W_g = Z_g diag(q_g) Z_g' / N."""
    groups, mfa = an_mfa()
    W = {}
    for name, columns in groups.items():
        alone = FAMD().fit(TABLE[columns])
        F = alone.transform(TABLE[columns])
        W[name] = F @ F.T / N / alone.explained_variance_[0]
    names = mfa.group_names_
    lg = np.array([[np.trace(W[g] @ W[h]) for h in names] for g in names])
    np.testing.assert_allclose(mfa.lg_[:3, :3], lg)
    root = np.sqrt(np.diagonal(lg))
    np.testing.assert_allclose(mfa.rv_[:3, :3], lg / root / root[:, None])
