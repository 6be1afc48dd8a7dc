"""A section of the report: how many entries of the table are negative."""

from lowdim.reporting.analysis import Analysis
from lowdim.reporting.blocks import Prose, Section, count


def section(a: Analysis) -> Section | None:
    """How many entries are negative; None if rows are not in memory."""
    if a.values is None:
        return None
    said = f"The table has {count(int((a.values < 0).sum()), 'negative entry', 'negative entries')}."
    return Section("negative", "Negative entries", "Entries below zero.", [Prose(said)])


ROW = {"negative": section}
