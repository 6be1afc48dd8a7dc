"""What a report refuses: before rows are read what can be known by then, and after the first pass the rest."""

from __future__ import annotations

import numbers
from typing import Any

from ..errors import n_components_out_of_range, not_one_for_each_row
from .analysis import Analysis
from .given_model import check_model, is_fitted
from .prepared_table import Request
from .words import listed

#: A report is about at least so many rows and columns.
_ROWS, _COLUMNS = 3, 2


def check_request(request: Request) -> None:
    """Refuse arguments that are wrong whatever the table is."""
    check_model(request.model)
    k = request.n_components
    if k is not None and (isinstance(k, bool) or not isinstance(k, numbers.Integral) or k < 1):
        raise ValueError(f"n_components={k!r} must be a whole number of at least 1, or None to choose it.")
    if request.model is not None:
        for name in ("n_components", "standardize"):
            if getattr(request, name) is not None:
                raise ValueError(
                    f"{name}={getattr(request, name)!r} is for the model that the report fits, and model is given: "
                    f"leave {name} out, or set it in the model."
                )
    if request.standardize not in (None, True, False):
        raise ValueError(f"standardize={request.standardize!r} must be True, False, or None to decide by the columns.")


def check_table(a: Analysis) -> None:
    """Refuse tables that are too small for a report, and what does not go with them."""
    if a.n < _ROWS:
        raise ValueError(f"a report is about at least {_ROWS} rows, and the table has {a.n}.")
    # Columns of a model that is fitted need not vary in this table.
    varying = [name for name, deviation in zip(a.names, a.first.deviation[a.used], strict=True) if deviation > 0]
    if len(varying) < _COLUMNS:
        have = f"only {listed(varying)}" if varying else "none"
        why = "".join(f"; {each.name}: {each.why}" for each in a.left_out[:5])
        raise ValueError(
            f"a report is about at least {_COLUMNS} columns of numbers that vary, and the table has {have}{why}."
        )
    opened = a.opened
    vectors: list[tuple[str, Any]] = [("labels", values) for values in opened.groups.values()]
    vectors += [("ids", opened.ids), ("sample_weight", opened.weights)]
    for name, vector in vectors:
        if vector is not None and len(vector) != a.n:
            raise not_one_for_each_row(name, len(vector), a.n)
    for name, table in (("response", opened.response), ("other", opened.other)):
        if table is not None and table.shape[0] not in (None, a.n):
            raise ValueError(f"{name} has {table.shape[0]} rows, X has {a.n}; pass one row for each row of X.")
    k = a.request.n_components
    if k is not None and not is_fitted(a.request.model) and k > a.rank:
        raise n_components_out_of_range(k, a.rank, a.n, a.p, fractions=False)
