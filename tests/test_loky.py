"""Fits in other processes, as joblib and so scikit-learn's `n_jobs` start them."""

import joblib
import numpy as np

from examples import MODELS, fitted


def test_every_model_fitted_in_another_process():
    """It travels back, and is the model that is fitted here."""
    answers = joblib.Parallel(n_jobs=2, backend="loky")(joblib.delayed(fitted)(name) for name in MODELS)
    for name, model in zip(MODELS, answers, strict=True):
        for key, value in MODELS[name].seen(fitted(name)).items():
            np.testing.assert_allclose(MODELS[name].seen(model)[key], value, rtol=1e-6, atol=1e-9, err_msg=name)
