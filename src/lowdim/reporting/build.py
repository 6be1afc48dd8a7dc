"""`report`: a table -> an analysis -> sections -> a page -> a file."""

from __future__ import annotations

import numbers
import os
import platform
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from inspect import Parameter, Signature, signature
from os import PathLike
from time import perf_counter
from typing import Any, Literal

import numpy as np
import scipy
import sklearn

from .._core import __version__
from .._core.paths import local_path, moved_when_whole, require_free
from .._core.types import RandomState, VectorLike
from ..coding import check_min_frequency
from ..errors import (
    HoldsRowsWarning,
    LowdimWarning,
    n_components_out_of_range,
    output_is_no_path,
    with_present_names,
    without_warnings,
)
from ..files import header, save
from ..models.base import Model
from ..models.factor_analysis import FactorAnalysis
from ..models.mixed import MixedModel
from ..models.pca import PCA
from ..selection.parallel_analysis import seed_of
from ..sources.opening import TableLike
from ..sources.scan import Scan
from ..table import Table
from . import choosing_k, data, factors, levels, loadings, missing, nonlinear, outliers, reconstruction, two_tables
from . import map as map_section
from .analysis import Analysis, ReportOptions
from .blocks import Block, Document, Download, Listing, Prose, Section, Widget, count, listed, number, prose
from .columns import OpenedTable, check_model, is_fitted
from .mixed import MixedAnalysis
from .page import in_notebook, plotly_js_version, render, require_packages

# The call of `report` that makes the same page, as text.


#: What the page names in place of that call: a command, if one asked for the page.
COMMAND: ContextVar[str] = ContextVar("COMMAND", default="")


def call_of(X: Any, path: Any, given: Mapping[str, Any], defaults: Mapping[str, Any]) -> str:
    """The call with its arguments: values that can be written down as they are, all others by their names.

    Arguments that have their default are left out.
    """
    arguments = [_rows(X), repr(os.fspath(path))]
    for name, value in given.items():
        if value is not defaults[name]:
            arguments.append(f"{name}={_written(value, name)}")
    return f"lowdim.report({', '.join(arguments)})"


def _rows(X: Any) -> str:
    if not isinstance(X, Scan):
        return _written(X, "X")
    choice = [(name, getattr(X.choice, name, None)) for name in ("columns", "exclude")]
    choice.append(("decimal", getattr(X.found, "decimal", None)))
    chosen = [f"{name}={_written(value, name)}" for name, value in choice if value]
    return f"lowdim.scan({', '.join([_written(getattr(X.found, 'where', X), 'path'), *chosen])})"


def _written(value: Any, name: str) -> str:
    """The value as Python writes it, if it is a number, text or a short list of these; otherwise its name."""
    if value is None or isinstance(value, bool | int | float | str):
        return repr(value)
    if isinstance(value, os.PathLike):
        return repr(os.fspath(value))
    if isinstance(value, list | tuple) and len(value) <= 12 and all(isinstance(v, str | int | float) for v in value):
        return repr(list(value))
    return name


# What a report refuses: before rows are read what can be known by then, and after the first pass the rest.


#: A report is about at least so many rows and columns.
_ROWS, _COLUMNS = 3, 2


def check_request(request: ReportOptions) -> None:
    """Refuse arguments that are wrong whatever the table is."""
    check_model(request.model)
    k = request.n_components
    if k is not None and (isinstance(k, bool) or not isinstance(k, numbers.Integral) or k < 1):
        raise ValueError(f"n_components={k!r} must be a whole number of at least 1, or None to choose it.")
    if request.model is not None:
        for name in ("n_components", "scale"):
            if getattr(request, name) is not None:
                raise ValueError(
                    f"{name}={getattr(request, name)!r} is for the model that the report fits, and model is given: "
                    f"leave {name} out, or set it in the model."
                )
    if request.scale not in (None, True, False):
        raise ValueError(f"scale={request.scale!r} must be True, False, or None to decide by the columns.")


