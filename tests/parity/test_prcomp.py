"""PCA against R's prcomp and princomp on real data: every number of the stored results.

Tolerances. R takes singular values of the rows, so its lambda_j is good to eps sqrt(lambda_1 / lambda_j). The
triangle solver is as good; the covariance and Gram matrices are rounded at eps lambda_1, so there lambda_j is
good to eps lambda_1 / lambda_j. The last eigenvalue of gasoline that is more than noise is 6e5 times smaller
than the first: 7e-9 by that rule.
"""

from itertools import product

import numpy as np
import pytest

from examples import FINDS_ALL
from lowdim import PCA
from oracles import matched, signed, tolerance, vector_condition
from parity.reference import data, results

EXACT_SOLVERS = ["auto", *FINDS_ALL]
SETS = ["usarrests", "swiss", "iris", "gasoline", "digits"]


def cases():
    """(data set, "centred" or "centred_scaled", solver). Gram is for few rows: not for the 1797 of digits."""
    triples = product(SETS, ["centred", "centred_scaled"], EXACT_SOLVERS)
    left_out = {("digits", "centred", "gram")}
    left_out |= {("digits", "centred_scaled", solver) for solver in EXACT_SOLVERS}  # R refuses constant columns
    return [triple for triple in triples if triple not in left_out]


each_case = pytest.mark.parametrize(("name", "kind", "solver"), cases())


def expected(name, kind):
    """R's results, and how many of its eigenvalues are more than rounding noise."""
    r = results(f"prcomp_{name}")[kind]
    rank = {"gasoline": 59, "digits": 61}.get(name, len(r["variance"]))
    return r, rank


def value_condition(r, rank, solver):
    """How lambda_1 .. lambda_rank magnify a rounding error, by the solver used; see the top of this file."""
    spread = r["variance"][0] / r["variance"][:rank]
    return np.sqrt(spread) if solver == "triangle" else spread


def fitted(name, kind, solver, **options):
    return PCA(scale=kind == "centred_scaled", solver=solver, **options).fit(data(name))


@pytest.mark.parametrize("name", SETS)
def test_the_data_are_those_r_read(name):
    X, (r, _) = data(name), expected(name, "centred")
    assert X.shape == (r["n"], r["p"])
    np.testing.assert_allclose(X.mean(axis=0), r["center"], rtol=tolerance(), atol=tolerance())


@each_case
def test_variances(name, kind, solver):
    r, rank = expected(name, kind)
    pca = fitted(name, kind, solver)
    rtol = tolerance(condition=value_condition(r, rank, solver))
    error = np.abs(pca.explained_variance_[:rank] / r["variance"][:rank] - 1)
    assert np.all(error <= rtol), f"worst {error.max():.1e}"
    error = np.abs(pca.explained_variance_ratio_[:rank] / r["variance_ratio"][:rank] - 1)
    assert np.all(error <= rtol), f"worst {error.max():.1e}"
    # sdev as R gives it; the singular values of the centred rows are sqrt(n - 1) times that.
    error = np.abs(pca.singular_values_[:rank] / np.sqrt(r["n"] - 1) / r["sdev"][:rank] - 1)
    assert np.all(error <= rtol), f"worst {error.max():.1e}"


@each_case
def test_what_r_calls_noise_is_zero(name, kind, solver):
    r, rank = expected(name, kind)
    pca = fitted(name, kind, solver)
    noise = pca.explained_variance_[rank:]
    assert np.all(noise >= 0)
    assert np.all(noise <= tolerance() * r["variance"][0])


@each_case
def test_total_variance(name, kind, solver):
    """The ratio is of ALL the variance, so any kept share gives the total back."""
    r, _ = expected(name, kind)
    pca = fitted(name, kind, solver, n_components=3)
    total = pca.explained_variance_ / pca.explained_variance_ratio_
    np.testing.assert_allclose(total, r["total_variance"], rtol=tolerance())


@each_case
def test_mean_and_scale(name, kind, solver):
    r, _ = expected(name, kind)
    pca = fitted(name, kind, solver, n_components=2)
    np.testing.assert_allclose(pca.mean_, r["center"], rtol=tolerance(), atol=tolerance())
    if r["scale"] is not None:
        np.testing.assert_allclose(pca.scale_, r["scale"], rtol=tolerance())


@each_case
def test_rotation_up_to_sign(name, kind, solver):
    r, _ = expected(name, kind)
    k = r["components_stored"]
    pca = fitted(name, kind, solver, n_components=k)
    error = np.linalg.norm(matched(r["rotation"].T, pca.components_) - pca.components_, axis=1)
    allowed = tolerance(condition=vector_condition(r["variance"], k))
    assert np.all(error <= allowed), f"worst {error.max():.1e}"
    np.testing.assert_array_equal(pca.components_, signed(pca.components_))


@each_case
def test_scores_up_to_sign(name, kind, solver):
    r, _ = expected(name, kind)
    k, rows = r["components_stored"], r["score_rows_stored"]
    pca = fitted(name, kind, solver, n_components=k)
    scores = pca.transform(data(name)[:rows])
    flipped = matched(r["scores"].T, scores.T).T
    # A component turned by an angle moves a score by that angle times the length of the row.
    length = np.linalg.norm(r["scores"], axis=1).max()
    allowed = length * tolerance(condition=vector_condition(r["variance"], k))
    assert np.all(np.abs(flipped - scores) <= allowed)


@pytest.mark.parametrize("solver", EXACT_SOLVERS)
@pytest.mark.parametrize("kind", ["centred", "centred_scaled"])
@pytest.mark.parametrize("name", ["usarrests", "swiss", "iris"])
def test_princomp_divides_by_n(name, kind, solver):
    r, rank = expected(name, kind)
    pca = fitted(name, kind, solver, ddof=0)
    error = np.abs(np.sqrt(pca.explained_variance_) / r["princomp_sdev_divisor_n"] - 1)
    assert np.all(error <= tolerance(condition=value_condition(r, rank, solver))), f"worst {error.max():.1e}"


def test_princomp_divides_by_n_on_digits():
    r, rank = expected("digits", "centred")
    pca = fitted("digits", "centred", "auto", ddof=0)
    error = np.abs(np.sqrt(pca.explained_variance_[:rank]) / r["princomp_sdev_divisor_n"][:rank] - 1)
    assert np.all(error <= tolerance(condition=value_condition(r, rank, "auto"))), f"worst {error.max():.1e}"


def test_constant_pixels_carry_no_weight():
    constant = results("prcomp_digits")["constant_columns_zero_based"].astype(int)
    pca = fitted("digits", "centred", "auto", n_components=20)
    assert np.abs(pca.components_[:, constant]).max() <= tolerance()


@pytest.mark.parametrize(
    ("kind", "ddof", "sdev"),
    [
        # Printed in R's own recorded output of example(princomp).
        ("centred", 0, [82.890847, 14.069560, 6.424204, 2.457837]),
        ("centred_scaled", 1, [1.5748783, 0.9948694, 0.5971291, 0.4164494]),
    ],
)
def test_numbers_printed_by_r(kind, ddof, sdev):
    pca = fitted("usarrests", kind, "auto", ddof=ddof)
    decimals = 6 if kind == "centred" else 7
    np.testing.assert_array_equal(np.round(np.sqrt(pca.explained_variance_), decimals), sdev)
