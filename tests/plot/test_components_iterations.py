"""The likelihood at each step of a fit."""

import numpy as np
import pytest

from lowdim import ICA, PPCA, FactorAnalysis, plot

RNG = np.random.default_rng(0)
X = RNG.laplace(size=(200, 4)) @ RNG.standard_normal((4, 4))
#: Rows with one factor.
ONE = RNG.standard_normal((200, 1)) * [0.9, 0.8, 0.7, 0.6] + RNG.standard_normal((200, 4))
INCOMPLETE = np.where(RNG.random(X.shape) < 0.1, np.nan, X)


@pytest.mark.parametrize(
    "model",
    [
        PPCA(2).fit(INCOMPLETE),
        FactorAnalysis(1, solver="em").fit(ONE),
        FactorAnalysis(1).fit(ONE),
        ICA(random_state=0).fit(X),
    ],
    ids=lambda model: f"{type(model).__name__} {model.solver_}",
)
def test_the_curve_is_the_likelihood_which_never_decreases(model):
    (line,) = model.plot.convergence().lines
    values = np.asarray(line.get_ydata())
    np.testing.assert_allclose(values, model.loglike_)
    assert np.all(np.diff(values) >= -1e-6 * np.abs(values[-1]))
    line.axes.figure.draw_without_rendering()
    assert line.axes.yaxis.get_offset_text().get_text() == ""
    ax = model.plot.convergence(gap=True)
    gaps = np.asarray(ax.lines[0].get_ydata())
    assert ax.get_yscale() == "log"
    assert np.all(gaps > 0)
    assert model.solver_ in ax.get_title(loc="right")


def test_a_fit_without_steps():
    closed = PPCA(2).fit(X)
    assert "convergence" not in dir(closed.plot)
    with pytest.raises(TypeError, match=r"plot.convergence shows the steps of an iteration, and PPCA has none"):
        plot.convergence(closed)
