"""The public names of a module."""

import types


def public(module):
    """The names in `__all__`; where a module has none, those that it defines itself, without an underscore."""
    if hasattr(module, "__all__"):
        return sorted(module.__all__)
    own = {name: value for name, value in vars(module).items() if not isinstance(value, types.ModuleType)}
    return sorted(
        name
        for name, value in own.items()
        if not name.startswith("_") and getattr(value, "__module__", module.__name__) == module.__name__
    )
