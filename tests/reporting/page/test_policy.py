"""The policy of the page: what it names, and what it leaves out."""

import base64
import hashlib

from lowdim.reporting.page import policy


def directives(text):
    return {part.split()[0]: part.split()[1:] for part in text.split("; ")}


def digest(text):
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def test_only_the_given_scripts_and_styles_are_allowed():
    found = directives(policy(["let a = 1;", "é"], "p {}", compiles=False))
    assert found["default-src"] == ["'none'"]
    assert found["script-src"] == [digest("let a = 1;"), digest("é")]
    assert found["style-src"] == [digest("p {}"), digest("")]
    assert found["base-uri"] == found["form-action"] == ["'none'"]
    assert "http" not in policy(["x"], "", compiles=True)


def test_compiling_is_allowed_only_on_request():
    strict, loose = (directives(policy(["x"], "", compiles=compiles)) for compiles in (False, True))
    assert loose["script-src"] == [*strict["script-src"], "'unsafe-eval'"]
    assert {**loose, "script-src": strict["script-src"]} == strict