def _categories_asked(
    model: Any, scale: Any, y: Any, Y: Any, image_shape: Any, categorical_features: Any, min_frequency: Any
) -> tuple[bool, list[str]]:
    """Whether categories are analysed, and the columns of numbers that are declared as such."""
    declared = [categorical_features] if isinstance(categorical_features, str) else list(categorical_features or [])
    check_min_frequency(min_frequency)
    numbers_only = [
        name for name, given in (("y", y), ("Y", Y), ("image_shape", image_shape or None)) if given is not None
    ]
    if scale is False:
        numbers_only.append("scale=False")
    if model is not None and not isinstance(model, MixedModel):
        numbers_only.append(f"model={type(model).__name__}")
    if numbers_only and (declared or min_frequency is not None):
        what = "categorical_features" if declared else "min_frequency"
        raise ValueError(
            f"{what} is for a report about categories, and {numbers_only[0]} makes one about numbers only: leave one "
            "of them out."
        )
    if model is not None and min_frequency is not None:
        raise ValueError(
            f"min_frequency={min_frequency!r} is for the model that the report fits, and model is given: set it in the "
            "model."
        )
    if isinstance(model, MixedModel) and not is_fitted(model):
        own = getattr(model, "categorical_features", None) or []
        declared += [name for name in ([own] if isinstance(own, str) else own) if name not in declared]
    return not numbers_only, declared


def _check_categories(a: Analysis) -> None:
    """Refuse what does not go with categories, or without them."""
    request = a.request
    if isinstance(a, MixedAnalysis):
        a.check_supplementary()
    elif request.min_frequency is not None:
        raise ValueError(f"min_frequency={request.min_frequency!r} is for categories, and the table has none.")


def check_table(a: Analysis) -> None:
    """Refuse tables that are too small for a report, and what does not go with them."""
    if a.n < _ROWS:
        raise ValueError(f"a report is about at least {_ROWS} rows, and the table has {a.n}.")
    # Columns of a model that is fitted need not vary in this table.
    varying = a.varying
    if len(varying) < _COLUMNS:
        have = f"only {listed(varying)}" if varying else "none"
        why = "".join(f"; {name}: {why}" for name, why in list(a.left_out.items())[:5])
        what = "columns" if isinstance(a, MixedAnalysis) else "columns of numbers"
        raise ValueError(f"a report is about at least {_COLUMNS} {what} that vary, and the table has {have}{why}.")
    a.opened.check_lengths(a.n)
    for name, table in (("y", a.opened.y), ("Y", a.opened.Y)):
        if table is not None and table.shape[0] not in (None, a.n):
            raise ValueError(f"{name} has {table.shape[0]} rows, X has {a.n}; pass one row for each row of X.")
    k = a.request.n_components
    if k is not None and not is_fitted(a.request.model) and k > a.rank:
        raise n_components_out_of_range(k, a.rank, a.n, a.p, fractions=False)


# Where the methods of a report are described.


