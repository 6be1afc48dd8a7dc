"""JSON from files that nobody vouches for: depth and memory are bounded before anything is parsed."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

#: Values are nested at most this deeply.
_DEEPEST = 64
#: About how many bytes Python takes for what each of these characters stands for.
_COSTS = {"{": 256, "[": 96, ",": 64, ":": 100}


def parse(text: bytes, allowed: int) -> Any:
    """The value of a JSON text. A ValueError is raised if it is not JSON, if a key occurs twice in an object, if a
    number is not finite or if values are nested too deeply; a MemoryError if its values would take more than `allowed`
    bytes."""
    structure = _without_strings(text)
    counts = {character: int(np.count_nonzero(structure == ord(character))) for character in _COSTS}
    needed = 2 * len(text) + sum(cost * counts[character] for character, cost in _COSTS.items())
    if needed > allowed:
        raise MemoryError(f"the values of its header would take about {needed} bytes, and {allowed} are allowed")
    if counts["["] + counts["{"] > _DEEPEST and _depth(structure) > _DEEPEST:
        raise ValueError(f"values are nested more than {_DEEPEST} deep")
    del structure
    return json.loads(
        text.decode(), object_pairs_hook=_without_duplicates, parse_constant=_no_constant, parse_float=_finite
    )


def dump(value: Any) -> str:
    """The JSON text of a value, in ASCII. Python writes as many digits of a float as are needed to read it back."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def _without_strings(text: bytes) -> np.ndarray:
    """The characters of a JSON text that are not inside of strings."""
    quoted = np.frombuffer(text.replace(b"\\\\", b"").replace(b'\\"', b""), dtype=np.uint8)
    # An odd number of quotes precedes what is inside of a string; 256 is even, so 8 bits are enough to count them.
    return quoted[np.cumsum(quoted == ord('"'), dtype=np.uint8) % 2 == 0]


def _depth(structure: np.ndarray) -> int:
    """How deeply lists and objects are nested."""
    brackets = structure[np.isin(structure, np.frombuffer(b"[]{}", dtype=np.uint8))]
    opening = (brackets == ord("[")) | (brackets == ord("{"))
    return int(np.cumsum(2 * opening.astype(np.int8) - 1, dtype=np.int32).max())


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The dict of these pairs; a key that occurs twice is an error."""
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for i, key in enumerate(keys) if key in keys[:i])
        raise ValueError(f"the key {twice[:80]!r} occurs twice")
    return found


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"the number {text[:80]} is out of range")
    return number
