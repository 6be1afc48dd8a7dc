"""The builders of messages about models that are written as graphs of ONNX."""

from __future__ import annotations

from typing import Any


def not_in_onnx(what: str, why: str, instead: str) -> TypeError:
    """The error for something that a graph cannot express; `instead` says what to do."""
    return TypeError(f"{what} cannot be written as a graph of ONNX: {why}. {instead}")


def beyond_onnx_arithmetic(dtype: Any) -> ValueError:
    """The error for numbers of a model that the dtype of the computations cannot hold."""
    return ValueError(
        f"numbers of this model are out of the range of {dtype}. Pass arithmetic='float64', or fit the model to rows "
        "in other units."
    )


def bad_opset(opset: Any, lowest: int, highest: int) -> ValueError:
    """The error for a version of the operators of ONNX that is not known."""
    return ValueError(
        f"opset={opset!r} must be a whole number from {lowest} to {highest}, the versions that the graphs of lowdim "
        "and the installed onnx know."
    )


def no_such_table(model: str, table: Any, n_tables: int) -> ValueError:
    """The error for the number of a table that the model was not fitted to."""
    known = "it was fitted to one table, number 0" if n_tables == 1 else f"its tables are numbers 0 to {n_tables - 1}"
    return ValueError(f"{model} has no table {table!r}: {known}.")


def wrong_onnx_inputs(model: str, width: int, got: str) -> ValueError:
    """The error for a step of a pipeline whose inputs are not those of its fit."""
    return ValueError(
        f"{model} takes {width} columns of numbers, and {got}. Give skl2onnx the types of the rows of the fit, such as "
        f"FloatTensorType([None, {width}]) if it is the first step."
    )


def too_large_for_onnx(n_bytes: int, limit: int) -> ValueError:
    """The error for constants that do not fit into one message of the format."""
    return ValueError(
        f"the graph would hold more than {n_bytes / 2**30:.3g} GiB of numbers, and ONNX allows {limit / 2**30:.3g} GiB "
        "in one file. For kernels, use landmarks: solver=Nystrom(landmarks=1000). Otherwise keep fewer components, or "
        "pass arithmetic='float32'."
    )
