"""`report`: a table -> an analysis -> sections -> a page -> a file."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import Any

from .._paths import local_path
from .._version import __version__
from .._whole_files import moved_when_whole
from .analysis import Analysis, Request
from .blocks import Document, Section
from .opening import open_table
from .page import render
from .sections import SECTIONS


@dataclass(frozen=True, repr=False)
class Report:
    """A report that was written."""

    #: The file.
    path: str
    sections: tuple[Section, ...]
    #: The fitted model that the report is about.
    model: Any

    def __repr__(self) -> str:
        return f"Report({self.path!r}: {', '.join(section.key for section in self.sections)})"


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
    random_state: int = 0,
    command: str = "",
) -> Report:
    """Write a page that shows what is in a table: one HTML file, which needs no network."""
    opened = open_table(
        X,
        labels=labels,
        ids=ids,
        sample_weight=sample_weight,
        response=response,
        other=other,
        supplementary=supplementary,
    )
    request = Request(model, n_components, standardize, image_shape, random_state, command)
    a = Analysis(opened, request)
    sections = tuple(section for make in SECTIONS.values() if (section := make(a)) is not None)
    document = Document(
        title=title or opened.label,
        subtitle=f"{a.n:,} rows, {a.p:,} columns",
        sections=sections,
        generator=f"lowdim {__version__}",
    )
    where = local_path(path)
    with moved_when_whole(where) as unfinished:
        unfinished.write_text(render(document), encoding="utf-8")
    return Report(str(where), sections, a.model)
