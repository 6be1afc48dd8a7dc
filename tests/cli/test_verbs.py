"""What each verb does, compared with the same calls in Python."""

import io
import json

import numpy as np
import pandas as pd
import pytest

import lowdim
from command import invoke as run
from command import run as run_program


@pytest.fixture(scope="module")
def wine(files):
    return pd.read_csv(files / "wine.csv")


@pytest.fixture(scope="module")
def numbers(wine):
    return wine.drop(columns="class")


@pytest.fixture(scope="module")
def pca(files):
    fit = "fit pca wine.csv -c numeric -k 3 --scale -o p.model --overwrite"
    run(*fit.split(), folder=files)
    return lowdim.load(files / "p.model")


def read_csv(text):
    return pd.read_csv(io.StringIO(text))


def test_fit_prints_the_table_and_saves_the_model(files, numbers, pca):
    expected = lowdim.PCA(3, scale=True).fit(numbers)
    assert np.allclose(pca.components_, expected.components_, atol=1e-12)
    assert list(pca.feature_names_in_) == list(numbers.columns)
    again = run("fit", "pca", "wine.csv", "-c", "numeric", "-o", "p.model", folder=files, check=False)
    assert again.returncode == 1 and "exists already" in again.stderr and "--overwrite" in again.stderr
    assert np.array_equal(lowdim.load(files / "p.model").components_, pca.components_)


def test_fit_as_json(files, numbers):
    done = run("fit", "PCA", "wine.csv", "-c", "numeric", "-k", "0.9", "--json", folder=files)
    values = json.loads(done.stdout)
    model = lowdim.PCA(0.9).fit(numbers)
    assert values["model"] == "PCA" and values["rows"] == 178 and values["n_components"] == model.n_components_
    assert values["columns"] == list(numbers.columns)
    assert np.allclose(values["importance"]["columns"]["variance"], model.explained_variance_)


def test_scores_go_to_a_file_and_back(files, wine, numbers, pca):
    run("transform", "p.model", "wine.csv", "--keep", "class", "-o", "s.parquet", folder=files)
    scores = pd.read_parquet(files / "s.parquet")
    assert scores["class"].tolist() == wine["class"].tolist()
    assert list(scores.columns[1:]) == list(pca.get_feature_names_out())
    assert np.allclose(scores.iloc[:, 1:], pca.transform(numbers))
    done = run("inverse", "p.model", "s.parquet", "--keep", "class", folder=files)
    rows = read_csv(done.stdout)
    assert np.allclose(rows[numbers.columns], pca.inverse_transform(pca.transform(numbers)))


def test_fewer_components(files, numbers, pca):
    done = run("transform", "p.model", "wine.csv", "-k", "2", folder=files)
    assert np.allclose(read_csv(done.stdout), pca.transform(numbers)[:, :2])


def test_a_pipe_of_commands(files, wine, pca):
    data = (files / "wine.csv").read_bytes()
    scores = run("transform", "p.model", "-", "--keep", "class", folder=files, stdin=data).stdout
    rows = run("inverse", "p.model", "-", "--keep", "class", folder=files, stdin=scores.encode()).stdout
    assert read_csv(rows)["class"].tolist() == wine["class"].tolist()
    binary = (files / "s.parquet").read_bytes()
    assert run("inverse", "p.model", "-", "--keep", "class", folder=files, stdin=binary).stdout == rows


def test_missing_entries_are_filled(files, numbers):
    run("fit", "ppca", "incomplete.csv", "-x", "class", "-k", "2", "--scale", "-o", "h.model", folder=files)
    incomplete = pd.read_csv(files / "incomplete.csv")
    done = run("impute", "h.model", "incomplete.csv", "--keep", "class", "--return-std", folder=files)
    filled = read_csv(done.stdout)
    expected, std = lowdim.load(files / "h.model").impute(incomplete[numbers.columns], return_std=True)
    assert np.allclose(filled[numbers.columns], expected)
    assert np.allclose(filled[[f"{name}_std" for name in numbers.columns]], std)


