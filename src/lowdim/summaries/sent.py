"""Summaries as bytes, for engines that send no objects: the bytes of the file that `save` would write."""

from __future__ import annotations

from typing import Any

from .. import container
from ..errors import damaged_file
from .base import Summary
from .loaded import class_named


class SummaryCodec:
    """Summaries to bytes and back. What arrives is checked as a file is."""

    def encode(self, summary: Summary) -> bytes:
        """The bytes of a summary."""
        return container.to_bytes(*container.flatten({"holds": "summary"} | summary._tree()))

    def decode(self, data: bytes) -> Summary:
        """The summary of these bytes."""
        document, arrays = container.from_bytes(data)
        cls = class_named(document.get("class"))
        if cls is None:
            raise damaged_file("a message", "it does not say which summary it holds", container.is_newer(document))
        return cls._from_tree(container.rebuild(document, arrays))


class Parcel:
    """A summary that is sent as bytes in place of an object, if it is pickled."""

    def __init__(self, summary: Summary) -> None:
        self.summary = summary

    def __reduce__(self) -> tuple[Any, ...]:
        if class_named(type(self.summary).__name__) is type(self.summary):
            return _opened, (SummaryCodec().encode(self.summary),)
        # A summary of another module, which has no place in the table of those that files hold.
        return Parcel, (self.summary,)


def _opened(data: bytes) -> Parcel:
    return Parcel(SummaryCodec().decode(data))
