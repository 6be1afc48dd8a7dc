"""Every model on every engine: the same rows in the same three partitions, and all arrays of the fitted models.

`engine_ways.py` has the ways to run an engine, and `engine_tolerances.py` how much the results may differ.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from lowdim import models
from lowdim.solvers import EM, FourierFeatures, Nystrom
from partitions import ENGINES, separate_parts

LENGTHS = (100, 50, 90)
X_NAMES, Y_NAMES = [f"x{i}" for i in range(5)], [f"y{i}" for i in range(3)]


def _tables() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """240 rows of five columns, with two strong sources that are not Gaussian; the same rows with missing entries; and
    a second table that depends on the first one."""
    rng = np.random.default_rng(1)
    sources = rng.laplace(size=(240, 2)) * [4.0, 3.0]
    X = sources @ rng.normal(size=(2, 5)) + rng.laplace(size=(240, 5)) * [0.8, 0.9, 1.0, 1.1, 1.2] + 100.0
    Y = sources @ rng.normal(size=(2, 3)) + rng.normal(size=(240, 3)) - 1.0
    return X, np.where(rng.random(X.shape) < 0.1, np.nan, X), Y


X, INCOMPLETE, Y = _tables()


@dataclass(frozen=True)
class Case:
    """A model, and what it is fitted to."""

    model: str
    options: Mapping[str, Any]
    two_tables: bool = False
    incomplete: bool = False
    #: Whether the fit brings all rows to the process of the user.
    gathers: bool = False

    def make(self) -> Any:
        return getattr(models, self.model)(n_components=2, **self.options)


_GAUSSIAN = {"kernel": "gaussian", "random_state": 0}
#: One row or more for each model. Iterations end early: each step is a pass, which takes Spark most of a second.
CASES: dict[str, Case] = {
    "PCA": Case("PCA", {}),
    "PCA, krylov": Case("PCA", {"solver": "krylov", "random_state": 0}),
    "PCA, triangle": Case("PCA", {"solver": "triangle"}),
    "Whitening": Case("Whitening", {}),
    "PPCA": Case("PPCA", {}),
    "PPCA, rows with missing entries": Case("PPCA", {"solver": EM(tol=0.3)}, incomplete=True),
    "FactorAnalysis": Case("FactorAnalysis", {}),
    "FeatureMapPCA": Case("FeatureMapPCA", {}),
    "KernelPCA, dense": Case("KernelPCA", {**_GAUSSIAN, "solver": "dense"}, gathers=True),
    "KernelPCA, nystrom": Case("KernelPCA", {**_GAUSSIAN, "solver": Nystrom(20)}),
    "KernelPCA, fourier": Case("KernelPCA", {**_GAUSSIAN, "solver": FourierFeatures(20)}),
    "AutoEncoder": Case("AutoEncoder", {"hidden": ()}),
    "ICA": Case("ICA", {"random_state": 0, "tol": 0.01}),
    "PCR": Case("PCR", {}, two_tables=True),
    "PLSRegression": Case("PLSRegression", {}, two_tables=True),
    "PLSCanonical": Case("PLSCanonical", {}, two_tables=True),
    "PLSSVD": Case("PLSSVD", {}, two_tables=True),
    "CCA": Case("CCA", {}, two_tables=True),
    "GCCA": Case("GCCA", {}, two_tables=True),
    "KernelCCA": Case("KernelCCA", {}, two_tables=True, gathers=True),
}


# ---- The rows on an engine. Each function gives the tables that a case is fitted to.


def as_arrays(case: Case) -> tuple[Any, ...]:
    rows = INCOMPLETE if case.incomplete else X
    return (rows, Y) if case.two_tables else (rows,)


def as_dask(case: Case) -> tuple[Any, ...]:
    import dask.array as da

    return tuple(da.from_array(table, chunks=(LENGTHS, -1)) for table in as_arrays(case))


def as_spark(session: Any) -> Callable[[Case], tuple[Any, ...]]:
    """Both tables are columns of one data frame, whose rows stay in their order and are kept by the executors."""
    edges = np.cumsum([0, *LENGTHS])

    def frame(table: np.ndarray, names: list[str]) -> Any:
        def rows(batches: Iterator[Any]) -> Iterator[Any]:
            import pyarrow as pa

            for batch in batches:
                for i in batch.column(0).to_pylist():
                    part = table[edges[i] : edges[i + 1]]
                    yield pa.RecordBatch.from_arrays([pa.array(column) for column in part.T], names)

        numbers = session.range(0, len(LENGTHS), 1, len(LENGTHS))
        return numbers.mapInArrow(rows, ", ".join(f"{name} double" for name in names)).cache()

    both, incomplete = frame(np.hstack([X, Y]), [*X_NAMES, *Y_NAMES]), frame(INCOMPLETE, X_NAMES)

    def given(case: Case) -> tuple[Any, ...]:
        if case.two_tables:
            return both, Y_NAMES
        return (incomplete if case.incomplete else both.select(*X_NAMES),)

    return given


# ---- Fits

#: Arrays by their names, for each case.
Fits = dict[str, dict[str, np.ndarray]]


def fitted_arrays(model: Any) -> dict[str, np.ndarray]:
    """All arrays of numbers that a fit has made, by the names of their attributes."""
    found = {}
    for name, value in vars(model).items():
        for i, each in enumerate(value if isinstance(value, list) else [value]):
            if name.endswith("_") and isinstance(each, np.ndarray) and each.dtype.kind == "f":
                found[f"{name}{i}" if isinstance(value, list) else name] = each
    return found


def fit_all(given: Callable[[Case], tuple[Any, ...]], engine: str | None = None) -> Fits:
    """What is compared of each case. Small partitions are not joined, so that summaries are merged."""
    with nullcontext() if engine is None else separate_parts(ENGINES[engine]):
        return {name: _results(case, case.make().fit(*given(case))) for name, case in CASES.items()}


def _results(case: Case, model: Any) -> dict[str, np.ndarray]:
    """What is compared of a fit: its arrays, the scores of some rows, the number of rows, and the solver that ran."""
    results = fitted_arrays(model)
    if case.model == "KernelCCA":
        # Kernel matrices have eigenvalues that are close to rounding: many coefficients give the same scores.
        del results["x_dual_coef_"], results["y_dual_coef_"]
    some = (X[:20], Y[:20]) if case.two_tables else (X[:20],)
    # A model that was fitted to a data frame of Spark warns that these arrays have no names of columns.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scores = model.transform(list(some)) if case.model == "GCCA" else model.transform(*some)
    for i, each in enumerate(scores if isinstance(scores, tuple) else [scores]):
        results[f"scores of table {i}"] = each
    return results | {"n_samples_": np.array(model.n_samples_), "solver_": np.array(model.solver_)}


def differences(found: Fits, expected: Fits) -> dict[str, float]:
    """For each case, the largest difference between arrays of two fits, relative to the largest entry of the array
    (of an array of zeros: the difference itself)."""
    largest = {}
    for name, arrays in expected.items():
        assert found[name].keys() == arrays.keys(), name
        numbers = {key for key, array in arrays.items() if array.dtype.kind == "f"}
        for key in arrays.keys() - numbers:
            assert found[name][key] == arrays[key], f"{name}: {key}"
        largest[name] = max(
            float(np.abs(found[name][key] - arrays[key]).max() / (np.abs(arrays[key]).max() or 1.0)) for key in numbers
        )
    return largest
