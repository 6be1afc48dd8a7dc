"""Reads the data sets and R's results in tests/parity/data; the README there gives their sources."""

from __future__ import annotations

import csv
import json
from functools import cache
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

DATA = Path(__file__).parent / "data"
#: Number of columns before the measurements; for gasoline this column is the response, octane.
LABEL_COLUMNS = {
    **dict.fromkeys(["usarrests", "iris", "swiss", "gasoline", "ability_cov", "longley", "lifecyclesavings"], 1),
    "crabs": 3,
}


@cache
def data(name):
    """The measurements of one data set as a read-only float64 array, without labels and responses."""
    if name == "digits":
        X = np.asarray(load_digits().data, dtype=np.float64)  # the same numbers that R read, which the tests check
    else:
        with open(DATA / f"{name}.csv", newline="") as file:
            rows = list(csv.reader(file))[1:]
        cells = [row[LABEL_COLUMNS.get(name, 0) :] for row in rows]
        X = np.array([[np.nan if cell == "NA" else float(cell) for cell in row] for row in cells])
    X.setflags(write=False)
    return X


@cache
def results(name):
    """R's results: the entry `results` of the JSON file, with lists of numbers converted to arrays."""
    with open(DATA / f"{name}.json") as file:
        return _arrays(json.load(file)["results"])


def _arrays(value):
    if isinstance(value, dict):
        return {key: _arrays(item) for key, item in value.items()}
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return [_arrays(item) for item in value]
    if isinstance(value, list) and value and not isinstance(value[0], str):
        return np.array(value, dtype=np.float64)
    return value
