"""Laws that all engines keep: what they are asked for, and what they may not depend on."""

from __future__ import annotations

import pickle
from functools import partial
from itertools import accumulate, chain, pairwise

import numpy as np
import pytest

from lowdim import ICA, PCA, PLSRegression
from lowdim.errors import MissingValues
from lowdim.reading import summarize
from lowdim.sources import open_source
from lowdim.sources.base import FAN_IN
from lowdim.summaries import Moments
from partitions import COLLECTIONS, ENGINES, SPARK_WARNINGS

pytestmark = SPARK_WARNINGS

X = np.random.default_rng(5).laplace(size=(240, 4)) @ np.random.default_rng(6).normal(size=(4, 4)) + 3.0
#: Lengths of partitions: one, few, empty and tiny ones, and more than a merge takes.
LENGTHS = {
    "one": [240],
    "few": [100, 40, 100],
    "empty": [0, 90, 0, 0, 150, 0],
    "tiny": [1, 2, 1, 200, 1, 1, 30, 4],
    "many": [20] * 12,
}


@pytest.fixture(params=list(ENGINES))
def engine(request):
    return ENGINES[request.param]


def cut(lengths, rows=X):
    edges = [0, *accumulate(lengths)]
    return [rows[i:j] for i, j in pairwise(edges)]


def opened(engine, lengths, rows=X):
    source = open_source(COLLECTIONS[engine.name](cut(lengths, rows)))
    assert source.traits.engine is engine
    return source


class Pickled:
    """Results as bytes, for engines that send no objects."""

    def encode(self, result):
        return pickle.dumps(result)

    def decode(self, data):
        return pickle.loads(data)


def first_column():
    """A task that gives the first column of its rows. Functions that are made here can be sent to any machine."""

    def task(part, start, along):
        return [float(entry) for block in part.blocks(1000) for entry in block[:, 0]]

    return task


def merged(engine, *arguments, **options):
    """The results of an engine, with nothing beside the rows unless `options` say so."""
    nothing = {"along": None, "least": 1, "codec": None, "on_start": None, "tick": None}
    return engine.merged(*arguments, **(nothing | options))


def as_tree():
    """A merge that keeps what it was given."""

    def merge(results):
        return {"merged": list(results)}

    return merge


def leaves(tree):
    """The results in a tree, from the first to the last, and the largest number that was merged at once."""
    if not isinstance(tree, dict):
        return [tree], 0
    below = [leaves(branch) for branch in tree["merged"]]
    return [leaf for some, _ in below for leaf in some], max(len(below), *(n for _, n in below))


def test_every_engine_is_tried():
    assert list(COLLECTIONS) == list(ENGINES)
    assert all(engine.name == name for name, engine in ENGINES.items())


@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS)
def test_results_are_merged_in_order_a_few_at_a_time(engine, lengths):
    source = opened(engine, lengths)
    found, most = leaves(merged(engine, source, first_column(), as_tree(), codec=Pickled()))
    assert found == [part[:, 0].tolist() for part in cut(lengths) if len(part)]
    assert most <= FAN_IN
    assert (most > 1) == (len(found) > 1)


@pytest.mark.parametrize("least", [1, 7, 100, 10**6])
@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS)
def test_small_partitions_may_be_one_part(lengths, least):
    """No row is lost or read twice, and of two neighbours one is large enough. Spark reads partitions as they are."""
    for engine in (ENGINES["threads"], ENGINES["Dask"]):
        source = opened(engine, lengths)
        found, _ = leaves(merged(engine, source, first_column(), as_tree(), least=least))
        assert list(chain(*found)) == X[:, 0].tolist()
        sizes = list(map(len, found))
        assert all(a >= least or b >= least for a, b in pairwise(sizes))


@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS)
def test_what_goes_along_is_cut_as_the_rows(engine, lengths):
    if not engine.ordered:
        pytest.skip(f"rows of {engine.name} have no order")

    def task(part, start, along):
        assert along.shape[0] == part.shape[0]
        return [(start + i, float(entry)) for i, entry in enumerate(along)]

    found, _ = leaves(merged(engine, opened(engine, lengths), task, as_tree(), along=X[:, 1], least=5))
    assert list(chain(*found)) == list(enumerate(X[:, 1].tolist()))


@pytest.mark.parametrize("kind", [ValueError, TypeError, ZeroDivisionError])
def test_errors_keep_their_kind_and_their_words(engine, kind):
    def task(part, start, along):
        if next(part.blocks(1000))[0, 0] == bad:
            raise kind("the third partition is bad")
        return 1

    source, bad = opened(engine, LENGTHS["few"]), X[140, 0]
    with pytest.raises(kind, match="the third partition is bad"):
        merged(engine, source, task, sum, codec=Pickled())


def test_missing_values_are_told_apart_from_other_errors(engine):
    """A model that can deal with missing entries asks where the first one is."""
    incomplete = X.copy()
    incomplete[101, 2] = np.nan
    with pytest.raises(MissingValues) as caught:
        summarize(opened(engine, LENGTHS["few"], incomplete), Moments)
    assert "column 2" in caught.value.where or "'x2'" in caught.value.where


