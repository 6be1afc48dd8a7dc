"""Tables with categories at their edges: bad input, odd names and types, extreme numbers, and any order of blocks."""

from __future__ import annotations

import datetime as dt
import decimal
import time

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import lowdim
from lowdim import CA, FAMD, MCA, MFA
from lowdim.errors import CategoryWarning

N = 60
RNG = np.random.default_rng(0)
BASE = pd.DataFrame({"a": RNG.choice(["x", "y"], N), "b": RNG.choice(["p", "q", "r"], N)})
NUMBERS = BASE.assign(z=RNG.standard_normal(N), w=RNG.standard_normal(N))


def levels(**columns):
    """The levels of further columns of the table."""
    found = FAMD(1).fit(BASE.assign(**columns)).levels_
    return next(found[name] for name in columns)


# ---- What is no category


def test_a_level_per_row_is_an_identifier():
    with pytest.raises(
        ValueError, match="'id' looks like an identifier: 60 different entries in 60 rows, such as 'r0'"
    ):
        MCA(2).fit(BASE.assign(id=[f"r{i}" for i in range(N)]))
    with pytest.raises(ValueError, match="use FAMD, in which they are numbers"):
        MCA(2).fit(NUMBERS)


def test_one_level_changes_nothing():
    found, plain = FAMD(2).fit(NUMBERS.assign(c="k")), FAMD(2).fit(NUMBERS)
    assert found.levels_["c"] == ["k"]
    assert_allclose(found.explained_variance_, plain.explained_variance_, rtol=1e-12)
    with pytest.raises(ValueError, match="one level only"):
        MCA(1).fit(pd.DataFrame({"a": ["x"] * 9, "b": ["y"] * 9}))


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_all_missing(missing):
    table = BASE.assign(c=pd.Series([missing] * N, dtype=object))
    assert MCA(2).fit(table).levels_["c"] == ["(missing)"]
    with pytest.raises(ValueError, match="'c' has no entry: all are missing"):
        MCA(2, missing="passive").fit(table)
    with pytest.raises(ValueError, match="'c' has missing entries"):
        MCA(2, missing="error").fit(table)


