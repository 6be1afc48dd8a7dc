"""The next item of an iterator is made by a thread while the last one is in use."""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

T = TypeVar("T")

_END = object()


def read_ahead(items: Generator[T, None, None]) -> Generator[T, None, None]:
    """The items of a generator, in order; a thread makes the next one while the caller works with the last one.

    At most two items exist at a time: the one in use, and the one that is being made. An error of the generator is
    raised where its item would have been. When the caller stops early, the item that is being made is finished, and the
    generator is closed, so that it can close its files.
    """
    thread = ThreadPoolExecutor(1)
    future: Future[Any] = thread.submit(next, items, _END)
    try:
        while (item := future.result()) is not _END:
            future = thread.submit(next, items, _END)
            yield item
    finally:
        # If a caller forgot this iterator, this runs when garbage is collected, in any thread and maybe after the pool
        # of the thread is gone: a task that is submitted here might never run.
        if not future.cancel():
            wait([future])
        items.close()
        thread.shutdown(wait=False)
