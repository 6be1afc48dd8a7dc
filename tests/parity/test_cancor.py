"""R's cancor, with the tests and structure coefficients that go with it."""

import numpy as np
import pytest

from lowdim import CCA, GCCA
from lowdim.solvers import REDUCTIONS
from parity.reference import data, results


def tables(name):
    if name == "iris":
        return data("iris")[:, :2], data("iris")[:, 2:]
    columns = ["sr", "pop15", "pop75", "dpi", "ddpi"]
    X = data("lifecyclesavings")
    return X[:, [columns.index(c) for c in ("pop15", "pop75")]], X[:, [columns.index(c) for c in ("sr", "dpi", "ddpi")]]


each = pytest.mark.parametrize("name", ["iris", "lifecyclesavings"])
solvers = pytest.mark.parametrize("solver", ["auto", *REDUCTIONS])
scales = pytest.mark.parametrize("scale", [True, False])


def matched(actual, wanted):
    wanted = wanted[:, : actual.shape[1]]
    return actual, wanted * np.where((actual * wanted).sum(axis=0) < 0, -1.0, 1.0)


@each
@solvers
@scales
def test_correlations_and_coefficients(name, solver, scale):
    X, y = tables(name)
    cca, r = CCA(scale=scale, solver=solver).fit(X, y), results(f"cancor_{name}")
    np.testing.assert_allclose(cca.correlations_, r["correlations"], rtol=1e-11)
    for table in "xy":
        ours = getattr(cca, f"{table}_rotations_") / getattr(cca, f"{table}_scale_")[:, None]
        actual, wanted = matched(ours, r[f"{table}_coef_unit_variance"])
        np.testing.assert_allclose(actual, wanted, rtol=1e-9, atol=1e-12)
        actual, wanted = matched(getattr(cca, f"{table}_structure_"), r[f"{table}_structure"])
        np.testing.assert_allclose(actual, wanted, rtol=1e-10)


@each
def test_significance(name):
    X, y = tables(name)
    test, r = CCA().fit(X, y).significance(), results(f"cancor_{name}")
    np.testing.assert_allclose(test.wilks, r["wilks_lambda"], rtol=1e-11)
    np.testing.assert_allclose(test.chi2, r["bartlett_chi_square"], rtol=1e-10)
    np.testing.assert_array_equal(test.chi2_dof, r["bartlett_df"])
    np.testing.assert_allclose(test.chi2_p, r["bartlett_p"], rtol=1e-8)


@each
def test_two_tables_of_gcca(name):
    X, y = tables(name)
    gcca, r = GCCA().fit([X, y]), results(f"cancor_{name}")
    np.testing.assert_allclose(gcca.correlations_, r["correlations"], rtol=1e-11)


def test_redundancy_of_vegan():
    """vegan's is the share of the variance of raw columns: theirs are weighted by their variances."""
    X, y = tables("lifecyclesavings")
    cca, r = CCA().fit(X, y), results("cancor_lifecyclesavings")["vegan_CCorA"]
    for table, name, rows in (("x", "x_redundancy_r2", X), ("y", "y_redundancy_r2", y)):
        share = rows.var(axis=0) / rows.var(axis=0).sum()
        explained = (getattr(cca, f"{table}_cross_structure_") ** 2).sum(axis=1)
        np.testing.assert_allclose(explained @ share, r[name], rtol=1e-9)
        np.testing.assert_allclose(explained.mean(), getattr(cca, f"{table}_redundancy_").sum(), rtol=1e-12)
