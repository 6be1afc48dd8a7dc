"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated, Any

import typer

#: The headings under which options are listed.
ROWS, RESULT = "The table", "The result"


def _option(*names: str, help: str, metavar: str | None = None, panel: str = ROWS) -> Any:
    return typer.Option(*names, help=help, metavar=metavar, rich_help_panel=panel, show_default=False)


Output = Annotated[
    str | None,
    _option("--output", "-o", help="The file to write; - is the standard output.", metavar="FILE", panel=RESULT),
]
Overwrite = Annotated[bool, _option("--overwrite", "-f", help="Replace the output if it exists.", panel=RESULT)]
Data = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA",
        help="Files of one table: CSV, Parquet, Arrow, NPY, Zarr or HDF5; a directory; or - for the standard input.",
        show_default=False,
    ),
]
ModelFile = Annotated[str, typer.Argument(metavar="MODEL", help="A file that lowdim fit wrote.", show_default=False)]
Columns = Annotated[
    list[str] | None,
    _option(
        "--columns", "-c", help='A column, a pattern such as "temp_*", or numeric. Can be repeated.', metavar="NAME"
    ),
]
Exclude = Annotated[
    list[str] | None,
    _option("--exclude", "-x", help="A column or a pattern to leave out; repeatable.", metavar="NAME"),
]
Ids = Annotated[
    list[str] | None,
    _option("--id", help="A column that names the rows, and is not one of the table; repeatable.", metavar="NAME"),
]
Weight = Annotated[
    str | None, _option("--weight", "-w", help="The column with the weights of the rows.", metavar="NAME")
]
Responses = Annotated[
    list[str] | None, _option("--y", "-y", help="A column of the second table; repeatable.", metavar="NAME")
]
ResponseFiles = Annotated[
    list[str] | None, _option("--y-data", help="A file with the second table; repeatable.", metavar="FILE")
]
Fewer = Annotated[
    int | None, _option("--n-components", "-k", help="Use only the first so many components.", panel=RESULT)
]
