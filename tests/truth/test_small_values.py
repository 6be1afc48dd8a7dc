"""Rows at the lower end of the range of numbers: the same model as in other units, or an error that says so.

The oracle is the fit to the rows in usual units. The unit is a power of two, so that it changes no digit.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from examples import MODELS, WIDE, WIDE_Y, X, Y, make, tables
from inputs import with_missing
from lowdim import (
    PCA,
    PCR,
    PPCA,
    FactorAnalysis,
    FeatureMapPCA,
    KernelCCA,
    KernelPCA,
    PLSRegression,
    Whitening,
    choose_n_components,
    cross_validate,
)
from lowdim.kernels import Gaussian, Laplacian, Matern
from lowdim.reading import summarize
from lowdim.summaries import Moments, Triangle
from oracles import tolerance

TOO_SMALL = "too small for their squares to be represented"
#: 2^-505 is 1e-152, whose square is a normal number. Squares of 2^-540 have three digits, those of 2^-565 are zero.
SMALL, SMALLER = 2.0**-505, (2.0**-520, 2.0**-540, 2.0**-565, 2.0**-700)
SHAPES = {"tall": (X, Y), "wide": (WIDE, WIDE_Y)}
#: Products of entries are smaller than the entries, and kernels know their own units: these are tested below.
OTHERS = ("FeatureMapPCA", "KernelPCA", "KernelCCA")
CASES = [(name, solver) for name, row in MODELS.items() for solver in row.solvers if name not in OTHERS]
STANDARDIZED = [
    PCA(2, scale=True),
    PCA(2, scale=True, solver="gram"),
    PCA(2, scale=True, solver="triangle"),
    PCA(2, scale=True, solver="krylov"),
    Whitening("zca-cor", regularization=0.1),
    PPCA(2, scale=True),
    FactorAnalysis(2),
]


def unit_free(model):
    """What does not depend on the unit of X."""
    found = {}
    for name in ("explained_variance_ratio_", "y_explained_variance_ratio_", "correlations_", "eigenvalues_"):
        if hasattr(model, name):
            values = np.abs(np.asarray(getattr(model, name)))
            found[name] = values / values.max() if name == "eigenvalues_" else values
    for name in ("components_", "x_rotations_"):
        if hasattr(model, name):
            vectors = np.abs(np.asarray(getattr(model, name), dtype=float))
            found[name] = vectors / vectors.max()
    return found


def options_of(name, shape):
    return MODELS[name].wide_options if shape == "wide" else {}


@cache
def usual(name, solver, shape, dtype):
    given = (table.astype(dtype) for table in tables(name, *SHAPES[shape]))
    return unit_free(make(name, solver=solver, **options_of(name, shape)).fit(*given))


def fitted(name, solver, shape, unit, dtype="float64"):
    x, y = SHAPES[shape]
    given = tables(name, (x * unit).astype(dtype), y.astype(dtype))
    return make(name, solver=solver, **options_of(name, shape)).fit(*given)


def assert_same(found, expected, atol):
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, atol=atol, err_msg=name)


@pytest.mark.parametrize("shape", list(SHAPES))
@pytest.mark.parametrize(("name", "solver"), CASES)
@pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")
def test_small_values_are_taken_and_smaller_ones_refused(name, solver, shape):
    assert_same(unit_free(fitted(name, solver, shape, SMALL)), usual(name, solver, shape, "float64"), 1e-6)
    for unit in SMALLER:
        with pytest.raises(ValueError, match=TOO_SMALL):
            fitted(name, solver, shape, unit)


@pytest.mark.parametrize("shape", list(SHAPES))
@pytest.mark.parametrize(("name", "solver"), CASES)
@pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")
def test_float32_rows_are_summed_in_float64_where_their_squares_vanish(name, solver, shape):
    """2^-100 is 1e-30; y is a second table of another scale."""
    found = unit_free(fitted(name, solver, shape, 2.0**-100, "float32"))
    assert_same(found, usual(name, solver, shape, "float32"), 5e-3)


@pytest.mark.parametrize("model", STANDARDIZED, ids=str)
def test_a_small_column_among_others(model):
    """It has to be divided by its deviation, which is lost. Without that, it is as good as zero beside the others."""
    rows = X.copy()
    rows[:, 3] *= 2.0**-565
    with pytest.raises(ValueError, match=TOO_SMALL):
        model.fit(rows)
    if getattr(model, "solver", "") != "gram":
        with pytest.raises(ValueError, match="the variance of column 3 is below"):
            model.fit(rows)
    without = rows.copy()
    without[:, 3] = 0.0
    plain = PCA(2).fit(rows)
    np.testing.assert_array_equal(plain.explained_variance_, PCA(2).fit(without).explained_variance_)


@pytest.mark.parametrize("constant", [0.0, 7.0, 1e-100, 0.1 + 1e-17])
@pytest.mark.parametrize("model", STANDARDIZED, ids=str)
@pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")
def test_constant_columns_are_not_too_small(model, constant):
    """They have no part in the model, whatever the constant is."""
    rows = X.copy()
    rows[:, 3] = constant
    fitted = clone(model).fit(rows)
    rows[:, 3] = 5.0
    expected = clone(model).fit(rows)
    np.testing.assert_allclose(fitted.components_, expected.components_, atol=1e-8)


@pytest.mark.parametrize(
    "make_rows", [sparse.csr_array, sparse.csc_array, lambda A: [A[:7], A[7:]], lambda A: iter([A])]
)
def test_every_kind_of_rows(make_rows):
    with pytest.raises(ValueError, match=TOO_SMALL):
        PCA(2).fit(make_rows(X * 2.0**-540))


@pytest.mark.parametrize("kind", [Moments, Triangle])
def test_summaries_and_streams(kind):
    for unit in SMALLER:
        with pytest.raises(ValueError, match=TOO_SMALL):
            PCA(2).fit_summary(summarize(X * unit, kind))
        with pytest.raises(ValueError, match=TOO_SMALL):
            PPCA(2, solver="em").fit_summary(summarize(X * unit, kind))
    with pytest.raises(ValueError, match=TOO_SMALL):
        PCA(2).partial_fit(X * 2.0**-540)
    # Rows that are as good as zero beside later ones do no harm.
    model = PCA(2).fit([X[:40] * 2.0**-565, X[40:]])
    np.testing.assert_allclose(
        model.explained_variance_, PCA(2).fit(np.vstack([0 * X[:40], X[40:]])).explained_variance_, rtol=1e-12
    )


def test_rules_and_cross_validation():
    for unit in SMALLER:
        with pytest.raises(ValueError, match=TOO_SMALL):
            choose_n_components(X * unit, "bic")
        with pytest.raises(ValueError, match=TOO_SMALL):
            cross_validate(PCA(), X * unit, n_components=[1, 2])
        with pytest.raises(ValueError, match=TOO_SMALL):
            cross_validate(PLSRegression(), X * unit, Y, n_components=[1, 2])


@pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")
@pytest.mark.parametrize("model", [PPCA(2), FactorAnalysis(1), PPCA(2, scale=True)], ids=str)
def test_rows_with_missing_entries(model):
    incomplete = with_missing(X, 0.1)
    unit = 1.0 if model.scale else SMALL
    expected, found = (clone(model).fit(rows).loadings_ for rows in (incomplete, incomplete * SMALL))
    np.testing.assert_allclose(found / unit, expected, atol=1e-3 * np.abs(expected).max())
    for unit in SMALLER:
        with pytest.raises(ValueError, match=TOO_SMALL):
            clone(model).fit(incomplete * unit)


def test_responses_too():
    with pytest.raises(ValueError, match="Input y holds values too small"):
        PCR(2).fit(X, Y * 2.0**-540)


def test_weights_count():
    """Variances are what must be represented, and the squares that they are computed from."""
    heavy = PCA(2).fit(X * 2.0**-450, sample_weight=np.full(len(X), 1e60))
    assert_same(unit_free(heavy), unit_free(PCA(2).fit(X)), tolerance(condition=1e3))
    with pytest.raises(ValueError, match=TOO_SMALL):
        PCA(2).fit(X * 2.0**-540, sample_weight=np.full(len(X), 1e60))


# ---- Features and kernels


@pytest.mark.parametrize("solver", MODELS["FeatureMapPCA"].solvers)
def test_products_of_entries(solver):
    expected = unit_free(FeatureMapPCA(2, solver=solver).fit(X))
    assert_same(unit_free(FeatureMapPCA(2, solver=solver).fit(X * 2.0**-250)), expected, 1e-6)
    for unit in (2.0**-260, 2.0**-400, *SMALLER):
        with pytest.raises(ValueError, match=TOO_SMALL):
            FeatureMapPCA(2, solver=solver).fit(X * unit)
    for unit in (2.0**-75, 2.0**-80, 2.0**-100):
        with pytest.raises(ValueError, match=TOO_SMALL):
            FeatureMapPCA(2, solver=solver).fit((X * unit).astype(np.float32))
    assert FeatureMapPCA(1, solver=solver).fit(np.zeros((5, 2))).explained_variance_[0] == 0.0


@pytest.mark.parametrize("kernel", ["linear", "rbf", "matern"])
@pytest.mark.parametrize("shape", list(SHAPES))
def test_kernels_of_squares(kernel, shape):
    rows = SHAPES[shape][0]
    expected = unit_free(KernelPCA(2, kernel=kernel, solver="dense").fit(rows))
    assert_same(unit_free(KernelPCA(2, kernel=kernel, solver="dense").fit(rows * SMALL)), expected, 1e-6)
    narrow = (rows * 2.0**-100).astype(np.float32)
    assert_same(unit_free(KernelPCA(2, kernel=kernel, solver="dense").fit(narrow)), expected, 1e-3)
    for unit in SMALLER:
        with pytest.raises(ValueError, match=f"{TOO_SMALL}|no eigenvalue of the centred kernel matrix is positive"):
            KernelPCA(2, kernel=kernel, solver="dense").fit(rows * unit)


@pytest.mark.parametrize(("dtype", "units"), [("float64", (2.0**-565, 2.0**520)), ("float32", (2.0**-80, 2.0**70))])
@pytest.mark.parametrize("solver", ["dense", "krylov", "nystrom", "features"])
@pytest.mark.parametrize("stored", [np.asarray, sparse.csr_array])
def test_directions_of_rows_have_no_unit(solver, dtype, units, stored):
    rows = X.astype(dtype)
    expected = unit_free(KernelPCA(2, kernel="cosine", solver=solver, random_state=0).fit(stored(rows)))
    for unit in units:
        model = KernelPCA(2, kernel="cosine", solver=solver, random_state=0).fit(stored(rows * rows.dtype.type(unit)))
        assert_same(unit_free(model), expected, 1e-9 if dtype == "float64" else 1e-4)


def test_landmarks_whose_kernels_vanish_in_float32():
    for unit in (2.0**-70, 2.0**-75, 2.0**-80):
        with pytest.raises(ValueError, match=f"{TOO_SMALL}|no eigenvalue of the kernel matrix"):
            KernelPCA(2, kernel="linear", solver="nystrom").fit(((X - 3.0) * unit).astype(np.float32))


def test_kernels_of_two_tables():
    # The penalty of the linear kernel has the unit of the rows squared, so that kernel is compared without it.
    for options in ({"kernel": "rbf"}, {"kernel": "linear", "regularization": 0.0}):
        expected = KernelCCA(2, **options).fit(X, Y).correlations_
        np.testing.assert_allclose(KernelCCA(2, **options).fit(X * SMALL, Y).correlations_, expected, rtol=1e-6)
        narrow = KernelCCA(2, **options).fit((X * 2.0**-100).astype(np.float32), Y)
        np.testing.assert_allclose(narrow.correlations_, expected, rtol=1e-3)
    for unit in SMALLER:
        for kernel in ("rbf", "linear"):
            with pytest.raises(ValueError, match=TOO_SMALL):
                KernelCCA(2, kernel=kernel).fit(X * unit, Y)


@pytest.mark.parametrize("kernel", [Gaussian(), Matern(), Laplacian()], ids=str)
def test_widths_do_not_depend_on_the_unit_of_the_weights(kernel):
    weights = np.random.default_rng(3).integers(1, 5, len(X)).astype(float)
    for unit in (2.0**600, 2.0**1000, 2.0**-600):
        assert kernel.fitted(X, weights * unit) == kernel.fitted(X, weights)


# ---- Fourth powers


def test_fourth_powers():
    shrunk = Whitening(regularization="ledoit-wolf").fit(X).shrinkage_
    assert Whitening(regularization="ledoit-wolf").fit(X * 2.0**-250).shrinkage_ == pytest.approx(shrunk, rel=1e-9)
    for unit in (2.0**-265, 2.0**-270, 2.0**-400):
        with pytest.raises(ValueError, match="fourth powers underflow"):
            Whitening(regularization="ledoit-wolf").fit(X * unit)
    with pytest.raises(ValueError, match=r"too large for their fourth powers to be represented: .*e\+\d+ in column"):
        Whitening(regularization="ledoit-wolf").fit(X * 1e100)
