"""The version of lowdim."""

__version__ = "0.1.0"
