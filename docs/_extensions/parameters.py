"""The page of all parameters of the public functions and classes, which is made of their docstrings.

A parameter that means the same everywhere has one entry; one with several entries means several things.
"""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path
from typing import Any

_MODULES = [
    "lowdim",
    "lowdim.sources",
    "lowdim.reading",
    "lowdim.summaries",
    "lowdim.selection",
    "lowdim.inspect",
    "lowdim.plot",
    "lowdim.kernels",
    "lowdim.densities",
    "lowdim.features",
    "lowdim.solvers",
    "lowdim.files",
    "lowdim.onnx",
    "lowdim.sklearn",
]
_SECTION = re.compile(r"^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n-+$|\Z)", re.M | re.S)
_ENTRY = re.compile(r"^(\S[^\n]*)\n((?:(?:[ ]+[^\n]*)?\n)*)", re.M)


def entries(docstring: str) -> list[tuple[str, str, str]]:
    """The name, the kind and the first sentence of each parameter of a docstring of numpydoc.

    >>> entries('''What it does.
    ...
    ... Parameters
    ... ----------
    ... X, y : rows
    ...     What is read. It is not changed.
    ... k : int, default=2
    ...     How many.
    ...
    ... Notes
    ... -----
    ... None.
    ... ''')
    [('X', 'rows', 'What is read'), ('y', 'rows', 'What is read'), ('k', 'int, default=2', 'How many')]
    """
    section = _SECTION.search(inspect.cleandoc(docstring) + "\n")
    found = []
    for head, text in _ENTRY.findall(section[1] if section else ""):
        names, _, kind = head.partition(" : ")
        sentence = re.split(r"[.:;](?:\s|$)", " ".join(text.split()), maxsplit=1)[0]
        found += [(name.strip(), kind, sentence) for name in names.split(",")]
    return found


def parameters() -> dict[str, dict[tuple[str, str], list[str]]]:
    """For each name, its kinds and meanings, each with the functions and classes that have it."""
    found: dict[str, dict[tuple[str, str], list[str]]] = {}
    seen = set()
    for module in _MODULES:
        package = import_module(module)
        # Modules without the list of their public names offer what they define themselves.
        own = [name for name, it in vars(package).items() if getattr(it, "__module__", "") == module and name[0] != "_"]
        for name in getattr(package, "__all__", own):
            described = getattr(package, name)
            if not callable(described) or id(described) in seen:
                continue
            seen.add(id(described))
            place = f"{module}.{name}"
            for parameter, kind, sentence in entries(described.__doc__ or ""):
                found.setdefault(parameter, {}).setdefault((kind, sentence), []).append(place)
    return dict(sorted(found.items(), key=lambda item: (item[0].lower(), item[0])))


def page() -> str:
    """The page as reStructuredText."""
    from _extensions.plain_docstrings import escaped

    title = "All parameters"
    about = "Each parameter of the public functions and classes: its kind, its default, what it means, and who has it."
    lines = [title, "=" * len(title), "", about, ""]
    for name, meanings in parameters().items():
        lines.append(f"``{name}``")
        for (kind, sentence), places in meanings.items():
            text = f"{kind}: {sentence}." if sentence else f"{kind}."
            lines.append(f"   - {escaped(text)} ({', '.join(f'``{place}``' for place in places)})")
        lines.append("")
    return "\n".join(lines)


def _write(app: Any) -> None:
    path = Path(app.srcdir) / "generated" / "parameters.rst"
    path.parent.mkdir(exist_ok=True)
    path.write_text(page(), encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    """Write the page before Sphinx looks for pages."""
    app.connect("builder-inited", _write)
    return {"parallel_read_safe": True}
