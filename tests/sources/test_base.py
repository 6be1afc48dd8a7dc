"""The least that a source has to say, and a shape, which is a source without rows."""

import sys
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import sparse

from inputs import INPUTS
from lowdim import PCA, PPCA, PLSRegression
from lowdim.reading import summarize
from lowdim.reading.rows import Rows
from lowdim.sources import open_source
from lowdim.sources.array import ShapedSource
from lowdim.sources.base import Source, Traits
from lowdim.sources.beside import BesideSource
from lowdim.sources.opening import SOURCES, SourceKind
from lowdim.summaries import Moments

X = np.arange(24.0).reshape(8, 3) ** 1.5
INCOMPLETE = np.where((np.arange(8)[:, None] == 0) & (np.arange(3) == 1), np.nan, np.round(X))


def test_a_shape_has_no_rows():
    shape = ShapedSource((10, 3), open_source(sparse.eye_array(3)).traits)
    assert (shape.shape, shape.traits.sparse) == ((10, 3), True)
    with pytest.raises(TypeError, match=r"is a shape, \(10, 3\), and has no rows to read"):
        shape.blocks(2)


@dataclass(frozen=True)
class Name:
    """The name of a table; a text would be the name of a file."""

    text: str


class NamedTable(Source):
    """The least that a source has to say: rows of a table that is known by its name."""

    tables = {"rows": X, "with missing entries": INCOMPLETE, "more": X[:, :2] ** 2}

    def __init__(self, name):
        self._rows = self.tables[name.text]
        self.shape, self.dtype, self.kind = self._rows.shape, self._rows.dtype, "named"
        self.traits = Traits(by_feature=False)

    def blocks(self, rows):
        for i in range(0, len(self._rows), rows):
            yield self._rows[i : i + rows]


def test_a_new_source_is_one_class_and_one_row_of_the_table(monkeypatch):
    table = [*SOURCES, SourceKind(lambda X: isinstance(X, Name), NamedTable)]
    monkeypatch.setattr(sys.modules["lowdim.sources.opening"], "SOURCES", table)
    np.testing.assert_array_equal(PCA(2).fit(Name("rows")).components_, PCA(2).fit(X).components_)
    np.testing.assert_array_equal(PCA(2).fit(X).transform(Name("rows")), PCA(2).fit(X).transform(X))
    np.testing.assert_allclose(
        PPCA(1).fit(Name("with missing entries")).loadings_, PPCA(1).fit(INCOMPLETE).loadings_, rtol=1e-6
    )
    assert Rows(open_source(Name("with missing entries"))).shows_missing()
    more = NamedTable.tables["more"]
    expected = PLSRegression(1).fit(X, more).coef_
    np.testing.assert_allclose(PLSRegression(1).fit(Name("rows"), Name("more")).coef_, expected)
    np.testing.assert_allclose(PLSRegression(1).fit(X, Name("more")).coef_, expected)
    beside_dask = BesideSource([open_source(Name("rows")), open_source(INPUTS["Dask array"].make(X))])
    assert not beside_dask.traits.remote
    np.testing.assert_allclose(summarize(beside_dask, Moments).mean, np.tile(X.mean(axis=0), 2))
    with pytest.raises(TypeError, match="X cannot be cut between two rows"):
        open_source(Name("rows")).between(0, 2)