#: What each section uses (that about two tables: for a response, and for another table), and the model that the report
#: is about, by the name of its class.
REFERENCES: dict[str, list[str]] = {
    "PCA": ["Principal components: Jolliffe (2002), Principal component analysis, 2nd edition."],
    "MCA": [
        "Multiple correspondence analysis: Greenacre (2017), Correspondence analysis in practice, 3rd edition.",
        "Adjusted inertias: Benzecri (1979), Sur le calcul des taux d'inertie dans l'analyse d'un questionnaire.",
    ],
    "FAMD": ["Factor analysis of mixed data: Pages (2004), Analyse factorielle de donnees mixtes."],
    "MFA": ["Multiple factor analysis: Pages (2014), Multiple factor analysis by example using R."],
    "PPCA": ["Probabilistic PCA: Tipping, Bishop (1999), Probabilistic principal component analysis."],
    "FactorAnalysis": ["Factor analysis: Joreskog (1967), Some contributions to maximum likelihood factor analysis."],
    "ICA": ["Independent components: Hyvarinen, Karhunen, Oja (2001), Independent component analysis."],
    "KernelPCA": [
        "Kernel PCA: Scholkopf, Smola, Muller (1998), Nonlinear component analysis as a kernel eigenvalue problem."
    ],
    "how-many": ["Parallel analysis: Horn (1965), A rationale and test for the number of factors."],
    "meaning": [
        "Biplot: Gabriel (1971), The biplot graphic display of matrices.",
        "Bootstrap intervals: Efron, Tibshirani (1993), An introduction to the bootstrap.",
    ],
    "factors": [
        "Conventions of fit: Hu, Bentler (1999), Cutoff criteria for fit indexes in covariance structure analysis."
    ],
    "misfits": [
        "T2 and Q: Jackson, Mudholkar (1979), Control procedures for residuals associated with PCA.",
        "Limit of Q: Buckley, Eagleson (1988), An approximation to the distribution of quadratic forms in normal "
        "random variables.",
    ],
    "y": [
        "PLS: Wold, Sjostrom, Eriksson (2001), PLS-regression: a basic tool of chemometrics.",
        "One standard error: Breiman, Friedman, Olshen, Stone (1984), Classification and regression trees.",
    ],
    "Y": [
        "CCA: Hotelling (1936), Relations between two sets of variates.",
        "Canonical ridge: Vinod (1976), Canonical ridge and econometrics of joint production.",
        "Test of CCA: Winkler, Renaud, Smith, Nichols (2020), Permutation inference for canonical correlation "
        "analysis.",
    ],
    "missing": ["Missing entries: Tipping, Bishop (1999), Probabilistic principal component analysis."],
    "beyond": [
        "Kernel PCA: Scholkopf, Smola, Muller (1998), Nonlinear component analysis as a kernel eigenvalue problem.",
        "ICA: Hyvarinen, Karhunen, Oja (2001), Independent component analysis.",
        "Kept neighbours: Venna, Kaski (2001), Neighborhood preservation in nonlinear projection methods.",
    ],
}


def references_of(model: Any, keys: Sequence[str]) -> list[str]:
    """The references of a model and of the sections with these keys, each of them once, with what it is about."""
    found: dict[str, str] = {}
    for key in (type(model).__name__, *keys):
        for line in REFERENCES.get(key, ()):
            found.setdefault(line.partition(": ")[2], line)
    return list(found.values())


# How it was computed: solver, accuracy, versions, the same again, references, the model, and what the page holds.


#: Larger models are not part of the page; those that hold rows of the table must be smaller.
_LARGEST_MODEL, _LARGEST_WITH_ROWS = 8 << 20, 1 << 20


def computed_section(a: Analysis, others: Sequence[Section], seconds: Mapping[str, float]) -> Section:
    """The last section, which is about the whole page: its other sections, and how long they took."""
    stored, said = _model_file(a.model)
    taken = {"seconds": [round(value, 3) for value in seconds.values()]}
    notes = ["What several sections need is counted where it is first needed."]
    times = Table(taken, list(seconds), title="How long the parts took", notes=notes, row_name="part")
    keys = ["how-many"] if isinstance(a, MixedAnalysis) else [*(other.key for other in others), *a.pairs]
    blocks: list[Block] = [
        *prose(_solved(a)),
        Listing(_facts(a), shown=20),
        Prose(f"The same page is made by: {a.request.command}"),
        Listing(times, shown=20),
        Prose(said),
        *prose(_held(a, others)),
        Prose(
            f"To cite lowdim: The lowdim developers, lowdim {__version__}, a Python package. The methods on this page "
            "are described in:"
        ),
        *(Prose(text) for text in references_of(a.model, keys)),
    ]
    lead = "What ran, how accurate it was, how to make the same page again, and what the file contains."
    downloads = [] if stored is None else [stored]
    return Section("computed", "How it was computed", lead, blocks, downloads=downloads)


