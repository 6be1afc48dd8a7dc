"""Trees of values and arrays become documents and arrays, and the same trees again."""

import json
import math
import struct

import array_api_strict
import numpy as np
import pytest
from scipy import sparse

from lowdim._core import container

RNG = np.random.default_rng(5)
TREES = {
    "values": {"a": None, "b": True, "c": -3, "d": 10**30, "e": 'ä\ud800\n"\\', "": [], "f": {}, "g": [[[]]]},
    "floats": [0.1, -0.0, 5e-324, 1.7976931348623157e308, 1 / 3, math.inf, -math.inf, math.nan],
    "tuples": (1, (2.5, [("x",)]), ()),
    "keys": {"$array": 1, "a": {"$": {"$tuple": [2]}}},
    "arrays": [np.arange(6.0).reshape(2, 3), np.array(2.5), np.zeros((0, 3)), np.array([True, False])],
    "dtypes": [np.arange(3, dtype=d) for d in ("f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")],
    "orders": [np.asfortranarray(RNG.random((3, 4))), RNG.random((4, 6))[::2, ::3], RNG.random((2, 3, 4)).T],
    "not numbers": np.array([np.nan, np.inf, -0.0]),
    "scalars": [np.float64(0.1), np.float32(0.1), np.int8(-3), np.bool(True), np.uint64(2**64 - 1)],
    "text": [np.array(["a", "long"]), np.array([["ä", ""]], dtype=object), np.array([], dtype="U7"), np.array("x")],
    "sparse": sparse.random_array((5, 4), density=0.4, format="csr", rng=RNG),
    "sparse, long indices": sparse.csr_array(
        (np.ones(2), np.array([0, 3], dtype=np.int64), np.array([0, 1, 2], dtype=np.int64)), shape=(2, 4)
    ),
    "sparse, empty": sparse.csr_array((0, 4)),
    "an array": np.arange(3),
    "names that look the same": {"a.b": np.zeros(2), "a": {"b": np.ones(2)}, "a.b~2": np.full(2, 2.0)},
}


def bits(value):
    """Everything that distinguishes two values: types, orders of keys, and the bits of all numbers."""
    if isinstance(value, dict):
        return "dict", [(key, bits(item)) for key, item in value.items()]
    if isinstance(value, list | tuple):
        return type(value).__name__, [bits(item) for item in value]
    if sparse.issparse(value):
        return type(value).__name__, value.shape, [bits(getattr(value, part)) for part in ("data", "indices", "indptr")]
    if isinstance(value, np.ndarray | np.generic):
        numbers = value.tolist() if value.dtype.kind in "OU" else np.ascontiguousarray(value).tobytes()
        return type(value).__name__, value.dtype.str, value.shape, numbers
    if isinstance(value, float):
        return "float", struct.pack("<d", value)
    return type(value).__name__, value


@pytest.mark.parametrize("name", list(TREES))
def test_a_tree_comes_back_with_every_bit(name):
    document, arrays = container.flatten(TREES[name])
    read = json.loads(json.dumps(document, allow_nan=False))
    assert bits(container.rebuild(read, arrays)) == bits(TREES[name])


def test_arrays_are_not_copied_and_keep_their_order():
    by_column = np.asfortranarray(RNG.random((3, 4)))
    document, arrays = container.flatten({"a": by_column})
    assert np.shares_memory(arrays["a"], by_column)
    assert container.rebuild(document, arrays)["a"].flags.f_contiguous


def test_arrays_are_named_by_their_place():
    _, arrays = container.flatten({"state": {"parts": [np.zeros(1), {"mean": np.zeros(2)}]}})
    assert list(arrays) == ["state.parts.0", "state.parts.1.mean"]


def test_arrays_of_other_namespaces_are_stored_from_the_host():
    document, arrays = container.flatten([array_api_strict.asarray([1.0, 2.0])])
    (found,) = container.rebuild(document, arrays)
    assert type(found) is np.ndarray
    np.testing.assert_array_equal(found, [1.0, 2.0])


class Number(int):
    pass


@pytest.mark.parametrize(
    "value",
    [
        {1: 2},
        {1, 2},
        b"bytes",
        len,
        np.array([1, "a"], dtype=object),
        Number(3),
        np.datetime64("2020-01-01"),
        1j,
    ],
)
def test_what_cannot_be_stored_is_named_with_its_place(value):
    with pytest.raises(TypeError, match=r"^state\.1 is .*which cannot be stored"):
        container.flatten({"state": [0, value]})