def test_predictions(files, numbers):
    run("fit", "pls-regression", "wine.csv", "-c", "numeric", "--y", "hue", "-k", "3", "-o", "y.model", folder=files)
    done = run("predict", "y.model", "wine.csv", folder=files)
    X, y = numbers.drop(columns="hue"), numbers["hue"]
    assert np.allclose(read_csv(done.stdout)["hue"], lowdim.PLSRegression(3).fit(X, y).predict(X).ravel())


def test_two_tables_in_two_files(files):
    run("fit", "cca", "left.csv", "--y-data", "right.csv", "-k", "2", "-o", "c.model", folder=files)
    X, y = pd.read_csv(files / "left.csv"), pd.read_csv(files / "right.csv")
    expected = lowdim.CCA(2).fit(X, y)
    assert np.allclose(lowdim.load(files / "c.model").correlations_, expected.correlations_)
    done = run("transform", "c.model", "left.csv", "--y-data", "right.csv", folder=files)
    assert np.allclose(read_csv(done.stdout), np.hstack(expected.transform(X, y)))


def test_several_tables(files):
    names = ("left.csv", "right.csv", "third.csv")
    run("fit", "gcca", *names, "-k", "2", "-o", "g.model", folder=files)
    tables = [pd.read_csv(files / name) for name in names]
    expected = lowdim.GCCA(2).fit(tables)
    done = run("transform", "g.model", *names, folder=files)
    assert np.allclose(read_csv(done.stdout), np.hstack(expected.transform(tables)))
    first = run("transform", "g.model", "left.csv", "-k", "1", folder=files)
    assert np.allclose(read_csv(first.stdout), expected.transform(tables[0])[:, :1])


def test_weights(files, numbers):
    done = run("fit", "pca", "wine.csv", "-c", "numeric", "-w", "proline", "-k", "1", "--json", folder=files)
    rows = numbers.drop(columns="proline")
    expected = lowdim.PCA(1).fit(rows, sample_weight=numbers["proline"])
    values = json.loads(done.stdout)["importance"]["columns"]["variance"]
    assert np.allclose(values, expected.explained_variance_)


def test_summaries_of_two_sites(files, wine, numbers):
    wine[:80].to_csv(files / "north.csv", index=False)
    wine[80:].to_csv(files / "south.csv", index=False)
    for site in ("north", "south"):
        run("summarize", f"{site}.csv", "-c", "numeric", "--y", "hue", "-o", f"{site}.summary", folder=files)
    run("merge", "north.summary", "south.summary", "-o", "both.summary", folder=files)
    run("fit", "pcr", "both.summary", "-k", "2", "-o", "both.model", folder=files)
    X, y = numbers.drop(columns="hue"), numbers["hue"]
    expected = lowdim.PCR(2).fit(X, y)
    assert np.allclose(lowdim.load(files / "both.model").predict(X).ravel(), expected.predict(X).ravel())
    small = run(
        "summarize", "north.csv", "-c", "numeric", "-o", "few.summary", "--min-rows", 100, folder=files, check=False
    )
    assert small.returncode == 1 and not (files / "few.summary").exists()


def test_choose_and_cross_validate(files, numbers):
    done = run("choose", "wine.csv", "-c", "numeric", "--scale", "-r", "kaiser", "-r", "bic", folder=files)
    choices = lowdim.choose_n_components(numbers, ["kaiser", "bic"], scale=True)
    assert all(f"{rule}" in done.stdout and str(choices[rule].k) in done.stdout for rule in choices)
    done = run(
        "cross-validate",
        "pls-regression",
        "wine.csv",
        "-c",
        "numeric",
        "--y",
        "hue",
        "-k",
        "1-4",
        "--json",
        folder=files,
    )
    X, y = numbers.drop(columns="hue"), numbers["hue"]
    expected = lowdim.cross_validate(lowdim.PLSRegression(), X, y, n_components=range(1, 5))
    assert json.loads(done.stdout)["best"] == expected.best


