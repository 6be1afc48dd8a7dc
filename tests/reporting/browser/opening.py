"""Documents opened in a browser, and what every test of them asks: no error, and no request that leaves the page."""

from contextlib import contextmanager

from lowdim.reporting.page import render

WIDE = {"width": 1280, "height": 900}

#: Violations of the policy are errors like any other; this tells which rule it was.
_TELL = "document.addEventListener('securitypolicyviolation', e => console.error(e.violatedDirective, e.sample))"


@contextmanager
def opened(browser, document, folder, *, errors=(), **options):
    """The page of a document, from a file. `errors`: beginnings of messages that are expected."""
    file = folder / "page.html"
    file.write_text(render(document), encoding="utf-8")
    context = browser.new_context(**{"viewport": WIDE, **options})
    page = context.new_page()
    problems, requests = [], []
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.add_init_script(_TELL)
    page.goto(file.as_uri())
    try:
        yield page
        assert [problem for problem in problems if not problem.startswith(tuple(errors) or "\0")] == []
        assert [url for url in requests if not url.startswith((file.as_uri(), "data:", "blob:"))] == []
    finally:
        context.close()


def draw_all(page):
    """Scroll through the page, so that all charts are drawn, and back to its beginning."""
    page.evaluate(
        """async () => {
            for (const chart of report.allCharts().filter(({div}) => div.offsetParent)) {
                chart.div.scrollIntoView({behavior: "instant", block: "center"});
                while (chart.stale) await new Promise(requestAnimationFrame);
            }
            scrollTo({top: 0, behavior: "instant"});
        }"""
    )


def wait_until(page, condition):
    """Wait until an expression of JavaScript is true. (Playwright's own function compiles text, which is forbidden.)"""
    page.evaluate(
        f"""async () => {{
            const end = performance.now() + 20_000;
            while (!({condition})) {{
                if (performance.now() > end) throw new Error("waited in vain");
                await new Promise(requestAnimationFrame);
            }}
        }}"""
    )


def figure(page, key):
    """The figure of a widget or chart, scrolled to and drawn."""
    found = page.locator(f"figure:has(#plot-{key})")
    plot = found.locator(f"#plot-{key}")
    plot.evaluate("div => div.scrollIntoView({behavior: 'instant', block: 'center'})")
    plot.locator(".main-svg").first.wait_for()
    return found


def settled(page, key):
    """What Plotly has drawn in a chart: its traces, as the page gave them, without the names of rows."""
    wait_until(page, f"!report.allCharts().find(({{div}}) => div.id === 'plot-{key}').stale")
    return page.evaluate(
        """key => document.getElementById(`plot-${key}`).data.filter(({mode}) => mode !== 'text')
            .map(({type, name, x, y, mode, selectedpoints}) => ({type, name, mode,
                x: Array.from(x ?? []), y: Array.from(y ?? []), selected: selectedpoints?.length}))""",
        key,
    )
