"""A document in which every name and cell tries to run, to end its element, or to break the layout."""

from lowdim import Table
from lowdim.reporting.blocks import Document, Download, Listing, Menu, Prose, Section, Widget
from reporting.browser.documents import bars, map_values, misfit_values, rebuilding_values

RUN = "window.hacked = 1"
NAMES = [
    f"<script>{RUN}</script>",
    f"</script><script>{RUN}</script>",
    f"<!-- <script> --><img src=x onerror='{RUN}'>",
    f'"><svg onload="{RUN}">',
    f"' onmouseover='{RUN}' x='",
    f'<a href="javascript:{RUN}">click</a>',
    f"</style><style>body {{display: none}}</style><b>{RUN}</b>",
    f"${{{RUN}}} `{RUN}` {{{{ 7 * 7 }}}} {{% raw %}}",
    "%{x} %{text} <extra>extra</extra> $x^2$",
    "line\u2028break\u2029\r\n\ttab",
    "nul\0byte \x1b[31m \ufeff",
    "x" * 10_000,
    "long words " * 900,
    "\u202eright to left\u202c \u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627",
    "\U0001f469\u200d\U0001f52c \U0001f600 e\u0301 \ud83d lone",
    "=cmd|' /C calc'!A0",
    "+1+1",
    "@SUM(A1)",
    "&lt;b&gt; &amp;amp; &#x3c;",
    "",
    " ",
    "__proto__",
    "constructor",
]


def hostile():
    n = len(NAMES)
    values = map_values(150, columns=NAMES, names=NAMES)
    values |= {"labels": [NAMES[i % n] for i in range(150)], "note": NAMES[0]}
    values["groups"][0]["name"] = NAMES[1]
    for j, component in enumerate(values["components"]):
        component["name"] = component["title"] = NAMES[j]
    misfits = misfit_values()
    misfits["labels"] = [NAMES[i % n] for i in range(150)]
    misfits["explained"] = [
        {"point": i, "t2": [[name, 1.0] for name in NAMES], "q": [[name, 1.0] for name in NAMES]} for i in (0, 1)
    ]
    rows, picture = rebuilding_values(rows=n), rebuilding_values((4, 4), rows=n)
    rows["labels"] = picture["labels"] = NAMES
    rows["columns"] = NAMES[:8]
    table = Table({name: NAMES for name in NAMES[:12]}, NAMES, title=NAMES[1], notes=NAMES, row_name=NAMES[2])
    blocks = [
        *(Prose(name) for name in NAMES),
        Listing(table),
        bars("bars", NAMES, NAMES[3]),
        Menu("menu", NAMES[4], {name: bars(f"bars-{i}", NAMES, name) for i, name in enumerate(NAMES[:3])}),
        Widget("rows", "map", NAMES[5], NAMES[6], values, table, caption=NAMES[7]),
        Widget("misfit", "misfits", NAMES[5], NAMES[6], misfits),
        Widget("row", "rebuilding", NAMES[5], NAMES[6], rows),
        Widget("picture", "rebuilding", NAMES[5], NAMES[6], picture),
    ]
    sections = [Section("all", NAMES[1], NAMES[2], blocks), *(Section(f"s{i}", x, x, []) for i, x in enumerate(NAMES))]
    downloads = [Download(name, b"content", name) for name in NAMES]
    return Document(NAMES[1], "".join(NAMES[:5]), sections, NAMES, downloads, NAMES[3])
