"""The site: every public name and every page has its place. `make docs` builds it, and makes errors of warnings."""

import importlib
import os
import re
import runpy
import tomllib
import types
from pathlib import Path

import pytest

import lowdim
from lowdim import errors
from public_names import public

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
#: Modules of lowdim whose public names have pages; `lowdim` itself offers most of the others.
NAMED = "densities errors features files inspect kernels onnx plot selection sklearn solvers summaries"
MODULES = ["lowdim", *(f"lowdim.{name}" for name in NAMED.split(" "))]


def api_names():
    """The names that the pages of the API list, in full, and the modules whose members one page describes."""
    names, whole = [], {}
    for page in sorted((DOCS / "api").glob("*.rst")):
        module, listing, excluding = None, False, None
        for line in page.read_text(encoding="utf-8").splitlines():
            indented = line.startswith(" ")
            if match := re.match(r"\.\. currentmodule:: (\S+)", line):
                module = match[1]
            elif match := re.match(r"\.\. automodule:: (\S+)", line):
                excluding = whole.setdefault(match[1], set())
            elif excluding is not None and indented:
                excluding.update(re.findall(r"[\w]+", line.replace(":exclude-members:", "").replace(":members:", "")))
            elif line.startswith(".. autosummary::"):
                listing = True
            elif listing and indented and not line.strip().startswith(":"):
                names.append(f"{module}.{line.strip()}")
            elif line and not indented:
                listing, excluding = False, None
    return names, whole


def value(name):
    module, _, last = name.rpartition(".")
    return getattr(importlib.import_module(module), last)


def file_name(name):
    return SETTINGS["autosummary_filename_map"].get(name, name)


NAMES, WHOLE = api_names()
SETTINGS = runpy.run_path(str(DOCS / "conf.py"))


def test_no_name_is_listed_twice_and_all_exist():
    assert len(NAMES) == len(set(NAMES))
    # Not all systems tell large and small letters in the names of files apart.
    assert len({file_name(name).lower() for name in NAMES}) == len(NAMES)
    for name in NAMES:
        value(name)


@pytest.mark.parametrize("name", MODULES)
def test_every_public_name_has_a_page(name):
    """Its own, or that of the same object under another name, such as lowdim.bootstrap for selection.bootstrap."""
    module = importlib.import_module(name)
    pages = {id(value(listed)) for listed in NAMES}
    for public_name in public(module):
        found = getattr(module, public_name)
        if isinstance(found, types.ModuleType):
            # The folders of solvers are entered through lowdim.solvers.
            assert found.__name__ in MODULES or found.__name__.startswith("lowdim.solvers.")
        elif name not in WHOLE or public_name in WHOLE[name]:
            assert id(found) in pages, f"{name}.{public_name}: list it on a page in docs/api"


#: Records that solvers hand to models, which nobody else meets.
BETWEEN_LAYERS = {"CanonicalFit", "KernelFit", "LatentFit", "PairFit", "Unmixing"}


@pytest.mark.parametrize("name", [name for name in MODULES if name != "lowdim.errors"])
def test_every_public_function_and_class_has_an_example(name):
    """All of them run, since src/lowdim is collected for doctests."""
    module = importlib.import_module(name)
    found = {public_name: getattr(module, public_name) for public_name in public(module)}
    without = [each for each, value in found.items() if callable(value) and ">>>" not in (value.__doc__ or "")]
    assert set(without) <= BETWEEN_LAYERS, f"{name}: write an example into the docstrings of {without}"


# ---- The table of contents


def entries(page):
    """The pages that the tables of contents of a page name, relative to docs/ and without suffix."""
    text = (DOCS / page).read_text(encoding="utf-8")
    listings = re.findall(r"^```\{toctree\}\n(.*?)^```", text, flags=re.M | re.S)
    listings += re.findall(r"^\.\. toctree::\n((?:^(?:[ ]+.*)?\n)*)", text, flags=re.M)
    found = [line.strip() for listing in listings for line in listing.splitlines()]
    return [os.path.normpath(os.path.join(os.path.dirname(page), line)) for line in found if line and line[0] != ":"]


def pages():
    return {
        path.relative_to(DOCS).as_posix()
        for suffix in ("md", "rst")
        for path in DOCS.rglob(f"*.{suffix}")
        if path.relative_to(DOCS).parts[0] not in ("generated", "_templates")
    }


def test_every_page_is_in_the_table_of_contents():
    written, reached, waiting = pages(), set(), ["index.md"]
    while waiting:
        page = waiting.pop()
        reached.add(page)
        for entry in entries(page):
            # The gallery and the page of all parameters are made while the site is built.
            if entry.startswith("generated"):
                assert entry in ("generated/gallery/index", "generated/parameters")
                continue
            named = [f"{entry}.{suffix}" for suffix in ("md", "rst") if f"{entry}.{suffix}" in written]
            assert len(named) == 1, f"{page} names {entry}, which is no page"
            assert named[0] not in reached, f"{entry} has two places in the table of contents"
            waiting += named
    assert reached == written


