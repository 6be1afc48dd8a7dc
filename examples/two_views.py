"""Two tables of the same people: what body measures and blood values of 442 patients have in common, and how surely.

You learn to read canonical correlations and their tests, and which columns of the two tables a pair of variates joins.
"""

import sys
from pathlib import Path

import pandas as pd
from sklearn.datasets import load_diabetes

from lowdim import CCA, permutation_test


def data() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Age, sex, body mass index and blood pressure; and six blood values."""
    patients = load_diabetes(as_frame=True, scaled=False).data
    names = {"s1": "cholesterol", "s2": "ldl", "s3": "hdl", "s4": "chol/hdl", "s5": "log lipids", "s6": "glucose"}
    return patients[["age", "sex", "bmi", "bp"]], patients[list(names)].rename(columns=names)


folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")

body, blood = data()
cca = CCA().fit(body, blood)
print(cca, cca.tables.canonical_tests(), sep="\n\n", end="\n\n")
print(cca.tables.structure("X"), cca.tables.structure("y"), sep="\n\n", end="\n\n")

# The tests above assume Gaussian columns. Shuffled rows need no such assumption.
test = permutation_test(CCA(), body, blood, n_resamples=999, random_state=0)
print(test)
cca.plot.correlations(test).figure.savefig(folder / "views_correlations.png")
cca.plot.structure().figure.savefig(folder / "views_structure.png")
cca.plot.variates(body, blood).figure.savefig(folder / "views_variates.png")
