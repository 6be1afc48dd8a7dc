"""Files with a right checksum and wrong contents: each attribute of each class is changed in turn, and refused."""

import re
from functools import cache

import numpy as np
import pytest

import lowdim
from examples import X, Y
from files.fitted_models import CASES, fitted
from lowdim import models
from lowdim._core import container
from lowdim._core.container import ADDED
from lowdim._core.schema import ListOf, Maybe, Numbers, Real, Size, Sometimes, TupleOf, declared
from lowdim.errors import HoldsRowsWarning, without_warnings

#: Cases in which attributes of all kinds occur.
NAMES = [
    *models.__all__,
    "PCA-whiten",
    "PCA-rule-cv",
    "Whitening-zca-cor-factors",
    "PPCA-prior",
    "FactorAnalysis-start",
    "KernelPCA-fourier",
    "KernelCCA-precomputed",
    "ICA-starts",
    "GCCA-three",
    "sklearn-IncrementalPCA",
    "sklearn-PLSRegression",
    "sklearn-KernelPCA-inverse",
]
each = pytest.mark.parametrize("name", NAMES)


@cache
def saved(name, folder):
    """The tree in the file of a case."""
    path = folder / f"{name}.safetensors"
    with without_warnings(HoldsRowsWarning):
        lowdim.save(fitted(name), path)
    return container.rebuild(*container.read(path))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tampered")


def changed(tree, place, change):
    """A copy of a tree, with the value at this place changed; or removed, where `change` returns `GONE`. An array that
    occurs several times is changed for all of them."""
    return _changed(tree, real_place(tree, place), change)


def real_place(tree, place):
    value = tree
    for key in place:
        value = value[key]
    shared = isinstance(value, dict) and value.keys() == {"shared"}
    return ("shared", value["shared"]) if shared else place


def _changed(tree, place, change):
    if not place:
        return change(tree)
    copy = dict(tree) if isinstance(tree, dict) else list(tree)
    copy[place[0]] = _changed(tree[place[0]], place[1:], change)
    if copy[place[0]] is GONE:
        del copy[place[0]]
    return type(tree)(copy)


GONE = object()
TAIL = {"class": "solvers.Tail", "of": {"total": 1.0, "squares": None, "cubes": None}}


def refused(tree, path, match="is damaged, or not a file that lowdim saved"):
    tree = {key: value for key, value in tree.items() if key not in ADDED}
    container.write(path, *container.flatten(tree))
    with pytest.raises(ValueError, match=match):
        lowdim.load(path)


def attributes(tree):
    """The attributes in the tree of a model; those that occur several times are in its list of shared arrays."""
    return tree["of"]["fitted"]


@each
def test_every_attribute_that_is_missing(name, folder):
    tree = saved(name, folder)
    kinds = declared(type(fitted(name)))
    for attribute in attributes(tree):
        place, kind = ("of", "fitted", attribute), kinds[attribute]
        if not isinstance(kind, Sometimes):
            refused(_changed(tree, place, lambda _: GONE), folder / "file", f"{attribute} is missing")
        elif kind.unless:
            refused(_changed(tree, place, lambda _: GONE), folder / "file", f"({attribute}|{kind.unless}) is missing")


@each
def test_attributes_and_parameters_that_no_model_has(name, folder):
    tree = saved(name, folder)
    refused(changed(tree, ("of", "fitted"), lambda old: old | {"other_": 1}), folder / "file", "no attribute other_")
    refused(changed(tree, ("of", "parameters"), lambda old: old | {"other": 1}), folder / "file")
    refused(changed(tree, ("of",), lambda old: old | {"other": 1}), folder / "file")


@each
def test_every_attribute_as_something_else(name, folder):
    tree = saved(name, folder)
    for i, (attribute, old) in enumerate(attributes(tree).items()):
        other = [[1.0]] if isinstance(old, str) or attribute == "tail_" else ("text", TAIL, [[1.0]])[i % 3]
        refused(_changed(tree, ("of", "fitted", attribute), lambda _, other=other: other), folder / "file")


def arrays(tree, kinds):
    """The arrays among the attributes, with their kinds and places; those in lists as well."""
    for attribute, value in attributes(tree).items():
        kind = kinds[attribute]
        while isinstance(kind, Maybe):
            kind = kind.kind
        place = real_place(tree, ("of", "fitted", attribute))
        value = tree["shared"][place[1]] if place[0] == "shared" else value
        if isinstance(value, np.ndarray) and isinstance(kind, Numbers):
            yield place, value, kind
        if isinstance(kind, ListOf | TupleOf) and isinstance(kind.kind, Numbers):
            yield from (((*place, i), part, kind.kind) for i, part in enumerate(value))


