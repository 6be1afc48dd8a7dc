"""R's pls: kernelpls, simpls and pcr on three data sets, for every number of components that is stored."""

import csv

import numpy as np
import pytest

from lowdim import PCR, PLSRegression
from lowdim.solvers import REDUCTIONS
from parity.reference import DATA, data, results

#: R's numbers are good to rounding; Longley's columns are nearly dependent, which costs digits on both sides.
RTOL = {"gasoline": 1e-9, "gasoline_scaled": 1e-9, "iris": 1e-10, "longley": 1e-8, "longley_scaled": 1e-8}
METHODS = {
    "kernelpls": lambda k, **options: PLSRegression(k, **options),
    "simpls": lambda k, **options: PLSRegression(k, algorithm="simpls", **options),
    "svdpc": lambda k, **options: PCR(k, **options),
}


def tables(case):
    """X and y of the fit."""
    if case.startswith("gasoline"):
        with open(DATA / "gasoline.csv", newline="") as file:
            octane = np.array([float(row[0]) for row in list(csv.reader(file))[1:]])
        return data("gasoline")[:50], octane[:50, None]
    if case == "iris":
        return data("iris")[:, :2], data("iris")[:, 2:]
    return data("longley")[:, :6], data("longley")[:, 6:]


def expected(case):
    if case.startswith("longley"):
        return results("pls_pcr_longley")["scaled" if case.endswith("scaled") else "centred"]
    return results(f"pls_pcr_{case}")


CASES = [(case, method) for case in RTOL for method in METHODS if method in expected(case)]
each = pytest.mark.parametrize(("case", "method"), CASES)


def fitted(case, method, X, y, k=None, **options):
    r = expected(case)
    return METHODS[method](int(k or r["ncomp"]), scale=(bool(r["scaled"]), False), **options).fit(X, y)


def assert_close(actual, wanted, case, digits=1.0):
    """Equal to a share of the largest entry."""
    np.testing.assert_allclose(actual, wanted, rtol=0, atol=digits * RTOL[case] * np.abs(wanted).max())


def up_to_signs(actual, wanted):
    return actual * np.where((actual * wanted).sum(axis=0) < 0, -1.0, 1.0)


@each
def test_coefficients_for_every_number_of_components(case, method):
    X, y = tables(case)
    model, r = fitted(case, method, X, y), expected(case)
    scale = X.std(axis=0, ddof=1) if r["scaled"] else np.ones(X.shape[1])
    # R's own simpls ends 3e-8 away from R's lm here; the test of least squares below is the sharper one.
    digits = 10 if (case, method) == ("longley", "simpls") else 1
    for k, wanted in zip(r["kept_components"].astype(int), r[method]["coefficients"], strict=True):
        assert_close(model.coef_path_[k - 1].T * scale[:, None], wanted, case, digits)


@pytest.mark.parametrize("solver", list(REDUCTIONS))
@pytest.mark.parametrize("method", list(METHODS))
def test_every_solver_gives_them(method, solver):
    X, y = tables("iris")
    model, r = fitted("iris", method, X, y, solver=solver), expected("iris")
    for k, wanted in enumerate(r[method]["coefficients"]):
        assert_close(model.coef_path_[k].T, wanted, "iris")


@each
def test_loadings_and_scores(case, method):
    X, y = tables(case)
    model, r = fitted(case, method, X, y), expected(case)[method]
    scores = model.transform(X)
    lengths = np.linalg.norm(scores, axis=0)
    ours = {"loadings": model.x_loadings_, "scores": scores, "y_loadings": model.y_loadings_}
    if method == "simpls":  # whose scores have length one
        ours = {"loadings": model.x_loadings_ * lengths, "scores": scores / lengths}
        ours["y_loadings"] = model.y_loadings_ * lengths
    if method == "kernelpls":
        ours |= {"loading_weights": model.x_weights_, "projection": model.x_rotations_}
    for name, value in ours.items():
        wanted = r[name]
        assert_close(up_to_signs(value[:, : wanted.shape[1]], wanted), wanted, case, digits=10)


@each
def test_explained_variance(case, method):
    X, y = tables(case)
    model, r = fitted(case, method, X, y), expected(case)[method]
    assert_close(model.explained_variance_ratio_ * r["x_total_variance"], r["x_variance_explained"], case)


@each
def test_errors_of_the_fit(case, method):
    X, y = tables(case)
    model, wanted = fitted(case, method, X, y), expected(case)[method]["rmsep_train"]
    ours = [np.sqrt(((model.predict(X, n_components=k) - y) ** 2).mean(axis=0)) for k in range(wanted.shape[1])]
    assert_close(np.array(ours).T, wanted, case)


@each
def test_errors_of_cross_validation_in_fixed_segments(case, method):
    """Means and scales are found anew without each segment."""
    X, y = tables(case)
    r = expected(case)
    wanted = r[method]["rmsep_cv"]
    squares = np.zeros((wanted.shape[1], y.shape[1]))
    for segment in r["segments_zero_based"].astype(int):
        kept = np.setdiff1d(np.arange(len(X)), segment)
        model = fitted(case, method, X[kept], y[kept])
        for k in range(wanted.shape[1]):
            squares[k] += ((model.predict(X[segment], n_components=k) - y[segment]) ** 2).sum(axis=0)
    # R has another formula for no components at all.
    assert_close(np.sqrt(squares / len(X)).T[:, 1:], wanted[:, 1:], case, digits=10)


@pytest.mark.parametrize(("case", "method"), [(c, m) for c, m in CASES if c.startswith("gasoline")])
def test_predictions_of_new_rows(case, method):
    X, y = tables(case)
    model, r = fitted(case, method, X, y), expected(case)
    for k, wanted in zip(r["kept_components"].astype(int), r[method]["predicted_test"], strict=True):
        assert_close(model.predict(data("gasoline")[50:], n_components=k), wanted, case)


def test_all_components_are_least_squares():
    X, y = tables("longley")
    wanted = expected("longley")["lm_coefficients_with_intercept"]
    for method in METHODS:
        model = fitted("longley", method, X, y)
        ours = np.concatenate([model.intercept_, model.coef_[0]])
        np.testing.assert_allclose(ours, wanted, rtol=1e-9)


@pytest.mark.parametrize("method", ["kernelpls", "svdpc"])
def test_jackknife(method):
    X = data("gasoline")
    with open(DATA / "gasoline.csv", newline="") as file:
        octane = np.array([float(row[0]) for row in list(csv.reader(file))[1:]])
    model = METHODS[method](4, scale=False).fit(X, octane)
    segments = [(np.setdiff1d(np.arange(60), np.arange(i, 60, 10)), np.arange(i, 60, 10)) for i in range(10)]
    wanted = results("jackknife_gasoline")[method]["variance"]
    np.testing.assert_allclose(model.jackknife(X, octane, cv=segments).standard_error[0] ** 2, wanted, rtol=1e-7)
