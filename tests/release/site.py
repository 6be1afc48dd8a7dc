"""What `make docs` checks of the site after it was built: links, pictures, and that it needs no other site.

    python tests/release/site.py build/docs

Sphinx makes errors of references that it cannot resolve. This reads the pages as a browser would, with what the theme,
the gallery and plain HTML add to them.
"""

import os
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

DOCS = Path(__file__).parents[2] / "docs"
#: Elements that load what they name, and the attribute that names it; `a` only leads there.
LOADING = {"img": "src", "script": "src", "link": "href", "source": "src", "iframe": "src", "video": "src"}


class Page(HTMLParser):
    """The targets of links on a page, what it loads, its anchors, and its pictures without a description."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.loaded: set[str] = set()
        self.anchors: set[str] = set()
        self.undescribed: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.anchors.update(values[name] for name in ("id", "name") if name in values)
        if tag == "a" and "href" in values:
            self.links.add(values["href"])
        if tag in LOADING and values.get(LOADING[tag]):
            self.loaded.add(values[LOADING[tag]])
        if tag == "img" and "alt" not in values:
            self.undescribed.add(values.get("src", ""))


def problems(site: Path) -> list[str]:
    """A sentence for each thing that is wrong with the site."""
    # The theme has a template among its files.
    paths = (path for path in sorted(site.rglob("*.html")) if "_static" not in path.relative_to(site).parts)
    pages = {path: Page(path) for path in paths}
    found = [f"{page} has no page on the site." for page in missing_pages(site)]
    for path, page in pages.items():
        name = path.relative_to(site)
        found += [f"{name} has a picture without a description: {picture}" for picture in sorted(page.undescribed)]
        for target in sorted(page.links | page.loaded):
            address = urlsplit(target)
            if address.scheme or address.netloc:
                if target in page.loaded and address.scheme != "data":
                    found.append(f"{name} loads {target} from elsewhere.")
                continue
            other = Path(os.path.normpath(path.parent / unquote(address.path))) if address.path else path
            if not other.exists():
                found.append(f"{name} links to {target}, which does not exist.")
            elif address.fragment and other in pages and unquote(address.fragment) not in pages[other].anchors:
                found.append(f"{name} links to {target}: that page has no such place.")
    return found


def missing_pages(site: Path) -> list[str]:
    """The pages in docs/ that were not built."""
    written = (path.relative_to(DOCS) for suffix in ("md", "rst") for path in DOCS.rglob(f"*.{suffix}"))
    shown = (page for page in written if page.parts[0] not in ("generated", "_templates"))
    return [page.as_posix() for page in shown if not (site / page).with_suffix(".html").exists()]


if __name__ == "__main__":
    wrong = problems(Path(sys.argv[1]))
    print("\n".join(wrong) or "All links of the site lead somewhere, and it loads nothing from elsewhere.")
    sys.exit(bool(wrong))
