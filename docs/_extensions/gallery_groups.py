"""The gallery's page: its scripts in groups, each with a heading and a sentence.

sphinx-gallery makes groups of folders only, and the scripts are in one folder, so that each is run in the same way.
"""

from __future__ import annotations

import re
from typing import Any

#: For each group its heading, what it is about, and how the names of its scripts begin, after `plot_`.
GROUPS = [
    (
        "Principal components",
        "The directions of most variance: maps of rows, images rebuilt from few numbers, and tables with fewer rows "
        "than columns.",
        ("pca_",),
    ),
    (
        "Categories",
        "Principal components of tables that have categories, such as the answers to questions: which levels go "
        "together, and which rows have them.",
        ("mca_",),
    ),
    (
        "Whitening and probabilistic models",
        "Rows with covariance I; a density of the rows, which also fills missing values; and factor analysis, in which "
        "each column has noise of its own.",
        ("whitening", "ppca_", "factor_analysis"),
    ),
    (
        "Independent components",
        "Sources that were mixed with each other, and are found again because they are independent and not Gaussian.",
        ("ica_",),
    ),
    (
        "Kernels",
        "Principal components of features that need not be computed, for structure that no plane shows.",
        ("kernel_pca_",),
    ),
    (
        "Neural networks",
        "Few numbers for each row, from which networks rebuild it: a curved surface in place of the plane of PCA.",
        ("auto_encoder_",),
    ),
    (
        "Two tables",
        "How to predict one table from another, and to find what two tables have in common.",
        ("pls_", "cca_"),
    ),
    (
        "Choosing",
        "How many components to keep, and when not to trust a method.",
        ("choose_", "when_"),
    ),
]
_STARTS = [start for _, _, starts in GROUPS for start in starts]
#: What opens the thumbnail of a script; what follows it names the script.
_THUMBNAIL = re.compile(
    r'\.\. raw:: html\n\n    <div class="sphx-glr-thumbcontainer"(?:(?!:doc:).)*?:doc:`/generated/gallery/(plot_\w+)`',
    flags=re.S,
)


class ByGroup:
    """The key by which sphinx-gallery sorts scripts; those whose names begin alike are sorted by their names.

    >>> sorted(["plot_cca_text.py", "plot_ppca_density.py", "plot_pca_wide.py"], key=ByGroup(""))
    ['plot_pca_wide.py', 'plot_ppca_density.py', 'plot_cca_text.py']
    """

    def __init__(self, src_dir: str) -> None:
        self._folder = src_dir

    def __repr__(self) -> str:
        # Part of the settings that Sphinx compares with those of the last build.
        return type(self).__name__

    def __call__(self, name: str) -> tuple[int, str]:
        stem = name.removesuffix(".py")
        for place, start in enumerate(_STARTS):
            if stem.startswith(f"plot_{start}"):
                return place, stem
        raise ValueError(f"{name}: no group of the gallery has scripts with this name; see {__file__}.")


def with_headings(page: str) -> str:
    """The page of sphinx-gallery, with a heading and a sentence before the first thumbnail of each group."""
    waiting = list(GROUPS)

    def headed(match: re.Match[str]) -> str:
        if not waiting or not match[1].startswith(tuple(f"plot_{start}" for start in waiting[0][2])):
            return match[0]
        title, sentence, _ = waiting.pop(0)
        # Thumbnails are in an element of their own, which a heading must not be in.
        return (
            ".. raw:: html\n\n    </div>\n\n"
            f"{title}\n{'-' * len(title)}\n\n{sentence}\n\n"
            f'.. raw:: html\n\n    <div class="sphx-glr-thumbnails">\n\n{match[0]}'
        )

    page = _THUMBNAIL.sub(headed, page)
    if waiting:
        raise ValueError(f"the page of the gallery has no place for the group {waiting[0][0]!r}; see {__file__}.")
    return page


def _group(_app: Any, docname: str, source: list[str]) -> None:
    if docname == "generated/gallery/index":
        source[0] = with_headings(source[0])


def setup(app: Any) -> dict[str, bool]:
    """Connect to the reading of pages."""
    app.connect("source-read", _group)
    return {"parallel_read_safe": True}