@each
def test_entries_of_every_array(name, folder):
    """NaN, and entries of the wrong sign or in the wrong order."""
    tree = saved(name, folder)
    for place, value, kind in arrays(tree, declared(type(fitted(name)))):
        if value.dtype.kind != "f" or not value.size:
            continue
        refused(changed(tree, place, lambda old: with_last(old, np.nan)), folder / "file", "NaN or infinity")
        if kind.sign:
            refused(changed(tree, place, lambda old: with_last(old, -1.0)), folder / "file", "negative|positive|order")
        if kind.order and len(value) > 1:
            refused(changed(tree, place, lambda old: old[::-1].copy()), folder / "file", "descending|order")
        if kind.orthonormal:
            refused(changed(tree, place, lambda old: 1.1 * old), folder / "file", "orthonormal")
        if kind.most is not None:
            refused(changed(tree, place, lambda old, most=kind.most: with_last(old, 2 * most)), folder / "file")
        if kind.symmetric and len(value) > 1:
            refused(changed(tree, place, lambda old: old + np.triu(np.ones_like(old), 1)), folder / "file", "symmetric")


def with_last(array, value):
    array = array.copy()
    array.flat[-1] = value
    return array


@each
def test_shapes_and_dtypes_of_every_array(name, folder):
    tree = saved(name, folder)
    for i, (place, value, kind) in enumerate(arrays(tree, declared(type(fitted(name))))):
        if i % 2:
            refused(changed(tree, place, lambda old: old[None]), folder / "file", "axes")
        else:
            refused(changed(tree, place, lambda old: old.astype(np.int16)), folder / "file", "dtype int16")
        for axis, letter in enumerate(kind.shape):
            if letter in ("k", "p", "q", "m", "t") and value.shape[axis]:
                longer = lambda old, axis=axis: np.concatenate([old, old], axis=axis)  # noqa: E731
                refused(changed(tree, place, longer), folder / "file")


@each
def test_numbers(name, folder):
    tree = saved(name, folder)
    kinds = declared(type(fitted(name)))
    for attribute, old in attributes(tree).items():
        kind = kinds[attribute]
        place = ("of", "fitted", attribute)
        if isinstance(kind, Real) and old is not None:
            refused(changed(tree, place, lambda _: float("nan")), folder / "file", f"{attribute} is nan")
            if kind.sign:
                refused(changed(tree, place, lambda _: -1.0), folder / "file", f"{attribute} is -1.0")
        if isinstance(kind, Size):
            refused(changed(tree, place, lambda old: old + 1), folder / "file")
            refused(changed(tree, place, float), folder / "file", "whole number")


# ---- Other classes, parameters and objects


def test_other_classes(folder):
    tree = saved("PCA", folder)
    others = ["models.PPCA", "models.Whitening", "sklearn.PCA", "os.system", "models.Model", "solvers.Tail", "Moments"]
    for other in [*others, "summaries.Moments", "selection.Choice", "", 7, None, {"class": "models.PCA", "of": {}}]:
        refused(tree | {"class": other}, folder / "file")
    for other in ("result", "summary", "pickle", None):
        refused(tree | {"holds": other}, folder / "file", "damaged|not a")
    refused(tree | {"of": [1]}, folder / "file")
    for other in (True, None, 0, "no"):
        refused(tree | {"holds_rows": other}, folder / "file", "whether it holds rows")
    refused(saved("KernelPCA", folder) | {"holds_rows": False}, folder / "file", "whether it holds rows")
    refused(tree | {"shared": {}}, folder / "file")


def test_parameters_go_through_the_check_of_the_model(folder):
    tree = saved("PCA", folder)
    for name, value in {"ddof": 7, "whiten": "yes", "scale": 3}.items():
        refused(changed(tree, ("of", "parameters", name), lambda _, value=value: value), folder / "file")
    refused(changed(tree, ("of", "parameters"), lambda _: [1]), folder / "file")
    refused(changed(tree, ("of", "output"), lambda _: "excel"), folder / "file")


