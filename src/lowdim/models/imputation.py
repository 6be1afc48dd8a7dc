"""What `impute` fills in: bounds of missing entries, and draws of them from their distribution."""

from __future__ import annotations

import math
import numbers
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import special
from sklearn.base import clone

from .._core.arrays import Array, asarray_like, astype, compute_lazy, namespace, to_numpy
from .._core.types import RandomState
from ..errors import ImputedRangeWarning, LowdimWarning, other_rows_than_fit, warn_user, without_warnings
from ..selection.parallel_analysis import seed_of
from ..sources.base import Source
from ..sources.derived import with_known_length
from ..sources.opening import TableLike
from ..summaries.latent import LatentGaussian, observed_entries, unpack

# Bounds of missing entries: truncated normal distributions.


#: From this many standard deviations on, the variance of the tail of a normal distribution is found from a series.
_FAR = 50.0
#: What is beyond exp(-_WHOLE_TAIL) of a tail does not count.
_WHOLE_TAIL = 40.0


class Bounds(NamedTuple):
    """Intervals in which entries lie, one for each column (or entry)."""

    low: np.ndarray
    high: np.ndarray

    @classmethod
    def of(cls, model: Any, lower: Any, upper: Any) -> Self | None:
        """The bounds of missing values of a model; None if there are none."""
        ends = [_bound(value, name, model) for value, name in ((lower, "lower"), (upper, "upper"))]
        if all(end is None for end in ends):
            return None
        nothing = np.full(model.n_features_in_, np.nan)
        both = zip((nothing if end is None else end for end in ends), (-math.inf, math.inf), strict=True)
        low, high = (np.where(np.isnan(end), none, end) for end, none in both)
        if np.any(low >= high):
            j = int(np.argmax(low >= high))
            raise ValueError(f"lower must be below upper, got {low[j]:g} and {high[j]:g} for {model._row_names()[j]}.")
        return cls(low, high)

    def moments(self, mean: Array, sd: Array) -> tuple[Array, Array]:
        """Means and standard deviations of normal variables, given that they lie within the bounds."""
        m, s = to_numpy(mean), to_numpy(sd)
        a, b = (self.low - m) / s, (self.high - m) / s
        # The tails are computed below zero, where they lose no digits.
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            flip = np.where(a + b > 0.0, -1.0, 1.0)
            a, b = np.where(flip > 0, a, -b), np.where(flip > 0, b, -a)
            log_b = special.log_ndtr(b)
            log_z = log_b + np.log1p(-np.exp(special.log_ndtr(a) - log_b))
            at_a, at_b = (np.exp(-0.5 * end * end - 0.5 * math.log(2 * math.pi) - log_z) for end in (a, b))
            d = at_a - at_b
            ends = (np.where(np.isfinite(end), end * at, 0.0) for end, at in ((a, at_a), (b, at_b)))
            variance = np.clip(1.0 + next(ends) - next(ends) - d * d, 0.0, 1.0)
            # Far from the mean, these differences lose digits. There is a series for the whole tail; the density of a
            # part of it is nearly exp(-|b| x), or nearly constant.
            r, width = 1.0 / b**2, b - a
            part = np.where(-b * width < 1e-2, width**2 / 12.0, r - (0.5 * width / np.sinh(-0.5 * b * width)) ** 2)
            tail = np.where(-b * width < _WHOLE_TAIL, part, r - 6.0 * r**2 + 50.0 * r**3)
            variance = np.where(b < -_FAR, tail, variance)
        found = np.clip(m + s * flip * d, self.low, self.high)
        return asarray_like(found, mean, dtype=mean.dtype), asarray_like(s * np.sqrt(variance), sd, dtype=sd.dtype)

    def draw(self, mean: np.ndarray, sd: np.ndarray, random: np.random.Generator) -> np.ndarray:
        """Normal variables, given that they lie within the bounds, by the inverse of their distribution function."""
        a, b = (self.low - mean) / sd, (self.high - mean) / sd
        flip = np.where(a > 0.0, -1.0, 1.0)
        a, b = np.where(flip > 0, a, -b), np.where(flip > 0, b, -a)
        u = random.random(mean.shape)
        with np.errstate(divide="ignore"):
            # In logarithms, because bounds may be so far away that the probabilities underflow.
            z = special.ndtri_exp(np.logaddexp(np.log1p(-u) + special.log_ndtr(a), np.log(u) + special.log_ndtr(b)))
        return np.clip(mean + sd * flip * np.clip(z, a, b), self.low, self.high)


