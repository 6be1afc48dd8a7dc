"""Tables of the page benchmarks/README.md, each between two comments that name the command that writes it."""

from __future__ import annotations

from pathlib import Path

README = Path(__file__).parent / "README.md"


def write(name, command, text):
    """Replace the table `name`, which `command` writes."""
    start, end = f"<!-- {name}: rewritten by `{command}` -->", f"<!-- end of {name} -->"
    before, rest = README.read_text().split(start)
    README.write_text(f"{before}{start}\n\n{text}\n\n{end}{rest.split(end)[1]}")


def duration(seconds):
    for unit, factor in [("s", 1), ("ms", 1e3)]:
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"