def test_objects_go_through_their_constructors(folder):
    tree = saved("KernelPCA-fourier", folder)
    kernel = ("of", "fitted", "kernel_", "of")
    refused(changed(tree, (*kernel, "gamma"), lambda _: -1.0), folder / "file")
    refused(changed(tree, (*kernel, "gamma"), lambda _: "wide"), folder / "file", "gamma")
    refused(
        changed(tree, ("of", "fitted", "kernel_"), lambda old: old | {"class": "kernels.Function"}), folder / "file"
    )
    tree = saved("PCA", folder)
    refused(changed(tree, ("of", "fitted", "status_", "of", "name"), lambda _: "FINE"), folder / "file")
    refused(changed(tree, ("of", "fitted", "plan_", "of", "solver"), lambda _: None), folder / "file")
    refused(changed(tree, ("of", "fitted", "tail_", "of", "total"), lambda _: -1.0), folder / "file")


def test_summaries_inside_models(folder):
    tree = saved("PCA", folder)
    state = ("of", "fitted", "summary_", "of", "tree", "state")
    refused(changed(tree, (*state, "weight"), lambda _: -1.0), folder / "file")
    refused(changed(tree, (*state, "scatter"), lambda old: -old), folder / "file")
    refused(changed(tree, (*state, "mean"), lambda old: old[:-1]), folder / "file")


def test_attributes_that_contradict_each_other(folder):
    tree = saved("FeatureMapPCA", folder)
    other_rank = _changed(tree, ("of", "fitted", "rank_"), lambda old: old - 1)
    refused(other_rank, folder / "file", "rank_ is not that of pca_")
    own_mean = lambda place: tree["shared"][place["shared"]] + 1.0  # noqa: E731
    refused(_changed(tree, ("of", "fitted", "mean_"), own_mean), folder / "file", "mean_ is not that of pca_")
    for degree in (3, 10**9):
        place = ("of", "fitted", "feature_map_", "of", "degree")
        refused(changed(tree, place, lambda _, degree=degree: degree), folder / "file", "the feature map has")


def test_shared_arrays(folder):
    tree = saved("KernelPCA", folder)
    place = ("of", "fitted", "X_fit_")
    for other in (99, -1, True, "a", None):
        refused(_changed(tree, place, lambda _, other=other: {"shared": other}), folder / "file")


def test_indices_out_of_range(folder):
    """The columns of a kernel matrix that belong to rows of positive weight."""
    tree = saved("KernelCCA-precomputed", folder)
    place = ("of", "fitted", "_mapped", 0, "of", "kernel", "of", "columns")
    for wrong in (-1, 90, 2**40):
        refused(
            changed(tree, place, lambda old, wrong=wrong: with_last(old, wrong)), folder / "file", "must be indices"
        )


def test_results_of_selection(folder):
    lowdim.save(lowdim.choose_n_components(X), folder / "choices")
    tree = container.rebuild(*container.read(folder / "choices"))
    refused(
        changed(tree, ("of", "eigenvalues", "of", "values"), lambda old: old[::-1].copy()), folder / "file", "order"
    )
    refused(changed(tree, ("of", "answers", 0, "of", "rule"), lambda _: "guess"), folder / "file", "rule")
    refused(changed(tree, ("of", "answers", 0, "of", "k"), lambda _: -1), folder / "file", "k is -1")
    lowdim.save(lowdim.PLSRegression(2).fit(X, Y).jackknife(X, Y, cv=4), folder / "jackknife")
    tree = container.rebuild(*container.read(folder / "jackknife"))
    refused(changed(tree, ("of", "features"), lambda old: old[:-1]), folder / "file")


def test_nothing_is_read_before_shapes_are_checked(folder, monkeypatch):
    """An array of a wrong shape is refused although its bytes are never looked at."""
    tree = saved("PCA", folder)
    wrong = changed(tree, ("of", "fitted", "mean_"), lambda old: old[:-1])
    wrong = {key: value for key, value in wrong.items() if key not in ADDED}
    container.write(folder / "file", *container.flatten(wrong))
    monkeypatch.setattr(container, "_array", lambda *args: pytest.fail("an array was read"))
    with pytest.raises(ValueError, match=r"mean_|other attributes"):
        lowdim.load(folder / "file")


def test_every_case_is_one_that_is_saved():
    assert set(NAMES) <= set(CASES)
    assert all(re.fullmatch(r"[\w .+-]+", name) for name in CASES)