def _bound(value: Any, name: str, model: Any) -> np.ndarray | None:
    """A bound as an array with a number for each column, or None."""
    if value is None:
        return None
    p = model.n_features_in_
    if hasattr(value, "items"):  # a dict, or a Series of pandas
        columns, found = {str(column): j for j, column in enumerate(model._row_names())}, np.full(p, np.nan)
        for key, number in value.items():
            # 900 is also the name of column 900.0.
            as_text = [str(key), str(float(key))] if isinstance(key, numbers.Real) else [str(key)]
            j = next((columns[text] for text in as_text if text in columns), None)
            if j is None:
                raise ValueError(f"{name} names {key!r}, which is not one of the {p} columns of the fit.")
            found[j] = number
        return found
    found = np.asarray(value, dtype=np.float64)
    if found.shape not in ((), (p,)):
        raise ValueError(f"{name} must be a number, one for each of {p} columns, or a dict, got shape {found.shape}.")
    return np.broadcast_to(found, (p,)).copy()


#: At most so many columns are named in a warning.
_NAMED = 5
#: Zero is a bound of a column if no entry is negative, and so many would be if it were Gaussian.
_SEVERAL = 3.0


def warn_of_negative(model: Any, counts: list[np.ndarray]) -> None:
    """Warn of negative values that were filled in where no observed entry is negative, although several would be if
    the column were Gaussian: then zero is a bound, and not just below the smallest entry.

    `counts` has for blocks of rows the numbers of entries of each column that are observed and negative, observed, and
    filled in and negative.
    """
    if not counts:
        return
    negative, observed, below = np.sum(counts, axis=0)
    g = model._gaussian
    sd = np.sqrt(np.sum(to_numpy(g.loadings) ** 2, axis=0) + to_numpy(g.noise)) * to_numpy(g.scale)
    expected = observed * special.ndtr(-to_numpy(g.mean) / sd)
    columns = np.flatnonzero((negative == 0) & (below > 0) & (expected >= _SEVERAL))
    if len(columns):
        names = ", ".join(str(model._row_names()[j]) for j in columns[:_NAMED])
        more = f" and {len(columns) - _NAMED} more" if len(columns) > _NAMED else ""
        n = int(below[columns].sum())
        warn_user(
            f"{n} missing {'values' if n > 1 else 'value'} of {names}{more} {'were' if n > 1 else 'was'} filled in "
            "below zero, where no observed entry is. If they cannot be negative, pass bounds, such as lower=0 for "
            "all columns or lower={name: 0} for some, or fit logarithms.",
            ImputedRangeWarning,
        )


# Draws of missing entries from their distribution given the observed entries, for multiple imputation.


#: How often rows are drawn until each column has an observed entry among them, or until all bounds are kept.
_TRIES = 100


def draw_imputations(
    model: Any,
    X: TableLike,
    n_draws: Any,
    refit: Any,
    random_state: RandomState | np.random.Generator,
    bounds: Bounds | None = None,
) -> Array:
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
        if model.total_weight_ != model.n_samples_:
            raise ValueError(
                f"refit=True draws rows with replacement, and the {model.n_samples_} rows of the fit had weights (of "
                f"{model.total_weight_:g} in all). Repeat the rows by their weights and fit again, or draw with "
                "refit=False."
            )
        if len(values) != model.n_samples_:
            raise other_rows_than_fit(len(values), model.n_samples_)
    draws = np.empty((int(n_draws), *values.shape))
    for b, draw in enumerate(draws):
        # Each draw has its own random numbers, so that the first draws do not depend on how many follow.
        random = np.random.default_rng([seed, b])
        at = g
        if several:
            at = _fit_of_sample(model, source, known, random) if refit else draw_parameters(g, random)
            means, covariances = _read(model, source, at)
        draw[:] = np.where(known, values, draw_rows(at, means, covariances, random))
        if bounds is not None:
            _redraw(draw, known, at, means, covariances, bounds, random)
    return asarray_like(draws, g.mean, dtype=source.dtype)