def _solved(a: Analysis) -> Iterator[str]:
    """Which model was fitted by which solver, and how that ended."""
    model = a.model
    kind, thing = type(model).__name__, "factor" if isinstance(model, FactorAnalysis) else "component"
    k = count(int(model.n_components_), thing)
    units = " divided by their standard deviations" if a.scale else ""
    yield f"The report is about {kind} with {k}, of {count(a.p, 'column')}{units}."
    if isinstance(a, MixedAnalysis):
        yield (
            "What a report says of tables of numbers only is left out: rows that do not fit, rebuilding, bootstrap "
            'intervals and nonlinear maps. columns="numeric", or --columns numeric, makes such a report of the numbers.'
        )
    plan = getattr(model, "plan_", None)
    if plan is not None:
        solver, _, how = str(plan).partition(": ")
        yield f"The solver was {solver} ({how})."
    status = getattr(model, "status_", None)
    if status is not None:
        yield f"How it ended: {status.value}."
    residual = getattr(model, "residual_", None)
    if residual is not None and np.ndim(residual) == 0:
        of_what = " times the largest eigenvalue" if isinstance(model, PCA) else ""
        yield f"The residual is {number(float(residual), 2)}{of_what}."
    steps = getattr(model, "n_iter_", None)
    if steps is not None and np.ndim(steps) == 0 and int(steps) > 0:
        yield f"It took {count(int(steps), 'iteration')}."


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


def _held(a: Analysis, sections: Sequence[Section]) -> Iterator[str]:
    """What of the table is in the file, for those who send it."""
    widgets = [block for each in sections for block in each.blocks if isinstance(block, Widget)]
    rows = max((len(w.values["numbers"]) for w in widgets if w.values.get("numbers") is not None), default=0)
    columns = max((len(w.values["columns"]) for w in widgets if w.kind == "map"), default=0)
    has_labels = any(w.values.get("labels") is not None for w in widgets if w.kind == "map")
    groups = list(a.opened.groups)
    yield "This file contains more than statistics, and whoever gets it gets these too."
    if rows:
        which = f"all {rows:,} rows" if rows == a.n else f"{rows:,} of the {a.n:,} rows"
        what = ["their positions on the map"]
        what += [f"their entries in {count(columns, 'column')}"] if columns else []
        what += ["their names"] if has_labels else []
        what += [f"their {'categories' if len(groups) > 1 else 'category'} ({listed(groups)})"] if groups else []
        yield f"For {which} it holds {listed(what)}."
    yield (
        "It also holds the names of the columns and the entries of the rows that are shown as examples. It sends "
        "nothing anywhere: no part of the page is loaded from a network."
    )


# The sections of a report, in their order.


#: Each section by its key. A section that has nothing to say of a table is None.
SECTIONS: dict[str, Callable[[Analysis], Section | None]] = {
    "data": data.section,
    "how-many": choosing_k.section,
    "map": map_section.section,
    "meaning": loadings.section,
    "factors": factors.section,
    "misfits": outliers.section,
    "rebuilding": reconstruction.section,
    "two-tables": two_tables.section,
    "missing": missing.section,
    "beyond": nonlinear.section,
}


#: The sections of a report about a table with categories.
MIXED_SECTIONS: dict[str, Callable[[Any], Section | None]] = {
    "data": levels.data_section,
    "how-many": levels.how_many_section,
    "map": map_section.section,
    "meaning": levels.meaning_section,
    "missing": levels.missing_section,
}


def _sections_of(a: Analysis) -> dict[str, Callable[[Any], Section | None]]:
    return MIXED_SECTIONS if isinstance(a, MixedAnalysis) else SECTIONS


#: At most so many sections have a sentence at the top of the page; if there are more, the first ones of this order.
_MOST_SENTENCES = 6
_IMPORTANCE = (
    "data",
    "how-many",
    "factors",
    "meaning",
    "two-tables",
    "map",
    "missing",
    "misfits",
    "beyond",
    "rebuilding",
)