def test_convert_keeps_columns_and_types(files, wine):
    run("convert", "wine.csv", "-o", "w.parquet", folder=files)
    pd.testing.assert_frame_equal(pd.read_parquet(files / "w.parquet"), wine, check_dtype=False)
    wine.assign(count=np.arange(178)).to_parquet(files / "typed.parquet")
    run("convert", "typed.parquet", "-o", "typed.arrow", folder=files)
    assert pd.read_feather(files / "typed.arrow")["count"].dtype == np.int64
    run("convert", "incomplete.csv", "-c", "numeric", "-o", "incomplete.npy", folder=files)
    incomplete = pd.read_csv(files / "incomplete.csv").drop(columns="class")
    assert np.array_equal(np.load(files / "incomplete.npy"), incomplete.to_numpy(), equal_nan=True)
    done = run("convert", "incomplete.npy", "-o", "-", folder=files)
    assert np.array_equal(read_csv(done.stdout).to_numpy(), incomplete.to_numpy(), equal_nan=True)


def test_inspect(files, pca):
    shown = run("inspect", "p.model", folder=files).stdout
    assert "PCA of 178 rows" in shown and "proline" in shown and lowdim.__version__ in shown
    values = json.loads(run("inspect", "wine.csv", "--json", folder=files).stdout)
    assert values["rows"][-1] == "class" and values["columns"]["number"] == [True] * 13 + [False]
    piped = run("inspect", "-", "--json", folder=files, stdin=(files / "wine.csv").read_bytes()).stdout
    assert json.loads(piped) == {**values, "title": "-: 14 columns, 13 of them numbers"}
    loadings = json.loads(run("inspect", "p.model", "--table", "loadings", "--json", folder=files).stdout)
    assert np.allclose(loadings["columns"]["PC1"], pca.loadings_[:, 0])


def test_inspect_tables_of_rows(files, numbers, pca):
    scores = json.loads(run("inspect", "p.model", "wine.csv", "--table", "scores", "--json", folder=files).stdout)
    assert np.allclose(scores["columns"]["PC1"], pca.transform(numbers)[:, 0])
    found = pca.tables.diagnose(numbers)
    shown = run("inspect", "p.model", "wine.csv", "--table", "diagnose", folder=files).stdout
    assert shown.strip() == str(found)


def test_inspect_results(files, numbers):
    """All that is printed of a result is in its JSON, too."""
    choices = lowdim.choose_n_components(numbers, ["kaiser", "bic"])
    draws = lowdim.bootstrap(lowdim.PCA(2), numbers, n_resamples=5)
    plan = lowdim.plan(lowdim.PCA(2), numbers)
    for name, result in (("choices", choices), ("draws", draws), ("plan", plan)):
        lowdim.save(result, files / f"{name}.result")
    found = [
        json.loads(run("inspect", f"{name}.result", "--json", folder=files).stdout)
        for name in ("choices", "draws", "plan")
    ]
    assert found[0]["table"] == choices.table().to_dict()
    assert found[1]["tables"]["loadings"] == draws.table("loadings").to_dict()
    assert found[2]["text"] == str(plan)


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("lowdim conv", ["convert"]),
        ("lowdim fit kernel", ["kernel-cca", "kernel-pca"]),
        ("lowdim fit pca --sca", ["--scale"]),
        ("lowdim plot sc", ["scores", "scree"]),
    ],
)
def test_a_shell_completes_verbs_models_and_options(files, words, completed):
    asked = {"_LOWDIM_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    assert sorted(run(folder=files, **asked).stdout.split()) == completed


def test_paths_in_the_home_directory(files, pca, tmp_path, monkeypatch):
    """A shell leaves the tilde of --output=~/p.model to the program."""
    monkeypatch.setenv("HOME", str(tmp_path))
    arguments = ("wine.csv", "-c", "numeric", "-k", "2")
    assert "saved to ~/p.model" in run("fit", "pca", *arguments, "--output=~/p.model", folder=files).stdout
    assert "PCA of 178 rows" in run("inspect", "~/p.model", folder=files).stdout
    run("convert", "~/p.model", "--output=~/p.onnx", folder=files)
    run("plot", "scree", "~/p.model", "--output=~/p.png", folder=files)
    assert sorted(path.name for path in tmp_path.glob("p.*")) == ["p.model", "p.onnx", "p.png"]


def test_a_plot_of_two_tables_in_one_file(files, numbers):
    """The second table and the groups are columns of the same file."""
    second = ("-y", "hue", "-y", "proline")
    run("fit", "cca", "wine.csv", "-c", "numeric", *second, "-k", "1", "-o", "two.model", folder=files)
    run("plot", "variates", "two.model", "wine.csv", *second, "--hue", "class", "-o", "two.png", folder=files)
    assert (files / "two.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["fit", "pca", "absent.csv"], 1, "there is no file absent.csv"),
        (["fit", "pca", "wine.csv"], 1, "Take only those with --columns numeric"),
        (["fit", "pca", "wine.csv", "-c", "numeric", "-k", "99"], 1, "n_components=99 must be"),
        (["fit", "pca", "wine.csv", "-c", "numeric", "-o", "-"], 1, "name a file with --output"),
        (["plot", "scree", "p.model", "-o", "-"], 1, "only tables can go to the standard output"),
        (["predict", "p.model", "wine.csv"], 1, "holds a PCA, which cannot predict"),
        (["transform", "p.model", "wine.csv", "--json"], 1, "name a file with --output"),
        (["transform", "wine.csv", "wine.csv"], 1, "not a file that lowdim saved"),
        (["inspect", "p.model", "--table", "scores"], 1, "is about rows: name their file after that of the model"),
        (["inspect", "p.model", "wine.csv", "--table", "loadings"], 1, "is about the model alone"),
        (["inspect", "p.model", "wine.csv"], 1, "say with --table which table"),
        (["fit", "nothing", "wine.csv"], 2, "No such command"),
        (["fit", "pca"], 2, "Missing argument"),
    ],
)
def test_errors_are_one_line(files, pca, arguments, code, said):
    done = run(*arguments, folder=files, check=False)
    assert done.returncode == code and said in done.stderr and "Traceback" not in done.stderr and done.stdout == ""
    if code == 1:
        assert len(done.stderr.splitlines()) == 1


