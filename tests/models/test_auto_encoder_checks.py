"""scikit-learn's checks of auto-encoders that are trained; test_base_estimators.py has those without hidden layers."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from lowdim import AutoEncoder
from lowdim.solvers import Adam

pytest.importorskip("torch", reason="torch is not installed, and networks are trained by it")

CHECKED = [
    AutoEncoder(),
    AutoEncoder(1, hidden=(8, 4), activation="tanh"),
    AutoEncoder(1, hidden=(8,), activation="relu", variational=True),
    AutoEncoder(1, hidden=(8,), solver=Adam(held_out=0.0, max_epochs=5, rate=1e-2)),
]


@parametrize_with_checks(CHECKED)
@pytest.mark.filterwarnings("ignore::lowdim.errors.RankWarning", "ignore::lowdim.errors.ConvergenceWarning")
def test_checks_of_scikit_learn(estimator, check):
    """No expected failures. Some checks have as few columns as components, or end after a few epochs, of which models
    warn."""
    check(estimator)
