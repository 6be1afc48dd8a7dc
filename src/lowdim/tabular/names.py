"""Names of things that have none."""

from __future__ import annotations


def numbered(stem: str, count: int) -> list[str]:
    """Names that count from 1: PC1, PC2, ... for components, x1, x2, ... for columns without names."""
    return [f"{stem}{i + 1}" for i in range(count)]
