"""Formulas as TeX, which KaTeX typesets in the browser. It is in docs/_static/katex: the site needs no network."""

from __future__ import annotations

from html import escape
from typing import Any


def _write(translator: Any, node: Any, tag: str, style: str) -> None:
    """Write the formula into an element that `formulas.js` finds, and nothing else."""
    from docutils.nodes import SkipNode

    start = translator.starttag(node, tag, "", CLASS=f"{style} notranslate nohighlight")
    translator.body.append(f"{start}{escape(node.astext())}</{tag}>")
    raise SkipNode


def _inline(translator: Any, node: Any) -> None:
    _write(translator, node, "span", "math")


def _display(translator: Any, node: Any) -> None:
    _write(translator, node, "div", "math display")


def setup(app: Any) -> dict[str, bool]:
    """Register the renderer and what pages load for it."""
    app.add_html_math_renderer("katex", (_inline, None), (_display, None))
    app.add_css_file("katex/katex.min.css")
    app.add_js_file("katex/katex.min.js", loading_method="defer")
    app.add_js_file("formulas.js", loading_method="defer")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
