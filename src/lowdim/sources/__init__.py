"""Where rows come from: one file for each kind of input, and `opening`, which finds the right one."""

from .opening import open_source

__all__ = ["open_source"]
