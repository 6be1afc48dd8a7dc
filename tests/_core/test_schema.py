"""Each kind of attribute takes what it describes, and names what is wrong with anything else."""

import math

import numpy as np
import pytest
from scipy import sparse

from lowdim._core.schema import (
    Anything,
    Dtype,
    Entries,
    Flag,
    Inspection,
    Instance,
    Kind,
    ListOf,
    Maybe,
    Names,
    Numbers,
    Real,
    Record,
    Several,
    Size,
    Sometimes,
    Text,
    TupleOf,
    Unstored,
    Whole,
    declared,
)

NAMES = np.array(["a", "b"], dtype=object)
TAIL = Record("shelf.Tail", {"total": 1.0})
#: The classes of these tests, with the kinds of their fields.
SHELF = {"shelf.Tail": {"total": Real("positive")}, "shelf.Pair": {"left": Numbers("k"), "right": Numbers("k")}}
GOOD_AND_BAD = {
    "Real": (Real(), [1.5, 2, np.float32(3.0), -1.0], [True, "1", None, math.nan, math.inf, [1.0]]),
    "Real positive": (Real("positive", most=1.0), [0.5, 1], [0.0, -1.0, 1.5]),
    "Real not finite": (Real(finite=False), [math.nan, -math.inf], ["nan"]),
    "Whole": (Whole(1), [1, np.int64(7)], [0, 1.0, True, None, "1"]),
    "Whole of any sign": (Whole(None), [-5], [0.5]),
    "Size": (Size("k"), [3], [-1, 2.0, False]),
    "Flag": (Flag(), [True, np.bool_(False)], [0, 1, None, "True"]),
    "Text": (Text(), ["", "a"], [1, None, b"a"]),
    "Text among": (Text(("a", "b")), ["a"], ["c", ""]),
    "Names": (Names(), [NAMES], [["a"], np.array(["a"]), np.array([["a"]], dtype=object), None]),
    "Dtype": (Dtype(), [Record("dtype", {"name": "float32"})], ["float32", TAIL, np.float64]),
    "Maybe": (Maybe(Real()), [None, 1.0], ["a"]),
    "ListOf": (ListOf(Whole()), [[], [1, 2]], [(1, 2), [1.5], None]),
    "TupleOf": (TupleOf(Whole()), [(), (1, 2)], [[1, 2], (1.5,), None]),
    "Several": (Several(Real(), Text()), [(1.0, "a")], [(1.0,), [1.0, "a"], ("a", 1.0)]),
    "Entries": (Entries(Real()), [{}, {"a": 1.0}], [{"a": "b"}, {1: 1.0}, [1.0]]),
    "Entries by key": (
        Entries({"a": Real(), "b": Sometimes(Real())}),
        [{"a": 1.0}, {"a": 1.0, "b": 2.0}],
        [{}, {"a": 1.0, "c": 1.0}, {"a": 1.0, "b": None}],
    ),
    "Instance": (Instance("shelf.*"), [TAIL], [Record("else.Tail", {}), Record("shelf.Tail", {"total": -1.0}), 1.0]),
    "Anything": (
        Anything(),
        [None, 1, [TAIL], {"a": (TAIL,)}],
        [Record("shelf.None", {}), [Record("shelf.Tail", {})], {"a": Record("shelf.Tail", {"total": "x"})}],
    ),
}


def fields_of(name):
    if name not in SHELF:
        raise ValueError(f"there is no {name}")
    return SHELF[name]


def check(kind, value, inspection=None):
    kind.check(value, inspection or Inspection(fields_of), "it")


@pytest.mark.parametrize("name", list(GOOD_AND_BAD))
def test_kinds(name):
    kind, good, bad = GOOD_AND_BAD[name]
    for value in good:
        check(kind, value)
    for value in bad:
        with pytest.raises(ValueError):
            check(kind, value)


def test_the_same_letter_has_the_same_length():
    inspection = Inspection(fields_of)
    check(Size("k"), 3, inspection)
    check(Numbers("k", "p"), np.zeros((3, 2)), inspection)
    check(ListOf(Real(), length="k"), [1.0, 2.0, 3.0], inspection)
    check(Names("p"), NAMES, inspection)
    check(Whole(most="k"), 3, inspection)
    for kind, value in (
        (Size("p"), 3),
        (Numbers("p"), np.zeros(3)),
        (ListOf(Real(), length="p"), [1.0]),
        (Whole(most="k"), 4),
    ):
        with pytest.raises(ValueError, match=r"it .*(other attributes have|at most)"):
            check(kind, value, inspection)


