"""What docs/kernel_pca.md says about the choice of the width: the error of pre-images prefers the widest kernel."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import make_circles
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lowdim import KernelPCA
from lowdim.kernels import Gaussian


def test_purpose_chooses_the_width_and_pre_images_do_not():
    X, y = make_circles(200, factor=0.3, noise=0.05, random_state=0)
    X, new, y, new_y = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
    median = KernelPCA(2, kernel="rbf").fit(X).kernel_.sigma
    kernels = [Gaussian(sigma=share * median) for share in (2.0, 1.0, 0.5, 0.25, 0.125)]
    errors = []
    for kernel in kernels:
        model = KernelPCA(2, kernel=kernel).fit(X)
        errors.append(np.mean((model.inverse_transform(model.transform(new)) - new) ** 2))
    assert np.argmin(errors) == 0
    pipeline = make_pipeline(KernelPCA(2), StandardScaler(), LogisticRegression(C=1e3))
    assert pipeline.set_params(kernelpca__kernel=kernels[0]).fit(X, y).score(new, new_y) < 0.7
    search = GridSearchCV(pipeline, {"kernelpca__kernel": kernels}).fit(X, y)
    assert search.best_params_["kernelpca__kernel"] in kernels[2:4]
    assert search.score(new, new_y) > 0.95
