"""Formulas of docs/formulas.md about moments and how they are merged, in exact fractions or slow loops."""

import math
from fractions import Fraction

import numpy as np
import pytest

from lowdim import PCA, PPCA
from lowdim.reading import summarize
from lowdim.summaries import Moments, Sketch, Triangle
from oracles import tolerance

RNG = np.random.default_rng(8)
#: Whole numbers, so that fractions are short and float64 holds every product exactly.
X = RNG.integers(-9, 10, (12, 3)).astype(float)
WEIGHTS = RNG.integers(0, 4, 12).astype(float)


def exact_moments(rows, weights):
    """Weight, mean and scatter as fractions."""
    rows = [[Fraction(int(value)) for value in row] for row in rows]
    weights = [Fraction(int(weight)) for weight in weights]
    total, p = sum(weights), len(rows[0])
    mean = [sum(w * row[j] for w, row in zip(weights, rows, strict=True)) / total for j in range(p)]
    scatter = [
        [
            sum(w * (row[i] - mean[i]) * (row[j] - mean[j]) for w, row in zip(weights, rows, strict=True))
            for j in range(p)
        ]
        for i in range(p)
    ]
    return total, mean, scatter


def as_floats(values):
    return np.array(
        [[float(v) for v in row] for row in values] if isinstance(values[0], list) else list(map(float, values))
    )


def test_mean_and_covariance_of_weighted_rows():
    total, mean, scatter = exact_moments(X, WEIGHTS)
    found = summarize(X, Moments, weights=WEIGHTS)
    assert found.weight == float(total)
    np.testing.assert_allclose(found.mean, as_floats(mean), rtol=tolerance())
    np.testing.assert_allclose(found.scatter, as_floats(scatter), rtol=tolerance(), atol=1e-12)
    pca = PCA().fit(X, sample_weight=WEIGHTS)
    np.testing.assert_allclose(
        pca.get_covariance(), as_floats(scatter) / (float(total) - 1), rtol=tolerance(condition=10)
    )


def test_merging_moments():
    """The formula gives the moments of all rows exactly, and `merge` gives what the formula gives."""
    (n1, m1, S1), (n2, m2, S2) = exact_moments(X[:5], WEIGHTS[:5]), exact_moments(X[5:], WEIGHTS[5:])
    n, d = n1 + n2, [b - a for a, b in zip(m1, m2, strict=True)]
    mean = [a + n2 / n * step for a, step in zip(m1, d, strict=True)]
    scatter = [[S1[i][j] + S2[i][j] + n1 * n2 / n * d[i] * d[j] for j in range(3)] for i in range(3)]
    assert (n, mean, scatter) == exact_moments(X, WEIGHTS)
    both = summarize(X[:5], Moments, weights=WEIGHTS[:5])
    both.merge(summarize(X[5:], Moments, weights=WEIGHTS[5:]))
    np.testing.assert_allclose(both.mean, as_floats(mean), rtol=tolerance())
    np.testing.assert_allclose(both.scatter, as_floats(scatter), rtol=tolerance(), atol=1e-12)


def test_merging_r_factors():
    """R'R of the factor of [R1; R2; sqrt(n1 n2 / n) (m1 - m2)] is the scatter of all rows."""
    parts = X[:5], X[5:]
    means = [part.mean(axis=0) for part in parts]
    roots = [np.linalg.qr(part - mean)[1] for part, mean in zip(parts, means, strict=True)]
    step = math.sqrt(5 * 7 / 12) * (means[0] - means[1])
    R = np.linalg.qr(np.vstack([*roots, step]))[1]
    scatter = as_floats(exact_moments(X, np.ones(12))[2])
    np.testing.assert_allclose(R.T @ R, scatter, rtol=tolerance(), atol=1e-11)
    both = summarize(parts[0], Triangle)
    both.merge(summarize(parts[1], Triangle))
    np.testing.assert_allclose(both.rows.T @ both.rows, R.T @ R, rtol=tolerance(), atol=1e-11)


@pytest.mark.parametrize("implicit", [False, True])
def test_product_of_the_scatter_with_vectors(implicit):
    """Centred by X'Y - mean (1'Y) with Y = (X - 1 mean') V, so that the D x D scatter is never formed."""
    V = RNG.integers(-3, 4, (3, 2)).astype(float)
    found = summarize(X, Sketch(V, X.mean(axis=0), implicit=implicit))
    scatter = as_floats(exact_moments(X, np.ones(12))[2])
    np.testing.assert_allclose(found.product, scatter @ V, rtol=tolerance(), atol=1e-11)


def test_sign_of_a_component():
    """The entry of largest magnitude is positive, the first one on a tie."""
    for w in ([3.0, -4.0], [-4.0, 3.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0, 1.0]):
        rows = np.outer([-2.0, -1.0, 1.0, 2.0], w)
        found = PCA(1).fit(rows).components_[0]
        largest = next(entry for entry in w if abs(entry) == max(map(abs, w)))
        np.testing.assert_allclose(found, np.array(w) / np.linalg.norm(w) * np.sign(largest), rtol=tolerance())


def test_divisors_of_variances():
    scatter = as_floats(exact_moments(X, np.ones(12))[2])
    largest = np.linalg.eigvalsh(scatter)[-1]
    for model, divisor in ((PCA(1), 11), (PCA(1, ddof=0), 12), (PPCA(1), 12)):
        np.testing.assert_allclose(model.fit(X).explained_variance_, [largest / divisor], rtol=tolerance(condition=10))
