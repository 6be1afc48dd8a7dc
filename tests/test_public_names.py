"""The public names of every package, written out: one that comes, goes or is spelt otherwise shows here."""

import importlib
import inspect
import pkgutil
import re

import numpy as np
import pytest

import lowdim
from lowdim import models
from lowdim.densities import DENSITIES
from lowdim.kernels import KERNELS
from lowdim.selection import ALIASES, RULES
from lowdim.solvers import (
    ICA_SOLVERS,
    KERNEL_SOLVERS,
    LATENT_SOLVERS,
    NEURAL_SOLVERS,
    PREIMAGES,
    REDUCTIONS,
    ROTATIONS,
    SOLVERS,
    KrylovKernel,
)
from lowdim.summaries import SUMMARIES
from public_names import public

#: Sorted as Python sorts text.
PUBLIC = {
    "lowdim": """
        AutoEncoder CA CCA FAMD FactorAnalysis FeatureMapPCA GCCA ICA KernelCCA KernelPCA MCA MFA PCA PCR PLSCanonical
        PLSRegression PLSSVD PPCA Table Whitening bootstrap choose_n_components cross_validate errors
        factor_suitability inspect kernels load on_device permutation_test plan report save scan selection solvers
        staged_fit to_onnx
    """,
    "lowdim.densities": """
        CustomDensity DENSITIES Density Flipped GeneralizedGaussian Infomax Sech Student as_density
    """,
    "lowdim.errors": """
        CategoryWarning ConvergenceWarning DensityWarning FormulaWarning GaussianWarning HeywoodWarning HoldsRowsWarning
        ImputedRangeWarning IndefiniteWarning LocalOptimaWarning LowdimWarning MissingValues NeedsRowsInMemory
        NoComponentWarning NoMaximum NoVariance NonFiniteBlock NumberFormatWarning RankWarning ResolutionWarning
        SlowWarning SmallSampleWarning
        UndeterminedCovariance
    """,
    "lowdim.features": """
        AffineMap FEATURE_MAPS Fourier KernelColumns Polynomial Same Scaled SomeColumns UnitLength affine
        require_width
    """,
    "lowdim.files": """
        header load save
    """,
    "lowdim.inspect": """
        Diagnostics FitReport GroupTables ModelTables SupplementaryColumns canonical_tests coefficients column_names
        communalities congruence contributions coordinates correlations cos2 describe describe_groups determinacy
        diagnose eta2 factor_correlations fit_report groups hotelling_t2 importance loadings pair_correlations
        partial_axes partial_coordinates pattern q_contributions q_limit q_residuals scores structure supplementary
        t2_contributions t2_limit v_tests vip
    """,
    "lowdim.kernels": """
        Cosine Function Gaussian KERNELS Kernel Laplacian Linear Matern Multiple Polynomial Product
        Quadratic Sigmoid Sum ThinPlateSpline as_kernel
    """,
    "lowdim.onnx": """
        CONVERTERS register to_onnx
    """,
    "lowdim.plot": """
        ModelPlots PLOTS biplot coefficients contours contributions convergence correlation_circle correlations
        cumulative densities groups levels loading_bars loadings missing outliers partial_points predictions
        principal_axes reconstructions scores scree sources structure symmetric_map validation variates vip
    """,
    "lowdim.reading": """
        Checkpoint summarize
    """,
    "lowdim.reporting": """
        Report of_model report
    """,
    "lowdim.selection": """
        ALIASES Bootstrap Choice Choices CrossValidation Eigenvalues FACTOR_RULES PermutationTest Pooled
        RULES Rule Suitability Unavailable WidthChoice bootstrap choose_n_components choose_width
        cross_validate factor_suitability permutation_test pool rule_of
    """,
    "lowdim.sklearn": """
        CCA FactorAnalysis FastICA IncrementalPCA KernelPCA PCA PLSCanonical PLSRegression PLSSVD fastica
    """,
    "lowdim.solvers": """
        Adam AnySolver CanonicalFit Cost Covariance CovarianceReduction DenseKernel EM Equamax Features
        FixedPoint FixedPointICA FourierFeatures Gram GramReduction ICA_SOLVERS IcaSolver Job KERNEL_SOLVERS
        KernelFit KernelSolver Krylov KrylovKernel LATENT_SOLVERS LatentFit LatentSolver
        LinearOptimum Misfit NEURAL_SOLVERS NeuralSolver Newton NewtonCG Nystrom Oblimin PREIMAGES PairFit
        Plan Promax Quartimax QuasiNewtonICA REDUCTIONS ROTATIONS Reduction Request Ridge Rotation RowsLike
        SOLVERS Solver Spectrum Status Tail Triangle
        TriangleReduction Unmixing Varimax kernel_plan
    """,
    "lowdim.sources": """
        open_source
    """,
    "lowdim.summaries": """
        Columns Completed FourthMoments Gram GramRoot Labelled Latent LatentGaussian Levels Moments Observed Patterns
        SUMMARIES Sample ScoreMoments Sketch StandardizedGrams Summary Triangle
    """,
}

