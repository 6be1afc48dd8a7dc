"""Charts of eigenvalues and of the rules that count components."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...tabular import Table
from ..analysis import Analysis
from ..blocks import Chart
from ..charts import GREY, axis, color, symbol
from ..numbers.counting import followed
from ..words import count

#: What rules are called in sentences and charts.
_NAMES = {
    "proportion": "90% of the variance",
    "kaiser": "Kaiser's rule",
    "broken-stick": "the broken stick",
    "elbow": "the elbow",
    "minka": "Minka's evidence",
    "bic": "BIC",
    "aic": "AIC",
    "parallel": "parallel analysis",
    "map": "Velicer's MAP",
    "gavish-donoho": "Gavish and Donoho's threshold",
    "marchenko-pastur": "the Marchenko-Pastur edge",
    "cv": "cross-validation",
}
#: The numbers of eigenvalues that are drawn: at least, and at most.
_FEWEST, _MOST = 10, 60
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")


def rule_name(rule: str) -> str:
    """What a rule is called."""
    return _NAMES.get(rule, rule)


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def scree(a: Analysis) -> Chart:
    """The eigenvalues, the thresholds of rules above, and the answers of all rules below."""
    e, answers = a.choices.eigenvalues, [answer for answer in a.choices.answers if answer.k is not None]
    largest = max((answer.k or 0 for answer in answers), default=1)
    m = min(len(e.values), _MOST, max(_FEWEST, largest + 3))
    K = np.arange(1, m + 1)
    chosen = followed(a.choices)
    data: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "x": K,
            "y": e.values[:m],
            "name": "eigenvalues",
            "line": {"color": color(0), "width": 2},
            "marker": {"color": color(0), "size": 7},
            "hovertemplate": "component %{x}: %{y:.4g}<extra></extra>",
        }
    ]
    lines = [answer for answer in answers if answer.kind == "thresholds"]
    lines += [answer for answer in answers if answer.kind != "thresholds"]
    for i, answer in enumerate(lines):
        is_curve = answer.kind == "thresholds"
        x = K[: len(answer.curve)] if is_curve else np.array([answer.k, answer.k])
        y = answer.curve[:m] if is_curve else np.array([0.0, float(e.values[0])])
        name = rule_name(answer.rule)
        data.append(
            {
                "type": "scatter",
                "mode": "lines",
                "x": x,
                "y": y,
                "name": f"{name}: {answer.k}",
                "visible": True if answer is chosen else "legendonly",
                "line": {"color": color(i + 1), "width": 2, "dash": _DASHES[(i + 1) % len(_DASHES)]},
                "hovertemplate": f"{name}<br>%{{x}}: %{{y:.4g}}<extra></extra>",
            }
        )
    shown = sorted(answers, key=lambda answer: -(answer.k or 0))
    data.append(
        {
            "type": "scatter",
            "mode": "markers+text",
            "x": np.array([min(answer.k or 0, m) for answer in shown]),
            "y": [rule_name(answer.rule) for answer in shown],
            "text": [f"{answer.k}" for answer in shown],
            "textposition": "middle right",
            "cliponaxis": False,
            "xaxis": "x",
            "yaxis": "y2",
            "showlegend": False,
            "marker": {
                "size": 10,
                "color": [color(1) if answer is chosen else color(0) for answer in shown],
                "symbol": [symbol(2) if answer is chosen else symbol(0) for answer in shown],
            },
            "hovertemplate": "%{y}: %{text}<extra></extra>",
        }
    )
    table: dict[str, Any] = {"eigenvalue": e.values[:m]}
    for answer in answers:
        if answer.kind == "thresholds":
            table[f"threshold of {rule_name(answer.rule)}"] = np.concatenate(
                [answer.curve[:m], np.full(max(0, m - len(answer.curve)), np.nan)]
            )
    beyond = f" Answers above {m} are drawn at {m}." if largest > m else ""
    return Chart(
        key="scree",
        title="Eigenvalues, and where each rule draws the line",
        alt=f"The first {m} eigenvalues as a falling line; below it, the answers of {count(len(shown), 'rule')}.",
        data=data,
        layout={
            "xaxis": axis("number of components", range=[-0.6, m + 0.6], anchor="y2", dtick=1 if m <= 20 else 5),
            "yaxis": axis("eigenvalue", domain=[0.5, 1.0], rangemode="tozero"),
            "yaxis2": axis(type="category", domain=[0.0, 0.44], automargin=True, dtick=1),
            "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom"},
            "margin": {"t": 120},
        },
        table=Table(
            table,
            K,
            title="Eigenvalues and thresholds",
            notes=[f"{_capital(rule_name(answer.rule))}: {answer.assumes}" for answer in a.choices.answers],
            row_name="component",
        ),
        height=780,
        caption=(
            "Above: eigenvalues, and the line of each rule that is chosen in the legend: a threshold that an "
            "eigenvalue has to exceed, or an upright line at the number. Below: the number that each rule says; the "
            f"diamond is the rule that comes first.{beyond}"
        ),
    )


def variances(a: Analysis, levels: Sequence[float]) -> Chart:
    """The share of the variance of each component, and of the first ones together."""
    e = a.choices.eigenvalues
    each = e.values / e.total
    reached = np.cumsum(each)
    enough = int(np.searchsorted(reached, max(levels) - 1e-12)) + 2
    m = min(len(each), _MOST, max(_FEWEST, enough))
    K = np.arange(1, m + 1)
    data: list[dict[str, Any]] = [
        {
            "type": "bar",
            "x": K,
            "y": 100 * each[:m],
            "name": "each component",
            "marker": {"color": color(0)},
            "hovertemplate": "component %{x}: %{y:.2f}%<extra></extra>",
        },
        {
            "type": "scatter",
            "mode": "lines+markers",
            "x": K,
            "y": 100 * reached[:m],
            "name": "all up to it",
            "line": {"color": color(1), "width": 2},
            "marker": {"color": color(1), "size": 6, "symbol": symbol(1)},
            "hovertemplate": "first %{x}: %{y:.2f}%<extra></extra>",
        },
    ]
    lines = [
        {
            "type": "line",
            "xref": "paper",
            "x0": 0,
            "x1": 1,
            "y0": 100 * level,
            "y1": 100 * level,
            "line": {"color": GREY, "width": 1, "dash": "dot"},
        }
        for level in levels
    ]
    return Chart(
        key="variance",
        title="Variance of the components",
        alt=f"Bars of the share of the variance of the first {m} components, and a rising line of their sum.",
        data=data,
        layout={
            "xaxis": axis("component", dtick=1 if m <= 20 else 5),
            "yaxis": axis("percent of the variance", range=[0, 102]),
            "shapes": lines,
            "legend": {"orientation": "h", "y": 1.08},
        },
        table=Table(
            {"percent": 100 * each[:m], "percent up to it": 100 * reached[:m]},
            K,
            title="Variance of the components",
            row_name="component",
        ),
        height=380,
        caption=f"The dotted lines are at {', '.join(f'{100 * level:g}%' for level in levels)}.",
    )


def scores(a: Analysis) -> Chart:
    """Held-out scores with their standard errors."""
    result = a.choices["cv"].cross_validation
    assert result is not None
    mean, error, K = result.mean[0], result.standard_error[0], result.n_components
    known = np.isfinite(mean) & np.isfinite(error)
    mean, error, K = mean[known], error[known], K[known]
    marks = {"best": result.best, "within one standard error": result.one_standard_error}
    data: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "x": K,
            "y": mean,
            "error_y": {"type": "data", "array": error, "visible": True, "color": color(0), "thickness": 1},
            "name": "mean and standard error",
            "line": {"color": color(0), "width": 2},
            "marker": {"color": color(0), "size": 6},
            "hovertemplate": "%{x} components: %{y:.4g}<extra></extra>",
        }
    ]
    for i, (name, k) in enumerate(marks.items()):
        data.append(
            {
                "type": "scatter",
                "mode": "markers",
                "x": np.array([k]),
                "y": mean[k == K],
                "name": f"{name}: {k}",
                "marker": {
                    "size": 14,
                    "symbol": f"{symbol(i + 1)}-open",
                    "color": color(i + 1),
                    "line": {"width": 2.5},
                },
                "hovertemplate": f"{name}: %{{x}}<extra></extra>",
            }
        )
    return Chart(
        key="cross-validation",
        title="How well rows that were left out are described",
        alt="The average log-likelihood of left-out rows against the number of components, with standard errors.",
        data=data,
        layout={
            "xaxis": axis("number of components"),
            "yaxis": axis("log-likelihood of a row"),
            "legend": {"orientation": "h", "y": 1.08},
        },
        table=Table({"mean": mean, "std. error": error}, K, title="Cross-validation", row_name="components"),
        height=380,
        caption=(
            f"The rows were cut into {len(result.per_split)} parts; each was scored by probabilistic PCA of the "
            "others. Higher is better; the bars are one standard error up and down."
        ),
    )