ONE = {"a": np.zeros(3)}


@pytest.mark.parametrize(
    ("document", "arrays", "message"),
    [
        ({}, ONE, "does not mention"),
        ({"$array": "b"}, ONE, "mentions the array 'b'"),
        ([{"$array": "a"}, {"$array": "a"}], ONE, "or twice"),
        ({"$array": ["a"]}, ONE, "mentions the array"),
        ({"$array": "a", "transposed": False}, ONE, "transposed"),
        ({"$array": "a", "more": 1}, ONE, "the keys"),
        ({"$array": "a", "$scalar": "a"}, ONE, "the keys"),
        ({"$unknown": 1}, {}, "the keys"),
        ({"$scalar": "a"}, ONE, "must be a number"),
        ({"$float": "1.5"}, {}, "must be one of nan"),
        ({"$float": []}, {}, "must be one of nan"),
        ({"$tuple": {"a": 1}}, {}, "must be a list"),
        ({"$dict": [["a", 1], ["a", 2]]}, {}, "different keys"),
        ({"$dict": [["a"]]}, {}, "pairs"),
        ({"$dict": [[1, 2]]}, {}, "pairs"),
        ({"$text": ["a"], "shape": [2], "dtype": "O"}, {}, "2 entries"),
        ({"$text": [1], "shape": [1], "dtype": "O"}, {}, "entries"),
        ({"$text": ["abc"], "shape": [1], "dtype": "U2"}, {}, "3 characters"),
        ({"$text": ["a"], "shape": [1], "dtype": "U999999999"}, {}, "more memory"),
        ({"$text": ["a" * 10**5, *[""] * 10**5], "shape": [10**5 + 1], "dtype": "U100000"}, {}, "more memory"),
        ({"$text": ["a"], "shape": [1], "dtype": "f8"}, {}, "dtype 'f8'"),
        ({"$text": ["a"], "shape": [-1], "dtype": "O"}, {}, "shape"),
        ({"$text": ["a"], "dtype": "O"}, {}, "must be a list"),
        ({"$csr": [], "shape": [2, 3]}, {}, "data, indices and indptr"),
        ({"$csr": [1, 2, 3], "shape": [2, 3]}, {}, "data, indices and indptr"),
    ],
)
def test_documents_of_other_forms_are_refused(document, arrays, message):
    with pytest.raises(ValueError, match=message):
        container.rebuild(document, arrays)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"shape": [10**15, 4]}, "other lengths"),
        ({"shape": [5, 2]}, "indices|column index"),
        ({"indices": np.zeros(3, dtype=np.int32)}, "other lengths"),
        ({"indices": np.zeros(8)}, "whole numbers"),
        ({"indptr": np.array([0, 9, 1, 2, 3, 8], dtype=np.int32)}, "indptr|non-decreasing"),
        ({"indices": np.full(8, -1, dtype=np.int32)}, "indices|column index"),
    ],
)
def test_sparse_arrays_that_contradict_themselves_are_refused(change, message):
    document, arrays = container.flatten(sparse.random_array((5, 4), density=0.4, format="csr", rng=RNG))
    document |= {name: value for name, value in change.items() if name == "shape"}
    arrays |= {name: value for name, value in change.items() if name != "shape"}
    with pytest.raises(ValueError, match=message):
        container.rebuild(document, arrays)


def test_declared_arrays_have_the_shape_and_the_dtype_but_take_no_memory():
    document = {"a": {"$array": "a", "transposed": True}, "b": {"$scalar": "b"}}
    layout = {"a": ((10**7, 10**7), np.dtype("f8")), "b": ((), np.dtype("i4"))}
    tree = container.declared(document, layout)
    assert (tree["a"].shape, tree["a"].dtype) == layout["a"]
    assert tree["b"] == 1
    rows = sparse.random_array((5, 4), density=0.4, format="csr", dtype=np.float32, rng=RNG)
    document, arrays = container.flatten(rows)
    found = container.declared(document, {name: (a.shape, a.dtype) for name, a in arrays.items()})
    assert (found.shape, found.dtype, found.nnz) == ((5, 4), np.float32, 0)
