"""What is added to a table of lowdim can be saved without further work; a new model lists its fitted attributes."""

import pytest

import lowdim
from additions.toy_density import Logistic
from additions.toy_kernel import Cauchy
from additions.toy_latent_solver import Descent
from additions.toy_model import CorrelationPCA
from additions.toy_reduction import RootReduction
from additions.toy_rules import RULE, Squares
from additions.toy_solver import SubspaceIteration
from examples import X, Y
from files.comparing import assert_same, results
from lowdim import models
from lowdim.densities import DENSITIES
from lowdim.errors import LowdimWarning, without_warnings
from lowdim.features import FEATURE_MAPS
from lowdim.kernels import KERNELS
from lowdim.selection import RULES
from lowdim.solvers import LATENT_SOLVERS, REDUCTIONS, SOLVERS

#: The table, the name and the newcomer; and a model that has one.
NEWCOMERS = {
    "kernel": (KERNELS, Cauchy.name, Cauchy, lambda: lowdim.KernelPCA(2, kernel=Cauchy(3.0)).fit(X)),
    "density": (DENSITIES, Logistic.name, Logistic, lambda: lowdim.ICA(2, density=Logistic()).fit(X)),
    "feature map": (FEATURE_MAPS, "squares", Squares, lambda: lowdim.FeatureMapPCA(2, feature_map="squares").fit(X)),
    "solver": (
        SOLVERS,
        SubspaceIteration.name,
        SubspaceIteration,
        lambda: lowdim.PCA(2, solver=SubspaceIteration()).fit(X),
    ),
    "latent solver": (LATENT_SOLVERS, Descent.name, Descent, lambda: lowdim.FactorAnalysis(2, solver=Descent()).fit(X)),
    "reduction": (REDUCTIONS, RootReduction.name, RootReduction, lambda: lowdim.CCA(solver=RootReduction()).fit(X, Y)),
    "rule": (RULES, RULE.name, RULE, lambda: lowdim.PCA(RULE.name).fit(X)),
}


def assert_saved(model, path):
    with without_warnings(LowdimWarning):
        lowdim.save(model, path)
        found = lowdim.load(path)
        assert_same(found, model)
        assert_same(results(found), results(model))


@pytest.mark.parametrize("what", list(NEWCOMERS))
def test_what_is_in_a_table_is_saved(what, tmp_path, monkeypatch):
    table, name, newcomer, make = NEWCOMERS[what]
    monkeypatch.setitem(table, name, newcomer)
    with without_warnings(LowdimWarning):
        model = make()
    assert_saved(model, tmp_path / "model")
    monkeypatch.undo()
    with pytest.raises(ValueError, match=r"is damaged, or not a file that lowdim saved"):
        lowdim.load(tmp_path / "model")


def test_a_model_is_saved(tmp_path, monkeypatch):
    with pytest.raises(TypeError, match="an object of the class CorrelationPCA cannot be saved"):
        lowdim.save(CorrelationPCA(2).fit(X), tmp_path / "model")
    monkeypatch.setattr(models, "CorrelationPCA", CorrelationPCA, raising=False)
    monkeypatch.setattr(models, "__all__", [*models.__all__, "CorrelationPCA"])
    assert_saved(CorrelationPCA(2).fit(X), tmp_path / "model")
