"""How many components: every rule over the eigenvalues, what each assumes, and which one the report follows."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from ...selection.choices import Choice
from ...selection.rules import rule_of
from ...tabular import Table
from ..analysis import Analysis
from ..blocks import Block, Listing, Prose, Section
from ..numbers.counting import draws, followed
from ..words import count, listed, share
from .counting_charts import rule_name, scores, scree, variances

#: The shares of the variance that are told.
_SHARES = (0.8, 0.9, 0.95)
#: Rules disagree widely if the largest answer is more than this many times the smallest one.
_WIDELY = 4
#: Rules that take noise to have the same variance in all columns.
_EQUAL_NOISE = ("minka", "bic", "aic")


def section(a: Analysis) -> Section | None:
    """What the rules say; None if there can be but one component."""
    if a.rank < 2:
        return None
    answered = [answer for answer in a.choices.answers if answer.k is not None]
    blocks: list[Block] = [Prose(_followed(a))]
    agreement = _agreement(answered)
    blocks += [Prose(agreement)] if agreement else []
    blocks += [scree(a), Listing(_rules(a), shown=20), Prose(_variance(a)), variances(a, _SHARES)]
    held_out = _held_out(a)
    if held_out:
        blocks += [Prose(held_out), scores(a)]
    remarks = _remarks(a)
    blocks += [Prose(remarks)] if remarks else []
    return Section(
        key="how-many",
        title="How many components",
        lead=(
            "How many components are worth a look. Each rule draws the line between structure and noise in its own "
            "way; where several agree, the answer is safer. An eigenvalue is the variance along a component."
        ),
        blocks=blocks,
        summary=_summary(a),
    )


def _number(a: Analysis) -> int:
    """The number of components of the model that the report is about."""
    return a.k if a.request.model is None else int(a.model.n_components_)


def _explained(a: Analysis, k: int) -> float:
    e = a.choices.eigenvalues
    return float(e.values[:k].sum() / e.total)


def _summary(a: Analysis) -> str:
    k = _number(a)
    if a.request.model is not None:
        return ""
    hold = "holds" if k == 1 else "together hold"
    none = followed(a.choices)
    doubt = ", although no component stands out from noise" if none is not None and none.k == 0 else ""
    return f"The report uses {count(k, 'component')}, which {hold} {share(_explained(a, k))} of the variance{doubt}."


def _followed(a: Analysis) -> str:
    """How many components the report uses, and why."""
    k, answer = _number(a), followed(a.choices)
    if a.request.model is not None:
        return f"The given model has {count(k, 'component')}. The rules below are about the principal components."
    uses = f"The report uses {count(k, 'component')}"
    if a.request.n_components is not None:
        said = f"{uses}, as was asked for."
        if answer is None or answer.k == k:
            return said
        return f"{said} Without that it would follow {rule_name(answer.rule)} and use {max(answer.k or 0, 1):,}."
    if answer is None or answer.k is None:
        return f"{uses}. No rule has an answer for this table."
    if answer.k == 0:
        reason = (
            "the largest eigenvalue is no larger than those of unrelated columns would be"
            if answer.rule == "parallel"
            else "a model without components describes the rows best"
        )
        return (
            f"No component stands out: by {rule_name(answer.rule)}, {reason}. {uses} all the same, to have one to show."
        )
    if answer.rule == "parallel":
        first = "eigenvalue is" if k == 1 else f"{k:,} eigenvalues are"
        return (
            f"{uses}, as {rule_name(answer.rule)} says: only the first {first} larger than in 95% of simulated tables "
            "of the same size whose columns have nothing to do with each other. The report follows this rule because "
            f"it asks neither for a share of the variance nor for equal noise in all columns. {_caveat(answer)}"
        )
    return (
        f"{uses}, as {rule_name(answer.rule)} says; parallel analysis, which would come first, has no answer for this "
        f"table. {_caveat(answer)}"
    )


def _caveat(answer: Choice) -> str:
    """What the rule assumes, and where it fails."""
    return answer.assumes.replace("Assumes", "It assumes", 1)


def _agreement(answered: list[Choice]) -> str:
    """Which rules say the same."""
    if len(answered) < 2:
        return ""
    groups: defaultdict[int, list[str]] = defaultdict(list)
    for answer in answered:
        groups[int(answer.k or 0)].append(answer.rule)
    if len(groups) == 1:
        (k,) = groups
        return f"All {len(answered)} rules that have an answer agree on {k:,}."
    ordered = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    parts = [
        f"{len(rules)} say {k:,} ({listed([rule_name(r) for r in rules], 8)})" for k, rules in ordered if len(rules) > 1
    ]
    said = f"Of {len(answered)} rules, {listed(parts, 8)}." if parts else f"No two of {len(answered)} rules agree."
    low, high = min(groups), max(groups)
    alone = [f"{rule_name(rules[0])} says {k:,}" for k, rules in sorted(groups.items()) if len(rules) == 1]
    if alone:
        joined = listed(alone, 12)
        said += f" {joined[0].upper()}{joined[1:]}."
    if high > _WIDELY * max(low, 1):
        said += f" They disagree widely, from {low:,} to {high:,}: there is no clear edge between structure and noise."
        greedy = [rule for k, rules in groups.items() if k > high / 2 for rule in rules if rule in _EQUAL_NOISE]
        if greedy:
            said += (
                f" The largest numbers come from rules that take the noise to be equal in all columns "
                f"({listed([rule_name(rule) for rule in greedy])}): where it is not, they take noise for components."
            )
    return said


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
            silent[answer.note].append(rule_name(answer.rule))
    notes = [f"No answer from {listed(names, 12)}: {why}." for why, names in silent.items()]
    notes.append("What each assumes and where it fails is told in full below the numbers of the chart.")
    names = [rule_name(answer.rule) for answer in answers]
    return Table(columns, names, title="What each rule says", notes=notes, row_name="rule")


def _variance(a: Analysis) -> str:
    e = a.choices.eigenvalues
    reached = np.cumsum(e.values) / e.total
    needed = [f"{share(level)[:-3]}% takes {int(np.searchsorted(reached, level - 1e-12)) + 1:,}" for level in _SHARES]
    first = f"The first component holds {share(float(reached[0]))} of the variance"
    second = f", the first two {share(float(reached[1]))}" if len(reached) > 1 else ""
    return f"{first}{second}. To hold {listed(needed, 5)}."


def _held_out(a: Analysis) -> str:
    """What cross-validation says."""
    result = a.choices["cv"].cross_validation if "cv" in a.choices else None
    if result is None:
        return ""
    best, within = result.best, result.one_standard_error
    how = "without components" if best == 0 else f"with {count(best, 'component')}"
    said = f"Rows that were left out of the fit are described best {how}"
    most = int(result.n_components[-1])
    if within < best:
        said += f"; {within:,} are within one standard error of that, and simpler"
    if best == most and most > 1:
        said += (
            ". That is the largest number that was tried: even the last components are more than equal noise, which "
            "says more about the noise than about structure"
        )
    return f"{said}."


def _remarks(a: Analysis) -> str:
    said = []
    if a.has_holes:
        said.append(
            "Eigenvalues and rules are those of the table with its missing entries filled in, which makes columns look "
            "a little more alike than they are."
        )
    if "parallel" in a.choices and a.choices["parallel"].k is not None:
        simulated = draws(a.n, a.p)
        if simulated < 100:
            said.append(f"Parallel analysis simulated {simulated} tables, because this one is large.")
    if a.pieces is not None:
        said.append("All rules were applied to sums of the first pass over the rows, which were not read again.")
    return " ".join(said)