MODULES = ["lowdim", *(info.name for info in pkgutil.walk_packages(lowdim.__path__, "lowdim."))]
PACKAGES = [name for name in MODULES if hasattr(importlib.import_module(name), "__path__")]
#: The tables of solvers, and the suffix that says in the name of a class which problem it solves.
TABLES = {
    "SOLVERS": (SOLVERS, ""),
    "LATENT_SOLVERS": (LATENT_SOLVERS, ""),
    "KERNEL_SOLVERS": (KERNEL_SOLVERS, "Kernel|Features"),
    "ICA_SOLVERS": (ICA_SOLVERS, "ICA"),
    "NEURAL_SOLVERS": (NEURAL_SOLVERS, "Optimum"),
    "REDUCTIONS": (REDUCTIONS, "Reduction"),
    "PREIMAGES": (PREIMAGES, ""),
    "ROTATIONS": (ROTATIONS, ""),
    "DENSITIES": (DENSITIES, ""),
}


@pytest.mark.parametrize("name", list(PUBLIC))
def test_the_public_names(name):
    module = importlib.import_module(name)
    assert public(module) == PUBLIC[name].split()
    assert len(set(public(module))) == len(public(module))
    for public_name in public(module):
        assert getattr(module, public_name) is not None


def test_a_model_is_named_once():
    assert set(models.__all__) <= set(lowdim.__all__)
    for name in models.__all__:
        assert getattr(lowdim, name) is getattr(models, name)
        assert getattr(models, name).__name__ == name


@pytest.mark.parametrize("package", PACKAGES)
def test_nothing_has_the_name_of_a_module_beside_it(package):
    """`lowdim.summarize` was a function and a module once: which of the two one got depended on what was imported."""
    where = importlib.import_module(package)
    for info in pkgutil.iter_modules(where.__path__):
        module = importlib.import_module(f"{package}.{info.name}")
        assert getattr(where, info.name) is module, f"{package}.{info.name} is a module and something else"


