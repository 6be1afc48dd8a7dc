"""Faults of a cluster of Spark, on real executors: `tests/spark_faults.py` says what each check is.

Two tests, so that two clusters are started, which may run at the same time.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import spark_faults
from spark_process import run_with_spark


@pytest.mark.parametrize(
    "checks",
    [["killed"], ["slow", "bad entries", "text", "interrupted", "memory", "versions"]],
    ids=["executors are killed", "other faults"],
)
def test_a_cluster(tmp_path, checks):
    if not Path("/proc/self/stat").exists():
        pytest.skip("executors are found in /proc, which only Linux has")
    assert run_with_spark(spark_faults.__file__, tmp_path, *checks, folder=tmp_path) == checks
