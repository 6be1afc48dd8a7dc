"""The application: all verbs together."""

from __future__ import annotations

from typing import Annotated

import typer

from .._version import __version__
from . import applying, converting, fitting, looking, plotting, summarizing
from .commands import group


def run() -> None:
    """Run the command."""
    application()(prog_name="lowdim")


def application() -> typer.Typer:
    """The command `lowdim` with all its verbs."""
    app = group("The few directions that explain a table of numbers.")
    app.callback()(_about)
    for verbs in (fitting, applying, summarizing, looking, plotting, converting):
        verbs.add_to(app)
    return app


def _about(
    version: Annotated[
        bool, typer.Option("--version", callback=lambda asked: _show_version(asked), is_eager=True, help="The version.")
    ] = False,
) -> None:
    """The few directions that explain a table of numbers."""


def _show_version(asked: bool) -> None:
    if asked:
        print(f"lowdim {__version__}")
        raise typer.Exit