def kebab(name):
    """QuasiNewton -> quasi-newton, EM -> em."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower()


@pytest.mark.parametrize("table", list(TABLES))
def test_a_shorthand_is_the_name_of_its_class(table):
    entries, suffix = TABLES[table]
    for shorthand, entry in entries.items():
        if shorthand == "matrix-free":
            assert entry == KrylovKernel(keep=False)
            continue
        cls = entry if isinstance(entry, type) else type(entry)
        # A class that is called as its problem alone keeps that name: Features.
        short = re.sub(f"(?<=.)({suffix})$", "", cls.__name__) if suffix else cls.__name__
        assert shorthand == kebab(short)
        assert getattr(cls, "name", shorthand) == shorthand


def test_kernels_and_summaries_by_name():
    for shorthand, kernel in KERNELS.items():
        assert shorthand == kernel.name == kebab(kernel.__name__).replace("-", " ")
    for name, summary in SUMMARIES.items():
        assert name == summary.__name__


def test_other_names_lead_to_members_of_the_tables():
    assert set(ALIASES.values()) <= set(RULES)
    assert not set(ALIASES) & set(RULES)
    assert all(rule.name == name for name, rule in RULES.items())


@pytest.mark.parametrize("name", MODULES)
def test_every_module_says_what_it_is(name):
    assert importlib.import_module(name).__doc__


def test_a_name_that_a_subpackage_offers_is_an_error_that_says_which():
    for name, place in {
        "Moments": "summaries",
        "open_source": "sources",
        "summarize": "reading",
        "pool": "selection",
    }.items():
        with pytest.raises(AttributeError, match=f"no attribute '{name}'; it is lowdim.{place}.{name}$"):
            getattr(lowdim, name)
        assert getattr(getattr(lowdim, place), name).__name__ == name
    assert {"plot", "sklearn", "summaries"} <= set(dir(lowdim))
    assert "Moments" not in dir(lowdim)


def test_a_former_name_of_an_argument_is_an_error_that_says_the_present_one():
    X = np.random.default_rng(0).normal(size=(20, 3))
    calls = {
        "'scale'": lambda: lowdim.PCA(2, standardize=True),
        "'n_resamples'": lambda: lowdim.bootstrap(lowdim.PCA(1), X, n_boot=9),
        "'alpha'": lambda: lowdim.permutation_test(lowdim.PCA(), X, level=0.1),
        "'confidence_level'": lambda: lowdim.bootstrap(lowdim.PCA(1), X, level=0.9),
        "'param_grid'": lambda: lowdim.cross_validate(lowdim.PCA(), X, parameters={}),
        "'hue'": lambda: lowdim.PCA(2).fit(X).plot.scores(X, groups=range(20)),
        "'proportion'": lambda: lowdim.PCA(2).fit(X).plot.cumulative(level=0.5),
        "'labels'": lambda: lowdim.report(X, ids=range(20)),
        "'y'": lambda: lowdim.PCA(2).report(X, response=range(20)),
        "'Y'": lambda: lowdim.report(X, other=X),
        "'n_components'": lambda: lowdim.plan((20, 3), k=2),
        "'image_shape'": lambda: lowdim.PCA(2).fit(X).plot.reconstructions(X, shape=(1, 3)),
        "'widths'": lambda: lowdim.summaries.Moments(3, groups=(2, 1)),
        "'center'": lambda: lowdim.summaries.Gram(20, centre=False),
    }
    for present, call in calls.items():
        with pytest.raises(TypeError, match=f"it is called {present} now"):
            call()


def functions_and_classes(module):
    """The public functions and classes of a module, and the public methods of these classes, which lowdim defines."""
    for name in PUBLIC[module].split():
        found = getattr(importlib.import_module(module), name)
        methods = [getattr(found, each, None) for each in dir(found) if not each.startswith("_")]
        for each in [found, *(methods if inspect.isclass(found) else [])]:
            where = getattr(each, "__module__", None) or ""
            if callable(each) and where.startswith("lowdim.") and not where.startswith("lowdim.reporting"):
                yield each


def documented_parameters(doc):
    """The defaults that the section "Parameters" of a docstring gives, as text, by name; None for those without."""
    section = re.search(r"^Parameters\n-{10}\n(.*?)(?=^\S[^\n]*\n---|\Z)", doc, re.MULTILINE | re.DOTALL)
    found = {}
    for line in re.findall(r"^\S.*", section[1] if section else "", re.MULTILINE):
        names, colon, what = line.partition(" : ")
        assert colon and "optional" not in what, line
        _, has_default, default = what.partition(", default=")
        found |= dict.fromkeys(names.split(", "), default if has_default else None)
    return found


@pytest.mark.parametrize("module", PUBLIC)
def test_docstrings_give_the_parameters_and_their_defaults(module):
    for each in functions_and_classes(module):
        documented = documented_parameters(inspect.getdoc(each) or "")
        if not documented:
            continue
        signature = {name: p.default for name, p in inspect.signature(each).parameters.items() if name != "self"}
        assert list(documented) == list(signature), each
        for name, text in documented.items():
            given = inspect.Parameter.empty if text is None else eval(text)
            assert given is signature[name] or given == signature[name], (each, name, text)
