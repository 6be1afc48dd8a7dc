"""The next item of an iterator is made by a thread while the last one is in use."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")

_END = object()


def read_ahead(items: Generator[T, None, None]) -> Iterator[T]:
    """The items of a generator, in order; a thread makes the next one while the caller works with the last one.

    At most two items exist at a time: the one in use, and the one that is being made. An error of the generator is
    raised where its item would have been. When the caller stops early, the thread ends and the generator is closed, so
    that it can close its files.
    """
    thread = ThreadPoolExecutor(1)
    try:
        future = thread.submit(next, items, _END)
        while (item := future.result()) is not _END:
            future = thread.submit(next, items, _END)
            yield item  # type: ignore[misc] # it is not the end
    finally:
        # If nobody closes this generator, it ends when it is collected as garbage. The thread may have been told to end
        # before that, and would not do anything further.
        thread.shutdown(wait=True, cancel_futures=True)
        items.close()
