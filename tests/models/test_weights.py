"""Frequency weights in every model, with every solver: all fitted attributes and answers are those of repeated rows."""

from __future__ import annotations

from dataclasses import astuple, is_dataclass
from typing import Any

import numpy as np
import pytest

from examples import KERNEL_SOLVER_EXAMPLES, MODELS, X, Y, make, tables
from lowdim import models
from lowdim._xp import to_numpy

#: Some rows count several times, and some not at all.
W = np.random.default_rng(3).integers(0, 4, len(X))
#: What the fit says of itself rather than of the rows.
OF_THE_FIT = {"plan_", "n_iter_", "n_passes_", "residual_", "loglike_", "status_"}
OF_THE_FIT |= {"gradient_norm_", "rotation_gradient_"}
#: What has an entry for each row of the fit; `transform` and `inverse_transform` show that it is right.
OF_THE_ROWS = {
    "KernelPCA": {"X_fit_", "eigenvectors_", "offset_", "projection_"},
    "KernelCCA": {"x_fit_", "y_fit_", "x_dual_coef_", "y_dual_coef_"},
}
#: Answers with a row for each row.
BY_ROW = ("transform", "scores", "predict", "score_samples", "reconstruction_error")


def cases() -> list[tuple[str, dict[str, Any]]]:
    """Every model with every one of its solvers."""
    found: list[tuple[str, dict[str, Any]]] = []
    for name in models.__all__:
        for solver in MODELS[name].solvers or (None,):
            options = {} if solver is None else {"solver": solver}
            if name == "KernelPCA":
                options["kernel"] = KERNEL_SOLVER_EXAMPLES[solver].kernel
            found.append((name, options))
    found += [("PCA", {"standardize": True, "ddof": 0}), ("PCA", {"n_components": "bic"})]
    found += [("FactorAnalysis", {"rotation": rotation, "standardize": True}) for rotation in ("varimax", "oblimin")]
    found += [("PCR", {"select": "relevance"}), ("CCA", {"regularization": 0.3}), ("PPCA", {"solver": "em"})]
    return found


def attributes(model: Any) -> dict[str, Any]:
    """All public fitted attributes, those that are computed on demand included."""
    computed = (a for a in dir(type(model)) if isinstance(getattr(type(model), a), property))
    names = {a for a in (*vars(model), *computed) if a.endswith("_") and not a.startswith("_")}
    return {name: getattr(model, name) for name in names if hasattr(model, name)}


def compare(found: Any, expected: Any, what: str) -> None:
    """The same numbers, whatever holds them."""
    if is_dataclass(expected) and not isinstance(expected, type):
        compare(astuple(found), astuple(expected), what)
    elif isinstance(expected, list | tuple):
        assert len(found) == len(expected), what
        for one, other in zip(found, expected, strict=True):
            compare(one, other, what)
    elif isinstance(expected, float | np.ndarray | np.generic):
        size = np.abs(expected[np.isfinite(expected)]).max(initial=1e-300) if np.ndim(expected) else abs(expected)
        found, expected = to_numpy(found), to_numpy(expected)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 * float(size), err_msg=what)
    elif isinstance(expected, str | int | None):
        assert found == expected, what
    else:
        assert type(found) is type(expected), what


@pytest.mark.parametrize(("name", "options"), cases(), ids=str)
def test_weights_are_repetitions(name, options):
    given = tables(name)
    weighted = make(name, **options).fit(*given, sample_weight=W)
    plain = make(name, **options).fit(*(np.repeat(table, W, axis=0) for table in given))
    found, expected = attributes(weighted), attributes(plain)
    assert set(found) == set(expected)
    assert found.pop("n_samples_") == np.count_nonzero(W)
    assert expected.pop("n_samples_") == W.sum()
    assert "total_weight_" not in found or found["total_weight_"] == W.sum()
    for what in set(expected) - OF_THE_FIT - OF_THE_ROWS.get(name, set()):
        compare(found[what], expected[what], what)
    for method in BY_ROW:
        if callable(getattr(plain, method, None)):
            compare(getattr(weighted, method)(X), getattr(plain, method)(X), method)
    if name not in ("GCCA", "KernelCCA", "PLSSVD", "PLSCanonical", "CCA") and hasattr(plain, "inverse_transform"):
        scores = plain.transform(X)
        compare(weighted.inverse_transform(scores), plain.inverse_transform(scores), "inverse_transform")


@pytest.mark.parametrize("name", [name for name in models.__all__ if MODELS[name].two_tables])
def test_scores_of_both_tables(name):
    weighted = make(name).fit(X, Y, sample_weight=W)
    plain = make(name).fit(np.repeat(X, W, axis=0), np.repeat(Y, W, axis=0))
    if name == "GCCA":
        compare(weighted.transform([X, Y]), plain.transform([X, Y]), "transform")
    elif name != "PCR":
        compare(weighted.transform(X, Y), plain.transform(X, Y), "transform")
