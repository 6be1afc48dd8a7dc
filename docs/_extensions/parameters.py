"""The page of all parameters and attributes of the public functions and classes, which is made of their docstrings, and
of the options of the commands.

A name that means the same everywhere has one entry; one with several entries means several things.
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
_ENTRY = re.compile(r"^(\S[^\n]*)\n((?:(?:[ ]+[^\n]*)?\n)*)", re.M)


def entries(docstring: str, heading: str = "Parameters") -> list[tuple[str, str, str]]:
    """The name, the kind and the first sentence of each parameter, or attribute, of a docstring of numpydoc.

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
    of_heading = rf"^{heading}\n-+\n(.*?)(?=^\S[^\n]*\n-+$|\Z)"
    section = re.search(of_heading, inspect.cleandoc(docstring) + "\n", flags=re.M | re.S)
    found = []
    for head, text in _ENTRY.findall(section[1] if section else ""):
        names, _, kind = head.partition(" : ")
        sentence = re.split(r"[.:;](?:\s|$)", " ".join(text.split()), maxsplit=1)[0]
        # Attributes may have remarks in brackets, such as "scale_ (with `scale`)".
        found += [(name.strip(), kind, sentence) for name in re.sub(r"\(.*?\)", "", names).split(",")]
    return found


def described(heading: str = "Parameters") -> dict[str, dict[tuple[str, str], list[str]]]:
    """For each name under this heading, its kinds and meanings, each with the functions and classes that have it."""
    found: dict[str, dict[tuple[str, str], list[str]]] = {}
    seen = set()
    for module in _MODULES:
        package = import_module(module)
        # Modules without the list of their public names offer what they define themselves.
        own = [name for name, it in vars(package).items() if getattr(it, "__module__", "") == module and name[0] != "_"]
        for name in getattr(package, "__all__", own):
            offered = getattr(package, name)
            if not callable(offered) or id(offered) in seen:
                continue
            seen.add(id(offered))
            place = f"{module}.{name}"
            for parameter, kind, sentence in entries(offered.__doc__ or "", heading):
                found.setdefault(parameter, {}).setdefault((kind, sentence), []).append(place)
    return dict(sorted(found.items(), key=lambda item: (item[0].lower(), item[0])))


#: What commands are called, where their functions have other names.
_VERBS = {"draw": "plot", "validate": "cross-validate", "inspect_file": "inspect"}


def options() -> dict[str, dict[tuple[str, str], list[str]]]:
    """For each option of the commands, its other names and its meanings, each with the command if it is of one only."""
    from lowdim.cli.commands import OPTIONS

    found: dict[str, dict[tuple[str, str], list[str]]] = {}
    for key, option in OPTIONS.items():
        about = option.annotation.__metadata__[0]
        # typer takes the first name for a default until it reads the annotation. Arguments have no such names.
        if str(about.default).startswith("-"):
            name, others = about.default, about.param_decls
            verb = key.split()[0]
            command = [f"lowdim {_VERBS.get(verb, verb)}"] if " " in key else []
            found.setdefault(name, {})[", ".join(others), about.help.rstrip(".")] = command
    return dict(sorted(found.items(), key=lambda item: (item[0].lower(), item[0])))


#: The parts of the page: a heading, what is listed under it, and what is said of it.
_PARTS = [
    (
        "Parameters",
        described,
        "Parameters of the public functions and classes: their kinds, defaults and meanings, and who has them.",
    ),
    (
        "Attributes",
        lambda: described("Attributes"),
        "Attributes of the public classes. Those that end with _ are set by ``fit``.",
    ),
    (
        "Options of the commands",
        options,
        "Options of the command ``lowdim``, their short forms, and the command if only one has it in this meaning. "
        "Further options have the names and meanings of parameters, with - in place of _.",
    ),
]


def page() -> str:
    """The page as reStructuredText."""
    from _extensions.plain_docstrings import escaped

    title = "All parameters"
    lines = [title, "=" * len(title), ""]
    for heading, listed, about in _PARTS:
        lines += [heading, "-" * len(heading), "", about, ""]
        for name, meanings in listed().items():
            lines.append(f"``{name}``")
            for (kind, sentence), places in meanings.items():
                text = ": ".join(part for part in (kind, sentence) if part)
                owners = f"({', '.join(f'``{place}``' for place in places)})" if places else ""
                lines.append("   - " + " ".join(part for part in (text and f"{escaped(text)}.", owners) if part))
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
