"""How far the answer of a model from files, streams and queries may be from that of an array: the table of
docs/files.md, which a test compares with this one."""

from __future__ import annotations

#: The largest difference, relative to the largest entry, by model.
#: The columns are files (Parquet, Arrow, CSV, NPY, Zarr, HDF5); queries (lazy frames of polars, relations of DuckDB),
#: whose number of rows is not known beforehand; and record batches, which can be read once.
TOLERANCES: dict[str, tuple[float, float, float]] = {
    "PCA": (1e-12, 1e-12, 1e-12),
    "Whitening": (1e-12, 1e-12, 1e-12),
    "PPCA": (1e-12, 1e-12, 1e-12),
    "FactorAnalysis": (1e-10, 1e-10, 1e-10),
    "FeatureMapPCA": (1e-12, 1e-10, 1e-12),
    "KernelPCA": (1e-12, 1e-10, 1e-12),
    "AutoEncoder": (1e-12, 1e-12, 1e-12),
    "ICA": (1e-8, 1e-8, 1e-8),
    "PCR": (1e-12, 1e-12, 1e-12),
    "PLSRegression": (1e-12, 1e-12, 1e-12),
    "PLSCanonical": (1e-12, 1e-12, 1e-12),
    "PLSSVD": (1e-12, 1e-12, 1e-12),
    "CCA": (1e-12, 1e-12, 1e-12),
    "GCCA": (1e-12, 1e-12, 1e-12),
    "KernelCCA": (1e-10, 1e-10, 1e-10),
}


def tolerance_of(model: str, kind: object) -> float:
    """The tolerance for an input (`inputs.Input`) that is stored in files or queried."""
    files, queries, once = TOLERANCES[model]
    return files if kind.stored else queries if kind.again else once  # type: ignore[attr-defined]


def as_markdown() -> str:
    """The table of the page."""
    lines = ["| model | files | lazy frame, DuckDB relation | record batches |", "| --- | --- | --- | --- |"]
    for model, row in TOLERANCES.items():
        lines.append(f"| {model} | " + " | ".join(f"{t:.0e}" for t in row) + " |")
    return "\n".join(lines)
