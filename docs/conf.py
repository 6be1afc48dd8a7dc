"""Settings of Sphinx. `make docs` builds the site into build/docs; nothing is downloaded while it is built."""

import sys
from pathlib import Path

from lowdim import __version__

sys.path.insert(0, str(Path(__file__).parent))

project = "lowdim"
author = "the lowdim developers"
copyright = "the lowdim developers"
release = version = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "_extensions.api_pages",
    "_extensions.gallery_groups",
    "_extensions.katex_math",
    "_extensions.parameters",
    "_extensions.plain_docstrings",
    "_extensions.repository_links",
    "_extensions.trimmed_code",
]
exclude_patterns = ["_extensions", "_templates"]
templates_path = ["_templates"]

# References that lead nowhere are warnings, and `make docs` makes errors of warnings.
nitpicky = True

# Pages are written in Markdown as the forge shows it, where headings are targets of links.
myst_heading_anchors = 4
myst_enable_extensions = ["deflist", "dollarmath"]
# Formulas are typeset by KaTeX, which is part of the site.
html_math_renderer = "katex"

# Docstrings give the types of parameters in words, so annotations need not be repeated.
autodoc_typehints = "none"
autodoc_member_order = "groupwise"
autosummary_generate = True
# These pages would be the same files as those of classes where large and small letters are not told apart.
autosummary_filename_map = {
    "lowdim.sklearn.fastica": "lowdim.sklearn.fastica_function",
    "lowdim.inspect.groups": "lowdim.inspect.groups_function",
    "lowdim.inspect.supplementary": "lowdim.inspect.supplementary_function",
}
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
default_role = "code"

sphinx_gallery_conf = {
    "examples_dirs": ["../gallery"],
    "gallery_dirs": ["generated/gallery"],
    "filename_pattern": r"[/\\]plot_",
    "within_subsection_order": "_extensions.gallery_groups.ByGroup",
    "download_all_examples": False,
    "image_scrapers": ("_extensions.alt_texts.described_figures",),
    "show_memory": False,
    "write_computation_times": False,
    "show_signature": False,
    "remove_config_comments": True,
    "min_reported_time": 1,
    "image_srcset": ["2x"],
    # The last expression of a block is not printed: scripts print what they show.
    "capture_repr": (),
    # A script that fails fails the build.
    "abort_on_example_error": False,
    "only_warn_on_example_error": False,
}

html_theme = "pydata_sphinx_theme"
html_title = "lowdim"
html_static_path = ["_static"]
# A list of all pages for programs that read them, at the root of the site.
html_extra_path = ["llms.txt"]
html_css_files = ["lowdim.css"]
html_show_sourcelink = False
html_copy_source = False
# Pages without pages below them have nothing to show at their left.
html_sidebars = {"index": [], "start": [], "why": [], "which_method": []}
html_theme_options = {
    "logo": {"text": "lowdim"},
    "show_prev_next": True,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    # A field for searching would not fit beside the titles; the button opens one.
    "navbar_persistent": ["search-button"],
    "header_links_before_dropdown": 8,
}
html_context = {"default_mode": "auto"}
