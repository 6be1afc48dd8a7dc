"""The printed form of a fitted model: the table of its components, and the plan of its fit."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from .._xp import to_numpy
from ..tabular import Table

#: The largest number of components that are printed.
_SHOWN = 10


def importance_table(model: Any) -> Table:
    """The table of all components of a fitted model."""
    columns = {name: to_numpy(numbers).astype(np.float64) for name, numbers in model._importance()}
    what = f"{model.n_samples_} rows, {model._describe_columns()} ({model.solver_})"
    title = f"{type(model).__name__} of {what}"
    return Table(columns, model._importance_names(), title=title, row_name="component")


def importance_text(model: Any) -> str:
    """The table of the first components and the plan as text."""
    return f"{importance_table(model).text(max_rows=_SHOWN)}\nplan: {model.plan_}"


def importance_html(model: Any) -> str:
    """The same as HTML, for notebooks."""
    return f"{importance_table(model)._repr_html_()}<p>plan: {escape(str(model.plan_))}</p>"
