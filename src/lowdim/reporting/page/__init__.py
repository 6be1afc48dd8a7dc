"""The page of a report."""

from __future__ import annotations

from ..blocks import Document


def render(document: Document) -> str:
    """The page as one self-contained HTML text."""
    return document.title
