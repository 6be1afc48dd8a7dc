"""Tables for tests of the report, and their analysis."""

import numpy as np
import pandas as pd

from lowdim.reporting.analysis import Analysis, Request
from lowdim.reporting.columns import OpenedTable


def analysis(X, *, labels=None, ids=None, sample_weight=None, supplementary=None, **request):
    """The analysis of a table."""
    opened = OpenedTable(X, labels=labels, ids=ids, sample_weight=sample_weight, supplementary=supplementary)
    return Analysis(opened, Request(**request))


def clusters(n=900, p=6, seed=0):
    """Rows in three groups of different sizes, which differ in the first two columns, and their groups."""
    random = np.random.default_rng(seed)
    codes = random.choice(3, n, p=[0.6, 0.3, 0.1])
    means = np.zeros((3, p))
    means[1, 0], means[2, 1] = 6.0, 5.0
    X = means[codes] + random.standard_normal((n, p)) * np.linspace(2.0, 0.5, p) + np.arange(p)
    return X, np.array(["ash", "beech", "cedar"])[codes]


def pictures(n=300, shape=(6, 9), seed=0):
    """Smooth random pictures, with a frame of zeros on the left."""
    random = np.random.default_rng(seed)
    height, width = shape[:2]
    y, x = np.mgrid[:height, :width]
    rows = np.zeros((n, height, width))
    for _ in range(6):
        cy, cx = random.uniform(0, height, (n, 1, 1)), random.uniform(1, width, (n, 1, 1))
        rows += np.exp(-((y - cy) ** 2 + (x - cx) ** 2) / 3.0)
    rows[:, :, 0] = 0.0
    if len(shape) == 3:
        rows = rows[..., None] * np.array([1.0, 0.7, 0.4]) + 0.1 * random.standard_normal((n, *shape))
        rows[:, :, 0] = 0.0
    return rows.reshape(n, -1)


def named(X):
    """Rows with the names that the report gives to columns without one."""
    return pd.DataFrame(X, columns=[f"x{j + 1}" for j in range(X.shape[1])])
