"""The kinds of attributes that are no arrays: numbers, text, lists, records, and attributes that need not be there."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .base import Inspection, Kind, Record


@dataclass(frozen=True)
class Real(Kind):
    """A number; finite unless `finite` is False, of the given `sign` ("nonnegative" or "positive"), at most `most`."""

    sign: str = ""
    most: float | None = None
    finite: bool = True

    def check(self, value: Any, inspection: Inspection, name: str) -> None:
        if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
            raise ValueError(f"{name} is {_shown(value)}, and must be a number")
        if inspection.unread and isinstance(value, np.generic):
            return
        if self.finite and not math.isfinite(value):
            raise ValueError(f"{name} is {value}, and must be finite")
        if (self.sign == "nonnegative" and value < 0) or (self.sign == "positive" and not value > 0):
            raise ValueError(f"{name} is {value}, and must be {self.sign}")
        if self.most is not None and value > self.most:
            raise ValueError(f"{name} is {value}, and must be at most {self.most}")


@dataclass(frozen=True)
class Whole(Kind):
    """A whole number of at least `least`, and at most the length for which the letter `most` stands."""

    least: int | None = 0
    most: str | None = None

    def check(self, value: Any, inspection: Inspection, name: str) -> None:
        _require_whole(value, name)
        if inspection.unread and isinstance(value, np.generic):
            return
        if self.least is not None and value < self.least:
            raise ValueError(f"{name} is {value}, and must be at least {self.least}")
        most = inspection.sizes.get(inspection.letter(self.most)) if self.most else None
        if most is not None and value > most:
            raise ValueError(f"{name} is {value}, and must be at most {most}")

    def first(self, value: Any, letter: str, size: int) -> Any:
        return min(value, size) if self.most == letter else value


@dataclass(frozen=True)
class Size(Kind):
    """A whole number that is the length for which a letter stands."""

    letter: str

    def check(self, value: Any, inspection: Inspection, name: str) -> None:
        _require_whole(value, name)
        if inspection.unread and isinstance(value, np.generic):
            return
        if value < 0:
            raise ValueError(f"{name} is {value}, and must be at least 0")
        inspection.same_size(self.letter, int(value), name)

    def first(self, value: Any, letter: str, size: int) -> Any:
        return size if self.letter == letter else value


@dataclass(frozen=True)
class Flag(Kind):
    """True or False."""

    def check(self, value: Any, inspection: Inspection, name: str) -> None:
        if not isinstance(value, bool | np.bool_):
            raise ValueError(f"{name} is {_shown(value)}, and must be True or False")


@dataclass(frozen=True)
class Text(Kind):
    """Text; one of `among`, if that is given."""

    among: Collection[str] = ()

    def check(self, value: Any, inspection: Inspection, name: str) -> None:
        if not isinstance(value, str) or (self.among and value not in self.among):
            raise ValueError(f"{name} is {_shown(value)}, and must be {' or '.join(self.among) or 'text'}")


@dataclass(frozen=True)
class Names(Kind):
    """An array of text, one for each column, as scikit-learn keeps the names of columns."""

    letter: str = "*"

    def check(self, value: Any, inspection: Inspection, name: str) -> None:
        if not isinstance(value, np.ndarray) or value.dtype != object or value.ndim != 1:
            raise ValueError(f"{name} is {_shown(value)}, and must be names of columns")
        inspection.same_size(self.letter, len(value), name)

    def first(self, value: Any, letter: str, size: int) -> Any:
        return value[:size] if self.letter == letter else value


@dataclass(frozen=True)
class Dtype(Kind):
    """The dtype float32 or float64 of an array library."""

    def check(self, value: Any, inspection: Inspection, name: str) -> None:
        if not isinstance(value, Record) or value.kind != "dtype":
            raise ValueError(f"{name} is {_shown(value)}, and must be a dtype")


@dataclass(frozen=True)
class Anything(Kind):
    """Anything that can be stored, such as a parameter that has its own check; records in it are checked."""

    def check(self, value: Any, inspection: Inspection, name: str) -> None:
        if isinstance(value, Record):
            _check_record(value, inspection.inner(), name)
        elif isinstance(value, list | tuple):
            for item in value:
                self.check(item, inspection, name)
        elif isinstance(value, dict):
            for key, item in value.items():
                self.check(item, inspection, f"{name}[{key!r}]")


@dataclass(frozen=True)
class Maybe(Kind):
    """A value of another kind, or None."""

    kind: Kind

    def check(self, value: Any, inspection: Inspection, name: str) -> None:
        if value is not None:
            self.kind.check(value, inspection, name)

    def placed(self, value: Any, move: Callable[[np.ndarray], Any], inspection: Inspection) -> Any:
        return None if value is None else self.kind.placed(value, move, inspection)

    def of_rows(self, value: Any, inspection: Inspection) -> bool:
        return value is not None and self.kind.of_rows(value, inspection)

    def first(self, value: Any, letter: str, size: int) -> Any:
        return None if value is None else self.kind.first(value, letter, size)


@dataclass(frozen=True)
class Sometimes(Maybe):
    """An attribute that an object need not have. With `unless`, it must have exactly one of this attribute and the one
    of that name."""

    unless: str = ""

    def check(self, value: Any, inspection: Inspection, name: str) -> None:
        self.kind.check(value, inspection, name)

    def required(self, fields: Mapping[str, Any]) -> bool:
        return bool(self.unless) and self.unless not in fields

    def excludes(self, fields: Mapping[str, Any]) -> str:
        return self.unless if self.unless in fields else ""


@dataclass(frozen=True)
class Unstored(Kind):
    """An attribute that is not stored: it is computed again when it is needed, or belongs to the running program."""

    def check(self, value: Any, inspection: Inspection, name: str) -> None:
        raise ValueError(f"{name} is not stored in files")

    def required(self, fields: Mapping[str, Any]) -> bool:
        return False

    def stored(self) -> bool:
        return False


@dataclass(frozen=True)
class ListOf(Kind):
    """A list of values of one kind; its length is that for which `length` stands."""

    kind: Kind
    length: str = "*"
    _type = list

    def check(self, value: Any, inspection: Inspection, name: str) -> None:
        if not isinstance(value, self._type):
            raise ValueError(f"{name} is {_shown(value)}, and must be a {self._type.__name__}")
        inspection.same_size(self.length, len(value), name)
        for i, item in enumerate(value):
            inspection.index = i
            self.kind.check(item, inspection, f"{name}[{i}]")
        inspection.index = None

    def placed(self, value: Any, move: Callable[[np.ndarray], Any], inspection: Inspection) -> Any:
        return self._type(self.kind.placed(item, move, inspection) for item in value)

    def of_rows(self, value: Any, inspection: Inspection) -> bool:
        return any(self.kind.of_rows(item, inspection) for item in value)

    def first(self, value: Any, letter: str, size: int) -> Any:
        kept = value[:size] if self.length == letter else value
        return self._type(self.kind.first(item, letter, size) for item in kept)


@dataclass(frozen=True)
class TupleOf(ListOf):
    """A tuple of values of one kind."""

    _type = tuple  # type: ignore[assignment] # instead of a list


class Several(Kind):
    """A tuple with one value of each of these kinds."""

    def __init__(self, *kinds: Kind) -> None:
        self.kinds = kinds

    def check(self, value: Any, inspection: Inspection, name: str) -> None:
        if not isinstance(value, tuple) or len(value) != len(self.kinds):
            raise ValueError(f"{name} is {_shown(value)}, and must be a tuple of {len(self.kinds)} values")
        for i, (kind, item) in enumerate(zip(self.kinds, value, strict=True)):
            kind.check(item, inspection, f"{name}[{i}]")

    def placed(self, value: Any, move: Callable[[np.ndarray], Any], inspection: Inspection) -> Any:
        return tuple(kind.placed(item, move, inspection) for kind, item in zip(self.kinds, value, strict=True))

    def of_rows(self, value: Any, inspection: Inspection) -> bool:
        return any(kind.of_rows(item, inspection) for kind, item in zip(self.kinds, value, strict=True))

    def first(self, value: Any, letter: str, size: int) -> Any:
        return tuple(kind.first(item, letter, size) for kind, item in zip(self.kinds, value, strict=True))


@dataclass(frozen=True)
class Entries(Kind):
    """A dictionary whose values are of one kind, or of the kind that is given for each key."""

    kinds: Kind | Mapping[str, Kind]

    def check(self, value: Any, inspection: Inspection, name: str) -> None:
        if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
            raise ValueError(f"{name} is {_shown(value)}, and must be a dictionary")
        if isinstance(self.kinds, Kind):
            for key, item in value.items():
                self.kinds.check(item, inspection, f"{name}[{key!r}]")
        else:
            inspection.check_fields(value, self.kinds, name)

    def placed(self, value: Any, move: Callable[[np.ndarray], Any], inspection: Inspection) -> Any:
        return {key: self._kind(key).placed(item, move, inspection) for key, item in value.items()}

    def of_rows(self, value: Any, inspection: Inspection) -> bool:
        return any(self._kind(key).of_rows(item, inspection) for key, item in value.items())

    def _kind(self, key: str) -> Kind:
        return self.kinds if isinstance(self.kinds, Kind) else self.kinds[key]


class Instance(Kind):
    """An object of one of these classes, which `kinds` names as the table of files does; "kernels.*" stands for all
    names that begin so. The object and its owner use the letters in `shares` for the same lengths."""

    def __init__(self, *kinds: str, shares: str = "") -> None:
        self.kinds, self.shares = kinds, tuple(shares)

    def check(self, value: Any, inspection: Inspection, name: str) -> None:
        if not isinstance(value, Record) or not any(_is_named(value.kind, kind) for kind in self.kinds):
            raise ValueError(f"{name} is {_shown(value)}, and must be {' or '.join(self.kinds)}")
        inner = inspection.inner(self.shares)
        _check_record(value, inner, name)
        for letter in self.shares:
            if letter in inner.sizes:
                inspection.same_size(letter, inner.sizes[letter], name)

    def placed(self, value: Any, move: Callable[[np.ndarray], Any], inspection: Inspection) -> Any:
        kinds = inspection.fields_of(value.kind)
        return Record(value.kind, {n: kinds[n].placed(item, move, inspection) for n, item in value.fields.items()})

    def of_rows(self, value: Any, inspection: Inspection) -> bool:
        kinds = inspection.fields_of(value.kind)
        return any(kinds[n].of_rows(item, inspection) for n, item in value.fields.items())


def _check_record(record: Record, inspection: Inspection, name: str) -> None:
    inspection.check_fields(record.fields, inspection.fields_of(record.kind), f"{name} ({record.kind})")


def _is_named(kind: str, pattern: str) -> bool:
    return kind.startswith(pattern[:-1]) if pattern.endswith("*") else kind == pattern


def _require_whole(value: Any, name: str) -> None:
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
        raise ValueError(f"{name} is {_shown(value)}, and must be a whole number")


def _shown(value: Any) -> str:
    """A value as messages show it: short."""
    if isinstance(value, Record):
        return f"an object of the class {value.kind}"
    text = repr(value) if isinstance(value, str | int | float | None) else type(value).__name__
    return text if len(text) <= 60 else f"{text[:57]}..."
