"""The base class of kinds of attributes, what they are compared with, and how the lists of a class are collected."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Record:
    """An object taken apart: the name of its class in the table of files, and the values it is built from."""

    kind: str
    fields: dict[str, Any]


@dataclass
class Inspection:
    """What is known while attributes are checked: lengths by letter, and the lists of other classes."""

    #: The kinds of the fields of a record, by the name of its class; a ValueError for a name that is not in the table.
    fields_of: Callable[[str], Mapping[str, Kind]]
    #: Whether arrays have not been read yet: only their shapes and dtypes are known, and their entries mean nothing.
    unread: bool = False
    sizes: dict[str, int] = field(default_factory=dict)
    #: The index in the list that is being checked; the letter "p#" stands for "p0", "p1", ... there.
    index: int | None = None

    def letter(self, letter: str) -> str:
        """The letter, with "#" replaced by the index in the list."""
        return letter.replace("#", "" if self.index is None else str(self.index))

    def same_size(self, letter: str, size: int, name: str) -> None:
        """Raise a ValueError if this letter stood for another length before; "*" is any length."""
        if letter == "*":
            return
        known = self.sizes.setdefault(self.letter(letter), size)
        if known != size:
            raise ValueError(f"{name} has length {size}, where other attributes have {known}")

    def inner(self, shares: Iterable[str] = ()) -> Inspection:
        """The inspection of an object inside, which has lengths of its own except for those that it shares."""
        shared = {letter: self.sizes[letter] for letter in shares if letter in self.sizes}
        return Inspection(self.fields_of, self.unread, shared)

    def check_fields(self, fields: Mapping[str, Any], kinds: Mapping[str, Kind], of: str) -> None:
        """Raise a ValueError if fields are missing, are not in the list, or are not what the list says."""
        unknown = sorted(fields.keys() - kinds.keys())
        if unknown:
            raise ValueError(f"{of} has no attribute {', '.join(unknown)[:80]}")
        for name, kind in kinds.items():
            if name in fields:
                if kind.excludes(fields):
                    raise ValueError(f"{of} has either {name} or {kind.excludes(fields)}, not both")
                kind.check(fields[name], self, name)
            elif kind.required(fields):
                raise ValueError(f"{name} is missing")


class Kind(ABC):
    """A kind of attribute.

    Values are compared in a plain form: None, numbers, text, lists, tuples, dictionaries and arrays as they are, and
    all other objects as a `Record`.
    """

    @abstractmethod
    def check(self, value: Any, inspection: Inspection, name: str) -> None:
        """Raise a ValueError that begins with `name` if the value is not of this kind."""

    def required(self, fields: Mapping[str, Any]) -> bool:
        """Whether an object with these fields must have an attribute of this kind."""
        return True

    def excludes(self, fields: Mapping[str, Any]) -> str:
        """The name of the field beside which this attribute cannot be; empty if there is none."""
        return ""

    def stored(self) -> bool:
        """Whether the attribute is written to files."""
        return True

    def placed(self, value: Any, move: Callable[[np.ndarray], Any], inspection: Inspection) -> Any:
        """The value with its arrays moved to where the arrays of the model are to be."""
        return value

    def of_rows(self, value: Any, inspection: Inspection) -> bool:
        """Whether the value holds an entry for each row of the fit."""
        return False

    def first(self, value: Any, letter: str, size: int) -> Any:
        """The value for an object in which the length of this letter is `size`, and not more: its first entries."""
        return value


def declared(cls: type) -> dict[str, Kind]:
    """The attributes that a class and its bases list as `fitted_attributes`. A class replaces the entries of its bases,
    and removes those that it lists as None."""
    found: dict[str, Kind | None] = {}
    for base in reversed(cls.__mro__):
        found |= base.__dict__.get("fitted_attributes", {})
    return {name: kind for name, kind in found.items() if kind is not None}