def test_traceback_on_request(files):
    done = run_program("fit", "pca", "absent.csv", "--traceback", folder=files, check=False)
    assert done.returncode == 1 and "Traceback" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("plot", "scree", "p.model", "-o", "nowhere/picture.png"), "there is no directory"),
        (("convert", "p.model", "-o", "nowhere/p.onnx"), "there is no directory"),
        (("plot", "scores", "p.model", "-o", "picture.png"), "lowdim plot scores needs the rows"),
    ],
)
def test_what_is_missing_is_said_in_the_words_of_the_command(files, pca, arguments, said):
    done = run(*arguments, folder=files, check=False)
    assert done.returncode == 1 and said in done.stderr and "unfinished" not in done.stderr


def test_advice_on_missing_entries_names_commands(tmp_path):
    (tmp_path / "incomplete.csv").write_text("a,b\n1,2\n,3\n4,5\n")
    done = run("fit", "pca", "incomplete.csv", folder=tmp_path, check=False)
    assert done.returncode == 1 and "lowdim fit ppca --scale, then lowdim impute" in done.stderr


def test_closed_streams(files, pca, monkeypatch):
    """Python has None in the place of streams that were closed before it started."""
    from lowdim.cli.terminal import paths_of

    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(ValueError, match="the standard input is closed"), paths_of(["-"]):
        pass
    monkeypatch.setattr("sys.stdout", None)
    with pytest.raises(ValueError, match="the standard output is closed"):
        pca.transform_to(lowdim.scan(files / "wine.csv", "numeric"), "-")


# Tables with categories.


