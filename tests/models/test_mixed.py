"""MCA, FAMD and MFA: the identities of the one problem that they are, and equality of all ways to fit them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import lowdim
from lowdim import CA, FAMD, MCA, MFA, PCA
from lowdim.coding import MISSING, RARE
from lowdim.errors import CategoryWarning
from lowdim.inspect.geometry import geometry

RNG = np.random.default_rng(4)
N = 120
#: A hidden variable on which all columns depend.
HIDDEN = RNG.standard_normal(N)


def words(levels, spread=1.0, seed=0):
    """A category whose levels follow the hidden variable."""
    value = HIDDEN + spread * np.random.default_rng(seed).standard_normal(N)
    return np.asarray(levels)[np.digitize(value, np.quantile(value, np.linspace(0, 1, len(levels) + 1)[1:-1]))]


TABLE = pd.DataFrame(
    {
        "height": 170 + 9 * HIDDEN + 4 * RNG.standard_normal(N),
        "size": words(["s", "m", "l"], seed=1),
        "weight": 1e6 + 60 * HIDDEN + 30 * RNG.standard_normal(N),
        "town": words(["rome", "oslo", "bern", "lima"], 3.0, seed=2),
        "member": words([False, True], 2.0, seed=3).astype(bool),
    }
)
NUMBERS, CATEGORIES = ["height", "weight"], ["size", "town", "member"]
GROUPS = {"body": ["height", "size"], "place": ["town", "weight", "member"]}
WEIGHTS = RNG.integers(0, 4, N).astype(float)
MODELS = {
    "MCA": (lambda **o: MCA(**o), TABLE[CATEGORIES]),
    "FAMD": (lambda **o: FAMD(**o), TABLE),
    "MFA": (lambda **o: MFA(groups=GROUPS, **o), TABLE),
}
each_model = pytest.mark.parametrize("name", list(MODELS))


def close(found, expected, tol=1e-10):
    np.testing.assert_allclose(found, expected, rtol=0, atol=tol * max(np.abs(expected).max(), 1e-300))


def zeros_and_ones(table):
    """The coded table, by pandas."""
    return pd.get_dummies(table.astype(str)).astype(float)


# ---- The problem that all of them solve


@each_model
@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_the_eigenproblem(name, weights):
    """Z^T diag(r) Z diag(q) u = lambda u with u^T diag(q) u = 1, and F = Z diag(q) u, from explicit matrices."""
    make, X = MODELS[name]
    model = make().fit(X, sample_weight=weights)
    r = np.full(N, 1 / N) if weights is None else weights / weights.sum()
    coded = []
    for column in [*model.coding_.numbers, *model.coding_.categories]:
        if column in NUMBERS:
            z = X[column].to_numpy()[:, None]
            z = (z - r @ z) / np.sqrt(r @ (z - r @ z) ** 2)
            q = np.ones(1)
        else:
            ones = np.array([[str(entry) == level for level in model.levels_[column]] for entry in X[column]], float)
            q = r @ ones
            z = ones / q - 1
            q = q / (len(X.columns) if name == "MCA" else 1)
        coded.append((column, z, q))
    if name == "MFA":
        for columns in GROUPS.values():
            Z = np.hstack([z * np.sqrt(q) for column, z, q in coded if column in columns])
            first = np.linalg.eigvalsh(Z.T @ (Z * r[:, None]))[-1]
            coded = [(c, z, q / first if c in columns else q) for c, z, q in coded]
    Z, q = np.hstack([z for _, z, _ in coded]), np.concatenate([q for *_, q in coded])
    U = (model.components_ / np.sqrt(q)).T
    S = Z.T @ (Z * r[:, None])
    close(S @ (q[:, None] * U), U * model.explained_variance_, 1e-9)
    close(U.T @ (q[:, None] * U), np.eye(model.n_components_), 1e-9)
    F = Z @ (q[:, None] * U)
    close(model.transform(X), F, 1e-9)
    close(F.T @ (F * r[:, None]), np.diag(model.explained_variance_), 1e-9)
    assert model.total_inertia_ == pytest.approx(np.trace(S * q), rel=1e-10)


def test_total_inertia():
    """J variables with P levels: P / J - 1 for MCA; one for each number and m - 1 for m levels in FAMD."""
    assert MCA().fit(TABLE[CATEGORIES]).total_inertia_ == pytest.approx(9 / 3 - 1)
    assert FAMD().fit(TABLE).total_inertia_ == pytest.approx(2 + 2 + 3 + 1)


def test_mca_is_the_ca_of_zeros_and_ones():
    mca, ones = MCA().fit(TABLE[CATEGORIES]), zeros_and_ones(TABLE[CATEGORIES])
    ca = CA(mca.n_components_).fit(ones)
    close(ca.explained_variance_, mca.explained_variance_)
    close(ca.transform(ones), mca.transform(TABLE[CATEGORIES]), 1e-9)
    assert ca.explained_variance_[0] <= 1.0


def test_ca_of_the_burt_table_has_the_squares():
    mca, ones = MCA().fit(TABLE[CATEGORIES]), zeros_and_ones(TABLE[CATEGORIES])
    burt = CA().fit((ones.T @ ones).to_numpy())
    close(burt.explained_variance_[: mca.n_components_], mca.explained_variance_**2)


def test_rows_and_columns_play_the_same_part():
    counts = RNG.integers(1, 30, (7, 5)).astype(float)
    one, other = CA().fit(counts), CA().fit(counts.T)
    close(one.explained_variance_, other.explained_variance_)
    close(np.abs(geometry(one).coordinates), np.abs(other.transform(counts.T)), 1e-9)
    assert one.chi_square_ == pytest.approx(other.chi_square_)


def test_famd_of_numbers_is_standardised_pca():
    famd, pca = FAMD().fit(TABLE[NUMBERS]), PCA(scale=True, ddof=0).fit(TABLE[NUMBERS])
    close(famd.explained_variance_, pca.explained_variance_)
    close(famd.transform(TABLE[NUMBERS]), pca.transform(TABLE[NUMBERS]), 1e-8)


def test_famd_of_categories_is_mca_times_the_number_of_columns():
    famd, mca = FAMD().fit(TABLE[CATEGORIES]), MCA().fit(TABLE[CATEGORIES])
    close(famd.explained_variance_, 3 * mca.explained_variance_)
    close(famd.transform(TABLE[CATEGORIES]), np.sqrt(3) * mca.transform(TABLE[CATEGORIES]))


def test_eigenvalues_of_famd_are_sums_of_squared_correlations_and_correlation_ratios():
    famd = FAMD().fit(TABLE)
    F, total = famd.transform(TABLE), 0.0
    for column in TABLE:
        if column in NUMBERS:
            total = total + np.array([np.corrcoef(TABLE[column], f)[0, 1] ** 2 for f in F.T])
        else:
            means = pd.DataFrame(F).groupby(TABLE[column].to_numpy()).transform("mean").to_numpy()
            total = total + means.var(axis=0) / F.var(axis=0)
    close(total, famd.explained_variance_, 1e-9)


def test_mfa_of_one_group_is_its_analysis_over_the_first_eigenvalue():
    famd, mfa = FAMD().fit(TABLE), MFA(groups={"all": list(TABLE)}).fit(TABLE)
    close(mfa.explained_variance_, famd.explained_variance_ / famd.explained_variance_[0])
    assert mfa.rv_[0, 1] == pytest.approx(1.0)


def test_each_group_alone_has_the_first_eigenvalue_one():
    mfa = MFA(groups=GROUPS).fit(TABLE)
    for group, columns in GROUPS.items():
        alone = FAMD().fit(TABLE[columns])
        close(mfa.group_inertias_[group], alone.explained_variance_)
    assert mfa.explained_variance_[0] <= len(GROUPS)
    close(mfa.group_coordinates_.sum(axis=0), mfa.explained_variance_)


def test_groups_of_mfa_by_prefix_and_by_names_of_several_levels():
    expected = MFA(groups=GROUPS).fit(TABLE).explained_variance_
    group_of = {column: group for group, columns in GROUPS.items() for column in columns}
    prefixed = TABLE.rename(columns={column: f"{group_of[column]}/{column}" for column in TABLE})
    close(MFA(groups="/").fit(prefixed).explained_variance_, expected)
    several = TABLE.set_axis(pd.MultiIndex.from_tuples([(group_of[c], c) for c in TABLE]), axis=1)
    model = MFA().fit(several)
    close(model.explained_variance_, expected)
    close(model.transform(several), MFA(groups="/").fit(prefixed).transform(prefixed))


# ---- What must not matter


@each_model
def test_weights_are_repeated_rows(name):
    make, X = MODELS[name]
    weighted, repeated = make().fit(X, sample_weight=WEIGHTS), make().fit(X.loc[X.index.repeat(WEIGHTS.astype(int))])
    close(weighted.explained_variance_, repeated.explained_variance_)
    close(weighted.transform(X), repeated.transform(X), 1e-8)
    assert weighted.levels_ == repeated.levels_


@each_model
def test_names_of_levels_do_not_matter(name):
    make, X = MODELS[name]
    renamed = X.assign(size=X["size"].map({"s": "1", "m": "zzz", "l": "=<b>"}))
    close(make().fit(renamed).explained_variance_, make().fit(X).explained_variance_)


@each_model
def test_order_of_rows_does_not_matter(name):
    make, X = MODELS[name]
    order = np.random.default_rng(0).permutation(N)
    one, other = make(n_components=2).fit(X), make(n_components=2).fit(X.iloc[order])
    close(other.transform(X), one.transform(X), 1e-8)
    assert one.levels_ == other.levels_


def test_a_level_that_is_split_at_random_changes_little():
    random = np.random.default_rng(1)
    hidden = random.standard_normal(20_000)
    entries = [np.digitize(hidden + random.standard_normal(20_000), [-0.7, 0.7]).astype(str) for _ in range(4)]
    X = pd.DataFrame(dict(zip("abcd", entries, strict=True)))
    split = X.assign(a=np.where((X["a"] == "1") & (random.random(20_000) < 0.5), "1b", X["a"]))
    one, other = MCA(1).fit(X), MCA(1).fit(split)
    assert abs(np.corrcoef(one.transform(X)[:, 0], other.transform(split)[:, 0])[0, 1]) > 0.999


@pytest.mark.parametrize("name", ["FAMD", "MFA"])
def test_offsets_and_units_of_numbers_do_not_matter(name):
    make, X = MODELS[name]
    moved = X.assign(height=X["height"] * 1e-150, weight=1e8 + X["weight"] * 1e-3)
    close(make().fit(moved).explained_variance_, make().fit(X).explained_variance_, 1e-5)


# ---- Ways to fit


def stored(X, folder, kind):
    """The table in another form."""
    table = pa.Table.from_pandas(X, preserve_index=False)
    if kind == "parquet":
        import pyarrow.parquet as pq

        pq.write_table(table, folder / "x.parquet", row_group_size=37)
        return str(folder / "x.parquet")
    if kind == "csv":
        X.to_csv(folder / "x.csv", index=False)
        return str(folder / "x.csv")
    if kind == "dask":
        import dask.dataframe as dd

        return dd.from_pandas(X, npartitions=4)
    return {
        "categoricals": lambda: X.astype({c: "category" for c in X if c in CATEGORIES}),
        "polars": lambda: pl.from_pandas(X),
        "lazy": lambda: pl.from_pandas(X).lazy(),
        "arrow": lambda: table,
        "dictionaries": lambda: pa.table(
            {c: table[c].dictionary_encode() if c in ("size", "town") else table[c] for c in X}
        ),
        "blocks": lambda: [X.iloc[:50], X.iloc[50:]],
        "objects": lambda: X.to_numpy(dtype=object),
        "lists": lambda: X.to_numpy(dtype=object).tolist(),
    }[kind]()


KINDS = [
    "categoricals",
    "polars",
    "lazy",
    "arrow",
    "dictionaries",
    "blocks",
    "objects",
    "lists",
    "parquet",
    "csv",
    "dask",
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_every_kind_of_table(kind, weights, tmp_path):
    expected = FAMD(3).fit(TABLE, sample_weight=weights)
    given = stored(TABLE, tmp_path, kind)
    model = FAMD(3).fit(given, sample_weight=weights)
    close(model.explained_variance_, expected.explained_variance_)
    scores = model.transform(given)
    close(np.asarray(scores.compute() if hasattr(scores, "compute") else scores), expected.transform(TABLE), 1e-8)
    named = list(model.levels_) if kind not in ("objects", "lists") else CATEGORIES
    assert dict(zip(named, model.levels_.values(), strict=True)) == expected.levels_


@each_model
def test_partial_fit_and_fit_summary_are_exact(name):
    make, X = MODELS[name]
    whole = make(n_components=2).fit(X)
    levels = whole.levels_
    parts = make(n_components=2, levels=levels)
    for i in range(0, N, 40):
        parts.partial_fit(X.iloc[i : i + 40])
    close(parts.transform(X), whole.transform(X), 1e-8)
    if name != "MFA":
        summed = make(n_components=2, levels=levels).fit_summary(whole.summary_)
        close(summed.transform(X), whole.transform(X), 1e-8)
    later = make(n_components=2).fit(X.iloc[:80]).partial_fit(X.iloc[80:])
    close(later.transform(X), whole.transform(X), 1e-8)


def test_partial_fit_refuses_further_levels():
    model = MCA(1).partial_fit(TABLE[CATEGORIES].head(60))
    with pytest.raises(ValueError, match="'town' has the new levels 'paris'"):
        model.partial_fit(TABLE[CATEGORIES].assign(town="paris"))
    model = FAMD(1, levels={"size": ["s", "m"], "town": ["rome"], "member": ["True", "False"]})
    with pytest.raises(ValueError, match="there are further ones: 'l' of 'size'; 'oslo', 'bern', 'lima' of 'town'"):
        model.partial_fit(TABLE)
    assert not hasattr(model, "components_")


@each_model
def test_first_components_saving_and_data_frames(name, tmp_path):
    make, X = MODELS[name]
    model = make().fit(X)
    close(model.transform(X, n_components=2), model.transform(X)[:, :2])
    lowdim.save(model, tmp_path / "model")
    again = lowdim.load(tmp_path / "model")
    np.testing.assert_array_equal(again.transform(X), model.transform(X))
    assert again.levels_ == model.levels_
    close(again.partial_fit(X).explained_variance_, model.explained_variance_)
    framed = make(n_components=2).set_output(transform="pandas").fit(X).transform(X)
    assert list(framed.columns) == ["dim1", "dim2"]
    assert "proportion" in str(model)
    assert lowdim.plan(make(), X).passes == 2


# ---- Back from scores


@each_model
def test_all_dimensions_give_the_table_back(name):
    make, X = MODELS[name]
    model = make().fit(X)
    found = model.inverse_transform(model.transform(X))
    entries = model.most_probable(model.transform(X))
    for j, column in enumerate([*model.coding_.numbers, *model.coding_.categories]):
        if column in NUMBERS:
            close(entries[:, j].astype(float), X[column].to_numpy(), 1e-9)
        else:
            assert list(entries[:, j]) == [str(entry) for entry in X[column]]
            close(found[:, model.coding_.columns[column]].sum(axis=1), np.ones(N))


def test_few_dimensions_give_probabilities():
    model = MCA(1).fit(TABLE[CATEGORIES])
    found = model.inverse_transform(model.transform(TABLE[CATEGORIES]))
    assert found.min() >= 0.0
    for piece in model.coding_.columns.values():
        close(found[:, piece].sum(axis=1), np.ones(N))
    right = model.most_probable(model.transform(TABLE[CATEGORIES]))[:, 0] == TABLE["size"]
    assert right.mean() > 0.6


# ---- Levels


def test_levels_are_in_a_defined_order():
    X = pd.DataFrame(
        {
            "number": ["10", "9", "9", "10"],
            "word": ["b", "a", "B", "a"],
            "ordered": pd.Categorical(["low", "high", "low", "high"], ["low", "mid", "high"], ordered=True),
            "given": ["y", "x", "y", "x"],
        }
    )
    with pytest.warns(CategoryWarning, match="'b' and 'B' of 'word'"):
        found = MCA(1, levels={"given": ["y", "x"]}).fit(X).levels_
    assert found == {"number": ["9", "10"], "word": ["B", "a", "b"], "ordered": ["low", "high"], "given": ["y", "x"]}


def test_rare_levels_are_pooled_by_name():
    X = TABLE[CATEGORIES].assign(town=["a"] * 60 + ["b"] * 50 + ["c"] * 6 + ["d"] * 4)
    model = MCA(2, min_frequency=10).fit(X)
    assert model.levels_["town"] == ["a", "b", RARE]
    assert model.coding_.rare[model.coding_.categories.index("town")] == ["c", "d"]
    by_hand = MCA(2).fit(X.assign(town=X["town"].replace({"c": RARE, "d": RARE})))
    close(model.explained_variance_, by_hand.explained_variance_)
    close(MCA(2, min_frequency=10 / N).fit(X).explained_variance_, model.explained_variance_)


def test_missing_entries():
    X = TABLE[CATEGORIES].astype(object)
    X.iloc[::10, 0] = None
    level = MCA().fit(X)
    assert level.levels_["size"][-1] == MISSING
    close(
        level.explained_variance_,
        MCA().fit(X.map(lambda entry: "none" if entry is None else entry)).explained_variance_,
    )
    passive = MCA(missing="passive").fit(X)
    assert MISSING not in passive.levels_["size"]
    # A row of which everything is missing is at the mean.
    nothing = pd.DataFrame({c: pd.Series([None], dtype=object) for c in X})
    close(passive.transform(nothing), np.zeros((1, passive.n_components_)), 1e-300)
    with pytest.raises(ValueError, match="'size' has missing entries"):
        MCA(missing="error").fit(X)


def test_new_levels_are_passive_and_named_once():
    model = MCA(2).fit(TABLE[CATEGORIES])
    new = TABLE[CATEGORIES].head(3).assign(town=["paris", "rome", "kiel"])
    with pytest.warns(CategoryWarning, match="'paris', 'kiel' of 'town'") as found:
        scores = model.transform(new)
    assert len(found) == 1
    A = (model.components_ / model.scale_).T
    known = model.coding_.columns["town"]
    full = model.transform(TABLE[CATEGORIES].head(1))[0]
    own = model.coding_.columns["town"].start + model.levels_["town"].index(TABLE["town"][0])
    close(scores[0], full - (A[own] - model.mean_[known] @ A[known]))


def test_identifiers_are_refused():
    with pytest.raises(ValueError, match="'id' looks like an identifier: 120 different entries in 120 rows"):
        FAMD().fit(TABLE.assign(id=[f"n{i}" for i in range(N)]))


def test_too_many_columns_are_refused_at_once():
    with pytest.raises(ValueError, match="50000 levels and numbers in all, and at most 4000 are taken"):
        FAMD(2).fit(np.ones((3, 50_000)))
