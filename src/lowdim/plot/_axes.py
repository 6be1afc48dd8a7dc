"""What all plots share: axes to draw on, colours of the user's style, and notes on what a picture leaves out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import missing_extra, needs_axes_in_3d

#: At most this many points are drawn; of more rows, so many are taken at random.
MOST_POINTS = 10_000
#: With more points than this, they are smaller and transparent, and vector files hold them as an image.
MANY_POINTS = 1_000
#: Shapes of points beside their colours, for print and for readers who do not see all colours.
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">")


def make_axes(ax: Any, *, projection: str | None = None, size: tuple[float, float] | None = None) -> Any:
    """`ax`, or axes of a new figure if it is None. `size` multiplies the default width and height of the figure."""
    matplotlib = require_matplotlib()
    if ax is not None:
        if projection == "3d" and getattr(ax, "name", "") != "3d":
            raise needs_axes_in_3d()
        return ax
    import matplotlib.pyplot as plt

    width, height = matplotlib.rcParams["figure.figsize"]
    factors = size or (1.0, 1.0)
    # Long labels need room. Axes in three dimensions do not take part in this layout.
    layout = None if projection == "3d" else "constrained"
    figure = plt.figure(figsize=(width * factors[0], height * factors[1]), layout=layout)
    return figure.add_subplot(projection=projection)


def require_matplotlib() -> Any:
    """The module matplotlib; an error that says what to install if it is missing."""
    try:
        import matplotlib
    except ModuleNotFoundError as error:
        raise missing_extra("lowdim.plot", "matplotlib", "plot") from error
    return matplotlib


def style(name: str) -> Any:
    """A setting of the user's style, such as "text.color"."""
    return require_matplotlib().rcParams[name]


def foreground() -> Any:
    """The colour of text and of lines that belong to no group."""
    return style("text.color")


def background() -> Any:
    """The colour behind the points."""
    return style("axes.facecolor")


def color(i: int) -> str:
    """Colour i of the user's cycle; it starts again after the last one."""
    return f"C{i}"


def marker(i: int) -> str:
    """Marker i; it starts again after the last one."""
    return MARKERS[i % len(MARKERS)]


def hatched(lines: Any) -> dict[str, Any]:
    """The look of bars with slanted lines of this colour, which tells them from others in print."""
    return {"hatch": "///", "edgecolor": lines, "linewidth": 0.0}


def readable_on(colors: np.ndarray) -> list[Any]:
    """For each colour of a cell, the text colour or the background colour of the style, whichever differs more."""
    from matplotlib.colors import to_rgb

    choices = [foreground(), background()]
    brightness = np.array([_luminance(np.array(to_rgb(choice))) for choice in choices])
    of_cells = np.array([_luminance(cell[:3]) for cell in np.asarray(colors).reshape(-1, np.shape(colors)[-1])])
    better = np.argmax(np.abs(brightness[None, :] - of_cells[:, None]), axis=1)
    return [choices[i] for i in better]


def _luminance(rgb: np.ndarray) -> float:
    """The perceived brightness of a colour, from 0 to 1."""
    return float(np.sqrt(np.dot(rgb**2, [0.299, 0.587, 0.114])))


def thinned(n: int, keep: Sequence[int] | np.ndarray = (), most: int = MOST_POINTS) -> np.ndarray:
    """The rows that are drawn of n: all, or `most` of them at random (always the same ones), with those in `keep`.

    If `keep` has more than half of `most`, only its first ones are certain to be there.
    """
    if n <= most:
        return np.arange(n)
    certain = np.asarray(keep, dtype=int)[: most // 2]
    drawn = np.random.default_rng(0).choice(n, size=most, replace=False)
    drawn = drawn[~np.isin(drawn, certain)][: most - len(certain)]
    return np.sort(np.concatenate([certain, drawn]))


def thinning_note(shown: int, n: int) -> list[str]:
    """What is said if only some rows are drawn."""
    return [] if shown == n else [f"{shown:,} of {n:,} rows, drawn at random"]


def columns_note(shown: int, p: int, why: str) -> list[str]:
    """What is said if only some columns are drawn."""
    return [] if shown == p else [f"{shown:,} of {p:,} columns, {why}"]


def labels_note(placed: int, n: int) -> list[str]:
    """What is said if only some labels are written."""
    return [] if placed == n else [f"{placed:,} of {n:,} labels fit"]


def note(ax: Any, remarks: Sequence[str], *, above: float = 0.0) -> None:
    """Remarks on what the picture leaves out, in small letters above the right end of the axes, where no data are.

    `above` leaves room for so many lines between them and the axes.
    """
    if remarks:
        pad = style("axes.titlepad") + above * style("font.size")
        ax.set_title("; ".join(remarks), loc="right", fontsize="small", pad=pad)


def point_style(n: int) -> dict[str, Any]:
    """Size and transparency for n points: smaller and fainter ones if there are many."""
    size = style("lines.markersize") ** 2
    if n <= 100:
        return {"s": size}
    if n <= MANY_POINTS:
        return {"s": size / 2, "alpha": 0.8}
    return {"s": size / 6, "alpha": 0.5, "linewidths": 0, "rasterized": True}


def zero_lines(ax: Any, *, horizontal: bool = True, vertical: bool = True) -> None:
    """Thin lines through the origin, behind everything else."""
    look = {"color": foreground(), "alpha": 0.25, "linewidth": style("grid.linewidth"), "zorder": 0}
    if horizontal:
        ax.axhline(0.0, **look)
    if vertical:
        ax.axvline(0.0, **look)


def reference_line(ax: Any, value: float, *, vertical: bool = False, **look: Any) -> Any:
    """A dashed line at a limit or a threshold."""
    look = {"color": foreground(), "linestyle": "--", "linewidth": 1.0, "zorder": 1, **look}
    return (ax.axvline if vertical else ax.axhline)(value, **look)


def whole_ticks(axis: Any) -> None:
    """Ticks at whole numbers only, as for numbers of components."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
