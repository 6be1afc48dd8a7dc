"""Plots of regressions, against what the models and cross-validation return."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import r2_score, root_mean_squared_error

from lowdim import CCA, PCA, PCR, PLSRegression, bootstrap, cross_validate, plot

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.standard_normal((60, 5)) @ RNG.standard_normal((5, 5)) + 3.0, columns=list("abcde"))
Y = pd.DataFrame(X.to_numpy()[:, :2] @ RNG.standard_normal((2, 2)) + RNG.standard_normal((60, 2)), columns=["u", "v"])
PLS = PLSRegression(3).fit(X, Y)


def texts_of(legend):
    return [text.get_text() for text in legend.get_texts()]


def error_bars(ax):
    """Middle and half length of each error bar."""
    (container,) = ax.containers
    line, _, (bars,) = container
    ends = np.array([segment[:, 1] for segment in bars.get_segments()])
    return np.asarray(line.get_xydata()), (ends[:, 1] - ends[:, 0]) / 2


def test_validation_of_a_regression_is_its_rmse_with_standard_errors():
    found = cross_validate(PLSRegression(), X, Y, cv=5)
    ax = plot.validation(found)
    middle, half = error_bars(ax)
    np.testing.assert_allclose(middle, np.column_stack([found.n_components, found.rmse[0]]))
    # The derivative of the square root.
    np.testing.assert_allclose(half, found.standard_error[0] / (2 * found.rmse[0]))
    assert texts_of(ax.get_legend()) == [
        f"best: {found.best}",
        f"within one standard error: {found.one_standard_error}",
    ]
    places = [line.get_xydata()[0] for line in ax.lines if line.get_label().startswith(("best", "within"))]
    assert [x for x, _ in places] == [found.best, found.one_standard_error]


def test_validation_of_a_likelihood_and_of_settings():
    found = cross_validate(PCA(), X, cv=4)
    ax = plot.validation(found)
    middle, half = error_bars(ax)
    np.testing.assert_allclose(middle[:, 1], found.mean[0])
    np.testing.assert_allclose(half, found.standard_error[0])
    assert found.what in ax.get_ylabel()


def test_validation_of_a_model_that_chose_its_components():
    model = PLSRegression("cv").fit(X, Y)
    ax = model.plot.validation()
    np.testing.assert_allclose(error_bars(ax)[0][:, 1], model.choice_.cross_validation.rmse[0])
    assert "validation" in dir(model.plot)
    assert "validation" not in dir(PLS.plot)
    with pytest.raises(TypeError, match=r"a cross-validation, which cross_validate.* and PLSRegression has none"):
        plot.validation(PLS)


def test_vip_bars_with_a_line_at_one():
    ax = PLS.plot.vip()
    np.testing.assert_allclose([bar.get_width() for bar in ax.patches], np.sort(PLS.vip_)[::-1])
    assert any(np.allclose(line.get_xdata(), 1.0) for line in ax.lines)


@pytest.mark.parametrize(("names", "numeric"), [(np.arange(400, 500).astype(str), True), (None, False)])
def test_spectra_are_curves_over_their_columns(names, numeric):
    S = pd.DataFrame(RNG.standard_normal((30, 100)), columns=names)
    S = S if numeric else S.to_numpy()
    pls = PLSRegression(2).fit(S, Y[:30])
    draws = bootstrap(PLSRegression(2), S, Y[:30], n_resamples=10, random_state=0)
    for ax, values in ((pls.plot.vip(), pls.vip_), (pls.plot.coefficients("v", bootstrap=draws), pls.coef_[1])):
        x, y = ax.lines[0].get_data()
        np.testing.assert_allclose(y, values)
        np.testing.assert_allclose(x, np.arange(400, 500) if numeric else np.arange(100))
    if not numeric:
        ticks = {
            position: text.get_text() for position, text in zip(ax.get_xticks(), ax.get_xticklabels(), strict=True)
        }
        assert ticks == {i: f"x{i + 1}" for i in (0, 20, 40, 59, 79, 99)}
    low, high = draws.interval("coef")[:, 1]
    edges = ax.collections[0].get_paths()[0].vertices[:, 1]
    np.testing.assert_allclose([edges.min(), edges.max()], [low.min(), high.max()])


@pytest.mark.parametrize("response", ["v", 2])
def test_coefficients_of_a_response_with_intervals(response):
    draws = bootstrap(PLSRegression(3), X, Y, n_resamples=30, random_state=0)
    ax = PLS.plot.coefficients(response, bootstrap=draws)
    order = np.argsort(-np.abs(PLS.coef_[1]))
    np.testing.assert_allclose([bar.get_width() for bar in ax.patches], PLS.coef_[1][order])
    low, high = draws.interval("coef")[:, 1, order]
    assert [bar.get_hatch() is not None for bar in ax.patches] == (np.sign(low) != np.sign(high)).tolist()
    assert "coefficient for v" in ax.get_xlabel()


@pytest.mark.parametrize("response", ["w", 0, 3, True])
def test_responses_that_do_not_exist(response):
    with pytest.raises(ValueError, match="is not one of 'u', 'v'"):
        PLS.plot.coefficients(response)


def test_predictions_of_one_response():
    for model in (PLS, PCR(2).fit(X, Y), CCA(2).fit(X, Y)):
        ax = model.plot.predictions(X, Y, "v")
        predicted = np.asarray(model.predict(X))[:, 1]
        points = np.asarray(ax.collections[0].get_offsets())
        np.testing.assert_allclose(points, np.column_stack([Y["v"], predicted]))
        r2, rmse = r2_score(Y["v"], predicted), root_mean_squared_error(Y["v"], predicted)
        assert texts_of(ax.get_legend()) == [f"v: R2 {r2:.3f}, RMSE {rmse:.3g}"]
        assert ax.get_xlim() == ax.get_ylim()


def test_predictions_of_all_responses_are_in_standard_deviations():
    ax = PLS.plot.predictions(X, Y)
    for points, name in zip(ax.collections, Y, strict=True):
        measured = np.asarray(points.get_offsets())[:, 0]
        np.testing.assert_allclose([measured.mean(), measured.std()], [0.0, 1.0], atol=1e-12)
        assert any(text.startswith(f"{name}: R2") for text in texts_of(ax.get_legend()))


def test_predictions_of_a_vector_and_of_columns_by_name():
    table = pd.concat([X, Y], axis=1)
    model = PLSRegression(2).fit(table[[*"abcde", "u"]], "u")
    ax = model.plot.predictions(table[[*"abcde", "u"]], "u")
    points = np.asarray(ax.collections[0].get_offsets())
    np.testing.assert_allclose(points[:, 0], Y["u"])
    np.testing.assert_allclose(points[:, 1], np.asarray(model.predict(X)).ravel())


def test_responses_with_the_labels_in_another_order_are_refused():
    labels = [f"row {i}" for i in range(10)]
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(10, 3)), index=labels, columns=["a", "b", "c"])
    pls = PLSRegression(1).fit(X[["a", "b"]], X["c"])
    with pytest.raises(ValueError, match="same row labels in another order"):
        pls.plot.predictions(X[["a", "b"]], X["c"].iloc[::-1])


def test_names_that_are_no_places_on_an_axis():
    """Names such as "nan" can be read as numbers, but a curve has no point there."""
    names = [str(j) for j in range(49)] + ["nan"]
    X = RNG.standard_normal((60, 50))
    pls = PLSRegression(2).fit(pd.DataFrame(X, columns=names), X[:, 0])
    (curve, *_) = pls.plot.vip().lines
    np.testing.assert_allclose(curve.get_xdata(), np.arange(50))
    np.testing.assert_allclose(curve.get_ydata(), pls.vip_)
