"""Messages about plots."""

from __future__ import annotations

from collections.abc import Sequence


def does_not_fit(plot: str, model: str, needs: str) -> TypeError:
    """The error for a plot of a model that does not have what it shows."""
    return TypeError(f"plot.{plot} shows {needs}, and {model} has none. Printing model.plot lists what fits a model.")


def unknown_component(component: object, names: Sequence[str]) -> ValueError:
    """The error for a component that a model does not have."""
    known = names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"
    return ValueError(
        f"there is no component {component!r}; they are {known}, or by their numbers 1 to {len(names)}, counted from 1 "
        "as in their names."
    )


def wrong_number_of_components(got: int, allowed: str) -> ValueError:
    """The error for more or fewer components than a picture has dimensions."""
    return ValueError(f"{got} components were chosen, and this picture shows {allowed}; pass components=(1, 2).")


def needs_axes_in_3d() -> ValueError:
    """The error for flat axes where three components are to be drawn."""
    return ValueError(
        "three components need axes with three dimensions; make them with "
        'plt.subplots(subplot_kw={"projection": "3d"}), or leave out ax.'
    )


def not_one_for_each_row(name: str, got: int, n: int) -> ValueError:
    """The error for labels or groups of another number than there are rows."""
    return ValueError(f"{name} has {got} entries, X has {n} rows; pass one entry for each row.")


def nothing_missing() -> ValueError:
    """The error for rows without missing entries, where these are to be drawn."""
    return ValueError("X has no missing entries, so there is nothing to draw; they are NaN in X.")


def wrong_image_shape(shape: object, p: int) -> ValueError:
    """The error for images whose number of pixels is not the number of columns."""
    return ValueError(
        f"shape={shape!r} must be (height, width), or (height, width, 3) for colours, whose product is the number of "
        f"columns, {p}."
    )


def other_response(response: object, names: Sequence[str]) -> ValueError:
    """The error for a response that a regression does not have."""
    return ValueError(f"response={response!r} is not one of {', '.join(map(repr, names))}; pass its name.")