def linked(page):
    """The pages in docs/ that a page links to, directly or through the file that they include."""
    included = {}
    for path in DOCS.glob("*.md"):
        if match := re.match(r"```\{include\} (\S+)", path.read_text(encoding="utf-8")):
            included[(DOCS / match[1]).resolve()] = path.stem
    targets = re.findall(r"\]\(([^)#\s]+\.md)", (ROOT / page).read_text(encoding="utf-8"))
    files = [((ROOT / page).parent / target).resolve() for target in targets]
    return {included.get(file, file.stem) for file in files}


@pytest.mark.parametrize("page", ["methods", "guide", "project"])
def test_a_page_links_to_all_pages_below_it(page):
    assert set(entries(f"{page}.md")) <= linked(f"docs/{page}.md")


def test_the_readme_links_to_all_pages():
    lists = {"index", "methods", "guide", "project"}
    assert {path.stem for path in DOCS.glob("*.md")} - lists <= linked("README.md")


# ---- Links to names


def names_with_links():
    pattern = runpy.run_path(str(DOCS / "_extensions" / "repository_links.py"))["NAME"]
    for page in sorted(DOCS.glob("*.md")):
        for name, path in pattern.findall(page.read_text(encoding="utf-8")):
            yield page, name, path


def test_a_name_links_to_the_file_that_defines_it():
    linked = list(names_with_links())
    for page, name, path in linked:
        assert name in NAMES, f"{page.name}: {name} has no page in the API"
        last = name.rpartition(".")[2]
        defined = re.search(rf"^(?:class|def) {last}\b", (DOCS / path).read_text(encoding="utf-8"), flags=re.M)
        assert defined, f"{page.name}: {path} does not define {name}"
    # The page of a method has its model.
    models = [name for name in NAMES if name.count(".") == 1 and hasattr(value(name), "fit")]
    assert set(models) <= {name for _, name, _ in linked}


# ---- What pages repeat from elsewhere


def test_the_page_of_versions_has_the_bounds_of_pyproject():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    written = dict(re.findall(r"^\| ([\w-]+) \| ([\d.]+) \|", (DOCS / "versions.md").read_text(encoding="utf-8"), re.M))
    assert f">={written.pop('Python')}" == project["requires-python"]
    for extra in ("files", "zarr", "hdf5", "onnx", "report", "plot", "cli", "dask", "spark", None):
        for needed in project["dependencies"] if extra is None else project["optional-dependencies"][extra]:
            name, lowest = re.match(r"([\w-]+)(?:\[.*\])?>=([\d.]+)", needed).groups()
            assert written[name] == lowest, f"{name} in docs/versions.md"


def test_the_citation_is_that_of_this_version():
    for path in (ROOT / "CITATION.cff", DOCS / "citing.md"):
        assert lowdim.__version__ in path.read_text(encoding="utf-8")


def test_times_are_only_in_tables_that_a_command_writes():
    """Those of other pages would stay what they are when the code changes."""
    for page in [ROOT / "README.md", *DOCS.glob("*.md")]:
        text = page.read_text(encoding="utf-8")
        text = re.sub(r"<!-- (\S+): rewritten by .*?<!-- end of \1 -->", "", text, flags=re.S)
        text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
        assert not re.findall(r"\b\d[\d.,]* (?:us|ms|s)\b", text), page.name


# ---- Warnings and errors


def test_the_page_of_warnings_has_every_warning_and_every_exception():
    text = (DOCS / "warnings.md").read_text(encoding="utf-8")
    for name in errors.__all__:
        is_warning = issubclass(getattr(errors, name), Warning)
        entry = rf"^### {name}$" if is_warning else rf"^\| `{name}` \|"
        assert re.search(entry, text, flags=re.M), f"docs/warnings.md: say when {name} appears, and what to do"
        if is_warning:
            assert f"| [`{name}`](#{name.lower()}) |" in text, f"docs/warnings.md: list {name} in the first table"


# ---- The list of pages for programs


def test_the_list_for_programs_has_every_page_and_is_at_the_root_of_the_site():
    """The form is that of llms.txt: a title, a summary as a quotation, and sections that hold nothing but links."""
    assert SETTINGS["html_extra_path"] == ["llms.txt"]
    text = (DOCS / "llms.txt").read_text(encoding="utf-8")
    head, *sections = re.split(r"^## .+\n\n", text, flags=re.M)
    assert re.match(r"# lowdim\n\n> .+\n\n", head) and sections
    lines = [line for section in sections for line in section.strip().splitlines()]
    linked = [re.fullmatch(r"- \[.+\]\((\S+)\.html\): .+", line)[1] for line in lines]
    assert len(linked) == len(set(linked))
    assert {*linked} == {path.stem for path in DOCS.glob("*.md")} - {"index"} | {"api/index"}


# ---- The page of all parameters


def test_the_page_of_parameters_has_attributes_and_options(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    page = importlib.import_module("_extensions.parameters").page()
    parts = re.split(r"^(.+)\n-+\n", page, flags=re.M)
    text = dict(zip(parts[1::2], parts[2::2], strict=True))
    assert list(text) == ["Parameters", "Attributes", "Options of the commands"]
    assert "``n_resamples``" in text["Parameters"] and "``explained_variance_``" in text["Attributes"]
    assert "``--hue``" in text["Options of the commands"]
    # A few attributes have a name only in the docstrings of models, such as n_features_in_.
    without = re.findall(r"^``(\w+)``\n   - \(``", text["Parameters"] + text["Options of the commands"], flags=re.M)
    assert not without
