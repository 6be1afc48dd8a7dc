"""Tables of pages, each between two comments that name the command that writes it."""

from __future__ import annotations

import math
from pathlib import Path

README = Path(__file__).parent / "README.md"


def write(name, command, text, page=README):
    """Replace the table `name`, which `command` writes."""
    page.write_text(replaced(name, command, text, page))


def replaced(name, command, text, page=README):
    """The text of the page with this text as its table `name`."""
    start, end = f"<!-- {name}: rewritten by `{command}` -->", f"<!-- end of {name} -->"
    before, rest = page.read_text().split(start)
    return f"{before}{start}\n\n{text}\n\n{end}{rest.split(end)[1]}"


def table(cases, results):
    """The table of these cases: what was measured, when and where, and a line for each contender."""
    head = ["task", "library", "time", "time / lowdim", "error", "extra memory", "target"]
    lines = [*results.settings([case.name for case in cases]), ""]
    lines += ["| " + " | ".join(head) + " |", "| --- | --- | ---: | ---: | ---: | ---: | --- |"]
    for case in cases:
        lines += rows(case, results.measurements(case.name))
    return "\n".join(lines)


def rows(case, measurements):
    """One line for each contender; the first line also has the task and the target."""
    lines = []
    for m in measurements:
        cells = [
            "" if lines else case.work,
            m.contender,
            m.stopped or duration(m.seconds),
            "" if math.isnan(m.ratio) else f"{m.ratio:.2f}",
            error(m.error),
            "" if m.extra_bytes is None else size(m.extra_bytes, m.data_bytes),
            "" if lines else case.must_reach,
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def duration(seconds):
    for unit, factor in [("s", 1), ("ms", 1e3)]:
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"


def error(value):
    """An error as text: a number in few digits, a string as it is."""
    if value is None or isinstance(value, str):
        return value or ""
    return f"{value:.0e}" if 0 < abs(value) < 0.01 else f"{value:.3f}" if value else "0"


def size(extra, of):
    share = f" ({100 * extra / of:.0f}% of X)" if of > 2**20 else ""
    return f"{extra / 2**20:.1f} MiB{share}"