@dataclass(frozen=True, repr=False)
class Report:
    """A report that was written.

    Attributes
    ----------
    path : str
        The file.
    sections : tuple of Section
        What the page shows, as text, charts and tables: `section.key`, `section.lead`, `section.blocks`.
    summary : tuple of str
        The sentences at the top of the page.
    model : Model
        The fitted model that the report is about.
    """

    path: str
    sections: tuple[Section, ...]
    summary: tuple[str, ...]
    model: Any

    @property
    def n_bytes(self) -> int:
        """The size of the file."""
        return os.path.getsize(self.path)

    def _repr_html_(self) -> str:
        return in_notebook(self.path, self.summary)

    def __repr__(self) -> str:
        return f"Report({self.path!r}: {', '.join(section.key for section in self.sections)})"

    def __str__(self) -> str:
        return "\n".join([*self.summary, f"written to {self.path} ({self.n_bytes / 1e6:.1f} MB)"])


@with_present_names
def report(
    X: TableLike,
    path: str | PathLike[str] = "report.html",
    *,
    columns: str | Sequence[str] | None = None,
    exclude: str | Sequence[str] | None = None,
    hue: VectorLike | None = None,
    labels: VectorLike | None = None,
    model: Model | None = None,
    n_components: int | None = None,
    scale: bool | None = None,
    y: TableLike | VectorLike | None = None,
    Y: TableLike | VectorLike | None = None,
    supplementary: TableLike | None = None,
    supplementary_columns: str | Sequence[str] | None = None,
    categorical_features: str | Sequence[str] | None = None,
    min_frequency: int | float | None = None,
    image_shape: Sequence[int] | Literal[False] | None = None,
    sample_weight: VectorLike | None = None,
    title: str | None = None,
    brief: bool = False,
    overwrite: bool = False,
    random_state: RandomState = None,
) -> Report:
    """Write a page that shows what is in a table: one HTML file, which needs no network and opens from disk.

    Parameters
    ----------
    X : array, data frame, scan of files, path, or anything else that `open_source` reads
        The table. If it has categories (columns of text, truth values or categoricals), the report is about FAMD of
        numbers and categories, or about MCA if there are no numbers; otherwise about PCA. Columns that identify rows,
        dates and free text are left out, and the page says so. Missing entries of categories are a level of their own.
        Those of numbers (NaN or null) are filled in: by PPCA, or by the EM of FAMD beside categories.
    path : str or path
        The file to write; it ends with .html.
    columns, exclude : str or list of str, default=None
        The columns that are analysed, and those that are not: names, or patterns such as "temp_*". Columns of an array
        are called x1, x2, ...
    hue : vector, str, or list of str, default=None
        Categories of the rows: a vector, or the names of columns of `X`. They colour the map.
    labels : vector or str, default=None
        What each row is called: a vector, or the name of a column of `X`.
    model : model of lowdim, default=None
        The model that the report is about, fitted or not. None is FAMD, MCA, or PCA, of the columns divided by their
        standard deviations if these differ much. A model of numbers, and so `y`, `Y` and `image_shape`, make a report
        about the numbers of the table.
    n_components : int, default=None
        The number of components of that model; None lets parallel analysis choose it.
    scale : bool, default=None
        Whether to divide the columns by their standard deviations; None decides by how much these differ. Beside
        categories numbers always are, and False makes a report about the numbers of the table.
    y : table, vector, str, or list of str, default=None
        Responses to predict, one row for each row of `X`, or the names of columns of `X`.
    Y : table, str, or list of str, default=None
        A second table of the same rows, to find what both have in common; or the names of columns of `X`.
    supplementary : rows, default=None
        Further rows with the same columns. They are shown on the map, and not used in any fit.
    supplementary_columns : str or list of str, default=None
        Columns of `X`, by names or patterns, whose correlations with the components (or whose levels) are shown, and
        which are not used in any fit.
    categorical_features : str or list of str, default=None
        Columns of numbers whose entries are codes of categories, such as classes 1 to 3.
    min_frequency : int or float, default=None
        Levels of categories with fewer rows, or with a smaller share of the rows, are pooled in one level, "(rare)".
    image_shape : (height, width), (height, width, 3) or False, default=None
        The shape of the picture that each row holds; None finds out, and False means that there are none.
    sample_weight : vector or str, default=None
        Frequency weights of the rows, or the name of a column of `X`.
    title : str, default=None
        The heading of the page; None is the name of the file, if `X` is one.
    brief : bool, default=False
        Whether to write one page only, for a screen or a sheet of paper: the sentences at the top, and the map.
    overwrite : bool, default=False
        Whether to replace a file at `path`.
    random_state : int, RandomState or None, default=None
        Seed of everything that is drawn at random; None is a fixed seed.

    Returns
    -------
    Report
        The path of the file, the sections, the sentences at the top, and the fitted model. Printing it shows the
        sentences.

    Notes
    -----
    Tables that take up to 1 GiB as float64 are held in memory. Larger ones are read twice, block by block: once for the
    moments of about a hundred random pieces of the rows, from which the components, the rules for their number, the
    cross-validation and the bootstrap are computed, and once for the scores of all rows. Statistics are of all rows;
    the map then shows a sample of them, and the comparisons with a second table and with nonlinear maps are of a
    sample, too. The page says where that is so.

    The file appears when it is whole: after an error or Ctrl-C there is nothing at `path`, or what was there before.
    It holds entries of the table for the rows that it shows (section "How it was computed" says which).

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import load_iris
    >>> import lowdim
    >>> iris = load_iris(as_frame=True)
    >>> species = iris.target_names[iris.target]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = lowdim.report(iris.data, os.path.join(folder, "iris.html"), hue=species, title="Iris")
    ...     size = made.n_bytes
    >>> made.model
    PCA(...)
    """
    where = _checked_path(path, overwrite)
    require_packages()
    given = {key: value for key, value in locals().items() if key in _WRITTEN}
    with_categories, declared = _categories_asked(model, scale, y, Y, image_shape, categorical_features, min_frequency)
    request = ReportOptions(
        model=model,
        categorical_features=declared,
        min_frequency=min_frequency,
        n_components=n_components,
        scale=scale,
        image_shape=image_shape,
        random_state=seed_of(random_state),
        command=COMMAND.get() or call_of(X, path, given, _WRITTEN),
    )
    check_request(request)
    # What a fit warns of is said on the page, where it matters.
    with without_warnings(LowdimWarning):
        started = perf_counter()
        opened = OpenedTable(
            X,
            columns=columns,
            exclude=exclude,
            hue=hue,
            labels=labels,
            sample_weight=sample_weight,
            y=y,
            Y=Y,
            supplementary=supplementary,
            supplementary_columns=supplementary_columns,
            categorical_features=declared,
            of_model=model.coding_.categories if isinstance(model, MixedModel) and is_fitted(model) else (),
            min_frequency=min_frequency,
            with_categories=with_categories,
            always=isinstance(model, MixedModel),
        )
        a = Analysis(opened, request) if opened.mixed is None else MixedAnalysis(opened, request)
        _check_categories(a)
        check_table(a)
        title = title or opened.label
        if brief:
            document = _brief_document(a, title)
        else:
            document = _document(a, title, {"reading the table": perf_counter() - started})
    with moved_when_whole(where) as unfinished:
        unfinished.write_text(render(document), encoding="utf-8")
    return Report(os.fspath(where), tuple(document.sections), tuple(document.summary), a.model)


