"""Where the methods of a report are described."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

#: What each section uses (that about two tables: for a response, and for another table), and the model that the report
#: is about, by the name of its class.
REFERENCES: dict[str, tuple[tuple[str, str], ...]] = {
    "PCA": (("principal components", "Jolliffe (2002), Principal component analysis, 2nd edition."),),
    "PPCA": (("probabilistic PCA", "Tipping, Bishop (1999), Probabilistic principal component analysis."),),
    "FactorAnalysis": (
        ("factor analysis", "Joreskog (1967), Some contributions to maximum likelihood factor analysis."),
    ),
    "ICA": (("independent components", "Hyvarinen, Karhunen, Oja (2001), Independent component analysis."),),
    "KernelPCA": (
        ("kernel PCA", "Scholkopf, Smola, Muller (1998), Nonlinear component analysis as a kernel eigenvalue problem."),
    ),
    "how-many": (("parallel analysis", "Horn (1965), A rationale and test for the number of factors."),),
    "meaning": (
        ("biplot", "Gabriel (1971), The biplot graphic display of matrices."),
        ("bootstrap intervals", "Efron, Tibshirani (1993), An introduction to the bootstrap."),
    ),
    "misfits": (
        ("Q and its limit", "Jackson, Mudholkar (1979), Control procedures for residuals associated with PCA."),
    ),
    "response": (
        ("PLS", "Wold, Sjostrom, Eriksson (2001), PLS-regression: a basic tool of chemometrics."),
        ("one standard error", "Breiman, Friedman, Olshen, Stone (1984), Classification and regression trees."),
    ),
    "other": (
        ("CCA", "Hotelling (1936), Relations between two sets of variates."),
        ("canonical ridge", "Vinod (1976), Canonical ridge and econometrics of joint production."),
        (
            "test of CCA",
            "Winkler, Renaud, Smith, Nichols (2020), Permutation inference for canonical correlation analysis.",
        ),
    ),
    "holes": (("missing entries", "Tipping, Bishop (1999), Probabilistic principal component analysis."),),
    "beyond": (
        ("kernel PCA", "Scholkopf, Smola, Muller (1998), Nonlinear component analysis as a kernel eigenvalue problem."),
        ("ICA", "Hyvarinen, Karhunen, Oja (2001), Independent component analysis."),
        ("kept neighbours", "Venna, Kaski (2001), Neighborhood preservation in nonlinear projection methods."),
    ),
}


def references_of(model: Any, keys: Sequence[str]) -> list[str]:
    """The references of a model and of the sections with these keys, each of them once, with what it is about."""
    found: dict[str, str] = {}
    for key in (type(model).__name__, *keys):
        for what, text in REFERENCES.get(key, ()):
            if text not in found.values():
                found[what] = text
    return [f"{what[0].upper()}{what[1:]}: {text}" for what, text in found.items()]
