"""What the pages of the API show of a class: its members from lowdim, and the parameters that it takes."""

from __future__ import annotations

import inspect
from typing import Any


def is_from_elsewhere(member: Any) -> bool:
    """Whether another package defines this member, such as those that scikit-learn adds to every estimator."""
    found = inspect.unwrap(member.fget if isinstance(member, property) and member.fget else member)
    module = getattr(found, "__module__", None)
    return module is not None and module.split(".")[0] not in ("lowdim", "builtins")


def _skip(_app: Any, _what: str, _name: str, member: Any, _skipped: bool, _options: Any) -> bool | None:
    return True if is_from_elsewhere(member) else None


def _signature(
    _app: Any, what: str, _name: str, described: Any, _options: Any, _signature: str | None, returns: str | None
) -> tuple[str, str | None] | None:
    """The parameters of `__init__`: models also have a `__new__` that takes anything, for the sake of its messages."""
    from sphinx.util.inspect import stringify_signature

    if what != "class" or "fit" not in dir(described):
        return None
    return stringify_signature(
        inspect.signature(described), show_annotation=False, show_return_annotation=False
    ), returns


def setup(app: Any) -> dict[str, bool]:
    """Connect to autodoc."""
    app.connect("autodoc-skip-member", _skip)
    app.connect("autodoc-process-signature", _signature)
    return {"parallel_read_safe": True}
