"""Every model writes what it returns: `transform_to` and its like against `transform` and its like."""

import inspect
import itertools
import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.utils import get_tags

import examples
import lowdim
from examples import MODELS, X, Y, fitted
from inputs import INPUTS, names, table, with_missing
from lowdim import CCA, GCCA, PCA, PPCA, KernelCCA, KernelPCA, PLSRegression
from lowdim.reading import map as writing
from lowdim.sinks import SINKS
from written import read_back

#: The methods whose results can be written, and what they are given.
METHODS = {
    "transform": lambda model: X,
    "inverse_transform": lambda model: model.transform(X),
    "impute": lambda model: with_missing(X),
    "predict": lambda model: X,
}
CASES = [
    (name, method)
    for name in MODELS
    for method in METHODS
    if hasattr(getattr(lowdim, name), method) and (name, method) != ("KernelCCA", "inverse_transform")
]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Blocks of 64 rows."""
    monkeypatch.setattr(writing, "_RESULT_BYTES", 1)


def close(found, expected):
    """The products of blocks of other sizes may be rounded otherwise, and so may kernels."""
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize(("name", "method"), CASES)
@pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")
def test_every_model_and_method(name, method, tmp_path):
    model = fitted(name)
    given = METHODS[method](model)
    path = getattr(model, f"{method}_to")(given, f"{tmp_path}/out.parquet")
    assert path == f"{tmp_path}/out.parquet"
    found, columns = read_back(path)
    close(found, getattr(model, method)(given))
    if method == "transform":
        assert columns == list(model.get_feature_names_out())
    elif method == "predict":
        assert columns == ["y1", "y2", "y3"]
    elif name == "FeatureMapPCA":
        assert columns == model.feature_names_
    else:
        assert columns == ["x1", "x2", "x3", "x4", "x5"]


@pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")
def test_a_model_without_a_method_has_none_that_writes(tmp_path):
    for name in MODELS:
        for method in METHODS:
            assert hasattr(fitted(name), f"{method}_to") == hasattr(fitted(name), method), (name, method)
    precomputed = KernelPCA(2, kernel="precomputed").fit(X @ X.T)
    assert not hasattr(precomputed, "inverse_transform_to")
    learned = {
        flag: lowdim.sklearn.KernelPCA(2, kernel="rbf", fit_inverse_transform=flag).fit(X) for flag in (True, False)
    }
    assert not hasattr(learned[False], "inverse_transform_to")
    Z = learned[True].transform(X)
    close(
        read_back(learned[True].inverse_transform_to(Z, f"{tmp_path}/out.npy"))[0], learned[True].inverse_transform(Z)
    )


def test_an_unfitted_model_writes_nothing(tmp_path):
    with pytest.raises(Exception, match="not fitted"):
        PCA(2).transform_to(X, tmp_path / "out.csv")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("ending", [*SINKS, ".parquet/", ".npy/"])
def test_every_kind_of_file(ending, dtype, tmp_path):
    rows = X.astype(dtype)
    model = PCA(2).fit(rows)
    found, _ = read_back(model.transform_to(rows, f"{tmp_path}/out{ending}"))
    assert found.dtype == ("float64" if "csv" in ending else dtype)
    np.testing.assert_allclose(found, model.transform(rows), rtol=0, atol=1e-12 if dtype == "float64" else 1e-5)


@pytest.mark.parametrize("name", INPUTS)
def test_every_kind_of_rows(name, tmp_path):
    kind = INPUTS[name]
    rows = np.round(X)
    model = PCA(2).fit(kind.make(rows))
    found, _ = read_back(model.transform_to(kind.make(rows), f"{tmp_path}/out.arrow"))
    close(found, PCA(2).fit(rows).transform(rows))


def test_reconstructed_rows_have_the_names_of_the_fit(tmp_path):
    model = PCA(2).fit(table("polars", X))
    Z = model.transform(table("polars", X))
    found, columns = read_back(model.inverse_transform_to(Z, f"{tmp_path}/out.arrow"))
    close(found, model.inverse_transform(Z))
    assert columns == names(5)


def test_paths_may_be_objects(tmp_path):
    assert PCA(2).fit(X).transform_to(X, Path(tmp_path) / "out.csv") == f"{tmp_path}/out.csv"


def test_a_path_is_rows(tmp_path):
    np.save(tmp_path / "rows.npy", X)
    model = PCA(2).fit(X)
    close(read_back(model.transform_to(tmp_path / "rows.npy", f"{tmp_path}/out.npy"))[0], model.transform(X))
    with pytest.raises(ValueError, match="holds the rows that are being read"):
        model.transform_to(tmp_path / "rows.npy", tmp_path / "rows.npy", overwrite=True)
    np.testing.assert_array_equal(np.load(tmp_path / "rows.npy"), X)


# ---- Two or more tables


@pytest.mark.parametrize("name", [name for name, example in MODELS.items() if example.two_tables and name != "GCCA"])
def test_scores_of_both_tables_side_by_side(name, tmp_path):
    model = fitted(name)
    found, columns = read_back(model.transform_to(X, f"{tmp_path}/out.parquet", y=(Y[i : i + 40] for i in (0, 40, 80))))
    close(found, np.hstack(model.transform(X, Y)))
    scores = list(model.get_feature_names_out())
    assert columns == [f"X_{score}" for score in scores] + [f"y_{score}" for score in scores]
    if name != "KernelCCA":
        Z = model.transform(X, Y)
        found, columns = read_back(model.inverse_transform_to(Z[0], f"{tmp_path}/back.parquet", y=Z[1]))
        close(found, np.hstack(model.inverse_transform(*Z)))
        assert columns == ["x1", "x2", "x3", "x4", "x5", "y1", "y2", "y3"]


def test_more_than_two_tables(tmp_path):
    tables = [X, table("polars", Y), Y[:, :1] + X[:, :2]]
    model = GCCA(1).fit(tables)
    found, columns = read_back(model.transform_to(tables, f"{tmp_path}/out.parquet"))
    close(found, np.hstack(model.transform(tables)))
    assert columns == ["table0_comp1", "table1_comp1", "table2_comp1"]
    Z = model.transform(tables)
    found, columns = read_back(model.inverse_transform_to(list(Z), f"{tmp_path}/back.parquet"))
    close(found, np.hstack(model.inverse_transform(list(Z))))
    assert columns[4:7] == ["table0_x5", "table1_col0", "table1_col1"]


def test_tables_of_different_lengths(tmp_path):
    for model, arguments in ((CCA(1).fit(X, Y), (X, Y[:80])), (KernelCCA(1).fit(X, Y), (X, Y[:80]))):
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            model.transform_to(arguments[0], tmp_path / "out.csv", y=arguments[1])
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            model.transform(*arguments)
    assert os.listdir(tmp_path) == []


def test_predictions_of_a_vector_and_from_fewer_components(tmp_path):
    pandas = pytest.importorskip("pandas")
    model = PLSRegression(3).fit(X, pandas.Series(Y[:, 0], name="price"))
    found, columns = read_back(model.predict_to(X, f"{tmp_path}/out.csv", n_components=2))
    close(found[:, 0], model.predict(X, n_components=2))
    assert columns == ["price"]
    close(read_back(model.predict_to(X, f"{tmp_path}/out.npy"))[0], model.predict(X))


def test_standard_deviations_of_imputed_values(tmp_path):
    incomplete = with_missing(X)
    model = PPCA(2).fit(table("pandas", incomplete))
    rows = table("pandas", incomplete)
    found, columns = read_back(model.impute_to(rows, f"{tmp_path}/out.parquet", return_std=True))
    close(found, np.hstack(model.impute(rows, return_std=True)))
    assert columns == [*names(5), *(f"{name}_std" for name in names(5))]


# ---- Columns that are carried along


def with_ids(library, rows=X):
    module = pytest.importorskip(library)
    columns = {"id": [f"r{i}" for i in range(len(rows))], "day": np.datetime64("2026-01-01") + np.arange(len(rows))}
    columns |= {name: rows[:, j] for j, name in enumerate(names(rows.shape[1]))}
    # The columns that are kept lie among the others.
    order = ["col0", "id", "col1", "col2", "day", "col3", "col4"]
    return (module.table if library == "pyarrow" else module.DataFrame)({name: columns[name] for name in order})


KEEPING = {
    "pandas": lambda folder: with_ids("pandas").set_index(np.arange(90)[::-1]),
    "polars": lambda folder: with_ids("polars"),
    "pyarrow": lambda folder: with_ids("pyarrow"),
    "list of frames": lambda folder: [with_ids("polars")[i : i + 20] for i in range(0, 90, 20)],
    "generator": lambda folder: (with_ids("pandas")[i : i + 20] for i in range(0, 90, 20)),
    "Dask": lambda folder: pytest.importorskip("dask.dataframe").from_pandas(with_ids("pandas"), npartitions=3),
    "Parquet": lambda folder: stored(with_ids("pandas"), folder, "parquet"),
    "CSV": lambda folder: lowdim.scan(stored(with_ids("pandas"), folder, "csv")),
    "Arrow": lambda folder: stored(with_ids("pandas"), folder, "feather"),
}


def stored(frame, folder, kind):
    """Two files."""
    for i in range(2):
        part = frame[50 * i : 50 * (i + 1)].reset_index(drop=True)
        getattr(part, f"to_{kind}")(folder / f"in-{i}.{kind}", **({} if kind == "feather" else {"index": False}))
    return str(folder / f"in-*.{kind}")


@pytest.mark.parametrize("name", KEEPING)
def test_columns_are_carried_along(name, tmp_path):
    model = PCA(2).fit(table("pandas", X))
    rows = KEEPING[name](tmp_path)
    found = read_back(model.transform_to(rows, f"{tmp_path}/out.parquet", keep=["day", "id"]), table=True)
    assert found.column_names == ["day", "id", "PC1", "PC2"]
    assert found["id"].to_pylist() == [f"r{i}" for i in range(90)]
    assert str(found["day"][89].as_py())[:10] == "2026-03-31"
    close(np.column_stack([found["PC1"], found["PC2"]]), model.transform(table("pandas", X)))


@pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")
def test_columns_are_carried_along_by_every_model(tmp_path):
    rows = with_ids("polars")
    for name in MODELS:
        model = examples.make(name).fit(*examples.tables(name, table("polars", X)))
        found = read_back(model.transform_to(rows, f"{tmp_path}/{name}.csv", keep=["id", "day"]), table=True)
        assert found["id"].to_pylist() == [f"r{i}" for i in range(90)]
        close(np.column_stack(found.columns[2:]), model.transform(table("polars", X)))


def test_columns_of_the_first_of_several_tables(tmp_path):
    rows, model = with_ids("polars"), GCCA(1).fit([table("polars", X), Y])
    path = model.transform_to([rows, Y], f"{tmp_path}/out.parquet", keep=["id", "day"])
    assert read_back(path, table=True).column_names == ["id", "day", "table0_comp1", "table1_comp1"]
    pair = CCA(1).fit(table("polars", X), Y)
    path = pair.transform_to(rows, f"{tmp_path}/pair.parquet", y=Y, keep=["id", "day"])
    found = read_back(path, table=True)
    close(np.column_stack(found.columns[2:]), np.hstack(pair.transform(table("polars", X), Y)))


@pytest.mark.parametrize("name", KEEPING)
def test_y_may_be_columns_of_the_same_table(name, tmp_path):
    """They are read in the same pass: the generator is read once."""
    model = CCA(1).fit(table("pandas", X[:, :3]), table("pandas", X)[["col3", "col4"]])
    x_scores, y_scores = model.transform(table("pandas", X[:, :3]), table("pandas", X)[["col3", "col4"]])
    rows, options = KEEPING[name](tmp_path), {"y": ["col3", "col4"], "keep": ["id", "day"]}
    found = read_back(model.transform_to(rows, f"{tmp_path}/out.parquet", **options), table=True)
    assert found["id"].to_pylist() == [f"r{i}" for i in range(90)]
    close(np.column_stack(found.columns[2:]), np.hstack([x_scores, y_scores]))


@pytest.mark.parametrize("name", KEEPING)
def test_a_column_of_the_rows_may_be_carried_along(name, tmp_path):
    model = PCA(2).fit(with_ids("pandas")[names(5)])
    rows = KEEPING[name](tmp_path)
    found = read_back(model.transform_to(rows, f"{tmp_path}/out.parquet", keep=["col3", "id", "day"]), table=True)
    assert found.column_names == ["col3", "id", "day", "PC1", "PC2"]
    np.testing.assert_array_equal(found["col3"], X[:, 3])
    close(np.column_stack(found.columns[3:]), model.transform(table("pandas", X)))


@pytest.mark.parametrize("name", KEEPING)
def test_a_column_of_y_may_be_carried_along(name, tmp_path):
    first, second = table("pandas", X[:, :3]), table("pandas", X)[["col3", "col4"]]
    model = CCA(1).fit(first, second)
    rows, options = KEEPING[name](tmp_path), {"y": ["col3", "col4"], "keep": ["col3", "id", "day"]}
    found = read_back(model.transform_to(rows, f"{tmp_path}/out.parquet", **options), table=True)
    np.testing.assert_array_equal(found["col3"], X[:, 3])
    close(np.column_stack(found.columns[3:]), np.hstack(model.transform(first, second)))


def test_the_index_of_a_data_frame_may_be_carried_along(tmp_path):
    frame = with_ids("pandas").set_index(["id", "day"])
    model = PCA(2).fit(frame)
    frame.to_parquet(tmp_path / "rows.parquet")
    blocks = [frame[:40], frame[40:]]
    for i, rows in enumerate((frame, blocks, tmp_path / "rows.parquet")):
        path = model.transform_to(rows, f"{tmp_path}/out-{i}.parquet", keep=["day", "id"])
        found = read_back(path, table=True)
        assert found["id"].to_pylist() == [f"r{i}" for i in range(90)]
        assert str(found["day"][89].as_py())[:10] == "2026-03-31"
        close(np.column_stack(found.columns[2:]), model.transform(frame))
    with pytest.raises(ValueError, match=r"X has no column 'ids'"):
        model.transform_to(frame, tmp_path / "out.csv", keep="ids")


@pytest.mark.parametrize("kind", ["parquet", "csv"])
@pytest.mark.parametrize("model", [CCA(1), PLSRegression(1), KernelCCA(1), GCCA(1)], ids=lambda m: type(m).__name__)
def test_y_in_files_with_further_columns(model, kind, tmp_path):
    """X and y are a file each, or the same one: both are found by the names of the fit."""
    rows, first, second = with_ids("pandas"), ["col0", "col1", "col2"], ["col4", "col3"]
    files = stored(rows, tmp_path, kind)
    several = isinstance(model, GCCA)
    tables = [[rows[first], rows[second]]] if several else [rows[first], rows[second]]
    expected = np.hstack(model.fit(*tables).transform(*tables))
    found = model.transform([files, files]) if several else model.transform(files, files)
    close(np.hstack(found), expected)
    chosen = lowdim.scan(files, columns=first)
    places = [[files, files]] if several else [files, chosen]
    targets = [{}] if several else [{"y": files}, {"y": second}, {"y": lowdim.scan(files, columns=second)}]
    for place, target in itertools.product(places, targets):
        for keep in ([], ["id"]):
            path = model.transform_to(place, f"{tmp_path}/out.arrow", keep=keep, overwrite=True, **target)
            written = read_back(path, table=True)
            close(np.column_stack(written.columns[len(keep) :]), expected)
    if not several:
        assert model.score(files, files) == pytest.approx(model.score(rows[first], rows[second]))
    with pytest.raises(ValueError, match="has no column 'price'; its columns are 'col0', 'id'"):
        CCA(1).fit(rows[first], rows[second]).transform_to(chosen, tmp_path / "out.csv", y="price", keep="id")


def test_files_may_have_further_columns(tmp_path):
    model = PLSRegression(2).fit(table("pandas", X), Y)
    rows = stored(with_ids("pandas"), tmp_path, "parquet")
    for keep in ([], ["id"]):
        found = read_back(model.predict_to(rows, f"{tmp_path}/out.csv", keep=keep, overwrite=True), table=True)
        close(np.column_stack(found.columns[len(keep) :]), model.predict(table("pandas", X)))


def test_from_scores_in_a_file_back_to_rows(tmp_path):
    model = PCA(2).fit(table("pandas", X))
    scores = model.transform_to(with_ids("pandas"), f"{tmp_path}/scores.parquet", keep=["id", "day"])
    path = model.inverse_transform_to(scores, f"{tmp_path}/out.parquet", keep=["id", "day"])
    found = read_back(path, table=True)
    assert found.column_names == ["id", "day", *names(5)]
    close(np.column_stack(found.columns[2:]), model.inverse_transform(model.transform(table("pandas", X))))


def test_results_beside_a_kept_column_of_the_same_name(tmp_path):
    """What was measured keeps its name; what was computed gets an ending."""
    homes = table("pandas", X).assign(price=Y[:, 0], rent=Y[:, 1], id=[f"home {i}" for i in range(len(X))])
    model = PLSRegression(2).fit(homes.drop(columns="id"), ["price", "rent"])
    path = model.predict_to(homes.drop(columns="rent"), f"{tmp_path}/out.parquet", keep=["id", "price"])
    found = read_back(path, table=True)
    assert list(found.column_names) == ["id", "price", "price_predicted", "rent"]
    np.testing.assert_array_equal(found["price"], homes["price"])
    predicted = np.column_stack([found["price_predicted"], found["rent"]])
    np.testing.assert_allclose(predicted, model.predict(table("pandas", X)), atol=1e-12)
    incomplete = table("pandas", with_missing(X))
    path = PPCA(2).fit(incomplete).impute_to(incomplete, f"{tmp_path}/full.parquet", keep="col0")
    assert list(read_back(path, table=True).column_names)[:2] == ["col0", "col0_imputed"]
    path = (
        PCA(2)
        .fit(incomplete[[]].assign(a=Y[:, 0], b=Y[:, 1]))
        .transform_to(homes[[]].assign(a=Y[:, 0], b=Y[:, 1], PC1=homes["id"]), f"{tmp_path}/scores.csv", keep="PC1")
    )
    assert list(read_back(path, table=True).column_names) == ["PC1", "PC1_score", "PC2"]


def test_what_cannot_be_kept(tmp_path):
    model, rows = PCA(2).fit(table("pandas", X)), with_ids("pandas")
    clashing = rows.rename(columns={"id": "PC2", "day": "PC2_score"})
    with pytest.raises(ValueError, match="there would be two columns 'PC2_score': a kept column and a result"):
        model.transform_to(clashing, tmp_path / "out.csv", keep=["PC2", "PC2_score"])
    with pytest.raises(ValueError, match=r"X has no column 'name'; its columns are"):
        model.transform_to(rows, tmp_path / "out.csv", keep=["name"])
    with pytest.raises(ValueError, match=r"in-\*.csv has no column 'ids'; .* Did you mean 'id'"):
        model.transform_to(stored(rows, tmp_path, "csv"), tmp_path / "out.csv", keep=["ids"])
    with pytest.raises(TypeError, match=r"keep=\['id'\] needs columns with names, which X does not have"):
        model.transform_to(X, tmp_path / "out.csv", keep="id")
    with pytest.raises(ValueError, match=r"keep=\['id', 'id'\] must be the names of different columns"):
        model.transform_to(rows, tmp_path / "out.csv", keep=["id", "id"])
    with pytest.raises(ValueError, match=r"one array of numbers\. Write a table"):
        model.transform_to(rows, tmp_path / "out.npy", keep=["id", "day"])
    np.save(tmp_path / "in.npy", X)
    with pytest.raises(TypeError, match=r"needs columns with names, which .*in.npy does not have"):
        model.transform_to(tmp_path / "in.npy", tmp_path / "out.csv", keep=["id"])
    assert not [name for name in os.listdir(tmp_path) if name.startswith((".", "out"))]


# ---- Errors, signatures


@pytest.mark.parametrize("name", [name for name in MODELS if not get_tags(examples.make(name)).input_tags.allow_nan])
def test_a_bad_entry_is_named_and_nothing_is_left(name, tmp_path):
    bad = X.copy()
    bad[80, 2] = np.nan
    with pytest.raises(ValueError, match=r"(?=.*row 80)(?=.*column 2)"):
        fitted(name).transform_to(bad, tmp_path / "out.parquet")
    assert os.listdir(tmp_path) == []


def test_options_are_the_same_everywhere():
    for name, method in CASES:
        options = inspect.signature(getattr(getattr(lowdim, name), f"{method}_to")).parameters
        assert list(options)[:3] == ["self", "X", "path"]
        assert {"keep", "overwrite"} <= set(options)
        assert all(options[o].kind is inspect.Parameter.KEYWORD_ONLY for o in list(options)[3:])
