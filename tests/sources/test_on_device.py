"""Rows that are copied to a device: the answers of the same rows on the host, as NumPy arrays."""

from __future__ import annotations

import gc
import sys

import numpy as np
import pytest

import lowdim
from inputs import blocks, namespace, on_disk, table
from lowdim import PCA, PPCA, PLSRegression, on_device, scan
from lowdim.features import Polynomial
from lowdim.reading import summarize
from lowdim.solvers import EM
from lowdim.summaries import Moments
from stored import parquet

strict = pytest.importorskip("array_api_strict", reason="array-api-strict is not installed")
SECOND = strict.Device("device1")
RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 5)) @ RNG.standard_normal((5, 5)) + 3.0
Y = X[:, :2] @ RNG.standard_normal((2, 3)) + 0.1 * RNG.standard_normal((60, 3))


def arrays_in(value, found=None):
    """All arrays among the attributes of an object of lowdim, and of the objects in these."""
    found = [] if found is None else found
    if isinstance(value, np.ndarray | type(strict.asarray(0.0))):
        found.append(value)
    elif isinstance(value, list | tuple):
        for item in value:
            arrays_in(item, found)
    elif isinstance(value, dict) or type(value).__module__.startswith("lowdim"):
        for item in (value if isinstance(value, dict) else getattr(value, "__dict__", {})).values():
            arrays_in(item, found)
    return found


def to_device(rows):
    return on_device(rows, SECOND)


# ---- The device


def test_a_device_by_its_name_is_one_of_torch():
    namespace("torch")
    assert repr(on_device(X, "cpu")) == "on_device(ndarray, 'cpu')"
    assert repr(on_device(on_device(X, "cpu"), SECOND)) == "on_device(ndarray, 'device1')"


def test_a_device_that_is_not_there_is_refused():
    torch = namespace("torch")
    for device in ("nonsense", "cuda:99"):
        with pytest.raises(ValueError, match=rf"device='{device}' cannot be used here .* Pass a device that this"):
            on_device(X, device)
    with pytest.raises(TypeError, match=r"device must be a name such as 'cuda'.* got 3 of class int"):
        on_device(X, 3)
    assert repr(on_device(X, torch.device("cpu"))) == "on_device(ndarray, 'cpu')"


def test_without_torch_and_cupy_the_error_says_what_to_install(monkeypatch):
    for name in ("torch", "cupy"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match="needs torch or, for 'cuda', CuPy, and neither is installed"):
        on_device(X, "cuda")


# ---- Rows of all kinds, and those that are refused


def watched(stop=None):
    """A class of moments that notes how many rows its blocks have, and where they are, and may stop at a block."""

    class Watched(Moments):
        seen = []

        def update(self, block, weights=None):
            self.seen.append((block.shape[0], str(getattr(block, "device", "cpu"))))
            if len(self.seen) == stop:
                raise KeyboardInterrupt
            super().update(block, weights)

    return Watched


def test_blocks_are_on_the_device_and_summed_up_there():
    for rows in (X, lambda: iter(blocks(X))):
        for given, where in ((rows, "cpu"), (to_device(rows), str(SECOND))):
            summary = summarize(given, watched())
            assert {place for _, place in summary.seen} == {where}
            assert sum(n for n, _ in summary.seen) == 60
            np.testing.assert_allclose(summary.mean, X.mean(axis=0))


def test_what_cannot_be_copied_is_refused_with_advice():
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(TypeError, match=r"X is sparse, and on_device copies dense rows.*on_device\(X.toarray\(\)"):
        PCA(2).fit(to_device(sparse.csr_array(X)))
    with pytest.raises(TypeError, match="X is on the device device1 already"):
        PCA(2).fit(to_device(strict.asarray(X, device=SECOND)))
    dask = pytest.importorskip("dask.array", reason="Dask is not installed")
    with pytest.raises(TypeError, match=r"held by the workers of Dask, and on_device reads rows in this process"):
        PCA(2).fit(to_device(dask.from_array(X, chunks=(20, 5))))
    with pytest.raises(TypeError, match="KernelCCA computes kernels on the host"):
        lowdim.KernelCCA(2).fit(to_device(X), Y)


