"""The report: one file that shows what is in a table."""

from .build import Report, of_model, report

__all__ = ["Report", "of_model", "report"]
