"""What everything else stands on: arrays, devices, threads, BLAS and files. It knows nothing of statistics."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

__version__ = "0.1.0"


def imported_when_used(
    package: str, places: Mapping[str, str], elsewhere: Mapping[str, str] | None = None
) -> Callable[[str], Any]:
    """The function `__getattr__` of a package that imports some of its names only when they are used.

    `places` says in which module of the package each of these names is defined; a module is defined in itself.
    `elsewhere` has names that the package does not offer itself, with the subpackage that does, for the error.
    """

    def find(name: str) -> Any:
        if name not in places:
            there = (elsewhere or {}).get(name)
            advice = f"; it is {package}.{there}.{name}" if there else ""
            raise AttributeError(f"module {package!r} has no attribute {name!r}{advice}")
        module = import_module(f".{places[name]}", package)
        found = module if places[name] == name else getattr(module, name)
        # The next time, Python finds it by itself.
        setattr(sys.modules[package], name, found)
        return found

    return find