def test_an_array_of_another_library_in_main_memory_is_copied():
    torch = namespace("torch")
    for rows in (torch.from_numpy(X), strict.asarray(X)):
        np.testing.assert_allclose(PCA(2).fit(to_device(rows)).mean_, X.mean(axis=0))


@pytest.mark.parametrize("rows", [X, np.asfortranarray(X), on_disk(X), (10 * X).astype(np.int32), X.astype(np.float32)])
def test_moments_come_back_as_numpy_arrays(rows):
    here, there = summarize(rows, Moments), summarize(to_device(rows), Moments)
    assert type(there.mean) is np.ndarray
    assert there.mean.dtype == here.mean.dtype
    np.testing.assert_allclose(there.scatter, here.scatter, rtol=1e-6 if rows.dtype == np.float32 else 1e-12)
    there.merge(here)
    assert there.n_rows == 120


def test_columns_keep_their_names_and_can_be_named():
    frame = table("pandas", np.column_stack([X, Y]))
    *x, a, b, c = frame.columns
    model = PLSRegression(2).fit(to_device(frame), [a, b, c])
    usual = PLSRegression(2).fit(frame[x], frame[[a, b, c]])
    assert list(model.feature_names_in_) == x
    np.testing.assert_allclose(model.coef_, usual.coef_, atol=1e-10)
    files = scan(parquet(np.column_stack([X, Y])))
    names = files.columns
    model = PLSRegression(2).fit(to_device(files), names[5:])
    np.testing.assert_allclose(model.coef_, usual.coef_, atol=1e-10)
    weighted = PCA(2).fit(to_device(table("pandas", np.column_stack([X, np.arange(60) % 3]))), sample_weight="col5")
    np.testing.assert_allclose(weighted.mean_, PCA(2).fit(X, sample_weight=np.arange(60) % 3).mean_)


def test_a_stream_of_named_columns_is_read_once():
    frames = (table("pandas", np.column_stack([X, Y])[i : i + 20]) for i in range(0, 60, 20))
    model = PLSRegression(2).fit(to_device(frames), ["col5", "col6", "col7"])
    np.testing.assert_allclose(model.coef_, PLSRegression(2).fit(X, Y).coef_, atol=1e-10)


def test_bad_entries_are_named():
    bad = X.copy()
    bad[37, 2] = np.nan
    with pytest.raises(ValueError, match="contains NaN: column 2, first in row 37"):
        PCA(2).fit(to_device(bad))
    fitted = PCA(2).fit(to_device(X))
    with pytest.raises(ValueError, match="contains NaN: column 2, first in row 37"):
        fitted.transform(to_device(bad))
    with pytest.raises(ValueError, match="contains NaN: column 'col2'"):
        PCA(2).fit(to_device(table("pandas", bad)))
    with pytest.raises(ValueError, match="y contains NaN: column 1, first in row 0"):
        PLSRegression(2).fit(to_device(X), np.where(np.arange(3) == 1, np.nan, Y))


def test_missing_entries():
    incomplete = X.copy()
    incomplete[RNG.random(X.shape) < 0.1] = np.nan
    # On the host, rows are grouped by pattern; the two iterations have the same end, but not the same way to it.
    tight = EM(tol=1e-8, max_iter=5000)
    here, there = (PPCA(2, solver=tight).fit(rows) for rows in (incomplete, to_device(incomplete)))
    np.testing.assert_allclose(there.explained_variance_, here.explained_variance_, rtol=1e-6)
    np.testing.assert_allclose(there.impute(to_device(incomplete)), here.impute(incomplete), rtol=1e-5)


# ---- Models and what they return


@pytest.mark.parametrize("rows", [X, lambda: iter(blocks(X))])
def test_results_are_numpy_arrays(rows):
    here, there = PCA(2).fit(X), PCA(2).fit(to_device(rows))
    assert all(type(array) is np.ndarray for array in arrays_in(there))
    np.testing.assert_allclose(np.abs(there.transform(to_device(rows))), np.abs(here.transform(X)), atol=1e-10)
    np.testing.assert_allclose(there.transform(X), there.transform(to_device(rows)), atol=1e-10)
    scores = there.fit_transform(to_device(rows))
    assert type(scores) is np.ndarray
    np.testing.assert_allclose(there.inverse_transform(to_device(scores)), here.inverse_transform(here.transform(X)))
    assert there.score(to_device(rows)) == pytest.approx(here.score(X))


