"""Files of summaries are checked when they are read: damaged ones are refused, for every summary."""

import copy
import numbers

import numpy as np
import pytest
from scipy import sparse

from laws.summaries_drawn import WIDTH, assert_same_state, each, empty, filled, state
from lowdim._core import container
from lowdim.summaries import SUMMARIES, Labelled, Moments, Sample, Summary

X = np.round(16 * np.random.default_rng(6).standard_normal((6, WIDTH))) / 8


@pytest.fixture(autouse=True)
def without_flushing(monkeypatch):
    """Nothing here must survive a power failure, and flushing takes most of the time."""
    monkeypatch.setattr("os.fsync", lambda descriptor: None)


def saved(label, tmp_path):
    """A file of a filled summary, its class, and the tree in the file."""
    path = tmp_path / "summary"
    summary = filled(label, (X, None))
    summary.save(path)
    return path, type(summary), tree_in(path)


def tree_in(path):
    document, arrays = container.read(path)
    return container.rebuild({name: document[name] for name in ("holds", "class", "names", "state")}, arrays)


def refused(path, cls, tree, match=r"is damaged, or not a file"):
    container.write(path, *container.flatten(tree))
    with pytest.raises(ValueError, match=match):
        cls.load(path)


def leaves(tree, place=()):
    """All values in a tree that are no dicts and lists, by their place."""
    if isinstance(tree, dict | list):
        items = tree.items() if isinstance(tree, dict) else enumerate(tree)
        return {at: leaf for key, item in items for at, leaf in leaves(item, (*place, key)).items()}
    return {place: tree}


def required(cls, tree):
    """The places of all values that every file has; those that were added later may be missing."""
    added = {cls.names_in_files.get(name, name) for name in cls.added}
    return [place for place in leaves(tree) if place[-1] not in added]


def at(tree, place):
    for key in place:
        tree = tree[key]
    return tree


def changed(tree, place, value):
    """The tree with another value at a place."""
    other = copy.deepcopy(tree)
    at(other, place[:-1])[place[-1]] = value
    return other


def without(tree, place):
    """The tree without the value at a place."""
    other = copy.deepcopy(tree)
    del at(other, place[:-1])[place[-1]]
    return other


def floats(tree):
    """Places of sums and parameters with a fraction; those of empty parts may be zero or missing."""
    found = {place: leaf for place, leaf in leaves(tree).items() if np.asarray(leaf).dtype.kind == "f"}
    return {place: leaf for place, leaf in found.items() if is_filled(tree, place)}


def is_filled(tree, place):
    values = at(tree, place[:-1])
    return len(place) == 2 or values.get("mean") is not None


@each
def test_every_value_has_a_layout_or_is_a_summary_or_text(label):
    summary = filled(label, (X, None))
    rest = set(summary.state) - set(summary._layout())
    values = [getattr(summary, name) for name in rest]
    assert all(value is None or isinstance(value, Summary | str | list) for value in values)


@pytest.mark.parametrize("value", [np.nan, np.inf])
@each
def test_numbers_that_are_not_finite_are_refused(label, value, tmp_path):
    path, cls, tree = saved(label, tmp_path)
    for place, leaf in floats(tree).items():
        bad = np.array(leaf)
        bad.flat[-1] = value
        refused(path, cls, changed(tree, place, bad if bad.ndim else float(bad)), "NaN or infinity")


@each
def test_other_shapes_are_refused(label, tmp_path):
    path, cls, tree = saved(label, tmp_path)
    for place, leaf in floats(tree).items():
        value = np.asarray(leaf)
        if place[-1] == "loadings":
            continue  # any number of latent variables is possible
        for wrong in (np.append(value, 1.0) if value.ndim < 2 else np.vstack([value, value]).T, value[None]):
            refused(path, cls, changed(tree, place, wrong))


