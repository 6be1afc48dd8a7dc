"""What all plots share: axes, colours, names and labels as text, and what a plot needs to know of a model."""

from __future__ import annotations

import numbers
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import lru_cache, wraps
from typing import TYPE_CHECKING, Any, Concatenate, TypeAlias
from unicodedata import category

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .. import inspect
from .._core.arrays import Array, concat_rows, dense, to_numpy
from ..errors import missing_extra, with_present_names
from ..inspect.tables import chosen_component as chosen_component
from ..inspect.tables import position_among as position_among
from ..models.output import P, R
from ..sources.base import Source
from ..sources.opening import open_source
from ..table import clean, cut

if TYPE_CHECKING:
    from ..models.base import Model
    from ..selection import Choices, CrossValidation

    #: What plots show; each of them refuses models of other kinds.
    Shown: TypeAlias = Model | Choices | CrossValidation

# Axes to draw on, colours of the user's style, and notes on what a picture leaves out.


#: At most this many points are drawn; of more rows, so many are taken at random.
MOST_POINTS = 10_000
#: With more points than this, they are smaller and transparent, and vector files hold them as an image.
MANY_POINTS = 1_000
#: Shapes of points beside their colours, for print and for readers who do not see all colours.
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">")
#: Slanted lines on bars, which tell them from others in print.
HATCHED: dict[str, Any] = {"hatch": "///", "linewidth": 0.0}


def make_axes(ax: Any, *, projection: str | None = None, size: tuple[float, float] = (1.0, 1.0)) -> Any:
    """`ax`, or axes of a new figure if it is None. `size` multiplies the default width and height of the figure."""
    width, height = style("figure.figsize")
    if ax is None:
        import matplotlib.pyplot as plt

        # Long labels need room. Axes in three dimensions do not take part in this layout.
        layout = None if projection == "3d" else "constrained"
        figure = plt.figure(figsize=(width * size[0], height * size[1]), layout=layout)
        return figure.add_subplot(projection=projection)
    if projection == "3d" and getattr(ax, "name", "") != "3d":
        raise ValueError(
            "three components need axes with three dimensions; make them with "
            'plt.subplots(subplot_kw={"projection": "3d"}), or leave out ax.'
        )
    return ax


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


