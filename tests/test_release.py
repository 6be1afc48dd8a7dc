"""What a release is made of: its description on an index, and the workflows that check and publish it."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

from release import site

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
CHECKS = [line for line in (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines() if line.startswith("make ")]


def workflow(name):
    text = (ROOT / ".github" / "workflows" / name).read_text(encoding="utf-8")
    # YAML 1.1 reads the key "on" as true.
    return {"on" if key is True else key: value for key, value in yaml.safe_load(text).items()}


def steps(job, of):
    return [step[of] for step in job["steps"] if of in step]


# ---- The workflows


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_asks_for_no_secret_and_may_only_read(path):
    text = path.read_text(encoding="utf-8")
    assert "secrets" not in text and "password" not in re.sub("#.*", "", text)
    read = workflow(path.name)
    assert read["permissions"] == {"contents": "read"}
    for job in read["jobs"].values():
        for used in steps(job, "uses") if "steps" in job else [job["uses"]]:
            assert used.startswith("./") or re.fullmatch(r"[\w./-]+@(v\d+|release/v\d+)", used), used


def test_checks_run_on_all_systems_with_the_oldest_and_the_newest_python():
    job = workflow("checks.yml")["jobs"]["checks"]
    systems, pythons = job["strategy"]["matrix"]["system"], job["strategy"]["matrix"]["python"]
    assert {system.split("-")[0] for system in systems} == {"ubuntu", "macos", "windows"}
    project = PYPROJECT["project"]
    listed = re.findall(r"Python :: (\d\.\d+)", "\n".join(project["classifiers"]))
    in_order = sorted(listed, key=lambda version: [int(part) for part in version.split(".")])
    assert pythons == [in_order[0], in_order[-1]]
    assert project["requires-python"] == f">={pythons[0]}"
    assert job["defaults"]["run"]["shell"] == "bash" and steps(job, "run")[-1] == "bash .ci/run"


def test_the_checks_are_targets_of_make():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.M))
    assert {line.removeprefix("make ") for line in CHECKS} <= targets
    tests = {"make test-all", "make test-oldest", "make test-spark", "make test-spark-oldest", "make test-torch"}
    assert tests | {"make lint", "make docs", "make dist"} == set(CHECKS)


def test_a_tag_is_published_after_all_checks_without_a_password():
    release = workflow("release.yml")
    assert release["on"] == {"push": {"tags": ["v*"]}}
    jobs = release["jobs"]
    assert (
        jobs["checks"]["uses"] == "./.github/workflows/checks.yml" and "workflow_call" in workflow("checks.yml")["on"]
    )
    assert "make dist" in steps(jobs["build"], "run")
    assert set(jobs["publish"]["needs"]) == {"checks", "build"}
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert not steps(jobs["publish"], "run")


def test_the_site_and_its_addresses_have_a_workflow():
    docs = workflow("docs.yml")
    run = [command for job in docs["jobs"].values() for command in steps(job, "run")]
    assert run == ["make docs", "make linkcheck"] and "schedule" in docs["on"]


# ---- The description on an index


def described(text):
    """The README as the archives have it."""
    for rule in PYPROJECT["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]["substitutions"]:
        text = re.sub(rule["pattern"], rule["replacement"], text)
    return text


def test_the_description_has_no_link_into_the_repository():
    text = described((ROOT / "README.md").read_text(encoding="utf-8"))
    prose = re.sub(r"(?ms)^```.*?^```", "", text)
    assert "lowdim" in prose
    for target in re.findall(r"\]\(([^)]*)\)", prose) + re.findall(r'(?:src|srcset|href)="([^"]*)"', prose):
        assert target.startswith(("https://", "#")), target


@pytest.mark.parametrize(
    "written, left",
    [
        ("see [the page](docs/page.md) on it", "see the page on it"),
        ("see [SPEC 0](https://scientific-python.org) and [below](#below)",) * 2,
        ("before\n\n![a map](docs/map.png)\n\n*The map,\nfrom `a.py`.*\n\nafter\n", "before\n\nafter\n"),
        ("before\n\n![a map](docs/map.png)\n\n**Bold** stays\n", "before\n\n**Bold** stays\n"),
        ('<p align="center">\n  <img src="docs/a.png" alt="a">\n</p>\n\nafter', "after"),
        ("<p>text</p>\n\n<picture><img src='docs/a.png'></picture>\n\nafter", "<p>text</p>\n\nafter"),
        ("[`a[0]`](docs/a.md)", "`a[0]`"),
    ],
)
def test_what_becomes_of_links_and_pictures(written, left):
    assert described(written) == left


# ---- What `make docs` checks of the site


def test_the_checker_of_the_site_finds_what_is_wrong(tmp_path, monkeypatch):
    docs, built = tmp_path / "docs", tmp_path / "built"
    docs.mkdir()
    (built / "_static").mkdir(parents=True)
    for name in ("index.md", "lost.rst"):
        (docs / name).touch()
    (built / "_static" / "template.html").write_text('<a href="{{ no address }}">', encoding="utf-8")
    (built / "a page.html").write_text('<h1 id="here"></h1>', encoding="utf-8")
    sound = (
        '<a href="a%20page.html#here"></a><a href="#top" id="top"></a><img src="data:," alt=""><a href="https://a.org">'
    )
    (built / "index.html").write_text(sound, encoding="utf-8")
    monkeypatch.setattr(site, "DOCS", docs)
    assert site.problems(built) == ["lost.rst has no page on the site."]
    wrong = '<a href="a%20page.html#there"></a><a href="gone.html"></a><img src="https://a.org/b.png">'
    (built / "index.html").write_text(wrong, encoding="utf-8")
    said = "\n".join(site.problems(built))
    assert "no such place" in said and "gone.html, which does not exist" in said and "from elsewhere" in said
    assert "without a description" in said and said.count("\n") == 4
