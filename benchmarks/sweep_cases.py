"""The cases of the sweep: shapes, numbers of components, models and functions of `selection`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse

import lowdim
from benchmarks import sweep_needs as needs
from lowdim.models.whitening import KINDS
from lowdim.selection import RULES

#: n, p and, for the sparse table of the same shape, the fraction of entries that are stored.
SHAPES = {
    "1 x 1,000,000": (1, 1_000_000, 0.01),
    "1,000,000 x 1": (1_000_000, 1, 0.1),
    "3,000 x 3,000": (3_000, 3_000, 0.01),
    "100,000 x 10": (100_000, 10, 0.2),
    "20 x 50,000": (20, 50_000, 0.01),
}
QUICK_SHAPES = {
    "1 x 10,000": (1, 10_000, 0.01),
    "10,000 x 1": (10_000, 1, 0.1),
    "100 x 100": (100, 100, 0.05),
    "2,000 x 10": (2_000, 10, 0.2),
    "20 x 500": (20, 500, 0.05),
}
#: "some" components, responses, bootstrap draws, shuffles, and parts of the jackknife.
SOME, RESPONSES, DRAWS, SHUFFLES, PARTS = 5, 3, 20, 19, 5
#: A case of the quick sweep takes one of these for the number of components.
QUICK_COUNTS = (1, SOME, None, 0.9, "bic", "kaiser", "cv")


@dataclass(frozen=True)
class Case:
    """A task on one shape. `prepare(tables)` returns the function that is timed."""

    model: str
    task: str
    prepare: Callable[[dict[str, Any]], Callable[[], Any]]
    needs: list[Counter]


def make_tables(n: int, p: int, density: float | None) -> dict[str, Any]:
    """X (n x p), Y with half as many columns and responses, all of the same ten Laplace variables and Gaussian noise.

    With `density`, X and Y are sparse: only that fraction of the entries is kept.
    """
    random = np.random.default_rng(0)
    q = max(1, p // 2)
    latent = random.laplace(size=(n, 10)) * np.linspace(3, 1, 10)

    def table(width):
        if density is None:
            return latent @ random.standard_normal((10, width)) + random.standard_normal((n, width))
        stored = scipy.sparse.random_array((n, width), density=density, format="coo", rng=random)
        rows, columns = stored.coords
        loadings = random.standard_normal((width, 10))
        values = np.einsum("ij,ij->i", latent[rows], loadings[columns]) + random.standard_normal(len(rows))
        return scipy.sparse.csr_array((values, (rows, columns)), shape=(n, width))

    X, Y = table(p), table(q)
    responses = latent @ random.standard_normal((10, RESPONSES)) + random.standard_normal((n, RESPONSES))
    return {"X": X, "Y": Y, "responses": responses}


def cases(n: int, p: int, quick: bool = False) -> Iterator[Case]:
    """All cases for tables of n rows and p columns (the second table has p / 2)."""
    for name in MODELS:
        yield from MODELS[name](name, n, p, quick)
    yield from choosing(n, p, quick)


# ---- Numbers of components


def counts(
    n: int, p: int, quick: bool, fraction: bool = True, rules: tuple[str, ...] = ()
) -> Iterator[tuple[str, Any]]:
    """The text and the value of n_components: 1, some, all, a fraction, each rule."""
    allowed: list[Any] = [1, *([SOME] if min(n, p) > SOME else []), None, *([0.9] if fraction else []), *rules]
    for k in allowed:
        if not quick or k in QUICK_COUNTS:
            yield ("all" if k is None else repr(k)), k


def whole(k: Any) -> int | None:
    """The number of components if it is known beforehand; otherwise all eigenvalues are needed."""
    return k if isinstance(k, int) else None


# ---- Fits of one table


def fitted(model: Any, tables: dict[str, Any], second: str | None = None) -> Any:
    given = [tables["X"]] if second is None else [tables["X"], tables[second]]
    return model.fit(*given)


def fit_case(name: str, text: str, model: Any, need: list[Counter], second: str | None = None) -> Case:
    return Case(name, f"fit, {text}", lambda tables: partial(fitted, model, tables, second), need)


def transform_case(name: str, model: Any, n: int, p: int, second: str | None = None) -> Case:
    """`transform` of the rows of the fit, or `predict` for a model that has both."""

    def prepare(tables):
        fit = fitted(model, tables, second)
        method = fit.predict if hasattr(fit, "predict") else fit.transform
        return lambda: method(tables["X"])

    k = model.get_params()["n_components"]
    need = Counter({("read", "X"): 1, ("lift", "X", min(n, p) if k is None else k): 1})
    method = "predict" if hasattr(model, "predict") else "transform"
    return Case(name, f"{method}, {'all' if k is None else k}", prepare, [need])


def spectral(name: str, n: int, p: int, quick: bool) -> Iterator[Case]:
    """PCA and PPCA."""
    kind = getattr(lowdim, name)
    for text, k in counts(n, p, quick, fraction=name == "PCA", rules=tuple(RULES)):
        need = needs.rules(n, p, [k]) if isinstance(k, str) else needs.spectrum(n, p, whole(k))
        yield fit_case(name, text, kind(k), need)
    yield transform_case(name, kind(1), n, p)
    yield cross_validated(name, n, p, needs.rules(n, p, ["cv"]))
    yield bootstrapped(name, kind(1), needs.bootstrapped(n, p, 1, DRAWS))
    if name == "PCA":
        test = partial(lowdim.permutation_test, kind(), n_resamples=SHUFFLES)
        yield Case(name, f"permutation_test, {SHUFFLES} shuffles", lambda tables: partial(test, tables["X"]),
                   needs.permuted(n, p, SHUFFLES))  # fmt: skip


def whitening(name: str, n: int, p: int, quick: bool) -> Iterator[Case]:
    for kind in KINDS:
        reduces = kind.startswith("pca")
        for text, k in counts(n, p, quick) if reduces else [("all", None)]:
            need = needs.whitening(n, p, whole(k), kind)
            yield fit_case(name, f"{kind}, {text}", lowdim.Whitening(kind, n_components=k), need)
    for shrinkage in ("ledoit-wolf", "oas"):
        model = lowdim.Whitening("zca", regularization=shrinkage)
        yield fit_case(name, f"zca, {shrinkage}", model, needs.whitening(n, p, None, "zca"))
    yield transform_case(name, lowdim.Whitening("zca"), n, p)


def factor_analysis(name: str, n: int, p: int, quick: bool) -> Iterator[Case]:
    kind = lowdim.FactorAnalysis
    rules = ("bic", "aic", "cv", "kaiser", "parallel", "map")
    for text, k in counts(n, p, quick, fraction=False, rules=rules):
        if k in ("bic", "aic", "cv"):
            need = needs.factors(n, p, SOME, fits=needs.TRIED, folds=5 if k == "cv" else 1)
        elif isinstance(k, str):
            need = [needs.add(needs.factors(n, p, SOME)[0], needs.rules(n, p, [k])[0])]
        else:
            need = needs.factors(n, p, k)
        yield fit_case(name, text, kind(k), need)
    yield transform_case(name, kind(1), n, p)
    yield cross_validated(name, n, p, needs.factors(n, p, SOME, fits=needs.TRIED, folds=5))
    yield bootstrapped(name, kind(1), needs.bootstrapped_factors(n, p, 1, DRAWS))


def ica(name: str, n: int, p: int, quick: bool) -> Iterator[Case]:
    for text, k in counts(n, p, quick, rules=("bic", "parallel", "cv")):
        need = needs.sources(n, p, SOME if isinstance(k, str) else whole(k))
        if isinstance(k, str):
            need = [needs.add(need[0], needs.rule(n, p, k))]
        yield fit_case(name, text, lowdim.ICA(k), need)
    yield transform_case(name, lowdim.ICA(1), n, p)


def feature_map(name: str, n: int, p: int, quick: bool) -> Iterator[Case]:
    for text, k in counts(n, p, quick):
        yield fit_case(name, text, lowdim.FeatureMapPCA(k), needs.mapped(n, p, whole(k)))


def kernel_pca(name: str, n: int, p: int, quick: bool) -> Iterator[Case]:
    for text, k in counts(n, p, quick):
        yield fit_case(name, f"linear, {text}", lowdim.KernelPCA(k), needs.spectrum(n, p, whole(k)))
        # It fills the memory that it may take, by default half of the machine.
        model = lowdim.KernelPCA(k, kernel="rbf", memory="2 GiB")
        yield fit_case(name, f"rbf, {text}", model, needs.kernel(n, p, whole(k)))


def auto_encoder(name: str, n: int, p: int, quick: bool) -> Iterator[Case]:
    """Without hidden layers: what training takes depends on the rows."""
    for text, k in counts(n, p, quick, fraction=False, rules=()):
        if k is not None and k <= min(n, p):
            yield fit_case(name, text, lowdim.AutoEncoder(k, hidden=()), needs.spectrum(n, p, k))


# ---- Two and more tables


def regression(name: str, n: int, p: int, quick: bool) -> Iterator[Case]:
    """PLSRegression and PCR of a few responses."""
    kind = getattr(lowdim, name)
    q = RESPONSES
    partial_least_squares = name == "PLSRegression"
    held_out = needs.regression(n, p, q, 20, 6) if partial_least_squares else needs.rules(n, p, ["cv"])
    for text, k in counts(n, p, quick, fraction=False, rules=("cv",)):
        fit = needs.regression(n, p, q, whole(k)) if partial_least_squares else needs.spectrum(n, p, whole(k))
        need = held_out if k == "cv" else fit
        yield fit_case(name, text, kind(k), need, "responses")
    yield transform_case(name, kind(1), n, p, "responses")
    yield cross_validated(name, n, p, held_out, "responses")
    yield bootstrapped(name, kind(1), needs.bootstrapped(n, p, 1, DRAWS), "responses")

    def left_out(tables):
        fit = fitted(kind(1), tables, "responses")
        return lambda: fit.jackknife(tables["X"], tables["responses"], cv=PARTS)

    parts = needs.regression(n, p, q, 1, PARTS) if partial_least_squares else needs.rules(n, p, ["cv"])
    yield Case(name, f"jackknife, {PARTS} parts", left_out, parts)


def canonical(name: str, n: int, p: int, quick: bool) -> Iterator[Case]:
    """CCA, PLSCanonical and PLSSVD of two tables, of which the second has half as many columns."""
    kind, q = getattr(lowdim, name), max(1, p // 2)
    options = [{}, {"regularization": 0.1}] if name == "CCA" else [{}]
    for option in options:
        ridge = ", ridge" if option else ""
        for text, k in counts(n, q, quick, fraction=False, rules=("cv",) if name == "CCA" else ()):
            need = needs.pair(n, p, q, parts=6 if k == "cv" else 1)
            yield fit_case(name, text + ridge, kind(k, **option), need, "Y")
    yield transform_case(name, kind(1, **options[-1]), n, p, "Y")
    if name == "CCA":
        model = kind(1, regularization=0.1)
        yield cross_validated(name, n, p, needs.pair(n, p, q, parts=5), "Y", regularization=0.1)
        yield bootstrapped(name, model, needs.pair(n, p, q, parts=DRAWS), "Y")
        test = partial(lowdim.permutation_test, model, n_resamples=SHUFFLES)
        yield Case(name, f"permutation_test, {SHUFFLES} shuffles", lambda t: partial(test, t["X"], t["Y"]),
                   needs.permuted_pair(n, p, q, SHUFFLES))  # fmt: skip


def gcca(name: str, n: int, p: int, quick: bool) -> Iterator[Case]:
    """Three tables: X, Y and the responses."""
    q = max(1, p // 2)
    for text, k in counts(n, min(q, RESPONSES), quick, fraction=False):
        model = lowdim.GCCA(k, regularization=0.1)
        fit = partial(lambda model, t: partial(model.fit, [t["X"], t["Y"], t["responses"]]), model)
        yield Case(name, f"fit, {text}, ridge", fit, needs.pair(n, p, q))


def kernel_cca(name: str, n: int, p: int, quick: bool) -> Iterator[Case]:
    q = max(1, p // 2)
    for text, k in counts(n, q, quick, fraction=False):
        yield fit_case(name, f"rbf, {text}", lowdim.KernelCCA(k, kernel="rbf"), needs.two_kernels(n, p, q), "Y")


# ---- Functions of `selection`


def cross_validated(name: str, n: int, p: int, need: list[Counter], second: str | None = None, **options: Any) -> Case:
    model = getattr(lowdim, name)(**options)
    call = partial(lowdim.cross_validate, model)
    return Case(name, "cross_validate", lambda t: partial(call, t["X"], *([t[second]] if second else [])), need)


def bootstrapped(name: str, model: Any, need: list[Counter], second: str | None = None) -> Case:
    call = partial(lowdim.bootstrap, model, n_resamples=DRAWS)
    return Case(
        name, f"bootstrap, {DRAWS} draws", lambda t: partial(call, t["X"], *([t[second]] if second else [])), need
    )


def choosing(n: int, p: int, quick: bool) -> Iterator[Case]:
    """`choose_n_components` with all rules, and with each of them."""
    name = "choose_n_components"
    yield Case(name, "all rules", lambda t: partial(lowdim.choose_n_components, t["X"]), needs.rules(n, p, RULES))
    for rule in RULES:
        if not quick or rule in QUICK_COUNTS:
            call = partial(lowdim.choose_n_components, rules=rule)
            yield Case(name, rule, partial(lambda call, t: partial(call, t["X"]), call), needs.rules(n, p, [rule]))


#: The cases of each model.
MODELS: dict[str, Callable[..., Iterator[Case]]] = {
    "PCA": spectral,
    "PPCA": spectral,
    "Whitening": whitening,
    "FactorAnalysis": factor_analysis,
    "ICA": ica,
    "FeatureMapPCA": feature_map,
    "KernelPCA": kernel_pca,
    "AutoEncoder": auto_encoder,
    "PCR": regression,
    "PLSRegression": regression,
    "PLSCanonical": canonical,
    "PLSSVD": canonical,
    "CCA": canonical,
    "GCCA": gcca,
    "KernelCCA": kernel_cca,
}
