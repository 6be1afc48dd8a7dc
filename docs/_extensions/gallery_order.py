"""The order of the gallery: as the pages of the methods, from one table to several."""

from __future__ import annotations

#: How names of scripts begin, after `plot_`.
METHODS = [
    "pca",
    "whitening",
    "ppca",
    "factor_analysis",
    "ica",
    "kernel_pca",
    "pls",
    "cca",
    "choose_k",
    "when_methods_fail",
]


class ByMethod:
    """The key by which sphinx-gallery sorts scripts; those of one method are sorted by their names.

    >>> sorted(["plot_cca_text.py", "plot_ppca_density.py", "plot_pca_wide.py"], key=ByMethod(""))
    ['plot_pca_wide.py', 'plot_ppca_density.py', 'plot_cca_text.py']
    """

    def __init__(self, src_dir: str) -> None:
        self._folder = src_dir

    def __repr__(self) -> str:
        # Part of the settings that Sphinx compares with those of the last build.
        return type(self).__name__

    def __call__(self, name: str) -> tuple[int, str]:
        stem = name.removesuffix(".py")
        return next(i for i, method in enumerate(METHODS) if stem.startswith(f"plot_{method}")), stem
