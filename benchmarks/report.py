"""How long a report takes beside the fits that it needs, how large it is, and how fast its map moves.

`python -m benchmarks.report` prints the table of benchmarks/README.md. A frame is timed in Chromium without a GPU,
while the map is dragged; without playwright or a browser these columns are left out.
"""

from __future__ import annotations

import shutil
import statistics
import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np
from sklearn.datasets import load_digits, load_iris

import lowdim

ROUNDS = 3
#: How many rows the report compares kernel PCA and ICA on, and in how many folds it judges ICA.
COMPARED, FOLDS = 1500, 5


def tables():
    """Tables by name, with the labels of their rows."""
    for name, data in (("iris", load_iris()), ("digits", load_digits())):
        yield name, data.data, data.target
    random = np.random.default_rng(0)
    groups = random.integers(0, 5, 100_000)
    centres, loadings = 2.0 * random.normal(size=(5, 6)), random.normal(size=(6, 50))
    rows = (centres[groups] + random.normal(size=(100_000, 6))) @ loadings + random.normal(size=(100_000, 50))
    yield "100,000 x 50", rows, groups


def fits(X, k):
    """The fits, rules, intervals and maps of the report, by the functions that users would call."""
    lowdim.choose_n_components(X)
    full = lowdim.PCA(min(50, min(X.shape))).fit(X)
    full.transform(X)
    lowdim.inspect.diagnose(lowdim.PCA(k).fit(X), X)
    lowdim.bootstrap(lowdim.PCA(k), X, n_resamples=200, random_state=0)
    some = X[np.random.default_rng(0).permutation(len(X))[:COMPARED]]
    width = lowdim.selection.choose_width(some, 2, random_state=0)
    lowdim.KernelPCA(2, kernel=width.kernel).fit_transform(some)
    for _ in range(1 + FOLDS):
        lowdim.ICA(min(max(k, 2), 8), random_state=0).fit(some)


def seconds(function):
    times = []
    for _ in range(ROUNDS):
        start = perf_counter()
        function()
        times.append(perf_counter() - start)
    return statistics.median(times)


def frames(path):
    """Milliseconds between frames while the map is dragged: the median and the 90th percentile."""
    from playwright.sync_api import sync_playwright

    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    flags = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=flags)
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(path.as_uri())
        page.locator("#plot-map").scroll_into_view_if_needed()
        page.wait_for_timeout(3000)
        page.evaluate("Plotly.relayout('plot-map', {dragmode: 'pan'})")
        page.wait_for_timeout(1000)
        box = page.locator("#plot-map .nsewdrag").first.bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x + 5, y + 5)
        page.wait_for_timeout(500)
        page.evaluate(
            "window.times = []; window.next = (t) => { times.push(t); requestAnimationFrame(next); };"
            "requestAnimationFrame(next)"
        )
        for i in range(60):
            page.mouse.move(x + 5 + 2 * i, y + 5 + i)
        between = np.diff(page.evaluate("times"))
        page.mouse.up()
        browser.close()
    return np.median(between), np.quantile(between, 0.9)


def main():
    print("| table | the fits | the report | ratio | size | a frame, median and 90% |")
    print("| --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        for name, X, labels in tables():
            path = Path(folder) / "report.html"

            def write(X=X, labels=labels, path=path):
                return lowdim.report(X, path, hue=labels, overwrite=True)

            k = int(write().model.n_components_)
            needed, taken = seconds(lambda X=X, k=k: fits(X, k)), seconds(write)
            try:
                shown = "{:.0f} ms, {:.0f} ms".format(*frames(path))
            except ImportError:
                shown = ""
            size = path.stat().st_size / 1e6
            print(f"| {name} | {needed:.2f} s | {taken:.2f} s | {taken / needed:.2f} | {size:.1f} MB | {shown} |")


if __name__ == "__main__":
    main()
