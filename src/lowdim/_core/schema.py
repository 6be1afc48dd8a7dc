"""What classes say of the attributes that are stored in files: their kinds, shapes, signs and order."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from .arrays import all_finite_by_pieces, asymmetry, distance_from_orthonormal, is_sparse, largest_magnitude


@dataclass(frozen=True)
class Record:
    """An object in plain form: the name of its class in the table of files, and the values it is built from."""

    kind: str
    fields: dict[str, Any]


#: The kinds of the fields of a record, by the name of its class; a ValueError for a name that is not in the table.
FieldsOf = Callable[[str], Mapping[str, "Kind"]]
#: What is done with each part of a value that is not made of other parts.
Visit = Callable[["Kind", Any], Any]


@dataclass
class Inspection:
    """What is known while attributes are checked: lengths by letter, and the lists of other classes."""

    fields_of: FieldsOf
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

    def check_record(self, record: Record, name: str, shares: Iterable[str] = ()) -> None:
        """Check an object inside, which has lengths of its own except for those that it shares."""
        shared = {letter: self.sizes[letter] for letter in shares if letter in self.sizes}
        inner = Inspection(self.fields_of, self.unread, shared)
        inner.check_fields(record.fields, self.fields_of(record.kind), f"{name} ({record.kind})")
        for letter in shares:
            if letter in inner.sizes:
                self.same_size(letter, inner.sizes[letter], name)

    def check_fields(self, fields: Mapping[str, Any], kinds: Mapping[str, Kind], of: str) -> None:
        """Raise a ValueError if fields are missing, are not in the list, or are not what the list says."""
        unknown = sorted(fields.keys() - kinds.keys())
        if unknown:
            raise ValueError(f"{of} has no attribute {', '.join(unknown)[:80]}")
        for name, kind in kinds.items():
            if name in fields:
                if kind.unless in fields:
                    raise ValueError(f"{of} has either {name} or {kind.unless}, not both")
                kind.check(fields[name], self, name)
            elif not kind.optional and kind.unless not in fields:
                raise ValueError(f"{name} is missing")


class Kind(ABC):
    """A kind of attribute.

    Values are compared in a plain form: None, numbers, text, lists, tuples, dictionaries and arrays as they are, and
    all other objects as a `Record`.
    """

    #: Whether the attribute is written to files, and whether an object need not have it.
    stored, optional = True, False
    #: The name of an attribute, if an object must have either that one or this one.
    unless = ""

    @abstractmethod
    def check(self, value: Any, inspection: Inspection, name: str) -> None:
        """Raise a ValueError that begins with `name` if the value is not of this kind."""

    def walk(self, value: Any, visit: Visit, fields_of: FieldsOf) -> Any:
        """The value with `visit(kind, part)` in place of each part that is not made of other parts."""
        return visit(self, value)

    def moved(self, value: Any, move: Callable[[np.ndarray], Any], fields_of: FieldsOf) -> Any:
        """The value with its arrays moved to where the arrays of the model are to be; each array is moved once."""
        there: dict[int, Any] = {}

        def visit(kind: Kind, part: Any) -> Any:
            if not isinstance(kind, Numbers) or kind.host or not isinstance(part, np.ndarray):
                return part
            if id(part) not in there:
                there[id(part)] = move(part)
            return there[id(part)]

        return self.walk(value, visit, fields_of)

    def holds_rows(self, value: Any, fields_of: FieldsOf) -> bool:
        """Whether the value holds an entry for each row of the fit."""
        found: list[bool] = []
        self.walk(value, lambda kind, part: found.append(isinstance(kind, Numbers) and kind.rows), fields_of)
        return any(found)

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


#: The dtypes that each word stands for.
_DTYPES = {
    "float": ("float32", "float64"),
    "bool": ("bool",),
    "int": ("int64", "int32"),
    "any": ("float16", "float32", "float64", "bool", *(f"{u}int{b}" for u in ("", "u") for b in (8, 16, 32, 64))),
}
#: How far entries may be from what rounding should leave of order, symmetry and orthonormality, in float64 and float32,
#: relative to the largest entry.
_ROUNDING = {"float64": 1e-7, "float32": 1e-3}


class Numbers(Kind):
    """An array of finite numbers.

    Parameters
    ----------
    *shape : str or int
        The letter or the length of each axis; "*" is any length. A single "..." is any number of axes.
    dtype : {"float", "bool", "int", "any"}
        "float" is float32 or float64.
    finite : bool
        Whether NaN and infinity are refused.
    sign : {"", "nonnegative", "positive"}
    order : {"", "descending"}
        The order of a vector, up to rounding.
    orthonormal : {"", "rows"}
        Whether the rows are orthonormal, up to rounding.
    symmetric : bool
        Whether a matrix equals its transpose up to rounding, with a diagonal that is not negative.
    most : float, optional
        The largest magnitude that an entry can have, up to rounding.
    below : str
        The letter of the length that all entries are below, for indices, which are not negative.
    host : bool
        Whether the array is a NumPy array, whatever the rows of the fit were.
    rows : bool
        Whether it has an entry for each row of the fit (or for some of them), which is said when it is saved.
    sparse : bool
        Whether it may be a sparse array.
    """

    def __init__(
        self,
        *shape: str | int,
        dtype: str = "float",
        finite: bool = True,
        sign: str = "",
        order: str = "",
        orthonormal: str = "",
        symmetric: bool = False,
        most: float | None = None,
        below: str = "",
        host: bool = False,
        rows: bool = False,
        sparse: bool = False,
    ) -> None:
        self.shape, self.dtype, self.finite, self.sign, self.order = shape, dtype, finite, sign, order
        self.orthonormal, self.symmetric, self.most, self.below = orthonormal, symmetric, most, below
        self.host, self.rows, self.sparse = host, rows, sparse

    def check(self, value: Any, inspection: Inspection, name: str) -> None:
        stored = self.sparse and is_sparse(value)
        if not stored and not isinstance(value, np.ndarray):
            raise ValueError(f"{name} is no array of numbers")
        if self.shape != ("...",):
            if value.ndim != len(self.shape):
                raise ValueError(f"{name} has {value.ndim} axes, and must have {len(self.shape)}")
            for size, wanted in zip(value.shape, self.shape, strict=True):
                if isinstance(wanted, str):
                    inspection.same_size(wanted, size, name)
                elif size != wanted:
                    raise ValueError(f"{name} has shape {value.shape}, and must have shape {self.shape}")
        if value.dtype.name not in _DTYPES[self.dtype]:
            raise ValueError(f"{name} has dtype {value.dtype}, and must be of {' or '.join(_DTYPES[self.dtype])}")
        entries = value.data if stored else value
        if inspection.unread or not entries.size:
            return
        with np.errstate(all="ignore"):
            self._check_entries(entries, name)
        if self.below:
            limit = inspection.sizes.get(inspection.letter(self.below))
            if value.min() < 0 or (limit is not None and value.max() >= limit):
                raise ValueError(f"{name} has entries from {value.min()} to {value.max()}, and must be indices")

    def _check_entries(self, a: np.ndarray, name: str) -> None:
        if self.finite and not all_finite_by_pieces(a):
            raise ValueError(f"{name} contains NaN or infinity")
        rounding = _ROUNDING.get(a.dtype.name, _ROUNDING["float32"])
        if self.sign == "nonnegative" and a.min() < 0:
            raise ValueError(f"{name} has the negative entry {a.min():g}")
        if self.sign == "positive" and not a.min() > 0:
            raise ValueError(f"{name} has the entry {a.min():g}, and all must be positive")
        if self.most is not None and largest_magnitude(a) > self.most * (1.0 + rounding):
            raise ValueError(f"{name} has an entry of magnitude {largest_magnitude(a):g}, above {self.most:g}")
        if self.order == "descending" and (np.diff(a) > rounding * largest_magnitude(a)).any():
            raise ValueError(f"{name} is not in descending order")
        if self.symmetric:
            allowed = rounding * largest_magnitude(a)
            if not asymmetry(a) <= allowed or np.diagonal(a).min() < -allowed:
                raise ValueError(f"{name} is not symmetric with a diagonal that is not negative")
        if self.orthonormal and not distance_from_orthonormal(a) <= rounding:
            raise ValueError(f"the rows of {name} are not orthonormal")

    def first(self, value: Any, letter: str, size: int) -> Any:
        if letter not in self.shape:
            return value
        return value[tuple(slice(size if axis == letter else None) for axis in self.shape)]


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
        if not _is_known_whole(value, inspection, name):
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
        if not _is_known_whole(value, inspection, name):
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
            inspection.check_record(value, name)
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

    def walk(self, value: Any, visit: Visit, fields_of: FieldsOf) -> Any:
        return None if value is None else self.kind.walk(value, visit, fields_of)

    def first(self, value: Any, letter: str, size: int) -> Any:
        return None if value is None else self.kind.first(value, letter, size)


@dataclass(frozen=True)
class Sometimes(Maybe):
    """An attribute that an object need not have. With `unless`, it must have exactly one of this attribute and the one
    of that name."""

    unless: str = ""

    def check(self, value: Any, inspection: Inspection, name: str) -> None:
        self.kind.check(value, inspection, name)

    @property
    def optional(self) -> bool:  # type: ignore[override] # depends on the parameter
        return not self.unless


@dataclass(frozen=True)
class Unstored(Kind):
    """An attribute that is not stored: it is computed again when it is needed, or belongs to the running program."""

    stored, optional = False, True

    def check(self, value: Any, inspection: Inspection, name: str) -> None:
        raise ValueError(f"{name} is not stored in files")


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

    def walk(self, value: Any, visit: Visit, fields_of: FieldsOf) -> Any:
        return self._type(self.kind.walk(item, visit, fields_of) for item in value)

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

    def walk(self, value: Any, visit: Visit, fields_of: FieldsOf) -> Any:
        return tuple(kind.walk(item, visit, fields_of) for kind, item in zip(self.kinds, value, strict=True))

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

    def walk(self, value: Any, visit: Visit, fields_of: FieldsOf) -> Any:
        kinds = dict.fromkeys(value, self.kinds) if isinstance(self.kinds, Kind) else self.kinds
        return {key: kinds[key].walk(item, visit, fields_of) for key, item in value.items()}


class Instance(Kind):
    """An object of one of these classes, which `kinds` names as the table of files does; "kernels.*" stands for all
    names that begin so. The object and its owner use the letters in `shares` for the same lengths."""

    def __init__(self, *kinds: str, shares: str = "") -> None:
        self.kinds, self.shares = kinds, tuple(shares)

    def check(self, value: Any, inspection: Inspection, name: str) -> None:
        if not isinstance(value, Record) or not any(fnmatchcase(value.kind, kind) for kind in self.kinds):
            raise ValueError(f"{name} is {_shown(value)}, and must be {' or '.join(self.kinds)}")
        inspection.check_record(value, name, self.shares)

    def walk(self, value: Any, visit: Visit, fields_of: FieldsOf) -> Any:
        kinds = fields_of(value.kind)
        return Record(value.kind, {n: kinds[n].walk(item, visit, fields_of) for n, item in value.fields.items()})


def _is_known_whole(value: Any, inspection: Inspection, name: str) -> bool:
    """Whether a whole number has been read; a ValueError if it is none."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
        raise ValueError(f"{name} is {_shown(value)}, and must be a whole number")
    return not (inspection.unread and isinstance(value, np.generic))


def _shown(value: Any) -> str:
    """A value as messages show it: short."""
    if isinstance(value, Record):
        return f"an object of the class {value.kind}"
    text = repr(value) if isinstance(value, str | int | float | None) else type(value).__name__
    return text if len(text) <= 60 else f"{text[:57]}..."
