"""One example for each member of the tables of lowdim: data and options with which it does something.

Grids over all models, solvers, kernels and so on are made from the tables themselves; what such a grid needs to know
of a single member is one row here. `test_examples.py` fails if a row is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import lowdim
from lowdim import models
from lowdim._core.arrays import to_numpy
from lowdim.densities import DENSITIES
from lowdim.kernels import KERNELS
from lowdim.solvers import ICA_SOLVERS, KERNEL_SOLVERS, LATENT_SOLVERS, REDUCTIONS, SOLVERS

RNG = np.random.default_rng(8)
#: 90 rows of five columns of two strong sources and three weak ones, none of them Gaussian, far from zero.
X = RNG.laplace(size=(90, 5)) * [5.0, 4.0, 1.0, 0.8, 0.6] @ np.linalg.qr(RNG.standard_normal((5, 5)))[0] + 3.0
#: A second table of the same rows.
Y = X[:, :2] @ RNG.standard_normal((2, 3)) + 0.3 * RNG.standard_normal((90, 3)) - 1.0
#: 40 of these rows in 44 noisy columns, and a second table of 42 columns: fewer rows than columns.
WIDE = X[:40] @ RNG.standard_normal((5, 44)) + 3.0 * RNG.standard_normal((40, 44))
WIDE_Y = Y[:40] @ RNG.standard_normal((3, 42)) + 3.0 * RNG.standard_normal((40, 42))


@dataclass(frozen=True)
class Example:
    """How one model is made, and what it is fitted to."""

    #: Options of the constructor.
    options: Mapping[str, Any] = field(default_factory=lambda: {"n_components": 2})
    #: Further options without which it cannot be fitted to fewer rows than columns.
    wide_options: Mapping[str, Any] = field(default_factory=dict)
    #: Whether it relates `Y` to `X`.
    two_tables: bool = False
    #: The solvers that its option `solver` knows by name, "auto" left out; empty where it has no such option.
    solvers: tuple[str, ...] = ()
    #: What is compared between two fits: arrays that signs and order leave alone, by name.
    compared: Callable[[Any], dict[str, Any]] = lambda model: {"explained_variance_": model.explained_variance_}


def close(found, expected, tol=1e-9):
    """Equal to `tol` of the largest entry."""
    np.testing.assert_allclose(found, expected, rtol=0, atol=tol * np.abs(expected).max())


def _correlations(model: Any) -> dict[str, Any]:
    return {"correlations_": model.correlations_}


def _coefficients(model: Any) -> dict[str, Any]:
    return {"coef_": model.coef_}


def _pair(model: Any) -> dict[str, Any]:
    return {"x_rotations_": np.abs(to_numpy(model.x_rotations_))}


_SPECTRAL, _TABLES = tuple(SOLVERS), tuple(REDUCTIONS)
#: One row a model.
MODELS: dict[str, Example] = {
    "PCA": Example(solvers=_SPECTRAL),
    "Whitening": Example(
        {"n_components": 2}, solvers=_SPECTRAL, compared=lambda m: {"precision": m.components_.T @ m.components_}
    ),
    "PPCA": Example(solvers=(*_SPECTRAL, "em")),
    "FactorAnalysis": Example(solvers=tuple(LATENT_SOLVERS)),
    "FeatureMapPCA": Example(solvers=tuple(name for name, cls in SOLVERS.items() if not cls.reads_columns)),
    "KernelPCA": Example({"n_components": 2, "kernel": "polynomial"}, solvers=tuple(KERNEL_SOLVERS)),
    # Without hidden layers it needs no torch; tests/models/test_auto_encoder.py has the networks that are trained.
    "AutoEncoder": Example(
        {"n_components": 2, "hidden": ()},
        solvers=("linear",),
        compared=lambda m: {"latent_covariance_": m.latent_covariance_},
    ),
    "ICA": Example(solvers=tuple(ICA_SOLVERS)),
    "PCR": Example(two_tables=True, solvers=_TABLES, compared=_coefficients),
    "PLSRegression": Example(two_tables=True, solvers=_TABLES, compared=_coefficients),
    "PLSCanonical": Example(two_tables=True, solvers=_TABLES, compared=_pair),
    "PLSSVD": Example(two_tables=True, solvers=_TABLES, compared=_pair),
    "CCA": Example(two_tables=True, solvers=_TABLES, compared=_correlations, wide_options={"regularization": 0.2}),
    "GCCA": Example(two_tables=True, solvers=_TABLES, compared=_correlations, wide_options={"regularization": 0.2}),
    "KernelCCA": Example(two_tables=True, compared=_correlations),
}


#: Models of tables with categories, and of counts. Grids over all kinds of numbers leave them out: they have tests of
#: their own in tests/models/test_mixed.py and test_ca.py.
WITH_CATEGORIES = ("CA", "FAMD", "MCA", "MFA")
#: All other models.
OF_NUMBERS = [name for name in models.__all__ if name not in WITH_CATEGORIES]

#: Models of tables side by side, which are first reduced.
REDUCED = [name for name, row in MODELS.items() if row.solvers == _TABLES]


def make(name: str, **options: Any) -> Any:
    """The model of this name, as its row says, with further options."""
    return getattr(models, name)(**{**MODELS[name].options, **options})


def tables(name: str, x: Any = X, y: Any = Y) -> tuple[Any, ...]:
    """What the model is fitted to: rows, and a second table where it needs one."""
    return (x, y) if MODELS[name].two_tables else (x,)


def fitted(name: str, **options: Any) -> Any:
    """The model of this name, fitted to its example."""
    return make(name, **options).fit(*tables(name))


@dataclass(frozen=True)
class KernelSolverExample:
    """What a solver of kernel PCA is tried with."""

    #: The name of a kernel that it can do.
    kernel: str
    #: Whether components are those of the kernel itself.
    exact: bool = True
    #: Whether it works with the matrix of all pairs of rows.
    pairs: bool = False


KERNEL_SOLVER_EXAMPLES: dict[str, KernelSolverExample] = {
    "dense": KernelSolverExample("gaussian", pairs=True),
    "krylov": KernelSolverExample("gaussian", pairs=True),
    "matrix-free": KernelSolverExample("gaussian", pairs=True),
    "nystrom": KernelSolverExample("gaussian", exact=False),
    "fourier": KernelSolverExample("gaussian", exact=False),
    "features": KernelSolverExample("polynomial"),
}


def able(kernel: Any, k: int | None = 2) -> list[str]:
    """The solvers of kernel PCA that take this kernel, by name."""

    def can(name: str) -> bool:
        try:
            lowdim.solvers.kernel_plan((60, 3), k, kernel=kernel, solver=name)
        except (TypeError, ValueError):
            return False
        return True

    return [name for name in KERNEL_SOLVERS if can(name)]


#: Parameters with which each kernel is tried.
KERNEL_EXAMPLES: dict[str, dict[str, Any]] = {
    "linear": {},
    "polynomial": {"degree": 2, "gamma": 0.1},
    "quadratic": {"coef0": 1.0},
    "gaussian": {"gamma": 0.02},
    "laplacian": {"gamma": 0.1},
    "sigmoid": {"gamma": 0.01, "coef0": 0.1},
    "thin plate spline": {"c": 20.0},
    "cosine": {},
    "matern": {"length_scale": 8.0},
}


def kernel(name: str) -> Any:
    """The kernel of this name with the parameters of its row."""
    return KERNELS[name](**KERNEL_EXAMPLES[name])


#: Parameters with which each density is tried.
DENSITY_EXAMPLES: dict[str, dict[str, Any]] = {
    "sech": {},
    "infomax": {},
    "student": {"freedom": 5.0},
    "generalized-gaussian": {"shape": 1.5},
}


def density(name: str) -> Any:
    """The density of this name with the parameters of its row."""
    return DENSITIES[name](**DENSITY_EXAMPLES[name])


#: Solvers of spectra by what they say of themselves: all, those that find all eigenpairs, those that keep a summary.
SPECTRAL = list(SOLVERS)
FINDS_ALL = [name for name, cls in SOLVERS.items() if cls.finds_all]
SUMMARIZES = [name for name, cls in SOLVERS.items() if cls.starts_from is not None]
KEEPS_NOTHING = [name for name in SPECTRAL if name not in SUMMARIZES]
#: Reductions that keep a summary.
STREAMS = [name for name, cls in REDUCTIONS.items() if cls.starts_from is not None]
#: Solvers of kernel PCA that work with pairs of rows.
PAIRS = [name for name, row in KERNEL_SOLVER_EXAMPLES.items() if row.pairs]
#: And those that map rows, and solve for a summary of their features.
MAPS = [name for name in KERNEL_SOLVERS if name not in PAIRS]
