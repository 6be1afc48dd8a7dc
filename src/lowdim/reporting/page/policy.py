"""The Content-Security-Policy of the page: what the browser lets it do."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence


def policy(scripts: Sequence[str], style: str, *, compiles: bool) -> str:
    """A policy under which only these scripts and this style sheet run, and nothing is fetched or sent.

    A script is named by its hash, so text of the table that became a script by an error of ours would not run. Plotly
    makes empty style elements, which it fills by calls, and sets style attributes. With `compiles`, these scripts (and
    still no others) may compile text: Plotly makes functions of text, in which no text of the table is, to draw many
    points by WebGL.
    """
    allowed = [*map(_hash, scripts), *(["'unsafe-eval'"] if compiles else [])]
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src {' '.join(allowed)}",
            f"style-src {_hash(style)} {_hash('')}",
            "style-src-attr 'unsafe-inline'",
            "img-src data: blob:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}'"
