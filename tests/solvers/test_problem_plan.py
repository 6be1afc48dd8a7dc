"""plan: a pure function that chooses as the README's table says, prints itself, and refuses what cannot be."""

import numpy as np
import pytest
from scipy import sparse

from inputs import INPUTS
from lowdim import PCA, plan
from lowdim.solvers import SOLVERS, Krylov, Plan
from lowdim.sources import open_source

STREAM_ONCE = open_source(iter([np.zeros((3, 2))])).traits
STREAM = open_source([np.zeros((3, 2))]).traits
SPARSE = open_source(sparse.random_array((100, 100), density=0.01)).traits


def cells(density):
    """The traits of counts in float32, of which so many are stored."""
    return open_source(sparse.random_array((100, 100), density=density, dtype=np.float32)).traits


#: README's "Which solver runs for which input".
CHOICES = {
    "tall dense array": ((200_000, 256), 10, None, "covariance"),
    "tall dense array, all components": ((200_000, 256), None, None, "covariance"),
    "fewer rows than columns": ((500, 20_000), 10, None, "gram"),
    "fewer rows than columns, all components": ((50, 500), None, None, "gram"),
    "tall and also wide, few components": ((10_000, 5_000), 20, None, "krylov"),
    "sparse": ((50_000, 20_000), 20, SPARSE, "krylov"),
    "sparse, few columns": ((50_000, 100), 20, SPARSE, "covariance"),
    "sparse, a third of the components": ((20_000, 1_500), 500, SPARSE, "covariance"),
    # Cases of single cells: the covariance takes five times as long, because its products cannot use the zeros.
    "sparse, 6% stored": ((20_000, 3_000), 50, cells(0.06), "krylov"),
    "sparse, 12% stored": ((20_000, 3_000), 50, cells(0.12), "krylov"),
    "list of blocks": ((10_000, 100), 5, STREAM, "covariance"),
    "list of blocks, fewer rows than columns": ((50, 300), 5, STREAM, "triangle"),
    "list of wide blocks": ((10_000, 5_000), 20, STREAM, "krylov"),
    "generator": ((None, 100), 5, STREAM_ONCE, "covariance"),
    "generator of wide blocks": ((None, 2_000), 5, STREAM_ONCE, "covariance"),
    "small table": ((150, 4), 2, None, "covariance"),
    "square table": ((100, 100), 5, None, "covariance"),
}


@pytest.mark.parametrize("what", list(CHOICES))
def test_auto_chooses_as_the_table_says(what):
    shape, k, traits, expected = CHOICES[what]
    assert plan(shape, k, traits=traits).solver.name == expected


@pytest.mark.parametrize("shape", [(60, 7), (7, 30), (30, 30), (800, 700), (2, 2), (1, 5)])
@pytest.mark.parametrize("k", [1, None])
def test_what_is_planned_is_what_runs(shape, k):
    X = np.random.default_rng(0).standard_normal(shape)
    pca = PCA(k, ddof=0).fit(X)
    assert pca.solver_ == plan(shape, k).solver.name
    planned = plan(shape, k, traits=open_source(X).traits)
    assert (pca.plan_.n_bytes, pca.plan_.why) == (planned.n_bytes, planned.why)
    if pca.solver_ != "krylov":  # whose steps are known only afterwards
        assert pca.plan_ == planned


def test_it_is_pure():
    a, b = (plan((1000, 300), 7, traits=open_source(np.zeros((2, 2))).traits) for _ in range(2))
    assert a == b
    assert isinstance(a, Plan)
    assert hash(a) == hash(b)
    with pytest.raises(AttributeError):
        a.passes = 3


def test_it_reads_no_rows():
    """Rows that could not be read are planned for all the same."""
    assert plan((10**9, 256), 10).solver.name == "covariance"
    assert plan((None, 256), 10, traits=STREAM_ONCE).passes == 1


@pytest.mark.parametrize("name", [*SOLVERS, "auto"])
def test_it_prints_solver_passes_bytes_and_why(name):
    text = str(plan((1000, 300), 7, solver=name))
    planned = plan((1000, 300), 7, solver=name)
    assert text.startswith(planned.solver.name)
    assert f"{planned.passes} pass" in text
    assert "beside them; " in text
    assert ("as requested" in text) == (name != "auto")


def test_small_plans_are_in_bytes_and_large_ones_in_mebibytes():
    assert " bytes beside them" in str(plan((10, 3), 1, solver="krylov"))
    assert " MiB beside them" in str(plan((1000, 300), 7))


def test_why_names_the_numbers_that_decided():
    assert "for 256 columns" in plan((200_000, 256), 10).why
    assert "500 rows of 20000 columns" in plan((500, 20_000), 10).why
    assert "20 of 5000 columns" in plan((10_000, 5_000), 20).why
    assert "read only once" in plan((None, 100), 5, traits=STREAM_ONCE).why


def test_bytes_are_about_what_it_takes():
    assert plan((10_000, 1000), None).n_bytes >= 8 * 1000 * 1000
    assert plan((500, 20_000), 10).n_bytes >= 8 * 500 * 500
    assert plan((10_000, 5_000), 20).n_bytes < 8 * 5_000 * 5_000


