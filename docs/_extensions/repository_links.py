"""Links of pages to files and folders beside docs/ that have a page on the site.

The pages are also read on the forge, where a link must lead to a file of the repository.
"""

from __future__ import annotations

import os
import re
from typing import Any

#: What is linked to, from docs/, and its page.
PAGES = {
    "../gallery/": "generated/gallery/index.rst",
    "../benchmarks/README.md": "benchmarks.md",
    "../CHANGELOG.md": "changelog.md",
    "../CONTRIBUTING.md": "contributing.md",
    "../SECURITY.md": "security.md",
    "../src/lowdim/": "api/index.rst",
}


def with_pages(text: str, docname: str) -> str:
    """The text of a page, with links to pages of the site in place of those to the repository.

    >>> with_pages("see the [changelog](../CHANGELOG.md)", "why")
    'see the [changelog](changelog.md)'
    >>> with_pages("a [cloud](../gallery/plot_whitening.py)", "whitening")
    'a [cloud](generated/gallery/plot_whitening.rst)'
    """
    folder = os.path.dirname(docname)
    script = os.path.relpath("generated/gallery", folder or ".")
    text = re.sub(r"\]\(\.\./gallery/(plot_\w+)\.py\)", rf"]({script}/\1.rst)", text)
    for path, page in PAGES.items():
        text = text.replace(f"]({path})", f"]({os.path.relpath(page, folder or '.')})")
    return text


def _replace(_app: Any, docname: str, source: list[str]) -> None:
    source[0] = with_pages(source[0], docname)


def setup(app: Any) -> dict[str, bool]:
    """Connect to the reading of pages."""
    app.connect("source-read", _replace)
    return {"parallel_read_safe": True}
