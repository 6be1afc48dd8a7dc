"""`report`: a table -> an analysis -> sections -> a page -> a file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial, update_wrapper
from inspect import signature
from os import PathLike
from time import perf_counter
from typing import Any

from .._paths import local_path
from .._version import __version__
from .._whole_files import moved_when_whole, require_free
from ..errors import LowdimWarning, not_html, output_is_no_path, without_warnings
from ..selection.resampling import seed_of
from .analysis import Analysis, Request
from .blocks import Document, Section
from .calls import call_of
from .checks import check_request, check_table
from .opening import open_table
from .page import render
from .page.packages import require_packages
from .sections import SECTIONS, computed
from .words import count

#: At most so many sections have a sentence at the top of the page; if there are more, the first ones of this order.
_MOST_SENTENCES = 6
_IMPORTANCE = ("data", "how-many", "meaning", "two-tables", "map", "holes", "misfits", "beyond", "rebuilding")


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

    def __repr__(self) -> str:
        return f"Report({self.path!r}: {', '.join(section.key for section in self.sections)})"

    def __str__(self) -> str:
        return "\n".join([*self.summary, f"written to {self.path} ({self.n_bytes / 1e6:.1f} MB)"])


def report(
    X: Any,
    path: str | PathLike[str] = "report.html",
    *,
    labels: Any = None,
    ids: Any = None,
    model: Any = None,
    n_components: int | None = None,
    standardize: bool | None = None,
    response: Any = None,
    other: Any = None,
    supplementary: Any = None,
    image_shape: Any = None,
    sample_weight: Any = None,
    title: str | None = None,
    overwrite: bool = False,
    random_state: Any = None,
    command: str | None = None,
) -> Report:
    """Write a page that shows what is in a table: one HTML file, which needs no network and opens from disk.

    Parameters
    ----------
    X : array, data frame, scan of files, path, or anything else that `open_source` reads
        The table. Columns that are not numbers are left out of the analysis; those with few different entries can
        colour the rows of the map. Missing entries are NaN (or null), and are filled in by PPCA.
    path : str or path
        The file to write; it ends with .html.
    labels : vector, str, or list of str, optional
        Categories of the rows: a vector, or the names of columns of `X`.
    ids : vector or str, optional
        What each row is called: a vector, or the name of a column of `X`.
    model : model of lowdim, optional
        The model that the report is about, fitted or not. By default PCA, of the columns divided by their standard
        deviations if these differ much.
    n_components : int, optional
        The number of components of that model; by default it is chosen by parallel analysis.
    standardize : bool, optional
        Whether to divide the columns by their standard deviations; None decides by how much these differ.
    response : table, vector, str, or list of str, optional
        Responses to predict, one row for each row of `X`, or the names of columns of `X`.
    other : table, str, or list of str, optional
        Another table of the same rows, to find what both have in common; or the names of columns of `X`.
    supplementary : rows, optional
        Further rows with the same columns. They are shown on the map, and not used in any fit.
    image_shape : (height, width), (height, width, 3) or False, optional
        The shape of the picture that each row holds; None finds out, and False means that there are none.
    sample_weight : vector or str, optional
        Frequency weights of the rows, or the name of a column of `X`.
    title : str, optional
        The heading of the page; by default the name of the file, if `X` is one.
    overwrite : bool
        Whether to replace a file at `path`.
    random_state : int, RandomState or None
        Seed of everything that is drawn at random; None is a fixed seed.
    command : str, optional
        How the page says that it can be made again; by default this call.

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
    ...     made = lowdim.report(iris.data, os.path.join(folder, "iris.html"), labels=species, title="Iris")
    ...     size = made.n_bytes
    >>> made.model
    PCA(...)
    """
    where = _checked_path(path, overwrite)
    require_packages()
    given = {key: value for key, value in locals().items() if key in _WRITTEN}
    request = Request(
        model=model,
        n_components=n_components,
        standardize=standardize,
        image_shape=image_shape,
        random_state=seed_of(random_state),
        command=command if command is not None else call_of(X, path, given, _WRITTEN),
    )
    check_request(request)
    # What a fit warns of is said on the page, where it matters.
    with without_warnings(LowdimWarning):
        stopwatch = Stopwatch()
        opened = open_table(
            X,
            labels=labels,
            ids=ids,
            sample_weight=sample_weight,
            response=response,
            other=other,
            supplementary=supplementary,
        )
        a = Analysis(opened, request)
        check_table(a)
        stopwatch.note("reading the table")
        document = _document(a, title or opened.label, stopwatch)
    with moved_when_whole(where) as unfinished:
        unfinished.write_text(render(document), encoding="utf-8")
    return Report(os.fspath(where), tuple(document.sections), tuple(document.summary), a.model)


#: The arguments that decide what is on the page, with their defaults.
_WRITTEN = {
    name: parameter.default
    for name, parameter in signature(report).parameters.items()
    if parameter.kind is parameter.KEYWORD_ONLY and name not in ("overwrite", "command")
}


def of_model(model: Any) -> Any:
    """`model.report(X, path, ...)`: `lowdim.report` about this model, fitted to `X` if it is not fitted yet."""
    bound: Any = update_wrapper(partial(report, model=model), report)
    # Otherwise the signature would be that of the function, without the model.
    del bound.__wrapped__
    return bound


def _checked_path(path: Any, overwrite: bool) -> Any:
    """The path of the file; an error if no page can be written there."""
    if not isinstance(path, str | PathLike):
        raise output_is_no_path(path)
    where = local_path(path)
    if not str(where).lower().endswith((".html", ".htm")):
        raise not_html(path)
    require_free(where, overwrite, path)
    return where


def _document(a: Analysis, title: str, stopwatch: Stopwatch) -> Document:
    """The sections that have something to say, and what each of them gives to the top of the page."""
    sections = []
    for make in SECTIONS.values():
        section = make(a)
        if section is not None:
            stopwatch.note(section.title)
            sections.append(section)
    sections.append(computed.section(a, sections, stopwatch.seconds))
    return Document(
        title=title,
        subtitle=f"{count(a.n, 'row')}, {count(a.p, 'column')}",
        sections=sections,
        summary=_summary(sections),
        downloads=[download for section in sections for download in section.downloads],
        generator=f"lowdim {__version__}",
    )


def _summary(sections: Sequence[Section]) -> list[str]:
    """The sentences of the most important sections, in the order of the page."""
    said = {section.key: section.summary for section in sections if section.summary}
    order = sorted(said, key=lambda key: _IMPORTANCE.index(key) if key in _IMPORTANCE else len(_IMPORTANCE))
    kept = order[:_MOST_SENTENCES]
    return [sentence for key, sentence in said.items() if key in kept]


class Stopwatch:
    """The seconds that the parts of a report took."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = perf_counter()

    def note(self, part: str) -> None:
        """The time since the last note was that of this part."""
        now = perf_counter()
        self.seconds[part], self._last = now - self._last, now
