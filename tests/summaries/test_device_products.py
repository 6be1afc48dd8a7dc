"""Products of rows that are not NumPy's, as those on a device: of tall matrices, and of samples over features."""

from __future__ import annotations

import numpy as np
import pytest

from lowdim import PCA
from lowdim.reading import summarize
from lowdim.summaries import Gram
from lowdim.summaries import device as device_products

RNG = np.random.default_rng(5)
#: Twelve samples of 3000 features.
SAMPLES = RNG.standard_normal((12, 4)) @ RNG.standard_normal((4, 3000)) + 0.3 * RNG.standard_normal((12, 3000))
#: Samples for which products about zero have all digits, lose some, or lose all.
HARD = {
    "near zero": SAMPLES,
    "one deviation away": SAMPLES + 2.0,
    "far from zero": SAMPLES + 1e4,
    "some features far from zero": SAMPLES + np.where(np.arange(3000) % 100 == 0, 1e4, 0.0),
    "constant features": np.where(np.arange(3000) % 3 == 0, 7.3, SAMPLES),
}


def exact(samples, weights=None):
    """Inner products about the weighted mean, times the roots of the weights, in extended precision."""
    samples = samples.astype(np.longdouble)
    w = np.ones(len(samples), np.longdouble) if weights is None else weights.astype(np.longdouble)
    Z = (samples - w @ samples / w.sum()) * np.sqrt(w)[:, None]
    return (Z @ Z.T).astype(np.float64)


@pytest.mark.parametrize("n", [1, 1024, 2048, 5000])
def test_tall_products(library, n):
    X, Y = RNG.standard_normal((n, 3)), RNG.standard_normal((n, 4))
    found = device_products.tall_product(library.asarray(X), library.asarray(Y))
    np.testing.assert_allclose(np.from_dlpack(found), X.T @ Y, atol=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", HARD)
@pytest.mark.parametrize(("dtype", "most"), [("float32", 1e-6), ("float64", 1e-13)])
def test_products_of_samples_keep_their_digits(library, slices, name, dtype, most, weighted):
    samples = HARD[name].astype(dtype)
    weights = RNG.uniform(0.5, 2.0, 12).astype(dtype) if weighted else None
    options = {} if weights is None else {"sample_weight": library.asarray(weights)}
    found = np.from_dlpack(summarize(library.asarray(samples).T, Gram(12, **options)).centred())
    expected = exact(samples, weights)
    np.testing.assert_allclose(found, expected, atol=most * np.linalg.norm(expected, 2))


@pytest.mark.parametrize("unit", [2.0**-90, 2.0**90])
def test_squares_out_of_the_range_of_float32(library, unit):
    samples = (SAMPLES * unit).astype("float32")
    found = np.from_dlpack(summarize(library.asarray(samples).T, Gram(12)).centred())
    expected = exact(samples)
    np.testing.assert_allclose(found, expected, atol=1e-12 * np.linalg.norm(expected, 2))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_is_named(library, bad):
    samples = SAMPLES.copy()
    samples[3, 17] = bad
    with pytest.raises(ValueError, match="column 17, first in row 3"):
        PCA(2, solver="gram").fit(library.asarray(samples))


@pytest.mark.parametrize("name", HARD)
@pytest.mark.parametrize(("dtype", "most"), [("float32", 1e-5), ("float64", 1e-12)])
def test_components_are_those_of_numpy_arrays(library, name, dtype, most):
    samples = HARD[name].astype(dtype)
    found = PCA(3, solver="gram").fit(library.asarray(samples))
    expected = PCA(3, solver="triangle").fit(samples.astype("float64"))
    np.testing.assert_allclose(np.from_dlpack(found.components_), expected.components_, atol=most)
    np.testing.assert_allclose(np.from_dlpack(found.mean_), expected.mean_, rtol=most, atol=most)
    np.testing.assert_allclose(np.from_dlpack(found.explained_variance_), expected.explained_variance_, rtol=most)
