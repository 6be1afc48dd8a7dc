"""Whether columns are pixels, points of a curve, or neither: on pictures and tables that are known."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from lowdim.reporting.data import correlations_of_rows
from reporting.tables import clusters, pictures, prose, report_of, values

RANDOM = np.random.default_rng(5)
WAVES = np.linspace(0, 3, 96)


def _spectra(n=120):
    """Sums of a few bands, as spectra are."""
    centres = np.array([0.4, 1.1, 1.9, 2.6])
    bands = np.exp(-((WAVES - centres[:, None]) ** 2) / 0.05)
    return RANDOM.gamma(2.0, size=(n, 4)) @ bands + 0.001 * RANDOM.standard_normal((n, 96))


def _scales_in_blocks(n=400):
    """Six scales of six questions each: neighbours are alike within a scale only."""
    factors = RANDOM.standard_normal((n, 6))
    return np.repeat(factors, 6, axis=1) + 0.7 * RANDOM.standard_normal((n, 36))


def _layout(X, **options):
    """What the columns of a table are found to be: the shape of a picture, "curve" or None; and the model."""
    made = report_of(X, "data", "rebuilding", n_components=2, **options)
    data, rebuilding, _ = made.sections
    shape = values(rebuilding)["shape"]
    if shape is not None:
        return tuple(shape), made.model
    return "curve" if "points of a curve" in prose(data) else None, made.model


TABLES = {
    "iris": load_iris().data,
    "wine": load_wine().data,
    "breast cancer": load_breast_cancer().data,
    "noise": RANDOM.standard_normal((300, 64)),
    "one factor": RANDOM.standard_normal((300, 1)) + 0.7 * RANDOM.standard_normal((300, 64)),
    "questions": _scales_in_blocks(),
    "groups": clusters(400, 36)[0],
}


@pytest.mark.parametrize("name", TABLES)
def test_tables_have_no_layout(name):
    assert _layout(TABLES[name])[0] is None


@pytest.mark.parametrize("shape", [(6, 9), (9, 6), (12, 5), (7, 8, 3)])
def test_the_shape_of_pictures_is_found(shape):
    assert _layout(pictures(shape=shape))[0] == shape


def test_digits_are_pictures_although_some_pixels_are_constant():
    shape, model = _layout(load_digits().data)
    assert shape == (8, 8) and model.n_features_in_ < 64
    assert not model.scale


def test_spectra_are_curves_and_not_standardized():
    spectra = _spectra()
    found, model = _layout(spectra)
    assert found == "curve" and not model.scale
    # A column of other units beside them is no point of the curve.
    assert _layout(np.column_stack([100 * RANDOM.standard_normal(len(spectra)), spectra]))[0] is None
    # The order of the columns is what makes a curve.
    assert _layout(spectra[:, RANDOM.permutation(96)])[0] is None


def test_random_walks_and_waves_are_no_pictures():
    walks = np.cumsum(RANDOM.standard_normal((300, 100)), axis=1)
    assert _layout(walks)[0] == "curve"
    waves = np.sin(8 * WAVES + RANDOM.uniform(0, 6, (300, 1))) + 0.3 * RANDOM.standard_normal((300, 96))
    assert _layout(waves)[0] in (None, "curve")


def test_the_user_knows_better():
    rows = pictures()
    assert _layout(rows, image_shape=False)[0] is None
    assert _layout(rows, image_shape=(9, 6))[0] == (9, 6)
    assert _layout(TABLES["noise"], image_shape=[8, 8])[0] == (8, 8)
    for wrong in ((7, 9), (54,), (3, 9, 2)):
        with pytest.raises(ValueError, match="number of columns, 54"):
            _layout(rows, image_shape=wrong)


@pytest.mark.parametrize("shape", [(2, 1, 4), (8,), (-2, -4), 8])
def test_pictures_of_a_report_are_grey_or_have_three_colours(shape):
    with pytest.raises(ValueError, match="must be"):
        _layout(RANDOM.standard_normal((30, 8)), image_shape=shape)


def test_a_few_rows_tell_nothing():
    assert _layout(pictures(12))[0] is None


def test_rows_that_are_not_in_memory(not_held, tmp_path):
    np.save(tmp_path / "pictures.npy", pictures())
    assert _layout(tmp_path / "pictures.npy")[0] == (6, 9)


def test_correlations_are_those_of_the_columns_that_vary():
    X = RANDOM.standard_normal((50, 4)) @ RANDOM.standard_normal((4, 4)) + 10
    used = np.array([0, 2, 3, 5])
    i, j = np.array([0, 2, 3, 1]), np.array([2, 5, 0, 0])
    expected = [np.corrcoef(X[:, a], X[:, b])[0, 1] for a, b in ((0, 1), (1, 3), (2, 0))]
    values = correlations_of_rows(X, used, 6)(i, j)
    np.testing.assert_allclose(values[:3], expected, atol=1e-12)
    assert np.isnan(values[3])
