"""Responses, weights and labels that are columns of the same table as the rows: the answers of separate arrays."""

import numpy as np
import pytest

import lowdim
from inputs import relation
from lowdim import (
    CCA,
    GCCA,
    PCA,
    PCR,
    PPCA,
    KernelCCA,
    PLSRegression,
    bootstrap,
    cross_validate,
    inspect,
    permutation_test,
    scan,
    selection,
)

pandas = pytest.importorskip("pandas")
N = 60
RNG = np.random.default_rng(4)
X = RNG.standard_normal((N, 4)) @ RNG.standard_normal((4, 4)) + 2.0
Y = X[:, :2] @ RNG.standard_normal((2, 2)) + 0.3 * RNG.standard_normal((N, 2))
W = RNG.integers(1, 4, N)
SITE = np.array(list("abc"))[np.arange(N) % 3]
NUMBERS = pandas.DataFrame(X, columns=["u", "v", "w", "x"]).assign(price=Y[:, 0], cost=Y[:, 1], count=W)
FRAME = NUMBERS.assign(site=SITE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The table as files of several kinds."""
    pq = pytest.importorskip("pyarrow.parquet")
    folder = tmp_path_factory.mktemp("tables")
    (folder / "parts").mkdir()
    table = stored_table(FRAME)
    for k, (i, j) in enumerate([(0, 20), (20, 21), (21, N)]):
        pq.write_table(table.slice(i, j - i), folder / "parts" / f"{k}.parquet", row_group_size=7)
    FRAME.to_csv(folder / "table.csv", index=False)
    return folder


def stored_table(frame):
    pa = pytest.importorskip("pyarrow")
    return pa.Table.from_pandas(frame, preserve_index=False)


#: Everything whose columns have names. Those of files and queries hold text as well, which is a label here.
TABLES = {
    "pandas": lambda folder: FRAME,
    "polars": lambda folder: pytest.importorskip("polars").from_pandas(FRAME),
    "pyarrow": lambda folder: stored_table(FRAME),
    "Dask": lambda folder: pytest.importorskip("dask.dataframe").from_pandas(FRAME, npartitions=3),
    "Parquet": lambda folder: str(folder / "parts"),
    "Path": lambda folder: folder / "table.csv",
    "scan": lambda folder: scan(folder / "table.csv"),
    "lazy frame": lambda folder: pytest.importorskip("polars").from_pandas(FRAME).lazy(),
    "DuckDB": lambda folder: relation(stored_table(FRAME)),
}
each_table = pytest.mark.parametrize("kind", list(TABLES))
#: What else has to be named, so that all other columns are rows.
ALL = {"sample_weight": "count"}


def close(found, expected):
    found = found.compute() if hasattr(found, "compute") else found
    np.testing.assert_allclose(np.asarray(found), expected, rtol=0, atol=1e-10 * np.abs(expected).max())


def without_text(given):
    """The table without the column of text, for calls that take no labels."""
    if type(given).__name__ == "Scan":
        return given.without(["site"])
    if type(given).__name__ == "DuckDBPyRelation":
        return given.project("u, v, w, x, price, cost, count")
    if isinstance(given, str) or hasattr(given, "joinpath"):
        return scan(given, exclude="site")
    if type(given).__name__ in ("LazyFrame",) or type(given).__module__.startswith("polars"):
        return given.drop("site")
    return given.drop_columns(["site"]) if hasattr(given, "drop_columns") else given.drop(columns=["site"])


@each_table
def test_a_response_and_weights(kind, folder):
    given = without_text(TABLES[kind](folder))
    expected = PLSRegression(2).fit(X, Y, sample_weight=W)
    found = PLSRegression(2).fit(given, ["price", "cost"], sample_weight="count")
    close(found.coef_, expected.coef_)
    assert list(found.feature_names_in_) == ["u", "v", "w", "x"]
    assert list(found.target_names_in_) == ["price", "cost"]
    close(found.predict(NUMBERS[["u", "v", "w", "x"]]), expected.predict(X))
    assert found.score(given, ["price", "cost"], "count") == pytest.approx(expected.score(X, Y, W), abs=1e-12)
    scores, y_scores = found.transform(given, ["price", "cost"])
    for ours, theirs in zip((scores, y_scores), expected.transform(X, Y), strict=True):
        close(ours, theirs)


@each_table
def test_one_name_is_a_vector(kind, folder):
    given = scan_or(TABLES[kind](folder), ["u", "v", "w", "x", "price"])
    expected = PCR(2).fit(X, Y[:, 0])
    found = PCR(2).fit(given, "price")
    assert found.predict(X_NAMED).shape == (N,)
    close(found.coef_, expected.coef_)
    assert found.score(given, "price") == pytest.approx(expected.score(X, Y[:, 0]), abs=1e-12)
    assert PCR(2).fit(given, ["price"]).predict(X_NAMED).shape == (N, 1)


X_NAMED = NUMBERS[["u", "v", "w", "x"]]


def scan_or(given, names):
    """These columns of a table."""
    if isinstance(given, str) or hasattr(given, "joinpath"):
        return scan(given, columns=names)
    if type(given).__name__ == "Scan":
        return given.select(names)
    if type(given).__name__ == "DuckDBPyRelation":
        return given.project(", ".join(names))
    return given.select(names) if hasattr(given, "select") else given[names]


@each_table
def test_weights_alone_and_a_response_that_is_not_used(kind, folder):
    given = scan_or(TABLES[kind](folder), ["u", "v", "w", "x", "price", "count"])
    expected = PCA(2).fit(X, sample_weight=W)
    found = PCA(2).fit(given, y="price", sample_weight="count")
    close(found.components_, expected.components_)
    close(found.mean_, expected.mean_)
    assert found.n_features_in_ == 4
    assert found.score(given, "price") == pytest.approx(expected.score(X), rel=1e-12)
    scores = PCA(2).fit_transform(given, "price", "count")
    close(scores, expected.transform(X))


@each_table
def test_partial_fit(kind, folder):
    given = scan_or(TABLES[kind](folder), ["u", "v", "w", "x", "price", "count"])
    expected = PLSRegression(2).fit(np.vstack([X, X]), np.hstack([Y[:, 0], Y[:, 0]]), np.hstack([W, W]))
    found = PLSRegression(2).partial_fit(given, "price", "count").partial_fit(given, "price", "count")
    close(found.coef_, expected.coef_)
    pca = PCA(2).partial_fit(given, "price", "count").partial_fit(given, "price", "count")
    close(pca.mean_, PCA(2).fit(X, sample_weight=W).mean_)


@each_table
def test_labels_of_folds_and_groups(kind, folder):
    given = scan_or(TABLES[kind](folder), ["u", "v", "w", "x", "price", "count", "site"])
    expected = cross_validate(PLSRegression(), X, Y[:, 0], cv=SITE, sample_weight=W)
    for options in ({"cv": "site"}, {"cv": None, "groups": "site"}):
        if kind in ("lazy frame", "DuckDB") and options["cv"] is None:
            continue  # their number of rows is not known beforehand
        found = cross_validate(PLSRegression(), given, "price", sample_weight="count", **options)
        close(found.mean, expected.mean)
    options = {"n_resamples": 5, "random_state": 0}
    with pytest.warns(lowdim.errors.SmallSampleWarning):
        drawn = bootstrap(PLSRegression(2), given, "price", groups="site", sample_weight="count", **options)
        plain = bootstrap(PLSRegression(2), X, Y[:, 0], groups=SITE, sample_weight=W, **options)
    close(drawn.standard_error("coef"), plain.standard_error("coef"))


def test_other_functions_of_rows(folder):
    files = scan(folder / "table.csv", columns=["u", "v", "w", "x", "count", "site"])
    options = {"n_resamples": 5, "cv": SITE}
    ours = selection.choose_n_components(files, sample_weight="count", **options | {"cv": "site"})
    theirs = selection.choose_n_components(X, sample_weight=W, **options)
    assert {rule: ours[rule].k for rule in ours} == {rule: theirs[rule].k for rule in theirs}
    files = scan(folder / "table.csv", columns=["u", "v", "w", "x", "price", "cost", "count"])
    tested = permutation_test(CCA(2), files, ["price", "cost"], sample_weight="count", n_resamples=19, random_state=0)
    plain = permutation_test(CCA(2), X, Y, sample_weight=W, n_resamples=19, random_state=0)
    close(tested.p_values, plain.p_values)
    pls = PLSRegression(2).fit(files.without(["cost"]), "price", "count")
    shaken = pls.jackknife(files.without(["cost"]), "price", cv=5, sample_weight="count")
    close(
        shaken.standard_error,
        PLSRegression(2).fit(X, Y[:, 0], W).jackknife(X, Y[:, 0], cv=5, sample_weight=W).standard_error,
    )
    planned = lowdim.plan(PLSRegression(2), files, ["price", "cost"])
    assert planned.solver.name == lowdim.plan(PLSRegression(2), X, Y).solver.name
    assert PLSRegression(2).plan(files, ["price", "cost"], "count").passes == planned.passes
    pca = PCA(2).fit(files, ["price", "cost"], "count")
    weighted = PCA(2).fit(X, sample_weight=W)
    path = folder / "table.csv"
    close(inspect.contributions(pca, path, sample_weight="count"), inspect.contributions(weighted, X, sample_weight=W))
    assert inspect.diagnose(pca, path, sample_weight="count").q_limit == pytest.approx(
        inspect.diagnose(weighted, X, sample_weight=W).q_limit
    )


@pytest.mark.parametrize(
    "model", [CCA(1), GCCA(1), KernelCCA(1, kernel="rbf", regularization=0.1)], ids=lambda m: type(m).__name__
)
def test_canonical_models(model, folder):
    files = scan(folder / "parts", columns=["u", "v", "w", "x", "price", "cost"])
    expected = lowdim.models.__dict__[type(model).__name__](**model.get_params()).fit(X, Y)
    found = model.fit(files, ["price", "cost"])
    close(found.correlations_, expected.correlations_)
    assert found.score(files, ["price", "cost"]) == pytest.approx(expected.score(X, Y), rel=1e-9)
    assert np.shape(model.fit_transform(files, ["price", "cost"])[0])[0] in (1, N)


def test_a_file_is_read_once_for_rows_and_responses(folder, monkeypatch):
    """One pass over all columns that are needed, and one over the weights alone."""
    parquet = pytest.importorskip("pyarrow.parquet")
    read = []
    batches = parquet.ParquetFile.iter_batches

    def noted(self, size, groups, columns, **options):
        read.append(list(columns))
        return batches(self, size, groups, columns, **options)

    monkeypatch.setattr(parquet.ParquetFile, "iter_batches", noted)
    model = PLSRegression(2, solver="covariance").fit(
        scan(folder / "parts", exclude=["site", "cost"]), "price", "count"
    )
    assert model.n_passes_ == 1
    # Of each of the three files.
    assert read == 3 * [["count"]] + 3 * [["u", "v", "w", "x", "price"]]


def test_other_columns_of_files_are_left_out_after_the_fit(folder):
    """Those that the model was fitted to are found by their names."""
    expected = PLSRegression(2).fit(X, Y[:, 0])
    found = PLSRegression(2).fit(X_NAMED, FRAME["price"])
    for path in (folder / "table.csv", str(folder / "parts"), scan(folder / "parts")):
        close(found.predict(path), expected.predict(X))
        assert found.score(path, "price") == pytest.approx(expected.score(X, Y[:, 0]), abs=1e-12)
    with pytest.raises(ValueError, match="cost"):
        found.predict(scan(folder / "table.csv", columns=["u", "v", "w", "cost"]))


def test_missing_values_are_kept(folder, tmp_path):
    incomplete = NUMBERS.copy()
    incomplete.iloc[3, 1] = np.nan
    incomplete.drop(columns=["price", "cost"]).to_csv(tmp_path / "incomplete.csv", index=False)
    expected = PPCA(2).fit(incomplete[["u", "v", "w", "x"]].to_numpy(), sample_weight=W)
    close(PPCA(2).fit(tmp_path / "incomplete.csv", sample_weight="count").components_, expected.components_)


def test_blocks_of_frames():
    blocks = [NUMBERS[:20], NUMBERS[20:]]
    expected = PLSRegression(2).fit(X, Y, sample_weight=W).coef_
    for given in (blocks, lambda: iter(blocks)):
        close(PLSRegression(2).fit(given, ["price", "cost"], "count").coef_, expected)
    once = (block.drop(columns="count") for block in blocks)
    close(PLSRegression(2).fit(once, ["price", "cost"]).coef_, PLSRegression(2).fit(X, Y).coef_)
    with pytest.raises(ValueError, match="count"):
        PLSRegression(2).fit((block for block in blocks), ["price", "cost"], "count")


def test_float32_columns_stay_float32(tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    narrow = X_NAMED.astype("float32").assign(price=Y[:, 0])
    pq.write_table(stored_table(narrow), tmp_path / "narrow.parquet")
    found = PLSRegression(2).fit(tmp_path / "narrow.parquet", "price")
    expected = PLSRegression(2).fit(X.astype(np.float32), Y[:, 0])
    assert found.x_weights_.dtype == expected.x_weights_.dtype == np.float32
    assert found.y_weights_.dtype == expected.y_weights_.dtype
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-4, atol=1e-5)


# ---- Names that are wrong


@each_table
@pytest.mark.parametrize(
    "arguments", [{"y": "prise"}, {"y": ["price", "kost"]}, {"y": "price", "sample_weight": "counts"}]
)
def test_names_that_do_not_exist(kind, arguments, folder):
    given = without_text(TABLES[kind](folder))
    wrong = {"prise": "price", "kost": "cost", "counts": "count"}
    bad = next(name for name in wrong if name in str(arguments.values()))
    with pytest.raises(
        ValueError, match=f"has no column '{bad}'; its columns are 'u', .*Did you mean .*'{wrong[bad]}'"
    ):
        PLSRegression(2).fit(given, **arguments)


def test_names_where_columns_have_none(folder):
    np.save(folder / "rows.npy", X)
    for given in (X, folder / "rows.npy", [X[:9], X[9:]], [NUMBERS, X]):
        model = GCCA(1) if given is not X and isinstance(given, list) and given[0] is NUMBERS else PCA(2)
        with pytest.raises(ValueError, match="count"):
            model.fit(given, sample_weight="count")


def test_a_response_may_be_a_file_of_its_own(tmp_path):
    np.save(tmp_path / "rows.npy", X)
    np.save(tmp_path / "responses.npy", Y)
    X_NAMED.to_csv(tmp_path / "rows.csv", index=False)
    expected = PLSRegression(2).fit(X, Y).coef_
    for rows in ("rows.npy", "rows.csv"):
        for y in (str(tmp_path / "responses.npy"), tmp_path / "responses.npy", scan(tmp_path / "responses.npy")):
            close(PLSRegression(2).fit(tmp_path / rows, y).coef_, expected)


def test_classes_in_a_list_are_not_names():
    """scikit-learn passes the classes of the rows to models that do not look at them."""
    close(PCA(2).fit(X_NAMED, list(SITE)).components_, PCA(2).fit(X).components_)


def test_columns_that_the_fit_did_not_have_are_named():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"a": [1.0, 2.0, 4.0], "b": [3.0, 1.0, 2.0], "c": [0.0, 1.0, 0.0]})
    model = PCA(1).fit(frame.select("a", "b"))
    with pytest.raises(ValueError, match=r"2 features \(not expected: 'c'\)\. Select the columns of the fit"):
        model.transform(frame.lazy())
    with pytest.raises(ValueError, match=r"1 columns, .* 2 features \(missing: 'b'\)"):
        model.transform(frame.lazy().select("a"))