@each
def test_shapes_and_dtypes_are_checked_before_arrays_are_read(label, tmp_path, monkeypatch):
    path, cls, tree = saved(label, tmp_path)
    arrays = {place: leaf for place, leaf in floats(tree).items() if isinstance(leaf, np.ndarray)}
    monkeypatch.setattr("lowdim._core.container._array", lambda *a: pytest.fail("an array was read"))
    for place, value in arrays.items():
        refused(path, cls, changed(tree, place, value[None]))
        refused(path, cls, changed(tree, place, value.astype(str)))
    for place in required(cls, tree):
        refused(path, cls, without(tree, place))


@each
def test_arrays_of_whole_numbers_in_the_place_of_floats_are_refused(label, tmp_path):
    path, cls, tree = saved(label, tmp_path)
    for place, leaf in floats(tree).items():
        if isinstance(leaf, np.ndarray) and place[-1] not in cls.kinds:
            refused(path, cls, changed(tree, place, leaf.view(np.int64)), "must hold floats")


@each
def test_text_and_truth_in_the_place_of_numbers_are_refused(label, tmp_path):
    path, cls, tree = saved(label, tmp_path)
    for place, leaf in floats(tree).items():
        refused(path, cls, changed(tree, place, np.asarray(leaf).astype(str)))
        refused(path, cls, changed(tree, place, str(leaf)))
        refused(path, cls, changed(tree, place, {"a": leaf}))


@each
def test_missing_values_are_refused(label, tmp_path):
    path, cls, tree = saved(label, tmp_path)
    for place in required(cls, tree):
        refused(path, cls, without(tree, place))
    for place in floats(tree):
        # A Sketch without its only sum is the empty one.
        if place[-1] not in cls.optional and not (place[-1] == "product" and "V" in tree["state"]):
            refused(path, cls, changed(tree, place, None))


@each
def test_values_that_were_not_saved_are_refused(label, tmp_path):
    path, cls, tree = saved(label, tmp_path)
    refused(path, cls, changed(tree, ("state", "another"), np.zeros(3)), "holds another, which")


