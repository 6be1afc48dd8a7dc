"""What a docstring says of parameters, so that the help of options says nothing twice."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from typing import Any

#: The heading of a section, and what follows up to the next one.
_SECTION = re.compile(r"^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n-+\n|\Z)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Described:
    """A parameter as its docstring describes it."""

    #: The types, such as "int, float, str or None".
    kind: str
    text: str


def described_parameters(obj: Any) -> dict[str, Described]:
    """The parameters in the docstring of a class or a function, by name; "a, b : float" describes two."""
    found = _SECTION.search(inspect.getdoc(obj) or "")
    parameters: dict[str, Described] = {}
    if found is None:
        return parameters
    for entry in re.split(r"\n(?=\S)", found.group(1).rstrip()):
        head, _, body = entry.partition("\n")
        names, _, kind = head.partition(" : ")
        text = " ".join(line.strip() for line in body.split("\n")).strip()
        for name in names.split(","):
            parameters[name.strip()] = Described(kind.strip(), text)
    return parameters


def first_sentence(obj: Any) -> str:
    """The first line of a docstring."""
    return (inspect.getdoc(obj) or "").split("\n")[0]
