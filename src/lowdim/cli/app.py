"""The application: all verbs together."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from .._core import __version__
from . import fitting, results
from .commands import group

#: The verbs in the order in which one needs them.
VERBS = ("report", "choose", "fit", "cross-validate", "inspect", "plot", "transform", "inverse", "impute", "predict")


class _Verbs(TyperGroup):
    """The verbs, in their order; without it, those that have commands of their own would come last."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of the verbs."""
        return list(dict.fromkeys((*VERBS, *super().list_commands(ctx))))


def _show_version(asked: bool) -> None:
    if asked:
        print(f"lowdim {__version__}")
        raise typer.Exit


def _about(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="The version.")
    ] = False,
) -> None:
    """The few directions that explain a table of numbers."""


def application() -> typer.Typer:
    """The command `lowdim` with all its verbs."""
    app = group("The few directions that explain a table of numbers.", cls=_Verbs)
    app.callback()(_about)
    fitting.add_to(app)
    results.add_to(app)
    return app
