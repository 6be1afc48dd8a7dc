"""Tables of pages in docs/ that a script of the tests measures: each stands between two comments that name it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class PageTable:
    """The table `name` of a page, which `python tests/SCRIPT` writes."""

    page: str
    name: str
    script: str

    @property
    def path(self) -> Path:
        return Path(__file__).parents[1] / "docs" / self.page

    def _around(self) -> tuple[str, str, str]:
        """What the page has up to the table, the table, and the rest."""
        start = f"<!-- {self.name}: rewritten by `python tests/{self.script}` -->"
        before, rest = self.path.read_text(encoding="utf-8").split(start)
        inside, after = rest.split(end := f"<!-- end of {self.name} -->")
        return before + start, inside, end + after

    def cells(self) -> list[list[str]]:
        """The cells of the rows below the heads of the columns."""
        lines = self._around()[1].strip().splitlines()
        return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]

    def write(self, heads: list[str], rows: list[list[str]], numbers: int) -> None:
        """Replace the table; the last columns, as many as `numbers`, are aligned to the right."""
        marks = ["---"] * (len(heads) - numbers) + ["---:"] * numbers
        text = "\n".join("| " + " | ".join(line) + " |" for line in [heads, marks, *rows])
        before, _, after = self._around()
        self.path.write_text(f"{before}\n\n{text}\n\n{after}", encoding="utf-8")


def number(value: float) -> str:
    """A tolerance or a difference, in one digit."""
    return f"{value:.0e}" if value else "0"
