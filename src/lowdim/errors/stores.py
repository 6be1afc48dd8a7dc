"""The builders of messages about arrays in files: NPY, Zarr and HDF5."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .messages import list_names


def array_is_no_table(place: str, shape: tuple[int, ...]) -> ValueError:
    """The error for a stored array that does not have two axes, or has no entries."""
    if 0 in shape:
        return ValueError(f"{place}: the array has shape {shape} and so no entries; at least one row is needed.")
    one = " If these are the values of one column, store them as shape (n, 1)." if len(shape) == 1 else ""
    axes = "one axis" if len(shape) == 1 else f"{len(shape)} axes"
    return ValueError(
        f"{place}: the array has shape {shape}, that is {axes}, and rows need two: (rows, columns).{one} Or load it, "
        "reshape it, and pass the array."
    )


def array_without_numbers(place: str, dtype: Any) -> ValueError:
    """The error for a stored array of strings, dates, complex numbers or records."""
    fields = getattr(dtype, "names", None)
    advice = (
        f"Of records with the fields {list_names(fields)}, pass pandas.DataFrame(array), or convert them with "
        "numpy.lib.recfunctions.structured_to_unstructured"
        if fields
        else "Convert the array and store it again, or load it and pass the numbers in it"
    )
    return ValueError(
        f"{place}: the array has dtype {dtype}; rows are real numbers (floats, integers or booleans). {advice}."
    )


def objects_in_npy(place: str) -> ValueError:
    """The error for a .npy file of Python objects, which is a pickle and so is never opened."""
    return ValueError(
        f"{place}: the file holds Python objects, which are pickled and are not read, since that can run any code. If "
        "you trust the file, load it with numpy.load(path, allow_pickle=True) and save it as numbers."
    )


def other_store_width(place: str, width: int, first: str, expected: int) -> ValueError:
    """The error for one array of several that has another number of columns."""
    return ValueError(
        f"{place}: the array has {width} columns, and that of {first} has {expected}. The arrays are read one below "
        "the other, so all must have the same columns."
    )


def which_array(path: Any, found: Sequence[str], example: str) -> ValueError:
    """The error for a store that holds no table, or several."""
    if not found:
        return ValueError(f"{path} holds no array with two axes (rows, columns), so there are no rows to read.")
    return ValueError(
        f"{path} holds {len(found)} arrays with two axes: {', '.join(found[:20])}. Say which one to read: "
        f"{path}::{example}."
    )


def no_such_array(path: Any, name: str, found: Sequence[str]) -> ValueError:
    """The error for an array that a store does not hold."""
    there = f"It holds: {', '.join(found[:20])}" if found else "It holds no array with two axes"
    return ValueError(f"{path} holds no array {name!r}. {there}.")


def inside_store(path: Any, store: str, name: str) -> ValueError:
    """The error for a path that goes on with a slash behind the name of a store."""
    return ValueError(f"{path} is inside of a store: name an array in it behind two colons, as in '{store}::{name}'.")


def missing_chunks(place: str, first: str, missing: int, of: int, fill: Any, accept: str) -> ValueError:
    """The error for chunks that a store does not hold, and that would be read as its fill value."""
    return ValueError(
        f"{place}: {missing} of {of} chunks are not stored, the first of them {first}. They would be read as the fill "
        f"value {fill}, and nothing tells whether they are lost or were left out because they are equal to it. If they "
        f"were left out, accept them by opening the array yourself: {accept}."
    )


def names_of_array_columns(argument: str, got: Any) -> TypeError:
    """The error for column names or patterns where columns have no names."""
    return TypeError(
        f"{argument}={got!r}: the columns of arrays (NPY, Zarr, HDF5) have no names; pass their numbers, counted from "
        "0: an integer, a list of integers, a range or a slice."
    )


def array_columns_out_of_range(argument: str, got: Any, p: int) -> ValueError:
    """The error for numbers of columns that an array does not have, or that are given twice."""
    return ValueError(f"{argument}={got!r} must be different numbers from 0 to {p - 1} (or -{p} to -1), at least one.")


def virtual_dataset(place: str) -> ValueError:
    """The error for a virtual dataset, whose parts are in other files."""
    return ValueError(
        f"{place} is a virtual dataset: where a file with a part of it is missing, HDF5 reads the fill value without "
        "an error. Read the files with the parts, or accept this and open the dataset yourself: "
        "fit(h5py.File(path)[name])."
    )
