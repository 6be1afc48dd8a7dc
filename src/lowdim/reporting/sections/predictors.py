"""The columns that a prediction rests on: their importance, and coefficients with intervals."""

from __future__ import annotations

import numpy as np

from ...tabular import Table
from ..analysis import Analysis
from ..blocks import Chart
from ..charts import plain
from ..column_charts import bars, dots, height, limit_line, line, value_axes
from ..numbers.regression import Regression
from ..words import count, listed

#: At most so many columns are shown as bars.
_BARS = 25
#: The colour of intervals around a curve.
_BAND = "rgba(59, 125, 216, 0.3)"


def said(a: Analysis, r: Regression, certain: bool) -> str:
    """Which columns the prediction rests on, with a direction where that is known; `certain`: there is a prediction."""
    if not certain:
        return (
            "Since nothing can be predicted, the importance of the columns and the coefficients below mean little; "
            "they are shown for completeness."
        )
    j = int(np.argmax(r.r2))
    name = r.pair.y_names[j]
    if a.layout is not None:
        return _range_said(a, r, j)
    known = (r.low[j] > 0) | (r.high[j] < 0)
    order = np.argsort(-np.abs(r.effect[j]), kind="stable")
    up = [a.names[i] for i in order if known[i] and r.effect[j, i] > 0][:3]
    down = [a.names[i] for i in order if known[i] and r.effect[j, i] < 0][:3]
    if not up and not down:
        return f"No single column is certain to matter for {name}: all intervals of its coefficients contain zero."
    parts = [f"rises with {listed(up)}"] if up else []
    parts += [f"falls with {listed(down)}"] if down else []
    unsure = int((~known).sum())
    its = "its direction is" if unsure == 1 else "their directions are"
    rest = f" For {unsure} of {count(len(known), 'column')} the interval contains zero, so {its} not known."
    return (
        f"The prediction of {name} {' and '.join(parts)}: these columns have the largest coefficients whose intervals "
        f"leave out zero.{rest if unsure else ''}"
    )


def _range_said(a: Analysis, r: Regression, j: int) -> str:
    """For points of a curve or pixels: where the most important column is, and how many matter."""
    found = np.asarray(r.model.vip_)
    top = a.names[int(np.argmax(found))]
    many = int((found > 1).sum())
    return (
        f"The prediction of {r.pair.y_names[j]} rests most on the columns around {top}: there the importance is "
        f"largest, and it is above average in {many:,} of {len(found):,} columns."
    )


def _is_curve(a: Analysis) -> bool:
    return a.layout is not None and a.layout.is_curve


def _columns_shown(a: Analysis, weight: np.ndarray) -> np.ndarray:
    """The columns that are shown: all if they are points of a curve or few, otherwise those of most weight."""
    if _is_curve(a) or a.p <= _BARS:
        return np.arange(a.p)
    return np.argsort(-weight, kind="stable")[:_BARS]


def vip(a: Analysis, r: Regression) -> Chart:
    """How important each column is for the predictions."""
    found = np.asarray(r.model.vip_)
    shown = _columns_shown(a, found)
    curve = _is_curve(a)
    shown = shown if curve else shown[np.argsort(found[shown], kind="stable")]
    names = [a.names[i] for i in shown]
    some = f" The {len(shown)} most important of {a.p:,} columns are shown." if len(shown) < a.p else ""
    order = np.argsort(-found, kind="stable")
    return Chart(
        key="vip",
        title="Importance of the columns for the prediction (VIP)",
        alt=f"The importance of columns; the largest are {listed([a.names[i] for i in order[:3]])}.",
        data=[line(names, found[shown]) if curve else bars(names, found[shown])],
        layout=value_axes("VIP", curve, names) | {"shapes": [limit_line(1.0, curve)]},
        table=Table({"VIP": found[order]}, [a.names[i] for i in order], title="VIP", row_name="column"),
        height=height(len(shown), curve),
        caption=(
            "Variable importance in projection: the weight of a column in the components, counted by what these "
            f"explain of the response. The average of the squares is 1, the dashed line.{some}"
        ),
    )


def coefficients(a: Analysis, r: Regression, j: int) -> Chart:
    """The coefficients of one response with their intervals."""
    name, curve = r.pair.y_names[j], _is_curve(a)
    effect, low, high = r.effect[j], r.low[j], r.high[j]
    shown = _columns_shown(a, np.abs(effect))
    shown = shown if curve else shown[np.argsort(effect[shown], kind="stable")]
    names = [a.names[i] for i in shown]
    trace = line(names, effect[shown]) if curve else dots(names, effect[shown])
    data = [trace]
    if curve:
        data = [
            {**line(names, low[shown]), "line": {"width": 0}, "hoverinfo": "skip"},
            {
                **line(names, high[shown]),
                "line": {"width": 0},
                "fill": "tonexty",
                "fillcolor": _BAND,
                "hoverinfo": "skip",
            },
            trace,
        ]
    else:
        ends = {"array": (high - effect)[shown], "arrayminus": (effect - low)[shown]}
        trace["error_x"] = {"type": "data", "symmetric": False, **ends}
    some = f" The {len(shown)} largest of {a.p:,} columns are shown." if len(shown) < a.p else ""
    order = np.argsort(-np.abs(effect), kind="stable")
    return Chart(
        key=f"coefficients-{j}",
        title=f"{name}: coefficients",
        alt=f"Coefficients of the columns for {name}; the largest is that of {a.names[int(order[0])]}.",
        data=data,
        layout=value_axes(f"change of {plain(name)}", curve, names) | {"shapes": [limit_line(0.0, curve)]},
        table=Table(
            {"coefficient": effect[order], "low": low[order], "high": high[order]},
            [a.names[i] for i in order],
            title=f"Change of {name} for one standard deviation more of the column",
            row_name="column",
        ),
        height=height(len(shown), curve),
        caption=(
            f"By how much the prediction of {name} changes if a column is one standard deviation larger and the others "
            f"stay as they are. {'The band shows' if curve else 'Bars are'} 95% intervals of {r.n_draws} bootstrap "
            f"samples.{some}"
        ),
    )
