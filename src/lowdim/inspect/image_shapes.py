"""The shape of the picture that a row holds."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ..errors import wrong_image_shape


def checked_image_shape(shape: Any, p: int, colours: Sequence[int] = (3, 4)) -> tuple[int, ...]:
    """A shape (height, width) or (height, width, colours) of p pixels; an error if it is not one."""
    try:
        found = tuple(int(n) for n in shape)
    except (TypeError, ValueError) as error:
        raise wrong_image_shape(shape, p) from error
    wrong_colours = len(found) == 3 and found[2] not in colours
    if len(found) not in (2, 3) or min(found) < 1 or prod(found) != p or wrong_colours:
        raise wrong_image_shape(shape, p)
    return found