def test_lists_of_arrays_have_a_letter_for_each_entry():
    inspection = Inspection(fields_of)
    check(ListOf(Numbers("p#", "k")), [np.zeros((3, 2)), np.zeros((4, 2))], inspection)
    check(ListOf(Numbers("p#")), [np.zeros(3), np.zeros(4)], inspection)
    check(Size("p0"), 3, inspection)
    with pytest.raises(ValueError, match=r"it\[1\] has length 3"):
        check(ListOf(Numbers("p#")), [np.zeros(3), np.zeros(3)], inspection)


def test_an_object_has_letters_of_its_own_unless_it_shares_them():
    inspection = Inspection(fields_of)
    pair = Record("shelf.Pair", {"left": np.zeros(2), "right": np.zeros(2)})
    check(Size("k"), 3, inspection)
    check(Instance("shelf.Pair"), pair, inspection)
    with pytest.raises(ValueError, match="has length 2, where other attributes have 3"):
        check(Instance("shelf.Pair", shares="k"), pair, inspection)
    inspection = Inspection(fields_of)
    check(Instance("shelf.Pair", shares="k"), pair, inspection)
    with pytest.raises(ValueError, match="it has length 3"):
        check(Size("k"), 3, inspection)


def test_attributes_that_need_not_be_there():
    kinds = {"a": Sometimes(Real(), unless="b"), "b": Sometimes(Real(), unless="a"), "c": Sometimes(Real())}
    inspection = Inspection(fields_of)
    for good in ({"a": 1.0}, {"b": 1.0}, {"a": 1.0, "c": 1.0}):
        inspection.check_fields(good, kinds, "it")
    for bad, message in (({}, "a is missing"), ({"a": 1.0, "b": 1.0}, "either a or b"), ({"a": None}, "a is None")):
        with pytest.raises(ValueError, match=message):
            inspection.check_fields(bad, kinds, "it")


def test_attributes_that_are_not_stored():
    assert not Unstored().stored and Real().stored
    with pytest.raises(ValueError, match="it is not stored in files"):
        check(Unstored(), 1.0)


def test_a_class_adds_to_the_list_of_its_bases():
    class Base:
        fitted_attributes = {"a": Real(), "b": Real()}

    class Mixin:
        fitted_attributes = {"b": Text()}

    class Derived(Mixin, Base):
        fitted_attributes = {"a": None, "c": Flag()}

    found = declared(Derived)
    assert set(found) == {"b", "c"} and found["b"] == Text() and all(isinstance(kind, Kind) for kind in found.values())


def test_arrays_are_moved_where_the_model_is():
    array = np.zeros(2)
    move = lambda a: ("moved", a)  # noqa: E731
    assert Numbers("k").moved(array, move, fields_of)[0] == "moved"
    assert Numbers("k", host=True).moved(array, move, fields_of) is array
    assert Maybe(Numbers("k")).moved(None, move, fields_of) is None
    assert ListOf(Numbers("k")).moved([array], move, fields_of)[0][0] == "moved"
    assert Several(Numbers("k"), Real()).moved((array, 1.0), move, fields_of) == (("moved", array), 1.0)
    pair = Record("shelf.Pair", {"left": array, "right": array})
    assert Instance("shelf.Pair").moved(pair, move, fields_of).fields["left"][0] == "moved"
    assert Entries({"a": Numbers("k"), "b": Real()}).moved({"a": array, "b": 1.0}, move, fields_of)["a"][0] == "moved"


def test_which_values_hold_rows():
    rows = Numbers("n", rows=True)
    assert rows.holds_rows(np.zeros(2), fields_of)
    assert Maybe(rows).holds_rows(np.zeros(2), fields_of) and not Maybe(rows).holds_rows(None, fields_of)
    assert TupleOf(rows).holds_rows((np.zeros(2),), fields_of) and not TupleOf(rows).holds_rows((), fields_of)
    assert Several(Real(), rows).holds_rows((1.0, np.zeros(2)), fields_of)
    assert Entries({"a": rows}).holds_rows({"a": np.zeros(2)}, fields_of)
    assert not Instance("shelf.Tail").holds_rows(TAIL, fields_of)