#: The arguments that decide what is on the page, with their defaults.
_WRITTEN = {
    name: parameter.default
    for name, parameter in signature(report).parameters.items()
    if parameter.kind is parameter.KEYWORD_ONLY and name != "overwrite"
}


def of_model(model: Any, X: Any, path: str | PathLike[str] = "report.html", **options: Any) -> Report:
    """A page about this model and a table, to which it is fitted if it is not fitted yet.

    Parameters
    ----------
    model : a model
        `model.report(X, path)` is a method of it.
    X, path, options
        The arguments of `lowdim.report`.

    Returns
    -------
    Report
    """
    return report(X, path, model=model, **options)


def _method_of_model() -> Signature:
    """The arguments of `report`, after the model."""
    parameters = dict(signature(report).parameters)
    model = parameters.pop("model").replace(kind=Parameter.POSITIONAL_OR_KEYWORD, default=Parameter.empty)
    return signature(report).replace(parameters=[model, *parameters.values()])


of_model.__signature__ = _method_of_model()  # type: ignore[attr-defined]


def _checked_path(path: Any, overwrite: bool) -> Any:
    """The path of the file; an error if no page can be written there."""
    if not isinstance(path, str | PathLike):
        raise output_is_no_path(path)
    where = local_path(path)
    if not str(where).lower().endswith((".html", ".htm")):
        raise ValueError(f"the report {str(path)!r} must end with .html, as in 'report.html'.")
    require_free(where, overwrite, path)
    return where


