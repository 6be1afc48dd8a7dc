"""Three sites, each in a process of its own with its own files, and one that merges their summaries and fits."""

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import lowdim
from lowdim import CCA, PCA, PPCA, FactorAnalysis, PLSRegression
from lowdim.summaries import Moments

NAMES = ["a", "b", "c", "d", "u", "v"]
RNG = np.random.default_rng(0)
ROWS = pd.DataFrame(
    RNG.standard_normal((1500, 3)) @ RNG.standard_normal((3, 6)) + 0.4 * RNG.standard_normal((1500, 6)) + 100.0,
    columns=NAMES,
)
#: What a site runs. It has columns of text and identifiers as well, which it keeps to itself.
SITE = """
import sys
import lowdim
from lowdim import scan
from lowdim.reading import summarize
from lowdim.summaries import Moments
rows = scan(sys.argv[1], columns=["a", "b", "c", "d", "u", "v"])
lowdim.save(summarize(rows, Moments(6, widths=(4, 2))), sys.argv[2], min_rows=100)
"""


@pytest.fixture(scope="module")
def summaries(tmp_path_factory):
    """The files that the sites write, with 300, 500 and 700 rows."""
    folder = tmp_path_factory.mktemp("sites")
    running = []
    for i, part in enumerate((ROWS[:300], ROWS[300:800], ROWS[800:])):
        site = folder / f"site{i}"
        site.mkdir()
        part = part.assign(name=[f"person {j}" for j in part.index])[["name", *reversed(NAMES)]]
        half = len(part) // 2
        if i == 0:
            part.to_csv(site / "all.csv", index=False)
        else:
            part[:half].to_parquet(site / "0.parquet")
            part[half:].to_parquet(site / "1.parquet")
        command = [sys.executable, "-c", SITE, site, folder / f"{i}.summary"]
        running.append(subprocess.Popen(command, stderr=subprocess.PIPE, env=dict(os.environ)))
    for process in running:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors.decode()
    return [folder / f"{i}.summary" for i in range(3)]


def merged(paths):
    total, *others = map(lowdim.load, paths)
    for other in others:
        total.merge(other)
    return total


def test_the_summary_is_that_of_all_rows(summaries):
    total = merged(summaries)
    assert (total.n_rows, total.names, total.widths) == (1500, tuple(NAMES), (4, 2))
    np.testing.assert_allclose(total.mean, ROWS.mean(), rtol=1e-13)
    np.testing.assert_allclose(total.covariance(), np.cov(ROWS.T), rtol=1e-10)


def test_the_files_are_small_and_hold_no_rows(summaries):
    for path in summaries:
        assert path.stat().st_size < 4000
        assert not lowdim.files.header(path)["holds_rows"]
        assert b"person" not in path.read_bytes()


@pytest.mark.parametrize(
    ("model", "attribute"),
    [
        (PCA(2), "components_"),
        (PPCA(2), "noise_variance_"),
        (FactorAnalysis(2), "noise_variance_"),
    ],
    ids=["PCA", "PPCA", "FactorAnalysis"],
)
@pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")
def test_models_of_one_table(model, attribute, summaries):
    expected = getattr(model.fit(ROWS), attribute)
    found = model.fit_summary(merged(summaries))
    np.testing.assert_allclose(getattr(found, attribute), expected, rtol=0, atol=1e-7)
    assert list(found.feature_names_in_) == NAMES


@pytest.mark.parametrize(
    ("model", "attribute"), [(CCA(2), "correlations_"), (PLSRegression(2), "coef_")], ids=["CCA", "PLS"]
)
def test_models_of_two_tables(model, attribute, summaries):
    expected = getattr(model.fit(ROWS[NAMES[:4]], ROWS[NAMES[4:]]), attribute)
    found = model.fit_summary(merged(summaries))
    np.testing.assert_allclose(getattr(found, attribute), expected, rtol=0, atol=1e-10)
    assert list(found.feature_names_in_) == NAMES[:4]
    assert list(found.target_names_in_) == NAMES[4:]


def test_a_site_with_other_columns_is_refused(summaries):
    other = lowdim.reading.summarize(ROWS.rename(columns={"d": "D"}), Moments(6, widths=(4, 2)))
    total = merged(summaries)
    with pytest.raises(ValueError, match="missing: 'd'; not expected: 'D'"):
        total.merge(other)
    with pytest.raises(ValueError, match="another order, where column 0 is 'v' instead of 'a'"):
        total.merge(lowdim.reading.summarize(ROWS[NAMES[::-1]], Moments(6, widths=(4, 2))))
    assert total.n_rows == 1500
