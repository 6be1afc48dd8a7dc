"""How many components: every rule over the eigenvalues, what each assumes, and which one the report follows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..models.factor_analysis import FactorAnalysis
from ..selection.choose import choose_n_components
from ..selection.cross_validation import CrossValidation
from ..selection.fold_methods import SummaryFolds
from ..selection.rules import RULES, Choice, Choices, rule_of
from ..selection.scorers import SpectralScorer
from ..solvers.problem import Plan
from ..summaries.base import union
from ..summaries.moments import Moments
from ..table import Table
from .blocks import Chart, Listing, Prose, Section, count, listed, prose, share
from .charts import axes, axis, bar, color, guide, scatter, symbol

if TYPE_CHECKING:
    from .analysis import Analysis

#: The rules that take long if both rows and columns are many, and up to how many of them (or, of the second rule, of
#: columns) they are applied.
_SLOW = {"cv": 600, "map": 600}
#: The number of simulations of parallel analysis, and their number if rows and columns are more than the last one.
_DRAWS, _FEW_DRAWS, _MANY = 100, 40, 300
_FOLDS = 5
#: The rules that the report follows: the first one that has an answer.
FOLLOWED = ("parallel", "bic", "proportion")


def choices_of(a: Analysis) -> Choices:
    """The answers of all rules, in their order: from rows that can be read as often as is needed, or else from moments
    of random pieces of the rows, without reading any.

    For cross-validation, the pieces are merged into five folds. Each is scored by the components of the others.
    """
    pieces = a.pieces
    total = None if pieces is None else union(list(pieces))
    n, p = (a.n, a.p) if total is None else (int(total.n_rows), total.n_features)
    sizes = {"cv": min(n, p), "map": p}
    slow = [rule for rule, most in _SLOW.items() if sizes[rule] > most]
    why = "left out to save time: this table is large, and the rule would take longer than all others"
    answers = {rule: Choice(rule, None, np.zeros(0), RULES[rule].assumes, why) for rule in slow}
    options: Any = {"scale": a.scale, "n_resamples": draws(n, p), "random_state": a.seed}
    if pieces is None:
        options |= {"cv": _FOLDS, "sample_weight": a.opened.weights}
    elif "cv" not in slow:
        answers["cv"] = _cross_validated_choice(pieces, n, p, a.scale)
    rules = [rule for rule in RULES if rule not in answers]
    found = choose_n_components(a.rows if total is None else total, rules, **options)
    answers |= {answer.rule: answer for answer in found.answers}
    return Choices(found.eigenvalues, tuple(answers[rule] for rule in RULES))


def _cross_validated_choice(pieces: Sequence[Moments], n: int, p: int, scale: bool) -> Choice:
    """What cross-validation says, from pieces of n rows and p columns."""
    assumes, why = RULES["cv"].assumes, "needs at least 2 columns and 10 rows"
    if p >= 2 and n >= 10 and len(pieces) >= 2 * _FOLDS:
        result = cross_validated(pieces, scale)
        if np.isfinite(result.mean).any():
            return Choice("cv", result.best, result.mean[0], assumes, cross_validation=result)
        why = "the rows without a fold leave no variance for the noise of any model"
    return Choice("cv", None, np.zeros(0), assumes, why)


def cross_validated(pieces: Sequence[Moments], scale: bool) -> CrossValidation:
    """Held-out likelihood of each number of components, in five folds that are made of the pieces."""
    folds = [union(list(pieces[i::_FOLDS])) for i in range(_FOLDS)]
    others = [union([fold for fold in folds if fold is not left_out]) for left_out in folds]
    most = min(min(int(other.n_rows) for other in others), folds[0].n_features)
    counts = np.arange(most)
    scores = [
        SpectralScorer(scale).scores(other, fold, counts).scores for other, fold in zip(others, folds, strict=True)
    ]
    return CrossValidation(
        estimator="PPCA",
        what="log-likelihood",
        greater_is_better=True,
        n_components=counts,
        settings=[{}],
        per_split=np.array(scores)[:, None, :],
        by_response=None,
        weights=np.array([float(fold.weight) for fold in folds]),
        n_samples=sum(int(fold.n_rows) for fold in folds),
        folds=f"{_FOLDS} folds of {sum(int(fold.n_rows) for fold in folds)} rows",
        n_passes=0,
        plan=Plan(SummaryFolds(), 0, 0, "the moments of the folds are known from the first pass"),
    )


def followed(choices: Choices) -> Choice | None:
    """The answer that the report follows."""
    return next((choices[rule] for rule in FOLLOWED if rule in choices and choices[rule].k is not None), None)


def draws(n: int, p: int) -> int:
    """The number of simulations of parallel analysis."""
    return _FEW_DRAWS if min(n, p) > _MANY else _DRAWS


# The section.


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


#: The shares of the variance that are reported.
_SHARES = (0.8, 0.9, 0.95)
#: The questions that rules answer, with the rules that answer each of them.
_QUESTIONS = {
    "Which components stand out from noise?": (
        "parallel",
        "kaiser",
        "broken-stick",
        "elbow",
        "map",
        "gavish-donoho",
        "marchenko-pastur",
    ),
    "How many keep 90% of the variance?": ("proportion",),
    "With how many does a Gaussian model with equal noise in all columns describe rows best?": (
        "cv",
        "bic",
        "aic",
        "minka",
    ),
}


def _called(rule: str) -> str:
    return _NAMES.get(rule, rule)


def section(a: Analysis) -> Section | None:
    """What the rules say; None if there can be but one component."""
    if a.rank < 2:
        return None
    e = a.choices.eigenvalues
    reached = np.cumsum(e.values) / e.total
    needed = [f"{level:.0%} takes {int(np.searchsorted(reached, level - 1e-12)) + 1:,}" for level in _SHARES]
    second = f", the first two {share(float(reached[1]))}" if len(reached) > 1 else ""
    first = f"The first component holds {share(float(reached[0]))} of the variance{second}. To hold {listed(needed)}."
    blocks = prose(_followed(a), _answers(a))
    blocks += [_scree(a), Listing(_rules(a), shown=20), Prose(first), _variances(a)]
    result = a.choices["cv"].cross_validation
    if result is not None:
        blocks += [Prose(_held_out(result)), _scores(result)]
    blocks += prose(_remarks(a))
    lead = (
        "How many components are worth a look. Rules answer different questions, so they need not agree: what "
        "stands out from noise, what keeps a share of the variance, and what describes rows best. An eigenvalue is the "
        "variance along a component."
    )
    summary = ""
    if a.request.model is None:
        uses, answer = f"The report uses {count(a.k, 'component')}", followed(a.choices)
        why = "" if answer is None else f", as {_called(answer.rule)} says"
        if a.request.n_components is not None:
            why = ", as was asked for"
        elif answer is not None and answer.k == 0:
            why = f", although by {_called(answer.rule)} none stands out from noise"
        hold = "it holds" if a.k == 1 else "together they hold"
        summary = f"{uses}{why}; {hold} {share(float(e.values[: a.k].sum() / e.total))} of the variance."
    return Section("how-many", "How many components", lead, blocks, summary)


def _followed(a: Analysis) -> str:
    """How many components the report uses, and why."""
    k, answer = a.k, followed(a.choices)
    if a.request.model is not None:
        k = int(a.model.n_components_)
        has = count(k, "factor" if isinstance(a.model, FactorAnalysis) else "component")
        return f"The given model has {has}. The rules below are about the principal components."
    uses = f"The report uses {count(k, 'component')}"
    if a.request.n_components is not None:
        said = f"{uses}, as was asked for."
        if answer is None or answer.k == k:
            return said
        return f"{said} Without that it would follow {_called(answer.rule)} and use {max(answer.k or 0, 1):,}."
    if answer is None:
        return f"{uses}. No rule has an answer for this table."
    name = _called(answer.rule)
    if answer.k == 0:
        reason = (
            "the largest eigenvalue is no larger than those of unrelated columns would be"
            if answer.rule == "parallel"
            else "a model without components describes the rows best"
        )
        return f"No component stands out: by {name}, {reason}. {uses} all the same, to have one to show."
    if answer.rule == "parallel":
        first = "eigenvalue is" if k == 1 else f"{k:,} eigenvalues are"
        these = "This is the component" if k == 1 else "These are the components"
        return (
            f"{uses}, as {name} says: only the first {first} larger than in 95% of simulated tables of the same size "
            f"whose columns have nothing to do with each other. {these} to interpret. Weak components beside strong "
            "ones may be missed, and noise that columns have in common counts as a component. To compress the table, "
            "take as many as keep the share of the variance that is needed; to predict something from it, take as many "
            "as predict it best."
        )
    caveat = answer.assumes.replace("Assumes", "It assumes", 1)
    return f"{uses}, as {name} says; parallel analysis, which would come first, has no answer for this table. {caveat}"


def _answers(a: Analysis) -> Iterator[str]:
    """What the rules say, question by question."""
    smallest = 0
    for question, rules in _QUESTIONS.items():
        groups: defaultdict[int, list[str]] = defaultdict(list)
        for answer in map(a.choices.__getitem__, rules):
            if answer.k is not None:
                groups[int(answer.k)].append(_called(answer.rule))
        if not groups:
            continue
        # Most rules first, and of as many rules the smaller number.
        order = sorted(groups, key=lambda k: (-len(groups[k]), k))
        said = [f"{k:,} by {listed(groups[k], 8)}" if len(rules) > 1 else f"{k:,}" for k in order]
        yield f"{question} {'; '.join(said)}."
        smallest = min(groups) if len(rules) > 1 else 0
    if smallest >= 2 * a.k:
        yield (
            "Larger answers to the last question mean that the last eigenvalues still differ: because noise is not "
            "equal in all columns, because columns depend on each other, or because weak components are real."
        )


def _rules(a: Analysis) -> Table:
    """What each rule says and assumes."""
    answers = a.choices.answers
    columns = {
        "components": [answer.k for answer in answers],
        "what it assumes, in short": [rule_of(answer.rule).brief for answer in answers],
    }
    silent: defaultdict[str, list[str]] = defaultdict(list)
    for answer in answers:
        if answer.k is None:
            silent[answer.note].append(_called(answer.rule))
    notes = [f"No answer from {listed(names, 12)}: {why}." for why, names in silent.items()]
    notes.append("What each assumes and where it fails is said in full below the numbers of the chart.")
    names = [_called(answer.rule) for answer in answers]
    return Table(columns, names, title="What each rule says", notes=notes, row_name="rule")


def _held_out(result: CrossValidation) -> str:
    """What cross-validation says."""
    best, within, most = result.best, result.one_standard_error, int(result.n_components[-1])
    said = "Rows that were left out of the fit are described best"
    if best == 0:
        return f"{said} without components."
    said += f" with {count(best, 'component')}"
    if within < best:
        said += f", but hardly better than with {within or 'none'} (by less than one standard error)"
    if best == most and most > 1:
        said += (
            ". This is the largest number that was tried: the variances of the last components differ as well, and "
            "this measure takes that for structure, whatever it is"
        )
    return f"{said}."


def _remarks(a: Analysis) -> Iterator[str]:
    if a.has_missing:
        yield (
            "Eigenvalues and rules are those of the table with its missing entries filled in, which makes columns look "
            "a little more alike than they are."
        )
    simulated = draws(a.n, a.p)
    if a.choices["parallel"].k is not None and simulated < 100:
        yield f"Parallel analysis simulated {simulated} tables, because this one is large."
    if a.pieces is not None:
        yield "All rules were applied to sums of the first pass over the rows, which were not read again."


def _scree(a: Analysis) -> Chart:
    """The eigenvalues, the thresholds of rules above, and the answers of all rules below."""
    e, chosen = a.choices.eigenvalues, followed(a.choices)
    answers = {answer: int(answer.k) for answer in a.choices.answers if answer.k is not None}
    largest = max(answers.values(), default=1)
    m = min(len(e.values), _MOST, max(_FEWEST, largest + 3))
    K = np.arange(1, m + 1)
    table: dict[str, Any] = {"eigenvalue": e.values[:m]}
    at = {"x": K, "y": e.values[:m]}
    data = [scatter("lines+markers", "component %{x}: %{y:.4g}", 0, **at, name="eigenvalues", width=2, size=7)]
    for i, (answer, k) in enumerate(sorted(answers.items(), key=lambda item: item[0].kind != "thresholds")):
        name = _called(answer.rule)
        x, y = np.array([k, k]), np.array([0.0, float(e.values[0])])
        if answer.kind == "thresholds":
            x, y = K[: len(answer.curve)], answer.curve[:m]
            table[f"threshold of {name}"] = np.concatenate([y, np.full(max(0, m - len(answer.curve)), np.nan)])
        dash, visible = _DASHES[(i + 1) % len(_DASHES)], True if answer is chosen else "legendonly"
        line = scatter(
            "lines", f"{name}<br>%{{x}}: %{{y:.4g}}", i + 1, x=x, y=y, name=f"{name}: {k}", width=2, dash=dash
        )
        data.append(line | {"visible": visible})
    shown = sorted(answers, key=lambda answer: -answers[answer])
    names, numbers = [_called(answer.rule) for answer in shown], [answers[answer] for answer in shown]
    colors = [color(1) if answer is chosen else color(0) for answer in shown]
    look: Any = {"symbol": [symbol(2) if answer is chosen else symbol(0) for answer in shown], "size": 10}
    look |= {"text": list(map(str, numbers)), "textposition": "middle right", "cliponaxis": False, "showlegend": False}
    look |= {"x": np.minimum(numbers, m), "y": names, "xaxis": "x", "yaxis": "y2"}
    data.append(scatter("markers+text", "%{y}: %{text}", colors, **look))
    beyond = f" Answers above {m} are drawn at {m}." if largest > m else ""
    notes = [f"{_called(c.rule)[0].upper()}{_called(c.rule)[1:]}: {c.assumes}" for c in a.choices.answers]
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
        table=Table(table, K, title="Eigenvalues and thresholds", notes=notes, row_name="component"),
        height=780,
        caption=(
            "Above: eigenvalues, and the line of each rule that is chosen in the legend: a threshold that an "
            "eigenvalue has to exceed, or an upright line at the number. Below: the number that each rule says"
            f"{'' if chosen is None else f'; the diamond is {_called(chosen.rule)}'}.{beyond}"
        ),
    )


def _variances(a: Analysis) -> Chart:
    """The share of the variance of each component, and of the first ones together."""
    e = a.choices.eigenvalues
    each = e.values / e.total
    reached = np.cumsum(each)
    enough = int(np.searchsorted(reached, max(_SHARES) - 1e-12)) + 2
    m = min(len(each), _MOST, max(_FEWEST, enough))
    K, each, reached = np.arange(1, m + 1), 100 * each[:m], 100 * reached[:m]
    data = [bar("component %{x}: %{y:.2f}%", 0, x=K, y=each, name="each component")]
    look: Any = {"name": "all up to it", "width": 2, "size": 6, "symbol": symbol(1)}
    data.append(scatter("lines+markers", "first %{x}: %{y:.2f}%", 1, x=K, y=reached, **look))
    lines = [guide("y", 100 * level, dash="dot") for level in _SHARES]
    x, y = axis("component", dtick=1 if m <= 20 else 5), axis("percent of the variance", range=[0, 102])
    title = "Variance of the components"
    return Chart(
        key="variance",
        title=title,
        alt=f"Bars of the share of the variance of the first {m} components, and a rising line of their sum.",
        data=data,
        layout=axes(x, y, legend=1.08, shapes=lines),
        table=Table({"percent": each, "percent up to it": reached}, K, title=title, row_name="component"),
        height=380,
        caption=f"The dotted lines are at {listed([f'{100 * level:g}%' for level in _SHARES])}.",
    )


def _scores(result: CrossValidation) -> Chart:
    """Held-out scores with their standard errors."""
    mean, error, K = result.mean[0], result.standard_error[0], result.n_components
    known = np.isfinite(mean) & np.isfinite(error)
    mean, error, K = mean[known], error[known], K[known]
    bars = {"type": "data", "array": error, "visible": True, "color": color(0), "thickness": 1}
    look: Any = {"name": "mean and standard error", "error_y": bars, "width": 2, "size": 6}
    data = [scatter("lines+markers", "%{x} components: %{y:.4g}", 0, x=K, y=mean, **look)]
    marks = {"best": result.best, "within one standard error": result.one_standard_error}
    for i, (name, k) in enumerate(marks.items(), 1):
        look = {"size": 14, "symbol": f"{symbol(i)}-open", "color": color(i), "line": {"width": 2.5}}
        at = {"x": np.array([k]), "y": mean[k == K]}
        data.append(scatter("markers", f"{name}: %{{x}}", **at, name=f"{name}: {k}", marker=look))
    return Chart(
        key="cross-validation",
        title="How well rows that were left out are described",
        alt="The average log-likelihood of left-out rows against the number of components, with standard errors.",
        data=data,
        layout=axes("number of components", "log-likelihood of a row", legend=1.08),
        table=Table({"mean": mean, "std. error": error}, K, title="Cross-validation", row_name="components"),
        height=380,
        caption=(
            f"The rows were cut into {len(result.per_split)} parts; each was scored by probabilistic PCA of the "
            "others. Higher is better; the bars are one standard error up and down."
        ),
    )
