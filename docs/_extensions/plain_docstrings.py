"""Docstrings are plain text with code in backticks; here they become reStructuredText.

The characters that mean something there and not in plain text, as in |x| and `components_` without backticks, are
escaped. Indented formulas become blocks of code. Nothing else changes: numpydoc reads the sections afterwards.
"""

from __future__ import annotations

import re
from typing import Any

#: Sections whose entries are "name : kind" with an indented description.
_ENTRIES = frozenset({"Parameters", "Attributes", "Other Parameters", "Returns", "Yields", "Raises", "Warns"})
_CODE = re.compile(r"(``.+?``|`[^`]+`)")
_SPECIAL = re.compile(r"[*|\\]|(?<=\w)_(?!\w)")
_REFERENCE = re.compile(r"^(\.\. \[\w+\])(.*)$")


def escaped(text: str) -> str:
    """The text with a backslash before each character that would be markup; code in backticks stays as it is.

    >>> print(escaped("|w_k| = 1 for rows of components_; `components_` is not changed, a * b is"))
    \\|w_k\\| = 1 for rows of components\\_; `components_` is not changed, a \\* b is
    """
    parts = _CODE.split(text)
    for i in range(0, len(parts), 2):
        parts[i] = _SPECIAL.sub(r"\\\g<0>", parts[i])
    # What follows code without a space, as in `k`-means, would not end the code otherwise.
    return "".join(parts)


def as_restructured_text(lines: list[str]) -> list[str]:
    """The lines of a docstring, without its indentation, as reStructuredText for numpydoc."""
    out: list[str] = []
    section, literal, doctest = "", False, False
    for i, line in enumerate(lines):
        bare = line.strip()
        indent = len(line) - len(line.lstrip())
        following = lines[i + 1].strip() if i + 1 < len(lines) else ""
        if literal and bare and indent == 0:
            literal = False
        if not bare:
            doctest = False
        if bare.startswith(">>>"):
            doctest, literal = True, False
        if not bare or doctest or literal:
            out.append(line)
        elif following and set(following) == {"-"} and len(following) == len(bare):
            section = bare
            out.append(line)
        elif set(bare) == {"-"}:
            out.append(line)
        elif section in _ENTRIES:
            name, colon, kind = line.partition(" : ")
            out.append(escaped(line) if indent else name + colon + escaped(kind))
        elif indent >= 4 and (i == 0 or not lines[i - 1].strip()):
            literal = True
            out += ["::", "", line]
        elif match := _REFERENCE.match(line):
            out.append(match[1] + escaped(match[2]))
        else:
            out.append(escaped(line))
    return out


def _process(_app: Any, _what: str, _name: str, _object: Any, _options: Any, lines: list[str]) -> None:
    lines[:] = as_restructured_text(lines)


def setup(app: Any) -> dict[str, bool]:
    """Connect to autodoc, before numpydoc."""
    app.connect("autodoc-process-docstring", _process, priority=400)
    return {"parallel_read_safe": True}
