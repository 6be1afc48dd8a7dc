"""Results written to files: `transform_to` and its like, which map the same rows by the same functions as `transform`.

A method such as `transform` is defined by the maps that it makes of its arguments, one for each table. `transform`
returns their results, and `transform_to` writes them.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..errors import columns_clash, inconsistent_lengths
from ..reading import RowMap, write_rows
from ..sinks import find_output, open_sink
from ..sources import names_in, open_keeping
from ._progress import callback_progress
from ._sklearn_versions import with_callbacks

#: What `transform` and its like make of their arguments.
Maps = Sequence[RowMap]


class WritesResults:
    """Mixin of all models with the methods that write their results to a file.

    They take the options `keep` and `overwrite`, and return the path that they were given:

    - The kind of file is known from the end of `path`: .parquet, .arrow or .feather, .csv or .csv.gz, .npy, .zarr, .h5
      or .hdf5 ("scores.h5::name" for the name of the dataset). A path that ends with "/", such as "scores.parquet/",
      is a directory of files of at most about 256 MiB.
    - `keep` names columns of a data frame or of files that are carried along, before the results. They may be of any
      type, and are not among the columns of the rows.
    - `overwrite` allows to replace what is at `path`.

    It takes one pass and the memory of a few blocks of rows. The file is written under another name and moved when it
    is whole: after an error there is nothing at `path`, or what was there before.
    """

    def transform_to(self: Any, X: Any, path: Any, *, keep: Sequence[str] = (), overwrite: bool = False) -> str:
        """Write what `transform` returns for `X` to a file; its columns are `get_feature_names_out()`.

        Parameters
        ----------
        X : array, sparse matrix, data frame, scan of files, or iterable of blocks, of shape (n_samples, n_features)
        path : str or Path
            Where to write. The kind of file is known from its end: .parquet, .arrow, .feather, .csv, .csv.gz, .npy,
            .zarr, .h5 or .hdf5. A string that ends with "/" is a directory of such files.
        keep : sequence of str
            Columns of `X`, of any type, that are carried along and are not part of the rows.
        overwrite : bool
            Whether to replace what is at `path`.

        Returns
        -------
        path : str
            The path that was given.
        """
        return self._write(self._transform_maps, X, path, "transform_to", keep, overwrite, self._wanted())

    @available_if(lambda self: self.inverse_transform is not None)
    def inverse_transform_to(self: Any, X: Any, path: Any, *, keep: Sequence[str] = (), overwrite: bool = False) -> str:
        """Write what `inverse_transform` returns for the scores `X` to a file, with the names of the columns of the
        fit. For the arguments see `transform_to`."""
        return self._write(self._inverse_maps, X, path, "inverse_transform_to", keep, overwrite)

    @with_callbacks
    def _write(
        self: Any,
        maps_of: Callable[[Any], Maps],
        X: Any,
        path: Any,
        method: str,
        keep: Sequence[str],
        overwrite: bool,
        wanted: Sequence[str] | None = None,
        y: Any = None,
    ) -> str:
        """Write the results of the maps of `X`, side by side.

        `method` is the name of the caller, and `wanted` are the columns that it needs, for files that have others too.
        `y` may name further columns of `X` that the maps need.
        """
        check_is_fitted(self)
        keep = _checked_names(keep)
        find_output(path).kind.require()
        maps = maps_of(self._open_keeping(X, keep, wanted, names_in(y)) if keep else X)
        names = result_names(maps)
        clashing = [name for name in keep if name in names]
        if clashing:
            raise columns_clash(clashing)
        progress = callback_progress(self, X, None, method)
        reading = [file for each in maps for file in each.source.files]
        with open_sink(path, names, keep=keep, overwrite=overwrite, reading=reading) as sink:
            write_rows(maps, sink, keep=keep, progress=progress)
        if progress is not None:
            progress.finish()
        return os.fspath(path)

    def _open_keeping(self, X: Any, keep: Sequence[str], wanted: Sequence[str] | None, beside: Sequence[str]) -> Any:
        """`X` as a source that carries the columns `keep` along; see `open_keeping`."""
        return open_keeping(X, keep, wanted, beside)


def results(maps: Maps) -> Any:
    """The result of one map, or a tuple with those of several tables, which must have the same number of rows."""
    if len(maps) == 1:
        return maps[0].result()
    found = tuple(each.result() for each in maps)
    lengths = [result.shape[0] for result in found]
    if len(set(lengths)) > 1:
        raise inconsistent_lengths([each.source.table for each in maps], lengths)
    return found


def result_names(maps: Maps) -> list[str]:
    """The names of all results, side by side. If two tables share a name, all names begin with that of their table."""
    each = [list(m.names()) for m in maps]
    if len(maps) > 1 and max(Counter(name for names in each for name in names).values()) > 1:
        tables = (m.source.table.removeprefix("the features of ").replace(" ", "") for m in maps)
        each = [[f"{table}_{name}" for name in names] for table, names in zip(tables, each, strict=True)]
    return [name for names in each for name in names]


def _checked_names(keep: Any) -> tuple[str, ...]:
    """`keep` as a tuple of different names."""
    names = (keep,) if isinstance(keep, str) else tuple(keep)
    if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise ValueError(f"keep={keep!r} must be the names of different columns, as in keep=['id'].")
    return names
