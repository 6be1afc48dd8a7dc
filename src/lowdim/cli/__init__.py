"""The command `lowdim`: verbs over models, files, selection, tables and plots."""

import sys


def main() -> None:
    """Run the command with the arguments of the process."""
    try:
        import typer  # noqa: F401 (the extra may be missing)
    except ModuleNotFoundError:
        sys.exit("lowdim: the command line needs further packages: pip install 'lowdim[cli]'")
    from .app import application

    application()(prog_name="lowdim")
