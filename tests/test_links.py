"""Links of the pages lead to files and headings that exist; `make linkcheck` asks for the addresses of other sites."""

import re
import unicodedata
from pathlib import Path
from urllib.parse import urlsplit

import pytest

ROOT = Path(__file__).parents[1]
#: The pages that people read in the repository, or on the site that is made from it.
PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for pattern in ("*.md", "docs/**/*.md", "benchmarks/*.md", "examples/**/*.md", "gallery/**/*.md", "tests/**/*.md")
    for path in ROOT.glob(pattern)
    if "generated" not in path.parts
)
#: Files with text that people read: pages, docstrings, settings.
TEXTS = [
    *(ROOT / page for page in PAGES),
    *(
        path
        for pattern in (
            "CITATION.cff",
            "pyproject.toml",
            ".github/**/*.yml",
            "docs/**/*.rst",
            "docs/**/*.py",
            "gallery/*.*",
        )
        for path in ROOT.glob(pattern)
        if "generated" not in path.parts
    ),
    *(path for folder in ("examples", "benchmarks", "src") for path in (ROOT / folder).rglob("*.py")),
]


def prose(page):
    """The text of a page without code, in which brackets are no links."""
    text = (ROOT / page).read_text(encoding="utf-8")
    text = re.sub(r"^(`{3,}|~{3,}).*?^\1", "", text, flags=re.M | re.S)
    return re.sub(r"(`+)(?!`).+?(?<!`)\1(?!`)", "code", text, flags=re.S)


def targets(page):
    """What the links and pictures of a page point to."""
    text = prose(page)
    found = re.findall(r"\]\(<?([^)\s>]+)", text) + re.findall(r"^\[[^\]]+\]:\s*(\S+)", text, flags=re.M)
    return found + re.findall(r'\b(?:src|href|srcset)="([^"\s]+)"', text)


def anchors(page):
    """The names by which headings are linked to on a forge, and on the site."""
    text = re.sub(r"^(`{3,}|~{3,}).*?^\1", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.M | re.S)
    found = set(re.findall(r'\b(?:id|name)="([^"]+)"', text)) | set(re.findall(r"^\(([\w-]+)\)=$", text, flags=re.M))
    for heading in re.findall(r"^#{1,6}\s+(.+?)\s*#*$", text, flags=re.M):
        shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        kept = (c for c in shown if c in " -_" or unicodedata.category(c)[0] in "LN")
        name = slug = "".join(kept).replace(" ", "-")
        number = 0
        while name in found:
            number += 1
            name = f"{slug}-{number}"
        found.add(name)
    return found


@pytest.mark.parametrize("page", PAGES)
def test_links_within_the_repository_lead_somewhere(page):
    for target in targets(page):
        address = urlsplit(target)
        if address.scheme:
            continue
        path = (ROOT / page).parent / address.path if address.path else ROOT / page
        assert path.exists(), f"{page} links to {target}"
        if address.fragment:
            linked = path.resolve().relative_to(ROOT).as_posix()
            assert linked in PAGES, f"{page} links to a part of {target}, which is no page"
            assert address.fragment in anchors(linked), f"{page} links to {target}: there is no such heading"


def test_addresses_are_whole_and_encrypted():
    found = {}
    for path in TEXTS:
        text = path.read_text(encoding="utf-8")
        for address in re.findall(r"\b[a-z]+://[^\s)>\]\"'`]*", text):
            found.setdefault(address.rstrip(".,;:"), path.relative_to(ROOT))
    assert found
    for address, path in found.items():
        parts = urlsplit(address)
        if parts.scheme in ("file", "s3", "gs", "memory"):
            continue  # a path of the reader, in an example
        assert parts.scheme == "https", f"{path}: {address}"
        assert re.fullmatch(r"([a-z0-9-]+\.)+[a-z]{2,}", parts.netloc), f"{path}: {address}"
        assert not parts.username and not parts.query.startswith("utm_"), f"{path}: {address}"


def test_the_checker_finds_what_is_wrong(tmp_path, monkeypatch):
    """The functions above, on a page whose links are known."""
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    (tmp_path / "page.md").write_text(
        "# A `name_`, & more\n[a](b.md#c-d)\n`[no](link)` ![p](p.png)\n```\n# no\n[no](x)\n```\n## Twice\n## Twice\n"
        '[long\ntext](d.md) <img src="q.png">\n[r]: r.md\n',
        encoding="utf-8",
    )
    assert sorted(targets("page.md")) == ["b.md#c-d", "d.md", "p.png", "q.png", "r.md"]
    assert anchors("page.md") == {"a-name_--more", "twice", "twice-1"}
