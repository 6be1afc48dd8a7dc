"""The table "Where to add things" of docs/architecture.md, walked: each newcomer is one file in tests/additions and one
row in a table, and then does all that those who were there before can do. Solvers, kernels and densities are in
test_added_solvers.py.

A newcomer imports what its neighbours in src would import; no other file is touched.
"""

import inspect
import itertools
import re
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

import examples
import lowdim
from additions.toy_files import ROW as FILE_ROW
from additions.toy_model import CorrelationPCA
from additions.toy_plot import ROW as PLOT_ROW
from additions.toy_rules import RULE
from additions.toy_section import ROW as SECTION_ROW
from additions.toy_sink import ROW as SINK_ROW
from additions.toy_source import ROW, Toy, is_toy
from additions.toy_summary import Extremes
from examples import X, Y, close, make, tables
from inputs import INPUTS
from laws import summaries_drawn, test_summaries
from lowdim import (
    ICA,
    PCA,
    PPCA,
    bootstrap,
    choose_n_components,
    cross_validate,
    models,
    permutation_test,
    selection,
    sinks,
)
from lowdim.plot import PLOTS
from lowdim.reading import summarize
from lowdim.reporting.build import SECTIONS
from lowdim.selection import RULES
from lowdim.solvers import SOLVERS
from lowdim.sources import open_source, opening
from lowdim.sources.array import ArraySource
from lowdim.sources.opening import SourceKind
from lowdim.sources.scan import FILE_KINDS
from lowdim.summaries import SUMMARIES


def test_the_table_is_the_one_that_is_walked():
    """A new row in the page needs a walk here."""
    page = (Path(__file__).parents[1] / "docs" / "architecture.md").read_text(encoding="utf-8")
    section = page.partition("## Where to add things")[2]
    rows = re.findall(r"^\| (.*?) \|", section, re.MULTILINE)
    assert rows[2:] == [
        "an estimator",
        "a kind of input",
        "a kind of file to read",
        "a kind of file to write",
        "a solver",
        "a summary of rows",
        "a rule for K",
        "a density of sources",
        "a kernel, or a feature map",
        "a method for two tables",
        "a plot",
        "a section of the report",
        # Rules of house-keeping: there is nothing to add for them.
        "a rule about sign, order, rank or divisor",
        "a fact about one array library",
        "a fact about one version of scikit-learn",
        "a message",
        "a formula",
        "a new module at the top",
    ]


# ---- A kind of input


TOY, OTHER = Toy(90, 5), Toy(90, 3, seed=4)


@pytest.fixture
def toy_source(monkeypatch):
    monkeypatch.setattr(opening, "SOURCES", [*opening.SOURCES, ROW])


def rows_of(toy):
    """The rows that a toy stands for, as an array."""
    return np.concatenate(list(ROW[1](toy).blocks(10**6)))


def test_without_its_row_a_toy_is_refused():
    with pytest.raises(TypeError, match="cannot read rows from Toy"):
        PCA(2).fit(TOY)


@pytest.mark.parametrize("name", examples.OF_NUMBERS)
@pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")
def test_a_source_in_every_model(name, toy_source):
    toys = tables(name, TOY, OTHER)
    arrays = [rows_of(toy) for toy in toys]
    model, expected = make(name).fit(*toys), make(name).fit(*arrays)
    for what, value in examples.MODELS[name].compared(expected).items():
        close(examples.MODELS[name].compared(model)[what], value, 1e-6 if name in ("ICA", "KernelPCA") else 1e-9)
    assert model.n_features_in_ == 5
    assert model.solver_ == lowdim.plan(make(name), *toys).solver.name
    close(np.abs(model.transform(TOY)), np.abs(expected.transform(arrays[0])), 1e-6)


@pytest.mark.parametrize(
    "row", [SourceKind(is_toy, becomes=rows_of), SourceKind(is_toy, lambda X: ArraySource(rows_of(X)))]
)
def test_a_source_that_is_read_as_an_array(row, monkeypatch):
    """scikit-learn cannot count the columns of the object itself."""
    monkeypatch.setattr(opening, "SOURCES", [*opening.SOURCES, row])
    model, expected = PCA(2).fit(TOY), PCA(2).fit(rows_of(TOY))
    assert model.n_features_in_ == 5
    np.testing.assert_array_equal(model.transform(TOY), expected.transform(rows_of(TOY)))


