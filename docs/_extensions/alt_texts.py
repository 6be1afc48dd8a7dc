"""Figures of the gallery, with the text that describes them to readers who do not see them.

A script of the gallery gives each figure its description: `figure.set_label("...")`.
"""

from __future__ import annotations

import re
from typing import Any


def described_figures(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save the open figures of matplotlib as sphinx-gallery does, with their labels as alternative texts."""
    from matplotlib import pyplot
    from sphinx_gallery.scrapers import matplotlib_scraper

    labels = iter([pyplot.figure(number).get_label() for number in pyplot.get_fignums()])

    def described(match: re.Match[str]) -> str:
        label = next(labels)
        if not label:
            raise ValueError(f"{block_vars['src_file']}: a figure has no description; use figure.set_label('...').")
        return f"{match[1]}:alt: {label}"

    return re.sub(r"^( *):alt: .*$", described, matplotlib_scraper(block, block_vars, gallery_conf), flags=re.M)
