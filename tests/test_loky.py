"""Fits in another process, as joblib and so scikit-learn's `n_jobs` start it."""

import numpy as np
import pytest
from joblib.externals.loky import get_reusable_executor

from examples import MODELS, fitted


@pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")
def test_every_model_fitted_in_another_process():
    """It travels back, and is the model that is fitted here."""
    executor = get_reusable_executor(max_workers=1)
    answers = list(executor.map(fitted, MODELS))
    executor.shutdown()
    for name, model in zip(MODELS, answers, strict=True):
        for key, value in MODELS[name].compared(fitted(name)).items():
            np.testing.assert_allclose(MODELS[name].compared(model)[key], value, rtol=1e-6, atol=1e-9, err_msg=name)