def test_a_source_in_selection(toy_source):
    rows, other = rows_of(TOY), rows_of(OTHER)
    close(cross_validate(PCA(), TOY).mean, cross_validate(PCA(), rows).mean)
    close(
        cross_validate(lowdim.PLSRegression(), TOY, OTHER).mean,
        cross_validate(lowdim.PLSRegression(), rows, other).mean,
    )
    ours, theirs = choose_n_components(TOY), choose_n_components(rows)
    assert {name: choice.k for name, choice in ours.items()} == {name: choice.k for name, choice in theirs.items()}
    draws, expected = (bootstrap(PCA(2), given, n_resamples=5, random_state=0) for given in (TOY, rows))
    close(draws.replicates["explained_variance"], expected.replicates["explained_variance"])
    tested, expected = (permutation_test(PCA(2), given, n_resamples=19, random_state=0) for given in (TOY, rows))
    close(tested.p_values, expected.p_values)
    assert PCA("cv").fit(TOY).n_components_ == PCA("cv").fit(rows).n_components_
    close(PCA(2).partial_fit(TOY).partial_fit(Toy(40, 5)).mean_, PCA(2).fit([rows, rows_of(Toy(40, 5))]).mean_)


def test_columns_of_a_source_by_their_names(toy_source):
    named, rows = Toy(90, 5, names=("a", "b", "c", "d", "e")), rows_of(TOY)
    ours = lowdim.PLSRegression(2).fit(named, y=["e", "a"])
    theirs = lowdim.PLSRegression(2).fit(rows[:, 1:4], rows[:, [4, 0]])
    close(ours.coef_, theirs.coef_)
    assert list(ours.feature_names_in_) == ["b", "c", "d"]
    assert list(ours.target_names_in_) == ["e", "a"]
    close(ours.score(named, ["e", "a"]), theirs.score(rows[:, 1:4], rows[:, [4, 0]]))
    with pytest.raises(ValueError, match="no column 'f'"):
        PCA(2).fit(named, sample_weight="f")


def test_a_source_in_a_stream_and_with_weights(toy_source):
    rows, weights = rows_of(TOY), np.arange(90) % 4
    stream = lambda: iter([open_source(Toy(40, 5)), open_source(Toy(50, 5, seed=2))])  # noqa: E731
    close(PCA(2).fit(TOY, sample_weight=weights).mean_, PCA(2).fit(rows, sample_weight=weights).mean_)
    both = np.concatenate([rows_of(Toy(40, 5)), rows_of(Toy(50, 5, seed=2))])
    close(PCA(2).fit(stream).components_, PCA(2).fit(both).components_)


