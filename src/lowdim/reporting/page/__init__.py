"""The page: a document as one HTML file that needs nothing else. Only this package knows HTML, Jinja2 and Plotly."""

from .rendering import render

__all__ = ["render"]
