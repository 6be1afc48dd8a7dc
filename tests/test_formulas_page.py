"""Every entry of docs/formulas.md has a formula, a sentence with a link, and a test of the same name."""

import re
from collections import Counter
from pathlib import Path

TESTS = Path(__file__).parent
PAGE = (TESTS.parent / "docs" / "formulas.md").read_text(encoding="utf-8")
#: The text of each entry by its heading.
ENTRIES = dict(re.findall(r"^### ([^\n]+)\n\n(.*?)(?=^##|\Z)", PAGE, flags=re.M | re.S))


def function_for(heading):
    """Rubin's rules -> test_rubins_rules."""
    return "test_" + re.sub(r"[^a-z0-9]+", "_", heading.replace("'", "").lower()).strip("_")


def functions(paths):
    """The names of the test functions in these files, without importing them."""
    return [name for path in paths for name in re.findall(r"^def (test_\w+)", path.read_text(encoding="utf-8"), re.M)]


def test_entries_have_names_of_their_own():
    headings = re.findall(r"^### (.+)$", PAGE, flags=re.M)
    assert len(headings) == len(ENTRIES) > 100
    assert not [name for name, times in Counter(map(function_for, headings)).items() if times > 1]


def test_every_entry_has_a_test():
    found = set(functions(TESTS.rglob("test_*.py")))
    missing = [heading for heading in ENTRIES if function_for(heading) not in found]
    assert not missing, f"no test is named after these entries of docs/formulas.md: {missing}"


def test_every_formula_that_is_tested_has_an_entry():
    tested = functions((TESTS / "truth").glob("test_formulas_*.py"))
    known = {function_for(heading) for heading in ENTRIES}
    missing = [name for name in tested if name not in known]
    assert not missing, f"docs/formulas.md has no entry for {missing}"


def test_every_entry_has_a_formula_and_a_sentence_with_a_link():
    for heading, text in ENTRIES.items():
        formula, _, words = text.partition("\n\n")
        assert formula.startswith("$$\n") and formula.endswith("\n$$"), heading
        sentence = words.partition("```")[0]
        assert re.match(r"[^(].*\]\([\w./#-]+\)", sentence, flags=re.S), heading
