"""How it was computed: solver, accuracy, versions, the same again, references, the model, and what the page holds."""

from __future__ import annotations

import os
import platform
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy
import sklearn

from ..._version import __version__
from ...errors import HoldsRowsWarning, without_warnings
from ...files import header, save
from ...models import PCA
from ...tabular import Table
from ..analysis import Analysis
from ..blocks import Block, Download, Listing, Prose, Section, Widget
from ..page.packages import plotly_js_version
from ..references import references_of
from ..words import count, listed, number

#: Larger models are not part of the page; those that hold rows of the table must be smaller.
_LARGEST_MODEL, _LARGEST_WITH_ROWS = 8 << 20, 1 << 20


def section(a: Analysis, others: Sequence[Section], seconds: Mapping[str, float]) -> Section:
    """The last section, which is about the whole page: its other sections, and how long they took."""
    stored, said = _model_file(a.model)
    blocks: list[Block] = [
        Prose(_solved(a)),
        Listing(_facts(a), shown=20),
        Prose(f"The same page is made by: {a.request.command}"),
        Listing(_times(seconds), shown=20),
        Prose(said),
        Prose(_held(a, others)),
        Prose(
            f"To cite lowdim: The lowdim developers, lowdim {__version__}, a Python package. The methods on this page "
            "are described in:"
        ),
        *(Prose(text) for text in references_of(a.model, [*(other.key for other in others), *_second_tables(a)])),
    ]
    return Section(
        key="computed",
        title="How it was computed",
        lead="What ran, how accurate it was, how to make the same page again, and what the file contains.",
        blocks=blocks,
        downloads=[] if stored is None else [stored],
    )


def _second_tables(a: Analysis) -> list[str]:
    given = {"response": a.opened.response, "other": a.opened.other}
    return [name for name, table in given.items() if table is not None]


def _solved(a: Analysis) -> str:
    """Which model was fitted by which solver, and how that ended."""
    model = a.model
    kind, k = type(model).__name__, count(int(model.n_components_), "component")
    units = " divided by their standard deviations" if a.standardize else ""
    parts = [f"The report is about {kind} with {k}, of {count(a.p, 'column')}{units}."]
    plan = getattr(model, "plan_", None)
    if plan is not None:
        solver, _, how = str(plan).partition(": ")
        parts.append(f"It was solved by {solver} ({how}).")
    status = getattr(model, "status_", None)
    if status is not None:
        parts.append(f"How it ended: {status.value}.")
    residual = getattr(model, "residual_", None)
    if residual is not None and np.ndim(residual) == 0:
        of_what = ", of the largest eigenvalue" if isinstance(model, PCA) else ""
        parts.append(f"The residual is {number(float(residual), 2)}{of_what}.")
    steps = getattr(model, "n_iter_", None)
    if steps is not None and np.ndim(steps) == 0 and int(steps) > 0:
        parts.append(f"It took {count(int(steps), 'iteration')}.")
    return " ".join(parts)


def _facts(a: Analysis) -> Table:
    """Numbers of rows and columns, the seed, and versions."""
    model = a.model
    facts: dict[str, Any] = {
        "rows": f"{a.n:,}",
        "columns analysed": f"{a.p:,} of {a.opened.n_columns:,}",
        "model": str(type(model).__name__),
        "components": f"{int(model.n_components_):,}",
        "solver": str(getattr(model, "solver_", "")),
        "rows in memory": "yes" if a.opened.held else "no, they are read block by block",
        "passes of the first look": f"{a.first.passes:,}",
        "seed": str(a.request.random_state),
        "lowdim": __version__,
        "NumPy": np.__version__,
        "SciPy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "Python": platform.python_version(),
        "plotly.js": plotly_js_version(),
    }
    return Table({"value": list(facts.values())}, list(facts), title="What was used")


def _times(seconds: Mapping[str, float]) -> Table:
    """How long the parts took. What several sections need is counted where it is first needed."""
    return Table(
        {"seconds": [round(value, 3) for value in seconds.values()]},
        list(seconds),
        title="How long the parts took",
        notes=["What several sections need is counted where it is first needed."],
        row_name="part",
    )


def _model_file(model: Any) -> tuple[Download | None, str]:
    """The model as a file to download, and what is said of it."""
    kind = type(model).__name__
    name = f"{kind.lower()}.model"
    with tempfile.TemporaryDirectory(prefix="lowdim") as folder:
        path = os.path.join(folder, name)
        try:
            with without_warnings(HoldsRowsWarning):
                save(model, path)
        except (TypeError, ValueError):
            return None, f"This {kind} cannot be stored in a file, because of its parameters."
        size, with_rows = os.path.getsize(path), bool(header(path)["holds_rows"])
        if size > (_LARGEST_WITH_ROWS if with_rows else _LARGEST_MODEL):
            why = "it holds rows of the table, and " if with_rows else ""
            return None, f"The model is not part of the page: {why}it takes {size / 1e6:.1f} MB."
        with open(path, "rb") as file:
            content = file.read()
    rows = " It holds rows of the table, or numbers for each of them." if with_rows else ""
    said = (
        f'The fitted model can be saved from this page as {name}; lowdim.load("{name}") reads it, and so do the '
        f"commands lowdim transform and lowdim inspect.{rows}"
    )
    return Download(name, content, f"The fitted {kind}, for lowdim.load"), said


def _held(a: Analysis, sections: Sequence[Section]) -> str:
    """What of the table is in the file, for those who send it."""
    widgets = [block for each in sections for block in each.blocks if isinstance(block, Widget)]
    rows = max((len(w.values["numbers"]) for w in widgets if w.values.get("numbers") is not None), default=0)
    columns = max((len(w.values["columns"]) for w in widgets if w.kind == "map"), default=0)
    has_ids = any(w.values.get("ids") is not None for w in widgets if w.kind == "map")
    groups = list(a.opened.groups)
    parts = ["This file contains more than statistics, and whoever gets it gets these too."]
    if rows:
        which = f"all {rows:,} rows" if rows == a.n else f"{rows:,} of the {a.n:,} rows"
        what = [f"their entries in {count(columns, 'column')}"] if columns else []
        what += ["their names"] if has_ids else []
        what += [f"their {'categories' if len(groups) > 1 else 'category'} ({listed(groups)})"] if groups else []
        parts.append(f"For {which} it holds their positions on the map{_and(what)}.")
    parts.append(
        "It also holds the names of the columns and the entries of the rows that are shown as examples. It sends "
        "nothing anywhere: no part of the page is loaded from a network."
    )
    return " ".join(parts)


def _and(what: Sequence[str]) -> str:
    return "" if not what else f" and {what[0]}" if len(what) == 1 else f", {', '.join(what[:-1])} and {what[-1]}"