def draw_rows(g: LatentGaussian, means: np.ndarray, covariances: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Rows x = mean + scale (W^T u + e), for latent variables u ~ N(means, covariances) of each row."""
    k, p = g.loadings.shape
    n = len(means)
    roots = np.linalg.cholesky(covariances)
    u = means + np.einsum("nij,nj->ni", roots, random.standard_normal((n, k)))
    e = random.standard_normal((n, p)) * np.sqrt(to_numpy(g.noise))
    return to_numpy(g.mean) + to_numpy(g.scale) * (u @ to_numpy(g.loadings) + e)


def _redraw(
    draw: np.ndarray,
    known: np.ndarray,
    g: LatentGaussian,
    means: np.ndarray,
    covariances: np.ndarray,
    bounds: Bounds,
    random: np.random.Generator,
) -> None:
    """Draw rows again, in place, until their missing entries are within the bounds; see `LatentModel.impute`."""

    def outside(rows: np.ndarray) -> np.ndarray:
        return ~known[rows] & ((draw[rows] < bounds.low) | (draw[rows] > bounds.high))

    rows = np.arange(len(draw))
    for _ in range(_TRIES):
        rows = rows[outside(rows).any(axis=1)]
        if not len(rows):
            return
        again = draw_rows(g, means[rows], covariances[rows], random)
        draw[rows] = np.where(known[rows], draw[rows], again)
    wrong = outside(rows)
    u = means[rows] + np.einsum(
        "nij,nj->ni", np.linalg.cholesky(covariances[rows]), random.standard_normal((len(rows), g.k))
    )
    scale = to_numpy(g.scale)
    guess = to_numpy(g.mean) + scale * (u @ to_numpy(g.loadings))
    sd = np.broadcast_to(np.sqrt(to_numpy(g.noise)) * scale, guess.shape)
    draw[rows] = np.where(wrong, bounds.draw(guess, sd, random), draw[rows])


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
        observed = observed_entries(block, unstored)
        u, covariance, _ = g.expect(observed)
        parts = [observed.values().T, astype(observed.known(), u.dtype).T] if entries else []
        return namespace(u).concat([*parts, u, covariance]).T

    found = to_numpy(compute_lazy(model._map(source, all_of, "impute")))
    first = [found[:, :p], found[:, p : 2 * p] > 0.5] if entries else []
    rest = found[:, 2 * p :] if entries else found
    return [*first, rest[:, :k], np.moveaxis(unpack(np.ascontiguousarray(rest[:, k:].T), k), 2, 0)]


def _fit_of_sample(model: Any, source: Source, known: np.ndarray, random: np.random.Generator) -> LatentGaussian:
    """The density of a copy of the model that is fitted to rows drawn with replacement."""
    n = len(known)
    for _ in range(_TRIES):
        counts = random.multinomial(n, np.full(n, 1.0 / n))
        # Parameters of a column can be estimated if it has at least two observed entries.
        if np.all((counts > 0) @ known.astype(np.int64) >= 2):
            break
    else:
        raise ValueError(
            f"in {_TRIES} samples of the rows, some column had less than two observed entries, so that no model can be "
            "fitted to them. Drop columns with so few observed entries, or draw with refit=False."
        )
    copy = clone(model).set_params(n_components=model.n_components_)
    if "rotation" in copy.get_params():
        # A rotation does not change the density.
        copy.set_params(rotation=None)
    with without_warnings(LowdimWarning):
        copy.fit(source, sample_weight=counts.astype(np.float64))
    found: LatentGaussian = copy._gaussian
    return found
