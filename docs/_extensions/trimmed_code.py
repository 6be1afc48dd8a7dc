"""Blocks of code without empty lines at their end, which examples in Markdown need for doctest."""

from __future__ import annotations

from typing import Any


def _trim(_app: Any, tree: Any) -> None:
    from docutils import nodes

    for block in tree.findall(nodes.literal_block):
        if isinstance(block[0] if len(block) else None, nodes.Text) and len(block) == 1:
            text = block.astext().rstrip("\n")
            block.rawsource, block[0] = text, nodes.Text(text)


def setup(app: Any) -> dict[str, bool]:
    """Connect to the pages that were read."""
    app.connect("doctree-read", _trim)
    return {"parallel_read_safe": True}
