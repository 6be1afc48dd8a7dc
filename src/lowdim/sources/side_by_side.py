"""Blocks of several tables, cut so that those that lie side by side have the same rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from ..errors import inconsistent_lengths

T = TypeVar("T")


def aligned(
    readers: Sequence[Iterator[T]],
    length: Callable[[T], int],
    cut: Callable[[T, int, int], T],
    tables: Sequence[str],
) -> Iterator[list[T]]:
    """The blocks of all readers, cut at the same rows; an error that names the `tables` if they end at different rows.

    `length(block)` is the number of its rows, and `cut(block, i, j)` are its rows from i up to, but not including, j.
    Blocks without rows are left out. Each reader is at most one block ahead of the result.
    """
    held: list[T | None] = [None] * len(readers)
    seen = [0] * len(readers)
    while True:
        for i, reader in enumerate(readers):
            if held[i] is None:
                held[i] = block = next((block for block in reader if length(block)), None)
                seen[i] += 0 if block is None else length(block)
        blocks = [block for block in held if block is not None]
        if not blocks:
            return
        if len(blocks) < len(held):
            raise inconsistent_lengths(
                tables, [n if block is None else None for n, block in zip(seen, held, strict=True)]
            )
        lengths = [length(block) for block in blocks]
        n = min(lengths)
        yield [block if m == n else cut(block, 0, n) for block, m in zip(blocks, lengths, strict=True)]
        held = [None if m == n else cut(block, n, m) for block, m in zip(blocks, lengths, strict=True)]
