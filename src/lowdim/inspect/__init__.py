"""Reading fitted models: tables and diagnostics."""