@pytest.mark.parametrize("values", [[1, "a"], [True, "a"], [1.5, "a"], ["a", 2]])
@pytest.mark.parametrize("model", [MCA(2), FAMD(2), MFA(2, groups={"g": ["a", "c"], "h": ["b"]})])
def test_mixed_types_name_the_column_and_the_types(values, model):
    kinds = ", ".join(sorted(type(value).__name__ for value in values))
    with pytest.raises(TypeError, match=f"'c' holds entries of several types: {kinds}"):
        model.fit(BASE.assign(c=pd.Series(values * (N // 2), dtype=object)))
    if not isinstance(model, MFA):
        with pytest.raises(TypeError, match=f"'x1' holds entries of several types: {kinds}"):
            model.fit([[value, "c"] for value in values * 5])


@pytest.mark.parametrize(
    ("value", "what"), [([1, 2], "lists"), ((1, 2), "lists"), ({"k": 1}, "dictionaries"), (object(), "entries of type")]
)
def test_entries_that_are_no_text(value, what):
    with pytest.raises(TypeError, match=f"'c' holds {what}"):
        MCA(2).fit(BASE.assign(c=pd.Series([value] * N, dtype=object)))


def test_dates_are_named_or_refused():
    days = pd.to_datetime(["2020-01-01", "2021-01-01"] * (N // 2))
    objects = [dt.date(2020, 1, 1), dt.date(2021, 1, 1)] * (N // 2)
    for column in (days, pd.Series(objects, dtype=object), pd.to_timedelta(range(N), unit="D")):
        with pytest.raises(ValueError, match=r"'c' holds dates.*categorical_features"):
            FAMD(2).fit(BASE.assign(c=column))
    for column in (days, objects):
        found = FAMD(2, categorical_features=["c"]).fit(BASE.assign(c=column))
        assert found.levels_["c"] == ["2020-01-01", "2021-01-01"]
    # A time of day is kept.
    hours = pd.to_datetime(["2020-01-01 00:00", "2020-01-01 12:30"] * (N // 2))
    assert MCA(2).fit(BASE.assign(c=hours)).levels_["c"] == ["2020-01-01", "2020-01-01 12:30:00"]


def test_many_levels_are_refused_quickly():
    rng = np.random.default_rng(0)
    many = pd.DataFrame({"a": rng.integers(0, 100_000, 300_000).astype(str), "b": rng.choice(["p", "q"], 300_000)})
    start = time.perf_counter()
    with pytest.raises(ValueError, match="'a' has more than 10,000 different entries"):
        MCA(2).fit(many)
    some = many.assign(a=rng.integers(0, 9000, 300_000).astype(str))
    with pytest.raises(ValueError, match=r"9002 levels and numbers in all.*min_frequency"):
        MCA(2).fit(some)
    assert time.perf_counter() - start < 10.0


# ---- Types of columns


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pd.array([True, False, None] * 20, dtype="boolean"), ["False", "True", "(missing)"]),
        (pd.array(["u", "v", pd.NA] * 20, dtype="string"), ["u", "v", "(missing)"]),
        (pd.Series(["u", "v", pd.NA] * 20, dtype=object), ["u", "v", "(missing)"]),
        (pd.Series([True, False, None] * 20, dtype=object), ["False", "True", "(missing)"]),
        (pd.Series(["u", "v", ""] * 20), ["u", "v", "(missing)"]),
        (pd.Categorical(["lo", "hi"] * 30, categories=["lo", "mid", "hi"], ordered=True), ["lo", "hi"]),
        (pd.Categorical([10, 9, 2] * 20), ["2", "9", "10"]),
        (pd.cut(np.tile([0.1, 0.5, 0.9], 20), [0, 0.4, 0.6, 1]), ["(0.0, 0.4]", "(0.4, 0.6]", "(0.6, 1.0]"]),
        (pd.Series([b"u", b"v"] * 30), ["u", "v"]),
    ],
)
def test_columns_of_pandas(column, expected):
    assert levels(c=column) == expected


def test_objects_that_are_numbers_are_numbers():
    for values in ([1.5, 2], [decimal.Decimal("1.5"), decimal.Decimal(2)], [1, 2]):
        found = FAMD(2).fit(BASE.assign(c=pd.Series(values * (N // 2), dtype=object)))
        assert found.coding_.numbers == ["c"]
    as_decimals = BASE.assign(c=[decimal.Decimal("1.5"), decimal.Decimal(2)] * (N // 2))
    assert FAMD(2).fit(pa.Table.from_pandas(as_decimals)).coding_.numbers == ["c"]


def test_nullable_numbers():
    table = BASE.assign(c=pd.array([1, 2, None] * 20, dtype="Int64"), z=RNG.random(N))
    with pytest.raises(ValueError, match="'c' holds numbers, and has missing entries"):
        FAMD(2).fit(table)
    assert FAMD(2, categorical_features=["c"]).fit(table).levels_["c"] == ["1", "2", "(missing)"]
    assert FAMD(2, missing="em").fit(table).coding_.numbers == ["c", "z"]
    codes = pd.DataFrame({"c": [1.0, 2.0, np.nan] * 20, "d": [1, 1, 2, 3] * 15})
    assert MCA(2).fit(codes).levels_ == {"c": ["1", "2", "(missing)"], "d": ["1", "2", "3"]}


def test_columns_of_polars():
    rest = {"b": BASE["b"].tolist()}
    enum = pl.Series(["x", "y"] * 30, dtype=pl.Enum(["y", "x", "z"]))
    # The first versions with this type do not tell Arrow that it has an order.
    expected = ["y", "x"] if enum.to_arrow().type.ordered else ["x", "y"]
    assert MCA(1).fit(pl.DataFrame({"a": enum, **rest})).levels_["a"] == expected
    plain = pl.Series(["x", "y", None] * 20, dtype=pl.Categorical)
    assert MCA(1).fit(pl.DataFrame({"a": plain, **rest})).levels_["a"] == ["x", "y", "(missing)"]
    assert MCA(1).fit(pl.DataFrame({"a": [None] * N, **rest})).levels_["a"] == ["(missing)"]
    for column in ([[1]] * N, pl.Series([object()] * N, dtype=pl.Object)):
        with pytest.raises(ValueError, match="'a' holds neither text nor numbers"):
            MCA(1).fit(pl.DataFrame({"a": column, **rest}))


def test_dictionaries_of_arrow():
    rest = {"b": BASE["b"].tolist()}

    def found(*chunks):
        parts = [
            pa.DictionaryArray.from_arrays(pa.array(codes, kind), pa.array(labels)) for codes, kind, labels in chunks
        ]
        return MCA(1).fit(pa.table({"a": pa.chunked_array(parts), **rest}))

    assert found(([0, 1, 2, None] * 15, pa.int8(), ["u", None, "v"])).levels_["a"] == ["u", "v", "(missing)"]
    # A label twice in one dictionary, and other dictionaries in other chunks.
    assert found(([0, 1, 2] * 20, pa.uint16(), ["u", "u", "v"])).levels_["a"] == ["u", "v"]
    two = found(([0, 1] * 15, pa.uint8(), ["u", "v"]), ([0, 1] * 15, pa.uint8(), ["v", "w"]))
    assert two.levels_["a"] == ["u", "v", "w"]
    assert_allclose(two.mean_[:3], [0.25, 0.5, 0.25])


def test_memory_maps_and_float32(tmp_path):
    codes = RNG.integers(0, 3, (N, 3))
    mapped = np.memmap(tmp_path / "codes", dtype=np.int32, mode="w+", shape=codes.shape)
    mapped[:] = codes
    assert_allclose(MCA(2).fit(mapped).explained_variance_, MCA(2).fit(codes).explained_variance_, rtol=1e-14)
    narrow = NUMBERS.astype({"z": np.float32, "w": np.float32})
    found, wide = FAMD(2).fit(narrow), FAMD(2).fit(narrow.astype({"z": np.float64, "w": np.float64}))
    assert_allclose(found.explained_variance_, wide.explained_variance_, rtol=1e-12)
    assert found.transform(narrow).dtype == np.float64


# ---- Names


ODD = ["a=b", "<b>&\"'", "new\nline", "emoji😀", "tab\t.", "=1+2", "(rare)", "x" * 300, "%s{}", "\\N"]


def test_levels_of_any_text(tmp_path):
    table = BASE.assign(c=np.resize(ODD, N))
    model = MCA(2).fit(table)
    assert model.levels_["c"] == sorted(ODD)
    assert [f"c={level}" for level in sorted(ODD)] == model.coding_.names[-len(ODD) :]
    lowdim.save(model, tmp_path / "model.lowdim")
    assert np.array_equal(lowdim.load(tmp_path / "model.lowdim").transform(table), model.transform(table))
    assert "c" in str(model.coding_.columns)
    for made in (str(model), repr(model)):
        assert made
    # Rare levels beside a level that is called so.
    rare = MCA(2, min_frequency=7).fit(table.assign(c=["(rare)"] * 20 + ["u"] * 30 + ["v", "w"] * 5))
    assert rare.levels_["c"] == ["u", "(rare)"]
    assert_allclose(rare.mean_[-2:], [0.5, 0.5])


def test_levels_that_look_alike_stay_apart():
    table = BASE.assign(c=np.resize(["Yes", "yes", " yes", "no", "y es"], N))
    with pytest.warns(CategoryWarning, match="differ only by blanks or by capital letters") as told:
        model = MCA(2).fit(table)
    assert len(told) == 1
    assert model.levels_["c"] == [" yes", "Yes", "no", "y es", "yes"]


def test_unseen_levels_are_passive():
    model = MCA(2).fit(BASE)
    new = BASE.assign(a=["x", "zz"] * (N // 2))
    with pytest.warns(CategoryWarning, match=r"passive: 'zz' of 'a'") as told:
        found = model.transform(new)
    assert len(told) == 1
    assert_allclose(found[::2], model.transform(BASE.assign(a="x"))[::2])
    # The coordinate is the average over the levels of the column, with their shares.
    share = (BASE["a"] == "x").mean()
    average = share * model.transform(BASE.assign(a="x")) + (1 - share) * model.transform(BASE.assign(a="y"))
    assert_allclose(found[1::2], average[1::2], atol=1e-12)


def test_names_of_columns():
    with pytest.raises(ValueError, match="several columns with the name 'a', 'b'"):
        MCA(2).fit(pd.concat([BASE, BASE], axis=1))
    with pytest.raises(ValueError, match="several columns with the name 'a'"):
        MCA(2).fit(pa.table([BASE["a"].tolist(), BASE["b"].tolist()], names=["a", "a"]))
    with pytest.raises(ValueError, match="several columns with the name '1'"):
        MCA(2).fit(BASE.set_axis([1, "1"], axis=1))
    years = NUMBERS.set_axis([1990, 2000, 2010, 2020], axis=1)
    model = FAMD(2, supplementary=[2010], levels={1990: ["y", "x"]}).fit(years)
    assert model.levels_ == {"1990": ["y", "x"], "2000": ["p", "q", "r"]}
    assert model.supplementary_coding_.numbers == ["2010"]
    assert_allclose(model.transform(years), model.transform(years.to_numpy()), atol=1e-12)
    grouped = MFA(1, groups={"first": [1990, 2010], "second": [2000, 2020]}).fit(years)
    assert grouped.group_names_ == ["first", "second"]
    codes = BASE.assign(z=RNG.integers(0, 3, N)).set_axis([1990, 2000, 2010], axis=1)
    assert FAMD(1, categorical_features=[2010]).fit(codes).levels_["2010"] == ["0", "1", "2"]


def test_all_columns_supplementary():
    with pytest.raises(ValueError, match="supplementary: all columns are"):
        MCA(1, supplementary=["a", "b"]).fit(BASE)


# ---- Rows


@pytest.mark.parametrize("model", [MCA(1), FAMD(1)])
def test_too_few_rows(model):
    with pytest.raises(ValueError, match=r"0 sample\(s\) \(shape=\(0, 2\)\)"):
        model.fit(BASE.iloc[:0])
    with pytest.raises(ValueError, match="n_samples=1 is too few"):
        model.fit(BASE.iloc[:1])
    fitted = model.fit(BASE)
    with pytest.raises(ValueError, match=r"0 sample\(s\) \(shape=\(0, 2\)\)"):
        fitted.transform(BASE.iloc[:0])
    assert fitted.transform(BASE.iloc[:1]).shape == (1, 1)
    assert model.fit(pd.DataFrame({"a": ["x", "y"], "b": ["p", "q"]})).n_components_ == 1


def test_fewer_rows_than_columns():
    rng = np.random.default_rng(3)
    wide = pd.DataFrame(rng.standard_normal((6, 20)), columns=[f"x{j}" for j in range(20)])
    for j in range(10):
        wide[f"c{j}"] = rng.permutation(list("aabbcc"))
    model = FAMD().fit(wide)
    assert model.n_components_ == 5
    assert_allclose(model.explained_variance_.sum(), 20 + 2 * 10, rtol=1e-10)
    assert_allclose(model.transform(wide).var(axis=0), model.explained_variance_, rtol=1e-10)


def test_weights():
    w = (BASE["b"] != "r").astype(float).to_numpy()
    model = MCA(2).fit(BASE, sample_weight=w)
    # Levels that only rows of weight zero have did not occur.
    assert model.levels_["b"] == ["p", "q"]
    assert_allclose(model.explained_variance_, MCA(2).fit(BASE[w > 0]).explained_variance_, rtol=1e-12)
    with pytest.warns(CategoryWarning, match="'r' of 'b'"):
        model.transform(BASE)
    for wrong, what in (
        (-w, "negative"),
        (w[:5], "one entry per row"),
        (np.full(N, np.nan), "finite"),
        (0 * w, "zero"),
    ):
        with pytest.raises(ValueError, match=what):
            MCA(2).fit(BASE, sample_weight=wrong)


def test_weights_by_the_name_of_a_column(tmp_path):
    table = NUMBERS.assign(n=RNG.integers(0, 4, N))
    expected = FAMD(2).fit(NUMBERS, sample_weight=table["n"])
    table.to_csv(tmp_path / "table.csv", index=False)
    table.to_parquet(tmp_path / "table.parquet")
    blocks = [table.iloc[:20], table.iloc[20:]]
    arrow = pa.Table.from_pandas(table)
    for rows in (table, pl.from_pandas(table), arrow, blocks, tmp_path / "table.csv", tmp_path / "table.parquet"):
        found = FAMD(2).fit(rows, sample_weight="n")
        assert found.coding_.names == expected.coding_.names
        assert_allclose(found.explained_variance_, expected.explained_variance_, rtol=1e-10)
    once = FAMD(2).fit(table, sample_weight="n").partial_fit(table, sample_weight="n")
    assert_allclose(once.explained_variance_, expected.explained_variance_, rtol=1e-10)
    with pytest.raises(ValueError, match="X has no column 'weights'"):
        FAMD(2).fit(table, sample_weight="weights")
    with pytest.raises(ValueError, match="sample_weight must hold numbers"):
        FAMD(2).fit(table, sample_weight="a")
    counts = CA().fit(table[["a", "b", "n"]], sample_weight="n").counts_
    assert_allclose(counts, pd.crosstab(table["a"], table["b"], table["n"], aggfunc="sum").to_numpy())


def test_y_is_ignored_or_left_out():
    plain = MCA(1).fit(BASE)
    for y in (np.arange(N), ["c1", "c2"] * (N // 2), pd.Series(range(N))):
        assert np.array_equal(MCA(1).fit(BASE, y).components_, plain.components_)
    assert list(MCA(1).fit(BASE, "b").levels_) == ["a"]


def test_other_columns_in_new_rows():
    model = FAMD(2).fit(NUMBERS)
    scores = model.transform(NUMBERS)
    assert np.array_equal(model.transform(NUMBERS[NUMBERS.columns[::-1]]), scores)
    assert np.array_equal(model.transform(NUMBERS.assign(more="u")), scores)
    assert_allclose(model.transform(NUMBERS.to_numpy(dtype=object)), scores, atol=1e-12)
    with pytest.raises(ValueError, match="expected"):
        model.transform(NUMBERS.drop(columns="z"))
    with pytest.raises(ValueError, match="'z' held numbers in the fit"):
        model.transform(NUMBERS.assign(z="u"))


def test_blocks_of_other_types():
    with pytest.raises((TypeError, ValueError), match="z"):
        FAMD(2).fit([NUMBERS, NUMBERS.assign(z="u")])
    with pytest.raises(ValueError, match="b"):
        FAMD(2).fit([NUMBERS, NUMBERS.drop(columns="b")])


# ---- Numbers


@pytest.mark.parametrize("factor", [1e-150, 1e-30, 1e30, 1e150])
def test_scales_of_numbers(factor):
    scaled = NUMBERS.assign(z=NUMBERS["z"] * factor)
    found, plain = FAMD(3).fit(scaled), FAMD(3).fit(NUMBERS)
    assert_allclose(found.explained_variance_, plain.explained_variance_, rtol=1e-12)
    assert_allclose(np.abs(found.transform(scaled)), np.abs(plain.transform(NUMBERS)), atol=1e-10)


@pytest.mark.parametrize("offset", [1e4, 1e8])
def test_offsets_of_numbers(offset):
    moved = NUMBERS.assign(z=NUMBERS["z"] + offset)
    exact = NUMBERS.assign(z=moved["z"] - offset)
    assert_allclose(FAMD(3).fit(moved).explained_variance_, FAMD(3).fit(exact).explained_variance_, rtol=1e-11)


def test_infinity_is_refused():
    with pytest.raises(ValueError, match=r"infinity: column 'z'.*row 3"):
        FAMD(2).fit(NUMBERS.assign(z=np.where(np.arange(N) == 3, np.inf, 0.5)))


# ---- Properties


TABLES = st.integers(0, 2**32 - 1).map(np.random.default_rng)


def drawn(rng):
    """A table with dependent columns, and with missing entries of categories."""
    n = int(rng.integers(30, 120))
    z = rng.standard_normal(n)
    table = pd.DataFrame({"u": z + rng.standard_normal(n), "v": rng.standard_normal(n)})
    for j in range(int(rng.integers(1, 4))):
        cuts = np.sort(rng.standard_normal(int(rng.integers(1, 4))))
        column = np.array(list("abcd"), dtype=object)[np.digitize(z + rng.standard_normal(n), cuts)]
        column[rng.random(n) < 0.05 * j] = None
        table[f"c{j}"] = column
    return table


@settings(max_examples=25, deadline=None)
@given(TABLES)
def test_blocks_in_any_order(rng):
    table = drawn(rng)
    whole = FAMD(2).fit(table)
    edges = np.sort(rng.integers(1, len(table), 3))
    blocks = [part for part in np.split(np.arange(len(table)), edges) if len(part)]
    parts = [table.iloc[blocks[i]] for i in rng.permutation(len(blocks))]
    with_types = [part.astype({name: "string" for name in table.columns if name.startswith("c")}) for part in parts]
    found = FAMD(2).fit(with_types)
    assert found.coding_.names == whole.coding_.names
    assert_allclose(found.summary_.scatter, whole.summary_.scatter, rtol=1e-11, atol=1e-12 * len(table))
    assert_allclose(found.explained_variance_, whole.explained_variance_, rtol=1e-12)


@settings(max_examples=25, deadline=None)
@given(
    TABLES, st.lists(st.text(min_size=1, max_size=5).filter(lambda t: t.strip()), min_size=5, max_size=5, unique=True)
)
@pytest.mark.filterwarnings("ignore::lowdim.errors.CategoryWarning")
def test_renaming_levels_changes_nothing(rng, names):
    table = drawn(rng)
    renamed = table.replace(dict(zip("abcd", [f"{name}." for name in names], strict=False)))
    first, second = FAMD().fit(table), FAMD().fit(renamed)
    assert_allclose(first._inertias, second._inertias, rtol=0, atol=1e-12 * first._inertias[0])
    distances = [np.square(m.transform(t)).sum(axis=1) for m, t in ((first, table), (second, renamed))]
    assert_allclose(distances[0], distances[1], rtol=1e-8)


@settings(max_examples=10, deadline=None)
@given(TABLES)
def test_splitting_a_level_at_random_changes_little(rng):
    n = 5000
    z = rng.standard_normal(n)
    table = pd.DataFrame(
        {
            name: np.where(z + rng.standard_normal(n) > cut, "u", "v")
            for name, cut in zip("abcd", [-0.5, 0, 0, 0.5], strict=True)
        }
    )
    split = table.copy()
    split.loc[(split["a"] == "u") & (rng.random(n) < 0.5), "a"] = "w"
    plain, other = FAMD(1).fit(table), FAMD(1).fit(split)
    assert_allclose(other.explained_variance_, plain.explained_variance_, rtol=0.02)
    assert abs(np.corrcoef(plain.transform(table)[:, 0], other.transform(split)[:, 0])[0, 1]) > 0.99


@settings(max_examples=25, deadline=None)
@given(TABLES)
def test_partial_fit_is_exact(rng):
    table = drawn(rng)
    known = FAMD(2).fit(table).levels_
    known = {name: [level for level in found if level != "(missing)"] for name, found in known.items()}
    step = FAMD(2, levels=known)
    for part in np.array_split(np.arange(len(table)), 3):
        rows = table.iloc[part]
        step.partial_fit(rows.astype({name: "string" for name in known}))
    assert_allclose(step.explained_variance_, FAMD(2).fit(table).explained_variance_, rtol=1e-10)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.lists(
            st.one_of(st.none(), st.integers(0, 2), st.text(max_size=3), st.booleans(), st.floats()),
            min_size=2,
            max_size=2,
        ),
        min_size=1,
        max_size=12,
    )
)
@pytest.mark.filterwarnings("ignore::lowdim.errors.CategoryWarning")
def test_any_rows_are_fitted_or_refused_in_words(rows):
    """Rows of anything: the error, if there is one, is that of lowdim and not of a library below it."""
    for model in (MCA(1), FAMD(1)):
        try:
            scores = model.fit(rows).transform(rows)
        except (TypeError, ValueError) as error:
            assert type(error).__module__.partition(".")[0] in ("builtins", "lowdim"), error
        else:
            assert np.all(np.isfinite(scores))


# ---- Results in files


def test_results_in_files(tmp_path):
    table = NUMBERS.assign(id=[f"r{i}" for i in range(N)], day=pd.date_range("2020", periods=N))
    model = FAMD(2).fit(NUMBERS)
    scores = model.transform(NUMBERS)
    table.to_parquet(tmp_path / "rows.parquet", row_group_size=25)
    table.to_csv(tmp_path / "rows.csv", index=False)
    blocks = [table[:20], table[20:]]
    for rows in (table, pl.from_pandas(table), blocks, tmp_path / "rows.parquet", tmp_path / "rows.csv"):
        # Columns of the model, and others, are kept as they are.
        keep = ["id", "a", "z", "day"]
        model.transform_to(rows, tmp_path / "scores.parquet", keep=keep, overwrite=True)
        found = pd.read_parquet(tmp_path / "scores.parquet")
        assert list(found.columns) == [*keep, "dim1", "dim2"]
        assert found["id"].tolist() == table["id"].tolist()
        assert found["a"].tolist() == table["a"].tolist()
        assert_allclose(found["z"], table["z"])
        assert_allclose(found[["dim1", "dim2"]].to_numpy(), scores, atol=1e-12)
    with pytest.raises(ValueError, match="has no column 'name'"):
        model.transform_to(table, tmp_path / "scores.csv", keep=["name"])
    model.inverse_transform_to(scores, tmp_path / "back.csv")
    assert list(pd.read_csv(tmp_path / "back.csv").columns) == model.coding_.names