def test_features_are_computed_on_the_device():
    here, there = (lowdim.KernelPCA(2, kernel="gaussian", solver="nystrom").fit(rows) for rows in (X, to_device(X)))
    np.testing.assert_allclose(np.abs(there.transform(to_device(X))), np.abs(here.transform(X)), atol=1e-8)
    where = []

    class Watched(Polynomial):
        def __call__(self, block):
            where.append(block.device)
            return super().__call__(block)

    mapped = lowdim.FeatureMapPCA(2, feature_map=Watched(2)).fit(to_device(X))
    assert SECOND in where
    np.testing.assert_allclose(mapped.mean_, Polynomial(2)(X).mean(axis=0))


def test_further_rows_are_added_on_the_device():
    model = PCA(2).fit(to_device(X[:20]))
    model.partial_fit(to_device(X[20:40]))
    model.partial_fit(X[40:])
    np.testing.assert_allclose(model.explained_variance_, PCA(2).fit(X).explained_variance_)


def test_results_are_written_to_files(tmp_path):
    frame = table("pandas", X)
    model = PCA(2).fit(frame)
    read = scan(model.transform_to(to_device(frame), tmp_path / "scores.parquet", keep=["col0"]))
    assert read.columns[0] == "col0"
    found = np.concatenate(list(read.open().blocks(100)))
    np.testing.assert_allclose(found, np.column_stack([X[:, 0], model.transform(frame)]), atol=1e-10)


@pytest.mark.parametrize("cv", [3, np.arange(60) % 4])
def test_cross_validation(cv):
    for model in (PCA(), PPCA(2)):
        here, there = (lowdim.cross_validate(model, rows, cv=cv) for rows in (X, to_device(X)))
        np.testing.assert_allclose(there.per_split, here.per_split, rtol=1e-8)
    here, there = (lowdim.cross_validate(PLSRegression(2), rows, Y, cv=cv) for rows in (X, to_device(X)))
    np.testing.assert_allclose(there.per_split, here.per_split, rtol=1e-8)


def test_selection_and_tables():
    here, there = (lowdim.choose_n_components(rows) for rows in (X, to_device(X)))
    assert {answer.rule: answer.k for answer in here.answers} == {answer.rule: answer.k for answer in there.answers}
    model = PCA(2).fit(to_device(X))
    assert str(model.tables.importance()) == str(PCA(2).fit(X).tables.importance())
    here, there = (lowdim.bootstrap(PCA(2), rows, n_resamples=20, random_state=0) for rows in (X, to_device(X)))
    for name, values in here.replicates.items():
        np.testing.assert_allclose(there.replicates[name], values, atol=1e-8)


def test_the_plan_says_where():
    plan = lowdim.plan(PCA(2), to_device(X))
    assert plan.where.startswith("rows copied to device1 block by block, sums on device1, the solve")
    assert str(plan).endswith(plan.where)
    assert (PCA(2).fit(to_device(X)).plan_, PCA(2).fit(to_device(X)).plan_.where) == (plan, plan.where)
    assert "all on the host" not in str(lowdim.plan(PCA(2), X))
    assert lowdim.plan(PCA(2), X).where == "all on the host"


def test_a_saved_model_keeps_where_it_was_fitted(tmp_path):
    model = PCA(2).fit(to_device(X))
    lowdim.save(model, tmp_path / "model")
    assert lowdim.load(tmp_path / "model").plan_.where == model.plan_.where


def test_rows_can_be_abandoned_half_way():
    closed = []

    def rows():
        try:
            yield from blocks(X)
        finally:
            closed.append(True)

    with pytest.raises(KeyboardInterrupt):
        summarize(to_device(rows()), watched(stop=1))
    gc.collect()
    assert closed == [True]


def test_a_checkpoint_is_refused(tmp_path):
    with pytest.raises((TypeError, ValueError), match="checkpoint"):
        PCA(2).fit(to_device(X), checkpoint=tmp_path / "state")
