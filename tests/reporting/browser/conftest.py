"""A browser without a screen, one for each file of tests; the tests are skipped where there is none."""

import shutil

import pytest

#: WebGL is computed by the processor, since test machines have no graphics card. Root needs --no-sandbox.
ARGUMENTS = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"]


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright, which drives browsers, is missing")
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        pytest.skip("there is no Chromium or Chrome in which the page of a report could be opened")
    with playwright.sync_playwright() as driver:
        launched = driver.chromium.launch(executable_path=program, args=ARGUMENTS)
        yield launched
        launched.close()
