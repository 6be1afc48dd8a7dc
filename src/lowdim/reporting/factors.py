"""The factors of a factor analysis: rotation, correlations, loadings, communalities, and how well the model fits.

References
----------
.. [1] Hu, Bentler (1999), Cutoff criteria for fit indexes in covariance structure analysis.
.. [2] Kaiser (1974), An index of factorial simplicity.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from .._core.arrays import to_numpy
from ..inspect.factor_fit import FitReport, determinacy, fit_report
from ..inspect.tables import communalities, factor_correlations, pattern, structure
from ..models.factor_analysis import FactorAnalysis
from ..selection.suitability import factor_suitability
from ..solvers.latent.rotation import rotation_of
from ..table import Table
from .blocks import Block, Listing, Section, listed, number, prose, share

if TYPE_CHECKING:
    from .analysis import Analysis

#: Conventions for a good fit [1]: RMSEA and SRMR are at most, and CFI and TLI at least these.
_RMSEA, _SRMR, _CFI = 0.06, 0.08, 0.95
#: Below this KMO, columns have too little in common for factors [2].
_KMO = 0.5


def section(a: Analysis) -> Section | None:
    """The section; None for other models."""
    model = a.model
    if not isinstance(model, FactorAnalysis):
        return None
    suitability = factor_suitability(a.given, sample_weight=a.opened.weights)
    try:
        fit = fit_report(model, a.given if a.has_missing else None, sample_weight=a.opened.weights)
        verdict = _verdict(fit)
    except ValueError as error:
        fit, verdict = None, f"How well the model fits is not known: {error}"
    kmo = "" if suitability.kmo is None else _kmo(suitability.kmo)
    blocks: list[Block] = [*prose(_rotation(model), verdict, kmo), Listing(_loadings(model), shown=20)]
    if is_oblique(model):
        blocks += [Listing(structure(model), shown=20), Listing(factor_correlations(model))]
    if fit is not None:
        blocks.append(Listing(fit.table(), shown=20))
    blocks.append(Listing(determinacy(model)))
    units = "standard deviations of the columns" if model.scale else "the units of the columns"
    lead = (
        "The factors are not observed: each column is a weighted sum of the factors and of a part of its own, the "
        f"uniqueness. Loadings are these weights, in {units}; a communality is the variance of a column that the "
        "factors explain. Determinacy is the correlation of a factor with its estimated scores."
    )
    return Section("factors", "The factors and their fit", lead, blocks, verdict)


def is_oblique(model: FactorAnalysis) -> bool:
    """Whether the factors of a model are correlated."""
    phi = to_numpy(model.phi_)
    return bool(np.any(np.abs(phi - np.eye(len(phi))) > 1e-8))


def _rotation(model: FactorAnalysis) -> Iterator[str]:
    """What the factors explain together, and how they are rotated."""
    shares = to_numpy(model.explained_variance_ratio_)
    each = [f"{name} {share(float(part))}" for name, part in zip(model.component_names_, shares, strict=True)]
    yield f"Together the factors explain {share(float(shares.sum()))} of the variance ({listed(each, 10)})."
    rotation = rotation_of(model.rotation)
    if rotation is None:
        yield "They are not rotated."
    elif is_oblique(model):
        phi = np.abs(to_numpy(model.phi_) - np.eye(len(shares)))
        i, j = sorted(np.unravel_index(int(np.argmax(phi)), phi.shape))
        names, r = model.component_names_, float(to_numpy(model.phi_)[i, j])
        yield (
            f"They are rotated by {rotation.name} and correlated, {names[i]} with {names[j]} most ({r:.2f}), so that "
            "loadings differ from the correlations of columns with factors, which are another table."
        )
    else:
        yield f"They are rotated by {rotation.name}, which keeps them uncorrelated."


def _verdict(fit: FitReport) -> str:
    """The measures of fit, and what is usually thought of them."""
    if fit.chi_square is None or fit.rmsea is None or fit.rmsea_interval is None or fit.p_value is None:
        return " ".join(["How well the factors fit is not known.", *fit.notes])
    p = "p < 0.001" if fit.p_value < 1e-3 else f"p = {fit.p_value:.3f}"
    (low, high), notes = fit.rmsea_interval, " ".join(fit.notes)
    # Each measure, and how far it is on the good side of its convention.
    known = {"RMSEA": _RMSEA - fit.rmsea}
    known |= {name: value - _CFI for name, value in (("CFI", fit.cfi), ("TLI", fit.tli)) if value is not None}
    known |= {"SRMR": _SRMR - fit.srmr} if fit.srmr is not None else {}
    good, bad = ([name for name, margin in known.items() if (margin >= 0) is well] for well in (True, False))
    says = [f"{listed(good)} {'says' if len(good) == 1 else 'say'} that the model fits well"] if good else []
    says += [f"{listed(bad)} {'says' if len(bad) == 1 else 'say'} that it does not"] if bad else []
    measures = {"CFI": fit.cfi, "TLI": fit.tli, "SRMR": fit.srmr}
    told = [f"{name} {value:.3f}" for name, value in measures.items() if value is not None]
    return (
        f"Chi-square is {number(fit.chi_square)} with {fit.dof} degrees of freedom ({p}), RMSEA {fit.rmsea:.3f} "
        f"({fit.confidence_level:.0%} interval {low:.3f} to {high:.3f}), {listed(told)}. By the usual "
        f"conventions (RMSEA up to {_RMSEA}, CFI and TLI from {_CFI}, SRMR up to {_SRMR}), "
        f"{', and '.join(says)}.{f' {notes}' if notes else ''}"
    )


def _kmo(kmo: float) -> str:
    """How much the columns have in common."""
    what = "too little in common for factors" if kmo < _KMO else "enough in common for factors"
    return f"Kaiser, Meyer and Olkin's measure (KMO) is {kmo:.2f}: by the usual convention, columns have {what}."


def _loadings(model: FactorAnalysis) -> Table:
    """Loadings beside communalities and uniquenesses."""
    weights, parts = pattern(model), communalities(model)
    columns = {name: weights[name] for name in weights.columns} | {name: parts[name] for name in parts.columns}
    return Table(columns, weights.rows, title="Loadings, communalities and uniquenesses", row_name="column")
