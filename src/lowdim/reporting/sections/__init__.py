"""The sections of a report, in their order."""

from __future__ import annotations

from collections.abc import Callable

from ..analysis import Analysis
from ..blocks import Section
from . import beyond, data, holes, how_many, meaning, misfits, rebuilding, two_tables
from . import map as map_section

#: Each section by its key. A section that has nothing to say of a table is None.
SECTIONS: dict[str, Callable[[Analysis], Section | None]] = {
    "data": data.section,
    "how-many": how_many.section,
    "map": map_section.section,
    "meaning": meaning.section,
    "misfits": misfits.section,
    "rebuilding": rebuilding.section,
    "two-tables": two_tables.section,
    "holes": holes.section,
    "beyond": beyond.section,
}