def test_tasks_that_run_twice_change_nothing(engine, monkeypatch):
    """The functions that `summarize` gives to an engine leave what they are given as it was. Where a part is a stream,
    a task that runs again gets a new one."""
    source, merged = opened(engine, LENGTHS["many"]), engine.merged
    expected = summarize(source, Moments)

    def merged_twice(source, task, merge, **options):
        def run_twice(part, start, along):
            if part.traits.rereadable:
                task(part, start, along)
            return task(part, start, along)

        def merge_twice(results):
            merge(results)
            return merge(results)

        return merged(source, run_twice, merge_twice, **options)

    monkeypatch.setattr(engine, "merged", merged_twice)
    found = summarize(source, Moments)
    np.testing.assert_array_equal(found.scatter, expected.scatter)
    np.testing.assert_array_equal(found.mean, expected.mean)


@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS)
def test_partitions_change_a_summary_by_rounding_only(engine, lengths):
    expected = summarize(X, Moments)
    found = summarize(opened(engine, lengths), Moments)
    assert found.n_rows == expected.n_rows
    np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-14)
    np.testing.assert_allclose(found.scatter, expected.scatter, rtol=0, atol=1e-14 * expected.scatter.max())


def test_parts_are_told_before_they_are_read_and_each_ticks_once(engine):
    calls = []
    source = opened(engine, LENGTHS["few"])
    merged(
        engine,
        source,
        first_column(),
        as_tree(),
        codec=Pickled(),
        on_start=lambda n: calls.append(n),
        tick=lambda: calls.append("tick"),
    )
    assert calls == [3, "tick", "tick", "tick"]


@pytest.mark.parametrize("name", ["threads", "Dask"])
def test_progress_comes_with_finished_tasks(name):
    """Not all of it at the end: with one thread, a part ticks before the last one is read."""
    pytest.importorskip("dask", reason="Dask is not installed")
    import dask

    calls = []

    def task(part, start, along):
        calls.append("read")
        return 1

    with dask.config.set(scheduler="synchronous"):
        engine = ENGINES[name]
        source = opened(engine, LENGTHS["many"])
        assert merged(engine, source, task, sum, tick=lambda: calls.append("tick")) == 12
    assert calls.count("tick") == calls.count("read") == 12
    assert calls.index("tick") < 6


def test_maps_read_nothing_before_they_are_computed(engine, tmp_path):
    folder = str(tmp_path)

    def task(part, start, along=None):
        import os
        import uuid

        open(os.path.join(folder, uuid.uuid4().hex), "x").close()
        return np.vstack([2.0 * block for block in part.blocks(1000)])

    source = opened(engine, LENGTHS["tiny"])
    lazy = engine.mapped(source, task, X[:2], lambda: ["a", "b", "c", "d"])
    assert not list(tmp_path.iterdir())
    if engine.ordered:
        found = np.asarray(lazy.compute())
        assert lazy.shape == (240, 4)
    else:
        found = np.array([tuple(row) for row in lazy.select("a", "b", "c", "d").collect()])
    assert list(tmp_path.iterdir())
    np.testing.assert_array_equal(found, 2.0 * X)


def test_parts_are_given_in_turn(engine):
    source = opened(engine, LENGTHS["tiny"])
    if not engine.ordered:
        with pytest.raises(TypeError, match=engine.name):
            engine.in_turn(source, first_column())
        return
    read = []

    def task(part, start, along):
        read.append(start)
        return first_column()(part, start, along)

    turns = list(engine.in_turn(source, task))
    assert read == []
    assert [compute() for compute in turns] == [part[:, 0].tolist() for part in cut(LENGTHS["tiny"])]
    assert read == sorted(read)


def test_models_are_fitted_and_written(engine, tmp_path):
    """Several passes, two tables of one source, and results in a file."""
    source = opened(engine, LENGTHS["tiny"])
    expected = PCA(2).fit(X)
    for model in (PCA(2), PCA(2, solver="krylov", random_state=0)):
        np.testing.assert_allclose(np.abs(model.fit(source).components_), np.abs(expected.components_), atol=1e-8)
    if engine.ordered:
        fit = partial(ICA, random_state=0)
        np.testing.assert_allclose(fit().fit(source).components_, fit().fit(X).components_, atol=1e-5)
        target = opened(engine, LENGTHS["few"], X[:, 2:])
        found = PLSRegression(2).fit(source, target)
        np.testing.assert_allclose(found.coef_, PLSRegression(2).fit(X, X[:, 2:]).coef_, atol=1e-10)
        expected.transform_to(source, tmp_path / "scores.npy")
        np.testing.assert_allclose(np.load(tmp_path / "scores.npy"), expected.transform(X), atol=1e-12)
        np.testing.assert_allclose(np.asarray(expected.transform(source)), expected.transform(X), atol=1e-12)
        assert expected.score_samples(source).shape == (240,)
        np.testing.assert_allclose(np.asarray(expected.score_samples(source)), expected.score_samples(X), rtol=1e-12)
