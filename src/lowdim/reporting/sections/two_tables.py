"""Two tables: how well responses can be predicted, and what another table has in common with this one."""

from __future__ import annotations

from ..analysis import Analysis
from ..blocks import Block, Prose, Section
from ..numbers.pairs import FEWEST_ROWS, Pair
from ..words import count, listed
from . import canonical, predicting


def section(a: Analysis) -> Section | None:
    """The section; None if there is neither a response nor another table."""
    blocks: list[Block] = []
    leads, sentences = [], []
    if a.with_response is not None:
        leads.append(predicting.lead(a.with_response))
        blocks += _about(a.with_response, a.n, "response")
        if a.regression is not None:
            blocks += predicting.blocks(a, a.regression)
            sentences.append(predicting.verdict(a.regression))
    if a.with_other is not None:
        leads.append(canonical.lead())
        blocks += _about(a.with_other, a.n, "other table")
        if a.canonical is not None:
            blocks += canonical.blocks(a, a.canonical)
            sentences.append(canonical.verdict(a.canonical))
    if not blocks and not leads:
        return None
    return Section(
        key="two-tables", title="Two tables", lead=" ".join(leads), blocks=blocks, summary=" ".join(sentences)
    )


def _about(pair: Pair, n: int, what: str) -> list[Block]:
    """Which rows and columns were used, if not all of them, and why nothing else follows if that is so."""
    said = []
    if pair.n_drawn < n:
        said.append(f"This part is about a random sample of {pair.n_drawn:,} of the {n:,} rows.")
    if pair.n_missing:
        verb = "is" if pair.n_missing == 1 else "are"
        said.append(
            f"{count(pair.n_missing, 'row')} {verb} left out here, because entries of the {what} are missing; "
            f"{count(len(pair.X), 'row')} remain."
        )
    if pair.constant:
        columns = "column" if len(pair.constant) == 1 else "columns"
        said.append(f"The {columns} {listed(pair.constant)} of the {what} do not vary, and are left out.")
    if not pair.is_enough:
        why = "nothing in it varies" if not pair.y_names else f"fewer than {FEWEST_ROWS} complete rows are too few"
        said.append(f"No more is said about the {what}: {why}.")
    return [Prose(" ".join(said))] if said else []