def test_the_first_entries_of_each_kind():
    """Where a letter stands for a shorter length, values keep what belongs to the first entries."""
    a = np.arange(12.0).reshape(3, 4)
    assert Numbers("k", "p").first(a, "k", 2).shape == (2, 4)
    assert Numbers("p", "k").first(a, "k", 2).shape == (3, 2)
    assert Numbers("k", "k").first(np.eye(3), "k", 2).shape == (2, 2)
    assert Numbers("p").first(a[0], "k", 2) is not None
    assert Numbers("p", "q").first(a, "k", 1) is a
    assert (Size("k").first(3, "k", 2), Size("p").first(3, "k", 2)) == (2, 3)
    assert (Whole(most="k").first(3, "k", 2), Whole(most="k").first(1, "k", 2), Whole().first(3, "k", 2)) == (2, 1, 3)
    assert Names("k").first(np.array(["a", "b"], dtype=object), "k", 1).tolist() == ["a"]
    assert Maybe(Numbers("k")).first(None, "k", 1) is None
    assert Sometimes(Numbers("k")).first(np.ones(3), "k", 1).shape == (1,)
    assert ListOf(Real(), length="k").first([1.0, 2.0, 3.0], "k", 2) == [1.0, 2.0]
    both = ListOf(Numbers("p#", "k"), length="t").first([a, a.T], "k", 1)
    assert [part.shape for part in both] == [(3, 1), (4, 1)]
    pair = Several(Numbers("k"), Numbers("*")).first((np.ones(3), np.ones(3)), "k", 2)
    assert [len(part) for part in pair] == [2, 3]
    assert Text().first("abc", "k", 1) == "abc"


# ---- What is said of arrays: shape, dtype, sign, order, symmetry, orthonormal rows, indices


def check_array(kind, value, unread=False, **sizes):
    kind.check(value, Inspection(dict, unread, sizes), "it")


QR = np.linalg.qr(np.random.default_rng(0).standard_normal((6, 3)))[0].T
SCATTER = QR @ QR.T + np.ones((3, 3))
ARRAYS = {
    "any": (Numbers("..."), [np.zeros(()), np.zeros((2, 3, 4))], [1.0, [1.0], None, np.array(["a"])]),
    "shape": (Numbers("*", 3), [np.zeros((7, 3))], [np.zeros((3, 7)), np.zeros(3)]),
    "dtype": (Numbers("*"), [np.zeros(2, np.float32)], [np.zeros(2, int), np.zeros(2, bool), np.zeros(2, np.float16)]),
    "bool": (Numbers("*", dtype="bool"), [np.zeros(2, bool)], [np.zeros(2)]),
    "finite": (Numbers("*"), [np.ones(2)], [np.array([1.0, np.nan]), np.array([np.inf, 1.0])]),
    "not finite": (Numbers("*", finite=False), [np.array([np.nan, np.inf])], []),
    "nonnegative": (Numbers("*", sign="nonnegative"), [np.array([0.0, 1.0]), np.zeros(0)], [np.array([1.0, -1e-300])]),
    "positive": (Numbers("*", sign="positive"), [np.array([1e-300])], [np.array([0.0, 1.0])]),
    "positive counts": (Numbers("*", dtype="any", sign="positive"), [np.array([1])], [np.array([0])]),
    "most": (Numbers("*", most=1.0), [np.array([-1.0, 1.0 + 1e-12])], [np.array([-1.1])]),
    "order": (
        Numbers("*", order="descending"),
        [np.array([3.0, 1.0, 1.0 + 1e-12, 0.0]), np.zeros(0), np.ones(1)],
        [np.array([1.0, 2.0])],
    ),
    "orthonormal": (
        Numbers("*", "*", orthonormal="rows"),
        [QR, QR.astype(np.float32), QR[:0], np.eye(3)],
        [2 * QR, QR.T, np.zeros((2, 3)), np.ones((1, 2))],
    ),
    "symmetric": (
        Numbers("*", "*", symmetric=True),
        [SCATTER, np.zeros((2, 2)), SCATTER + np.triu(np.full((3, 3), 1e-13))],
        [SCATTER + np.triu(np.ones((3, 3)), 1), -SCATTER],
    ),
    "sparse": (
        Numbers("*", 3, sparse=True),
        [sparse.csr_array(np.eye(3)), np.eye(3)],
        [sparse.csr_array(np.eye(2)), sparse.csr_array(np.full((1, 3), np.nan))],
    ),
    "dense": (Numbers("*", "*"), [], [sparse.csr_array(np.eye(2))]),
    "indices": (Numbers("*", dtype="int", below="w"), [np.array([0, 3])], [np.array([-1]), np.array([4])]),
}


@pytest.mark.parametrize("name", list(ARRAYS))
def test_arrays(name):
    kind, good, bad = ARRAYS[name]
    for value in good:
        check_array(kind, value, w=4)
    for value in bad:
        with pytest.raises(ValueError, match="it "):
            check_array(kind, value, w=4)


def test_entries_are_not_looked_at_before_they_are_read():
    for value in (np.array([np.nan, -1.0]), np.array([1.0, 2.0])):
        check_array(Numbers("*", sign="positive", order="descending"), value, unread=True)
    with pytest.raises(ValueError, match="it has 2 axes"):
        check_array(Numbers("*"), np.zeros((1, 1)), unread=True)
    with pytest.raises(ValueError, match="it has dtype int64"):
        check_array(Numbers("*"), np.zeros(1, np.int64), unread=True)
