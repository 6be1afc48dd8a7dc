"""Graphs of ONNX that are run, and what they must return: the results of the models themselves, in float64."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import onnxruntime

from lowdim import GCCA
from lowdim._core.arrays import to_numpy


def session(graph: Any) -> Any:
    """onnxruntime with this graph, in one thread and with all its optimisations."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(graph.SerializeToString(), options, providers=["CPUExecutionProvider"])


def run(graph: Any, rows: np.ndarray) -> Any:
    """The outputs of a graph with one input; the output itself if there is only one."""
    running = session(graph)
    found = running.run(None, {running.get_inputs()[0].name: rows})
    return found[0] if len(found) == 1 else found


def expected(model: Any, method: str, rows: np.ndarray, table: int = 0) -> np.ndarray:
    """What the method of the model returns for rows (or scores) of one of its tables."""
    with warnings.catch_warnings():
        # Models of tables with names are given arrays, too.
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        return _expected(model, getattr(model, method), method, np.asarray(rows, dtype=np.float64), table)


def _expected(model: Any, function: Any, method: str, rows: np.ndarray, table: int) -> np.ndarray:
    if isinstance(model, GCCA):
        widths = [model.n_components_ if method == "inverse_transform" else len(mean) for mean in model.means_]
        others = [np.ones((len(rows), width)) for width in widths]
        others[table] = rows
        return np.asarray(function(others)[table])
    if table == 1:
        width = model.n_components_ if method == "inverse_transform" else model.n_features_in_
        return np.asarray(function(np.ones((len(rows), width)), rows)[1])
    return np.asarray(to_numpy(function(rows)))


def error(found: np.ndarray, wanted: np.ndarray) -> float:
    """The largest difference, in units of the largest entry."""
    assert found.shape == wanted.shape
    return float(np.abs(found - wanted).max(initial=0.0) / (np.abs(wanted).max(initial=0.0) or 1.0))