# ---- Solvers asked for


@pytest.mark.parametrize(("name", "solver"), list(SOLVERS.items()))
def test_names_are_shorthands(name, solver):
    assert plan((100, 20), 3, solver=name) == plan((100, 20), 3, solver=solver())
    assert SOLVERS[name] is solver


def test_options_of_a_solver_are_kept():
    assert plan((1000, 600), 3, solver=Krylov(steps=4)).solver == Krylov(steps=4)
    assert plan((1000, 600), 3, solver=Krylov(steps=4)).passes == 5


@pytest.mark.parametrize("word", ["svd", "Covariance", "", "full"])
def test_other_words_are_refused_with_the_list(word):
    with pytest.raises(
        ValueError, match=f"solver='{word}' is not one of 'auto', 'covariance', 'triangle', 'gram', 'krylov'"
    ):
        plan((100, 20), 3, solver=word)


@pytest.mark.parametrize("thing", [None, 3, Krylov])
def test_other_things_are_refused(thing):
    with pytest.raises(TypeError, match=f"solver must be a name or a solver object, got {type(thing).__name__}"):
        plan((100, 20), 3, solver=thing)


def test_words_of_scikit_learn():
    with pytest.raises(ValueError, match=r"'krylov'\. What scikit-learn calls 'full' is solver='triangle'\."):
        PCA(solver="full").plan(np.eye(3))
    with pytest.raises(
        TypeError, match=r"no argument 'svd_solver'.*write solver='triangle' for 'full'.*lowdim.sklearn"
    ):
        PCA(svd_solver="full")


# ---- What cannot be

REFUSED = {
    "krylov on a stream read once": (
        "krylov", (None, 100), 3, STREAM_ONCE, "reads the rows several times, but the stream can be read once.*list of"
    ),
    "gram on a stream read once": ("gram", (None, 100), 3, STREAM_ONCE, "reads columns, .*use 'triangle'"),
    "gram on a list of blocks": ("gram", (50, 100), 3, STREAM, "reads columns, which a stream of blocks cannot give"),
    "krylov with all components": ("krylov", (100, 20), None, None, "leading components only; pass n_components"),
}  # fmt: skip


@pytest.mark.parametrize("what", list(REFUSED))
def test_refusals_say_what_to_do(what):
    solver, shape, k, traits, message = REFUSED[what]
    with pytest.raises(ValueError, match=f"solver='{solver}' .*{message}"):
        plan(shape, k, solver=solver, traits=traits)


@pytest.mark.parametrize("k", [None, 0.9])
def test_all_components_through_the_model(k):
    with pytest.raises(ValueError, match="solver='krylov' finds leading components only"):
        PCA(k, solver="krylov").fit(np.eye(5))


@pytest.mark.parametrize(
    ("name", "solver"), [("generator", "krylov"), ("generator", "gram"), ("list of blocks", "gram")]
)
def test_streams_are_gathered_by_the_model(name, solver):
    rows = np.random.default_rng(0).standard_normal((6, 8))
    model = PCA(2, solver=solver).fit(INPUTS[name].make(rows))
    assert model.solver_ == solver
    assert model.plan_.why.endswith("the rows were first gathered in memory")
    np.testing.assert_array_equal(model.components_, PCA(2, solver=solver).fit(rows).components_)


def test_more_than_the_memory_there_is(memory):
    memory(2**30)
    with pytest.raises(
        MemoryError, match=r"on 20000 columns would need .* GiB, this machine has 1\.0 GiB in total\. Pass n_comp"
    ):
        plan((30_000, 20_000), None)
    assert plan((30_000, 20_000), 10).solver.name == "krylov"
    assert plan((500, 200_000), 10).solver.name in ("gram", "krylov")


def test_memory_that_is_not_known_is_not_asked_about(memory):
    memory(0)
    assert plan((30_000, 20_000), None).solver.name == "covariance"


# ---- auto is never wrong


def test_small_eigenvalues_are_solved_again():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 4)) * [1e6, 1, 1, 1e-3]
    pca = PCA().fit(X)
    assert pca.solver_ == "triangle"
    assert pca.plan_.why == "covariance ended unresolved, so a more accurate solver ran"
    assert PCA(2, solver="covariance").fit(X[:, 1:]).plan_.why == "as requested"


def test_a_stream_shows_in_its_first_block_what_it_needs():
    X = np.random.default_rng(0).standard_normal((50, 4)) * [1e6, 1, 1, 1e-3]
    pca = PCA().fit(block for block in (X[:20], X[20:]))
    assert pca.solver_ == "triangle"
    assert "first block" in pca.plan_.why
    plain = PCA().fit(block for block in (X[:20, 1:], X[20:, 1:]))
    assert plain.solver_ == "covariance"


def test_sparse_traits_are_those_of_the_matrix():
    X = sparse.random_array((1000, 800), density=0.01, rng=np.random.default_rng(0))
    traits = open_source(X).traits
    assert traits.sparse
    assert traits.stored == pytest.approx(0.01)
    assert plan(X.shape, 3, traits=traits).solver.name == "krylov"