def _not_covered(a: Analysis, sections: Sequence[Section]) -> str:
    """Which sections are not about the model that was given, and what of it is not shown."""
    model = a.model
    if isinstance(model, PCA | MixedModel):
        return ""
    of_pca = [section.title for section in sections if section.key in ("how-many", "misfits", "rebuilding", "beyond")]
    text = f"The model is {type(model).__name__}"
    if of_pca:
        text += f"; the sections {listed([repr(title) for title in of_pca])} are about PCA of the same columns"
    if len(model._widths()) > 1:
        return (
            f"{text}. Of this model, the page shows the scores of the rows; what it says about the second table is "
            "printed by print(model) and model.tables."
        )
    return f"{text}."


def _in_short(a: Analysis, sections: Sequence[Section]) -> list[str]:
    """The sentences of the most important sections, in the order of the page."""
    said = {section.key: section.summary for section in sections}
    said["data"] = " ".join(filter(None, [said.get("data"), _not_covered(a, sections)]))
    kept = [key for key, sentence in said.items() if sentence]
    order = sorted(kept, key=lambda key: _IMPORTANCE.index(key) if key in _IMPORTANCE else len(_IMPORTANCE))
    return [said[key] for key in kept if key in order[:_MOST_SENTENCES]]


#: The sections that take long and whose sentences are the least important ones.
_NOT_IN_BRIEF = ("rebuilding", "beyond")
#: The height of the map on such a page, in pixels.
_BRIEF_MAP = 470


def _brief_document(a: Analysis, title: str) -> Document:
    """One page: what each section gives to the top, and the map without its controls."""
    sections = [
        found for key, make in _sections_of(a).items() if key not in _NOT_IN_BRIEF and (found := make(a)) is not None
    ]
    shown = []
    for section in sections:
        if section.key == "map":
            (drawn,) = (block for block in section.blocks if isinstance(block, Widget))
            values = {**drawn.values, "columns": [], "note": ""}
            shown.append(
                replace(section, lead="", blocks=[replace(drawn, values=values, table=None, height=_BRIEF_MAP)])
            )
    made = f"lowdim {__version__}. The same page is made by: {a.request.command}."
    # The last sentence on what the file holds is about rows that are shown as examples.
    held = list(_held(a, shown))[:-1]
    return Document(
        title=title,
        subtitle=f"{count(a.n, 'row')}, {count(a.p, 'column')}",
        sections=shown,
        summary=_in_short(a, sections),
        generator=" ".join([made, *held]),
        brief=True,
    )


def _document(a: Analysis, title: str, seconds: dict[str, float]) -> Document:
    """The sections that have something to say, and what each of them gives to the top of the page."""
    sections = []
    last = perf_counter()
    for make in _sections_of(a).values():
        section = make(a)
        if section is not None:
            now = perf_counter()
            seconds[section.title], last = now - last, now
            sections.append(section)
    sections.append(computed_section(a, sections, seconds))
    return Document(
        title=title,
        subtitle=f"{count(a.n, 'row')}, {count(a.p, 'column')}",
        sections=sections,
        summary=_in_short(a, sections),
        downloads=[download for section in sections for download in section.downloads],
        generator=f"lowdim {__version__}",
    )
