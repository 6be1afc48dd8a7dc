"""Frequency weights in every model, with every solver: all fitted attributes and answers are those of repeated rows."""

from __future__ import annotations

from dataclasses import astuple, is_dataclass
from typing import Any

import numpy as np
import pytest

from examples import KERNEL_SOLVER_EXAMPLES, MODELS, OF_NUMBERS, X, Y, make, tables
from inputs import to_numpy
from lowdim import models
from lowdim import sklearn as drop_in
from lowdim.solvers import EM

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
    for name in OF_NUMBERS:
        for solver in MODELS[name].solvers or (None,):
            options = {} if solver is None else {"solver": solver}
            if name == "KernelPCA":
                options["kernel"] = KERNEL_SOLVER_EXAMPLES[solver].kernel
            found.append((name, options))
    found += [("PCA", {"scale": True, "ddof": 0}), ("PCA", {"n_components": "bic"})]
    found += [("FactorAnalysis", {"rotation": rotation, "scale": True}) for rotation in ("varimax", "oblimin")]
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
@pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")
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


@pytest.mark.parametrize("name", [name for name in OF_NUMBERS if MODELS[name].two_tables])
def test_scores_of_both_tables(name):
    weighted = make(name).fit(X, Y, sample_weight=W)
    plain = make(name).fit(np.repeat(X, W, axis=0), np.repeat(Y, W, axis=0))
    if name == "GCCA":
        compare(weighted.transform([X, Y]), plain.transform([X, Y]), "transform")
    elif name != "PCR":
        compare(weighted.transform(X, Y), plain.transform(X, Y), "transform")


#: Fewer rows than columns, of which the last eight have no weight.
FEW = np.random.default_rng(5).standard_normal((20, 50))
COUNTED = np.r_[np.ones(12), np.zeros(8)]
INCOMPLETE = np.where(np.random.default_rng(6).random(FEW.shape) < 0.05, np.nan, FEW)
BY_DEFAULT = {
    "PCA": models.PCA,
    "Whitening": models.Whitening,
    "PPCA": models.PPCA,
    "FactorAnalysis": models.FactorAnalysis,
    "KernelPCA": models.KernelPCA,
    "drop-in PCA": drop_in.PCA,
    "drop-in IncrementalPCA": drop_in.IncrementalPCA,
    "drop-in FactorAnalysis": drop_in.FactorAnalysis,
    "drop-in KernelPCA": drop_in.KernelPCA,
}


@pytest.mark.filterwarnings("ignore::lowdim.errors.RankWarning", "ignore::lowdim.errors.ConvergenceWarning")
@pytest.mark.parametrize("name", list(BY_DEFAULT))
@pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")
def test_rows_of_weight_zero_do_not_count_for_the_number_of_components(name):
    model = BY_DEFAULT[name]().fit(FEW, sample_weight=COUNTED)
    assert model.n_components_ == BY_DEFAULT[name]().fit(FEW[:12]).n_components_


@pytest.mark.filterwarnings("ignore::lowdim.errors.ConvergenceWarning")
def test_rows_of_weight_zero_do_not_count_if_entries_are_missing():
    model = models.PPCA(solver=EM(max_iter=3)).fit(INCOMPLETE, sample_weight=COUNTED)
    assert model.n_components_ == 12


LIMITED = {
    **{name: lambda k, cls=cls: cls(n_components=k) for name, cls in BY_DEFAULT.items() if name != "drop-in KernelPCA"},
    "ICA": models.ICA,
    "KernelCCA": models.KernelCCA,
    "PLSRegression": models.PLSRegression,
    "PCR": models.PCR,
    "CCA": models.CCA,
    "drop-in PLSRegression": drop_in.PLSRegression,
}


@pytest.mark.parametrize("name", list(LIMITED))
def test_more_components_than_rows_of_positive_weight_are_refused(name):
    tables = (FEW, FEW[:, :14]) if LIMITED[name](1).__sklearn_tags__().target_tags.required else (FEW, None)
    with pytest.raises(ValueError, match=r"n_components.*\b12\b"):
        LIMITED[name](13).fit(*tables, sample_weight=COUNTED)
    with pytest.raises(ValueError, match=r"n_components.*\b12\b"):
        LIMITED[name](13).fit(*(None if table is None else table[:12] for table in tables))


def test_components_without_variance_are_added_up_to_the_number_of_counted_rows():
    model = drop_in.KernelPCA(13).fit(FEW, sample_weight=COUNTED)
    assert model.eigenvalues_.shape == drop_in.KernelPCA(13).fit(FEW[:12]).eigenvalues_.shape == (12,)


def test_a_single_row_of_positive_weight_is_one_row():
    only = np.r_[1.0, np.zeros(19)]
    for model in (models.PPCA(), models.FactorAnalysis(), models.ICA()):
        with pytest.raises(ValueError, match="n_samples=1"):
            model.fit(FEW, sample_weight=only)
