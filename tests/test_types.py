"""The types of models: what a type checker knows, and what shows in an editor."""

import importlib.util
import inspect
import pydoc
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

import lowdim
from examples import MODELS, make, tables
from lowdim import models
from lowdim.densities import DENSITIES, DensityName
from lowdim.errors import LowdimWarning, without_warnings
from lowdim.features import FEATURE_MAPS, FeatureMapName
from lowdim.kernels import _ALIASES, KERNELS, KernelName
from lowdim.models.factor_analysis import FactorRuleName
from lowdim.selection import ALIASES, RULES
from lowdim.selection.rules import RuleName
from lowdim.solvers import (
    ICA_SOLVERS,
    KERNEL_SOLVERS,
    LATENT_SOLVERS,
    NEURAL_SOLVERS,
    PREIMAGES,
    REDUCTIONS,
    ROTATIONS,
    SOLVERS,
)
from lowdim.solvers.ica import IcaSolverName
from lowdim.solvers.kernel import KernelSolverName
from lowdim.solvers.kernel.preimages import PreimageName
from lowdim.solvers.latent import LatentSolverName
from lowdim.solvers.latent.rotation import RotationName
from lowdim.solvers.neural import NeuralSolverName
from lowdim.solvers.pairs.reductions import ReductionName
from lowdim.solvers.spectra import SolverName

ROOT = Path(__file__).parents[1]


def fitted(name):
    with without_warnings(LowdimWarning):
        return make(name).fit(*tables(name))


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed; `make lint` installs it")
def test_a_type_checker_knows_the_types_of_models():
    """The right calls of that file pass, and each line that is said to be an error is one (`--strict` sees to it)."""
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "tests/types_of_models.py"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.parametrize("name", MODELS)
def test_fitted_attributes_have_types(name):
    model = fitted(name)
    typed = {}
    for cls in reversed(type(model).__mro__):
        typed |= vars(cls).get("__annotations__", {})
    for attribute in (each for each in vars(model) if each.endswith("_")):
        # Those that can be derived from others have a type there; a feature map is a function or a transformer.
        if not hasattr(type(model), attribute) and attribute != "feature_map_":
            assert typed.get(attribute, "Any") != "Any", attribute


def test_the_names_of_rules_are_those_of_the_tables():
    assert set(get_args(RuleName)) == {*RULES, *ALIASES}
    rules = models.FactorAnalysis._rules
    assert set(get_args(FactorRuleName)) == {*rules, *(alias for alias, name in ALIASES.items() if name in rules)}


@pytest.mark.parametrize(
    ("names", "table"),
    [
        (SolverName, {"auto", *SOLVERS}),
        (LatentSolverName, {"auto", *LATENT_SOLVERS}),
        (KernelSolverName, {"auto", *KERNEL_SOLVERS}),
        (IcaSolverName, {*ICA_SOLVERS}),
        (NeuralSolverName, {"auto", *NEURAL_SOLVERS}),
        (ReductionName, {"auto", *REDUCTIONS}),
        (PreimageName, {"auto", *PREIMAGES}),
        (RotationName, {*ROTATIONS}),
        (KernelName, {*KERNELS, *_ALIASES}),
        (DensityName, {*DENSITIES}),
        (FeatureMapName, {*FEATURE_MAPS}),
    ],
)
def test_the_names_that_type_checkers_know_are_those_of_the_tables(names, table):
    assert set(get_args(names)) == table


def test_dir_of_the_package_lists_what_is_public():
    listed = {name for name in dir(lowdim) if not name.startswith("__")}
    modules = {"densities", "features", "files", "models", "plot", "reading", "sklearn", "sources", "summaries"}
    assert listed == {*lowdim.__all__, *modules}
    assert all(hasattr(lowdim, name) for name in listed)


@pytest.mark.parametrize("name", MODELS)
def test_dir_of_a_model_lists_what_users_call(name):
    model = fitted(name)
    listed = dir(model)
    assert {"fit", "transform", "tables", "plot", "report", "plan_", "n_components"} <= set(listed)
    for internal in ("onnx_converter", "onnx_shape_calculator", "open_rows", "held_out_scorer", "permutation_options"):
        assert internal not in listed
    # skl2onnx and cross-validation find them all the same.
    assert callable(model.onnx_converter) and callable(model.open_rows)


@pytest.mark.parametrize("accessor", ["tables", "plot"])
@pytest.mark.parametrize("name", MODELS)
def test_methods_of_a_model_show_the_text_and_the_arguments_of_their_functions(name, accessor):
    model = fitted(name)
    offered = getattr(model, accessor)
    for each in dir(offered):
        method, function = getattr(offered, each), offered.offers[each].function
        assert list(inspect.signature(method).parameters) == list(inspect.signature(function).parameters)[1:]
        shown = pydoc.plain(pydoc.render_doc(method))
        assert shown.startswith(f"Python Library Documentation: method {each} in module {function.__module__}")
        assert inspect.getdoc(function).splitlines()[0] in shown


def test_the_report_of_a_model_shows_the_arguments_of_the_report():
    shown = inspect.signature(lowdim.PCA().report).parameters
    assert list(shown) == [name for name in inspect.signature(lowdim.report).parameters if name != "model"]
    assert "A page about this model" in pydoc.plain(pydoc.render_doc(lowdim.PCA().report))
