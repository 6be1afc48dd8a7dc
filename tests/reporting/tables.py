"""Tables for tests of the report, their reports, and what these show.

Tests of sections read what `lowdim.report` returns. Only this file and `conftest.py` know how a report is put together,
to make single sections; `analysis` is for tests of what the sections are computed from.
"""

import os
import tempfile
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest

import lowdim
from lowdim.reporting import build
from lowdim.reporting.analysis import Analysis, ReportOptions
from lowdim.reporting.columns import OpenedTable


@contextmanager
def only(*keys):
    """Reports have only the sections with these keys, and the last one, which takes most of their time away."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("SECTIONS", "MIXED_SECTIONS"):
            every = getattr(build, name)
            patch.setattr(build, name, {key: every[key] for key in keys if key in every})
        yield


def report_of(X, *keys, **options):
    """What `lowdim.report` returns, with only the sections with these keys. Its file is empty, and removed."""
    with only(*keys), pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setattr(build, "render", lambda document: "")
        return lowdim.report(X, os.path.join(folder, "report.html"), **options)


def section_of(X, key, **options):
    """One section of the report of a table; None if it has nothing to say of it."""
    return {section.key: section for section in report_of(X, key, **options).sections}.get(key)


# What a section shows.


def prose(section):
    """The paragraphs of a section, one in each line."""
    return "\n".join(block.text for block in section.blocks if hasattr(block, "text"))


def listings(section):
    """The tables that a section shows as such."""
    return [block.table for block in section.blocks if hasattr(block, "shown")]


def menus(section):
    """The menus of a section, each a dictionary of charts, by their keys."""
    return {block.key: dict(block.charts) for block in section.blocks if hasattr(block, "charts")}


def charts(section):
    """All charts of a section, also those of its menus, by their keys."""
    found = [block for block in section.blocks if hasattr(block, "data")]
    found += [chart for menu in menus(section).values() for chart in menu.values()]
    return {chart.key: chart for chart in found}


def values(section):
    """The values of the chart with controls of a section."""
    (found,) = (block.values for block in section.blocks if hasattr(block, "values"))
    return found


def analysis(X, *, hue=None, labels=None, sample_weight=None, supplementary=None, **request):
    """The analysis of a table."""
    opened = OpenedTable(X, hue=hue, labels=labels, sample_weight=sample_weight, supplementary=supplementary)
    return Analysis(opened, ReportOptions(**request))


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
