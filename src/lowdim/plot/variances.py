"""The variance of the components: scree and cumulative proportion."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..selection import Choices, choose_n_components
from ..summaries import Moments, Triangle
from ._axes import color, foreground, make_axes, marker, note, reference_line, whole_ticks
from ._model import numbers_of
from ._offered import has, shows
from ._text import legend

#: At most this many components are drawn, or more to reach a number that a rule chose, up to the second limit.
_MOST, _MOST_CHOSEN = 40, 200


@shows("the variance of components", lambda model: isinstance(model, Choices) or hasattr(model, "explained_variance_"))
def scree(model: Any, choices: Choices | None = None, *, threshold: str | None = "parallel", ax: Any = None) -> Any:
    """The variance of each component, with the numbers of components that the rules choose.

    Parameters
    ----------
    model : fitted model, or Choices
        Also what `choose_n_components` returns, without a model.
    choices : Choices, optional
        What `choose_n_components` returns for the rows of the fit. Without it, the rules are applied to the summary
        that a PCA keeps of its rows, if it keeps one (tables of at most 256 columns); the rule "cv" needs the rows.
    threshold : str or None
        A rule whose thresholds are drawn as a dashed line, such as "parallel" or "broken-stick".
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from lowdim import PCA
    >>> wine = load_wine(as_frame=True)
    >>> pca = PCA(5, standardize=True).fit(wine.data)
    >>> ax = pca.plot.scree()
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('component', 'variance')
    """
    if isinstance(model, Choices):
        choices = model
    elif choices is None:
        choices = _choices_of(model)
    variances = numbers_of(model.explained_variance_ if choices is None else choices.eigenvalues.values)
    ax = make_axes(ax)
    chosen = {} if choices is None else _rules_by_number(choices)
    largest = max((k for k in chosen if k <= _MOST_CHOSEN), default=0)
    shown = min(len(variances), max(_MOST, largest))
    numbers = np.arange(1, shown + 1)
    ax.plot(numbers, variances[:shown], color=foreground(), linewidth=1.0, marker=".", zorder=2)
    remarks = [] if shown == len(variances) else [f"{shown} of {len(variances):,} components"]
    if choices is not None:
        remarks += _mark_rules(ax, choices, chosen, variances[:shown], threshold)
        legend(ax, loc="upper right", title="components according to")
    ax.set_xlabel("component")
    ax.set_ylabel(_measure(model))
    whole_ticks(ax.xaxis)
    ax.set_xlim(0.5, shown + 0.5)
    # Few variances that differ little would otherwise touch the frame: the margin is a share of their differences.
    highest = max(ax.get_ylim()[1], 1.02 * float(variances.max(initial=0.0)))
    ax.set_ylim(min(0.0, float(variances.min(initial=0.0))), highest)
    note(ax, remarks)
    return ax


def _measure(model: Any) -> str:
    """What components explain: without centring, mean squares about zero, as in the printed table."""
    centred = model.eigenvalues.center if isinstance(model, Choices) else getattr(model, "center", True)
    return "variance" if centred else "mean square"


def _choices_of(model: Any) -> Choices | None:
    """The numbers of components according to all rules, from the summary that the model keeps of its rows, if any."""
    summary = getattr(model, "summary_", None)
    if not isinstance(summary, Moments | Triangle) or len(summary.groups) != 1 or not hasattr(model, "standardize"):
        return None
    # The rules are about centred rows.
    if not getattr(model, "center", True):
        return None
    return choose_n_components(summary, standardize=model.standardize, ddof=model.ddof)


def _rules_by_number(choices: Choices) -> dict[int, list[str]]:
    """The numbers of components that were chosen, ascending, and by which rules."""
    chosen: dict[int, list[str]] = {}
    for answer in choices.answers:
        if answer.k is not None:
            chosen.setdefault(int(answer.k), []).append(answer.rule)
    return dict(sorted(chosen.items()))


def _mark_rules(
    ax: Any, choices: Choices, chosen: dict[int, list[str]], variances: np.ndarray, threshold: str | None
) -> list[str]:
    """Mark the number of components of each rule, and draw the thresholds of one."""
    shown = len(variances)
    if threshold is not None and threshold in choices and choices[threshold].k is not None:
        curve = choices[threshold].curve[:shown]
        look = {"color": foreground(), "linestyle": "--", "linewidth": 1.0}
        ax.plot(np.arange(1, len(curve) + 1), curve, label=f"threshold of {threshold}", **look)
    for i, (k, rules) in enumerate(chosen.items()):
        # No component has number 0, and those that are not drawn have no point.
        inside = 1 <= k <= shown
        place = ([k], [variances[k - 1]]) if inside else ([], [])
        look = {"color": color(i), "marker": marker(i), "linestyle": "none", "zorder": 3}
        ax.plot(*place, label=f"{k}: {_wrapped(rules)}", **look)
    missing = [answer.rule for answer in choices.answers if answer.k is None]
    return [f"not available: {', '.join(missing)}"] if missing else []


def _wrapped(rules: list[str], per_line: int = 3) -> str:
    """Names of rules, some on each line."""
    lines = [", ".join(rules[i : i + per_line]) for i in range(0, len(rules), per_line)]
    return ",\n".join(lines)


@shows("proportions of the variance", has("explained_variance_ratio_"))
def cumulative(model: Any, *, level: float = 0.9, ax: Any = None) -> Any:
    """The proportion of the variance that the first components explain together, with a line at 90%.

    Parameters
    ----------
    model : fitted model
        For PLS and PCR there is a second curve, for the variance of y.
    level : float
        Where the line is. The first number of components that reaches it is marked.
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from lowdim import PCA
    >>> wine = load_wine(as_frame=True)
    >>> pca = PCA(5, standardize=True).fit(wine.data)
    >>> ax = pca.plot.cumulative(level=0.8)
    >>> ax.get_ylabel()
    'cumulative proportion of variance'
    """
    if not 0.0 < level <= 1.0:
        raise ValueError(f"level={level!r} must be a proportion above 0 and at most 1.")
    ax = make_axes(ax)
    curves = {"X": model.explained_variance_ratio_}
    if hasattr(model, "y_explained_variance_ratio_"):
        curves["y"] = model.y_explained_variance_ratio_
    for i, (table, shares) in enumerate(curves.items()):
        sums = np.cumsum(numbers_of(shares))
        numbers = np.arange(1, len(sums) + 1)
        ax.plot(numbers, sums, color=color(i), marker=marker(i), label=f"variance of {table}", markevery=_every(sums))
        if i == 0:
            _mark_level(ax, sums, level, " of X" if len(curves) > 1 else "")
    reference_line(ax, level)
    ax.set_ylim(0.0, 1.04)
    ax.yaxis.set_major_formatter(_percent())
    ax.set_xlabel("number of components")
    ax.set_ylabel(f"cumulative proportion of {_measure(model)}")
    whole_ticks(ax.xaxis)
    if len(curves) > 1:
        legend(ax, loc="lower right")
    return ax


def _mark_level(ax: Any, sums: np.ndarray, level: float, whose: str) -> None:
    """Say which number of components reaches the level, or that none does."""
    # Sums of proportions may miss a level by rounding.
    reached = np.flatnonzero(sums >= level - 1e-12)
    if len(reached):
        k = int(reached[0]) + 1
        ax.plot([k, k], [0.0, sums[k - 1]], color=foreground(), linestyle=":", linewidth=1.0)
        words = f"{level:.0%}{whose} with {k} component{'' if k == 1 else 's'}"
    else:
        words = f"{level:.0%}{whose} is not reached"
    low = float(sums[0]) > level
    ax.annotate(
        words,
        (1.0, level),
        xycoords=("axes fraction", "data"),
        xytext=(-4, -4 if low else 4),
        textcoords="offset points",
        ha="right",
        va="top" if low else "bottom",
        fontsize="small",
    )


def _every(sums: np.ndarray) -> int:
    """Which points have markers: every so many, if there are many."""
    return max(1, len(sums) // 40)


def _percent() -> Any:
    from matplotlib.ticker import PercentFormatter

    return PercentFormatter(xmax=1.0, decimals=0)