@each
def test_one_wrong_bit_is_found(label, tmp_path):
    path, cls, _ = saved(label, tmp_path)
    content = path.read_bytes()
    for bit in np.random.default_rng(8).integers(0, 8 * len(content), 60):
        wrong = bytearray(content)
        wrong[bit // 8] ^= 1 << bit % 8
        path.write_bytes(wrong)
        with pytest.raises(ValueError, match=r"is damaged, or not a file|is not a file that lowdim saved"):
            cls.load(path)


@each
def test_counts_that_contradict_the_sums_are_refused(label, tmp_path):
    path, cls, tree = saved(label, tmp_path)
    for place in leaves(tree):
        if place[-1] in ("n_rows", "weight") and is_filled(tree, place):
            for wrong in (0, -1):
                refused(path, cls, changed(tree, place, wrong))
        if place[-1] == "n_rows" and is_filled(tree, place):
            refused(path, cls, changed(tree, place, 2.5), "whole number")


@each
def test_sums_of_squares_that_are_negative_are_refused(label, tmp_path):
    path, cls, tree = saved(label, tmp_path)
    there = {name for name, value in tree["state"].items() if value is not None}
    for name in set(cls.nonnegative) & there:
        value = tree["state"][name]
        negative = -1 - (np.abs(value).astype(float) if isinstance(value, np.ndarray) else abs(value))
        refused(path, cls, changed(tree, ("state", name), negative))
    for name in set(cls.symmetric) & there:
        value = tree["state"][name]
        refused(path, cls, changed(tree, ("state", name), -value), "negative diagonal")
        refused(path, cls, changed(tree, ("state", name), np.triu(value) + np.eye(WIDTH)), "not symmetric")


#: What the values of `Moments` are called in files.
NAMES_IN_FILES = [Moments.names_in_files.get(name, name) for name in Moments.state]


def test_matrices_that_should_be_symmetric_are_named():
    assert {name for name, cls in SUMMARIES.items() if cls.symmetric} == {
        "Moments",
        "FourthMoments",
        "Gram",
        "Completed",
    }


@pytest.mark.parametrize(
    "tree",
    [
        {},
        {"class": "Moments", "state": {}},
        {"holds": ["model"], "class": "Moments", "state": {}},
        {"holds": "summary", "class": "Nothing", "state": {}},
        {"holds": "summary", "class": ["Moments"], "state": {}},
        {"holds": "summary", "class": "ScatterSummary", "state": {}},
        {"holds": "summary", "class": "Moments"},
        {"holds": "summary", "class": "Moments", "state": [1, 2]},
        {"holds": "summary", "class": "Moments", "state": dict.fromkeys(NAMES_IN_FILES)},
        {"holds": "summary", "class": "Moments", "state": dict.fromkeys(NAMES_IN_FILES, "two")},
        {"holds": "summary", "class": "Moments", "state": {name: {"class": "Moments"} for name in NAMES_IN_FILES}},
    ],
)
def test_other_documents_are_refused(tree, tmp_path):
    refused(tmp_path / "other", Moments, tree)


def test_a_file_of_a_model_says_so(tmp_path):
    refused(tmp_path / "model", Moments, {"holds": "model", "class": "PCA"}, r"holds a model, .*use lowdim\.load")


def test_what_a_newer_version_adds_is_refused_with_advice(tmp_path, monkeypatch):
    path, cls, tree = saved("Moments", tmp_path)

    def written_by_newer(tree):
        with monkeypatch.context() as newer:
            newer.setattr("lowdim._core.container.VERSION", (1, 1))
            container.write(path, *container.flatten(tree))

    written_by_newer(tree)
    assert_same_state(cls.load(path), state(filled("Moments", (X, None))))
    written_by_newer(changed(tree, ("state", "another"), 1))
    with pytest.raises(ValueError, match=r"another, which .*A newer version of lowdim wrote it"):
        cls.load(path)


def test_an_empty_sample_takes_no_memory_for_columns_that_it_does_not_have(tmp_path, monkeypatch):
    Sample(10, 100).save(tmp_path / "summary")
    tree = changed(tree_in(tmp_path / "summary"), ("state", "n_features"), 10**15)
    container.write(tmp_path / "summary", *container.flatten(tree))
    assert Sample.load(tmp_path / "summary").n_features == 10**15


def test_sparse_rows_with_columns_that_do_not_exist_are_refused(tmp_path):
    summary = filled("Sample", (sparse.csr_array(X), None))
    summary.save(tmp_path / "summary")
    tree = tree_in(tmp_path / "summary")
    tree["state"]["rows"].indices[0] = WIDTH + 5
    refused(tmp_path / "summary", Sample, tree)


def test_rows_of_a_sample_that_were_changed_are_refused(tmp_path):
    path, cls, tree = saved("Sample", tmp_path)
    refused(path, cls, changed(tree, ("state", "rows"), tree["state"]["rows"] + 1), "keys are not those of the rows")


def test_parts_of_another_number_or_kind_are_refused(tmp_path):
    path, _, tree = saved("Labelled", tmp_path)
    refused(path, Labelled, changed(tree, ("state", "counts"), (2, 3)), "one for each label")
    refused(path, Labelled, changed(tree, ("state", "counts"), (2, 10**12)), "one for each label")
    groups = ("state", "like", "state", "groups")  # what widths are called in files
    refused(path, Labelled, changed(tree, groups, (1, WIDTH - 1)), "different things")
    refused(path, Labelled, changed(tree, ("state", "like", "class"), "Nothing"), "no summary of the class 'Nothing'")


@each
def test_whole_numbers_are_numbers_of_python(label):
    """So that they are stored in the document, where other programs and people find them."""
    summary = filled(label, (X, None))
    counts = [getattr(summary, name) for name in summary.state if name.startswith("n_")]
    assert all(type(count) is int and isinstance(count, numbers.Integral) for count in counts)
    assert all(type(getattr(empty(label), name)) is int for name in summary.state if name.startswith("n_"))
