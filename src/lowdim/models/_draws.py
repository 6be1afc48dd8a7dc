"""Draws of missing entries from their distribution given the observed entries, for multiple imputation."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from sklearn.base import clone

from .._xp import Array, asarray_like, astype, compute_lazy, namespace, to_numpy
from ..errors import (
    LowdimWarning,
    no_bootstrap_sample,
    other_rows_than_fit,
    refit_of_weighted_fit,
    without_warnings,
)
from ..selection.resampling import seed_of
from ..sources import Source, with_known_length
from ..summaries.entries import observed_entries
from ..summaries.latent import LatentGaussian
from ..summaries.packed import unpack

#: How often rows are drawn until each column has an observed entry among them.
_TRIES = 100


def draw_imputations(model: Any, X: Any, n_draws: Any, refit: Any, random_state: Any) -> Array:
    """Rows with their missing entries drawn `n_draws` times, (n_draws, n, p); see `LatentModel.impute`."""
    if isinstance(n_draws, bool) or not isinstance(n_draws, numbers.Integral) or n_draws < 1:
        raise ValueError(f"n_draws={n_draws!r} must be a whole number of at least 1, or None.")
    g = model._gaussian
    if refit and g.spread is not None:
        raise ValueError("refit=True is for maximum likelihood; with prior='vb', parameters are drawn without it.")
    source = model._open(X, reset=False, method="impute")
    several = bool(refit) or g.spread is not None
    if several:
        source = with_known_length(source, "for several draws, each with its own parameters")
    seed = seed_of(model.random_state if random_state is None else random_state)
    values, known, means, covariances = _read(model, source, g, entries=True)
    if refit:
        _check_rows_of_fit(model, len(values))
    draws = np.empty((int(n_draws), *values.shape))
    for b, draw in enumerate(draws):
        # Each draw has its own random numbers, so that the first draws do not depend on how many follow.
        random = np.random.default_rng([seed, b])
        at = g
        if several:
            at = _fit_of_sample(model, source, known, random) if refit else draw_parameters(g, random)
            means, covariances = _read(model, source, at)
        draw[:] = np.where(known, values, draw_rows(at, means, covariances, random))
    return asarray_like(draws, g.mean, dtype=source.dtype)


def draw_rows(g: LatentGaussian, means: np.ndarray, covariances: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Rows x = mean + scale (W^T u + e), for latent variables u ~ N(means, covariances) of each row."""
    k, p = g.loadings.shape
    n = len(means)
    roots = np.linalg.cholesky(covariances)
    u = means + np.einsum("nij,nj->ni", roots, random.standard_normal((n, k)))
    e = random.standard_normal((n, p)) * np.sqrt(to_numpy(g.noise))
    return to_numpy(g.mean) + to_numpy(g.scale) * (u @ to_numpy(g.loadings) + e)


def draw_parameters(g: LatentGaussian, random: np.random.Generator) -> LatentGaussian:
    """The model with loadings and means drawn from their posterior; the noise variance stays as it is."""
    assert g.spread is not None
    k, p = g.loadings.shape
    spread = np.moveaxis(unpack(to_numpy(g.spread), k + 1), 2, 0)
    steps = np.einsum("pij,pj->pi", np.linalg.cholesky(spread), random.standard_normal((p, k + 1)))
    mean = to_numpy(g.mean) + to_numpy(g.scale) * steps[:, k]
    W = to_numpy(g.loadings) + steps[:, :k].T
    return LatentGaussian(asarray_like(mean, g.mean), g.scale, asarray_like(W, g.mean), g.noise)


def _read(model: Any, source: Source, g: LatentGaussian, *, entries: bool = False) -> list[np.ndarray]:
    """Means (n, k) and covariances (n, k, k) of the latent variables given each row; one pass.

    With `entries`, the entries of the rows and which of them are observed come first, (n, p).
    """
    unstored, k, p = model.missing == "unstored", g.k, model.n_features_in_

    def all_of(block: Array) -> Array:
        seen = observed_entries(block, unstored)
        u, covariance, _ = g.expect(seen)
        parts = [seen.values().T, astype(seen.known(), u.dtype).T] if entries else []
        return namespace(u).concat([*parts, u, covariance]).T

    found = to_numpy(compute_lazy(model._map(source, all_of, "impute")))
    first = [found[:, :p], found[:, p : 2 * p] > 0.5] if entries else []
    rest = found[:, 2 * p :] if entries else found
    return [*first, rest[:, :k], np.moveaxis(unpack(np.ascontiguousarray(rest[:, k:].T), k), 2, 0)]


def _check_rows_of_fit(model: Any, n: int) -> None:
    """Refuse rows that cannot be those of the fit, or that were weighted there."""
    if model.total_weight_ != model.n_samples_:
        raise refit_of_weighted_fit(model.total_weight_, model.n_samples_)
    if n != model.n_samples_:
        raise other_rows_than_fit(n, model.n_samples_)


def _fit_of_sample(model: Any, source: Source, known: np.ndarray, random: np.random.Generator) -> LatentGaussian:
    """The density of a copy of the model that is fitted to rows drawn with replacement."""
    n = len(known)
    for _ in range(_TRIES):
        counts = random.multinomial(n, np.full(n, 1.0 / n))
        # Parameters of a column can be estimated if it has at least two observed entries.
        if np.all((counts > 0) @ known.astype(np.int64) >= 2):
            break
    else:
        raise no_bootstrap_sample(_TRIES)
    copy = clone(model).set_params(n_components=model.n_components_)
    if "rotation" in copy.get_params():
        # A rotation does not change the density.
        copy.set_params(rotation=None)
    with without_warnings(LowdimWarning):
        copy.fit(source, sample_weight=counts.astype(np.float64))
    found: LatentGaussian = copy._gaussian
    return found