def test_famd_with_columns_by_name(files):
    people = pd.read_csv(files / "people.csv")
    command = "fit famd people.csv -k 2 --categorical children --supplementary smokes --supplementary age -o f.model -f"
    done = run(*command.split(), "--json", folder=files)
    expected = lowdim.FAMD(2, categorical_features=["children"], supplementary=["smokes", "age"]).fit(people)
    values = json.loads(done.stdout)
    assert values["columns"] == list(expected.coding_.columns) and values["levels"] == expected.levels_
    assert np.allclose(values["importance"]["columns"]["inertia"], expected.explained_variance_)
    fitted = lowdim.load(files / "f.model")
    assert fitted.supplementary_coding_.names == expected.supplementary_coding_.names
    scores = run("transform", "f.model", "people.csv", "--keep", "smokes", "--keep", "hair", folder=files)
    table = read_csv(scores.stdout)
    assert table["hair"].tolist() == people["hair"].tolist()
    assert np.allclose(table[["dim1", "dim2"]], expected.transform(people))
    (files / "f.csv").write_text(scores.stdout)
    done = run("inverse", "f.model", "f.csv", "--keep", "smokes", "--keep", "hair", folder=files)
    rebuilt = read_csv(done.stdout)
    assert rebuilt.pop("hair").tolist() == people["hair"].tolist() and "smokes" in rebuilt
    assert list(rebuilt.columns)[1:] == expected.coding_.names
    assert np.allclose(rebuilt[expected.coding_.names], expected.inverse_transform(expected.transform(people)))


def test_mca_pools_and_leaves_out(files):
    done = run("fit", "mca", "people.csv", "-x", "age", "--min-frequency", "0.4", "--missing", "passive", folder=files)
    expected = lowdim.MCA(min_frequency=0.4, missing="passive").fit(
        pd.read_csv(files / "people.csv").drop(columns="age")
    )
    assert done.stdout.splitlines()[0] == str(expected).splitlines()[0]


@pytest.mark.parametrize("groups", ["groups.json", "groups.csv"])
def test_mfa_reads_groups_of_columns(files, groups):
    run("fit", "mfa", "people.csv", "--groups", groups, "-k", "2", "-o", "m.model", "-f", folder=files)
    fitted = lowdim.load(files / "m.model")
    assert sorted(fitted.group_names_) == ["life", "looks"]
    assert fitted.groups == {"looks": ["hair", "eyes"], "life": ["age", "children", "smokes"]}


def test_mfa_by_a_separator_and_groups_that_are_wrong(files):
    people = pd.read_csv(files / "people.csv")
    people.rename(columns=lambda name: f"{'looks' if name in ('hair', 'eyes') else 'life'}_{name}").to_csv(
        files / "named.csv", index=False
    )
    done = run("fit", "mfa", "named.csv", "--groups", "_", "-k", "1", "--json", folder=files)
    assert json.loads(done.stdout)["n_components"] == 1
    (files / "bad.json").write_text("[1]")
    (files / "bad.csv").write_text("a,b\n1,2\n")
    for name, said in (
        ("bad.json", "must hold"),
        ("bad.csv", "columns column and group"),
        ("none.json", "there is no file"),
        (".", "no such separator"),
    ):
        failed = run("fit", "mfa", "people.csv", "--groups", name, folder=files, check=False)
        assert failed.returncode == 1 and said in failed.stderr


def test_ca_of_counts_and_of_two_columns(files):
    counts = pd.read_csv(files / "counts.csv").drop(columns="task")
    done = run("fit", "ca", "counts.csv", "-x", "task", "--json", folder=files)
    values = json.loads(done.stdout)["importance"]["columns"]["inertia"]
    assert np.allclose(values, lowdim.CA().fit(counts).explained_variance_)
    done = run("fit", "ca", "people.csv", "-c", "hair", "-c", "eyes", "--json", folder=files)
    expected = lowdim.CA().fit(pd.read_csv(files / "people.csv")[["hair", "eyes"]])
    assert np.allclose(json.loads(done.stdout)["importance"]["columns"]["inertia"], expected.explained_variance_)


def test_reports_of_people(files, tmp_path):
    done = run("report", "people.csv", "--categorical", "children", "-o", tmp_path / "r.html", "--json", folder=files)
    values = json.loads(done.stdout)
    assert {"data", "how-many", "map", "meaning"} <= set(values["sections"])
    assert "1 column of numbers and 4 categories" in values["summary"][0]
    run("fit", "mca", "people.csv", "-x", "age", "-k", "2", "-o", "p.mca", "-f", folder=files)
    again = run("report", "people.csv", "--model", "p.mca", "-o", tmp_path / "s.html", "--json", folder=files)
    assert "age (MCA is about categories" in json.loads(again.stdout)["summary"][0]