def test_a_bad_entry_of_a_source_is_named(toy_source, monkeypatch):
    make_rows = ROW[1].blocks

    def with_nan(self, rows):
        for block in make_rows(self, rows):
            block[block.shape[0] // 2, 3] = np.nan
            yield block

    monkeypatch.setattr(ROW[1], "blocks", with_nan)
    with pytest.raises(ValueError, match="Input X contains NaN: column 3, first in row 45"):
        PCA(2).fit(TOY)


# ---- A kind of file to read


def written(path, rows, names):
    """Rows in a file of the new kind, and the path."""
    np.savetxt(path, rows, "%.17g", header=" ".join(names), comments="")
    return path


@pytest.mark.parametrize("name", examples.OF_NUMBERS)
@pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")
def test_a_file_in_every_model(name, tmp_path, monkeypatch):
    names = [f"c{j}" for j in range(X.shape[1])]
    paths = tables(name, written(tmp_path / "x.toy", X, names), written(tmp_path / "y.toy", Y, "abc"))
    with pytest.raises(ValueError, match="has none of the suffixes"):
        make(name).fit(*paths)
    monkeypatch.setitem(FILE_KINDS, *FILE_ROW)
    model, expected = make(name).fit(*paths), examples.fitted(name)
    for what, value in examples.MODELS[name].compared(expected).items():
        close(examples.MODELS[name].compared(model)[what], value, 1e-6 if name in ("ICA", "KernelPCA") else 1e-9)
    assert list(model.feature_names_in_) == names
    close(model.transform(paths[0]), model.transform(lowdim.scan(tmp_path / "x.toy", columns=names)), 1e-12)
    with pytest.raises(ValueError, match="has no column 'c_1'"):
        lowdim.scan(paths[0], columns=["c_1"])


def test_columns_of_a_file_by_name(tmp_path, monkeypatch):
    monkeypatch.setitem(FILE_KINDS, *FILE_ROW)
    path = written(
        tmp_path / "all.toy",
        np.column_stack([X, Y[:, 0], np.arange(len(X)) % 3]),
        [*"abcde", "y", "w"],
    )
    model = lowdim.PLSRegression(2).fit(path, y="y", sample_weight="w")
    close(model.coef_, lowdim.PLSRegression(2).fit(X, Y[:, 0], np.arange(len(X)) % 3).coef_)


# ---- A kind of file to write


@pytest.mark.parametrize("name", examples.OF_NUMBERS)
@pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")
def test_a_sink_in_every_model(name, tmp_path, monkeypatch):
    model = examples.fitted(name)
    with pytest.raises(ValueError, match="must end with one of"):
        model.transform_to(X, tmp_path / "out.toy")
    monkeypatch.setitem(sinks.SINKS, *SINK_ROW)
    model.transform_to(X, tmp_path / "out.toy")
    close(np.loadtxt(tmp_path / "out.toy", skiprows=1), model.transform(X), 1e-12)
    model.transform_to(X, f"{tmp_path}/parts.toy/")
    assert (tmp_path / "parts.toy" / "part-00000.toy").read_text() == (tmp_path / "out.toy").read_text()
    with pytest.raises(ValueError, match="infinity"):
        model.transform_to(np.full_like(X, np.inf), tmp_path / "bad.toy")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.toy", "parts.toy"]


# ---- Something to remember of rows


@pytest.fixture
def toy_summary(monkeypatch):
    case = summaries_drawn.Case(
        lambda cls, width, offset: cls(width),
        lambda s: {"n_rows": s.n_rows, "range": None if s.low is None else s.high - s.low},
    )
    monkeypatch.setitem(SUMMARIES, "Extremes", Extremes)
    monkeypatch.setitem(summaries_drawn.CASES, "Extremes", ("Extremes", case))


def laws():
    """The laws of tests/laws with all that they are parametrized by but the summary."""
    for name, law in vars(test_summaries).items():
        marks = [mark for mark in getattr(law, "pytestmark", []) if mark.name == "parametrize"]
        # Of a newcomer there are no early files.
        if name.startswith("test_") and any(mark.args[0] == "label" for mark in marks) and "early" not in name:
            others = [mark for mark in marks if mark.args[0] != "label"]
            for values in itertools.product(*(mark.args[1] for mark in others)):
                options = dict(zip((mark.args[0] for mark in others), values, strict=True))
                yield pytest.param(law, options, id=" ".join([name, *map(str, values)]))


@pytest.mark.parametrize(("law", "options"), list(laws()))
def test_a_summary_keeps_the_laws(law, options, toy_summary, request):
    fixtures = [name for name in inspect.signature(law).parameters if name.startswith("tmp_path")]
    law(label="Extremes", **options, **{name: request.getfixturevalue(name) for name in fixtures})


@pytest.mark.parametrize("kind", [name for name, kind in INPUTS.items() if kind.xp == "numpy" and not kind.to_device])
def test_a_summary_of_every_kind_of_input(kind, toy_summary):
    rows = np.round(8 * X)
    for given in (Extremes, Extremes(5)):
        seen = summarize(INPUTS[kind].make(rows), given)
        np.testing.assert_array_equal(seen.low, rows.min(axis=0))
        np.testing.assert_array_equal(seen.high, rows.max(axis=0))
    counted = summarize(INPUTS[kind].make(rows), Extremes, weights=np.arange(90) % 2)
    np.testing.assert_array_equal(counted.high, rows[1::2].max(axis=0))


def test_a_summary_names_bad_entries_and_is_saved(toy_summary, tmp_path):
    bad = X.copy()
    bad[7, 2] = np.inf
    with pytest.raises(ValueError, match="column 2, first in row 7"):
        summarize(bad, Extremes)
    summarize(X, Extremes).save(tmp_path / "extremes.safetensors")
    np.testing.assert_array_equal(Extremes.load(tmp_path / "extremes.safetensors").high, X.max(axis=0))
    with pytest.raises(TypeError, match="a Moments or a Triangle"):
        PCA(2).fit_summary(summarize(X, Extremes))


# ---- A rule for K


@pytest.fixture
def toy_rule(monkeypatch):
    monkeypatch.setitem(RULES, RULE.name, RULE)


def test_a_rule_in_models_and_in_the_table_of_choices(toy_rule):
    """It says what Kaiser's rule says."""
    assert choose_n_components(X, "above-average")["above-average"].k == choose_n_components(X, "kaiser")["kaiser"].k
    everything = choose_n_components(X)
    assert list(everything) == list(RULES)
    assert "above-average" in str(everything)
    assert "noise eigenvalues are all equal" in str(everything)
    assert "above-average: K = " in str(everything["above-average"])
    for model in (PCA, PPCA, ICA):
        ours, usual = model("above-average").fit(X), model("kaiser").fit(X)
        assert ours.n_components_ == usual.n_components_ == 2
    assert PCA("above-average").fit(X).choice_.rule == "above-average"
    assert PCA("above-average").partial_fit(X).n_components_ == 2
    with pytest.raises(ValueError, match=r"n_components='nonsense' is not one of .*'above-average'"):
        PCA("nonsense").fit(X)
    assert set(selection.RULES) == set(everything)


# ---- An estimator


@pytest.fixture
def toy_model(monkeypatch):
    monkeypatch.setattr(models, "CorrelationPCA", CorrelationPCA, raising=False)
    monkeypatch.setattr(models, "__all__", [*models.__all__, "CorrelationPCA"])


@pytest.mark.parametrize(
    "check",
    [pytest.param(check, id=getattr(check.func, "__name__", str(check.func)))
     for _, check in estimator_checks_generator(CorrelationPCA(), legacy=True, mark="skip")],
)  # fmt: skip
def test_an_estimator_passes_the_checks_of_scikit_learn(check):
    check(CorrelationPCA())


@pytest.mark.parametrize("kind", list(INPUTS))
def test_an_estimator_on_every_kind_of_input(kind, toy_model):
    rows, source = np.round(8 * X), INPUTS[kind]
    usual = PCA(2, scale=True, whiten=True).fit(rows)
    model = models.CorrelationPCA(2).fit(source.make(rows))
    assert source.result_dtype("float64") == model.components_.dtype
    close(np.asarray(model.components_), usual.components_)
    scores = model.transform(source.make(rows))
    close(np.asarray(scores), usual.transform(rows))
    close(np.asarray(model.inverse_transform(scores)), usual.inverse_transform(usual.transform(rows)))


def test_an_estimator_has_a_plan_and_prints_itself(toy_model):
    model = models.CorrelationPCA(2)
    planned = lowdim.plan(model, X)
    assert model.fit(X).plan_ == planned
    assert str(model).splitlines()[0] == "CorrelationPCA of 90 rows, 5 columns (covariance)"
    assert "PC2" in str(model)
    assert list(model.get_feature_names_out()) == ["PC1", "PC2"]
    for solver in SOLVERS:
        close(models.CorrelationPCA(2, solver=solver).fit(X).components_, model.components_, 1e-8)
    weights = np.arange(90) % 3
    repeated = models.CorrelationPCA(2).fit(np.repeat(X, weights, axis=0))
    close(models.CorrelationPCA(2).fit(X, sample_weight=weights).components_, repeated.components_)
    bad = X.copy()
    bad[3, 1] = np.nan
    before = model.components_.copy()
    with pytest.raises(ValueError, match="column 1, first in row 3"):
        model.fit(bad)
    np.testing.assert_array_equal(model.components_, before)
    with pytest.raises(TypeError, match="cannot be cross-validated here"):
        cross_validate(model, X)


# ---- A plot


def test_a_plot_is_offered_by_the_models_that_it_fits(monkeypatch):
    matplotlib.use("Agg")
    monkeypatch.setitem(PLOTS, "means", PLOT_ROW)
    pca = PCA(2).fit(X)
    assert "means" in dir(pca.plot)
    assert repr(pca.plot).splitlines()[-1].split(maxsplit=1) == ["means", "The means of the columns."]
    close([bar.get_height() for bar in pca.plot.means().patches], X.mean(axis=0))
    plt.close("all")
    cca = lowdim.CCA(1).fit(X, Y)
    with pytest.raises(AttributeError, match="CCA has no plot 'means'"):
        _ = cca.plot.means
    with pytest.raises(TypeError, match=r"plot.means shows means of columns, and CCA has none"):
        PLOT_ROW.function(cca)


def test_a_new_section_is_in_the_report(monkeypatch, tmp_path):
    monkeypatch.setattr("lowdim.reporting.build.SECTIONS", SECTIONS | SECTION_ROW)
    X = np.random.default_rng(0).normal(size=(30, 4))
    written = lowdim.report(X, tmp_path / "report.html")
    assert "negative" in [section.key for section in written.sections]
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert f"The table has {np.count_nonzero(X < 0)} negative entries." in page
