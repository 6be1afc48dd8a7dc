"""Names and labels of the user as text in a picture: shown literally, on one line, and not too long."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any
from unicodedata import category

from ..tabular.text import clean, cut
from ._axes import style

#: Labels with more characters are cut.
WIDEST = 24
#: Dollar signs in a label are no mathematics, and it is no TeX source.
LITERAL = {"parse_math": False, "usetex": False}


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


def labels(texts: Sequence[Any], width: int = WIDEST) -> list[str]:
    """A label for each text."""
    return [label(text, width) for text in texts]


@lru_cache(maxsize=8)
def _characters(families: tuple[str, ...]) -> frozenset[int]:
    """The codes of the characters that the fonts of these families have."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    paths = {findfont(FontProperties(family=list(families)))}
    for family in families[1:]:
        try:
            paths.add(findfont(FontProperties(family=[family]), fallback_to_default=False))
        except ValueError:
            # The family is not installed, and matplotlib does without it.
            continue
    return frozenset(code for path in paths for code in get_font(path).get_charmap())


def name_axes(ax: Any, names: Iterable[Any]) -> None:
    """Names of the first axes, from the horizontal one on."""
    for axis, name in zip("xyz", names, strict=False):
        getattr(ax, f"set_{axis}label")(label(name, 40), **LITERAL)


def tick_labels(axis: Any, positions: Iterable[float], texts: Sequence[Any], **look: Any) -> None:
    """Ticks of an axis at these positions, with labels."""
    axis.set_ticks(list(positions), labels(texts), **LITERAL, **look)


def column_ticks(axis: Any, texts: Sequence[Any], positions: Iterable[float] | None = None) -> None:
    """Ticks at 0, 1, ..., or at other positions, with the names of columns or components.

    On a horizontal axis they are slanted if they are long.
    """
    shown = labels(texts)
    crowded = axis.axis_name == "x" and sum(len(text) for text in shown) > 60
    look: dict[str, Any] = {"rotation": 40, "ha": "right", "rotation_mode": "anchor"} if crowded else {}
    where = range(len(shown)) if positions is None else list(positions)
    axis.set_ticks(where, shown, fontsize=tick_size(len(shown)), **LITERAL, **look)


def tick_size(n: int) -> str:
    """The size of the names of n ticks."""
    return "medium" if n <= 12 else "small" if n <= 20 else "x-small"


def legend(ax: Any, **look: Any) -> Any:
    """The legend of what has a label, by default where it covers least."""
    handles, texts = ax.get_legend_handles_labels()
    if not handles:
        return None
    # Small points have samples of the usual size.
    sizes = [handle.get_sizes()[0] for handle in handles if hasattr(handle, "get_sizes") and len(handle.get_sizes())]
    larger = max(1.0, style("lines.markersize") / min(sizes) ** 0.5) if sizes else 1.0
    box = ax.legend(handles, texts, **{"fontsize": "small", "markerscale": larger, "loc": "best", **look})
    box.set_gid(look.get("loc", "best"))
    for text in box.get_texts():
        text.set(**LITERAL)
    return box


def settle_legend(ax: Any, box: Any) -> None:
    """Let a legend that was placed where it covers least stay where it is, at `box` in pixels.

    Otherwise it might move onto the labels that are drawn after it.
    """
    found = ax.get_legend()
    if found.get_gid() != "best":
        return
    middle = box.transformed(ax.transAxes.inverted())
    across, up = (middle.x0 + middle.x1) / 2, (middle.y0 + middle.y1) / 2
    side = "left" if across < 1 / 3 else "right" if across > 2 / 3 else "center"
    height = "lower" if up < 1 / 3 else "upper" if up > 2 / 3 else "center"
    found.set_loc("center" if side == height else f"{height} {side}")


def legend_label(text: Any) -> str:
    """A label for a legend. Matplotlib leaves out labels that start with an underscore, so these start with a blank."""
    shown = label(text)
    return f" {shown}" if shown.startswith("_") or not shown else shown
