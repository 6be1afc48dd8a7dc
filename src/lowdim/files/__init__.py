"""Files of models, summaries and results of selection: `lowdim.save` and `lowdim.load`."""

from .saving import header, load, save

__all__ = ["header", "load", "save"]
