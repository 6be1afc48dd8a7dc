"""The report: one file that shows what is in a table."""
