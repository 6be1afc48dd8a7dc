"""Fits that need all rows in memory gather those that come in blocks; plans say so and read nothing."""

import numpy as np
import pyarrow as pa
import pytest

import lowdim
from examples import MODELS, OF_NUMBERS, make, tables
from inputs import INPUTS, record_batches
from lowdim import ICA, PCA, KernelCCA, KernelPCA
from lowdim.kernels import Gaussian
from lowdim.sources import open_source

X = np.random.default_rng(0).laplace(size=(400, 4)) ** 3 * [4, 3, 2, 1]
GATHERING = {
    "ICA": (ICA(), (X,)),
    "KernelPCA": (KernelPCA(2, kernel=Gaussian(1 / 18)), (X,)),
    "KernelCCA": (KernelCCA(2), (X, X[:, :2] ** 2)),
    "krylov": (PCA(2, solver="krylov"), (X,)),
    "gram": (PCA(2, solver="gram"), (X,)),
}


def generator(A):
    return (A[i : i + 50] for i in range(0, len(A), 50))


class ArrowStream:
    """Speaks Arrow, and can be read once."""

    def __init__(self, A):
        self._reader = record_batches(A)

    def __arrow_c_stream__(self, requested_schema=None):
        return self._reader.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize("kind", [generator, record_batches, ArrowStream])
@pytest.mark.parametrize("case", list(GATHERING))
def test_the_plan_reads_nothing_and_says_what_the_fit_does(case, kind):
    model, given = GATHERING[case]
    streams = [open_source(kind(table)) for table in given]
    planned = lowdim.plan(model, *streams)
    assert planned.why.endswith("the rows are first gathered in memory, and 1000 are assumed until they are counted")
    model.fit(*streams)  # no row is gone
    assert model.n_samples_ == 400
    assert model.plan_.why.endswith("the rows were first gathered in memory")


@pytest.mark.parametrize("name", ["generator", "record batches"])
@pytest.mark.parametrize("model", OF_NUMBERS)
@pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")
def test_fit_transform_of_a_stream(model, name):
    given = tables(model)
    expected = make(model).fit_transform(*given)
    found = make(model).fit_transform(*(INPUTS[name].make(table) for table in given))
    for ours, theirs in zip(*((a if isinstance(a, tuple) else (a,)) for a in (found, expected)), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-8 * np.abs(theirs).max())


@pytest.mark.parametrize("name", [name for name, row in MODELS.items() if row.two_tables])
def test_columns_of_one_stream_are_gathered_together(name):
    x, y = tables(name)
    columns = [f"x{j}" for j in range(x.shape[1])], [f"y{j}" for j in range(y.shape[1])]
    table = pa.table([*x.T.copy(), *y.T.copy()], names=[*columns[0], *columns[1]])
    found = make(name).fit_transform(table.to_reader(max_chunksize=9), columns[1])
    expected = make(name).fit_transform(x, y)
    for ours, theirs in zip(*((a if isinstance(a, tuple) else (a,)) for a in (found, expected)), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-8 * np.abs(theirs).max())


def test_a_stream_is_gathered_until_it_would_not_fit(monkeypatch):
    """The error comes while the stream is read, long before its end."""
    read = []

    def endless():
        while True:
            read.append(len(read))
            yield X

    monkeypatch.setattr("lowdim.sources.derived._BLOCK_BYTES", 1 << 10)
    monkeypatch.setattr("lowdim.sources.derived.free_bytes", lambda: 10 * X.nbytes)
    with pytest.raises(MemoryError, match=r"all rows of X, of shape \(\d+, 4\), are needed in memory for ICA"):
        ICA().fit(endless())
    assert len(read) < 20


def test_rows_of_other_machines_are_not_gathered():
    dask = pytest.importorskip("dask.dataframe")
    pandas = pytest.importorskip("pandas")
    frame = dask.from_pandas(pandas.DataFrame(X), npartitions=2)
    with pytest.raises(ValueError, match="solver='gram' reads columns"):
        PCA(2, solver="gram").fit(frame)


def test_weights_are_counted_when_the_rows_are():
    weights = np.arange(400.0)
    found = ICA().fit(generator(X), sample_weight=weights)
    np.testing.assert_array_equal(found.components_, ICA().fit(X, sample_weight=weights).components_)
    with pytest.raises(ValueError, match=r"must have one entry per row.* for 400 rows"):
        ICA().fit(generator(X), sample_weight=weights[:50])


def test_a_checkpoint_of_a_gathering_fit_is_refused_before_a_row_is_read(tmp_path):
    stream = open_source(generator(X))
    with pytest.raises(ValueError, match="checkpoint"):
        ICA().fit(stream, checkpoint=tmp_path / "state")
    assert ICA().fit(stream).n_samples_ == 400


def test_what_can_be_read_once_is_not_opened_by_a_plan():
    for stream in (generator(X), record_batches(X), ArrowStream(X)):
        with pytest.raises(
            TypeError, match=r"can be read only once, .* pass lowdim\.sources\.open_source\(X\) to both"
        ):
            lowdim.plan(ICA(), stream)
        assert ICA().fit(stream).n_samples_ == 400
