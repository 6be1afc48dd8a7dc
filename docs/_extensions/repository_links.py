"""Links of pages to files and folders beside docs/ that have a page on the site.

The pages are also read on the forge, where a link must lead to a file of the repository. A public name of lowdim, in
full and as code, is a link to the file that defines it; on the site it leads to the page of that name in the API.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

#: What is linked to, from docs/, and its page.
PAGES = {
    "../gallery/": "generated/gallery/index.rst",
    "../benchmarks/README.md": "benchmarks.md",
    "../benchmarks/gpu.md": "benchmarks_gpu.md",
    "../CHANGELOG.md": "changelog.md",
    "../CONTRIBUTING.md": "contributing.md",
    "../SECURITY.md": "security.md",
    "../src/lowdim/": "api/index.rst",
}
#: A name of lowdim, in full, that is a link to the file which defines it.
NAME = re.compile(r"\[`(lowdim(?:\.\w+)+)`\]\((\.\./src/lowdim/[\w/]+\.py)\)")


def with_pages(text: str, docname: str, file_names: Mapping[str, str] | None = None) -> str:
    """The text of a page, with links to pages of the site in place of those to the repository.

    `file_names` has the names whose pages have another name.

    >>> with_pages("see the [changelog](../CHANGELOG.md)", "why")
    'see the [changelog](changelog.md)'
    >>> with_pages("a [cloud](../gallery/plot_whitening.py)", "whitening")
    'a [cloud](generated/gallery/plot_whitening.rst)'
    >>> with_pages("the model [`lowdim.PCA`](../src/lowdim/models/pca.py)", "pca")
    'the model [`lowdim.PCA`](generated/api/lowdim.PCA.rst)'
    """

    def place(page: str) -> str:
        return os.path.relpath(page, os.path.dirname(docname) or ".").replace(os.sep, "/")

    def of_the_api(link: re.Match[str]) -> str:
        return f"[`{link[1]}`]({place('generated/api')}/{(file_names or {}).get(link[1], link[1])}.rst)"

    text = NAME.sub(of_the_api, text)
    text = re.sub(r"\]\(\.\./gallery/(plot_\w+)\.py\)", rf"]({place('generated/gallery')}/\1.rst)", text)
    for path, page in PAGES.items():
        text = text.replace(f"]({path})", f"]({place(page)})")
    return text


def _replace(app: Any, docname: str, source: list[str]) -> None:
    source[0] = with_pages(source[0], docname, app.config.autosummary_filename_map)


def setup(app: Any) -> dict[str, bool]:
    """Connect to the reading of pages."""
    app.connect("source-read", _replace)
    return {"parallel_read_safe": True}
