"""Results as data frames, if `set_output` asks for them, where scikit-learn itself does not make them.

scikit-learn wraps what `transform` returns, and of several tables only the first. Here all tables are wrapped, and the
results of `inverse_transform` and `impute` too. Predictions are arrays in any case, as in scikit-learn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import narwhals as nw
from sklearn import get_config

from .._xp import compute_lazy, to_numpy
from ..sources import is_frame_of_engine, row_labels
from ._writing import Maps, results


def framed_results(model: Any, maps: Maps, *tables: Any) -> Any:
    """The results of maps of these tables, as `results` returns them, in the container of `set_output`.

    Rows have the labels of their own table or, if it has none, those of the first table.
    """
    found = results(maps)
    if is_frame_of_engine(found):
        return found
    if len(maps) == 1:
        return framed(model, found, maps[0].names, tables[0])
    given = list(tables[0]) if len(tables) == 1 else list(tables)
    return tuple(
        framed(model, values, each.names, table, given[0])
        for values, each, table in zip(found, maps, given, strict=True)
    )


def framed(model: Any, values: Any, names: Callable[[], Sequence[str]], *tables: Any) -> Any:
    """`values` in the container of `set_output`, with the names of columns that `names` returns, and the labels of the
    first of the tables whose rows have any."""
    library = _container(model)
    if library == "default":
        return values
    frame = nw.from_numpy(to_numpy(compute_lazy(values)), schema=list(names()), backend=library).to_native()
    labels = next((found for table in tables if (found := row_labels(table)) is not None), None)
    if library == "pandas" and labels is not None:
        frame.index = labels
    return frame


def framed_draws(model: Any, draws: Any, names: Callable[[], Sequence[str]], X: Any) -> Any:
    """Several results in one array (n_draws, n, p), or as a list of data frames."""
    return draws if _container(model) == "default" else [framed(model, draw, names, X) for draw in to_numpy(draws)]


def _container(model: Any) -> Any:
    """ "pandas", "polars", or "default" for arrays."""
    if not model._frames_everywhere:
        return "default"
    asked = getattr(model, "_sklearn_output_config", {}).get("transform")
    return get_config()["transform_output"] if asked is None else asked
