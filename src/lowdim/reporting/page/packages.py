"""The packages that a page needs beside lowdim, which are imported only when a report is made."""

from __future__ import annotations

from importlib import import_module

from ...errors import missing_extra


def require_packages() -> None:
    """Raise an ImportError that says what to install if a package is missing; meant to be called before the work."""
    for package in ("jinja2", "plotly"):
        try:
            import_module(package)
        except ModuleNotFoundError as error:
            raise missing_extra("a report", package, "report") from error


def plotly_js_version() -> str:
    """The version of Plotly's JavaScript that the page holds."""
    from plotly.offline import get_plotlyjs_version

    return str(get_plotlyjs_version())
