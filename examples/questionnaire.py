"""A questionnaire with missing entries: five traits of personality from 25 questions, of which some were not answered.

Every answer that was given is used, and no person is left out. You learn to check whether factor analysis is suitable,
to read rotated loadings and the fit of the model, and to fill in missing answers with their uncertainty.
"""

import sys
from pathlib import Path

import pandas as pd

from lowdim import FactorAnalysis, Table, choose_n_components, factor_suitability, inspect


def data() -> pd.DataFrame:
    """Answers of 1000 people from 1, very inaccurate, to 6, very accurate; data/README.md has the questions."""
    return pd.read_csv(Path(__file__).parent / "data" / "bfi.csv", index_col="person")


folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")

answers = data()
choices = choose_n_components(answers, ["kaiser", "map"], scale=True)
print(factor_suitability(answers), choices, sep="\n\n", end="\n\n")

fa = FactorAnalysis(5, rotation="oblimin", scale=True).set_output(transform="pandas").fit(answers)
print(fa, fa.tables.pattern().text(max_rows=None), fa.tables.factor_correlations(), sep="\n\n", end="\n\n")
print(inspect.fit_report(fa, answers), end="\n\n")

filled, deviations = fa.impute(answers, return_std=True)
person = answers.isna().sum(axis=1).idxmax()
unanswered = answers.columns[answers.loc[person].isna()]
guesses = {"expected": filled.loc[person, unanswered], "std. deviation": deviations.loc[person, unanswered]}
print(Table(guesses, unanswered, title=f"Questions that person {person} did not answer"))
fa.plot.loadings().figure.savefig(folder / "questionnaire_loadings.png")
fa.plot.missing(answers).figure.savefig(folder / "questionnaire_missing.png")