def series(i: int) -> dict[str, Any]:
    """The colour and the marker of group i. When the colours of the style start again, the markers are others, so that
    ten times as many groups as there are colours differ."""
    n_colors = len(style("axes.prop_cycle").by_key().get("color", "0"))
    return {"color": f"C{i}", "marker": MARKERS[(i % n_colors + i // n_colors) % len(MARKERS)]}


def readable_on(colors: np.ndarray) -> list[Any]:
    """For each colour of a cell, the text colour or the background colour of the style, whichever differs more."""
    from matplotlib.colors import to_rgb

    def brightness(color: Any) -> float:
        """How bright a colour is perceived, from 0 to 1."""
        return float(np.sqrt(np.dot(np.asarray(to_rgb(color)) ** 2, [0.299, 0.587, 0.114])))

    choices = [foreground(), style("axes.facecolor")]
    known = np.array([brightness(color) for color in choices])
    return [choices[np.argmax(np.abs(known - brightness(color)))] for color in colors]


def thinned(n: int, keep: Sequence[int] | np.ndarray = ()) -> np.ndarray:
    """The rows that are drawn of n: all, or 10,000 of them at random (always the same ones), with those in `keep`.

    If `keep` has more than 5,000, only its first ones are certain to be there.
    """
    if n <= MOST_POINTS:
        return np.arange(n)
    certain = np.asarray(keep, dtype=int)[: MOST_POINTS // 2]
    drawn = np.random.default_rng(0).choice(n, size=MOST_POINTS, replace=False)
    drawn = drawn[~np.isin(drawn, certain)][: MOST_POINTS - len(certain)]
    return np.sort(np.concatenate([certain, drawn]))


def some_of(shown: int, n: int, what: str = "rows, drawn at random") -> list[str]:
    """What `note` says if only some of n things are shown."""
    return [] if shown == n else [f"{shown:,} of {n:,} {what}"]


def note(ax: Any, remarks: Sequence[str], *, above: float = 0.0) -> None:
    """Remarks on what the picture leaves out, in small letters above the right end of the axes, where no data are.

    `above` leaves room for so many lines between them and the axes.
    """
    if remarks:
        pad = style("axes.titlepad") + above * style("font.size")
        # A small letter is about half as wide as the font is large.
        wide = ax.get_window_extent().x1 / ax.figure.figure.dpi * 72.0 / (0.45 * style("font.size"))
        lines = textwrap.wrap("; ".join(remarks), max(int(wide), 30))
        ax.set_title("\n".join(lines), loc="right", fontsize="small", pad=pad)


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


def reference_line(ax: Any, value: float, *, vertical: bool = False) -> None:
    """A dashed line at a limit or a threshold."""
    draw = ax.axvline if vertical else ax.axhline
    draw(value, color=foreground(), linestyle="--", linewidth=1.0, zorder=1)


def same_unit(ax: Any) -> None:
    """Give both axes the same unit. Their limits are fixed then, and the shorter axis is widened to fill its place."""
    ax.figure.figure.draw_without_rendering()
    limits = [ax.get_xlim(), ax.get_ylim()]
    sides = ax.get_window_extent().size
    unit = max((high - low) / side for (low, high), side in zip(limits, sides, strict=True))
    middle = [(low + high) / 2 for low, high in limits]
    (x, y), (across, up) = middle, unit * sides / 2
    ax.set(xlim=(x - across, x + across), ylim=(y - up, y + up), aspect="equal")


def whole_ticks(axis: Any) -> None:
    """Ticks at whole numbers only, as for numbers of components."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))


# The decorator of plots: for which models a plot is meant, and the error for others.


def shows(
    what: str, fits: Callable[[Any], bool]
) -> Callable[[Callable[Concatenate[Any, P], R]], Callable[Concatenate[Shown, P], R]]:
    """A plot of `what` (a noun) for the fitted models for which `fits` is true; it becomes an attribute of the plot.

    The plot refuses others, and models that are not fitted, before it draws.
    """

    def decorate(function: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Shown, P], R]:
        function = with_present_names(function)  # type: ignore[assignment] # the name of the first argument is lost

        @wraps(function)
        def plot(model: Any, *args: P.args, **options: P.kwargs) -> R:
            if hasattr(model, "fit"):
                check_is_fitted(model)
            if not fits(model):
                raise TypeError(
                    f"plot.{function.__name__} shows {what}, and {type(model).__name__} has none. Printing model.plot "
                    "lists what fits a model."
                )
            return function(model, *args, **options)

        plot.fits = fits  # type: ignore[attr-defined]
        return plot  # type: ignore[return-value] # the name of the first argument is lost

    return decorate


def has(*attributes: str) -> Callable[[Any], bool]:
    """Whether a model has all of these attributes, and none of them is None."""
    return lambda model: all(getattr(model, name, None) is not None for name in attributes)


# What plots need to know of a fitted model: names of its components and columns, and scores of rows.


def numbers_of(values: Any) -> np.ndarray:
    """Numbers of any array library or data frame as a NumPy array of floats."""
    native = values.to_numpy() if hasattr(values, "to_numpy") else to_numpy(values)
    return np.asarray(native, dtype=float)


def chosen_components(model: Any, components: Any, default: int, allowed: str = "") -> list[int]:
    """Positions of components, from 0, that are given by numbers from 1 or by names; None for the first ones.

    `allowed` says how many there may be, such as "one or two"; by default any number.
    """
    if components is None:
        chosen = list(range(min(default, len(model.component_names_))))
    else:
        given = [components] if isinstance(components, str | numbers.Integral) else list(components)
        chosen = [chosen_component(model, component) for component in given]
    known = {1: "one", 2: "two", 3: "three"}
    if allowed and known.get(len(chosen), "-") not in allowed:
        raise ValueError(
            f"{len(chosen)} components were chosen, and this picture shows {allowed}; pass components=(1, 2)."
        )
    return chosen


def axis_label(model: Any, k: int) -> str:
    """The name of component k, with its share of the variance if that is known."""
    name = model.component_names_[k]
    shares = getattr(model, "explained_variance_ratio_", None)
    return name if shares is None else f"{name} ({float(shares[k]):.1%})"


def read_rows(model: Any, X: Any, most: int | None = None) -> Array:
    """The rows as one array of their own library, all of them or the first `most`; one pass over what is needed."""
    source = open_source(X, model._wanted())
    blocks: list[Array] = []
    for block in source.blocks(1 << 16 if most is None else most):
        blocks.append(dense(block))
        if most is not None and sum(block.shape[0] for block in blocks) >= most:
            break
    return concat_rows(blocks)[:most, :]


def named_rows(model: Any, rows: Array) -> Source:
    """Rows that were computed, with the names of columns that the model expects."""
    source = open_source(rows)
    source.names = model._wanted()
    return source


def scores_of(model: Any, X: Any) -> np.ndarray:
    """The scores of the rows as NumPy floats; of several tables, those of the first."""
    return inspect.scores(model, X).values[:, : int(model.n_components_)]


# Names and labels of the user as text in a picture: shown literally, on one line, and not too long.


#: Labels with more characters are cut.
WIDEST = 24
#: Dollar signs in a label are no mathematics, and it is no TeX source.
LITERAL: dict[str, Any] = {"parse_math": False, "usetex": False}


def label(text: Any, width: int = WIDEST) -> str:
    """A label on one line, cut to `width` characters.

    Characters for which the fonts of the style have no picture are written as their code, as in <U+1F600>: boxes would
    make different labels look alike, and matplotlib would warn of each.
    """
    shown = cut(clean(str(text)), width)
    if shown.isascii():
        return shown
    known = _characters(tuple(style("font.family")))
    # Characters that join others, or choose their form, have no picture of their own.
    visible = [c for c in shown if category(c) != "Cf" and not "\ufe00" <= c <= "\ufe0f"]
    return "".join(c if ord(c) in known else f"<U+{ord(c):04X}>" for c in visible)


def distinct(texts: Sequence[Any], width: int = WIDEST) -> list[str]:
    """Texts cut to `width` characters. Those that would be the same then are cut in the middle instead of at the end,
    so that the ends of long names of one beginning can be read."""
    whole = [clean(str(text)) for text in texts]
    short = [cut(text, width) for text in whole]
    counts, head = Counter(short), (width - 1) // 3
    return [
        f"{text[:head]}…{text[head + 1 - width :]}" if counts[part] > 1 and len(text) > width else part
        for text, part in zip(whole, short, strict=True)
    ]


@lru_cache(maxsize=8)
def _characters(families: tuple[str, ...]) -> frozenset[int]:
    """The codes of the characters that the fonts of these families have."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    paths = {findfont(FontProperties(family=list(families)))}
    for family in families[1:]:
        # Matplotlib does without families that are not installed.
        with suppress(ValueError):
            paths.add(findfont(FontProperties(family=[family]), fallback_to_default=False))
    return frozenset(code for path in paths for code in get_font(path).get_charmap())


def name_axes(ax: Any, names: Iterable[Any]) -> None:
    """Names of the first axes, from the horizontal one on."""
    for axis, name in zip("xyz", names, strict=False):
        getattr(ax, f"set_{axis}label")(label(name, 40), **LITERAL)


def tick_labels(axis: Any, positions: Iterable[float], texts: Sequence[Any], **look: Any) -> None:
    """Ticks of an axis at these positions, with labels."""
    axis.set_ticks(list(positions), [label(text) for text in texts], **LITERAL, **look)


def column_ticks(axis: Any, texts: Sequence[Any], positions: Iterable[float] | None = None) -> None:
    """Ticks at 0, 1, ..., or at other positions, with the names of columns or components.

    Many are smaller, and on a horizontal axis they are slanted if they are long.
    """
    n = len(texts)
    crowded = axis.axis_name == "x" and sum(len(label(text)) for text in texts) > 60
    look: dict[str, Any] = {"rotation": 40, "ha": "right", "rotation_mode": "anchor"} if crowded else {}
    look["fontsize"] = "medium" if n <= 12 else "small" if n <= 20 else "x-small"
    tick_labels(axis, range(n) if positions is None else positions, texts, **look)


#: A legend has at most this many entries.
MOST_IN_LEGEND = 12


def legend(ax: Any, most: int = MOST_IN_LEGEND, **look: Any) -> Any:
    """The legend of what has a label, by default where it covers least. Of more than `most` entries, the first ones are
    shown, and a last line tells how many there are beside them."""
    handles, texts = ax.get_legend_handles_labels()
    if not handles:
        return None
    if len(handles) > most:
        from matplotlib.lines import Line2D

        rest = len(handles) - most
        handles, texts = [*handles[:most], Line2D([], [], linestyle="none")], [*texts[:most], f"... {rest:,} more"]
    # Small points have samples of the usual size.
    sizes = [handle.get_sizes()[0] for handle in handles if hasattr(handle, "get_sizes") and len(handle.get_sizes())]
    larger = max(1.0, style("lines.markersize") / min(sizes) ** 0.5) if sizes else 1.0
    box = ax.legend(handles, texts, **{"fontsize": "small", "markerscale": larger, "loc": "best", **look})
    box.set_gid(look.get("loc", "best"))
    for text in box.get_texts():
        text.set(**LITERAL)
    return box


def legend_label(text: Any) -> str:
    """A label for a legend. Matplotlib leaves out labels that start with an underscore, so these start with a blank."""
    shown = label(text)
    return f" {shown}" if shown.startswith("_") or not shown else shown


# Labels beside points that do not cover one another: each takes the first free place around its point.


#: At most this many labels are tried.
MOST_LABELS = 200
#: Directions from a point to its label, in the order in which they are tried.
_DIRECTIONS = ((1, 1), (1, -1), (-1, 1), (-1, -1), (1, 0), (-1, 0), (0, 1), (0, -1))
#: Distances between a point and its label, in points of 1/72 inch. The last one is only for labels that must be found:
#: labels of many rows with long lines would be hard to read.
_DISTANCES = (4.0, 9.0, 16.0, 26.0, 40.0)
#: How a label in each direction is aligned, horizontally and vertically.
SIDES = ({1: "left", 0: "center", -1: "right"}, {1: "bottom", 0: "center", -1: "top"})
#: The gap between two labels, in pixels.
_GAP = 2.0


def place_labels(
    ax: Any,
    points: np.ndarray,
    texts: Sequence[Any],
    *,
    order: np.ndarray | None = None,
    obstacles: np.ndarray | None = None,
    outward: bool = False,
    sure: bool = False,
    slanted: Sequence[bool] | None = None,
    halo: bool = False,
    **look: Any,
) -> int:
    """Write `texts` beside `points`, in the coordinates of the axes, whose limits must be final.

    Parameters
    ----------
    ax : Axes
    points : array of shape (n, 2)
    texts : sequence of n labels
    order : array of int, optional
        The points in the order in which they get their labels; by default those far from the middle come first, or
        with `outward` those far from the origin.
    obstacles : array of shape (m, 2), optional
        Other points that labels should not cover.
    outward : bool
        For names of arrows: places away from the origin are tried first.
    sure : bool
        Whether a label that covers a point, or is far from its own, is better than none; so it is for names of arrows.
    slanted : sequence of bool, optional
        Which labels are slanted, for what did not take part in a fit.
    halo : bool
        Whether labels have a rim in the colour of the background, so that they can be read over other points.

    Returns
    -------
    int
        How many labels found a place. The others are left out.

    Notes
    -----
    A place is free if the label is within the axes and covers no point and no other label. The work is proportional to
    the number of labels times the number of points.
    """
    points, sure = np.asarray(points, dtype=float), sure or outward
    if order is None:
        order = np.argsort(-np.sum(points**2, axis=1), kind="stable") if outward else _from_outside(points)
    figure = ax.figure.figure
    # This computes the layout, without which the size of the axes in pixels is not known.
    figure.draw_without_rendering()
    pixels = figure.dpi / 72.0
    everything = points if obstacles is None else np.vstack([points, obstacles])
    on_screen, origin = ax.transData.transform(everything), ax.transData.transform((0.0, 0.0))
    inside, taken = ax.get_window_extent().extents, _occupied(ax)
    look = {"fontsize": "small", **LITERAL, **look}
    if halo:
        from matplotlib.patheffects import withStroke

        look["path_effects"] = [withStroke(linewidth=2.0, foreground=style("axes.facecolor"))]
    placed = 0
    for i in order[:MOST_LABELS]:
        shown = label(texts[i])
        if not shown:
            continue
        text = ax.annotate(shown, points[i], xytext=(0, 0), textcoords="offset points", zorder=5, **look)
        if slanted is not None and slanted[int(i)]:
            text.set_style("italic")
        places = _places(on_screen[i] - origin if outward else None, _DISTANCES if sure else _DISTANCES[:-1])
        distances, directions = places[:, :1], places[:, 1:]
        size = text.get_window_extent().size
        corners = on_screen[i] + distances * pixels * directions - size * (1 - directions) / 2
        boxes = np.hstack([corners, corners + size])
        possible = _within(boxes, inside) & ~_overlap(boxes, taken)
        free = possible & ~_cover(boxes, np.delete(on_screen, i, axis=0), 2.0 * pixels)
        found = np.flatnonzero(free if free.any() or not sure else possible)
        if len(found) == 0:
            text.remove()
            continue
        distance, across, up = places[found[0]]
        box = boxes[found[0]]
        taken.append(box)
        # The label is anchored at the side of its point, so that it stays there in files of other resolutions.
        text.set(ha=SIDES[0][across], va=SIDES[1][up])
        text.set_position((distance * across, distance * up))
        if distance > _DISTANCES[0]:
            # A thin line from the point to the label.
            arrow = {"arrowstyle": "-", "color": text.get_color(), "linewidth": 0.5, "shrinkA": 0, "shrinkB": 1}
            nearest = (np.clip(on_screen[i], box[:2], box[2:]) - on_screen[i]) / pixels
            ax.annotate("", points[i], xytext=tuple(nearest), textcoords="offset points", arrowprops=arrow, zorder=4)
        placed += 1
    return placed


def _from_outside(points: np.ndarray) -> np.ndarray:
    """The points in the order of their distance from the middle, in units of their deviations, the farthest first."""
    spread = points.std(axis=0)
    distance = np.sum(((points - points.mean(axis=0)) / np.where(spread > 0, spread, 1.0)) ** 2, axis=1)
    return np.argsort(-distance, kind="stable")


def _places(away: np.ndarray | None, distances: Sequence[float]) -> np.ndarray:
    """Places for a label around a point, the best first: distance, and direction from the point to the label.

    With `away`, those in this direction are better.
    """
    directions = list(_DIRECTIONS)
    if away is not None and np.any(away):
        directions.sort(key=lambda d: -float(np.dot(d, away)) / float(np.linalg.norm(d)))
    return np.array([(distance, *direction) for distance in distances for direction in directions])


def _within(boxes: np.ndarray, frame: np.ndarray) -> np.ndarray:
    """Which boxes are within a frame."""
    return np.asarray(np.all(boxes[:, :2] >= frame[:2], axis=1) & np.all(boxes[:, 2:] <= frame[2:], axis=1))


def _cover(boxes: np.ndarray, points: np.ndarray, margin: float) -> np.ndarray:
    """Which boxes cover one of the points."""
    # Most points are far from all boxes.
    near = np.all((points > boxes[:, :2].min(axis=0) - margin) & (points < boxes[:, 2:].max(axis=0) + margin), axis=1)
    points = points[near]
    low, high = boxes[:, None, :2] - margin, boxes[:, None, 2:] + margin
    return np.asarray(np.any(np.all((points > low) & (points < high), axis=2), axis=1))


def _overlap(boxes: np.ndarray, others: list[np.ndarray]) -> np.ndarray:
    """Which boxes overlap one of the others, or nearly touch it."""
    if not others:
        return np.zeros(len(boxes), dtype=bool)
    other = np.array(others)[None]
    beside = (boxes[:, None, :2] >= other[..., 2:] + _GAP) | (other[..., :2] >= boxes[:, None, 2:] + _GAP)
    return np.asarray(~np.all(np.any(beside, axis=2), axis=1))


def _occupied(ax: Any) -> list[np.ndarray]:
    """Where text and the legend are already.

    A legend that was placed where it covers least stays there from now on: otherwise it might move onto the labels that
    are drawn after it.
    """
    boxes = [text.get_window_extent().extents for text in ax.texts if text.get_text()]
    legend = ax.get_legend()
    if legend is None:
        return boxes
    extent = legend.get_window_extent()
    if legend.get_gid() == "best":
        inner = extent.transformed(ax.transAxes.inverted())
        across, up = (inner.x0 + inner.x1) / 2, (inner.y0 + inner.y1) / 2
        side = "left" if across < 1 / 3 else "right" if across > 2 / 3 else "center"
        height = "lower" if up < 1 / 3 else "upper" if up > 2 / 3 else "center"
        legend.set_loc("center" if side == height else f"{height} {side}")
    return [*boxes, extent.extents]


def label_points_in_space(ax: Any, points: np.ndarray, texts: Sequence[Any]) -> int:
    """Write `texts` beside points in three dimensions, which they follow when the axes are turned.

    Labels that would cover an earlier one, as the axes are turned now, are left out. Returns how many are written.
    """
    from mpl_toolkits.mplot3d import proj3d

    figure = ax.figure.figure
    figure.draw_without_rendering()
    x, y, _ = proj3d.proj_transform(*points.T, ax.get_proj())
    on_screen = ax.transData.transform(np.column_stack([x, y]))
    inside, taken = figure.bbox.extents, _occupied(ax)
    placed = 0
    for i in _from_outside(points)[:MOST_LABELS]:
        text = ax.text(*points[i], f" {label(texts[i])}", fontsize="small", **LITERAL)
        size = text.get_window_extent().size
        box = np.concatenate([on_screen[i], on_screen[i] + size])
        if _within(box[None], inside)[0] and not _overlap(box[None], taken)[0]:
            taken.append(box)
            placed += 1
        else:
            text.remove()
    return placed
